"""Products of columns: the rows that are asked for, their sums, and coefficients.

Batches add up, and so does their noise. Coefficients are post-processing of a release
and of its known noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.gate import Measurement
from discreto.core.maps import Scaled
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS
from discreto.core.maps.unit_columns import Indicator, Term
from discreto.core.query import Floats
from discreto.models.base.features import Space

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator


@dataclass(frozen=True)
class Moments:
    """Noisy sums of products of some columns, and the variance of their noise."""

    sums: Floats
    noise: Floats


def unfold(upper: Any, width: int) -> Floats:
    """Return the symmetric matrix of an upper triangle."""
    full = np.zeros((width, width))
    full[np.triu_indices(width)] = upper
    return full + np.triu(full, 1).T


def moments_of(upper: Any, variance: float, step: float, weights: Floats) -> Moments:
    """Moments of columns that were multiplied by ``weights`` and put on a grid."""
    scale = np.outer(weights, weights) * step
    sums = unfold(upper, len(weights)) / scale
    return Moments(sums, variance / scale**2)


def centred(
    moments: Moments, *, shrink: bool, last: tuple[float, float] | None = None
) -> tuple[Floats, Moments]:
    """Means of all columns but the first (the ones), and moments around them.

    With ``shrink`` a mean that is mostly noise moves to the middle of its range: the
    prior is even on [-1, 1], whose variance is 1/3. ``last`` is another estimate of
    the last column's mean, with its variance.
    """
    sums, noise = moments.sums, moments.noise
    rows = max(sums[0, 0], 2 * np.sqrt(noise[0, 0]) if shrink else 0.0, 1e-9)
    means = sums[0, 1:] / rows
    if shrink:
        first = noise[0, 1:] / rows**2
        drawn = means / (1 + 3 * first)
        if last is not None:
            first[-1] += noise[0, 0] * means[-1] ** 2 / rows**2
            value, other = last
            sure = 1 / first[-1] + 1 / other + 3
            drawn[-1] = (means[-1] / first[-1] + value / other) / sure
        means = np.clip(drawn, -1, 1)
    cross = np.outer(means, sums[0, 1:])
    around = sums[1:, 1:] - cross - cross.T + rows * np.outer(means, means)
    squares = means**2
    spread = (
        noise[1:, 1:]
        + np.outer(squares, noise[0, 1:])
        + np.outer(noise[0, 1:], squares)
        + np.outer(squares, squares) * noise[0, 0]
    )
    return means, Moments(around, spread)


def least_squares(moments: Moments, *, ridge: float = 0.0, shrink: bool) -> Floats:
    """Return coefficients for the last column from the others.

    Negative eigenvalues are noise and become 0. With ``shrink`` the ridge grows by
    twice the size that the noise gives a matrix, and the answer is then scaled down by
    how much of the fit the noise can explain.
    """
    gram, cross = moments.sums[:-1, :-1], moments.sums[:-1, -1]
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0) + ridge
    along = vectors.T @ cross
    if not shrink:
        return vectors @ _divide(along, values)
    size = float(np.sqrt(moments.noise[:-1, :-1].mean() * len(gram)))
    ridged = values + 2 * size
    steps = _divide(along, ridged)
    # The fit that the noise in ``cross`` makes by itself, on average, halved: the full
    # amount throws away too much where coefficients are few (docs/models/linear.md).
    chance = 0.5 * float((vectors**2).T @ moments.noise[:-1, -1] @ _divide(1.0, ridged))
    gain = float(steps @ along) - chance
    cost = float(steps**2 @ (values + 0.5 * size))
    return vectors @ steps * min(max(gain / max(cost, 1e-12), 0.0), 1.0)


def part_signal(values: Floats, variance: float, *, doubt: float = 0.0) -> float:
    """Return which part of some noisy numbers is signal: one number from 0 to 1.

    Their mean square is compared with the variance of Laplace noise, whose own mean
    square varies by sqrt(5 / count) of itself; ``doubt`` says how many such spreads
    must be exceeded.
    """
    mean = float(np.mean(values**2))
    floor = variance * (1 + doubt * np.sqrt(5 / values.size))
    return max(mean - floor, 0.0) / max(mean, 1e-300)


def _divide(above: Any, below: Floats) -> Floats:
    """Return the quotient, 0 where nothing is known (a minimum-norm answer)."""
    known = below > 1e-10 * max(float(below.max(initial=0.0)), 1e-290)
    return np.divide(above, below, out=np.zeros_like(below), where=known)


@dataclass(frozen=True)
class Products:
    """Sums of products, and sums of the target with a noise of their own.

    ``ends``: for a target y on [-1, 1] the sums of (1 - y) / 2 and (1 + y) / 2 and the
    variance of their noise, or nothing where these were not asked for.
    """

    moments: Moments
    ends: tuple[float, ...] = ()

    @classmethod
    def of(cls, answer: Measurement, weights: Any, step: float) -> Products:
        """Return the products of an answer about columns times ``weights``."""
        variance = answer.noises[0].variance
        moments = moments_of(answer.tables[0][0], variance, step, weights)
        if len(answer.tables) == 1:
            return cls(moments)
        low, high = answer.tables[1][0] / float(1 << SUM_BITS)
        spread = answer.noises[1].variance / float(1 << (2 * SUM_BITS))
        return cls(moments, (float(low), float(high), spread))

    @classmethod
    def kept_in(cls, model: PrivateEstimator) -> Products:
        """Return the sums that a fitted model holds."""
        moments = Moments(model.moments_, model.moments_noise_)
        return cls(moments, tuple(model.target_sums_.tolist()))

    def keep_in(self, model: PrivateEstimator) -> None:
        """Let a model hold this."""
        model.moments_, model.moments_noise_ = self.moments.sums, self.moments.noise
        model.target_sums_ = np.array(self.ends, dtype=float)

    def with_(self, other: Products) -> Products:
        """Return the products of both batches."""
        one, two = self.moments, other.moments
        both = Moments(one.sums + two.sums, one.noise + two.noise)
        if not self.ends or not other.ends:
            return Products(both)
        low, high, spread = np.add(self.ends, other.ends).tolist()
        return Products(both, (low, high, spread))

    def mean(self) -> tuple[float, float] | None:
        """Return the plain mean of the target on [-1, 1] and how uncertain it is."""
        if not self.ends:
            return None
        low, high, spread = self.ends
        rows = max(low + high, 2 * math.sqrt(spread), 1.0)
        value = float(np.clip((high - low) / rows, -1, 1))
        # Weighted rows have another mean than all rows: by a fiftieth, say.
        return value, 2 * spread * (1 + value**2) / rows**2 + 0.02**2


# What a row is before it is weighted, chosen on nine data sets (docs/models/linear.md):
# the constant in front of the features, the factor of the target, and how large a
# part of the largest norm (of its square, for Gaussian noise) has its full weight.
_ONE, _TARGET, _PART, _SQUARE = 0.7, 1.5, 0.3, 0.12


def weighted_rows(
    names: tuple[Term, ...],
    space: Space,
    gaussian: bool,
    row_norm: float | None,
    intercept: bool,
) -> Scaled:
    """Features and target; a row with a norm above ``row_norm`` counts less."""
    width = len(space.features) + 1 + intercept
    reach = math.sqrt(_SQUARE * width) if gaussian else _PART * width
    if row_norm is not None:
        reach = row_norm
    scales = np.ones(len(names))
    origins = np.zeros(len(names))
    if not intercept:
        origins = np.array([_zero(name, space.domain) for name in names])
        scales = 1 + np.abs(origins)
    scales[-1] /= _TARGET
    return Scaled(
        names,
        _plain(origins),
        _plain(scales),
        _ONE if intercept else 0.0,
        reach,
        "l2" if gaussian else "l1",
        bits=PRODUCT_BITS,
        largest=_TARGET,
    )


def column_weights(columns: int, intercept: bool) -> Floats:
    """Return the factors of the constant, if any, the features and the target."""
    weights = np.array([_ONE] * intercept + [1.0] * columns)
    weights[-1] = _TARGET
    return weights


def _plain(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _zero(term: Term, domain: Domain) -> float:
    """Return where a term is 0, on [-1, 1]."""
    if isinstance(term, Indicator):
        return 0.0
    column = domain.number(term)
    return -column.centre / column.half
