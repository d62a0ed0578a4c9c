"""Counts, sums, means, variances, covariances: noisy sums and what follows from them.

Means and spreads are measured in *Bernstein* form: instead of a count and a sum, which
need a share of the budget each, non-negative sums that add up to the count. One row
moves all of them together by one, so each gets the whole budget (half the variance for
a mean, a twentieth for a correlation).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreto.errors import ParameterError
from discreto.kernel.domain import Domain
from discreto.kernel.gate import Noise
from discreto.kernel.query import Block, Ints, Sum
from discreto.planning import Ask
from discreto.queries import Bernstein, Everyone, Ones, Values, present_in
from discreto.queries.features import PRODUCT_BITS, SUM_BITS, grid
from discreto.release import Release
from discreto.stats._base import by_text, group_keys, grouped, spread
from discreto.stats._intervals import (
    Floats,
    combined_reach,
    middle,
    ratio_interval,
    reach,
)

_STEP = float(1 << SUM_BITS)
_SQUARE = float(1 << (2 * PRODUCT_BITS))
_CLEAR = 4.0  # with fewer rows than this many deviations of noise, nothing is known


@dataclass(frozen=True)
class Count:
    """How many rows there are, in all or in each group."""

    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"count{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        if domain.neighbours == "replace" and not self.by:
            raise ParameterError(
                "the domain declares the number of rows public: it is domain.rows."
            )
        query = Sum(grouped(self.by, Everyone()), (Block(Ones()),))
        answer = ask.measure(query, self.label)
        counts = answer.tables[0][:, 0]
        far = reach(answer.noises[0])
        lows = np.maximum(counts - far, 0)
        highs = np.maximum(counts + far, 0)
        return spread(self.label, counts, lows, highs, group_keys(self.by, domain))


@dataclass(frozen=True)
class Total:
    """The sum of a column; a missing value adds nothing."""

    column: str
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"sum of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column = domain.number(self.column)
        fixed = domain.neighbours == "replace" and not (self.by or column.missing)
        origin: Literal["centre", "zero"] = "centre" if fixed else "zero"
        block = Block(Values((self.column,), origin=origin))
        answer = ask.measure(Sum(grouped(self.by, Everyone()), (block,)), self.label)
        start, half = grid(column, origin)
        # With a public number of rows the middle of the range is known to all.
        known = start * (domain.rows or 0)
        totals = known + answer.tables[0][:, 0] * (half / _STEP)
        far = combined_reach([half / _STEP], answer.noises[0])
        keys = group_keys(self.by, domain)
        return spread(self.label, totals, totals - far, totals + far, keys, column.unit)


@dataclass(frozen=True)
class Mean:
    """The mean of a column, over the rows in which it is present."""

    column: str
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"mean of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column = domain.number(self.column)
        values = Values((self.column,))
        cells = grouped(self.by, present_in((self.column,), domain))
        keys = group_keys(self.by, domain)
        if domain.neighbours == "replace" and isinstance(cells, Everyone):
            answer = ask.measure(Sum(cells, (Block(values),)), self.label)
            rows = float(domain.rows or 1)
            value = answer.tables[0][0, 0] / _STEP / rows
            far = combined_reach([1 / _STEP / rows], answer.noises[0])
            parts = np.clip([[value, value - far, value + far]], -1, 1)
        else:
            answer = ask.measure(Sum(cells, (Block(values, "pair"),)), self.label)
            noise = answer.noises[0]
            parts = np.array(
                [ratio_interval(float(a), float(b), noise) for a, b in answer.tables[0]]
            )
        values_, lows, highs = (column.centre + column.half * parts).T
        return spread(self.label, values_, lows, highs, keys, column.unit)


@dataclass(frozen=True)
class Variance:
    """The variance (of all rows, divided by n) or standard deviation of a column."""

    column: str
    root: bool = False

    @property
    def label(self) -> str:
        return f"{'std' if self.root else 'variance'} of {self.column}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column = domain.number(self.column)
        cells = present_in((self.column,), domain)
        block = Block(Bernstein((self.column,), 2))
        answer = ask.measure(Sum(cells, (block,)), self.label)
        parts = _smooth(answer.tables[0][0], answer.noises[0], _variance, 0, 1)
        parts = parts * column.half**2
        value, low, high = (np.sqrt(parts) if self.root else parts).tolist()
        unit = column.unit if self.root or not column.unit else f"{column.unit}²"
        return Release(self.label, value, low, high, (), unit)


def _variance(b: Floats) -> Floats:
    rows = _rows(b.sum(axis=-1))
    total, squares = b[..., 2] - b[..., 0], b[..., 0] + b[..., 2] - b[..., 1]
    return squares / rows - (total / rows) ** 2


@dataclass(frozen=True)
class Covariance:
    """The covariance or correlation of columns: a number for two, else a matrix."""

    columns: tuple[str, ...]
    correlation: bool = False

    @property
    def label(self) -> str:
        kind = "correlation" if self.correlation else "covariance"
        return f"{kind} of {', '.join(self.columns)}"

    def learn(self, ask: Ask) -> Release:
        if len(self.columns) < 2:
            raise ParameterError(f"{self.label!r} needs at least two columns.")
        for name in self.columns:
            ask.domain.number(name)
        if len(self.columns) == 2:
            return self._pair(ask)
        return self._matrix(ask)

    def _scale(self, domain: Domain) -> Floats:
        if self.correlation:
            return np.ones(len(self.columns))
        return np.array([domain.number(name).half for name in self.columns])

    def _pair(self, ask: Ask) -> Release:
        cells = present_in(self.columns, ask.domain)
        block = Block(Bernstein(self.columns, 2 if self.correlation else 1))
        answer = ask.measure(Sum(cells, (block,)), self.label)
        function = _correlation if self.correlation else _covariance
        parts = _smooth(answer.tables[0][0], answer.noises[0], function, -1, 1)
        value, low, high = (parts * np.prod(self._scale(ask.domain))).tolist()
        return Release(self.label, value, low, high)

    def _matrix(self, ask: Ask) -> Release:
        cells = present_in(self.columns, ask.domain)
        block = Block(Values(self.columns, bits=PRODUCT_BITS, constant=True), "gram")
        answer = ask.measure(Sum(cells, (block,)), self.label)
        size = len(self.columns)
        full = np.zeros((size + 1, size + 1))
        full[np.triu_indices(size + 1)] = answer.tables[0][0] / _SQUARE
        matrix = _from_moments(full, self.correlation)
        low, high = _matrix_ends(full, matrix, answer.noises[0], self.correlation)
        scale = np.outer(self._scale(ask.domain), self._scale(ask.domain))
        keys = tuple((a, b) for a in self.columns for b in self.columns)
        return Release(self.label, matrix * scale, low * scale, high * scale, keys)


def _from_moments(full: Floats, correlation: bool) -> Floats:
    """The covariance or correlation matrix from the upper triangle of moments."""
    rows = max(full[0, 0], 1.0)
    means = full[0, 1:] / rows
    upper = full[1:, 1:] / rows
    cov = upper + np.triu(upper, 1).T - np.outer(means, means)
    # Noise can make it impossible; the nearest possible matrix has no negative part.
    values, vectors = np.linalg.eigh(cov)
    cov = (vectors * np.maximum(values, 0)) @ vectors.T
    if not correlation:
        return cov
    deviations = np.sqrt(np.maximum(np.diag(cov), 1e-12))
    out = np.clip(cov / np.outer(deviations, deviations), -1, 1)
    np.fill_diagonal(out, 1.0)
    return out


def _matrix_ends(
    full: Floats, matrix: Floats, noise: Noise, correlation: bool
) -> tuple[Floats, Floats]:
    """The 95 % interval of each entry on its own."""
    low, high = matrix.copy(), matrix.copy()
    for i, j in zip(*np.triu_indices(len(matrix), int(correlation)), strict=True):
        a, b = i + 1, j + 1
        if i == j:
            sums, function, least = full[[0, 0, a], [0, a, a]], _spread_of, 0
        else:
            sums = full[[0, 0, 0, a, b, a], [0, a, b, a, b, b]]
            function, least = _moment_correlation if correlation else _product_of, -1
        if not correlation and i != j:
            sums = sums[[0, 1, 2, 5]]
        ends = _ends(sums, function, noise, 1 / _SQUARE, sums[0], least, 1)
        low[i, j] = low[j, i] = min(ends[0], matrix[i, j])
        high[i, j] = high[j, i] = max(ends[1], matrix[i, j])
    return low, high


def _spread_of(m: Floats) -> Floats:
    """The variance from (rows, sum, sum of squares)."""
    rows = _rows(m[..., 0])
    return m[..., 2] / rows - (m[..., 1] / rows) ** 2


def _product_of(m: Floats) -> Floats:
    """The covariance from (rows, sum x, sum y, sum xy)."""
    rows = _rows(m[..., 0])
    return m[..., 3] / rows - m[..., 1] * m[..., 2] / rows**2


def _moment_correlation(m: Floats) -> Floats:
    """The correlation from (rows, sums x, y, xx, yy, xy)."""
    var_x, var_y = _spread_of(m[..., [0, 1, 3]]), _spread_of(m[..., [0, 2, 4]])
    return _ratio(_product_of(m[..., [0, 1, 2, 5]]), var_x, var_y)


def _ratio(cov: Floats, var_x: Floats, var_y: Floats) -> Floats:
    """The correlation; NaN where a variance is not above 0."""
    possible = (var_x > 0) & (var_y > 0)
    size = np.sqrt(np.where(possible, var_x * var_y, np.nan))
    return np.clip(cov / size, -1, 1)


def _rows(rows: Floats) -> Floats:
    """The number of rows; NaN where there are none to speak of."""
    return np.where(rows >= 1, rows, np.nan)


def _covariance(b: Floats) -> Floats:
    """The covariance from sums of the four products of (1 - x)/2, (1 + x)/2."""
    signs = np.array([[-1.0, -1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, 1]])
    sums = np.moveaxis(b @ signs.T, -1, 0)
    return _product_of(np.stack([b.sum(axis=-1), *sums], axis=-1))


def _correlation(b: Floats) -> Floats:
    """The correlation from sums of the nine products of degree 2."""
    one, x, square = np.ones(3), np.array([-1.0, 0, 1]), np.array([1.0, -1, 1])
    pairs = ((one, one), (x, one), (one, x), (square, one), (one, square), (x, x))
    weights = np.array([np.outer(first, second).ravel() for first, second in pairs])
    return _moment_correlation(b @ weights.T)


Function = Callable[[Floats], Floats]


def _smooth(
    table: Ints, noise: Noise, function: Function, lowest: float, highest: float
) -> Floats:
    """A function of noisy sums, and its 95 % interval."""
    sums = table / _STEP
    low, high = _ends(sums, function, noise, 1 / _STEP, sums.sum(), lowest, highest)
    value = float(function(sums))
    if math.isnan(value):
        value = max(0.0, low)
    return np.array([min(max(value, low), high), low, high])


def _ends(
    sums: Floats,
    function: Function,
    noise: Noise,
    scale: float,
    rows: float,
    lowest: float,
    highest: float,
) -> tuple[float, float]:
    """The 95 % interval of a function; everything possible if rows are too few."""
    if rows < _CLEAR * math.sqrt(noise.variance) * scale:
        return lowest, highest
    low, high = middle(function, sums, scale, noise)
    return min(max(low, lowest), highest), max(min(high, highest), lowest)
