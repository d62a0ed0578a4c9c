"""Compiled loops over rows, where there is enough to do, and numpy elsewhere.

Loading numba takes longer than a few small questions, so it is loaded once a process
has folded about as much without it as loading takes. Whichever way is taken, the bits
are the same: both do the same additions of whole numbers and round in the same places
(``tests/properties/test_compiled.py``).
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

import numpy as np

WORTH = 1 << 23  # numbers that are folded in the time that loading takes
_folded = 0


def loops(numbers: int, where: str = "discreto.core.loops_numba") -> Any:
    """The compiled loops; None while there is too little to do, or without numba.

    ``numbers`` is how many numbers are about to be folded.
    """
    global _folded
    if _folded < WORTH:
        _folded += numbers
        if _folded < WORTH and not load.cache_info().currsize:
            return None
    return load(where)


def point_loops(numbers: int) -> Any:
    """The same for rows on [-1, 1]: distances to points and scores of lines."""
    return loops(numbers, "discreto.core.maps.points_numba")


@lru_cache(maxsize=16)
def load(name: str) -> Any:
    """A module of compiled loops, or None.

    Whatever is wrong with numba: an answer that was paid for does not depend on it.
    """
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def plain(values: Any, *shape: int) -> Any:
    """The same values in one piece, not to be written to; else a failure.

    Compiled loops do not look whether there are enough of them.
    """
    if values.shape != shape:
        raise ValueError("a map got or gave numbers of another form than it promised.")
    flags = values.flags
    if flags.c_contiguous and not flags.writeable:
        return values
    out = np.ascontiguousarray(values).view()
    out.flags.writeable = False
    return out
