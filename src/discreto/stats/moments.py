"""Counts, sums, means, variances, covariances: noisy sums and what follows from them.

Means and spreads are measured in *Bernstein* form: instead of a count and a sum, which
need a share of the budget each, non-negative sums that add up to the count. One row
moves all of them together by one, so each gets the whole budget (half the variance for
a mean, a twentieth for a correlation).
"""

from __future__ import annotations

import math
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
from discreto.stats._intervals import Floats, combined_reach, ratio_interval, reach

_STEP = float(1 << SUM_BITS)


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
        value, low, high = _smooth(
            answer.tables[0][0], answer.noises[0], _variance, 0, 1
        )
        parts = [part * column.half**2 for part in (value, low, high)]
        if self.root:
            parts = [math.sqrt(part) for part in parts]
        value, low, high = parts
        unit = column.unit if self.root or not column.unit else f"{column.unit}²"
        return Release(self.label, value, low, high, (), unit)


def _variance(b: Floats) -> float:
    rows, total, squares = b.sum(), b[2] - b[0], b[0] + b[2] - b[1]
    return float(squares / rows - (total / rows) ** 2)


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
        table, noise = answer.tables[0][0], answer.noises[0]
        if self.correlation:
            parts = _smooth(table, noise, _fisher, -18.0, 18.0)
            value, low, high = np.tanh(parts)
        else:
            value, low, high = _smooth(table, noise, _covariance, -1.0, 1.0)
        scale = float(np.prod(self._scale(ask.domain)))
        return Release(self.label, value * scale, low * scale, high * scale)

    def _matrix(self, ask: Ask) -> Release:
        cells = present_in(self.columns, ask.domain)
        block = Block(Values(self.columns, bits=PRODUCT_BITS, constant=True), "gram")
        answer = ask.measure(Sum(cells, (block,)), self.label)
        noise = answer.noises[0]
        size = len(self.columns)
        step = float(1 << (2 * PRODUCT_BITS))
        moments = answer.tables[0][0] / step
        matrix = _from_moments(moments, size, self.correlation)
        # The error of entry (i, j), to first order in the noise on all moments.
        slopes = _slopes(lambda m: _from_moments(m, size, self.correlation), moments)
        far = np.apply_along_axis(lambda w: combined_reach(w / step, noise), 0, slopes)
        scale = np.outer(self._scale(ask.domain), self._scale(ask.domain))
        bound = 1.0 if self.correlation else math.inf
        lows = np.maximum(matrix - far, -bound) * scale
        highs = np.minimum(matrix + far, bound) * scale
        keys = tuple((a, b) for a in self.columns for b in self.columns)
        return Release(self.label, matrix * scale, lows, highs, keys)


def _from_moments(moments: Floats, size: int, correlation: bool) -> Floats:
    full = np.zeros((size + 1, size + 1))
    full[np.triu_indices(size + 1)] = moments
    rows = max(full[0, 0], 1.0)
    means = full[0, 1:] / rows
    upper = full[1:, 1:] / rows
    second = upper + np.triu(upper, 1).T
    cov = second - np.outer(means, means)
    # Noise can make it impossible; the nearest possible matrix has no negative part.
    values, vectors = np.linalg.eigh(cov)
    cov = (vectors * np.maximum(values, 0)) @ vectors.T
    if not correlation:
        return cov
    deviations = np.sqrt(np.maximum(np.diag(cov), 1e-12))
    return np.clip(cov / np.outer(deviations, deviations), -1, 1)


def _moment_arrays(b: Floats, degree: int) -> tuple[Floats, Floats, Floats]:
    """The table of one pair, and the values of x (and x²) at its places."""
    size = degree + 1
    first = np.linspace(-1, 1, size)
    square = np.array([1.0, -1.0, 1.0]) if degree == 2 else np.ones(2)
    return b.reshape(size, size), first, square


def _covariance(b: Floats) -> float:
    table, x, _ = _moment_arrays(b, 1)
    rows = table.sum()
    mean_x, mean_y = x @ table.sum(1) / rows, x @ table.sum(0) / rows
    return float(x @ table @ x / rows - mean_x * mean_y)


def _fisher(b: Floats) -> float:
    """The correlation on Fisher's scale, where its error is even."""
    table, x, square = _moment_arrays(b, 2)
    rows = table.sum()
    mean_x, mean_y = x @ table.sum(1) / rows, x @ table.sum(0) / rows
    var_x = square @ table.sum(1) / rows - mean_x**2
    var_y = square @ table.sum(0) / rows - mean_y**2
    cov = x @ table @ x / rows - mean_x * mean_y
    size = math.sqrt(max(var_x, 1e-9) * max(var_y, 1e-9))
    return math.atanh(float(np.clip(cov / size, -0.999999, 0.999999)))


def _smooth(table: Ints, noise: Noise, function, lowest: float, highest: float):  # type: ignore[no-untyped-def]
    """A smooth function of noisy sums with its 95 % interval, to first order."""
    sums = table / _STEP
    if sums.sum() < 1:
        middle = min(max(0.0, lowest), highest)
        return middle, lowest, highest
    value = function(sums)
    slopes = _slopes(lambda b: np.array(function(b)), sums)
    far = combined_reach(slopes / _STEP, noise)
    ends = (value, value - far, value + far)
    return tuple(min(max(end, lowest), highest) for end in ends)


def _slopes(function, point: Floats) -> Floats:  # type: ignore[no-untyped-def]
    """Derivatives of ``function`` at ``point``, along the first axis."""
    step = 1e-4 * max(float(np.abs(point).sum()), 1.0)
    out = []
    for i in range(point.size):
        shift = np.zeros(point.size)
        shift[i] = step
        out.append((function(point + shift) - function(point - shift)) / (2 * step))
    return np.array(out)
