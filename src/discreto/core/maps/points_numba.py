"""Compiled loops over rows on [-1, 1]: distances to points, and scores of lines.

Each has a numpy twin that gives the same bits; see ``discreto.core.loops_numba``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

NEAR = 1024  # rows at a time
FEW = 192  # rows of a table at a time


@njit(cache=True, nogil=True)
def _unit(numbers, centre, scale, origin, fill):
    """Numbers on [-1, 1] measured from an origin, NaN at 0, then moved by ``fill``."""
    for i in range(numbers.shape[0]):
        v = (numbers[i] - centre) * scale
        v = -1.0 if v < -1.0 else v
        v = (1.0 if v > 1.0 else v) - origin
        numbers[i] = (v if v == v else 0.0) + fill


@njit(cache=True, nogil=True)
def unit_line(values, centre, scale, origin, out):
    """A column on [-1, 1] from an origin, where NaN is."""
    for i in range(values.shape[0]):
        v = (values[i] - centre) * scale
        v = -1.0 if v < -1.0 else v
        v = (1.0 if v > 1.0 else v) - origin
        out[i] = v if v == v else 0.0


@njit(cache=True, nogil=True)
def _column(rows, number, out):
    for i in range(rows.shape[0]):
        out[i] = rows[i, number]


@njit(cache=True, nogil=True)
def unit_table(table, centres, scales, origins, fill, out):
    """The columns of a table of numbers on [-1, 1], line by line."""
    for start in range(0, table.shape[0], FEW):
        rows = table[start : start + FEW]
        for j in range(table.shape[1]):
            line = out[j][start : start + rows.shape[0]]
            _column(rows, j, line)
            _unit(line, centres[j], scales[j], origins[j], fill[j])


@njit(cache=True, nogil=True)
def _add_line(unit, centre, half, weight, out):
    for i in range(unit.shape[0]):
        out[i] += (centre + half * unit[i]) * weight


@njit(cache=True, nogil=True)
def line_scores(unit, centres, halves, weights, out):
    """Add to ``out`` the sums of columns in their own units times weights."""
    for start in range(0, unit.shape[1], NEAR):
        stop = min(start + NEAR, unit.shape[1])
        for j in range(unit.shape[0]):
            for k in range(weights.shape[0]):
                line = out[k][start:stop]
                _add_line(
                    unit[j][start:stop], centres[j], halves[j], weights[k, j], line
                )


@njit(cache=True, nogil=True)
def _add_normal(values, lower, upper, mean, variance, log, out):
    for i in range(values.shape[0]):
        v = lower if values[i] < lower else values[i]
        v = upper if v > upper else v
        away = v - mean
        part = -(away * away / variance + log) / 2.0
        out[i] += part if v == v else 0.0


@njit(cache=True, nogil=True)
def add_normals(values, lower, upper, means, variances, logs, out):
    """Add the log densities of a column under each class's normal law."""
    for start in range(0, values.shape[0], NEAR):
        stop = min(start + NEAR, values.shape[0])
        for k in range(out.shape[0]):
            some, law = values[start:stop], (means[k], variances[k], logs[k])
            _add_normal(some, lower, upper, law[0], law[1], law[2], out[k][start:stop])


@njit(cache=True, nogil=True)
def _values(numbers, centres, scales, origins, middles, halves, out):
    """Numbers of a table, clipped to their bounds, in the units of their columns."""
    for j in range(numbers.shape[0]):
        v = (numbers[j] - centres[j]) * scales[j]
        v = -1.0 if v < -1.0 else v
        v = (1.0 if v > 1.0 else v) - origins[j]
        v = (v if v == v else 0.0) + origins[j]
        out[j] = middles[j] + halves[j] * v


@njit(cache=True, nogil=True)
def _add_scores(values, weights, first, second):
    """Add to the scores of eight rows; their sums do not wait for each other."""
    a, b, c, d = first[0], first[1], first[2], first[3]
    e, f, g, h = second[0], second[1], second[2], second[3]
    for j in range(weights.shape[0]):
        by = weights[j]
        a += values[0, j] * by
        b += values[1, j] * by
        c += values[2, j] * by
        d += values[3, j] * by
        e += values[4, j] * by
        f += values[5, j] * by
        g += values[6, j] * by
        h += values[7, j] * by
    first[0], first[1], first[2], first[3] = a, b, c, d
    second[0], second[1], second[2], second[3] = e, f, g, h


@njit(cache=True, nogil=True)
def _repeated(facts):
    """The facts of columns for each of eight rows, one after the other."""
    count, width = facts.shape
    out = np.empty((count, 8 * width))
    for i in range(8):
        out[:, i * width : (i + 1) * width] = facts
    return out


@njit(cache=True, nogil=True)
def table_scores(table, facts, weights, out):
    """Add to ``out``, row by row, the weighed sums of a table's columns.

    Eight rows at a time, which lie one after the other. ``facts`` has for each column
    its centre, steps, origin, and the middle and half of its own units.
    """
    rows, width = table.shape
    every, numbers = _repeated(facts), table.reshape(rows * width)
    values, sums = np.empty((8, width)), np.empty(8)
    flat = values.reshape(8 * width)
    for start in range(0, rows, 8):
        size = min(8, rows - start)
        some = numbers[start * width : (start + size) * width]
        _values(some, every[0], every[1], every[2], every[3], every[4], flat)
        for k in range(weights.shape[0]):
            for i in range(size):
                sums[i] = out[start + i, k]
            _add_scores(values, weights[k], sums[:4], sums[4:])
            for i in range(size):
                out[start + i, k] = sums[i]
