"""What tests about the population share: p-values, and noise for simulated tables."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from discreto.core.gate import Noise
from discreto.release.release import Release
from discreto.session.rng import Generator
from discreto.stats._base import both_notes
from discreto.stats._intervals import Floats

Z = NormalDist().inv_cdf(0.975)
CLEAR = 4.0  # with fewer rows than this many deviations of noise, nothing is known
DRAWS = 2000  # simulated tables behind a p-value
NOTE = "for the population behind the table: noise and sampling"


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


def possible_noise(noise: Noise, shape: tuple[int, ...], coins: Generator) -> Floats:
    """Return noise of this distribution for simulated tables. It protects no rows."""
    if noise.law == "laplace":
        return coins.laplace(0.0, float(noise.amount), shape)
    return coins.normal(0.0, math.sqrt(noise.variance), shape)
