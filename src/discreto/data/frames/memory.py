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

from discreto.core.domain.domain import Domain, Number
from discreto.core.frame import Array, Frame, Origin, Place, asked
from discreto.core.row_cache import CachedRows, RowCache, WithCache
from discreto.core.row_local import cell_by_cell
from discreto.core.unknown_keys import OpenText
from discreto.data.frames.convert import convert, listed, owned, people_of
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
_SMALL = 1 << 8  # bytes a row for codes, leaves and scores, beside 16 for each column


class Rows(WithCache, dict[str, Array]):
    """A batch of rows that lie in memory."""

    def __init__(self, columns: dict[str, Array], cache: CachedRows) -> None:
        super().__init__(columns)
        self.cache = cache


def array_columns(data: Array, domain: Domain) -> dict[str, Array]:
    """The columns of a 2-d array, named by the domain."""
    if data.ndim != 2 or data.shape[1] != len(domain.columns):
        raise DomainError(
            f"an array needs the {len(domain.columns)} columns of the domain, in its "
            f"order. Got shape {('rows', *data.shape[1:])}."
        )
    check_types(domain, dict.fromkeys(domain, kind_of(data)))
    return {name: data[:, i] for i, name in enumerate(domain)}


def dict_columns(data: Mapping[Any, Any], domain: Domain) -> dict[str, Array]:
    """The columns of a dict that the domain knows."""
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
    """Identifiers as they are: with some lacking numpy would make them floats."""
    if isinstance(values, np.ndarray) or hasattr(values, "to_numpy"):
        return values
    several = list(values)
    return np.fromiter(several, dtype=object, count=len(several))


def native_columns(data: Any, domain: Domain) -> dict[str, Any]:
    """The columns of a pandas, polars or pyarrow table."""
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
        names = frame.columns
    except Exception:
        raise DomainError(
            f"cannot read a {type(data).__name__}. Give a pandas, polars or pyarrow "
            "table with different column names, a dict of arrays, the path of "
            "files, or a lazy table of DuckDB, Polars, Ibis, Spark, Dask "
            "or pyarrow.dataset."
        ) from None
    need_columns(domain, names)
    found = {name: frame.get_column(name) for name in domain}
    check_types(domain, {name: kind_of(found[name]) for name in domain})
    return found


def new_cache(rows: int, columns: int, whole: int = 0) -> RowCache:
    """Return a store for a table in memory, with ``whole`` bytes for whole rows."""
    small = Spill(rows * (_SMALL + 16 * columns), file=False)
    return RowCache(small, Spill(whole, file=False))


class MemoryFrame:
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
        numbers = [n for n, c in domain.columns.items() if isinstance(c, Number)]
        kinds = {name: kind_of(columns[name]) for name in numbers}
        self.spelled = spells_numbers(domain, kinds)
        self._numbers: dict[str, Array] = {}
        self._ready: dict[str, Array] = {}
        for name, spec in domain.columns.items():  # others are never asked about
            if asked(spec):
                copy, ready = owned(columns[name], spec, domain.dialect)
                (self._ready if ready else self._numbers)[name] = copy
        person = domain.person
        self._texts = {
            name: people_of(columns[name], domain.dialect)
            for name, spec in domain.columns.items()
            if name == person or isinstance(spec, OpenText)
        }
        many = len(self._ready) + len(self._numbers)
        # Little more than the rows themselves take, and never more than 512 MB.
        whole = min(self._length * many * 8 * 11 // 10, _WHOLE)
        self.cache = new_cache(self._length, many, whole)
        self._lock = threading.Lock()

    def length(self) -> int:
        return int(self._length)

    def origins(self) -> tuple[Origin, ...]:
        return ()

    def places(self) -> tuple[Place, ...]:
        return (("rows", 0, self._length),)

    def for_plan(self) -> Frame:
        return self

    def column(self, name: str) -> Array:
        return self.columns([name])[name]

    def columns(self, names: Sequence[str]) -> dict[str, Array]:
        """Some columns as arrays that nobody can write to."""
        with self._lock:  # two threads need not convert it twice
            for name in names:
                if name not in self._ready:
                    self._ready[name] = self._made(name)
                self._ready[name].flags.writeable = False
            return {name: self._ready[name] for name in names}

    def _made(self, name: str) -> Array:
        """A column as an array, which is made when it is first asked for."""
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

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        return _Slice(self, 0, self._length).batches(names, size)


class _Slice:
    """Some rows of a table in memory."""

    def __init__(self, frame: MemoryFrame, start: int, stop: int) -> None:
        self._frame, self._start, self._stop = frame, start, stop

    def length(self) -> int:
        return self._stop - self._start

    def origins(self) -> tuple[Origin, ...]:
        return ()

    def places(self) -> tuple[Place, ...]:
        return (("rows", self._start, self._stop),)

    def for_plan(self) -> Frame:
        return self

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def column(self, name: str) -> Array:
        return self._frame.column(name)[self._start : self._stop]

    def raw(self, name: str) -> Array:
        return self._frame.raw(name)[self._start : self._stop]

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        columns, cache = self._frame.columns(names), self._frame.cache
        for start in range(self._start, self._stop, size):
            stop = min(start + size, self._stop)
            part = {n: c[start:stop] for n, c in columns.items()}
            yield Rows(part, CachedRows(cache, (start, stop))), stop - start
