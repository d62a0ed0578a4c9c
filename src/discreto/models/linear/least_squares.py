"""From noisy second moments to coefficients: what is possible, shrunk by the noise.

All of it is post-processing of a release and of its known noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Noisy sums of products of some columns, and the variance of their noise."""

    sums: Floats
    noise: Floats


def unfold(upper: Any, width: int) -> Floats:
    """The symmetric matrix of an upper triangle."""
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
    """Coefficients for the last column from the others.

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
    """How much of some noisy numbers is signal: 0 to 1, for all of them at once.

    Their mean square is compared with the variance of Laplace noise, whose own mean
    square varies by sqrt(5 / count) of itself; ``doubt`` says how many such spreads
    must be exceeded.
    """
    mean = float(np.mean(values**2))
    floor = variance * (1 + doubt * np.sqrt(5 / values.size))
    return max(mean - floor, 0.0) / max(mean, 1e-300)


def _divide(above: Any, below: Floats) -> Floats:
    """The quotient, 0 where nothing is known (a minimum-norm answer)."""
    known = below > 1e-10 * max(float(below.max(initial=0.0)), 1e-290)
    return np.divide(above, below, out=np.zeros_like(below), where=known)
