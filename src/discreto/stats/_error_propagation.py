"""Smooth functions of noisy sums, with their error bars."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreto.core.gate import Noise
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Ints
from discreto.stats._intervals import Floats, fewest_rows, middle

STEP = float(1 << SUM_BITS)
_CLEAR = 4.0  # with fewer rows than this many deviations of noise, nothing is known

Function = Callable[[Floats], Floats]


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
    if rows < _CLEAR * math.sqrt(noise.variance) * scale:
        return lowest, highest
    low, high = middle(function, sums, scale, noise)
    return min(max(low, lowest), highest), max(min(high, highest), lowest)
