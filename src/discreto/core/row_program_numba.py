"""The compiled runner of row programs: blocks of rows, one loop for each operation.

The loops do what the numpy functions of ``row_program`` do, with the same bits. Each is
a function of its own, over whole lines: a compiler then does several numbers at a time.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

from discreto.core import row_program as of
from discreto.core.exponentials_numba import exp, log, log1p
from discreto.core.loops_numba import NEAR, add_block, count_cells

# The compiler takes these as constants.
CODE, FILL = of.CODE, of.FILL
ADD, SUBTRACT, MULTIPLY, DIVIDE = of.ADD, of.SUBTRACT, of.MULTIPLY, of.DIVIDE
LEAST, MOST, LESS, EQUAL = of.LEAST, of.MOST, of.LESS, of.EQUAL
ADD_C, MULTIPLY_C, DIVIDE_C = of.ADD_C, of.MULTIPLY_C, of.DIVIDE_C
DIVIDE_INTO_C, LEAST_C, MOST_C = of.DIVIDE_INTO_C, of.LEAST_C, of.MOST_C
LESS_C, MORE_C, EQUAL_C = of.LESS_C, of.MORE_C, of.EQUAL_C
FLOOR, ABSOLUTE, ROOT, MISSING = of.FLOOR, of.ABSOLUTE, of.ROOT, of.MISSING
PRESENT_OR_C, CHOOSE, EXP, LOG = of.PRESENT_OR_C, of.CHOOSE, of.EXP, of.LOG
LOG_1P, TAKE, RANK, CHOOSE_C = of.LOG_1P, of.TAKE, of.RANK, of.CHOOSE_C
SHIFT_SCALE, BETWEEN, WITHIN = of.SHIFT_SCALE, of.BETWEEN, of.WITHIN
FEW = 24  # edges that are sooner counted than searched
SCALE_SHIFT, WHOLE, UNIT = of.SCALE_SHIFT, of.WHOLE, of.UNIT
LOWER_UNIT, UNIT_OR_NAN = of._LOWER_UNIT, of._UNIT_OR_NAN
CHAIN_TIMES, CHAIN_ABSOLUTE = of.CHAIN_TIMES, of.CHAIN_ABSOLUTE
CHAIN_SQUARE = of.CHAIN_SQUARE


def _pointer_to(kind):
    """Return a compiled function that makes a pointer of an address."""

    @intrinsic
    def pointer(typingctx, address):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(
                args[0], context.get_value_type(signature.return_type)
            )

        return types.CPointer(kind)(types.int64), codegen

    return pointer


_numbers_at, _codes_at = _pointer_to(types.float64), _pointer_to(types.int64)


@njit(cache=True, nogil=True)
def _code(address, start, out):
    values = carray(_codes_at(address + 8 * start), out.shape[0])
    for i in range(out.shape[0]):
        out[i] = np.float64(values[i])


@njit(cache=True, nogil=True)
def _fill(c, out):
    for i in range(out.shape[0]):
        out[i] = c


@njit(cache=True, nogil=True)
def _add(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] + b[i]


@njit(cache=True, nogil=True)
def _subtract(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] - b[i]


@njit(cache=True, nogil=True)
def _multiply(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] * b[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _divide(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] / b[i]


@njit(cache=True, nogil=True)
def _least(a, b, out):
    for i in range(out.shape[0]):
        out[i] = b[i] if a[i] > b[i] else a[i]


@njit(cache=True, nogil=True)
def _most(a, b, out):
    for i in range(out.shape[0]):
        out[i] = b[i] if a[i] < b[i] else a[i]


@njit(cache=True, nogil=True)
def _less(a, b, out):
    for i in range(out.shape[0]):
        out[i] = 1.0 if a[i] < b[i] else 0.0


@njit(cache=True, nogil=True)
def _equal(a, b, out):
    for i in range(out.shape[0]):
        out[i] = 1.0 if a[i] == b[i] else 0.0


@njit(cache=True, nogil=True)
def _add_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = a[i] + c


@njit(cache=True, nogil=True)
def _multiply_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = a[i] * c


@njit(cache=True, nogil=True, error_model="numpy")
def _divide_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = a[i] / c


@njit(cache=True, nogil=True, error_model="numpy")
def _divide_into_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = c / a[i]


@njit(cache=True, nogil=True)
def _least_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = c if a[i] > c else a[i]


@njit(cache=True, nogil=True)
def _most_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = c if a[i] < c else a[i]


@njit(cache=True, nogil=True)
def _less_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = 1.0 if a[i] < c else 0.0


@njit(cache=True, nogil=True)
def _more_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = 1.0 if a[i] > c else 0.0


@njit(cache=True, nogil=True)
def _equal_c(a, c, out):
    for i in range(out.shape[0]):
        out[i] = 1.0 if a[i] == c else 0.0


@njit(cache=True, nogil=True)
def _floor(a, out):
    for i in range(out.shape[0]):
        out[i] = np.floor(a[i])


@njit(cache=True, nogil=True)
def _absolute(a, out):
    for i in range(out.shape[0]):
        out[i] = abs(a[i])


@njit(cache=True, nogil=True)
def _root(a, out):
    for i in range(out.shape[0]):
        out[i] = np.sqrt(a[i])


@njit(cache=True, nogil=True)
def _missing(a, out):
    for i in range(out.shape[0]):
        out[i] = 1.0 if a[i] != a[i] else 0.0


@njit(cache=True, nogil=True)
def _present_or(a, c, out):
    for i in range(out.shape[0]):
        out[i] = a[i] if a[i] == a[i] else c


@njit(cache=True, nogil=True)
def _choose(a, b, c, out):
    for i in range(out.shape[0]):
        out[i] = b[i] if a[i] != 0.0 else c[i]


@njit(cache=True, nogil=True)
def _choose_c(a, b, c, out):
    for i in range(out.shape[0]):
        out[i] = c if a[i] != 0.0 else b[i]


@njit(cache=True, nogil=True)
def _take(a, table, otherwise, out):
    size = table.shape[0]
    for i in range(out.shape[0]):
        known = 0.0 <= a[i] < size
        out[i] = table[np.int64(a[i])] if known else otherwise


@njit(cache=True, nogil=True)
def _parts(a, low, scale, last, out):
    """Write one of equal parts of a range, never falling as the number rises."""
    for i in range(out.shape[0]):
        at = (a[i] - low) * scale
        at = at if at > 0.0 else 0.0
        out[i] = at if at < last else last


@njit(cache=True, nogil=True, error_model="numpy")
def _rank(a, table, guide, out):
    """Count the edges below each number; edges of other parts are on their side.

    The last edge is infinite.
    """
    count = table.shape[0] - 1
    if count <= FEW:
        out[:] = 0.0
        for k in range(count):
            _add_below(a, table[k], out)
        return
    parts = guide.shape[0] - 1
    low, scale = table[0], parts / max(table[count - 1] - table[0], 1e-300)
    _parts(a, low, scale, parts - 1.0, out)
    for i in range(out.shape[0]):
        part = np.int64(out[i])
        below, above = guide[part], guide[part + 1]
        while above - below > 1:
            middle = (below + above) >> 1
            if table[middle] < a[i]:
                below = middle + 1
            else:
                above = middle
        below += table[below] < a[i]
        out[i] = below if a[i] == a[i] else count


@njit(cache=True, nogil=True)
def _add_below(a, edge, out):
    for i in range(out.shape[0]):
        out[i] += 0.0 if a[i] <= edge else 1.0


@njit(cache=True, nogil=True)
def _within(a, size, otherwise, out):
    for i in range(out.shape[0]):
        out[i] = a[i] if 0.0 <= a[i] < size else otherwise


@njit(cache=True, nogil=True)
def _shift_scale(a, b, c, out):
    for i in range(out.shape[0]):
        out[i] = (a[i] + b) * c


@njit(cache=True, nogil=True)
def _between(a, b, c, out):
    for i in range(out.shape[0]):
        x = b if a[i] < b else a[i]
        out[i] = c if x > c else x


@njit(cache=True, nogil=True)
def _scale_shift(a, b, c, out):
    for i in range(out.shape[0]):
        out[i] = a[i] * b + c


@njit(cache=True, nogil=True)
def _whole(a, c, out):
    for i in range(out.shape[0]):
        out[i] = np.floor(a[i] * c + 0.5)


@njit(cache=True, nogil=True)
def _unit(a, b, c, out):
    for i in range(out.shape[0]):
        x = (a[i] + b) * c
        x = -1.0 if x < -1.0 else x
        x = 1.0 if x > 1.0 else x
        out[i] = x if x == x else 0.0


@njit(cache=True, nogil=True)
def _unit_or_nan(a, b, c, most, out):
    for i in range(out.shape[0]):
        x = (a[i] + b) * c
        x = -1.0 if x < -1.0 else x
        out[i] = most if x > most else x


@njit(cache=True, nogil=True)
def _line(k, lines, columns, start, size):
    """Return a line, or a column as it is in memory."""
    if k >= 0:
        return lines[k][:size]
    return carray(_numbers_at(columns[-1 - k] + 8 * start), size)


@njit(cache=True, nogil=True)
def _times_one(first, a, wa, out):
    for i in range(out.shape[0]):
        out[i] = first[i] + a[i] * wa


@njit(cache=True, nogil=True)
def _times_four(first, a, b, c, d, wa, wb, wc, wd, out):
    for i in range(out.shape[0]):
        out[i] = (((first[i] + a[i] * wa) + b[i] * wb) + c[i] * wc) + d[i] * wd


@njit(cache=True, nogil=True)
def _absolute_one(first, a, out):
    for i in range(out.shape[0]):
        out[i] = first[i] + abs(a[i])


@njit(cache=True, nogil=True)
def _absolute_four(first, a, b, c, d, out):
    for i in range(out.shape[0]):
        out[i] = (((first[i] + abs(a[i])) + abs(b[i])) + abs(c[i])) + abs(d[i])


@njit(cache=True, nogil=True)
def _square_one(first, a, out):
    for i in range(out.shape[0]):
        out[i] = first[i] + a[i] * a[i]


@njit(cache=True, nogil=True)
def _square_four(first, a, b, c, d, out):
    for i in range(out.shape[0]):
        out[i] = (((first[i] + a[i] * a[i]) + b[i] * b[i]) + c[i] * c[i]) + d[i] * d[i]


@njit(cache=True, nogil=True)
def _chain(operation, first, parts, constants, lines, columns, start, size, out):
    """Add up lines after a first one, four at a time, in their order."""
    count, k = parts.shape[0], 0
    while k < count:
        a = _line(parts[k, 0], lines, columns, start, size)
        if k + 4 > count:
            if operation == CHAIN_TIMES:
                _times_one(first, a, constants[parts[k, 1]], out)
            elif operation == CHAIN_ABSOLUTE:
                _absolute_one(first, a, out)
            else:
                _square_one(first, a, out)
            k += 1
        else:
            b = _line(parts[k + 1, 0], lines, columns, start, size)
            c = _line(parts[k + 2, 0], lines, columns, start, size)
            d = _line(parts[k + 3, 0], lines, columns, start, size)
            if operation == CHAIN_TIMES:
                wa, wb = constants[parts[k, 1]], constants[parts[k + 1, 1]]
                wc, wd = constants[parts[k + 2, 1]], constants[parts[k + 3, 1]]
                _times_four(first, a, b, c, d, wa, wb, wc, wd, out)
            elif operation == CHAIN_ABSOLUTE:
                _absolute_four(first, a, b, c, d, out)
            else:
                _square_four(first, a, b, c, d, out)
            k += 4
        first = out


@njit(cache=True, nogil=True)
def _with_constant(operation, a, c, out):
    if operation == ADD_C:
        _add_c(a, c, out)
    elif operation == MULTIPLY_C:
        _multiply_c(a, c, out)
    elif operation == DIVIDE_C:
        _divide_c(a, c, out)
    elif operation == DIVIDE_INTO_C:
        _divide_into_c(a, c, out)
    elif operation == LEAST_C:
        _least_c(a, c, out)
    elif operation == MOST_C:
        _most_c(a, c, out)
    elif operation == LESS_C:
        _less_c(a, c, out)
    elif operation == MORE_C:
        _more_c(a, c, out)
    elif operation == EQUAL_C:
        _equal_c(a, c, out)
    else:
        _present_or(a, c, out)


@njit(cache=True, nogil=True)
def _of_two(operation, a, b, out):
    if operation == ADD:
        _add(a, b, out)
    elif operation == SUBTRACT:
        _subtract(a, b, out)
    elif operation == MULTIPLY:
        _multiply(a, b, out)
    elif operation == DIVIDE:
        _divide(a, b, out)
    elif operation == LEAST:
        _least(a, b, out)
    elif operation == MOST:
        _most(a, b, out)
    elif operation == LESS:
        _less(a, b, out)
    else:
        _equal(a, b, out)


@njit(cache=True, nogil=True)
def _of_one(operation, a, out):
    if operation == FLOOR:
        _floor(a, out)
    elif operation == ABSOLUTE:
        _absolute(a, out)
    elif operation == ROOT:
        _root(a, out)
    elif operation == MISSING:
        _missing(a, out)
    elif operation == EXP:
        exp(a, out)
    elif operation == LOG:
        log(a, out)
    elif operation == LOG_1P:
        log1p(a, out)
    else:
        out[:] = a


@njit(cache=True, nogil=True)
def _run(code, constants, tables, starts, guides, parts, columns, start, size, lines):
    """Work out the lines of some rows."""
    for k in range(code.shape[0]):
        operation, a, b, c = code[k, 0], code[k, 2], code[k, 3], code[k, 4]
        out = lines[code[k, 1]][:size]
        if operation == CODE:
            _code(columns[a], start, out)
            continue
        if operation == FILL:
            _fill(constants[a], out)
            continue
        first = _line(a, lines, columns, start, size)
        if operation <= EQUAL:
            _of_two(operation, first, _line(b, lines, columns, start, size), out)
        elif operation <= EQUAL_C or operation == PRESENT_OR_C:
            _with_constant(operation, first, constants[b], out)
        elif operation == CHOOSE:
            second = _line(b, lines, columns, start, size)
            _choose(first, second, _line(c, lines, columns, start, size), out)
        elif operation == CHOOSE_C:
            second = _line(b, lines, columns, start, size)
            _choose_c(first, second, constants[c], out)
        elif operation == TAKE:
            _take(first, tables[starts[b] : starts[b + 1]], constants[c], out)
        elif operation == RANK:
            guide = guides[4 * starts[b] + b : 4 * starts[b + 1] + b + 1]
            _rank(first, tables[starts[b] : starts[b + 1]], guide, out)
        elif operation == WITHIN:
            _within(first, constants[b], constants[c], out)
        elif operation == SHIFT_SCALE:
            _shift_scale(first, constants[b], constants[c], out)
        elif operation == BETWEEN:
            _between(first, constants[b], constants[c], out)
        elif operation == SCALE_SHIFT:
            _scale_shift(first, constants[b], constants[c], out)
        elif operation == WHOLE:
            _whole(first, constants[b], out)
        elif operation == UNIT:
            _unit(first, constants[b], constants[c], out)
        elif operation == UNIT_OR_NAN:
            _unit_or_nan(first, constants[b], constants[c], 1.0, out)
        elif operation == LOWER_UNIT:
            _unit_or_nan(first, constants[b], constants[c], np.inf, out)
        elif CHAIN_TIMES <= operation <= CHAIN_SQUARE:
            some = parts[b : b + c]
            _chain(operation, first, some, constants, lines, columns, start, size, out)
        else:
            _of_one(operation, first, out)


@njit(cache=True, nogil=True)
def _near(lines):
    """Return how many rows to work on at once, for what is written to be near."""
    return min(max((1 << 17) // max(lines, 1), 128), NEAR)


@njit(cache=True, nogil=True)
def rows(program, columns, out):
    """Run a program; the numbers of row i are ``out[:, i]``."""
    code, constants, tables, starts, guides, parts, lines = program
    near, (width, length) = _near(lines), out.shape
    held = np.empty((lines, near))
    for start in range(0, length, near):
        size = min(near, length - start)
        _run(code, constants, tables, starts, guides, parts, columns, start, size, held)
        for w in range(width):
            out[w][start : start + size] = held[w][:size]


@njit(cache=True, nogil=True)
def _cells(numbers, count, out):
    for i in range(numbers.shape[0]):
        known = 0.0 <= numbers[i] < count
        out[i] = np.int64(numbers[i]) if known else count


@njit(cache=True, nogil=True)
def _count_codes(numbers, codes, place, out):
    """Count codes by cell; a code that is not one of ``codes`` counts nowhere."""
    count = out.shape[1] - 1
    for i in range(numbers.shape[0]):
        if 0.0 <= numbers[i] < codes:
            cell = place[i] if place.shape[0] else 0
            out[np.int64(numbers[i]), cell if 0 <= cell < count else count] += 1


@njit(cache=True, nogil=True)
def add_rows(program, columns, length, place, cell, blocks, bounds, tally, out):
    """Run a program, clamp the numbers of its blocks and add them up by cell.

    Block k has the lines ``blocks[k, 0]`` to ``blocks[k, 1]`` and adds to the lines of
    ``out`` from ``blocks[k, 2]`` on, within ``bounds[k]``. If ``blocks[k, 3]`` is above
    0, it is a line of that many codes instead, each of which counts as a one. Cells are
    in line 0 if ``cell`` says so, else in ``place``; if that is empty all rows are in
    the first. ``tally`` counts the rows of each cell, unless it is empty.
    """
    code, constants, tables, starts, guides, parts, lines = program
    near, count = _near(lines), out.shape[1] - 1
    held, own = np.empty((lines, near)), np.empty(near, dtype=np.int64)
    for start in range(0, length, near):
        size = min(near, length - start)
        _run(code, constants, tables, starts, guides, parts, columns, start, size, held)
        where = place[start : start + size]
        if cell:
            _cells(held[0][:size], count, own[:size])
            where = own[:size]
        if tally.shape[0]:
            if where.shape[0]:
                count_cells(where, tally)
            else:
                tally[0] += size
        for k in range(blocks.shape[0]):
            low, limit, total, reach = bounds[k]
            first, last, at, codes = blocks[k]
            if codes:
                _count_codes(held[first][:size], codes, where, out[at : at + codes])
                continue
            made = held[first:last]
            to = out[at : at + last - first]
            add_block(made, 0, size, low, limit, total, reach, where, to)
