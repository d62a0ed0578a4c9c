"""Files, read a piece at a time and never whole: Parquet, Arrow and text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Domain
from discreto.core.frame import Array, Frame, Origin, Place
from discreto.core.people import join
from discreto.core.row_cache import CachedRows, Fleeting, RowCache, Rows, WithCache
from discreto.core.row_local import cell_by_cell
from discreto.data.frames.convert import convert, people_of
from discreto.data.frames.file_states import OpenedFiles
from discreto.data.frames.files import (
    format_of,
    head_of,
    layout_of,
    noted,
    open_arrow,
    open_bytes,
    open_native,
    partition_of,
)
from discreto.data.frames.parquet import (
    OpenedGroup,
    facts_of,
    opened_group,
    parquet_pieces,
)
from discreto.data.frames.records import ahead, header, tables
from discreto.data.frames.spans import Span, cut, lone_span, span_of, units_of
from discreto.data.frames.spill import Spill
from discreto.data.frames.types import check_types, need_columns, spells_numbers
from discreto.errors import DomainError

STREAM_ROWS = 1 << 16  # rows read from a file at once
_NUMBERS = 1 << 18  # of a Parquet file that are read at once
_MOST_ROWS = 1 << 16  # however few columns there are


class FileRows(WithCache, Mapping[str, Array]):
    """Some rows of a row group, each column read when it is asked for.

    A column that is read for a second time is kept.
    """

    def __init__(
        self, kept: KeptFile, names: Sequence[str], group: OpenedGroup, rows: Rows
    ) -> None:
        self._names, self._group, self._rows = names, group, slice(*rows[1:])
        self.cache = CachedRows(kept.cache, rows)
        self._columns = CachedRows(kept.columns, rows)
        self._read = kept.read.setdefault(rows, set())
        self._taken: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._taken:
            self._taken[name] = self._column(name)
        return self._taken[name]

    def _column(self, name: str) -> Array:
        values: Array | None = self._columns.find(name, ())
        if values is None:
            values = self._group.column(name)[self._rows]
            if name in self._read:
                self._columns.keep(name, (), values, most=1)
            self._read.add(name)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class KeptFile:
    """Entries about the row groups of files, for all frames that read them.

    The first question keeps nothing, because it may be the only one. What was kept for
    a row must not meet another row: a file that was changed in between is not read
    (:mod:`discreto.data.frames.file_states`).
    """

    def __init__(self) -> None:
        memory = Spill()
        self.cache, self.columns = RowCache(memory), RowCache(memory)
        self.read: dict[Rows, set[str]] = {}  # columns that were read before
        self._asked: set[int] = set()
        self._facts: dict[str, Any] = {}

    def again(self, number: int) -> bool:
        """Note a question about a row group; return True if it is not the first."""
        known = number in self._asked
        self._asked.add(number)
        return known

    def group(
        self, span: Span, names: Sequence[str], own: Domain
    ) -> OpenedGroup | None:
        """Return a row group by itself; None if it has to be read from end to end."""
        if span.path not in self._facts:
            self._facts[span.path] = facts_of(span.path, span.state)
        return opened_group(span, names, own, self._facts[span.path])


class StreamFrame:
    """Parquet, Arrow or text files, read a piece at a time and never whole."""

    def __init__(
        self,
        paths: Sequence[Path],
        domain: Domain,
        listed: Callable[[], Sequence[Path]] | None = None,
    ) -> None:
        spans, self.spelled = [], False
        for path in paths:
            state = noted(path)  # before anything is read
            head = head_of(path, domain.dialect, state)
            need_columns(domain, head.names)
            if twice := [name for name in domain if head.names.count(name) > 1]:
                raise DomainError(
                    f"{path.name!r} has two columns {twice[0]!r}. Rename one."
                )
            # Folders that name a column have texts for it, of no type.
            check_types(domain, {n: head.kinds.get(n) for n in domain})
            kind = format_of(path)
            self.spelled |= kind == "text" or spells_numbers(domain, head.kinds)
            state = state._replace(
                groups=len(head.parts) if kind == "parquet" else None
            )
            spans.append(span_of(str(path.absolute()), head.parts, state))
        self._domain, self.spans = domain, spans
        self._files = OpenedFiles({s.path: s.state for s in spans if s.state}, listed)
        self._kept, self._first = KeptFile(), 0

    @classmethod
    def of(cls, spans: Sequence[Span], domain: Domain) -> StreamFrame:
        """Return a frame of row groups of files that were checked before."""
        out = cls([], domain)
        out.spans = list(spans)
        return out

    def _part(self, start: int, spans: Sequence[Span]) -> StreamFrame:
        """Return a frame of some spans, which share what is kept for them."""
        out = StreamFrame.of(spans, self._domain)
        out._kept, out._first = self._kept, self._first + start
        out._files = self._files
        return out

    def origins(self) -> tuple[Origin, ...]:
        return (self._files,)

    def places(self) -> tuple[Place, ...]:
        return tuple((span.path, span.start, span.stop) for span in self.spans)

    def for_plan(self) -> Frame:
        return self

    def size(self) -> int:
        """Return how many bytes the files have, about."""
        return sum(span.size for span in self.spans)

    def length(self) -> int:
        if any(format_of(Path(span.path)) != "parquet" for span in self.spans):
            return sum(rows for _, rows in self.pieces([next(iter(self._domain))]))
        rows = 0
        for span in self.spans:
            facts = facts_of(span.path, span.state)
            rows += sum(facts.row_group(group).num_rows for group in span.groups)
        return rows

    def split(self, parts: int) -> list[Frame]:
        found = cut(self.spans, parts)
        if len(found) < 2:
            return [self]
        return [self._part(first, spans) for first, spans in found]

    def column(self, name: str) -> Array:
        parts = [batch[name] for batch, _ in self.batches([name], STREAM_ROWS)]
        return np.concatenate([convert(np.empty(0), self._domain[name]), *parts])

    def raw(self, name: str) -> Array:
        dialect, pieces = self._domain.dialect, self.pieces([name])
        return join([people_of(piece[name], dialect) for piece, _ in pieces])

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        # A question about no column still has to count rows.
        wanted = list(names) or [next(iter(self._domain))]
        texts = {n for n in names if isinstance(self._domain[n], Category)}
        for piece, rows in self.pieces(wanted, texts):
            domain = self._domain
            ready = {
                n: cell_by_cell(convert, piece[n], domain[n], domain.dialect)
                for n in names
            }
            for start in range(0, rows, size):
                stop = min(start + size, rows)
                part = {n: c[start:stop] for n, c in ready.items()}
                yield Fleeting(part), stop - start

    @property
    def cache(self) -> RowCache:
        """Entries about the rows of these files, kept for later questions."""
        return self._kept.cache

    def kept_batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[Mapping[str, Array], int]]:
        """Yield batches with a store for what is worked out from their rows."""
        lone = [lone_span(u, s.state) for s in self.spans for u in units_of([s])]
        units = list(enumerate(lone, start=self._first))
        again = [self._kept.again(number) for number, _ in units]
        if not any(again):
            yield from self.batches(names, size)
            return
        for (number, unit), known in zip(units, again, strict=True):
            group = self._kept.group(unit, names, self._domain) if known else None
            if group is None:  # it has to be read from end to end
                one = StreamFrame.of([unit], self._domain)
                yield from one.batches(names, size)
                continue
            with group:
                for start in range(0, group.rows, size):
                    stop = min(start + size, group.rows)
                    rows = (number, start, stop)
                    yield FileRows(self._kept, names, group, rows), stop - start

    def pieces(
        self, names: list[str], coded: Collection[str] = ()
    ) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield columns as they are stored, and how many rows they have."""
        dialect = self._domain.dialect
        for span in self.spans:
            for piece in _read(span, names, dialect, coded):
                yield {name: piece.column(name) for name in names}, piece.num_rows


