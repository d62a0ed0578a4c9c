"""Feature maps: each row becomes a few numbers on a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from discreto.core.domain.domain import Domain, Number
from discreto.core.maps.unit_columns import (
    Indicator,
    Terms,
    check_numbers,
    names_of,
)
from discreto.core.query import Shape
from discreto.core.row_program import (
    Row,
    RowFeatures,
    Value,
    between,
    floor,
    missing,
    present_or,
    quadratic_parts,
)
from discreto.core.validation import Names, Range
from discreto.errors import ParameterError

SUM_BITS = 30  # a sum of single values: 2^30 steps for half a range
PRODUCT_BITS = 15  # a factor of a product
_TOP = 1 << SUM_BITS


@dataclass(frozen=True, slots=True)
class Values(RowFeatures):
    """Numbers in steps of 2^-bits of half their range, around the middle or 0.

    An indicator is a number on [0, 1]. ``constant`` puts a 1 in front, for products
    with an intercept. A missing value adds nothing: it counts as the origin.
    """

    names: Terms
    bits: Annotated[int, Range(1, SUM_BITS)] = SUM_BITS
    origin: Literal["centre", "zero"] = "centre"
    constant: bool = False

    def check(self, domain: Domain) -> None:
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        top = 1 << self.bits
        sizes = {n.column: n.size for n in self.names if isinstance(n, Indicator)}
        numbers = self.constant + sum(isinstance(n, str) for n in self.names)
        # A row has one category of a column, however many there are.
        ones = [min(math.ceil(size * top), top) for size in sizes.values()]
        total = numbers * top + sum(ones)
        square = numbers * top**2 + sum(one**2 for one in ones)
        return Shape(len(self.names) + self.constant, top, total, square)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        top = float(1 << self.bits)
        out = [row.constant(top)] if self.constant else []
        for name in self.names:
            if isinstance(name, Indicator):
                out.append(name.row_value(row, domain) * top)
                continue
            value, column = row.number(name), domain.number(name)
            if self.origin == "zero":
                # The clamp of the shape would let numbers through down to minus the
                # upper bound; around the middle it cuts at both bounds.
                value = between(value, float(column.lower), float(column.upper))
            origin, half = grid(column, self.origin)
            out.append((value - float(origin)) * (top / half))
        return out

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class Presence(RowFeatures):
    """A 1 for each of these Number columns that is there, 0 for one that is missing."""

    names: Names

    def check(self, domain: Domain) -> None:
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return Shape(len(self.names), 1, signed=False)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        return [1.0 - missing(row.number(name)) for name in self.names]

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Bernstein(RowFeatures):
    """Non-negative polynomials of some columns that add up to one in every row.

    For x in [-1, 1], degree 1 is ((1-x)/2, (1+x)/2) and degree 2 is
    ((1-x)^2/4, (1-x^2)/2, (1+x)^2/4); several columns are multiplied out. Means,
    variances and correlations are linear in them or close to it, and a row moves all
    of them together by no more than one.
    """

    names: Names
    degree: Annotated[int, Range(1, 2)]

    def check(self, domain: Domain) -> None:
        if (self.degree + 1) ** len(self.names) > 81:
            raise ParameterError("Bernstein takes degree 1 or 2 and a few columns.")
        for name in self.names:
            domain.number(name)

    def shape(self, domain: Domain) -> Shape:
        limit = 1 << SUM_BITS
        width = (self.degree + 1) ** len(self.names)
        return Shape(width, limit, total=limit, signed=False)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        top = float(1 << SUM_BITS)
        if len(self.names) == 1 and self.degree == 2:
            column = domain.number(self.names[0])
            ends = float(column.centre), float(column.half)
            return quadratic_parts(row.number(self.names[0]), *ends, top)
        out: list[Value] = []
        for name in self.names:
            basis = self._basis(row.number(name), domain.number(name))
            if not out:
                out = [part * top for part in basis]
            else:
                out = [before * part for before in out for part in basis]
        # Rounding down keeps the total below its bound, so nothing is shrunk.
        return [floor(part) for part in out]

    def _basis(self, value: Value, column: Number) -> list[Value]:
        x = (value - float(column.centre)) / float(column.half)
        x = between(present_or(x, 0.0), -1.0, 1.0)
        low, high = (1.0 - x) / 2.0, (1.0 + x) / 2.0
        if self.degree == 1:
            return [low, high]
        return [low * low, 2.0 * low * high, high * high]

    def columns(self) -> tuple[str, ...]:
        return self.names


def grid(column: Number, origin: str) -> tuple[float, float]:
    """The value at step 0 and the distance to the furthest bound."""
    if origin == "zero":
        return 0.0, max(abs(column.lower), abs(column.upper))
    return column.centre, column.half


def unit_shape(
    width: int, norm: Literal["l1", "l2"], top: int = _TOP, limit: int = _TOP
) -> Shape:
    """Rows of norm ``top`` at most, and no number above ``limit``."""
    if norm == "l1":
        return Shape(width, limit, total=top)
    return Shape(width, limit, square=top**2)
