"""Feature maps: each row becomes a few numbers on a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from discreto.core import compiled
from discreto.core.domain.domain import Domain, Number
from discreto.core.maps.unit_columns import (
    Indicator,
    Terms,
    check_numbers,
    names_of,
)
from discreto.core.query import Batch, Floats, Shape
from discreto.core.validation import Names, Range
from discreto.errors import ParameterError

SUM_BITS = 30  # a sum of single values: 2^30 steps for half a range
PRODUCT_BITS = 15  # a factor of a product
_TOP = 1 << SUM_BITS
Direct = tuple[str, str, tuple[float, ...], slice]  # loop, column, facts, lines


@dataclass(frozen=True, slots=True)
class Values:
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

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        first = batch[names_of(self.names[:1])[0]]
        out = np.empty((len(self.names) + self.constant, len(first)))
        if self.constant:
            out[0] = 1 << self.bits
        for i, name in enumerate(self.names, start=int(self.constant)):
            if isinstance(name, Indicator):
                out[i] = name.values(batch, domain) * (1 << self.bits)
                continue
            origin, half = grid(domain.number(name), self.origin)
            values = batch[name]
            if self.origin == "zero":
                ends = self._ends(domain.number(name))
                values = np.clip(values, *ends, out=out[i])
            if origin:
                values = np.subtract(values, origin, out=out[i])
            np.multiply(values, (1 << self.bits) / half, out=out[i])
        return out

    def _ends(self, column: Number) -> tuple[float, float]:
        """To which ends numbers are cut before they are steps.

        Around the middle the clamp of the shape cuts at both bounds; around 0 it
        would let numbers through down to minus the upper bound.
        """
        if self.origin == "centre":
            return -math.inf, math.inf
        return float(column.lower), float(column.upper)

    def direct(self, domain: Domain) -> tuple[Direct, ...]:
        """The compiled loops that add these numbers up column by column, if any."""
        out: list[Direct] = []
        for i, name in enumerate(() if self.constant else self.names):
            if isinstance(name, Indicator):
                return ()
            origin, half = grid(domain.number(name), self.origin)
            ends = self._ends(domain.number(name))
            facts = float(origin), (1 << self.bits) / half, *ends
            out.append(("add_scaled", name, facts, slice(i, i + 1)))
        return tuple(out)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class Presence:
    """A 1 for each of these Number columns that is there, 0 for one that is missing."""

    names: Names

    def check(self, domain: Domain) -> None:
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return Shape(len(self.names), 1, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        return np.stack([1.0 - np.isnan(batch[name]) for name in self.names])

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Bernstein:
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

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        length = len(batch[self.names[0]])
        out = np.full((1, length), float(1 << SUM_BITS))
        fast = compiled.loops(length)
        for name in self.names:
            column = domain.number(name)
            if fast is not None:
                before, values = out, compiled.plain(batch[name], length)
                out = np.empty((len(before) * (self.degree + 1), length))
                own = float(column.centre), float(column.half)
                fast.bernstein(before, values, *own, self.degree, out)
                continue
            x = np.clip((batch[name] - column.centre) / column.half, -1, 1)
            np.copyto(x, 0.0, where=np.isnan(x))
            low, high = (1 - x) / 2, (1 + x) / 2
            if self.degree == 1:
                basis = np.stack([low, high])
            else:
                basis = np.stack([low * low, 2 * low * high, high * high])
            size = len(out) * len(basis)
            out = (out[:, None, :] * basis[None, :, :]).reshape(size, x.size)
        # Rounding down keeps the total below its bound, so nothing is shrunk.
        return np.floor(out, out=out)

    def direct(self, domain: Domain) -> tuple[Direct, ...]:
        """The compiled loop that adds these numbers up, for one column."""
        if len(self.names) > 1 or self.degree == 1:
            return ()
        column = domain.number(self.names[0])
        facts = float(column.centre), float(column.half), float(_TOP)
        return (("add_quadratic", self.names[0], facts, slice(0, 3)),)

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
