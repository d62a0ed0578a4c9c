"""Tables in memory: private copies, which no caller can change.

What is kept for a batch of rows (:mod:`discreto.core.row_cache`) would not fit rows
that were changed in between, and one row could then move an answer by more than its
bound. So a frame copies the columns of its domain when it is opened. Numbers take as
much memory again, all other values eight bytes each.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreto.core.capabilities import MakesViews
from discreto.core.domain.domain import Category, Domain
from discreto.core.expressions import Step, ViewFrame, Where, WithColumns
from discreto.core.frame import Array, Frame, Origin, Place, asked
from discreto.core.people import as_objects
from discreto.core.row_cache import CachedRows, RowCache, WithCache
from discreto.core.row_local import cell_by_cell
from discreto.core.unknown_keys import OpenText
from discreto.data.frames.convert import convert, listed, owned, people_of
from discreto.data.frames.refusal_texts import not_a_table, wrong_shape
from discreto.data.frames.spill import Spill
from discreto.data.frames.types import (
    check_types,
    kind_of,
    need_columns,
    spells_numbers,
)
from discreto.errors import DomainError

_ALONE_BELOW = 1 << 17  # rows that one thread folds sooner than two
_WHOLE = 1 << 29  # bytes for numbers made of whole rows, at most
_CHUNK = 1 << 15  # rows of which a view makes a column at once
_SMALL = 1 << 8  # bytes a row for codes, leaves and scores, beside 16 for each column


class Rows(WithCache, dict[str, Array]):
    """A batch of rows that lie in memory."""

    def __init__(self, columns: dict[str, Array], cache: CachedRows) -> None:
        super().__init__(columns)
        self.cache = cache


def array_columns(data: Array, domain: Domain) -> dict[str, Array]:
    """Return the columns of a 2-d array, named by the domain."""
    if data.ndim != 2 or data.shape[1] != len(domain.columns):
        raise wrong_shape(len(domain.columns), data.shape)
    check_types(domain, dict.fromkeys(domain, kind_of(data)))
    return {name: data[:, i] for i, name in enumerate(domain)}


def dict_columns(data: Mapping[Any, Any], domain: Domain) -> dict[str, Array]:
    """Return the columns of a dict that the domain knows."""
    columns = {str(name): values for name, values in data.items()}
    need_columns(domain, list(columns))
    for name in domain:
        if isinstance(columns[name], str) or not hasattr(columns[name], "__len__"):
            raise DomainError(f"column {name!r} must be an array or a list of values.")
    check_types(domain, {name: kind_of(columns[name]) for name in domain})
    return {
        name: _ids(columns[name])
        if name == domain.person or isinstance(domain[name], OpenText)
        else listed(columns[name])
        for name in domain
    }


def _ids(values: Any) -> Any:
    """Return identifiers as they are: numpy would make floats of those with gaps."""
    if isinstance(values, np.ndarray) or hasattr(values, "to_numpy"):
        return values
    return as_objects(list(values))


def native_columns(data: Any, domain: Domain) -> dict[str, Any]:
    """Return the columns of a pandas, polars or pyarrow table."""
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except Exception:
        raise not_a_table(type(data).__name__) from None
    need_columns(domain, names)
    found = {name: frame.get_column(name) for name in domain}
    check_types(domain, {name: kind_of(found[name]) for name in domain})
    return found


def new_cache(rows: int, columns: int, whole: int = 0) -> RowCache:
    """Return a store for a table in memory, with ``whole`` bytes for whole rows."""
    small = Spill(rows * (_SMALL + 16 * columns), file=False)
    return RowCache(small, Spill(whole, file=False))


class _InMemory:
    """Rows from one number to another of a table in memory."""

    _start, _length = 0, 0

    def _table(self) -> MemoryFrame:
        raise NotImplementedError

    def length(self) -> int:
        return int(self._length)

    def origins(self) -> tuple[Origin, ...]:
        return ()

    def places(self) -> tuple[Place, ...]:
        return (("rows", self._start, self._start + self._length),)

    def for_plan(self) -> Any:
        return self

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        table, end = self._table(), self._start + self._length
        columns = table.columns(names)
        for start in range(self._start, end, size):
            stop = min(start + size, end)
            part = {n: c[start:stop] for n, c in columns.items()}
            yield Rows(part, CachedRows(table.cache, (start, stop))), stop - start


class MemoryFrame(_InMemory):
    """A copy of a table; numbers are converted when they are first asked for."""

    def __init__(self, columns: Mapping[str, Any], domain: Domain) -> None:
        need_columns(domain, list(columns))
        for name in domain:
            if getattr(columns[name], "ndim", 1) != 1:
                raise DomainError(f"column {name!r} must have one value for each row.")
        lengths = {len(columns[name]) for name in domain}
        if len(lengths) != 1:
            raise DomainError("the columns of a table must have the same length.")
        self._domain, self._length = domain, lengths.pop()
        kinds = {name: kind_of(columns[name]) for name in domain}
        self.spelled = spells_numbers(domain, kinds)
        self._numbers: dict[str, Array] = {}
        self._ready: dict[str, Array] = {}
        for name, spec in domain.columns.items():  # others are never asked about
            if asked(spec):
                copy, ready = owned(columns[name], spec, domain.dialect)
                (self._ready if ready else self._numbers)[name] = copy
        self._texts = {
            name: people_of(columns[name], domain.dialect)
            for name, spec in domain.columns.items()
            if name == domain.person or isinstance(spec, OpenText)
        }
        many = len(self._ready) + len(self._numbers)
        # Little more than the rows themselves take, and never more than 512 MB.
        whole = min(self._length * many * 8 * 11 // 10, _WHOLE)
        self.cache = new_cache(self._length, many, whole)
        self._lock = threading.Lock()

    def _table(self) -> MemoryFrame:
        return self

    def column(self, name: str) -> Array:
        return self.columns([name])[name]

    def columns(self, names: Sequence[str]) -> dict[str, Array]:
        """Return some columns as arrays that cannot be written to."""
        with self._lock:  # two threads need not convert it twice
            for name in names:
                if name not in self._ready:
                    self._ready[name] = self._made(name)
                self._ready[name].flags.writeable = False
            return {name: self._ready[name] for name in names}

    def _made(self, name: str) -> Array:
        """Return a column as an array, converted when it is first asked for."""
        spec, dialect = self._domain[name], self._domain.dialect
        made = cell_by_cell(convert, self._numbers[name], spec, dialect)
        del self._numbers[name]
        return made

    def raw(self, name: str) -> Array:
        if name not in self._texts:
            raise DomainError(f"{name!r} does not say whose rows these are.")
        return self._texts[name]

    def split(self, parts: int) -> list[Frame]:
        if self._length < _ALONE_BELOW:
            return [self]
        ends = [self._length * i // parts for i in range(parts + 1)]
        return [_Slice(self, a, b) for a, b in pairwise(ends)]


class _Slice(_InMemory):
    """Some rows of a table in memory."""

    def __init__(self, frame: MemoryFrame, start: int, stop: int) -> None:
        self._frame, self._start, self._length = frame, start, stop - start

    def _table(self) -> MemoryFrame:
        return self._frame

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def column(self, name: str) -> Array:
        return self._frame.column(name)[self._start : self._start + self._length]

    def raw(self, name: str) -> Array:
        return self._frame.raw(name)[self._start : self._start + self._length]


def view_of(frame: Frame, step: Step, domain: Domain) -> Frame:
    """Return a view of a frame; ``domain`` is that of the frame."""
    if isinstance(frame, MemoryFrame):
        return MemoryView(frame, step, domain)
    if isinstance(frame, MakesViews):
        return frame.seen(step)
    return ViewFrame(frame, step, domain)


class MemoryView(MemoryFrame):
    """A view of a table in memory."""

    def __init__(self, frame: MemoryFrame, step: Step, domain: Domain) -> None:
        self._view, self._base = ViewFrame(frame, step, domain), frame
        self._step, self._base_domain = step, domain
        self._ready: dict[str, Array] = {}
        self._lock = threading.Lock()
        self._rows: Array | None = None
        self._length = frame.length()
        if isinstance(step, Where):
            self._rows = self._chosen(step)
            self._length = self._rows.size
        # No whole rows: the columns that a view has made are as large already.
        self.cache = new_cache(self._length, len(step.domain(domain).columns))

    def _chosen(self, step: Where) -> Array:
        """Return the places of the rows that are in the view."""
        found = [np.empty(0, dtype=np.int64)]
        for batch, start, stop in self._chunks(step.needs(())):
            with np.errstate(all="ignore"):
                chosen = step.chosen(batch, stop - start, self._base_domain)
            found.append(start + np.flatnonzero(chosen))
        return np.concatenate(found)

    def _chunks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[dict[str, Array], int, int]]:
        """Yield rows of the table, so few at once that they stay in a cache."""
        columns, rows = self._base.columns(names), self._base.length()
        for start in range(0, rows, _CHUNK):
            stop = min(start + _CHUNK, rows)
            yield {n: c[start:stop] for n, c in columns.items()}, start, stop

    def _made(self, name: str) -> Array:
        if self._rows is not None:
            return self._base.column(name)[self._rows]
        step, names = self._step, self._step.needs((name,))
        new = [n.name for n in step.columns] if isinstance(step, WithColumns) else []
        if name not in new:
            return self._base.column(name)
        whole = isinstance(self._step.domain(self._base_domain)[name], Category)
        out = np.empty(self._length, dtype=np.int64 if whole else np.float64)
        for batch, start, stop in self._chunks(names):
            with np.errstate(all="ignore"):
                made, _ = self._step.apply(
                    batch, stop - start, (name,), self._base_domain
                )
            out[start:stop] = made[name]
        return out

    def raw(self, name: str) -> Array:
        return self._view.raw(name)
