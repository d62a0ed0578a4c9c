"""Cell maps: each row falls in at most one of a public number of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Annotated, Any

import numpy as np

from discreto.core import compiled
from discreto.core.domain.domain import Category, Domain, Number, Value
from discreto.core.query import Batch, Cells, Everyone, Floats, Ints
from discreto.core.validation import Length, Names, Range, check_fields
from discreto.errors import DomainError, ParameterError

MISSING = "(missing or other)"  # no value, or one that was not declared
MAX_BINS = 1 << 20


@dataclass(frozen=True, slots=True)
class Present:
    """One cell with the rows in which none of these columns is missing."""

    names: Names

    def check(self, domain: Domain) -> None:
        present_in(self.names, domain)

    def count(self, domain: Domain) -> int:
        return 1

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        length = len(batch[self.names[0]])
        fast = _loops(length)
        if fast is not None and all(batch[name].dtype == float for name in self.names):
            out = np.zeros(length, dtype=np.int64)
            for name in self.names:
                fast.absent_numbers(compiled.plain(batch[name], length), out)
            return out
        absent = np.zeros(length, dtype=bool)
        for name in self.names:
            column = batch[name]
            absent |= column < 0 if column.dtype.kind == "i" else np.isnan(column)
        return -absent.astype(np.int64)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Completeness:
    """Two cells: rows in which none of these columns is missing, and all others."""

    names: Names

    def check(self, domain: Domain) -> None:
        present_in(self.names, domain)

    def count(self, domain: Domain) -> int:
        return 2

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        return -Present(self.names).codes(batch, domain)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Categories:
    """One cell for each combination of the declared categories of these columns.

    A column that may be missing has one category more, for values that are missing or
    were not declared; ``declared`` leaves such rows out instead.
    """

    names: Names
    declared: bool = False

    def check(self, domain: Domain) -> None:
        for name in self.names:
            domain.category(name)

    def count(self, domain: Domain) -> int:
        return math.prod(self._size(domain.category(name)) for name in self.names)

    def _size(self, column: Category) -> int:
        return len(column.categories) + self._with_gaps(column)

    def _with_gaps(self, column: Category) -> bool:
        return column.missing and not self.declared

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        out = np.zeros(len(batch[self.names[0]]), dtype=np.int64)
        fast = _loops(out.size)
        for name in self.names if fast is not None else ():
            column = domain.category(name)
            gaps, codes = self._with_gaps(column), compiled.plain(batch[name], out.size)
            fast.place_category(codes, self._size(column), gaps, out)
        if fast is not None:
            return out
        outside = np.zeros(out.size, dtype=bool)
        for name in self.names:
            column, codes = domain.category(name), batch[name]
            size = self._size(column)
            if self._with_gaps(column):
                codes = np.where(codes < 0, size - 1, codes)
            outside |= (codes < 0) | (codes >= size)
            out = out * size + codes
        out[outside] = -1
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names

    def labels(self, domain: Domain) -> list[Value] | list[tuple[Value, ...]]:
        """What each cell is called: a value, or a tuple of values."""
        lists = []
        for name in self.names:
            column = domain.category(name)
            gaps = [MISSING] if self._with_gaps(column) else []
            lists.append([*column.categories, *gaps])
        return lists[0] if len(lists) == 1 else list(product(*lists))


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal cells over the range of a Number; missing values fall in none.

    An integer column whose range has ``bins`` whole numbers gets a cell for each.
    """

    name: str
    bins: Annotated[int, Range(1, MAX_BINS)]

    def __post_init__(self) -> None:
        check_fields(self)  # a caller's values, which are used before it is bound

    def check(self, domain: Domain) -> None:
        domain.number(self.name)

    def count(self, domain: Domain) -> int:
        return self.bins

    def span(self, column: Number) -> tuple[float, float]:
        """Where the first cell begins and the last one ends."""
        if whole_numbers(column) == self.bins:
            return math.ceil(column.lower) - 0.5, math.floor(column.upper) + 0.5
        return column.lower, column.upper

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        low, high = self.span(domain.number(self.name))
        scale, values = self.bins / (high - low), batch[self.name]
        fast = _loops(len(values))
        if fast is None:
            return to_cells((values - low) * scale, self.bins)
        out = np.empty(len(values), dtype=np.int64)
        fast.place_bins(compiled.plain(values, out.size), low, scale, self.bins, out)
        return out

    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def edges(self, domain: Domain) -> Floats:
        """The ends of the cells."""
        low, high = self.span(domain.number(self.name))
        return np.linspace(low, high, self.bins + 1)

    def centres(self, domain: Domain) -> Floats:
        """The middles of the cells."""
        edges = self.edges(domain)
        return (edges[1:] + edges[:-1]) / 2


