"""Whole distributions of a column: shares up to a value, and how unequal it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreto.core.maps import Bins, Edges, Ones
from discreto.core.query import Block, Cells, Sum
from discreto.errors import DomainError, ParameterError
from discreto.release.release import Release
from discreto.session.rng import generator
from discreto.session.session import Ask
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import Floats, possible_noise, share_interval
from discreto.stats.quantiles import values_of

_CELLS = 256  # of the range, for inequality
_DRAWS = 400  # possible noises behind an interval


@documented_statistic
@dataclass(frozen=True)
class Distribution:
    """The share of rows up to each of some values: the empirical distribution.

    Parameters
    ----------
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
        return f"distribution of {self.column}"

    def learn(self, ask: Ask) -> Release:
        column = ask.domain.number(self.column)
        inside = [column.lower <= point <= column.upper for point in self.points]
        if not self.points or not all(inside) or sorted(self.points) != [*self.points]:
            raise ParameterError(
                f"{self.label!r} needs rising points between {column.lower:g} and "
                f"{column.upper:g}."
            )
        cuts = tuple(map(float, self.points))
        cells = Edges(self.column, cuts, gaps=column.missing)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        (counts, note), noise = values_of(answer, column), answer.noises[0]
        sides = [(counts[:i].sum(), counts[i:].sum()) for i in range(1, counts.size)]
        parts = [
            share_interval(left, right, (place + 1, counts.size - place - 1), noise)
            for place, (left, right) in enumerate(sides)
        ]
        values, lows, highs = np.array(parts).T
        # Shares rise with the points; so do the ends of their intervals.
        values, lows = np.maximum.accumulate(values), np.maximum.accumulate(lows)
        highs = np.minimum.accumulate(highs[::-1])[::-1]
        lows, highs = np.minimum(lows, values), np.maximum(highs, values)
        keys = tuple(float(point) for point in self.points)
        return Release(self.label, values, lows, highs, keys, note=note)


@documented_statistic
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
        return (
            f"{'Lorenz curve' if self.curve else 'Gini coefficient'} of {self.column}"
        )

    def learn(self, ask: Ask) -> Release:
        column = ask.domain.number(self.column)
        if column.lower < 0:
            raise DomainError(
                f"{self.column!r} may be negative: inequality needs >= 0."
            )
        equal = Bins(self.column, _CELLS)
        cells: Cells = equal
        centres = equal.centres(ask.domain)
        if column.missing:  # the same parts, and one for rows without a value
            cuts = np.linspace(column.lower, column.upper, _CELLS + 1)[1:-1]
            cells = Edges(self.column, tuple(cuts.tolist()), gaps=True)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        (counts, note), noise = values_of(answer, column), answer.noises[0]
        rng = generator(0)  # public: the same answer gives the same interval
        drawn = counts - possible_noise(noise, (_DRAWS, counts.size), rng)
        several = np.concatenate([counts[None], drawn])
        found = _lorenz(several, centres) if self.curve else _gini(several, centres)
        low, high = np.quantile(found[1:], [0.026, 0.974], axis=0)
        # Nor is it known where in its cell a row lies. Errors of different cells are as
        # often up as down, so few full cells leave more of them than many.
        shares = _shares(counts)
        width = (column.upper - column.lower) / _CELLS
        lumps = math.sqrt(float(shares @ shares))
        slack = min(width * lumps / max(float(shares @ centres), width) / 2, 1.0)
        value = found[0]
        low = np.clip(value - np.hypot(np.maximum(value - low, 0), slack), 0, 1)
        high = np.clip(value + np.hypot(np.maximum(high - value, 0), slack), 0, 1)
        if not self.curve:
            ends = [float(part[0]) for part in (value, low, high)]
            return Release(self.label, ends[0], ends[1], ends[2], note=note)
        keys = tuple(f"poorest {10 * tenth} %" for tenth in range(1, 10))
        return Release(self.label, value, low, high, keys, note=note)


def _gini(counts: Floats, centres: Floats) -> Floats:
    """Return Gini's coefficient. Noise averages out over cells, so none is clipped."""
    whole = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    people = np.cumsum(counts / whole, axis=-1)
    owned = counts * centres
    least = whole * centres[0]  # noise can make it smaller, which is impossible
    owned = owned / np.maximum(owned.sum(axis=-1, keepdims=True), least)
    before = np.cumsum(owned, axis=-1) - owned
    area = (np.diff(people, axis=-1, prepend=0.0) * (2 * before + owned)).sum(axis=-1)
    return np.clip(1 - area, 0, 1)[..., None]


def _shares(counts: Floats) -> Floats:
    """Return shares of rows in cells, from noisy counts."""
    rising = np.maximum.accumulate(np.cumsum(counts, axis=-1), axis=-1)
    rising = np.maximum(rising, 0.0)
    whole = np.maximum(rising[..., -1:], 1.0)
    shares: Floats = np.diff(rising / whole, axis=-1, prepend=0.0)
    return shares


def _lorenz(counts: Floats, centres: Floats) -> Floats:
    """Return the shares of the total that the poorest tenths of rows have.

    The poorest p of rows have max over q of E[min(x, q)] - q (1 - p), which needs no
    ranks: wherever noise puts the largest q, it hardly moves the maximum.
    """
    rows = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    owned = counts * centres
    above = (rows - np.cumsum(counts, axis=-1)) * centres
    capped = (np.cumsum(owned, axis=-1) + above) / rows
    mean = np.maximum(owned.sum(axis=-1) / rows[..., 0], centres[0])
    found = [
        (capped - centres * (1 - t / 10)).max(axis=-1) / mean for t in range(1, 10)
    ]
    return np.clip(np.stack(found, axis=-1), 0.0, 1.0)
