"""Compiled loops for parts of one, a column at a time: each has a twin in numpy.

What :mod:`discreto.core.loops_numba` says about loops and bits holds here as well. A
loop clamps what it adds up: the parts of one column in a row never exceed its ``total``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

from discreto.core.loops_numba import NEAR, _add, _clamp, guide, place_edges

FEW = 4  # cells that are added up one after the other sooner than row by row


@njit(cache=True, nogil=True)
def _fill(values, lower, width, one, low, middle, high, gap):
    """The parts of a Number, rounded down, and where it is missing."""
    for i in range(values.shape[0]):
        x = (values[i] - lower) / width
        x = x if not x < 0.0 else 0.0
        x = x if not x > 1.0 else 1.0
        away = 1.0 - x
        middle[i] = np.floor(away * x * (2.0 * one)) if x == x else 0.0
        low[i] = np.floor(away * away * one) if x == x else 0.0
        high[i] = np.floor(x * x * one) if x == x else 0.0
        gap[i] = 0.0 if x == x else one


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _total_of(numbers, place, cell):
    """The sum of whole numbers of one cell; it stays below 2^53."""
    out = 0.0
    for i in range(numbers.shape[0]):
        out += numbers[i] if place[i] == cell else 0.0
    return out


@njit(cache=True, nogil=True)
def _add_by_cell(numbers, place, out):
    """Add whole numbers to the sums of their cells; what is in none is left out."""
    count = out.shape[0] - 1
    if place.shape[0] == 0 or count > FEW:
        _add(numbers, place, out)
        return
    for cell in range(count):
        out[cell] += np.int64(_total_of(numbers, place, cell))


@njit(cache=True, nogil=True)
def add_parts(values, lower, width, one, low, limit, total, reach, place, out):
    """The parts of a Number, clamped and added up by cell; the fourth is a gap."""
    lines = out.shape[0]
    rows = np.empty((4, NEAR))
    for start in range(0, values.shape[0], NEAR):
        some, cells = values[start : start + NEAR], place[start : start + NEAR]
        size = some.shape[0]
        _fill(some, lower, width, one, rows[0], rows[1], rows[2], rows[3])
        _clamp(rows[:lines], 0, size, low, limit, total, reach)
        for w in range(lines):
            _add_by_cell(rows[w][:size], cells, out[w])


@njit(cache=True, nogil=True)
def add_codes(codes, size, one, low, limit, total, reach, place, out):
    """``one`` in the place of each code, by cell; what is no code has the last line.

    Without that line it has none. A row has one code, so ``one`` is all there is.
    """
    lines, count = out.shape[0], out.shape[1] - 1
    each = np.int64(min(max(np.floor(one + 0.5), low), limit))
    each = np.int64(min(each, total)) if total >= 0 else each
    for i in range(codes.shape[0]):
        code = codes[i]
        line = code if 0 <= code < size else np.int64(size)
        cell = place[i] if place.shape[0] else 0
        if line < lines and 0 <= cell < count:
            out[line, cell] += each


@njit(cache=True, nogil=True)
def add_places(values, cuts, none, one, low, limit, total, reach, place, out):
    """``one`` in the place between cuts of each value, by cell; ``none`` for a gap.

    The last cut must be infinite.
    """
    many, count = cuts.shape[0] - 1, out.shape[1] - 1
    each = np.int64(min(max(np.floor(one + 0.5), low), limit))
    each = np.int64(min(each, total)) if total >= 0 else each
    lower = np.nextafter(cuts[0], -np.inf) if many else 0.0
    upper = np.nextafter(cuts[many - 1], np.inf) if many else 1.0
    starts = np.empty(4 * many + 5, dtype=np.int32)
    scale = (starts.shape[0] - 1) / (upper - lower)
    guide(cuts[:many], lower, upper, scale, starts)
    lines = np.empty(NEAR, dtype=np.int64)
    for start in range(0, values.shape[0], NEAR):
        some, cells = values[start : start + NEAR], place[start : start + NEAR]
        place_edges(some, cuts, lower, upper, scale, starts, lines)
        for i in range(some.shape[0]):
            cell = cells[i] if cells.shape[0] else 0
            if 0 <= cell < count:
                out[lines[i] if lines[i] >= 0 else none, cell] += each
