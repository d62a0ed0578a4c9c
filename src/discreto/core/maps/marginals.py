"""Choosing among marginals: exact counts of several at once, and how far a guess is.

A row is in one cell of each marginal, or in none of it, so it moves the distance of a
marginal from any public guess by at most one (``docs/proofs/marginals.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain, Neighbours
from discreto.core.maps._names import check_names
from discreto.core.maps.cells import Categories
from discreto.core.query import Batch, Ints
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

    names: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        check_names(self.names)
        sets = self.sets
        good = isinstance(sets, tuple) and 1 <= len(sets) <= MOST_MARGINALS
        for places in sets if good else ():
            good = good and isinstance(places, tuple) and len(places) > 0
            good = good and all(type(p) is int for p in places)
            good = good and all(0 <= p < len(self.names) for p in places)
            good = good and len(set(places)) == len(places)
        if not good:
            raise ParameterError("MarginalCounts needs sets of different columns.")

    def check(self, domain: Domain) -> None:
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
    sizes: tuple[int, ...]
    allowances: tuple[int, ...]
    weights: tuple[int, ...] = ()

    monotone = False

    def __post_init__(self) -> None:
        lists = (self.guesses, self.sizes, self.allowances, self.weights)
        good = all(isinstance(numbers, tuple) for numbers in lists)
        for numbers in lists if good else ():
            good = good and set(map(type, numbers)) <= {int}
            good = good and sum(map(abs, numbers)) <= _FURTHEST
        good = good and len(self.sizes) == len(self.allowances) > 0
        good = good and min(self.sizes) > 0 and sum(self.sizes) == len(self.guesses)
        if not good:
            raise ParameterError("MarginalErrors needs a guess for every cell.")
        fitting = len(self.weights) in (0, len(self.sizes))
        if not fitting or not all(0 <= weight <= WHOLE for weight in self.weights):
            raise ParameterError(f"weights are whole numbers from 0 to {WHOLE}.")

    def check(self, domain: Domain) -> None:
        """Whether it fits is a matter of the tally."""

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
