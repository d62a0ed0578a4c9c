"""The one rule by which numbers become whole: half a step up, then down.

Every engine has a floor and an addition; what casts and ``round`` do with a half
differs between them. A tie goes up here, so a sum leans by at most half a step a row.
"""

from __future__ import annotations

import numpy as np

from discreto.core.query import Floats


def whole(numbers: Floats) -> Floats:
    """The nearest whole numbers, ties up; NaN and infinities stay what they are."""
    out = numbers + 0.5
    return np.floor(out, out=out)


def make_whole(numbers: Floats) -> Floats:
    """The same, written over ``numbers``."""
    numbers += 0.5
    return np.floor(numbers, out=numbers)
