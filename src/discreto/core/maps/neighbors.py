"""Tallies around query points: the votes of the nearest rows, and of rows in reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from discreto.core.domain.domain import Domain, Neighbours
from discreto.core.maps.unit_columns import (
    Term,
    Terms,
    check_numbers,
    names_of,
    rows_with_gaps,
    without_gaps,
)
from discreto.core.query import Batch, Floats, Ints
from discreto.core.rounding import whole
from discreto.core.validation import Length, Range, check_widths
from discreto.errors import ParameterError

GRID = float(1 << 15)  # steps of half a range to which rows and points are rounded
_NOBODY = np.iinfo(np.int64).max
# Squares of such points are exact in float64; what a row can reach rests on that.
VotePoints = Annotated[
    tuple[tuple[float, ...], ...], Length(1, 1 << 16), Range(-2.0, 2.0)
]
_POINTS = 256  # points whose distances are computed at once


@dataclass(frozen=True, slots=True)
class NearestRows:
    """For each point its ``k`` nearest rows, as keys that hold distance and class.

    Ties in distance go to the lower class code, so the order of rows does not matter.
    One row more, less or changed puts at most one row in and one out of each list. A
    row with gaps is as far as its other numbers say: their squared distance counts for
    as many as there are. A row without any Number, where there should be some, is in
    no list.
    """

    proof = "docs/proofs/sensitivity.md#choices"

    names: Terms
    target: str
    points: VotePoints
    k: Annotated[int, Range(1, 1 << 20)]

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.names), self.target)

    def check(self, domain: Domain) -> None:
        _check_columns(self, domain)

    def empty(self, domain: Domain) -> Ints:
        return np.full((len(self.points), self.k), _NOBODY, dtype=np.int64)

    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints:
        classes = len(domain.category(self.target).categories)
        labels = batch[self.target]
        x = rows_with_gaps(self.names, batch, domain)
        there, worth = _shares_there(self.names, x)
        outside = (labels < 0) | (labels >= classes) | ~there
        parts = []
        for far in _distances(self, x, worth):
            keys = far.astype(np.int64) * classes + labels
            keys[:, outside] = _NOBODY
            none = np.full((len(keys), self.k), _NOBODY, dtype=np.int64)
            parts.append(self.merge(none, keys))
        return np.concatenate(parts)

    def size(self, domain: Domain) -> int:
        return len(self.points) * self.k

    def merge(self, first: Ints, second: Ints) -> Ints:
        both = np.concatenate([first, second], axis=1)
        nearest = np.partition(both, self.k - 1, axis=1)[:, : self.k]
        nearest.sort(axis=1)  # in one order, however the rows were cut into batches
        return nearest

    def overlap(self) -> int:
        return len(self.points)


@dataclass(frozen=True, slots=True)
class RowsInReach:
    """For each point how many rows of each class are within ``radius`` of it.

    A row votes at the points in its reach only, so points that are far apart cost no
    more than one. A row with a gap has no vote: it could reach points that are far
    apart.
    """

    proof = "docs/proofs/sensitivity.md#choices"

    names: Terms
    target: str
    points: VotePoints
    radius: Annotated[float, Range(1e-300, 1e6 - 1)]

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.names), self.target)

    def check(self, domain: Domain) -> None:
        _check_columns(self, domain)

    def empty(self, domain: Domain) -> Ints:
        classes = len(domain.category(self.target).categories)
        return np.zeros((len(self.points), classes), dtype=np.int64)

    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints:
        classes, labels = self.empty(domain).shape[1], batch[self.target]
        x = rows_with_gaps(self.names, batch, domain)
        there = ~np.isnan(x).any(axis=0)
        parts = []
        for far in _distances(self, x):
            near = (far <= _reach(self.radius)) & there
            votes = [(near & (labels == code)).sum(axis=1) for code in range(classes)]
            parts.append(np.stack(votes, axis=1).astype(np.int64))
        return np.concatenate(parts)

    def size(self, domain: Domain) -> int:
        return len(self.points) * len(domain.category(self.target).categories)

    def merge(self, first: Ints, second: Ints) -> Ints:
        return first + second

    def overlap(self) -> int:
        return _crowd(self.points, self.radius)


@dataclass(frozen=True, slots=True)
class NearestVotes:
    """Scores of ``NearestRows``: how many of the k rows each class has.

    A new row may push another out, so one class can gain what another loses.
    """

    proof = "docs/proofs/sensitivity.md#choices"

    points: Annotated[int, Range(1, 1 << 62)]
    classes: Annotated[int, Range(1, 1 << 62)]

    monotone = False

    def check(self, domain: Domain) -> None:
        """Accept every domain: the tally says whether it fits."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        _check_votes(self, tally, domain)

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        codes = np.where(sums == _NOBODY, -1, sums % self.classes)
        votes = [(codes == code).sum(axis=1) for code in range(self.classes)]
        return np.stack(votes, axis=1).astype(np.int64)

    def fits(self, tally: object) -> bool:
        return isinstance(tally, NearestRows) and len(tally.points) == self.points

    def groups(self) -> int:
        return self.points

    def sensitivity(self, neighbours: Neighbours) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class ReachVotes:
    """Scores of ``RowsInReach``: the counts; adding a row only raises them."""

    proof = "docs/proofs/sensitivity.md#choices"

    points: Annotated[int, Range(1, 1 << 62)]
    classes: Annotated[int, Range(1, 1 << 62)]

    monotone = True

    def check(self, domain: Domain) -> None:
        """Accept every domain: the tally says whether it fits."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        _check_votes(self, tally, domain)

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        return sums

    def fits(self, tally: object) -> bool:
        return isinstance(tally, RowsInReach) and len(tally.points) == self.points

    def groups(self) -> int:
        return self.points

    def sensitivity(self, neighbours: Neighbours) -> int:
        return 1


def _check_columns(tally: NearestRows | RowsInReach, domain: Domain) -> None:
    check_widths(tally.points, len(tally.names))
    check_numbers(tally.names, domain)
    classes = len(domain.category(tally.target).categories)
    # Keys of squared distance and class, below 2^34 for each column, fit 63 bits.
    if len(tally.names) * classes > 1 << 28:
        raise ParameterError("a vote has too many columns and classes.")


def _check_votes(
    votes: NearestVotes | ReachVotes, tally: NearestRows | RowsInReach, domain: Domain
) -> None:
    if votes.classes != len(domain.category(tally.target).categories):
        raise ParameterError("votes need the number of classes of their target.")


def _shares_there(names: tuple[Term, ...], x: Floats) -> tuple[Any, Floats | None]:
    """Which rows have a Number, and for how many each that is there counts."""
    absent = np.isnan(x)
    numbers = sum(isinstance(name, str) for name in names)
    if not absent.any():
        return np.ones(x.shape[1], dtype=bool), None
    found = numbers - absent.sum(axis=0)
    return found > 0, numbers / np.maximum(found, 1)


def _distances(
    tally: NearestRows | RowsInReach, x: Floats, worth: Floats | None = None
) -> Iterator[Floats]:
    """Exact squared distances in grid steps, of some points at a time to all rows.

    Where rows have gaps, each Number that is there is ``worth`` so many of them.
    """
    # Exact whole numbers: a distance must not depend on the rows of the same batch.
    absent, x = np.isnan(x), whole(without_gaps(x) * GRID)
    points = whole(np.array(tally.points) * GRID)
    numbers = np.array([isinstance(name, str) for name in tally.names])
    for start in range(0, len(points), _POINTS):
        some = points[start : start + _POINTS]
        if worth is None:
            yield _squares(some, x)
            continue
        near = _squares(some[:, numbers], x[numbers])
        near -= some[:, numbers] ** 2 @ absent[numbers]  # what gaps have too much
        yield np.floor(near * worth) + _squares(some[:, ~numbers], x[~numbers])


def _squares(points: Floats, x: Floats) -> Floats:
    return (points**2).sum(axis=1)[:, None] - 2 * (points @ x) + (x**2).sum(axis=0)


def _reach(radius: float) -> float:
    """The radius, squared, in grid steps."""
    return float(np.floor((radius * GRID) ** 2))


@lru_cache(maxsize=16)
def _crowd(points: tuple[tuple[float, ...], ...], radius: float) -> int:
    """No row is in reach of more points than this.

    Points in reach of one row are within two radii of each other, so the points
    within two radii of any one of them bound their number.
    """
    grid = whole(np.array(points) * GRID)
    most = 0
    for start in range(0, len(grid), _POINTS):
        near = _squares(grid[start : start + _POINTS], grid.T) <= 4 * _reach(radius)
        most = max(most, int(near.sum(axis=1).max()))
    return most
