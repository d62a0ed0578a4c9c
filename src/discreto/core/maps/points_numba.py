"""Compiled loops over rows on [-1, 1]: distances to points, and scores of lines.

Each has a numpy twin that gives the same bits; see ``discreto.core.loops_numba``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

NEAR = 512  # rows at a time
FEW = 128  # rows of a table at a time


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


@njit(cache=True, nogil=True)
def _grid(numbers, scale, out):
    for i in range(numbers.shape[0]):
        out[i] = np.floor(numbers[i] * scale + 0.5)


@njit(cache=True, nogil=True)
def _add_times(numbers, by, out):
    for i in range(numbers.shape[0]):
        out[i] += numbers[i] * by


@njit(cache=True, nogil=True)
def _add_four(a, b, c, d, of_a, of_b, of_c, of_d, out):
    for i in range(out.shape[0]):
        out[i] += (a[i] * of_a + b[i] * of_b) + (c[i] * of_c + d[i] * of_d)


@njit(cache=True, nogil=True)
def _add_product(fine, size, weights, out):
    """Add up whole numbers times whole weights: exact, in whatever order."""
    width = weights.shape[0]
    for j in range(0, width - 3, 4):
        _add_four(
            fine[j],
            fine[j + 1],
            fine[j + 2],
            fine[j + 3],
            weights[j],
            weights[j + 1],
            weights[j + 2],
            weights[j + 3],
            out[:size],
        )
    for j in range(width - width % 4, width):
        _add_times(fine[j][:size], weights[j], out[:size])


@njit(cache=True, nogil=True)
def _keep_nearer(far, number, best, place):
    for i in range(far.shape[0]):
        closer = far[i] < best[i]
        place[i] = number if closer else place[i]
        best[i] = far[i] if closer else best[i]


@njit(cache=True, nogil=True)
def nearest(x, scale, twice, squares, out):
    """The nearest point of each row; sums are whole and exact, in whatever order."""
    width, count = x.shape[0], twice.shape[0]
    fine, far, best = np.empty((width, NEAR)), np.empty(NEAR), np.empty(NEAR)
    for start in range(0, x.shape[1], NEAR):
        stop = min(start + NEAR, x.shape[1])
        size = stop - start
        for j in range(width):
            _grid(x[j][start:stop], scale, fine[j])
        best[:] = np.inf
        for k in range(count):
            far[:] = squares[k]
            _add_product(fine, size, twice[k], far)
            _keep_nearer(far[:size], k, best[:size], out[start:stop])


@njit(cache=True, nogil=True)
def squared_distances(x, scale, twice, squares, out):
    """Squared distances of rows from points, in whole grid steps."""
    width, count = x.shape[0], twice.shape[0]
    fine, own = np.empty((width, NEAR)), np.empty(NEAR)
    for start in range(0, x.shape[1], NEAR):
        stop = min(start + NEAR, x.shape[1])
        size = stop - start
        own[:] = 0.0
        for j in range(width):
            _grid(x[j][start:stop], scale, fine[j])
            _add_square(fine[j][:size], own[:size])
        for k in range(count):
            far = out[k][start:stop]
            far[:] = squares[k]
            _add_product(fine, size, twice[k], far)
            _add_times(own[:size], 1.0, far)


@njit(cache=True, nogil=True)
def _add_square(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += numbers[i] * numbers[i]


@njit(cache=True, nogil=True)
def _add_size(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += abs(numbers[i])


@njit(cache=True, nogil=True)
def _leave(numbers, places, place):
    last = places.shape[0] - 1
    for i in range(numbers.shape[0]):
        at = place[i] if place[i] > 0 else 0
        numbers[i] -= places[np.uint64(at if at < last else last)]


@njit(cache=True, nogil=True)
def _scale(numbers, by):
    for i in range(numbers.shape[0]):
        numbers[i] *= by[i]


@njit(cache=True, nogil=True)
def leave(x, points, place):
    """The way from its own point to each row, in place; ``points`` line by line."""
    for start in range(0, x.shape[1], NEAR):
        stop = min(start + NEAR, x.shape[1])
        for j in range(x.shape[0]):
            _leave(x[j][start:stop], points[j], place[start:stop])


@njit(cache=True, nogil=True)
def pull_in(x, steps, radius, norm):
    """Rows in ``steps`` of at most one radius, in place."""
    for start in range(0, x.shape[1], NEAR):
        _pull_in(x, start, min(start + NEAR, x.shape[1]), steps, radius, norm)


@njit(cache=True, nogil=True)
def _pull_in(x, start, stop, steps, radius, norm):
    by = np.zeros(stop - start)
    for j in range(x.shape[0]):
        if norm == 1:
            _add_size(x[j][start:stop], by)
        else:
            _add_square(x[j][start:stop], by)
    if norm == 2:
        by = np.sqrt(by)
    for i in range(by.shape[0]):
        by[i] = steps / max(by[i], radius)
    for j in range(x.shape[0]):
        _scale(x[j][start:stop], by)


@njit(cache=True, nogil=True)
def _way(numbers, point, weights, out):
    """The way from a point, weighed; none where a number is missing."""
    for i in range(numbers.shape[0]):
        way = (numbers[i] - point) * weights[i]
        out[i] = way if way == way else 0.0


@njit(cache=True, nogil=True)
def pulls(x, points, weights, steps, radius, norm, out):
    """The weighed ways from all points to each row, pulled in together."""
    width = x.shape[0]
    for start in range(0, x.shape[1], FEW):
        stop = min(start + FEW, x.shape[1])
        for k in range(points.shape[0]):
            by = weights[k][start:stop]
            for j in range(width):
                line = out[k * width + j][start:stop]
                _way(x[j][start:stop], points[k, j], by, line)
        _pull_in(out, start, stop, steps, radius, norm)
