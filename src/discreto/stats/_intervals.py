"""Error bars: how far the noise, whose law is public, moves an answer.

Everything here works on released numbers and public noise laws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreto.kernel.gate import Noise
from discreto.release import LEVEL

Floats = NDArray[np.float64]
_normal = NormalDist().inv_cdf


def reach(noise: Noise, level: float = LEVEL) -> int:
    """The smallest whole k with P[|noise| <= k] >= level, for one draw."""
    tail = 1 - level
    if noise.law == "laplace":
        q = math.exp(-1 / float(noise.amount))
        # P[|X| > k] = 2 q^(k+1) / (1 + q)
        return max(0, math.ceil(math.log(tail * (1 + q) / 2) / math.log(q)) - 1)
    sigma = math.sqrt(float(noise.amount))
    if sigma > 50:
        return math.ceil(sigma * _normal(1 - tail / 2) - 0.5)
    steps = np.arange(math.ceil(12 * sigma) + 2)
    weights = np.exp(-(steps**2) / (2 * sigma**2)) * np.where(steps == 0, 1, 2)
    inside = np.cumsum(weights) / weights.sum()
    return int(np.searchsorted(inside, level))


def combined_reach(
    weights: Sequence[float] | Floats, noise: Noise, level: float = LEVEL
) -> float:
    """c with P[|sum of weights times independent draws| <= c] = level."""
    sizes = np.abs(np.asarray(weights, dtype=float))
    largest = sizes.max(initial=0.0)
    if largest == 0:
        return 0.0
    if noise.law == "gaussian":
        spread = math.sqrt(float(noise.amount)) * math.sqrt(float(np.sum(sizes**2)))
        return spread * _normal(0.5 + level / 2)
    ratios = np.sort(sizes[sizes > 1e-6 * largest] / largest)
    key = tuple(np.round(ratios, 6).tolist())
    return float(noise.amount) * largest * _laplace_reach(key, level)


@lru_cache(maxsize=4096)
def _laplace_reach(ratios: tuple[float, ...], level: float) -> float:
    """The level quantile of |sum of ratio_i * Laplace(1)|."""
    if len(ratios) == 1:
        return ratios[0] * -math.log(1 - level)
    r = np.array(ratios)
    spread = math.sqrt(2 * float(np.sum(r * r)))
    tails = 3 * float(np.sum(r**4)) / float(np.sum(r**2)) ** 2  # excess kurtosis
    if tails < 1:  # four or more draws: close to normal (Cornish and Fisher)
        z = _normal(0.5 + level / 2)
        return spread * (z + tails / 24 * (z**3 - 3 * z))
    # P[|X| <= c] = 2/pi * integral of phi(t) sin(ct) / t, phi the product of
    # 1 / (1 + (r t)^2). Past `top` phi is below 1e-7.
    top = 1.0
    while np.sum(np.log1p((r * top) ** 2)) < 16:
        top *= 1.3
    t = (np.arange(2048) + 0.5) * (top / 2048)
    phi = np.exp(-np.sum(np.log1p(np.outer(r, t) ** 2), axis=0)) / t
    step = 2 / math.pi * top / 2048
    low, high = 0.0, 12 * spread
    for _ in range(24):
        middle = (low + high) / 2
        if step * float(phi @ np.sin(middle * t)) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def ratio_interval(
    first: float, second: float, noise: Noise
) -> tuple[float, float, float]:
    """m = (A - B) / (A + B) of two noisy non-negative sums, and its 95 % interval.

    Fieller's construction: m is in the interval when A (1 - m) - B (1 + m), which is
    0 for the true m but for the noise, is within that noise's 95 % reach.
    """
    rows, difference = first + second, first - second
    if rows <= 0:
        return 0.0, -1.0, 1.0
    value = min(max(difference / rows, -1.0), 1.0)
    grid = np.linspace(-1, 1, 4001)
    knots = np.linspace(0, 1, 9)
    reaches = [combined_reach((1 - m, 1 + m), noise) for m in knots]
    allowed = np.interp(np.abs(grid), knots, reaches)
    inside = np.abs(first * (1 - grid) - second * (1 + grid)) <= allowed
    if not inside.any():
        return value, value, value
    # Refine the two ends: between grid points the reach is nearly constant.
    low, high = float(grid[inside][0]), float(grid[inside][-1])
    at = np.interp([abs(low), abs(high)], knots, reaches)
    ends = ((difference - at[0]) / rows, (difference + at[1]) / rows)
    low = ends[0] if abs(ends[0] - low) < 1e-3 else low
    high = ends[1] if abs(ends[1] - high) < 1e-3 else high
    return value, max(low, -1.0), min(high, 1.0)