@dataclass(frozen=True, slots=True)
class WholeGroups:
    """A cell for each whole number of an integer column, and a last one for gaps."""

    name: str

    def check(self, domain: Domain) -> None:
        if not 1 <= whole_numbers(domain.number(self.name)) <= MAX_BINS:
            raise ParameterError(f"{self.name!r} has no or too many whole numbers.")

    def bins(self, domain: Domain) -> Bins:
        """The cells of rows that have a value."""
        return Bins(self.name, whole_numbers(domain.number(self.name)))

    def count(self, domain: Domain) -> int:
        return whole_numbers(domain.number(self.name)) + 1

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        codes = self.bins(domain).codes(batch, domain)
        return np.where(codes < 0, self.count(domain) - 1, codes)

    def columns(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Edges:
    """Cells between given cuts of a Number: below the first, ..., above the last.

    A value that equals a cut falls in the cell below it. With ``gaps`` there is a last
    cell for rows without a value.
    """

    name: str
    cuts: Annotated[tuple[float, ...], Length(0, MAX_BINS), Range(-1e300, 1e300)]
    gaps: bool = False

    def __post_init__(self) -> None:
        check_fields(self)  # a caller's values, which are used before it is bound
        if any(a > b for a, b in pairwise(self.cuts)):
            raise ParameterError(f"{self.name!r}: cuts must be sorted.")

    def check(self, domain: Domain) -> None:
        domain.number(self.name)

    def count(self, domain: Domain) -> int:
        return len(self.cuts) + 1 + self.gaps

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        out = self._places(batch, domain)
        return np.where(out < 0, len(self.cuts) + 1, out) if self.gaps else out

    def _places(self, batch: Batch, domain: Domain) -> Ints:
        column, values = domain.number(self.name), batch[self.name]
        cuts = _array_of(self.cuts)  # and an infinite one
        fast = _loops(len(values))
        if fast is None:
            clipped = np.clip(values, column.lower, column.upper)
            out = np.searchsorted(cuts[:-1], clipped, side="left")
            return np.where(np.isnan(values), -1, out)
        ends = float(column.lower), float(column.upper)
        starts = np.empty(4 * len(cuts) + 1, dtype=np.int32)
        scale = (len(starts) - 1) / (2 * column.half)
        fast.guide(cuts[:-1], *ends, scale, starts)
        out = np.empty(len(values), dtype=np.int64)
        own = compiled.plain(values, out.size)
        fast.place_edges(own, cuts, *ends, scale, starts, out)
        return out

    def columns(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Magnitudes:
    """Cells by sign and power of two, for a Number whose real range is not known.

    Cell ``REACH`` holds what is nearly 0, cells above it [2^e, 2^(e+1)) for rising e,
    cells below it the same with a minus.
    """

    name: str
    lowest: Annotated[int, Range(-1000, 1000)] = -20
    highest: Annotated[int, Range(-1000, 1000)] = 60

    def reach(self) -> int:
        """How many powers there are on either side of 0."""
        return self.highest - self.lowest + 1

    def check(self, domain: Domain) -> None:
        if self.lowest >= self.highest:
            raise ParameterError("Magnitudes needs whole numbers lowest < highest.")
        domain.number(self.name)

    def count(self, domain: Domain) -> int:
        return 2 * self.reach() + 1

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        column, values = domain.number(self.name), batch[self.name]
        values = np.clip(values, column.lower, column.upper)
        size = np.abs(values)
        power = np.frexp(size)[1] - 1 - self.lowest  # size in [2^power, 2^(power+1))
        rank = np.where(size == 0, 0, np.clip(power + 1, 0, self.reach()))
        out = self.reach() + np.sign(values) * rank
        return np.where(np.isnan(values), -1, np.nan_to_num(out)).astype(np.int64)

    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def edges(self, cell: int) -> tuple[float, float]:
        """The smallest and largest value of a cell."""
        rank = cell - self.reach()
        if rank == 0:
            return -(2.0**self.lowest), 2.0**self.lowest
        low = 2.0 ** (self.lowest + abs(rank) - 1)
        return (low, 2 * low) if rank > 0 else (-2 * low, -low)


@dataclass(frozen=True, slots=True)
class Cross:
    """The combinations of two cell maps; a row outside of either is in none."""

    first: Cells
    second: Cells

    def check(self, domain: Domain) -> None:
        if Everyone in (type(self.first), type(self.second)):
            raise ParameterError("Cross takes two cell maps.")
        if self.count(domain) > 1 << 62:
            raise ParameterError("the cells of a Cross are too many.")

    def count(self, domain: Domain) -> int:
        return self.first.count(domain) * self.second.count(domain)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        first, second = (
            self.first.codes(batch, domain),
            self.second.codes(batch, domain),
        )
        size = self.second.count(domain)
        inside = (first >= 0) & (second >= 0) & (second < size)
        inside &= first < self.first.count(domain)
        return np.where(inside, first * size + second, -1)

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.first.columns(), *self.second.columns())))


_arrays: dict[int, tuple[tuple[float, ...], Floats]] = {}


def _array_of(cuts: tuple[float, ...]) -> Floats:
    """Cuts as an array, made once for all batches of a question."""
    kept = _arrays.get(id(cuts))
    if kept is None or kept[0] is not cuts:
        if len(_arrays) >= 16:
            _arrays.clear()
        array = compiled.plain(np.array([*cuts, math.inf]), len(cuts) + 1)
        kept = _arrays[id(cuts)] = (cuts, array)
    return kept[1]


def _loops(rows: int) -> Any:
    """The compiled loops that find cells, or None."""
    return compiled.loops(rows, "discreto.core.maps.cells_numba")


def to_cells(position: Floats, count: int) -> Ints:
    """Whole cell numbers from real positions; NaN is in no cell."""
    inside = np.clip(np.floor(position), 0, count - 1)
    return np.where(np.isnan(inside), -1.0, inside).astype(np.int64)


def whole_numbers(column: Number) -> int:
    """How many whole numbers an integer column can hold; 0 for other columns."""
    if not column.integer:
        return 0
    return math.floor(column.upper) - math.ceil(column.lower) + 1


def present_in(names: tuple[str, ...], domain: Domain) -> Cells:
    """Everyone, or those without a missing value where the domain allows missing."""
    for name in names:
        column = domain[name]
        if isinstance(column, Number | Category):
            if column.missing:
                return Present(names)
        else:
            raise DomainError(f"{name!r} is opaque: it cannot be asked about.")
    return Everyone()