def _read(
    span: Span, names: list[str], dialect: Dialect | None, coded: Collection[str]
) -> Iterator[Any]:
    """Yield arrow tables with these columns, of some parts of a file.

    Texts of ``coded`` columns may come as places in a list of different texts.
    """
    place = Path(span.path)
    kind, stored, folders = format_of(place), names, partition_of(place)
    if folders:
        inside = head_of(place, dialect, span.state).stored
        # A question about folders alone still has to count rows.
        stored = [name for name in names if name in inside] or inside[:1]
    if kind == "parquet":
        rows = min(max(_NUMBERS // len(stored), 1 << 12), _MOST_ROWS)
        pieces = parquet_pieces(span, stored, coded, rows)
    elif kind == "arrow":
        pieces = _arrow(span, stored)
    else:
        several = (_text(span, stored, dialect) for _ in span.groups)
        pieces = (piece for one in several for piece in one)  # named twice, read twice
    for piece in pieces:
        yield _with_folders(piece, folders, names) if folders else piece


def _with_folders(piece: Any, folders: dict[str, str | None], names: list[str]) -> Any:
    """Return a piece with the columns that the folders of its file name."""
    import pyarrow as pa

    out = {}
    for name in names:
        if name in piece.schema.names:
            out[name] = piece.column(name)
        else:
            out[name] = pa.array([folders[name]] * piece.num_rows, type=pa.string())
    return pa.table(out)


def _arrow(span: Span, names: list[str]) -> Iterator[Any]:
    for part in span.groups:
        with open_native(span.path, span.state) as file, open_arrow(file) as reader:
            batches = reader if part is None else [reader.get_batch(part)]
            for batch in batches:
                yield batch.select(names)


def _text(span: Span, names: list[str], dialect: Dialect | None) -> Iterator[Any]:
    layout = layout_of(Path(span.path), dialect)
    with open_bytes(span.path, span.state) as file:
        found, start = header(file, layout) or ([], 0)
    with open_bytes(span.path, span.state) as file:
        left = start
        while left and (passed := file.read(left)):
            left -= len(passed)
        wanted = [found.index(name) for name in names]
        for table in ahead(tables(file, layout, len(found), wanted)):
            yield table.rename_columns(names)
