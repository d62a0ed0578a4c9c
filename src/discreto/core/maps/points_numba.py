"""Compiled loops over rows on [-1, 1]: distances to points, and scores of lines.

Each has a numpy twin that gives the same bits; see ``discreto.core.loops_numba``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

from discreto.core.loops_numba import WHOLE, add_within, clamped

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
def _add_vote(values, lower, width, slope, low, out):
    for i in range(values.shape[0]):
        level = (values[i] - lower) / width
        here = level == level
        level = level if level > 0.0 else 0.0
        level = level if level < 1.0 else 1.0
        out[i] = (out[i] + level * slope) + (low if here else 0.0)


@njit(cache=True, nogil=True)
def add_votes(values, lower, width, slopes, lows, out):
    """Add the straight lines of a column between its bounds, one for each class."""
    for start in range(0, values.shape[0], NEAR):
        stop = min(start + NEAR, values.shape[0])
        for k in range(out.shape[0]):
            line = out[k][start:stop]
            _add_vote(values[start:stop], lower, width, slopes[k], lows[k], line)


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


@njit(cache=True, nogil=True, fastmath=WHOLE)
def _add_products(a, b, c, d, weights, j, p, q, r, s):
    """Add four columns, weighed from the ``j``th on, to the sums of four points."""
    of_p, of_q, of_r, of_s = weights[0], weights[1], weights[2], weights[3]
    p0, p1, p2, p3 = of_p[j], of_p[j + 1], of_p[j + 2], of_p[j + 3]
    q0, q1, q2, q3 = of_q[j], of_q[j + 1], of_q[j + 2], of_q[j + 3]
    r0, r1, r2, r3 = of_r[j], of_r[j + 1], of_r[j + 2], of_r[j + 3]
    s0, s1, s2, s3 = of_s[j], of_s[j + 1], of_s[j + 2], of_s[j + 3]
    for i in range(p.shape[0]):
        e, f, g, h = a[i], b[i], c[i], d[i]
        p[i] += e * p0 + f * p1 + g * p2 + h * p3
        q[i] += e * q0 + f * q1 + g * q2 + h * q3
        r[i] += e * r0 + f * r1 + g * r2 + h * r3
        s[i] += e * s0 + f * s1 + g * s2 + h * s3


@njit(cache=True, nogil=True)
def _in_fours(twice, squares):
    """Points and columns filled up to fours, with points that are infinitely far."""
    count, width = twice.shape
    weights = np.zeros(((count + 3) // 4 * 4, (width + 3) // 4 * 4))
    weights[:count, :width] = twice
    starts = np.full(weights.shape[0], np.inf)
    starts[:count] = squares
    return weights, starts


@njit(cache=True, nogil=True)
def _four_distances(fine, weights, starts, k, far):
    """From the points from the ``k``th on; whole sums, exact in whatever order."""
    for m in range(4):
        far[m][:] = starts[k + m]
    for j in range(0, weights.shape[1], 4):
        some = weights[k : k + 4]
        of = fine[j], fine[j + 1], fine[j + 2], fine[j + 3]
        _add_products(*of, some, j, far[0], far[1], far[2], far[3])


@njit(cache=True, nogil=True)
def _keep_nearer(p, q, r, s, number, best, place):
    """The nearest of four points more; the first of equals."""
    for i in range(p.shape[0]):
        least, at = best[i], place[i]
        at = number if p[i] < least else at
        least = p[i] if p[i] < least else least
        at = number + 1.0 if q[i] < least else at
        least = q[i] if q[i] < least else least
        at = number + 2.0 if r[i] < least else at
        least = r[i] if r[i] < least else least
        at = number + 3.0 if s[i] < least else at
        least = s[i] if s[i] < least else least
        best[i], place[i] = least, at


@njit(cache=True, nogil=True)
def nearest(x, scale, twice, squares, out):
    """The nearest point of each row; sums are whole and exact, in whatever order."""
    weights, starts = _in_fours(twice, squares)
    fine, far = np.zeros((weights.shape[1], NEAR)), np.empty((4, NEAR))
    best, place = np.empty(NEAR), np.empty(NEAR)
    for start in range(0, x.shape[1], NEAR):
        stop = min(start + NEAR, x.shape[1])
        for j in range(x.shape[0]):
            _grid(x[j][start:stop], scale, fine[j])
        best[:], place[:] = np.inf, 0.0
        for k in range(0, weights.shape[0], 4):
            _four_distances(fine, weights, starts, k, far)
            _keep_nearer(far[0], far[1], far[2], far[3], float(k), best, place)
        for i in range(start, stop):
            out[i] = np.int64(place[i - start])


@njit(cache=True, nogil=True)
def squared_distances(x, scale, twice, squares, out):
    """Squared distances of rows from points, in whole grid steps."""
    weights, starts = _in_fours(twice, squares)
    fine, far = np.zeros((weights.shape[1], NEAR)), np.empty((4, NEAR))
    own = np.empty(NEAR)
    for start in range(0, x.shape[1], NEAR):
        stop = min(start + NEAR, x.shape[1])
        size = stop - start
        own[:] = 0.0
        for j in range(x.shape[0]):
            _grid(x[j][start:stop], scale, fine[j])
            _add_square(fine[j][:size], own[:size])
        for k in range(twice.shape[0]):
            if k % 4 == 0:
                _four_distances(fine, weights, starts, k, far)
            _add(far[k % 4][:size], own[:size], out[k][start:stop])


@njit(cache=True, nogil=True)
def _add(first, second, out):
    for i in range(out.shape[0]):
        out[i] = first[i] + second[i]


@njit(cache=True, nogil=True)
def _add_square(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += numbers[i] * numbers[i]


@njit(cache=True, nogil=True)
def _add_size(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += abs(numbers[i])


@njit(cache=True, nogil=True)
def _leave(numbers, places, at, out):
    """The way from its own point to each number; none where it is missing."""
    for i in range(numbers.shape[0]):
        way = numbers[i] - places[at[i]]
        out[i] = way if way == way else 0.0


@njit(cache=True, nogil=True)
def _leave_all(x, start, stop, points, near, at, out):
    """The same for all columns; ``at`` is where each row's point is, within them."""
    last = points.shape[1] - 1
    for i in range(stop - start):
        place = near[start + i] if near.shape[0] else 0
        place = place if place > 0 else 0
        at[i] = np.uint64(place if place < last else last)
    for j in range(x.shape[0]):
        _leave(x[j][start:stop], points[j], at, out[j])


