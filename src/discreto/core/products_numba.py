"""Compiled sums of products of whole numbers; ``aggregate._gram`` is their twin.

Products of factors of at most 2^15 are below 2^31, and some thousand of them below
2^53: all sums are exact in any order, so that a processor may take several at a time.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

NEAR = 1024  # rows at a time


@njit(cache=True, nogil=True)
def fill(values, origin, scale, low, limit, out):
    """One column in whole grid steps; NaN becomes 0."""
    for i in range(values.shape[0]):
        v = (values[i] - origin) * scale
        v = np.floor((v if v == v else 0.0) + 0.5)
        v = v if v > low else low
        out[i] = v if v < limit else limit


@njit(cache=True, nogil=True)
def _leave_out(place, line):
    """Zeros for rows that are not in the only cell."""
    for i in range(line.shape[0]):
        line[i] = line[i] if place[i] == 0 else 0.0


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _dot(first, second):
    out = 0.0
    for i in range(first.shape[0]):
        out += first[i] * second[i]
    return out


@njit(cache=True, nogil=True)
def add_products(rows, place, out):
    """Add up all products i <= j over the rows of one cell; ``rows`` is written to.

    Without places all rows are in it.
    """
    width, many = rows.shape
    for start in range(0, many, NEAR):
        stop = min(start + NEAR, many)
        if place.shape[0]:
            for i in range(width):
                _leave_out(place[start:stop], rows[i][start:stop])
        k = 0
        for i in range(width):
            for j in range(i, width):
                total = _dot(rows[i][start:stop], rows[j][start:stop])
                out[k] += np.int64(total)
                k += 1
