"""Files, read a piece at a time and never whole: Parquet, Arrow and text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Domain
from discreto.core.frame import Array, Frame, Origin, Place
from discreto.core.maps._batch_cache import Fleeting
from discreto.core.people import join
from discreto.core.row_local import cell_by_cell
from discreto.data.frames.convert import convert, people_of
from discreto.data.frames.file_states import FileState, OpenedFiles, note_state
from discreto.data.frames.files import (
    format_of,
    head_of,
    layout_of,
    open_arrow,
    open_bytes,
    open_native,
    partition_of,
)
from discreto.data.frames.kept_batches import KeptBatch, KeptFile
from discreto.data.frames.parquet import facts_of, parquet_pieces
from discreto.data.frames.records import ahead, header, tables
from discreto.data.frames.spans import Span, cut, lone_span, span_of, units_of
from discreto.data.frames.types import check_types, need_columns, spells_numbers
from discreto.errors import DomainError

STREAM_ROWS = 1 << 16  # rows read from a file at once
_NUMBERS = 1 << 18  # of a Parquet file that are read at once
_MOST_ROWS = 1 << 16  # however few columns there are


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
            state = _noted(path)  # before anything is read
            head = head_of(path, domain.dialect, state)
            need_columns(domain, head.names)
            for name in domain:
                if head.names.count(name) > 1:
                    raise DomainError(
                        f"{path.name!r} has two columns {name!r}. Rename one."
                    )
            # Folders that name a column have texts for it, of no type.
            check_types(domain, {n: head.kinds.get(n) for n in domain})
            texts = format_of(path) == "text"
            self.spelled |= texts or spells_numbers(domain, head.kinds)
            where = str(path.absolute())
            groups = len(head.parts) if format_of(path) == "parquet" else None
            state = state._replace(groups=groups)
            spans.append(span_of(where, head.parts, state))
        self._domain, self.spans = domain, spans
        self._files = OpenedFiles({s.path: s.state for s in spans if s.state}, listed)
        self._kept, self._first = KeptFile(), 0

    @classmethod
    def of(cls, spans: Sequence[Span], domain: Domain) -> StreamFrame:
        """Some row groups of files that were checked before."""
        out = cls([], domain)
        out.spans = list(spans)
        return out

    def _part(self, start: int, spans: Sequence[Span]) -> StreamFrame:
        """Some of the spans, which share what was kept for them."""
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
        """How many bytes the files have, about."""
        return sum(span.size for span in self.spans)

    def length(self) -> int:
        if any(format_of(Path(span.path)) != "parquet" for span in self.spans):
            return sum(rows for _, rows in self._pieces([next(iter(self._domain))]))
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
        return (
            np.concatenate(parts) if parts else convert(np.empty(0), self._domain[name])
        )

    def raw(self, name: str) -> Array:
        dialect, pieces = self._domain.dialect, self._pieces([name])
        return join([people_of(piece[name], dialect) for piece, _ in pieces])

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        # A question about no column still has to count rows.
        wanted = list(names) or [next(iter(self._domain))]
        texts = {n for n in names if isinstance(self._domain[n], Category)}
        for piece, rows in self._pieces(wanted, texts):
            domain = self._domain
            ready = {
                n: cell_by_cell(convert, piece[n], domain[n], domain.dialect)
                for n in names
            }
            for start in range(0, rows, size):
                stop = min(start + size, rows)
                part = {n: c[start:stop] for n, c in ready.items()}
                yield Fleeting(part), stop - start

    def kept_batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[Mapping[str, Array], int]]:
        """Batches that remember what was worked out for their rows."""
        lone = [lone_span(u, s.state) for s in self.spans for u in units_of([s])]
        units = list(enumerate(lone, start=self._first))
        again = [self._kept.again(number) for number, _ in units]
        if not any(again):  # who asks once has no use for what is kept
            yield from self.batches(names, size)
            return
        for (number, unit), known in zip(units, again, strict=True):
            part = None
            if known:
                part = self._kept.part(unit, names, self._domain)
            if part is None:  # it has to be read from end to end
                one = StreamFrame.of([unit], self._domain)
                yield from one.batches(names, size)
                continue
            with part:
                for start in range(0, part.rows, size):
                    stop = min(start + size, part.rows)
                    memory = self._kept.memory((number, start, stop))
                    rows = slice(start, stop)
                    batch = KeptBatch(tuple(names), part.column, rows, memory)
                    yield batch, stop - start

    def texts(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The columns as they are stored, in batches: for their owner alone."""
        for piece, rows in self._pieces(list(names)):
            for start in range(0, rows, STREAM_ROWS):
                yield {name: piece[name][start : start + STREAM_ROWS] for name in names}

    def _pieces(
        self, names: list[str], coded: Collection[str] = ()
    ) -> Iterator[tuple[dict[str, Any], int]]:
        dialect = self._domain.dialect
        for span in self.spans:
            for piece in _read(span, names, dialect, coded):
                yield {name: piece.column(name) for name in names}, piece.num_rows


def _noted(path: Path) -> FileState:
    """The state of a file, which has to be there."""
    try:
        return note_state(path)
    except OSError:
        raise DomainError(f"{path.name!r} cannot be read as a table.") from None


def _read(
    span: Span,
    names: list[str],
    dialect: Dialect | None,
    coded: Collection[str] = (),
) -> Iterator[Any]:
    """Arrow tables with these columns, of some parts of a file.

    Texts of ``coded`` columns may come as places in a list of different texts.
    """
    path, groups, state = span.path, span.groups, span.state
    kind, place = format_of(Path(path)), Path(path)
    stored, folders = names, partition_of(path)
    if folders:
        inside = head_of(place, dialect, state).stored
        # A question about folders alone still has to count rows.
        stored = [name for name in names if name in inside] or inside[:1]
    if kind == "parquet":
        parts = [group for group in groups if group is not None]
        rows = min(max(_NUMBERS // len(stored), 1 << 12), _MOST_ROWS)
        pieces = parquet_pieces(path, stored, parts, coded, rows, state)
    elif kind == "arrow":
        pieces = _arrow(span, stored)
    else:
        several = (_text(span, stored, dialect) for _ in groups)
        pieces = (piece for one in several for piece in one)  # named twice, read twice
    for piece in pieces:
        yield _with_folders(piece, folders, names) if folders else piece


def _with_folders(piece: Any, folders: dict[str, str | None], names: list[str]) -> Any:
    """A piece with the columns that the folders of its file name."""
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