@njit(cache=True, nogil=True)
def _scale_whole(numbers, by, low, limit, sizes):
    """Numbers times one for each row as whole ones, whose sizes are added up."""
    for i in range(numbers.shape[0]):
        numbers[i] = clamped(numbers[i] * by[i], low, limit)
        sizes[i] += abs(numbers[i])


@njit(cache=True, nogil=True)
def add_deviations(
    x, points, near, steps, radius, norm, low, limit, total, reach, place, out
):
    """The ways from their own points to rows, pulled in, clamped, added up by cell.

    ``points`` are line by line. Without a list of the nearest all are near the first.
    """
    rows, at = np.empty((x.shape[0], FEW)), np.zeros(FEW, dtype=np.uint64)
    for start in range(0, x.shape[1], FEW):
        stop = min(start + FEW, x.shape[1])
        _leave_all(x, start, stop, points, near, at, rows)
        sizes = _pull_in(rows, stop - start, steps, radius, norm, low, limit)
        add_within(rows, sizes, stop - start, total, reach, place[start:], out)


@njit(cache=True, nogil=True)
def _pull_in(x, size, steps, radius, norm, low, limit):
    """The first rows pulled in to a radius, as whole numbers; their l1 norms."""
    by, sizes = np.zeros(size), np.zeros(size)
    for j in range(x.shape[0]):
        if norm == 1:
            _add_size(x[j][:size], by)
        else:
            _add_square(x[j][:size], by)
    if norm == 2:
        by = np.sqrt(by)
    for i in range(size):
        by[i] = steps / max(by[i], radius)
    for j in range(x.shape[0]):
        _scale_whole(x[j][:size], by, low, limit, sizes)
    return sizes


@njit(cache=True, nogil=True)
def _way(numbers, point, weights, out):
    """The way from a point, weighed; none where a number is missing."""
    for i in range(numbers.shape[0]):
        way = (numbers[i] - point) * weights[i]
        out[i] = way if way == way else 0.0


@njit(cache=True, nogil=True)
def _pulls(x, start, stop, points, weights, out):
    width = x.shape[0]
    for k in range(points.shape[0]):
        by = weights[k][start:stop]
        for j in range(width):
            _way(x[j][start:stop], points[k, j], by, out[k * width + j])


@njit(cache=True, nogil=True)
def add_pulls(
    x, points, weights, steps, radius, norm, low, limit, total, reach, place, out
):
    """The weighed ways from all points to each row, pulled in together, added up."""
    rows = np.empty((points.size, FEW))
    for start in range(0, x.shape[1], FEW):
        stop = min(start + FEW, x.shape[1])
        _pulls(x, start, stop, points, weights, rows)
        sizes = _pull_in(rows, stop - start, steps, radius, norm, low, limit)
        add_within(rows, sizes, stop - start, total, reach, place[start:], out)
