"""Compiled loops of the fold. Each has a numpy twin that gives the same bits.

They run without the interpreter's lock, so the threads of an engine work side by side.
Rows are taken some at a time, for what is written to be in the cache when it is read.
The innermost loops are functions of their own, over the whole of an array: that is what
a compiler does several at a time, unless two of its arrays overlap. Floats are added
and multiplied in the order that is written here; only sums of whole numbers, which are
exact in any order, may be taken in another.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

NEAR = 1024  # rows at a time
NEAR_NUMBERS = 1 << 14  # numbers of wide rows at a time
FEW = 16  # cells that are added up four at a time
WHOLE = {"contract", "reassoc"}  # for sums of whole numbers, exact in any order


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _total(numbers):
    """The sum of whole numbers that stays below 2^53."""
    out = 0.0
    for i in range(numbers.shape[0]):
        out += numbers[i]
    return out


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _total_of(numbers, place, cell):
    """The same sum, over one cell."""
    out = 0.0
    for i in range(numbers.shape[0]):
        out += numbers[i] if place[i] == cell else 0.0
    return out


@njit(cache=True, nogil=True)
def clamped(number, low, limit):
    """The nearest whole number from ``low`` to ``limit``; NaN becomes 0."""
    v = np.floor((number if number == number else 0.0) + 0.5)
    v = v if v > low else low
    return v if v < limit else limit


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _plus(total, number):
    """Whole numbers that are added up in any order, unlike all else around them."""
    return total + number


@njit(cache=True, nogil=True)
def _within(value, lower, upper):
    """A number cut to bounds; NaN stays NaN."""
    value = lower if value < lower else value
    return upper if value > upper else value


@njit(cache=True, nogil=True)
def _total_scaled(values, origin, scale, lower, upper, low, limit):
    out = 0.0
    for i in range(values.shape[0]):
        x = _within(values[i], lower, upper) - origin
        out = _plus(out, clamped(x * scale, low, limit))
    return out


@njit(cache=True, nogil=True)
def _scale(values, origin, scale, lower, upper, low, limit, out):
    for i in range(values.shape[0]):
        x = _within(values[i], lower, upper) - origin
        out[i] = clamped(x * scale, low, limit)


@njit(cache=True, nogil=True)
def _whole(numbers, low, limit):
    for i in range(numbers.shape[0]):
        numbers[i] = clamped(numbers[i], low, limit)


@njit(cache=True, nogil=True)
def _add_sizes(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += abs(numbers[i])


@njit(cache=True, nogil=True)
def _add_squares(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] += numbers[i] * numbers[i]


@njit(cache=True, nogil=True)
def _shrink(rows, start, norms, most):
    """Scale rows of too large a norm down, toward zero."""
    width = rows.shape[0]
    for i in range(norms.shape[0]):
        if norms[i] > most:
            for w in range(width):
                one = rows[w, start + i] * max(most - width, 0.0) / norms[i]
                rows[w, start + i] = np.trunc(one)


@njit(cache=True, nogil=True)
def _clamp(rows, start, stop, low, limit, total, reach):
    """Some rows as whole numbers within a shape."""
    for w in range(rows.shape[0]):
        _whole(rows[w][start:stop], low, limit)
    _bound(rows, start, stop, total, reach)


@njit(cache=True, nogil=True)
def _bound(rows, start, stop, total, reach):
    """Whole numbers of rows within norms; one below 0 is no bound."""
    width = rows.shape[0]
    if total >= 0:
        sizes = np.zeros(stop - start)
        for w in range(width):
            _add_sizes(rows[w][start:stop], sizes)
        _shrink(rows, start, sizes, total)
    if reach >= 0:
        sizes = np.zeros(stop - start)
        for w in range(width):
            _add_squares(rows[w][start:stop], sizes)
        _shrink(rows, start, np.sqrt(sizes), reach)


@njit(cache=True, nogil=True)
def clamp(rows, low, limit, total, reach):
    """Whole numbers within a shape, in place."""
    for start in range(0, rows.shape[1], NEAR):
        stop = min(start + NEAR, rows.shape[1])
        _clamp(rows, start, stop, low, limit, total, reach)


@njit(cache=True, nogil=True)
def _add(numbers, place, out):
    """Add whole numbers to the sums of their cells; the last is for what has none.

    Without places all are in the first.
    """
    count = out.shape[0] - 1
    if place.shape[0] == 0:
        out[0] += np.int64(_total(numbers))
        return
    if count <= FEW:
        for cell in range(count):
            out[cell] += np.int64(_total_of(numbers, place, cell))
        return
    for i in range(numbers.shape[0]):
        cell = place[i]
        out[cell if 0 <= cell < count else count] += np.int64(numbers[i])


@njit(cache=True, nogil=True, fastmath=WHOLE)
def _totals(numbers, a, b, c, d):
    """The sums over four cells, whose rows have a 1 and all others a 0."""
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    for i in range(numbers.shape[0]):
        p += numbers[i] * a[i]
        q += numbers[i] * b[i]
        r += numbers[i] * c[i]
        s += numbers[i] * d[i]
    return p, q, r, s


@njit(cache=True, nogil=True)
def _mark(place, cell, out):
    for i in range(place.shape[0]):
        out[i] = 1.0 if place[i] == cell else 0.0


@njit(cache=True, nogil=True)
def _all_there(place):
    """Whether all rows are in the first cell."""
    out = True
    for i in range(place.shape[0]):
        out &= place[i] == 0
    return out


@njit(cache=True, nogil=True)
def _add_lines(rows, start, stop, place, out):
    count = out.shape[1] - 1
    if count == 1 and _all_there(place):
        place = place[:0]
    if place.shape[0] == 0 or count > FEW or count < 3 or rows.shape[0] == 1:
        for w in range(rows.shape[0]):
            _add(rows[w][start:stop], place, out[w])
        return
    marks = np.zeros(((count + 3) // 4 * 4, stop - start))
    for cell in range(count):
        _mark(place, cell, marks[cell])
    for w in range(rows.shape[0]):
        line = rows[w][start:stop]
        for cell in range(0, count, 4):
            some = marks[cell : cell + 4]
            sums = _totals(line, some[0], some[1], some[2], some[3])
            for k in range(min(4, count - cell)):
                out[w, cell + k] += np.int64(sums[k])


@njit(cache=True, nogil=True)
def add_block(rows, start, stop, low, limit, total, reach, place, out):
    """Clamp some rows and add them up by cell; ``place`` is of these and later rows."""
    _clamp(rows, start, stop, low, limit, total, reach)
    _add_lines(rows, start, stop, place[: stop - start], out)


@njit(cache=True, nogil=True)
def add_clamped(rows, low, limit, total, reach, place, out):
    """Clamp rows and add them up by cell."""
    near = min(max(NEAR_NUMBERS // rows.shape[0], 64), NEAR)
    for start in range(0, rows.shape[1], near):
        stop = min(start + near, rows.shape[1])
        add_block(rows, start, stop, low, limit, total, reach, place[start:], out)


@njit(cache=True, nogil=True)
def add_scaled(
    values, origin, scale, lower, upper, low, limit, total, reach, place, out
):
    """Scale, clamp and add up one column by cell."""
    rows = np.empty((1, NEAR))
    for start in range(0, values.shape[0], NEAR):
        some, cells = values[start : start + NEAR], place[start : start + NEAR]
        if place.shape[0] == 0 and max(total, reach) < 0:
            out[0, 0] += np.int64(
                _total_scaled(some, origin, scale, lower, upper, low, limit)
            )
            continue
        size = some.shape[0]
        _scale(some, origin, scale, lower, upper, low, limit, rows[0])
        _bound(rows, 0, size, total, reach)
        _add(rows[0][:size], cells, out[0])


@njit(cache=True, nogil=True)
def _between(number, low, limit):
    number = number if number > low else low
    return number if number < limit else limit


@njit(cache=True, nogil=True)
def _quadratic(value, centre, half, one, low, limit):
    """Polynomials of degree 2, rounded down."""
    x = (value - centre) / half
    x = x if x == x else 0.0
    x = x if x > -1.0 else -1.0
    x = x if x < 1.0 else 1.0
    down, up = (1.0 - x) / 2.0, (1.0 + x) / 2.0
    a = _between(np.floor(one * (down * down)), low, limit)
    b = _between(np.floor(one * (2.0 * down * up)), low, limit)
    c = _between(np.floor(one * (up * up)), low, limit)
    return a, b, c


@njit(cache=True, nogil=True)
def _fill_quadratic(values, centre, half, one, low, limit, total, lines):
    """Polynomials of each row; how many rows are above their total."""
    first, second, third, above = lines[0], lines[1], lines[2], 0
    for i in range(values.shape[0]):
        a, b, c = _quadratic(values[i], centre, half, one, low, limit)
        first[i], second[i], third[i] = a, b, c
        above += abs(a) + abs(b) + abs(c) > total
    return above


@njit(cache=True, nogil=True)
def _total_quadratic(values, centre, half, one, low, limit, total):
    """Sums of polynomials; how many rows are above their total."""
    first, second, third, above = 0.0, 0.0, 0.0, 0
    for i in range(values.shape[0]):
        a, b, c = _quadratic(values[i], centre, half, one, low, limit)
        first, second, third = _plus(first, a), _plus(second, b), _plus(third, c)
        above += abs(a) + abs(b) + abs(c) > total
    return first, second, third, above


@njit(cache=True, nogil=True)
def add_quadratic(values, centre, half, one, low, limit, total, reach, place, out):
    """Polynomials of one column, clamped and added up by cell."""
    rows = np.empty((3, NEAR))
    for start in range(0, values.shape[0], NEAR):
        some, cells = values[start : start + NEAR], place[start : start + NEAR]
        size = some.shape[0]
        if place.shape[0] == 0 and reach < 0:
            how = centre, half, one, low, limit, total
            first, second, third, above = _total_quadratic(some, *how)
            if above == 0:
                out[0, 0] += np.int64(first)
                out[1, 0] += np.int64(second)
                out[2, 0] += np.int64(third)
                continue
        if (
            _fill_quadratic(some, centre, half, one, low, limit, total, rows)
            or reach >= 0
        ):
            _bound(rows, 0, size, total, reach)
        for w in range(3):
            _add(rows[w][:size], cells, out[w])


@njit(cache=True, nogil=True)
def count_cells(place, out):
    """Count rows by cell; what has none goes to the last."""
    count = out.shape[0] - 1
    for i in range(place.shape[0]):
        cell = place[i]
        out[cell if 0 <= cell < count else count] += 1
