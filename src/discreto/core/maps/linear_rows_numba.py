"""Compiled loops of linear models: scaled rows, their scores, sizes and products.

Each has a numpy twin that gives the same bits; see ``discreto.core.loops_numba``.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

from discreto.core.loops_numba import add_within, clamped

NEAR = 512  # rows at a time
FEW = 128  # rows at a time, of which many numbers are made


@njit(cache=True, nogil=True)
def _scale(values, centre, scale, origin, divisor, out):
    for i in range(values.shape[0]):
        v = (values[i] - centre) * scale
        v = -1.0 if v < -1.0 else v
        v = (1.0 if v > 1.0 else v) - origin
        out[i] = (v if v == v else 0.0) / divisor


@njit(cache=True, nogil=True)
def scale_line(values, centre, scale, origin, divisor, steps, out):
    """A column on [-1, 1] from an origin (where NaN is), in units of a divisor.

    With ``steps`` of a 1 the numbers become whole.
    """
    for start in range(0, values.shape[0], NEAR):
        line = out[start : start + NEAR]
        _scale(values[start : start + NEAR], centre, scale, origin, divisor, line)
        if steps > 0.0:
            for i in range(line.shape[0]):
                line[i] = np.floor(line[i] * steps + 0.5)


@njit(cache=True, nogil=True)
def _rescale(numbers, first, second):
    for i in range(numbers.shape[0]):
        numbers[i] = numbers[i] * first * second


@njit(cache=True, nogil=True)
def _add_times(numbers, weight, out):
    for i in range(numbers.shape[0]):
        out[i] += weight * numbers[i]


@njit(cache=True, nogil=True)
def _add_four(a, b, c, d, of_a, of_b, of_c, of_d, out):
    for i in range(out.shape[0]):
        out[i] = (((out[i] + of_a * a[i]) + of_b * b[i]) + of_c * c[i]) + of_d * d[i]


@njit(cache=True, nogil=True)
def _add_lines(rows, start, stop, weights, out):
    """Add lines times weights, one after the other."""
    width = rows.shape[0]
    for j in range(0, width - 3, 4):
        _add_four(
            rows[j][start:stop],
            rows[j + 1][start:stop],
            rows[j + 2][start:stop],
            rows[j + 3][start:stop],
            weights[j],
            weights[j + 1],
            weights[j + 2],
            weights[j + 3],
            out,
        )
    for j in range(width - width % 4, width):
        _add_times(rows[j][start:stop], weights[j], out)


@njit(cache=True, nogil=True)
def _add_size(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += abs(numbers[i])


@njit(cache=True, nogil=True)
def _add_square(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += numbers[i] * numbers[i]


@njit(cache=True, nogil=True)
def scores(rows, first, second, weights, norm, out, sizes):
    """Take rows off a grid, in place; add up their weighed sums and their norms."""
    for start in range(0, rows.shape[1], NEAR):
        stop = min(start + NEAR, rows.shape[1])
        size = sizes[start:stop]
        for j in range(rows.shape[0]):
            line = rows[j][start:stop]
            if first != 1.0 or second != 1.0:
                _rescale(line, first, second)
            if norm == 1:
                _add_size(line, size)
            else:
                _add_square(line, size)
        if norm == 2:
            for i in range(size.shape[0]):
                size[i] = np.sqrt(size[i])
        for k in range(weights.shape[0]):
            _add_lines(rows, start, stop, weights[k], out[k][start:stop])


@njit(cache=True, nogil=True)
def _shorten(numbers, by, steps):
    for i in range(numbers.shape[0]):
        numbers[i] = numbers[i] * by[i] * steps


@njit(cache=True, nogil=True)
def shorten(rows, reach, sizes, steps):
    """Rows of a norm of ``reach`` at most, in steps, in place."""
    by = np.empty(NEAR)
    for start in range(0, rows.shape[1], NEAR):
        stop = min(start + NEAR, rows.shape[1])
        for i in range(start, stop):
            by[i - start] = reach / max(sizes[i], reach)
        for j in range(rows.shape[0]):
            _shorten(rows[j][start:stop], by, steps)


@njit(cache=True, nogil=True)
def _times(first, second, out):
    for i in range(first.shape[0]):
        out[i] = first[i] * second[i]


@njit(cache=True, nogil=True)
def products(residuals, rows, out):
    """The product of each residual and each number of a row."""
    width = rows.shape[0]
    for start in range(0, rows.shape[1], NEAR):
        stop = min(start + NEAR, rows.shape[1])
        for k in range(residuals.shape[0]):
            by = residuals[k][start:stop]
            for j in range(width):
                _times(by, rows[j][start:stop], out[k * width + j][start:stop])


@njit(cache=True, nogil=True)
def _short_whole(numbers, by, steps, residuals, low, limit, sizes, out):
    """Residuals times shortened numbers as whole ones, whose sizes are added up."""
    for i in range(numbers.shape[0]):
        out[i] = clamped(residuals[i] * (numbers[i] * by[i] * steps), low, limit)
        sizes[i] += abs(out[i])


@njit(cache=True, nogil=True)
def _times_whole(first, second, low, limit, sizes, out):
    """The same of plain products."""
    for i in range(first.shape[0]):
        out[i] = clamped(first[i] * second[i], low, limit)
        sizes[i] += abs(out[i])


@njit(cache=True, nogil=True)
def add_products(
    residuals, rows, reach, sizes, steps, low, limit, total, most, place, out
):
    """Products with shortened rows (see both above), clamped and added up by cell."""
    count, width = residuals.shape[0], rows.shape[0]
    by, sums, made = np.empty(FEW), np.empty(FEW), np.empty((count * width, FEW))
    for start in range(0, rows.shape[1], FEW):
        stop = min(start + FEW, rows.shape[1])
        for i in range(start, stop):
            by[i - start] = reach / max(sizes[i], reach)
        sums[:] = 0.0
        for k in range(count):
            own = residuals[k][start:stop]
            for j in range(width):
                numbers, line = rows[j][start:stop], made[k * width + j]
                _short_whole(numbers, by, steps, own, low, limit, sums, line)
        add_within(made, sums, stop - start, total, most, place[start:], out)


@njit(cache=True, nogil=True)
def add_weighed(rows, by, low, limit, total, most, place, out):
    """Rows times a number each, clamped and added up by cell."""
    made, sums = np.empty((rows.shape[0], FEW)), np.empty(FEW)
    for start in range(0, rows.shape[1], FEW):
        stop = min(start + FEW, rows.shape[1])
        sums[:] = 0.0
        for j in range(rows.shape[0]):
            numbers, own = rows[j][start:stop], by[start:stop]
            _times_whole(numbers, own, low, limit, sums, made[j])
        add_within(made, sums, stop - start, total, most, place[start:], out)


@njit(cache=True, nogil=True)
def mix(rows, weights, out):
    """Add to ``out`` the weighed sums of rows."""
    for start in range(0, rows.shape[1], NEAR):
        stop = min(start + NEAR, rows.shape[1])
        for k in range(weights.shape[0]):
            _add_lines(rows, start, stop, weights[k], out[k][start:stop])
