"""Error bars and p-values: how far noise of a public distribution moves an answer.

Everything here works on released numbers and public noise distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreto.core.gate import Noise
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Ints
from discreto.release.release import LEVEL, Release
from discreto.session.rng import Generator
from discreto.stats._base import both_notes

Floats = NDArray[np.float64]
STEP = float(1 << SUM_BITS)
Function = Callable[[Floats], Floats]
Z = NormalDist().inv_cdf(0.975)
CLEAR = 4.0  # with fewer rows than this many deviations of noise, nothing is known
TABLES = 2000  # simulated tables behind a p-value
NOTE = "for the population behind the table: noise and sampling"
_normal = NormalDist().inv_cdf
# The noise of a group without rows seldom exceeds its 99.8 % quantile on either side.
NO_ROWS = 0.998


def reach(noise: Noise, level: float = LEVEL) -> int:
    """Return the smallest whole k with P[|noise| <= k] >= level, for one draw."""
    tail = 1 - level
    if noise.law == "laplace":
        # P[|X| > k] = 2 q^(k+1) / (1 + q). log q is -rate: q itself may underflow to 0.
        rate = 1 / float(noise.amount)
        rows = math.log(tail * (1 + math.exp(-rate)) / 2) / -rate
        return max(0, math.ceil(rows) - 1)
    sigma = math.sqrt(float(noise.amount))
    if sigma > 50:
        return math.ceil(sigma * _normal(1 - tail / 2) - 0.5)
    steps = np.arange(math.ceil(12 * sigma) + 2)
    weights = np.exp(-(steps**2) / (2 * sigma**2)) * np.where(steps == 0, 1, 2)
    inside = np.cumsum(weights) / weights.sum()
    return int(np.searchsorted(inside, level))


def combined_reach(
    weights: Sequence[float] | Floats,
    noise: Noise,
    level: float = LEVEL,
    sampling: float = 0.0,
) -> float:
    """Return c with P[|sum of weights times independent draws| <= c] = level.

    ``sampling`` is the deviation of a normal error that comes on top: that of the
    rows, which are a sample of a population.
    """
    sizes = np.abs(np.asarray(weights, dtype=float))
    largest = sizes.max(initial=0.0)
    z = _normal(0.5 + level / 2)
    if largest == 0:
        return sampling * z
    if noise.law == "gaussian":
        both = float(noise.amount) * float(np.sum(sizes**2)) + sampling**2
        return math.sqrt(both) * z
    unit, ratios = float(noise.amount) * largest, _ratios(sizes)
    if sampling > 50 * unit * math.sqrt(len(ratios)):  # noise hardly matters
        both = 2 * float(noise.amount) ** 2 * float(np.sum(sizes**2)) + sampling**2
        return math.sqrt(both) * z
    return unit * _laplace_reach(ratios, level, round(sampling / unit, 4))


def fewest_rows(cells: int, noise: Noise) -> float:
    """Return the noisy row count, summed over cells, from which there surely are rows.

    A group without rows exceeds it with a probability of 0.1 %. A smaller group has an
    interval as wide as what is possible.
    """
    return combined_reach(np.ones(cells), noise, NO_ROWS)


def _ratios(sizes: Floats) -> tuple[float, ...]:
    """Return weights over the largest, without those that make no difference."""
    largest = sizes.max()
    ratios = np.sort(sizes[sizes > 1e-6 * largest] / largest)
    return tuple(np.round(ratios, 6).tolist())


def sum_reach(squares: Floats, fourths: Floats, noise: Noise, level: float) -> Floats:
    """Return about ``combined_reach`` of many sums, from powers of their weights."""
    z = _normal(0.5 + level / 2)
    size = math.sqrt(noise.variance) * np.sqrt(squares)
    if noise.law == "gaussian":
        return size * z
    tails = 3 * fourths / np.maximum(squares, 1e-12) ** 2
    return size * (z + tails / 24 * (z**3 - 3 * z))


@lru_cache(maxsize=4096)
def _laplace_reach(
    ratios: tuple[float, ...], level: float, sampling: float = 0.0
) -> float:
    """Return a quantile of |sum of ratio_i * Laplace(1) + sampling * normal|."""
    if len(ratios) == 1 and not sampling:
        return ratios[0] * -math.log(1 - level)
    r = np.array(ratios)
    variance = 2 * float(np.sum(r * r)) + sampling**2
    spread = math.sqrt(variance)
    tails = 12 * float(np.sum(r**4)) / variance**2  # excess kurtosis
    if tails < 1:  # four or more draws: close to normal (Cornish and Fisher)
        z = _normal(0.5 + level / 2)
        return spread * (z + tails / 24 * (z**3 - 3 * z))
    # P[|X| <= c] = 2/pi * integral of phi(t) sin(ct) / t, phi the product of
    # 1 / (1 + (r t)^2). Past `top` phi is below 1e-7.
    top = 1.0
    while np.sum(np.log1p((r * top) ** 2)) + (sampling * top) ** 2 / 2 < 16:
        top *= 1.3
    t = (np.arange(2048) + 0.5) * (top / 2048)
    fall = np.sum(np.log1p(np.outer(r, t) ** 2), axis=0) + (sampling * t) ** 2 / 2
    phi = np.exp(-fall) / t
    step = 2 / math.pi * top / 2048
    low, high = 0.0, 12 * spread
    for _ in range(24):
        middle = (low + high) / 2
        if step * float(phi @ np.sin(middle * t)) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def share_interval(
    yes: float,
    no: float,
    cells: tuple[int, int],
    noise: Noise,
    level: float = LEVEL,
    *,
    population: bool = False,
) -> tuple[float, float, float]:
    """Return yes / (yes + no) of noisy sums of so many cells each, and its interval.

    Fieller's construction: p is in the interval when yes (1 - p) - no p, which is 0 for
    the true p but for the noise, is within reach of that noise. For the population
    its rows, counted by chance, add n p (1 - p) to the variance, as Wilson has it.
    """
    rows = yes + no
    if rows <= 0:
        return 0.5, 0.0, 1.0
    if rows < fewest_rows(sum(cells), noise):
        return min(max(yes / rows, 0.0), 1.0), 0.0, 1.0
    value = min(max(yes / rows, 0.0), 1.0)
    knots = np.sin(np.linspace(0, math.pi / 2, 33)) ** 2
    reaches = []
    for p in knots.tolist():
        weights = [1 - p] * cells[0] + [p] * cells[1]
        sampling = math.sqrt(rows * p * (1 - p)) if population else 0.0
        reaches.append(combined_reach(weights, noise, level, sampling))
    ends = []
    for side in (-1.0, 1.0):
        steps = knots[knots < value][::-1] if side < 0 else knots[knots > value]
        steps = np.concatenate([[value], steps])
        spare = np.interp(steps, knots, reaches) - np.abs(yes - steps * rows)
        out = int(np.argmax(np.append(spare, -1.0) < 0))
        if out == 0 or out == steps.size:  # even the observed share, or all of them
            ends.append(float(steps[max(out - 1, 0)]))
            continue
        part = spare[out - 1] / (spare[out - 1] - spare[out])
        ends.append(float(steps[out - 1] + part * (steps[out] - steps[out - 1])))
    return value, ends[0], ends[1]


def ratio_interval(
    first: float, second: float, noise: Noise
) -> tuple[float, float, float]:
    """Return :func:`ratio_intervals` of one pair."""
    value, low, high = ratio_intervals(np.array([[first, second]]), noise)[0].tolist()
    return value, low, high


def ratio_intervals(pairs: Floats | Ints, noise: Noise) -> Floats:
    """Return m = (A - B) / (A + B) of noisy non-negative sums, and its 95 % interval.

    A row (m, low, high) for each pair. Fieller's construction: m is in the interval
    when A (1 - m) - B (1 + m), which is 0 for the true m but for the noise, is within
    that noise's 95 % reach.
    """
    # Between knots the reach is close to its chord, so the ends of
    # |difference - m rows| <= reach(m) follow from linear equations.
    far = _reach_at_knots(noise)
    slope = np.diff(far) / np.diff(_KNOTS)
    base, fewest = far[:-1] - slope * _KNOTS[:-1], fewest_rows(2, noise)
    parts = [
        _fieller(pairs[start : start + 4096], base, slope, fewest)  # in the cache
        for start in range(0, len(pairs), 4096)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _fieller(
    pairs: Floats | Ints, base: Floats, slope: Floats, fewest: float
) -> Floats:
    """Return ``ratio_intervals`` where the reach is ``base + slope m`` between knots.

    Pairs whose sum is below ``fewest`` have the whole range.
    """
    first, second = np.asarray(pairs, dtype=float).T[..., None]
    rows, difference = first + second, first - second
    low, high, possible = _KNOTS[:-1], _KNOTS[1:], rows > 0
    value = np.divide(difference, rows, out=np.zeros_like(rows), where=possible)
    value = np.minimum(np.maximum(value, -1.0), 1.0)
    inside = np.broadcast_to(possible, (len(rows), base.size))
    for sign in (1.0, -1.0):
        # sign * (difference - m rows) <= base + slope m, that is k m >= c
        c, k = sign * difference - base, sign * rows + slope
        with np.errstate(divide="ignore", invalid="ignore"):
            end = c / k
        low = np.where(k > 0, np.maximum(low, end), low)
        high = np.where(k < 0, np.minimum(high, end), high)
        inside = inside & ~((k == 0) & (c > 0))
    inside = inside & (low <= high)
    lowest = np.where(inside, low, np.inf).min(axis=1, keepdims=True)
    highest = np.where(inside, high, -np.inf).max(axis=1, keepdims=True)
    known = possible & (rows >= fewest)
    lowest = np.where(known, np.minimum(lowest, value), -1.0)
    highest = np.where(known, np.maximum(highest, value), 1.0)
    return np.hstack([value, lowest, highest])


def _reach_at_knots(noise: Noise) -> Floats:
    """Return the reach of A (1 - m) - B (1 + m) for each knot m."""
    size, unit = _unit_reaches(noise.law)
    amount = float(noise.amount)
    return (math.sqrt(amount) if noise.law == "gaussian" else amount) * size * unit


@lru_cache(maxsize=4)
def _unit_reaches(law: str) -> tuple[Floats, Floats]:
    """Return for each knot, the two factors that noise of amount 1 would reach."""
    half = []
    for m in np.linspace(0, 1, 9).tolist():
        weights = np.array([1 - m, 1 + m])
        if law == "gaussian":
            size, unit = math.sqrt(float(np.sum(weights**2))), _normal(0.5 + LEVEL / 2)
        else:
            size, unit = weights.max(), _laplace_reach(_ratios(weights), LEVEL)
        half.append((size, unit))
    size, unit = np.array([*half[:0:-1], *half]).T
    return size, unit


_KNOTS = np.linspace(-1, 1, 17)
DRAWS = 4096
_TAIL = 0.0225  # below 2.5 %: for bent functions, and as draws are not endless
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23)


def middle(
    function: Callable[[Floats], Floats], sums: Floats, scale: float, noise: Noise
) -> tuple[float, float]:
    """Return the middle 95 % of a function of what the true sums may be.

    The true sums are the noisy ones minus a noise of a public distribution, so possible
    noises are spread over it and taken off. ``scale`` turns grid steps into the
    unit of ``sums``; ``function`` maps each row to a number, NaN where it has none,
    which counts as anything at all.
    """
    amount = float(noise.amount)
    steps = amount if noise.law == "laplace" else math.sqrt(amount)
    values = function(sums - steps * scale * _unit_noise(noise.law, sums.size))
    unknown = np.isnan(values)
    tail = math.floor(DRAWS * _TAIL)
    low = np.partition(np.where(unknown, -np.inf, values), tail)[tail]
    high = np.partition(np.where(unknown, np.inf, values), -1 - tail)[-1 - tail]
    return float(low), float(high)


@lru_cache(maxsize=32)
def _unit_noise(law: str, width: int) -> Floats:
    """Return vectors of unit noise, spread evenly over their distribution."""
    even = np.zeros((DRAWS, width))  # Halton's points in a cube
    for axis, base in enumerate(_BASES[:width]):
        rest, place = np.arange(1, DRAWS + 1), 1.0 / base
        while rest.any():
            even[:, axis] += place * (rest % base)
            rest, place = rest // base, place / base
    if law == "gaussian":
        return np.array([_normal(u) for u in even.ravel()]).reshape(even.shape)
    return np.where(even < 0.5, np.log(2 * even), -np.log(2 - 2 * even))


def row_count(rows: Floats) -> Floats:
    """Return the number of rows; NaN where there are none to speak of."""
    return np.where(rows >= 1, rows, np.nan)


def smooth(
    table: Ints, noise: Noise, function: Function, lowest: float, highest: float
) -> Floats:
    """Return a function of noisy sums, and its 95 % interval."""
    sums = table / STEP
    rows = sums.sum()
    low, high = lowest, highest
    if rows >= fewest_rows(sums.size, noise) / STEP:
        low, high = ends_of(sums, function, noise, 1 / STEP, rows, lowest, highest)
    value = float(function(sums))
    if math.isnan(value):
        value = max(0.0, low)
    return np.array([min(max(value, low), high), low, high])


def ends_of(
    sums: Floats,
    function: Function,
    noise: Noise,
    scale: float,
    rows: float,
    lowest: float,
    highest: float,
) -> tuple[float, float]:
    """Return the 95 % interval of a function, or all that is possible for few rows."""
    if rows < CLEAR * math.sqrt(noise.variance) * scale:
        return lowest, highest
    low, high = middle(function, sums, scale, noise)
    return min(max(low, lowest), highest), max(min(high, highest), lowest)


def with_p_value(
    label: str,
    names: tuple[str, ...],
    p_value: float,
    ends: Floats,
    unit: str = "",
    about: str = "",
) -> Release:
    """Return a release of estimates with their intervals, and of a p-value.

    ``ends`` has the values, the low ends and the high ends, each one for each name.
    ``about`` is a remark on how many rows have a value.
    """
    value, low, high = (np.append(part, p_value) for part in ends)
    note = both_notes(about, NOTE)
    return Release(label, value, low, high, (*names, "p-value"), unit, note)


def two_sided(size: float) -> float:
    """Return the two-sided p-value of a standard normal variable."""
    return 2 * NormalDist().cdf(-abs(size))


def possible_noise(noise: Noise, shape: tuple[int, ...], rng: Generator) -> Floats:
    """Return noise of this distribution for simulated tables. It protects no rows."""
    if noise.law == "laplace":
        return rng.laplace(0.0, float(noise.amount), shape)
    return rng.normal(0.0, math.sqrt(noise.variance), shape)
