"""Choosing among marginals: exact counts of several at once, and how far a guess is.

A row is in one cell of each marginal, or in none of it, so it moves the distance of a
marginal from any public guess by at most one (``docs/proofs/marginals.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from discreto.core.domain.domain import Domain, Neighbours
from discreto.core.maps.cells import Categories
from discreto.core.query import Batch, Ints
from discreto.core.validation import Length, Names, Range
from discreto.errors import ParameterError

MOST_MARGINALS = 1 << 14
BATCH_ROWS = 1 << 17
WHOLE = 1000  # a weight of 1
_FURTHEST = 1 << 60  # of all guesses together: no sum of distances can wrap
_CAP = 1 << 50  # of a distance that is weighed


@dataclass(frozen=True, slots=True)
class MarginalCounts:
    """How many rows are in each cell of each of several marginals of Categories.

    ``sets`` holds for each marginal the places of its columns in ``names``. The cells
    of a marginal are those of ``Categories``, one marginal after the other.
    """

    proof = "docs/proofs/marginals.md#one-row-moves-a-distance-by-at-most-one"

    names: Names
    sets: Annotated[tuple[tuple[int, ...], ...], Length(1, MOST_MARGINALS)]

    def check(self, domain: Domain) -> None:
        for places in self.sets:
            inside = places and 0 <= min(places) <= max(places) < len(self.names)
            if not inside or len(set(places)) != len(places):
                raise ParameterError("MarginalCounts needs sets of different columns.")
        for name in self.names:
            domain.category(name)

    def columns(self) -> tuple[str, ...]:
        return self.names

    def sizes(self, domain: Domain) -> list[int]:
        """How many cells each marginal has."""
        each = [self._one(place).count(domain) for place in range(len(self.names))]
        return [math.prod(each[p] for p in places) for places in self.sets]

    def _one(self, place: int) -> Categories:
        return Categories((self.names[place],))

    def size(self, domain: Domain) -> int:
        return sum(self.sizes(domain))

    def empty(self, domain: Domain) -> Ints:
        return np.zeros((self.size(domain), 1), dtype=np.int64)

    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints:
        codes = []
        for place in range(len(self.names)):
            cells = self._one(place)
            codes.append((cells.codes(batch, domain), cells.count(domain)))
        found = [_count([codes[p] for p in places], length) for places in self.sets]
        return np.concatenate(found)[:, None]

    def merge(self, first: Ints, second: Ints) -> Ints:
        return first + second

    def overlap(self) -> int:
        return 1

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


def _count(columns: list[tuple[Ints, int]], length: int) -> Ints:
    """How many rows have each combination of codes; a row without a code is in none."""
    cell, inside = np.zeros(length, dtype=np.int64), np.ones(length, dtype=bool)
    for codes, size in columns:
        inside &= (codes >= 0) & (codes < size)
        cell = cell * size + codes
    counts = np.bincount(cell[inside], minlength=math.prod(size for _, size in columns))
    return counts.astype(np.int64)


@dataclass(frozen=True, slots=True)
class MarginalErrors:
    """How far each marginal is from a public guess of it, less a public allowance.

    The score of a marginal is the sum over its cells of |count - guess|, minus its
    allowance (what noise would add if it were measured). ``guesses`` are those of all
    cells in the order of the tally, ``sizes`` says how many each marginal has.

    ``weights`` are thousandths, one for each marginal: a distance of 7 with a weight of
    500 counts as 3. No weight is above 1000, so a row moves a score no further.
    """

    proof = "docs/proofs/marginals.md#one-row-moves-a-distance-by-at-most-one"

    guesses: tuple[int, ...]
    sizes: Annotated[tuple[int, ...], Length(1, MOST_MARGINALS), Range(1, _FURTHEST)]
    allowances: tuple[int, ...]
    weights: Annotated[tuple[int, ...], Range(0, WHOLE)] = ()

    monotone = False

    def check(self, domain: Domain) -> None:
        """Refuse lists that do not belong together."""
        lists = (self.guesses, self.sizes, self.allowances)
        good = all(sum(map(abs, numbers)) <= _FURTHEST for numbers in lists)
        good = good and len(self.sizes) == len(self.allowances)
        if not good or sum(self.sizes) != len(self.guesses):
            raise ParameterError("MarginalErrors needs a guess for every cell.")
        if len(self.weights) not in (0, len(self.sizes)):
            raise ParameterError("there is one of the weights for each marginal.")

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Refuse guesses of other marginals than those that are counted."""
        if tuple(tally.sizes(domain)) != self.sizes:
            raise ParameterError("the guesses are not those of these marginals.")

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        far = np.abs(sums.ravel() - np.array(self.guesses, dtype=np.int64))
        starts = np.cumsum((0, *self.sizes[:-1]))
        allowances = np.array(self.allowances, dtype=np.int64)
        distances = np.add.reduceat(far, starts)
        if self.weights:
            weights = np.array(self.weights, dtype=np.int64)
            distances = np.minimum(distances, _CAP) * weights // WHOLE
        return (distances - allowances)[None, :]

    def fits(self, tally: object) -> bool:
        return isinstance(tally, MarginalCounts)

    def groups(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        return 2 if neighbours == "replace" else 1


__all__ = ["MarginalCounts", "MarginalErrors"]
