"""Gaussian privacy: what rho = mu^2 / 2 means, and noise that keeps it on integers.

A release is mu-Gaussian private when telling neighbours apart is never easier than
telling N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022). The rho of releases adds up,
even when each is chosen after the last (Smith and Thakurta 2022), and converts to
(epsilon, delta) without loss. ``docs/proofs/noise.md`` has the proofs used here.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreto.errors import ParameterError

GRID_PART = Fraction(1, 1000)  # of rho (as an epsilon) and delta: noise is integer
_REACH = 13  # the loss of a number whose noise has deviation s is below 13 / s
SMALLEST = 1e-5  # below this mu, rounding could matter in the exact formula


def log_tail(x: float) -> float:
    """The logarithm of the chance that a standard normal number is above ``x``."""
    if x < 25:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    y = 1 / (x * x)  # an alternating series: 1 - y + 3y^2 - 15y^3 + 105y^4
    series = math.log1p(-y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y))))
    return -x * x / 2 - math.log(x * math.sqrt(2 * math.pi)) + series


def delta_of(epsilon: float, mu: float) -> float:
    """The delta at which mu-Gaussian privacy is (epsilon, delta)-privacy.

    >>> f"{delta_of(1, 0.2681):.2g}"
    '1e-05'
    """
    first = log_tail(epsilon / mu - mu / 2)
    second = epsilon + log_tail(epsilon / mu + mu / 2)
    return -math.exp(first) * math.expm1(min(second - first, 0.0))


def is_private(epsilon: float, delta: float, mu: float) -> bool:
    """Return True if mu-Gaussian privacy is surely (epsilon, delta)-privacy."""
    # Above SMALLEST float errors change delta by less than one part in 10^5.
    return delta_of(epsilon, mu) * (1 + 1e-5) <= delta


def epsilon_of(mu: float, delta: float) -> float:
    """The least epsilon that mu-Gaussian privacy gives at ``delta``, rounded up."""
    # The bound of zero-concentrated privacy, which is looser, starts the search.
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(-2 * math.log(delta))
    if mu < SMALLEST:
        return min(high * (1 + 1e-9), epsilon_of(SMALLEST, delta))
    for _ in range(80):
        middle = (low + high) / 2
        if is_private(middle, delta, mu):
            high = middle
        else:
            low = middle
    return high


def range_of(rho: float) -> float:
    """The range of log-ratios that a choice worth ``rho`` may have, rounded down.

    Where log-ratios stay within an interval of length r, telling neighbours apart is
    hardest to prevent for two answers with log-ratios r/2 and -r/2. That is as easy as
    telling N(0, 1) from N(mu, 1) where Phi(mu / 2) = e^(r/2) / (1 + e^(r/2)).
    """
    half = math.sqrt(2 * rho) / 2
    line = half * 4 / math.sqrt(2 * math.pi)  # the tangent at 0, never above
    exact = log_tail(-half) - log_tail(half)
    return 2 * (line if half < 1e-4 else exact) * (1 - 1e-9)


def kept_delta(delta: Fraction, loss: Fraction) -> float:
    """Return what is left of ``delta`` for real-valued noise that loses ``loss``.

    Drawing the noise on a grid uses up a thousandth of delta for its tails, and can
    make every delta larger by a factor of e^(loss / 2000).
    """
    return float(delta * (1 - GRID_PART)) * math.exp(-float(loss * GRID_PART) / 2)


def fine_bits(
    variance: Fraction, numbers: int, allowance: Fraction, shift: float
) -> int:
    """Return how much finer than the answer the noise must be drawn, in bits.

    ``numbers`` of the answer can differ between neighbours; together they may lose
    ``allowance`` more than real-valued noise would. ``shift`` is how much further than
    12 standard deviations an outcome may lie from the means of both neighbours' noise,
    added up and halved (docs/proofs/noise.md).
    """
    reach = max(Fraction(_REACH), 12 + Fraction(shift))
    needed = reach * numbers / allowance
    bits = 0
    if variance < needed**2:
        short = math.log2(needed**2 / variance) / 2
        # Where noise is small, many: rounding must not be biased.
        bits = max(20 if variance < 1 << 40 else 0, math.ceil(short + 1e-6))
    if not 0 < variance * 4**bits < 1 << 100:
        raise ParameterError("this epsilon is too small for exact integers.")
    return bits
