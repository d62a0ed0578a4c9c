"""Row groups of a Parquet file as arrow batches: small reads, texts as coded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category, Domain
from discreto.core.frame import Array
from discreto.core.row_local import cell_by_cell
from discreto.data.frames.convert import convert
from discreto.data.frames.file_states import FileState
from discreto.data.frames.files import format_of, open_native
from discreto.data.frames.spans import Span

LARGEST = 1 << 21  # rows of a group whose columns are held at once
BUFFER = 1 << 16  # bytes of a column that are read at once


def parquet_pieces(
    span: Span, names: list[str], coded: Collection[str], rows: int, facts: Any = None
) -> Iterator[Any]:
    """Yield batches of at most ``rows`` rows of row groups, one group after the other.

    Texts of ``coded`` columns come as places in a list of different texts, which is how
    they are stored. In a group with texts that are not UTF-8 they come as they are.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def opened(dictionary: list[str]) -> Any:
        return pq.ParquetFile(
            source,
            metadata=facts,
            pre_buffer=False,
            buffer_size=BUFFER,  # small reads: memory does not grow with a group
            read_dictionary=dictionary,
        )

    with open_native(span.path, span.state) as source:
        facts = _facts(source, span.state) if facts is None else facts
        fields = {field.name: field.type for field in facts.schema.to_arrow_schema()}
        always = [name for name in names if pa.types.is_dictionary(fields[name])]
        texts = (pa.string(), pa.large_string())
        more = [name for name in names if name in coded and fields[name] in texts]
        file = opened([*always, *more])
        for group in span.groups:
            own = {"row_groups": [group], "columns": names, "use_threads": False}
            done = 0
            try:
                for batch in file.iter_batches(rows, **own):
                    yield batch
                    done += batch.num_rows
                continue
            except pa.ArrowException:  # pyarrow codes no texts that are not UTF-8
                if not more:
                    raise
            for batch in opened(always).iter_batches(rows, **own):
                if done < batch.num_rows:
                    yield batch.slice(done)
                done = max(done - batch.num_rows, 0)


class OpenedGroup(AbstractContextManager["OpenedGroup"]):
    """One row group, whose columns are read and converted as they are asked for."""

    def __init__(self, span: Span, domain: Domain, facts: Any) -> None:
        self._span, self._domain, self._facts = span, domain, facts
        self.rows = int(facts.row_group(span.start).num_rows)
        self._columns: dict[str, Array] = {}

    def column(self, name: str) -> Array:
        """A whole column of the group, in the terms of the domain."""
        if name not in self._columns:
            spec, dialect = self._domain[name], self._domain.dialect
            coded = (name,) if isinstance(spec, Category) else ()
            parts = [
                cell_by_cell(convert, piece.column(name), spec, dialect)
                for piece in parquet_pieces(
                    self._span, [name], coded, LARGEST, self._facts
                )
            ]
            self._columns[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._columns[name]

    def __exit__(self, *_: object) -> None:
        self._columns.clear()


def facts_of(path: str, state: FileState | None = None) -> Any:
    """The metadata of a Parquet file; None for other files."""
    if format_of(Path(path)) != "parquet":
        return None
    with open_native(path, state) as file:
        return _facts(file, state)


def _facts(file: Any, state: FileState | None) -> Any:
    """The metadata of an open Parquet file, with as many row groups as it had."""
    import pyarrow.parquet as pq

    facts = pq.read_metadata(file)
    if state is not None:
        state.check_groups(facts.num_row_groups)
    return facts


def opened_group(
    span: Span, names: Sequence[str], domain: Domain, facts: Any
) -> OpenedGroup | None:
    """A row group by itself; None for what is no Parquet, or too large."""
    if span.whole or facts is None:
        return None
    stored = set(facts.schema.to_arrow_schema().names)
    few = 0 < facts.row_group(span.start).num_rows <= LARGEST
    if not few or not stored.issuperset(names):
        return None
    return OpenedGroup(span, domain, facts)
