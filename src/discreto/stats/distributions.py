"""Whole distributions of a column: shares up to a value, and how unequal it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreto.core.gate import Noise
from discreto.core.maps import Bins, Edges, Ones
from discreto.core.query import Block, Sum
from discreto.errors import DomainError, ParameterError
from discreto.release import Release
from discreto.rng import generator
from discreto.session import Ask
from discreto.stats._intervals import Floats, combined_reach

_CELLS = 256  # of the range, for inequality
_DRAWS = 400  # possible noises behind an interval


@dataclass(frozen=True)
class Distribution:
    """The share of rows up to each of some values: the empirical distribution.

    Parameters
    ----------
    column
        The name of a Number column.
    points
        Rising values.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts of the rows between the points.
    Bound        1: a row is in one of them.

    >>> from discreto import Domain, plan
    >>> asked = Distribution("x0", (-0.5, 0.0, 0.5))
    >>> [ask.sensitivity for ask in plan.statistics(Domain.cube(1), asked, epsilon=1)]
    [(1,)]
    """

    column: str
    points: tuple[float, ...]

    @property
    def label(self) -> str:
        """What is asked, as a ledger and a release name it."""
        return f"distribution of {self.column}"

    def learn(self, ask: Ask) -> Release:
        """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.

        Returns
        -------
        Release
            The answer with its error bar.
        """
        column = ask.domain.number(self.column)
        inside = [column.lower <= point <= column.upper for point in self.points]
        if not self.points or not all(inside) or sorted(self.points) != [*self.points]:
            raise ParameterError(
                f"{self.label!r} needs rising points between {column.lower:g} and "
                f"{column.upper:g}."
            )
        cells = Edges(self.column, tuple(map(float, self.points)))
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        counts, noise = answer.tables[0][:, 0].astype(float), answer.noises[0]
        sides = [(counts[:i].sum(), counts[i:].sum()) for i in range(1, counts.size)]
        parts = [
            _share(left, right, (place + 1, counts.size - place - 1), noise)
            for place, (left, right) in enumerate(sides)
        ]
        values, lows, highs = np.array(parts).T
        # Shares rise with the points; so do the ends of their intervals.
        values, lows = np.maximum.accumulate(values), np.maximum.accumulate(lows)
        highs = np.minimum.accumulate(highs[::-1])[::-1]
        lows, highs = np.minimum(lows, values), np.maximum(highs, values)
        keys = tuple(float(point) for point in self.points)
        return Release(self.label, values, lows, highs, keys)


def _share(
    left: float, right: float, cells: tuple[int, int], noise: Noise
) -> tuple[float, float, float]:
    """left / (left + right) of sums of noisy cells, and its 95 % interval.

    Fieller's construction: a share p is in the interval when left (1 - p) - right p,
    which is 0 for the true one but for noise, is within that noise's 95 % reach.
    """
    if left + right <= 0:
        return 0.5, 0.0, 1.0
    value = min(max(left / (left + right), 0.0), 1.0)
    knots, fine = np.linspace(0, 1, 9), np.linspace(0, 1, 2001)
    weights = [[1 - p] * cells[0] + [p] * cells[1] for p in knots]
    reaches = np.interp(fine, knots, [combined_reach(w, noise) for w in weights])
    inside = np.flatnonzero(np.abs(left * (1 - fine) - right * fine) <= reaches)
    if not inside.size:
        return value, value, value
    step = fine[1]
    low, high = fine[inside[0]] - step, fine[inside[-1]] + step
    return value, max(min(low, value), 0.0), min(max(high, value), 1.0)


@dataclass(frozen=True)
class Inequality:
    """How unequally a column is shared out: Gini's coefficient and Lorenz' curve.

    Parameters
    ----------
    column
        The name of a Number column that is never negative.
    curve
        ``False`` for Gini's coefficient; ``True`` for the share of all that the poorest
        10 %, 20 %, ... of rows have.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts of rows in 256 equal parts of the range.
    Bound        1: a row is in one of them.

    >>> from discreto import Domain, Number, plan
    >>> domain = Domain({"income": Number(0, 100_000)})
    >>> found = plan.statistics(domain, Inequality("income"), epsilon=1)
    >>> [ask.sensitivity for ask in found]
    [(1,)]
    """

    column: str
    curve: bool = False

    @property
    def label(self) -> str:
        """What is asked, as a ledger and a release name it."""
        return (
            f"{'Lorenz curve' if self.curve else 'Gini coefficient'} of {self.column}"
        )

    def learn(self, ask: Ask) -> Release:
        """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.

        Returns
        -------
        Release
            The answer with its error bar.
        """
        column = ask.domain.number(self.column)
        if column.lower < 0:
            raise DomainError(
                f"{self.column!r} may be negative: inequality needs >= 0."
            )
        cells = Bins(self.column, _CELLS)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        counts, noise = answer.tables[0][:, 0].astype(float), answer.noises[0]
        centres = cells.centres(ask.domain)
        coins = generator(0)  # public: the same answer gives the same interval
        drawn = counts - _draws(noise, counts.size, coins)
        several = np.concatenate([counts[None], drawn])
        found = _lorenz(several, centres) if self.curve else _gini(several, centres)
        low, high = np.quantile(found[1:], [0.0225, 0.9775], axis=0)
        # What lies inside of one cell is not known either.
        width = (column.upper - column.lower) / _CELLS
        mean = max(float(_shares(counts) @ centres), width)
        slack = min(width / mean / 2, 1.0)
        value = found[0]
        low = np.clip(np.minimum(low, value) - slack, 0, 1)
        high = np.clip(np.maximum(high, value) + slack, 0, 1)
        if not self.curve:
            ends = [float(part[0]) for part in (value, low, high)]
            return Release(self.label, ends[0], ends[1], ends[2])
        keys = tuple(f"poorest {10 * tenth} %" for tenth in range(1, 10))
        return Release(self.label, value, low, high, keys)


def _draws(noise: Noise, count: int, coins: np.random.Generator) -> Floats:
    """Possible noises of this distribution."""
    if noise.law == "laplace":
        return coins.laplace(0.0, float(noise.amount), (_DRAWS, count))
    return coins.normal(0.0, math.sqrt(noise.variance), (_DRAWS, count))


def _gini(counts: Floats, centres: Floats) -> Floats:
    """Gini's coefficient; noise averages out over cells, so none is cut away."""
    whole = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    people = np.cumsum(counts / whole, axis=-1)
    owned = counts * centres
    owned = owned / np.maximum(owned.sum(axis=-1, keepdims=True), 1e-300)
    before = np.cumsum(owned, axis=-1) - owned
    area = (np.diff(people, axis=-1, prepend=0.0) * (2 * before + owned)).sum(axis=-1)
    return np.clip(1 - area, 0, 1)[..., None]


def _shares(counts: Floats) -> Floats:
    """Shares of rows in cells, from noisy counts."""
    rising = np.maximum.accumulate(np.cumsum(counts, axis=-1), axis=-1)
    rising = np.maximum(rising, 0.0)
    whole = np.maximum(rising[..., -1:], 1.0)
    shares: Floats = np.diff(rising / whole, axis=-1, prepend=0.0)
    return shares


def _lorenz(counts: Floats, centres: Floats) -> Floats:
    """What share of all there is the poorest tenths of rows have."""
    shares = _shares(counts)
    owned = shares * centres
    owned = owned / np.maximum(owned.sum(axis=-1, keepdims=True), 1e-300)
    zero = np.zeros((*shares.shape[:-1], 1))
    people = np.concatenate([zero, np.cumsum(shares, axis=-1)], axis=-1)
    parts = np.concatenate([zero, np.cumsum(owned, axis=-1)], axis=-1)
    tenths = np.arange(1, 10) / 10
    return np.array(
        [np.interp(tenths, x, y) for x, y in zip(people, parts, strict=True)]
    )
