"""Exact laws of integer noise, and one test with its size and power in one place.

``same_law`` must accept the law that a sampler names and, on the same draws, reject a
law whose scale is 10 % off. A test that cannot do the second proves nothing by the
first. The size is 1e-9, so a right sampler fails about never.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Law = tuple[int, Array]  # the first value, and the chances of it and its successors

ALPHA = 1e-9
WRONG = 1.1  # the scale of the law that must be rejected, over the right one
# The chi-square law is only exact in the limit; at 1e-9 a cell needs many draws.
CELL = 200


def chi_square(draws: NDArray[np.int64], law: Law) -> float:
    """The p-value of draws against a law on whole numbers, rare values put together."""
    first, chances = law
    count = draws.size
    inside = (draws >= first) & (draws < first + chances.size)
    seen = np.bincount(draws[inside] - first, minlength=chances.size).astype(float)
    common = chances * count >= CELL
    seen, wanted = seen[common], chances[common] * count
    rest, rest_wanted = count - seen.sum(), count - wanted.sum()
    if rest_wanted >= CELL:
        seen, wanted = np.append(seen, rest), np.append(wanted, rest_wanted)
    elif rest > 10 * CELL:
        return 0.0  # many values that the law hardly allows
    else:
        wanted = wanted * (seen.sum() / wanted.sum())
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), seen.size - 1))


def two_samples(one: NDArray[np.int64], two: NDArray[np.int64]) -> float:
    """The p-value that two samples of whole numbers have the same law."""
    low, high = min(one.min(), two.min()), max(one.max(), two.max())
    table = np.array(
        [np.bincount(s - low, minlength=high - low + 1) for s in (one, two)]
    )
    common = table.sum(axis=0) >= CELL
    rest = table[:, ~common].sum(axis=1, keepdims=True)
    table = table[:, common]
    if rest.sum() >= CELL:
        table = np.hstack([table, rest])
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def smooth(draws: NDArray[np.int64], cdf: Callable[[Array], Array]) -> float:
    """The Kolmogorov-Smirnov p-value, for scales so large that steps do not show."""
    return float(stats.kstest(draws.astype(float), cdf).pvalue)


def same_law(right: float, wrong: float) -> None:
    """Size and power: the right law is accepted, the wrong one is rejected."""
    assert right > ALPHA, f"the law that was promised is rejected (p = {right:.1e})"
    assert wrong < ALPHA, f"a scale 10 % off goes unnoticed (p = {wrong:.1e})"


# The laws


def geometric(scale: float) -> Law:
    """exp(-k / scale) on 0, 1, 2, ..."""
    k = np.arange(int(45 * scale) + 2)
    return 0, -math.expm1(-1 / scale) * np.exp(-k / scale)


def laplace(scale: float) -> Law:
    """exp(-|k| / scale) on all whole numbers."""
    reach = int(45 * scale) + 2
    k = np.abs(np.arange(-reach, reach + 1))
    return -reach, math.tanh(0.5 / scale) * np.exp(-k / scale)


def gaussian(variance: float) -> Law:
    """exp(-k^2 / (2 variance)) on all whole numbers."""
    reach = int(10 * math.sqrt(variance)) + 2
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * variance))
    return -reach, weights / weights.sum()


def laplace_cdf(scale: float) -> Callable[[Array], Array]:
    """The limit of the discrete Laplace law for large scales."""
    return lambda x: stats.laplace.cdf(x, scale=scale)


def staircase(ratio: Fraction, width: int, step: int, reach: int) -> list[Fraction]:
    """The staircase law on -reach .. reach, exactly, for exp(-epsilon) = ``ratio``."""
    mass = 2 * (step + (width - step) * ratio) / (1 - ratio) - 1
    return [
        ratio ** ((abs(k) + width - step) // width) / mass
        for k in range(-reach, reach + 1)
    ]


def permute_and_flip(scores: Sequence[int], ratio: Fraction) -> list[Fraction]:
    """The law of permute-and-flip by enumeration, for exp(-1 / scale) = ``ratio``."""
    best, count = max(scores), len(scores)
    chances = [Fraction(0)] * count
    for order in itertools.permutations(range(count)):
        left = Fraction(1)
        for i in order:
            heads = ratio ** (best - scores[i])
            chances[i] += left * heads
            left *= 1 - heads
    return [chance / math.factorial(count) for chance in chances]


def noisy_maximum(scores: Sequence[int], ratio: Fraction) -> list[Fraction]:
    """The law of the largest score + geometric noise, ties at random, exactly.

    Sums over the largest noisy value m >= max(scores) and the set T of those that
    reach it; everything is a polynomial in ratio^m, so the series has a closed form.
    """
    best, count = max(scores), len(scores)
    gaps = [ratio ** (best - score) for score in scores]
    chances = [Fraction(0)] * count
    for size in range(1, count + 1):
        for tied in itertools.combinations(range(count), size):
            # P[G_j = m - s_j] = (1 - r) gap_j r^(m - best); P[<] = 1 - gap_j r^(...)
            terms = [Fraction(1)]
            for j in range(count):
                if j in tied:
                    terms = [Fraction(0)] + [(1 - ratio) * gaps[j] * t for t in terms]
                else:
                    terms = [
                        a - gaps[j] * b
                        for a, b in zip([*terms, 0], [0, *terms], strict=True)
                    ]
            total = sum(t / (1 - ratio**k) for k, t in enumerate(terms) if k)
            for i in tied:
                chances[i] += Fraction(total) / size
    return chances
