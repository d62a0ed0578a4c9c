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
    path: str,
    names: list[str],
    groups: Sequence[int],
    coded: Collection[str],
    rows: int,
    state: FileState | None = None,
    facts: Any = None,
) -> Iterator[Any]:
    """Batches of at most so many rows of some row groups, one group after the other.

    Texts of ``coded`` columns come as places in a list of different texts, which is how
    they are stored; in a group with texts that are no UTF-8 they come as they are.
    """
    with open_native(path, state) as file:
        if facts is None:
            facts = _facts(file, state)
        yield from _pieces(file, names, groups, coded, rows, facts)


def _pieces(
    source: Any,
    names: list[str],
    groups: Sequence[int],
    coded: Collection[str],
    rows: int,
    facts: Any,
) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = {field.name: field.type for field in facts.schema.to_arrow_schema()}
    always = [name for name in names if pa.types.is_dictionary(fields[name])]
    texts = (pa.string(), pa.large_string())
    more = [name for name in names if name in coded and fields[name] in texts]

    def opened(dictionary: list[str]) -> Any:
        return pq.ParquetFile(
            source,
            metadata=facts,
            pre_buffer=False,
            buffer_size=BUFFER,  # small reads: memory does not grow with a group
            read_dictionary=dictionary,
        )

    with opened([*always, *more]) as file:
        for group in groups:
            own = {"row_groups": [group], "columns": names, "use_threads": False}
            done = 0
            try:
                for batch in file.iter_batches(rows, **own):
                    yield batch
                    done += batch.num_rows
                continue
            except pa.ArrowException:  # pyarrow codes no texts that are no UTF-8
                if not more:
                    raise
            with opened(always) as plain:
                for batch in plain.iter_batches(rows, **own):
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
            span, groups = self._span, [self._span.start]
            pieces = parquet_pieces(
                span.path, [name], groups, coded, LARGEST, span.state, self._facts
            )
            parts = [
                cell_by_cell(convert, piece.column(name), spec, dialect)
                for piece in pieces
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
