"""Compiled loops that find the cell of each row: bins, cuts, categories, gaps.

Each has a numpy twin that gives the same cells; see ``discreto.core.loops_numba``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

NEAR = 1024  # rows at a time
FEW = 48  # cuts that are sooner counted than searched


@njit(cache=True, nogil=True)
def absent_numbers(values, out):
    """-1 where a number is missing."""
    for i in range(values.shape[0]):
        if values[i] != values[i]:
            out[i] = -1


@njit(cache=True, nogil=True)
def place_bins(values, low, scale, count, out):
    """The equal cell of each value; -1 for NaN."""
    last = count - 1.0
    for i in range(values.shape[0]):
        at = np.floor((values[i] - low) * scale)
        inside = at if at > 0.0 else 0.0
        inside = inside if inside < last else last
        out[i] = -1 if at != at else np.int64(inside)


@njit(cache=True, nogil=True)
def _part(value, lower, upper, scale, last):
    """One of equal parts of a range, never falling as the value rises."""
    inside = value if value > lower else lower
    inside = inside if inside < upper else upper
    at = (inside - lower) * scale
    return np.int32(at if at < last else last)


@njit(cache=True, nogil=True)
def place_parts(values, lower, upper, scale, last, out):
    """The part of a range of each value; the first for NaN."""
    for i in range(values.shape[0]):
        out[i] = _part(values[i], lower, upper, scale, last)


@njit(cache=True, nogil=True)
def guide(cuts, lower, upper, scale, out):
    """How many cuts lie in the parts of a range before each part."""
    last = out.shape[0] - 2.0
    out[:] = 0
    for cut in cuts:
        out[_part(cut, lower, upper, scale, last) + 1] += 1
    for k in range(out.shape[0] - 1):
        out[k + 1] += out[k]


@njit(cache=True, nogil=True)
def add_below(block, a, b, c, d, out):
    """Count those of four cuts that are below each value."""
    for i in range(block.shape[0]):
        v = block[i]
        out[i] += np.int64(a < v) + np.int64(b < v) + np.int64(c < v) + np.int64(d < v)


@njit(cache=True, nogil=True)
def in_fours(cuts):
    """The cuts, and infinite ones for a last four: no value is above those."""
    ends = np.full((cuts.shape[0] + 3) // 4 * 4, np.inf)
    ends[: cuts.shape[0]] = cuts
    return ends


@njit(cache=True, nogil=True)
def _clip(values, lower, upper, out):
    for i in range(values.shape[0]):
        v = lower if values[i] < lower else values[i]
        out[i] = upper if v > upper else v


@njit(cache=True, nogil=True)
def _place_few(values, cuts, lower, upper, out):
    """How many of a few cuts are below each clipped value; -1 for NaN."""
    ends, clipped = in_fours(cuts), np.empty(NEAR)
    for start in range(0, values.shape[0], NEAR):
        some, mine = values[start : start + NEAR], out[start : start + NEAR]
        block = clipped[: some.shape[0]]
        _clip(some, lower, upper, block)
        mine[:] = 0
        for k in range(0, ends.shape[0], 4):
            add_below(block, ends[k], ends[k + 1], ends[k + 2], ends[k + 3], mine)
        absent_numbers(some, mine)


@njit(cache=True, nogil=True)
def place_edges(values, cuts, lower, upper, scale, starts, out):
    """How many cuts are below each clipped value; -1 for NaN.

    Cuts in other parts of the range than a value are on their side of it for sure, so
    only those of its own part are searched; few are all counted. The last cut must be
    infinite.
    """
    if cuts.shape[0] <= FEW:
        _place_few(values, cuts, lower, upper, out)
        return
    parts = np.empty(NEAR, dtype=np.int32)
    for start in range(0, values.shape[0], NEAR):
        some, mine = values[start : start + NEAR], out[start : start + NEAR]
        place_parts(some, lower, upper, scale, starts.shape[0] - 2.0, parts)
        for i in range(some.shape[0]):
            v = min(max(some[i], lower), upper)
            below, above = starts[parts[i]], starts[parts[i] + 1]
            while above - below > 1:
                middle = (below + above) >> 1
                if cuts[middle] < v:
                    below = middle + 1
                else:
                    above = middle
            mine[i] = below + (cuts[below] < v) if some[i] == some[i] else -1


@njit(cache=True, nogil=True)
def place_category(codes, size, gaps, out):
    """Multiply cells out with the codes of one column more; -1 is in none."""
    for i in range(codes.shape[0]):
        code = size - 1 if gaps and codes[i] < 0 else codes[i]
        inside = out[i] >= 0 and 0 <= code < size
        out[i] = out[i] * size + code if inside else -1
