"""Covariances and correlations: a number for two columns, a matrix for more."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.gate import Measurement, Noise
from discreto.core.maps import Bernstein, Values, present_in
from discreto.core.maps.features import PRODUCT_BITS
from discreto.core.query import Block, Sum
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._base import complete_in, parted, present_note, share_note
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import Floats, ends_of, row_count, smooth

_SQUARE = float(1 << (2 * PRODUCT_BITS))


@documented_statistic
@dataclass(frozen=True)
class Covariance:
    """The covariance or correlation of columns: a number for two, else a matrix.

    Parameters
    ----------
    columns
        Names of two or more Number columns.
    correlation
        ``True`` for correlations.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         for two columns four or nine products of Bernstein polynomials; for
                 more, all products of two of them (and of a one), in one question.
    Bound        1 for two columns: a row gives the products 1 together. For d columns
                 the (d + 1)(d + 2) / 2 products are bounded by 1 each.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(3), Covariance(("x0", "x1")), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    >>> several = Covariance(("x0", "x1", "x2"))
    >>> found = plan.statistics(Domain.cube(3), several, epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [10.0]
    """

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
        cells, gaps = complete_in(self.columns, ask.domain)
        block = Block(Bernstein(self.columns, 2 if self.correlation else 1))
        answer = ask.measure(Sum(cells, (block,)), self.label)
        function = _correlation if self.correlation else _covariance
        sums, note = parted(answer.tables[0], answer.noises[0], gaps=gaps)
        parts = smooth(sums[0], answer.noises[0], function, -1, 1)
        value, low, high = (parts * np.prod(self._scale(ask.domain))).tolist()
        return Release(self.label, value, low, high, note=note)

    def _matrix(self, ask: Ask) -> Release:
        cells, gaps = complete_in(self.columns, ask.domain)
        if ask.domain.neighbours == "replace":  # there a cell more would cost noise
            cells, gaps = present_in(self.columns, ask.domain), False
        block = Block(Values(self.columns, bits=PRODUCT_BITS, constant=True), "gram")
        answer = ask.measure(Sum(cells, (block,)), self.label)
        size = len(self.columns)
        full = np.zeros((size + 1, size + 1))
        full[np.triu_indices(size + 1)] = answer.tables[0][0] / _SQUARE
        matrix = _from_moments(full, self.correlation)
        low, high = _matrix_ends(full, matrix, answer.noises[0], self.correlation)
        scale = np.outer(self._scale(ask.domain), self._scale(ask.domain))
        keys = tuple((a, b) for a in self.columns for b in self.columns)
        note = _rows_note(answer, ask.domain, gaps=gaps)
        ends = matrix * scale, low * scale, high * scale
        return Release(self.label, *ends, keys, note=note)


def _rows_note(answer: Measurement, domain: Domain, *, gaps: bool) -> str:
    """Return a remark on rows with all values: the first product is their number."""
    noise, counts = answer.noises[0], answer.tables[0][:, 0].astype(float)
    if gaps:
        return present_note(counts[:1], counts[1:], noise)
    if domain.neighbours != "replace" or not domain.rows:
        return ""
    rows = domain.rows * _SQUARE
    share = min(max(1 - counts[0] / rows, 0.0), 1.0)
    return share_note(share, math.sqrt(noise.variance) / rows)


def _from_moments(full: Floats, correlation: bool) -> Floats:
    """Return the covariance or correlation matrix from upper triangles of moments."""
    rows = max(full[0, 0], 1.0)
    means = full[0, 1:] / rows
    upper = full[1:, 1:] / rows
    cov = upper + np.triu(upper, 1).T - np.outer(means, means)
    # Noise can make it impossible; the nearest possible matrix has no negative part.
    values, vectors = np.linalg.eigh(cov)
    half = vectors * np.sqrt(np.maximum(values, 0))
    cov = half @ half.T
    # Nor can a variance be larger than half the range, squared.
    shrink = 1 / np.sqrt(np.maximum(np.diag(cov), 1.0))
    cov *= np.outer(shrink, shrink)
    if not correlation:
        return cov
    deviations = np.sqrt(np.maximum(np.diag(cov), 1e-12))
    out = np.clip(cov / np.outer(deviations, deviations), -1, 1)
    np.fill_diagonal(out, 1.0)
    return out


def _matrix_ends(
    full: Floats, matrix: Floats, noise: Noise, correlation: bool
) -> tuple[Floats, Floats]:
    """Return the 95 % interval of each entry on its own."""
    low, high = matrix.copy(), matrix.copy()
    size = len(matrix)
    for i in range(size):
        for j in range(i + correlation, size):
            a, b, function = i + 1, j + 1, _product_of
            picks = [(0, 0), (0, a), (0, b), (a, b)]
            if i == j:
                picks, function = [(0, 0), (0, a), (a, a)], _spread_of
            elif correlation:
                picks[3:] = [(a, a), (b, b), (a, b)]
                function = _moment_correlation
            sums = np.array([full[pick] for pick in picks])
            least = 0 if i == j else -1
            ends = ends_of(sums, function, noise, 1 / _SQUARE, sums[0], least, 1)
            low[i, j] = low[j, i] = min(ends[0], matrix[i, j])
            high[i, j] = high[j, i] = max(ends[1], matrix[i, j])
    return low, high


def _spread_of(m: Floats) -> Floats:
    """Return the variance from (rows, sum, sum of squares)."""
    rows = row_count(m[..., 0])
    return m[..., 2] / rows - (m[..., 1] / rows) ** 2


def _product_of(m: Floats) -> Floats:
    """Return the covariance from (rows, sum x, sum y, sum xy)."""
    rows = row_count(m[..., 0])
    return m[..., 3] / rows - m[..., 1] * m[..., 2] / rows**2


def _moment_correlation(m: Floats) -> Floats:
    """Return the correlation from (rows, sums x, y, xx, yy, xy)."""
    var_x, var_y = _spread_of(m[..., [0, 1, 3]]), _spread_of(m[..., [0, 2, 4]])
    return _ratio(_product_of(m[..., [0, 1, 2, 5]]), var_x, var_y)


def _ratio(cov: Floats, var_x: Floats, var_y: Floats) -> Floats:
    """Return the correlation; NaN where a variance is not above 0."""
    possible = (var_x > 0) & (var_y > 0)
    size = np.sqrt(np.where(possible, var_x * var_y, np.nan))
    return np.clip(cov / size, -1, 1)


def _covariance(b: Floats) -> Floats:
    """Return the covariance from sums of the four products of (1 - x)/2, (1 + x)/2."""
    signs = np.array([[-1.0, -1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, 1]])
    sums = np.moveaxis(b @ signs.T, -1, 0)
    return _product_of(np.stack([b.sum(axis=-1), *sums], axis=-1))


def _correlation(b: Floats) -> Floats:
    """Return the correlation from sums of the nine products of degree 2."""
    one, x, square = np.ones(3), np.array([-1.0, 0, 1]), np.array([1.0, -1, 1])
    pairs = ((one, one), (x, one), (one, x), (square, one), (one, square), (x, x))
    weights = np.array([np.outer(first, second).ravel() for first, second in pairs])
    return _moment_correlation(b @ weights.T)
