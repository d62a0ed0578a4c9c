"""Hashing by random cuts: which sides of some hyperplanes a row is on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps.neighbors import GRID
from discreto.core.maps.unit_columns import rows_with_gaps
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.core.rounding import whole
from discreto.core.validation import Length, Range, check_widths
from discreto.errors import ParameterError

MAX_CUTS = 16
MAX_TABLES = 1 << 10
_STEPS = GRID * GRID  # a product of two numbers on the grid


@dataclass(frozen=True, slots=True)
class Sides:
    """One cell for each combination of sides of a few hyperplanes.

    Cut i puts a row on its upper side when ``weights[i]`` times the numbers of the row
    (on [-1, 1], a missing one at its place in ``fill``, or at 0) plus the weight of
    each of its categories (0 for none) is above ``offsets[i]``. ``marks[i][j]`` lists
    the weights of the values of category column j, in the domain's order.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    weights: Annotated[tuple[tuple[float, ...], ...], Range(-1, 1)]
    marks: Annotated[tuple[tuple[tuple[float, ...], ...], ...], Range(-1, 1)]
    offsets: Annotated[tuple[float, ...], Length(1, MAX_CUTS), Range(-1e6, 1e6)]
    fill: Annotated[tuple[float, ...], Range(-1, 1)] = ()

    def check(self, domain: Domain) -> None:
        names = (*self.numbers, *self.categories)
        if not names or len(set(names)) != len(names):
            raise ParameterError(f"columns must be different names. Got {names!r}.")
        if {len(self.weights), len(self.marks)} != {len(self.offsets)}:
            raise ParameterError("each cut needs its weights.")
        if len(self.fill) not in (0, len(self.numbers)):
            raise ParameterError("every number needs one that fills gaps.")
        check_widths(self.weights, len(self.numbers))
        check_widths(self.marks, len(self.categories))
        for name in self.numbers:
            domain.number(name)
        sizes = [len(domain.category(name).categories) for name in self.categories]
        if any([len(part) for part in lists] != sizes for lists in self.marks):
            raise ParameterError("each category of a column needs one weight.")

    def count(self, domain: Domain) -> int:
        return 1 << len(self.offsets)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        length = len(batch[self.columns()[0]])
        heights = np.zeros((len(self.offsets), length))
        # Whole numbers add up exactly: the side of a row must not depend on the rows
        # of the same batch, not even in the last bit.
        if self.numbers:
            x = rows_with_gaps(self.numbers, batch, domain)
            places = self.fill or (0.0,) * len(x)
            x = np.where(np.isnan(x), np.array(places)[:, None], x)
            x = whole(x * GRID)
            heights += whole(np.array(self.weights) * GRID) @ x
        for j, name in enumerate(self.categories):
            # The last place is that of no category: a weight of 0.
            marks = np.array([(*lists[j], 0.0) for lists in self.marks])
            none, codes = marks.shape[1] - 1, batch[name]
            codes = np.where((codes >= 0) & (codes < none), codes, none)
            heights += whole(marks * _STEPS)[:, codes]
        upper = heights > whole(np.array(self.offsets) * _STEPS)[:, None]
        out = np.zeros(length, dtype=np.int64)
        for bit in upper:
            out = 2 * out + bit
        return out

    def columns(self) -> tuple[str, ...]:
        return (*self.numbers, *self.categories)


@dataclass(frozen=True, slots=True)
class Memberships:
    """For each of several hash tables, a one at the cell that the row falls in.

    A row has as many ones as there are tables, so it moves all counts together by no
    more than that; asking for each table apart would need the same noise.
    """

    tables: Annotated[tuple[Sides, ...], Length(1, MAX_TABLES)]

    def check(self, domain: Domain) -> None:
        """Refuse tables of different sizes."""
        if len({len(table.offsets) for table in self.tables}) != 1:
            raise ParameterError("all tables must have the same number of cuts.")

    def shape(self, domain: Domain) -> Shape:
        cells = [table.count(domain) for table in self.tables]
        return Shape(sum(cells), 1, total=len(cells), signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        length, cells = len(batch[self.columns()[0]]), self.tables[0].count(domain)
        out = np.zeros((len(self.tables) * cells, length))
        every = np.arange(length)
        for i, table in enumerate(self.tables):
            out[i * cells + table.codes(batch, domain), every] = 1.0
        return out

    def columns(self) -> tuple[str, ...]:
        names = [name for table in self.tables for name in table.columns()]
        return tuple(dict.fromkeys(names))


def _tuple(value: object) -> tuple[object, ...]:
    if not isinstance(value, tuple):
        raise ParameterError("the parts of Sides are lists.")
    return value


def _reals(values: tuple[object, ...], limit: float) -> bool:
    return all(
        isinstance(v, int | float)
        and not isinstance(v, bool)
        and math.isfinite(v)
        and abs(v) <= limit
        for v in values
    )
