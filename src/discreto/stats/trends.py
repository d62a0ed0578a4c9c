"""Straight lines and correlations of the population behind a table, with p-values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreto.core.domain.domain import Number
from discreto.core.gate import Noise
from discreto.core.maps import Bernstein
from discreto.core.query import Block, Sum
from discreto.release.release import Release
from discreto.session.rng import generator
from discreto.session.session import Ask
from discreto.stats._base import complete_in, parted
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import (
    CLEAR,
    STEP,
    TABLES,
    Floats,
    Z,
    possible_noise,
    two_sided,
    with_p_value,
)


@documented_statistic
@dataclass(frozen=True)
class Trend:
    """The straight line of one column on another: slope, intercept, p-value.

    Parameters
    ----------
    column
        The name of the Number column that is explained.
    on
        The name of the Number column that explains it.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         nine sums of products of Bernstein polynomials of degree 2.
    Bound        1: a row gives the nine of them 1 together.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(2), Trend("x1", "x0"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    """

    column: str
    on: str

    @property
    def label(self) -> str:
        return f"trend of {self.column} on {self.on}"

    def learn(self, ask: Ask) -> Release:
        x, y = ask.domain.number(self.on), ask.domain.number(self.column)
        names = (self.on, self.column)
        block = Block(Bernstein(names, 2))
        cells, gaps = complete_in(names, ask.domain)
        answer = ask.measure(Sum(cells, (block,)), self.label)
        sums, about = parted(answer.tables[0], answer.noises[0], gaps=gaps)
        line = _line(sums[0] / STEP, answer.noises[0], x, y)
        error = (line[2, 0] - line[1, 0]) / (2 * Z)
        p = two_sided(line[0, 0] / error) if error > 0 else 1.0
        return with_p_value(self.label, ("slope", "intercept"), p, line, about=about)


_ONE, _X, _SQUARE = np.ones(3), np.array([-1.0, 0, 1]), np.array([1.0, -1, 1])
_MOMENTS = np.array(
    [
        np.outer(a, b).ravel()
        for a, b in (
            (_ONE, _ONE),
            (_X, _ONE),
            (_ONE, _X),
            (_SQUARE, _ONE),
            (_ONE, _SQUARE),
            (_X, _X),
        )
    ]
)


def _line(sums: Floats, noise: Noise, x: Number, y: Number) -> Floats:
    """Return slope and intercept, and the ends of their intervals."""

    def fit(several: Floats) -> tuple[Floats, Floats]:
        """Return the line, and the variances that sampling gives its two numbers."""
        rows, a, b, aa, bb, ab = np.moveaxis(several @ _MOMENTS.T, -1, 0)
        rows = np.maximum(rows, 1.0)
        a, b = a / rows, b / rows
        spread = np.maximum(aa / rows - a**2, 1e-6) * x.half**2
        slope = (ab / rows - a * b) * x.half * y.half / spread
        at, height = x.centre + x.half * a, y.centre + y.half * b
        rest = (bb / rows - b**2) * y.half**2 - slope**2 * spread
        unexplained = np.maximum(rest, 0.0) / rows
        line = np.stack([slope, height - slope * at], axis=-1)
        sampling = [unexplained / spread, unexplained * (1 + at**2 / spread)]
        return line, np.stack(sampling, axis=-1)

    middle, _ = fit(sums)
    if sums.sum() < CLEAR * math.sqrt(9 * noise.variance) / STEP:
        return np.stack([middle, middle - 1e6, middle + 1e6])
    # The true sums are the noisy ones less noise of a known distribution.
    rng = generator(0)  # public: the same answer gives the same interval
    lines, sampling = fit(sums - possible_noise(noise, (TABLES, 9), rng) / STEP)
    lines = lines + np.sqrt(sampling) * rng.normal(size=lines.shape)
    low, high = np.quantile(lines, [0.0225, 0.9775], axis=0)
    return np.stack([middle, np.minimum(low, middle), np.maximum(high, middle)])


@documented_statistic
@dataclass(frozen=True)
class CorrelationTest:
    """The correlation of two columns in the population, and a p-value.

    ``Covariance(..., correlation=True)`` covers the correlation of the rows in this
    table; here the interval is as wide as noise *and* the sampling of rows ask for.

    Parameters
    ----------
    first, second
        Names of Number columns.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         nine sums of products of Bernstein polynomials of degree 2.
    Bound        1: a row gives the nine of them 1 together.

    >>> from discreto import Domain, plan
    >>> asked = CorrelationTest("x0", "x1")
    >>> found = plan.statistics(Domain.cube(2), asked, epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    """

    first: str
    second: str

    @property
    def label(self) -> str:
        return f"test of the correlation of {self.first} and {self.second}"

    def learn(self, ask: Ask) -> Release:
        names = (self.first, self.second)
        for name in names:
            ask.domain.number(name)
        cells, gaps = complete_in(names, ask.domain)
        answer = ask.measure(Sum(cells, (Block(Bernstein(names, 2)),)), self.label)
        sums, about = parted(answer.tables[0], answer.noises[0], gaps=gaps)
        ends, p = _correlation_ends(sums[0] / STEP, answer.noises[0])
        ends = ends[:, None]
        return with_p_value(self.label, ("correlation",), p, ends, about=about)


def _correlation_ends(sums: Floats, noise: Noise) -> tuple[Floats, float]:
    """Return the correlation, the ends of its interval, and the p-value of 0.

    On the scale of Fisher's z the sampling of rows has variance 1 / (rows - 3).
    """
    clear = CLEAR * math.sqrt(9 * noise.variance) / STEP
    if sums.sum() < max(clear, 5.0):
        return np.array([0.0, -1.0, 1.0]), 1.0

    def fisher(several: Floats) -> tuple[Floats, Floats]:
        rows, a, b, aa, bb, ab = np.moveaxis(several @ _MOMENTS.T, -1, 0)
        rows = np.maximum(rows, 5.0)
        a, b = a / rows, b / rows
        spreads = np.maximum(aa / rows - a**2, 1e-9) * np.maximum(
            bb / rows - b**2, 1e-9
        )
        found = np.clip((ab / rows - a * b) / np.sqrt(spreads), -0.9999, 0.9999)
        return np.arctanh(found), 1 / np.sqrt(rows - 3)

    middle, _ = fisher(sums)
    rng = generator(0)  # public: the same answer gives the same interval
    drawn, sampling = fisher(sums - possible_noise(noise, (TABLES, 9), rng) / STEP)
    drawn = drawn + sampling * rng.normal(size=TABLES)
    low, high = np.quantile(drawn, [0.019, 0.981])
    # Without any relation z is on either side of 0 with equal probability.
    error = (high - low) / (2 * Z)
    ends = [middle, min(low, middle), max(high, middle)]
    return np.tanh(np.array(ends, dtype=float)), two_sided(float(middle) / error)
