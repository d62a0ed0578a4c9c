"""Estimates about true rows from perturbed ones, with intervals. Free of charge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from discreto.errors import ParameterError
from discreto.local._noise import NoiseSpread, Response
from discreto.release.release import LEVEL, Release

_Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


def frequencies(label: str, counts: Any, law: Response, keys: Sequence[Any]) -> Release:
    """True shares from counts of randomised responses."""
    counts = np.asarray(counts, dtype=float)
    rows = counts.sum()
    if not rows:
        even = np.full(len(counts), 1 / len(counts))
        return Release(label, even, 0 * even, even**0, tuple(keys))
    seen, gap = counts / rows, law.truth - law.lie
    value = np.clip((seen - law.lie) / gap, 0, 1)
    # Shares s with (seen - lie - gap s)^2 <= z^2 (a s + b) / rows, a quadratic in s:
    # the variance of the responses depends on the true share itself.
    b = law.lie * (1 - law.lie)
    a = law.truth * (1 - law.truth) - b
    slack = _Z**2 / rows
    middle = gap * (seen - law.lie) + slack * a / 2
    under = middle**2 - gap**2 * ((seen - law.lie) ** 2 - slack * b)
    reach = np.sqrt(np.maximum(under, 0))
    low, high = (np.clip((middle + s * reach) / gap**2, 0, 1) for s in (-1, 1))
    return Release(label, value, low, high, tuple(keys))


def mean(
    label: str, values: Any, law: NoiseSpread, lower: float, upper: float, unit: str
) -> Release:
    """Return the true mean from noisy values."""
    values = np.asarray(values, dtype=float)
    if not values.size:
        return Release(label, (lower + upper) / 2, lower, upper, unit=unit)
    value = float(values.mean())
    # Cornish and Fisher: a sum of few draws has the tails of a draw.
    tails = law.tails / values.size
    reach = _Z + tails / 24 * (_Z**3 - 3 * _Z)
    reach *= (upper - lower) * math.sqrt(law.variance / values.size)
    ends = (value, value - reach, value + reach)
    value, low, high = np.clip(ends, lower, upper).tolist()
    return Release(label, value, low, high, unit=unit)


def counts_of(responses: Any, keys: Sequence[Any]) -> Any:
    """Return the count of each answer; other answers are refused."""
    place = {key: i for i, key in enumerate(keys)}
    counts = np.zeros(len(keys))
    for answer in np.asarray(responses, dtype=object).reshape(-1).tolist():
        known = None if answer is None or answer != answer else answer
        if known not in place:
            raise ParameterError(
                f"{known!r} is not an answer that randomised response can give."
            )
        counts[place[known]] += 1
    return counts
