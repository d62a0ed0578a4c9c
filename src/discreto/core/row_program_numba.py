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
from discreto.core.loops_numba import NEAR, NEAR_NUMBERS, add_block, count_cells

# The compiler takes these as constants.
CODE, FILL = of.CODE, of.FILL
ADD, SUBTRACT, MULTIPLY, DIVIDE = of.ADD, of.SUBTRACT, of.MULTIPLY, of.DIVIDE
LEAST, MOST, LESS, EQUAL = of.LEAST, of.MOST, of.LESS, of.EQUAL
ADD_C, MULTIPLY_C, DIVIDE_C = of.ADD_C, of.MULTIPLY_C, of.DIVIDE_C
DIVIDE_INTO_C, LEAST_C, MOST_C = of.DIVIDE_INTO_C, of.LEAST_C, of.MOST_C
LESS_C, MORE_C, EQUAL_C = of.LESS_C, of.MORE_C, of.EQUAL_C
FLOOR, ABSOLUTE, ROOT, MISSING = of.FLOOR, of.ABSOLUTE, of.ROOT, of.MISSING
PRESENT_OR_C, CHOOSE, EXP, LOG = of.PRESENT_OR_C, of.CHOOSE, of.EXP, of.LOG
LOG_1P, TAKE, RANK = of.LOG_1P, of.TAKE, of.RANK
SHIFT_SCALE, BETWEEN, WITHIN = of.SHIFT_SCALE, of.BETWEEN, of.WITHIN
FEW = 24  # edges that are sooner counted than searched
ADD_TIMES_C, ADD_ABSOLUTE, ADD_SQUARE = of.ADD_TIMES_C, of.ADD_ABSOLUTE, of.ADD_SQUARE


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
    """Count the edges below each number; edges of other parts are on their side."""
    count = table.shape[0]
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
        more = below < above and table[min(below, count - 1)] < a[i]
        out[i] = below + more if a[i] == a[i] else count


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
def _add_times_c(a, b, c, out):
    for i in range(out.shape[0]):
        out[i] = a[i] + b[i] * c


@njit(cache=True, nogil=True)
def _add_absolute(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] + abs(b[i])


@njit(cache=True, nogil=True)
def _add_square(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] + b[i] * b[i]


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
def _line(k, lines, columns, start, size):
    """Return a line, or a column as it is in memory."""
    if k >= 0:
        return lines[k][:size]
    return carray(_numbers_at(columns[-1 - k] + 8 * start), size)


@njit(cache=True, nogil=True)
def _run(code, constants, tables, starts, guides, columns, start, size, lines):
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
        elif operation == ADD_TIMES_C:
            second = _line(b, lines, columns, start, size)
            _add_times_c(first, second, constants[c], out)
        elif operation == ADD_ABSOLUTE:
            _add_absolute(first, _line(b, lines, columns, start, size), out)
        elif operation == ADD_SQUARE:
            _add_square(first, _line(b, lines, columns, start, size), out)
        else:
            _of_one(operation, first, out)


@njit(cache=True, nogil=True)
def _near(lines):
    """Return how many rows to work on at once, for what is written to be near."""
    return min(max(NEAR_NUMBERS // lines, 64), NEAR)


@njit(cache=True, nogil=True)
def rows(program, columns, out):
    """Run a program; the numbers of row i are ``out[:, i]``."""
    code, constants, tables, starts, guides, lines = program
    near, (width, length) = _near(lines), out.shape
    held = np.empty((lines, near))
    for start in range(0, length, near):
        size = min(near, length - start)
        _run(code, constants, tables, starts, guides, columns, start, size, held)
        for w in range(width):
            out[w][start : start + size] = held[w][:size]


@njit(cache=True, nogil=True)
def _cells(numbers, count, out):
    for i in range(numbers.shape[0]):
        known = 0.0 <= numbers[i] < count
        out[i] = np.int64(numbers[i]) if known else count


@njit(cache=True, nogil=True)
def add_rows(program, columns, length, place, cell, blocks, bounds, tally, out):
    """Run a program, clamp the numbers of its blocks and add them up by cell.

    Block k has the lines ``blocks[k, 0]`` to ``blocks[k, 1]`` and adds to the lines of
    ``out`` from ``blocks[k, 2]`` on, within ``bounds[k]``. Cells are in line 0 if
    ``cell`` says so, else in ``place``; if that is empty all rows are in the first.
    ``tally`` counts the rows of each cell, unless it is empty.
    """
    code, constants, tables, starts, guides, lines = program
    near, count = _near(lines), out.shape[1] - 1
    held, own = np.empty((lines, near)), np.empty(near, dtype=np.int64)
    for start in range(0, length, near):
        size = min(near, length - start)
        _run(code, constants, tables, starts, guides, columns, start, size, held)
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
            first, last, at = blocks[k]
            made = held[first:last]
            to = out[at : at + last - first]
            add_block(made, 0, size, low, limit, total, reach, where, to)
