"""Parquet and CSV files, read a piece at a time and never whole."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.dates import DateTime
from discreto.core.domain import Domain
from discreto.data.frames.base import Array, Frame, asked, need_columns, wrong_type
from discreto.data.frames.convert import convert, readable
from discreto.data.frames.dates import is_date_type
from discreto.data.frames.people import join, people_of
from discreto.data.frames.records import Dialect, ahead, header, tables
from discreto.errors import DomainError

STREAM_ROWS = 1 << 16  # rows read from a file at once

# A file and one of its row groups; CSV files are read whole (None).
Unit = tuple[str, int | None]


class StreamFrame:
    """Parquet or CSV files, read a piece at a time and never whole."""

    def __init__(self, paths: Sequence[Path], domain: Domain) -> None:
        units: list[Unit] = []
        for path in paths:
            names, types, groups = _schema(path)
            need_columns(domain, names)
            for name, spec in domain.columns.items():
                if names.count(name) > 1:
                    raise DomainError(
                        f"{path.name!r} has two columns {name!r}. Rename one."
                    )
                if asked(spec) and (found := types.get(name)):
                    if isinstance(spec, DateTime) and is_date_type(found):
                        continue
                    raise wrong_type(name, spec, found)
            units += [(str(path.absolute()), group) for group in groups]
        self._domain, self.units = domain, units

    @classmethod
    def of(cls, units: Sequence[Unit], domain: Domain) -> StreamFrame:
        """Some row groups of files that were checked before."""
        out = cls([], domain)
        out.units = list(units)
        return out

    def length(self) -> int:
        import pyarrow.parquet as pq

        if any(group is None for _, group in self.units):
            return sum(rows for _, rows in self._pieces([next(iter(self._domain))]))
        rows = 0
        for path, units in groupby(self.units, lambda unit: unit[0]):
            facts = pq.read_metadata(path)
            rows += sum(facts.row_group(group).num_rows for _, group in units)
        return rows

    def split(self, parts: int) -> list[Frame]:
        units, parts = self.units, min(parts, len(self.units))
        if parts < 2:
            return [self]
        ends = [len(units) * i // parts for i in range(parts + 1)]
        return [StreamFrame.of(units[a:b], self._domain) for a, b in pairwise(ends)]

    def column(self, name: str) -> Array:
        parts = [batch[name] for batch, _ in self.batches([name], STREAM_ROWS)]
        return (
            np.concatenate(parts) if parts else convert(np.empty(0), self._domain[name])
        )

    def raw(self, name: str) -> Array:
        return join([people_of(piece[name]) for piece, _ in self._pieces([name])])

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        # A question about no column still has to count rows.
        wanted = list(names) or [next(iter(self._domain))]
        for piece, rows in self._pieces(wanted):
            ready = {n: convert(piece[n], self._domain[n]) for n in names}
            for start in range(0, rows, size):
                stop = min(start + size, rows)
                yield {n: c[start:stop] for n, c in ready.items()}, stop - start

    def _pieces(self, names: list[str]) -> Iterator[tuple[dict[str, Any], int]]:
        for path, units in groupby(self.units, lambda unit: unit[0]):
            for piece in _read(path, names, [group for _, group in units]):
                yield {name: piece.column(name) for name in names}, piece.num_rows


def _read(path: str, names: list[str], groups: list[int | None]) -> Iterator[Any]:
    if None not in groups:
        yield from _parquet(path, names, groups)
    else:
        for _ in groups:  # a file that is named twice counts twice
            yield from _csv(path, names)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def paths_of(pattern: str | Path) -> list[Path]:
    """The files that a path or pattern names."""
    text = str(pattern)
    found = sorted(glob.glob(text)) if glob.has_magic(text) else [text]
    paths = [Path(name) for name in found if Path(name).is_file()]
    if not paths:
        raise DomainError(f"there is no file {text!r}.")
    for path in paths:
        if not _is_parquet(path) and path.suffix.lower() not in (".csv", ".tsv"):
            raise DomainError(f"{path.name!r} is neither .parquet nor .csv nor .tsv.")
    return paths


def _schema(path: Path) -> tuple[list[str], dict[str, str], Sequence[int | None]]:
    """Column names, the types among them that no domain can have, and row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if not _is_parquet(path):
            with path.open("rb") as file:
                found = header(file, dialect_of(path))
            if found is None:
                raise DomainError(f"the first line of {path.name!r} names no columns.")
            return found[0], {}, [None]
        with pq.ParquetFile(path) as parquet:
            schema, groups = parquet.schema_arrow, range(parquet.num_row_groups)
    except (OSError, pa.ArrowException):
        raise DomainError(f"{path.name!r} cannot be read as a table.") from None
    odd = {field.name: str(field.type) for field in schema if not readable(field.type)}
    return schema.names, odd, groups


def _parquet(path: str, names: list[str], groups: Sequence[Any]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    coded = [n for n in names if pa.types.is_dictionary(schema.field(n).type)]
    # One group after the other, in small reads: memory does not grow with the file.
    # Coded texts stay coded: pyarrow refuses to code those that are no UTF-8.
    with pq.ParquetFile(
        path, pre_buffer=False, buffer_size=1 << 20, read_dictionary=coded
    ) as file:
        for group in groups:
            yield from file.iter_batches(
                STREAM_ROWS, row_groups=[group], columns=names, use_threads=False
            )


def _csv(path: str, names: list[str]) -> Iterator[Any]:
    form = dialect_of(Path(path))
    with open(path, "rb") as file:
        found, start = header(file, form) or ([], 0)
        file.seek(start)
        wanted = [found.index(name) for name in names]
        for table in ahead(tables(file, form, len(found), wanted)):
            yield table.rename_columns(names)


def dialect_of(path: Path) -> Dialect:
    """How the text file of this name is written."""
    return Dialect("\t" if path.suffix.lower() == ".tsv" else ",")
