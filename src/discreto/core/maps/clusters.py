"""Row maps around points: the nearest centre, the way to it, fuzzy memberships.

Points are on [-1, 1], where columns are measured from the middle of their range. A
missing number is left out: distances are over the numbers that are there, and no way
leads along one that is not. A row without any number belongs to no point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from discreto.core.domain.domain import Domain
from discreto.core.maps._distances import (
    any_present,
    memberships,
    nearest_point,
    raised,
)
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.unit_columns import (
    Terms,
    check_numbers,
    may_lack,
    names_of,
    unit_values,
)
from discreto.core.query import Shape
from discreto.core.row_program import (
    Row,
    RowCells,
    RowFeatures,
    Value,
    absolute,
    choose,
    floor,
    missing,
    most,
    present_or,
    rank,
    root,
    take,
    total,
)
from discreto.core.validation import Length, Names, Range, check_widths
from discreto.errors import ParameterError

Points = Annotated[tuple[tuple[float, ...], ...], Length(1, 1 << 16), Range(-4.0, 4.0)]
Norm = Annotated[int, Range(1, 2)]  # l1 or l2
Radius = Annotated[float, Range(1e-9, 1e9)]
Fuzzifier = Annotated[float, Range(1.001, 100.0)]
MAX_RINGS = 64
_STEPS = 1 << SUM_BITS


@dataclass(frozen=True, slots=True)
class Nearest(RowCells):
    """One cell for each centre, with the rows that are nearest to it."""

    names: Terms
    centres: Points

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def count(self, domain: Domain) -> int:
        return len(self.centres)

    def row_cell(self, row: Row, domain: Domain) -> Value:
        x = _unit(self.names, row, domain)
        return nearest_point(x, self.centres, row)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class Rings(RowCells):
    """Cells by the distance of a row to its nearest centre.

    The last of ``bins`` cells reaches to the largest possible distance; every cell
    before it reaches 1/sqrt(2) times as far as the next. ``norm`` 1 adds up absolute
    differences, 2 is the Euclidean distance.
    """

    names: Terms
    centres: Points
    bins: Annotated[int, Range(1, MAX_RINGS)]
    norm: Norm = 1

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def count(self, domain: Domain) -> int:
        return self.bins

    def row_cell(self, row: Row, domain: Domain) -> Value:
        x = _from_nearest(self.names, self.centres, row, domain)
        size = _size([present_or(value, 0.0) for value in x], self.norm)
        far = rank(self.ends(), size / diameter(len(x), self.norm))
        return choose(any_present(x), far, -1.0)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)

    def ends(self) -> tuple[float, ...]:
        """Where each cell but the last ends, in parts of the largest distance."""
        return tuple(
            2.0 ** ((cell + 1 - self.bins) / 2) for cell in range(self.bins - 1)
        )

    def edge(self, cell: int) -> float:
        """How far a cell reaches."""
        reach = diameter(len(self.names), self.norm)
        return reach * 2.0 ** ((cell + 1 - self.bins) / 2)


@dataclass(frozen=True, slots=True)
class Deviations(RowFeatures):
    """The way from the nearest centre to a row, in units of ``radius``.

    A row further away than ``radius`` is pulled in to it. The smaller the radius, the
    less noise a centre gets; the sensitivity is 1 for every radius.
    """

    names: Terms
    centres: Points
    radius: Radius
    norm: Norm = 1

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return _ball(len(self.names), self.norm)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        x = _from_nearest(self.names, self.centres, row, domain)
        if may_lack(self.names, domain):
            x = [present_or(value, 0.0) for value in x]
        return _pull_in(x, self.radius, self.norm)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class FuzzyWeights(RowFeatures):
    """Fuzzy memberships u_j to the power of m, one number for each centre.

    u_j is proportional to distance^(-2 / (m - 1)) and the u_j add up to one, so their
    powers add up to at most one.
    """

    names: Terms
    centres: Points
    power: Fuzzifier

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return Shape(len(self.centres), _STEPS, total=_STEPS, signed=False)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        x = _unit(self.names, row, domain)
        here = any_present(x)
        parts = _powers(self, x, row)
        # Rounding down keeps the total below its bound, so nothing is shrunk.
        return [floor(choose(here, part * float(_STEPS), 0.0)) for part in parts]

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class FuzzyPresence(RowFeatures):
    """``FuzzyWeights`` of the rows that have a value, for each of some Number columns.

    One number for each centre and column; the weights of a row add up to at most one
    in each column.
    """

    names: Terms
    centres: Points
    power: Fuzzifier
    asked: Names

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        if not set(self.asked) <= set(self.names):
            raise ParameterError("presence is asked of some of the columns.")
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        width = len(self.centres) * len(self.asked)
        return Shape(width, _STEPS, total=len(self.asked) * _STEPS, signed=False)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        weights = FuzzyWeights(self.names, self.centres, self.power)
        there = [1.0 - missing(row.number(name)) for name in self.asked]
        each = weights.row_numbers(row, domain)
        return [weight * own for weight in each for own in there]

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class FuzzyPulls(RowFeatures):
    """The ways from all centres to a row, weighted by its memberships to the power m.

    The numbers of one row (centres x columns) are measured in units of ``radius`` and
    pulled in to it together.
    """

    names: Terms
    centres: Points
    power: Fuzzifier
    radius: Radius
    norm: Norm = 1

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return _ball(len(self.centres) * len(self.names), self.norm)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        x = _unit(self.names, row, domain)
        ways = [
            (value - place) * weight
            for weight, point in zip(_powers(self, x, row), self.centres, strict=True)
            for value, place in zip(x, point, strict=True)
        ]
        if may_lack(self.names, domain):
            ways = [present_or(way, 0.0) for way in ways]
        return _pull_in(ways, self.radius, self.norm)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


def diameter(width: int, norm: int) -> float:
    """The largest distance of two points on [-1, 1]."""
    return 2.0 * (width if norm == 1 else math.sqrt(width))


def _unit(names: Terms, row: Row, domain: Domain) -> list[Value]:
    """Return columns on [-1, 1]; NaN where a number is missing."""
    return row.keep(unit_values(names, row, domain, gaps=True))


def _powers(of: FuzzyWeights | FuzzyPulls, x: list[Value], row: Row) -> list[Value]:
    """Return memberships to their power."""
    return raised(memberships(x, of.centres, of.power, row), of.power)


def _from_nearest(
    names: Terms, centres: Points, row: Row, domain: Domain
) -> list[Value]:
    """Return the way from the nearest centre; NaN along what is missing."""
    x = _unit(names, row, domain)
    if len(centres) == 1:
        return [value - place for value, place in zip(x, centres[0], strict=True)]
    near = nearest_point(x, centres, row)
    # A row without any number is near none; its way is NaN whatever is taken off.
    lines = zip(x, zip(*centres, strict=True), strict=True)
    return [value - take(places, near, 0.0) for value, places in lines]


def _size(x: list[Value], norm: int) -> Value:
    if norm == 1:
        return total(absolute(value) for value in x)
    return root(total(value * value for value in x))


def _pull_in(x: list[Value], radius: float, norm: int) -> list[Value]:
    """Return steps whose norm is at most one radius, once they are rounded."""
    by = float(steps_of(len(x))) / most(_size(x, norm), radius)
    return [value * by for value in x]


def steps_of(width: int) -> int:
    """How many grid steps one radius has, so that rounding stays within the bound."""
    return _STEPS - width


def _ball(width: int, norm: int) -> Shape:
    if norm == 1:
        return Shape(width, _STEPS, total=_STEPS)
    return Shape(width, _STEPS, square=_STEPS**2)
