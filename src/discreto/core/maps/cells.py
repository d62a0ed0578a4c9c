"""Cell maps: each row falls in at most one of a public number of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Annotated

import numpy as np

from discreto.core.domain import domain as domains
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.query import Batch, Cells, Everyone, Floats, Ints
from discreto.core.row_program import (
    Row,
    RowCells,
    Value,
    absolute,
    between,
    choose,
    floor,
    missing,
    present_or,
    rank,
    total,
    within,
)
from discreto.core.validation import Length, Names, Range, check_fields
from discreto.errors import DomainError, ParameterError

MISSING = "(missing or other)"  # no value, or one that was not declared
MAX_BINS = 1 << 20


@dataclass(frozen=True, slots=True)
class Present(RowCells):
    """One cell with the rows in which none of these columns is missing."""

    names: Names

    def check(self, domain: Domain) -> None:
        present_in(self.names, domain)

    def count(self, domain: Domain) -> int:
        return 1

    def row_cell(self, row: Row, domain: Domain) -> Value:
        return -total(absent(row, name, domain) for name in self.names)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Completeness(RowCells):
    """Two cells: rows in which none of these columns is missing, and all others."""

    names: Names

    def check(self, domain: Domain) -> None:
        present_in(self.names, domain)

    def count(self, domain: Domain) -> int:
        return 2

    def row_cell(self, row: Row, domain: Domain) -> Value:
        return total(absent(row, name, domain) for name in self.names) > 0.0

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Categories(RowCells):
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

    def row_cell(self, row: Row, domain: Domain) -> Value:
        out = row.constant(0.0)
        for name in self.names:
            column = domain.category(name)
            size = float(self._size(column))
            other = size - 1.0 if self._with_gaps(column) else math.nan
            code = within(row.code(name), size, other)
            out = code if name == self.names[0] else code + out * size
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names

    def labels(
        self, domain: Domain
    ) -> list[domains.Value] | list[tuple[domains.Value, ...]]:
        """What each cell is called: a value, or a tuple of values."""
        lists = []
        for name in self.names:
            column = domain.category(name)
            gaps = [MISSING] if self._with_gaps(column) else []
            lists.append([*column.categories, *gaps])
        return lists[0] if len(lists) == 1 else list(product(*lists))


@dataclass(frozen=True, slots=True)
class Bins(RowCells):
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

    def row_cell(self, row: Row, domain: Domain) -> Value:
        low, high = self.span(domain.number(self.name))
        at = floor((row.number(self.name) - low) * (self.bins / (high - low)))
        return between(at, 0.0, self.bins - 1.0)

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
class WholeGroups(RowCells):
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

    def row_cell(self, row: Row, domain: Domain) -> Value:
        return present_or(
            self.bins(domain).row_cell(row, domain), self.count(domain) - 1.0
        )

    def columns(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Edges(RowCells):
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

    def row_cell(self, row: Row, domain: Domain) -> Value:
        value, column = row.number(self.name), domain.number(self.name)
        inside = between(value, float(column.lower), float(column.upper))
        last = len(self.cuts) + 1.0 if self.gaps else -1.0
        return choose(missing(value), last, rank(self.cuts, inside))

    def columns(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Magnitudes(RowCells):
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

    def row_cell(self, row: Row, domain: Domain) -> Value:
        value, column = row.number(self.name), domain.number(self.name)
        inside = between(value, float(column.lower), float(column.upper))
        # Edges just below the powers: a power itself is in the cell that begins there.
        powers = range(self.lowest, self.highest + 1)
        edges = [math.nextafter(2.0**power, 0.0) for power in powers]
        size, middle = rank(edges, absolute(inside)), float(self.reach())
        cell = choose(inside < 0.0, middle - size, middle + size)
        return choose(missing(value), -1.0, cell)

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
class Cross(RowCells):
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

    def of_rows(self) -> bool:
        return all(
            isinstance(part, RowCells) and part.of_rows()
            for part in (self.first, self.second)
        )

    def row_cell(self, row: Row, domain: Domain) -> Value:
        places = [
            within(part.row_cell(row, domain), float(part.count(domain)), math.nan)
            for part in (self.first, self.second)
            if isinstance(part, RowCells)
        ]
        return places[1] + places[0] * float(self.second.count(domain))

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        if self.of_rows():
            return RowCells.codes(self, batch, domain)
        first = self.first.codes(batch, domain)
        second = self.second.codes(batch, domain)
        size = self.second.count(domain)
        inside = (first >= 0) & (second >= 0) & (second < size)
        inside &= first < self.first.count(domain)
        return np.where(inside, first * size + second, -1)

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.first.columns(), *self.second.columns())))


def absent(row: Row, name: str, domain: Domain) -> Value:
    """Return 1 where a row has no value in a column, else 0."""
    if isinstance(domain[name], Number):
        return missing(row.number(name))
    return row.code(name) < 0.0


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
