"""Hashing by random cuts: which sides of some hyperplanes a row is on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps.neighbors import GRID
from discreto.core.maps.unit_columns import rows_with_gaps
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.core.rounding import whole
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
    weights: tuple[tuple[float, ...], ...]
    marks: tuple[tuple[tuple[float, ...], ...], ...]
    offsets: tuple[float, ...]
    fill: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        names = (*_tuple(self.numbers), *_tuple(self.categories))
        texts = all(isinstance(name, str) for name in names)
        if not names or not texts or len(set(names)) != len(names):
            raise ParameterError(f"columns must be different names. Got {names!r}.")
        cuts = len(_tuple(self.offsets))
        if not 1 <= cuts <= MAX_CUTS:
            raise ParameterError(f"a row has 1 to {MAX_CUTS} sides. Got {cuts}.")
        good = len(_tuple(self.weights)) == len(_tuple(self.marks)) == cuts
        good = good and _reals(self.offsets, 1e6) and _reals(_tuple(self.fill), 1)
        good = good and len(self.fill) in (0, len(self.numbers))
        for row, lists in zip(self.weights, self.marks, strict=False):
            good = good and len(_tuple(row)) == len(self.numbers) and _reals(row, 1)
            good = good and len(_tuple(lists)) == len(self.categories)
            good = good and all(_reals(_tuple(part), 1) for part in lists)
        if not good:
            raise ParameterError(
                "each cut needs a weight from -1 to 1 for every number and category."
            )

    def check(self, domain: Domain) -> None:
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

    tables: tuple[Sides, ...]

    def __post_init__(self) -> None:
        tables = _tuple(self.tables)
        if not all(isinstance(table, Sides) for table in tables):
            raise ParameterError("Memberships is made of Sides.")
        sizes = {len(table.offsets) for table in self.tables}
        if len(sizes) != 1 or len(tables) > MAX_TABLES:
            raise ParameterError(
                f"1 to {MAX_TABLES} tables must have the same number of cuts."
            )

    def check(self, domain: Domain) -> None:
        """Each of its tables says whether it fits."""

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
