"""The check that reading a column reads its cells one by one.

What a cell becomes must not depend on the cells beside it: else one row moves all
others. Readers are outside of the core, so the core reads some cells again by
themselves, and gives no answer if they become anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreto.core.frame import Array

_SOME = 4  # cells that are read again at each of three places


def cell_by_cell(
    convert: Callable[..., Array], values: Any, column: object, dialect: Any
) -> Array:
    """Return a column as ``convert`` reads it, if it reads single cells alike.

    The places are public: the ends and the middle. A column that cannot be cut is not
    read again.
    """
    found = convert(values, column, dialect)
    rows = len(found)
    for start in {0, rows // 2, max(rows - _SOME, 0)} if rows > 1 else ():
        stop = min(start + _SOME, rows)
        try:
            cells = values[start:stop]
        except (TypeError, KeyError, IndexError, NotImplementedError):
            return found
        alone = convert(cells, column, dialect)
        if len(alone) != stop - start:  # it was cut by labels, not by places
            return found
        if not np.array_equal(_bits(alone), _bits(found[start:stop])):
            raise ValueError("what a cell becomes depends on other cells.")
    return found


def _bits(numbers: Array) -> Array:
    """Return numbers as whole ones, so that a gap equals a gap."""
    if numbers.dtype != np.float64:
        return numbers
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
