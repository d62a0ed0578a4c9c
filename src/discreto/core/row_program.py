"""Row functions: the numbers that one row becomes, from its columns and constants.

A map describes what becomes of **one** row. It is called once for a question, with a
``Row`` whose columns are ``Value``s, and returns Values. A Value is not a number: each
operation on it is recorded. The record, a ``Program``, is run by the core on blocks of
rows, by numpy here or compiled (``row_program_numba``), with the same bits.

All operations work element by element and are total. So a number of a row cannot depend
on another row, and no row can prevent an answer, whatever the map says. The clamp of
``aggregate`` then bounds what the program returns. A map made in this way need not be
believed for a bound. Language, recorder and runner are one file: an operation is right
only if all three agree about it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from discreto.core import compiled
from discreto.core.domain.domain import Domain
from discreto.core.exponentials import exp as _exp
from discreto.core.exponentials import log as _log
from discreto.core.exponentials import log1p as _log1p
from discreto.core.query import Batch, Floats, Ints
from discreto.errors import ParameterError

# Operations. The suffix C: the second operand is a constant. ``NUMBER`` and ``CODE``
# read a column of float64 (NaN: missing) or of int64 (below 0: missing).
NUMBER, CODE, FILL = 0, 1, 2
ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, MOST, LESS, EQUAL = range(3, 11)
ADD_C, MULTIPLY_C, DIVIDE_C, DIVIDE_INTO_C, LEAST_C, MOST_C = range(11, 17)
LESS_C, MORE_C, EQUAL_C = range(17, 20)
FLOOR, ABSOLUTE, ROOT, MISSING, PRESENT_OR_C, CHOOSE = range(20, 26)
EXP, LOG, LOG_1P, TAKE, RANK = range(26, 31)
# Several in one, which the core puts together where it finds them: (x + c) * d; the
# nearest number from c to d; y + x * c; y + |x|; y + x * x.
SHIFT_SCALE, BETWEEN, ADD_TIMES_C, ADD_ABSOLUTE, ADD_SQUARE, COPY = range(31, 37)
WITHIN = 37
# x * c + d; the nearest whole number to x * c; UNIT: the nearest number to (x + c) * d
# from -1 to 1, 0 for NaN. CHAINS: a sum over several lines, in their order, from a
# first one on: of lines times constants, of absolute values, of squares.
SCALE_SHIFT, WHOLE, UNIT, CHAIN_TIMES, CHAIN_ABSOLUTE, CHAIN_SQUARE = range(38, 44)
_LOWER_UNIT, _UNIT_OR_NAN = 44, 45  # the way to UNIT
CHOOSE_C = 46  # a constant where the condition holds

_WIDEST = 1 << 20  # operations of one program
LOOPS = "discreto.core.row_program_numba"
_HELD = 1 << 13  # rows that numpy works on at once


class Value:
    """A number of one row, as the operation that makes it."""

    __slots__ = ("_tape", "at")

    def __init__(self, tape: _Recorder, at: int) -> None:
        self._tape, self.at = tape, at

    def __add__(self, other: Operand) -> Value:
        return self._tape.binary(ADD, ADD_C, self, other)

    __radd__ = __add__

    def __mul__(self, other: Operand) -> Value:
        return self._tape.binary(MULTIPLY, MULTIPLY_C, self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Value:
        return self * -1.0

    def __sub__(self, other: Operand) -> Value:
        if isinstance(other, Value):
            return self._tape.binary(SUBTRACT, SUBTRACT, self, other)
        return self + -float(other)  # the same bits: IEEE 754 subtracts so

    def __rsub__(self, other: float) -> Value:
        return -self + float(other)

    def __truediv__(self, other: Operand) -> Value:
        return self._tape.binary(DIVIDE, DIVIDE_C, self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self._tape.with_constant(DIVIDE_INTO_C, self, other)

    def __lt__(self, other: Operand) -> Value:
        return self._tape.binary(LESS, LESS_C, self, other)

    def __gt__(self, other: Operand) -> Value:
        if isinstance(other, Value):
            return other < self
        return self._tape.with_constant(MORE_C, self, other)

    def equals(self, other: Operand) -> Value:
        """Return 1 where both are the same number, else 0."""
        return self._tape.binary(EQUAL, EQUAL_C, self, other)

    def __bool__(self) -> bool:
        raise TypeError("a row function does not know the numbers of a row.")


Operand = Value | float


class Row:
    """The columns of one row, as Values."""

    def __init__(self, tape: _Recorder) -> None:
        self._tape = tape

    def number(self, name: str) -> Value:
        """Return the number in a column; NaN where it is missing."""
        return self._tape.column(NUMBER, name)

    def code(self, name: str) -> Value:
        """Return the code of a category; below 0 where it is missing or unknown."""
        return self._tape.column(CODE, name)

    def constant(self, number: float) -> Value:
        """Return a public number as a Value."""
        return self._tape.constant(number)

    def keep(self, values: Sequence[Value]) -> list[Value]:
        """Return the same values; the core may hold them for the fit's next question.

        A row function says so once, of what the questions of a fit have in common.
        """
        return list(values)


class _ToKeep(Row):
    """A row of which only what is to be kept is wanted."""

    def keep(self, values: Sequence[Value]) -> list[Value]:
        raise _Found(values)


class _Kept(Row):
    """A row whose kept values are columns of their own."""

    def keep(self, values: Sequence[Value]) -> list[Value]:
        if not hasattr(self, "_places"):
            self._places = [value.at for value in values]
        if [value.at for value in values] != self._places:
            return list(values)  # only what was kept first is a column
        out = [self.number(kept_name(k)) for k in range(len(values))]
        for value, column in zip(values, out, strict=True):
            if surely_present(value):
                self._tape.present.add(column.at)
        return out


class _Found(Exception):
    def __init__(self, values: Sequence[Value]) -> None:
        super().__init__()
        self.values = values


def kept_name(k: int) -> str:
    """Return the name of a column of kept values; no column of a table has it."""
    return f"\0{k}"


def floor(value: Value) -> Value:
    """Return the largest whole number that is not above a value."""
    return value._tape.unary(FLOOR, value)


def absolute(value: Value) -> Value:
    """Return the absolute value."""
    return value._tape.unary(ABSOLUTE, value)


def root(value: Value) -> Value:
    """Return the square root; NaN below 0."""
    return value._tape.unary(ROOT, value)


def surely_present(value: Value) -> bool:
    """Return True for a value that is known never to be NaN."""
    tape = value._tape
    return tape.steps[value.at][0] == PRESENT_OR_C or value.at in tape.present


def never_missing(value: Value) -> Value:
    """Return a value that the caller knows to be a number; NaN would stay NaN."""
    value._tape.present.add(value.at)
    return value


def missing(value: Value) -> Value:
    """Return 1 where a value is NaN, else 0."""
    return value._tape.unary(MISSING, value)


def exp(value: Value) -> Value:
    """Return e to the power of a value, which is cut to 64 on both sides."""
    return value._tape.unary(EXP, value)


def log(value: Value) -> Value:
    """Return the natural logarithm of a value from 2^-64 to 2^512."""
    return value._tape.unary(LOG, value)


def log1p(value: Value) -> Value:
    """Return the natural logarithm of 1 plus a value."""
    return value._tape.unary(LOG_1P, value)


def least(value: Value, other: Operand) -> Value:
    """Return ``other`` where it is smaller; NaN in ``value`` stays NaN."""
    return value._tape.binary(LEAST, LEAST_C, value, other)


def most(value: Value, other: Operand) -> Value:
    """Return ``other`` where it is larger; NaN in ``value`` stays NaN."""
    return value._tape.binary(MOST, MOST_C, value, other)


def between(value: Value, lower: float, upper: float) -> Value:
    """Return the nearest number from ``lower`` to ``upper``; NaN stays NaN."""
    return least(most(value, lower), upper)


def present_or(value: Value, instead: float) -> Value:
    """Return ``instead`` where a value is NaN."""
    return value._tape.with_constant(PRESENT_OR_C, value, instead)


def choose(condition: Value, yes: Operand, no: Operand) -> Value:
    """Return ``yes`` where the condition is not 0, else ``no``."""
    tape = condition._tape
    if not isinstance(yes, Value) and isinstance(no, Value):
        return tape.add(CHOOSE_C, condition.at, no.at, tape.number(yes))
    parts = [tape.lifted(part).at for part in (yes, no)]
    return tape.add(CHOOSE, condition.at, *parts)


def take(table: Sequence[float], code: Value, otherwise: float) -> Value:
    """Return the entry of a public table at a code, or ``otherwise`` if it has none."""
    return code._tape.lookup(TAKE, code, table, otherwise)


def rank(edges: Sequence[float], value: Value) -> Value:
    """Return how many of the sorted public edges lie below a value; NaN: all."""
    return value._tape.lookup(RANK, value, edges, 0.0)


def within(code: Value, size: float, otherwise: float) -> Value:
    """Return a code from 0 to below ``size``, or ``otherwise`` for another one."""
    tape = code._tape
    return tape.add(WITHIN, code.at, tape.number(size), tape.number(otherwise))


def largest(values: Iterable[Value]) -> Value:
    """Return the largest of some values."""
    first, *others = values
    for one in others:
        first = most(first, one)
    return first


def total(values: Iterable[Value]) -> Value:
    """Return the sum of some values, added up in their order."""
    first, *others = values
    for one in others:
        first = first + one
    return first


class _Recorder:
    """Operations in the order in which they were recorded; equal ones are one."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int, int]] = []
        self.names: list[str] = []
        self.constants: list[float] = []
        self.tables: list[Floats] = []
        self.present: set[int] = set()  # values that are never NaN
        self._known: dict[tuple[Any, ...], int] = {}

    def add(self, operation: int, a: int = 0, b: int = 0, c: int = 0) -> Value:
        step = operation, a, b, c
        if step not in self._known:
            if len(self.steps) >= _WIDEST:
                raise ParameterError("a row function has too many operations.")
            self._known[step] = len(self.steps)
            self.steps.append(step)
        return Value(self, self._known[step])

    def column(self, operation: int, name: str) -> Value:
        if name not in self.names:
            self.names.append(name)
        return self.add(operation, self.names.index(name))

    def number(self, constant: float) -> int:
        """Return the place of a constant; -0.0 is not 0.0."""
        key = ("constant", float(constant).hex())
        if key not in self._known:
            self._known[key] = len(self.constants)
            self.constants.append(float(constant))
        return self._known[key]

    def constant(self, number: float) -> Value:
        return self.add(FILL, self.number(number))

    def lifted(self, part: Operand) -> Value:
        return part if isinstance(part, Value) else self.constant(part)

    def unary(self, operation: int, value: Value) -> Value:
        return self.add(operation, value.at)

    def with_constant(self, operation: int, value: Value, number: float) -> Value:
        return self.add(operation, value.at, self.number(number))

    def binary(self, plain: int, short: int, value: Value, other: Operand) -> Value:
        if isinstance(other, Value):
            step = plain, value.at, other.at, 0
        else:
            step = short, value.at, self.number(other), 0
        at = self._known.get(step)  # most operations go this way: no further call
        if at is None:
            if len(self.steps) >= _WIDEST:
                raise ParameterError("a row function has too many operations.")
            at = self._known[step] = len(self.steps)
            self.steps.append(step)
        return Value(self, at)

    def lookup(
        self, operation: int, value: Value, table: Sequence[float], otherwise: float
    ) -> Value:
        # An edge that no number is above ends a search.
        last = [math.inf] if operation == RANK else []
        array = np.array([*table, *last], dtype=np.float64)
        key = (operation, array.tobytes())
        if key not in self._known:
            self._known[key] = len(self.tables)
            self.tables.append(array)
        return self.add(operation, value.at, self._known[key], self.number(otherwise))


_OF_LINES = {ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, MOST, LESS, EQUAL}
_READS = {NUMBER, CODE, FILL}


_CHAINS = {
    ADD_TIMES_C: CHAIN_TIMES,
    ADD_ABSOLUTE: CHAIN_ABSOLUTE,
    ADD_SQUARE: CHAIN_SQUARE,
}


class _Chain(NamedTuple):
    """A sum over several lines: (line, constant) of each, after a first line."""

    operation: int
    first: int
    parts: tuple[tuple[int, int], ...]


def _inputs(step: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the places of the steps whose results a step takes."""
    if isinstance(step, _Chain):
        return (step.first, *(line for line, _ in step.parts))
    if step[0] in _READS:
        return ()
    if step[0] == CHOOSE:
        return step[1:4]
    two = step[0] in _OF_LINES or step[0] in _CHAINS or step[0] == CHOOSE_C
    return step[1:3] if two else step[1:2]


@dataclass(frozen=True, eq=False)
class Program:
    """A row function as data: operations on lines of numbers.

    ``code`` has a row for each operation: (operation, target, a, b, c). A line below 0
    is a column of numbers as it is: -1 is the first of ``names``. The first ``width``
    lines are the answer; all ``lines`` are used again when their number is not needed
    any more. ``codes`` says which columns are codes of categories.
    """

    code: Ints
    width: int
    lines: int
    names: tuple[str, ...]
    codes: tuple[bool, ...]
    constants: Floats
    tables: Floats  # one after the other
    starts: Ints
    guides: Ints  # of each table, four times as long and one more; see ``_guide``
    parts: Ints  # (line, constant) of each part of a chain

    def numbers(self, batch: Batch, length: int) -> Floats:
        """Return the numbers of some rows, (width, length)."""
        out = np.empty((self.width, length))
        self.fill(batch, length, out)
        return out

    def fill(self, batch: Batch, length: int, out: Floats) -> None:
        """Write the numbers of some rows."""
        fast = compiled.loops(length * len(self.code), LOOPS)
        if fast is not None:
            places, _held = self.addresses(batch, length)
            fast.rows(self.arrays(), places, out)
            return
        columns = self._columns(batch, length)
        for start in range(0, length, _HELD):
            part = slice(start, min(start + _HELD, length))
            self._run([column[part] for column in columns], out[:, part])

    def arrays(self) -> tuple[Any, ...]:
        """Return what the compiled runner takes of a program."""
        known = self.code, self.constants, self.tables, self.starts, self.guides
        return *known, self.parts, self.lines

    def key(self) -> tuple[Any, ...]:
        """Return all that the numbers of a row follow from beside the row itself."""
        parts = self.code, self.constants, self.tables, self.starts, self.parts
        values = [part.tobytes() for part in parts]
        return (self.names, self.codes, self.width, self.lines, *values)

    def addresses(self, batch: Batch, length: int) -> tuple[Ints, list[Any]]:
        """Return where columns are in memory, and what must be held meanwhile."""
        columns = [compiled.plain(c, length) for c in self._columns(batch, length)]
        places = [column.__array_interface__["data"][0] for column in columns]
        return np.array(places, dtype=np.int64), columns

    def _columns(self, batch: Batch, length: int) -> list[Any]:
        kinds = zip(self.names, self.codes, strict=True)
        return [
            batch[name].astype(np.int64 if code else np.float64, copy=False)
            for name, code in kinds
        ]

    def _run(self, columns: list[Any], out: Floats) -> None:
        """Work out some rows by numpy."""
        lines: list[Any] = [None] * self.lines
        for operation, target, a, b, c in self.code.tolist():
            if operation == CODE:
                lines[target] = columns[a].astype(np.float64)
                continue
            if operation == FILL:
                lines[target] = np.full(out.shape[1], self.constants[a])
                continue
            first = lines[a] if a >= 0 else columns[-1 - a]
            if operation in _OF_LINES:
                second = lines[b] if b >= 0 else columns[-1 - b]
                more: tuple[Any, ...] = (second,)
            elif operation == CHOOSE_C:
                more = (lines[b] if b >= 0 else columns[-1 - b], self.constants[c])
            elif operation == CHOOSE:
                more = tuple(lines[i] if i >= 0 else columns[-1 - i] for i in (b, c))
            elif operation in (TAKE, RANK):
                table = self.tables[self.starts[b] : self.starts[b + 1]]
                more = table, self.constants[c]
            elif operation in _CHAINS.values():
                more = (self._parts(b, c, lines, columns),)
            elif operation in _OF_ONE:
                more = ()
            elif operation in _OF_TWO_CONSTANTS:
                more = self.constants[b], self.constants[c]
            else:
                more = (self.constants[b],)
            lines[target] = _PLAIN[operation](first, *more)
        for line, found in zip(out, lines, strict=False):
            line[:] = found

    def _parts(
        self, start: int, count: int, lines: list[Any], columns: list[Any]
    ) -> list[tuple[Any, float]]:
        """Return the lines and constants of a chain."""
        return [
            (lines[k] if k >= 0 else columns[-1 - k], self.constants[constant])
            for k, constant in self.parts[start : start + count].tolist()
        ]


class RowFeatures:
    """Features whose numbers are those of one row, and cannot depend on another."""

    __slots__ = ()

    def row_numbers(self, row: Row, domain: Domain) -> Sequence[Value]:
        """Return the numbers that a row becomes, in grid steps."""
        raise NotImplementedError

    def of_rows(self) -> bool:
        """Return True if ``row_numbers`` works; maps made of others may differ."""
        return True

    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        raise NotImplementedError

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        """Return the numbers of some rows, before they are clamped: (width, rows)."""
        length = len(batch[self.columns()[0]])
        return trace(lambda row: self.row_numbers(row, domain)).numbers(batch, length)


class RowCodes:
    """Features that are a one at each of some codes of a row, and zeros elsewhere.

    The core counts the codes. It does not make the zeros.
    """

    __slots__ = ()

    def row_codes(self, row: Row, domain: Domain) -> Sequence[tuple[Value, int]]:
        """Return the codes of a row, and how many codes each of them is out of."""
        raise NotImplementedError

    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        raise NotImplementedError

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        """Return the zeros and ones that a row becomes."""
        codes = self.row_codes(row, domain)
        return [code.equals(float(k)) for code, size in codes for k in range(size)]

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        """Return the numbers of some rows, before they are clamped: (width, rows)."""
        made = trace(lambda row: self.row_numbers(row, domain))
        return made.numbers(batch, len(batch[self.columns()[0]]))


class RowCells:
    """Cells of which a row is in one by its own columns alone."""

    __slots__ = ()

    def row_cell(self, row: Row, domain: Domain) -> Value:
        """Return the number of the row's cell; another number or NaN: it has none."""
        raise NotImplementedError

    def of_rows(self) -> bool:
        """Return True if ``row_cell`` works; cells made of others may differ."""
        return True

    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read."""
        raise NotImplementedError

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        """Return the cells of some rows; -1 for a row that has none."""
        length = len(batch[self.columns()[0]])
        program = trace(lambda row: [self.row_cell(row, domain)])
        return whole_cells(program.numbers(batch, length)[0])


def whole_cells(numbers: Floats) -> Ints:
    """Return cells as whole numbers; what is not a number from 0 up becomes -1."""
    known = (numbers >= 0) & (numbers < 2.0**62)
    return np.where(known, numbers, -1.0).astype(np.int64)


Function = Callable[[Row], Sequence[Value]]


def trace(function: Function) -> Program:
    """Return the program of a row function.

    Parameters
    ----------
    function
        Takes a ``Row`` and returns the Values that the row becomes.
    """
    return _traced(function, Row)


def trace_kept(function: Function) -> tuple[Program, Program] | None:
    """Return the program of what a row function keeps, and that of all else.

    The second reads what the first returns as columns (``kept_name``). None if the
    function keeps nothing.
    """

    def kept(row: Row) -> Sequence[Value]:
        try:
            function(row)
        except _Found as found:
            return found.values
        return []

    first = _traced(kept, _ToKeep)
    return (first, _traced(function, _Kept)) if first.width else None


def _traced(function: Function, kind: type[Row]) -> Program:
    tape = _Recorder()
    found: list[int] = []
    for value in function(kind(tape)):
        at = tape.lifted(value).at
        # A line for each result: a copy of what is one already, or is a column.
        again = at in found or tape.steps[at][0] == NUMBER
        found.append(tape.add(COPY, at, len(found)).at if again else at)
    code, lines, parts = _allocated(*_fused(tape, found), found)
    kinds = {step[1]: step[0] == CODE for step in tape.steps if step[0] <= CODE}
    return Program(
        np.array(code, dtype=np.int64).reshape(-1, 5),
        len(found),
        lines,
        tuple(tape.names),
        tuple(kinds[i] for i in range(len(tape.names))),
        np.array(tape.constants or [0.0], dtype=np.float64),
        np.concatenate([np.empty(0), *tape.tables]),
        np.cumsum([0] + [len(table) for table in tape.tables]).astype(np.int64),
        np.concatenate([np.empty(0, dtype=np.int64), *map(_guide, tape.tables)]),
        np.array(parts, dtype=np.int64).reshape(-1, 2),
    )


def _guide(table: Floats) -> Ints:
    """Return how many edges lie before each of equal parts of their range.

    ``rank`` then searches the edges of one part only. ``_part`` of the compiled runner
    puts a number in its part by the same steps.
    """
    parts, table = 4 * len(table), table[:-1]
    if not len(table) or not np.all(np.isfinite(table)):
        return np.zeros(parts + 1, dtype=np.int64)
    span = max(table[-1] - table[0], 1e-300)
    at = np.minimum((table - table[0]) * (parts / span), parts - 1.0)
    return np.searchsorted(np.floor(at), np.arange(parts + 1)).astype(np.int64)


Step = tuple[int, int, int, int]


def quadratic_parts(
    value: Value, centre: float, half: float, one: float
) -> list[Value]:
    """Return ``one`` times three polynomials of a number on [-1, 1], rounded down.

    They are ((1-x)^2/4, (1-x^2)/2, (1+x)^2/4) and add up to at most ``one``.
    """
    x = between(present_or((value - centre) / half, 0.0), -1.0, 1.0)
    low, high = (1.0 - x) / 2.0, (1.0 + x) / 2.0
    parts = low * low, 2.0 * low * high, high * high
    return [floor(part * one) for part in parts]


@lru_cache(maxsize=1)
def _quadratic() -> Program:
    return trace(lambda row: quadratic_parts(row.number("x"), 2.5, 3.5, 7.5))


def quadratic_of(program: Program) -> tuple[float, float, float] | None:
    """Return centre, half and one of ``quadratic_parts``, if a program is that."""
    if len(program.names) != 1 or program.width != 3:
        return None
    if not np.array_equal(_quadratic().code, program.code):
        return None
    shift, half, one = program.constants[program.code[[0, 1, -2], 3]].tolist()
    return -shift, half, one


def _fused(tape: _Recorder, found: list[int]) -> tuple[list[Any], list[Any]]:
    """Put steps in one where the first serves the second alone.

    Returns the steps, None in place of those that are gone, and the inputs of each.
    """
    out: list[Any] = list(tape.steps)
    inputs: list[Any] = list(map(_inputs, out))
    uses = Counter(found)
    for one in inputs:
        uses.update(one)
    for i, step in enumerate(out):
        if step[0] not in _SECONDS:
            continue
        for first in reversed(inputs[i]):
            before = out[first]
            if before is not None and uses[first] == 1 and before[0] in _FIRSTS:
                both = _both(before, out[i], first, tape.constants)
                if both is not None:
                    out[i], out[first], inputs[i] = both, None, _inputs(both)
                    break
    _chain(out, inputs, uses)
    needed = set(found)
    for i in range(len(out) - 1, -1, -1):  # what leads to no result is left out
        if out[i] is None or i not in needed:
            out[i] = None
        else:
            needed.update(inputs[i])
    return out, inputs


def _chain(steps: list[Any], inputs: list[Any], uses: Counter[int]) -> None:
    """Put sums that go on one from the other in one, in place."""
    for i, step in enumerate(steps):
        if step is None or step[0] not in _CHAINS:
            continue
        kind, (_, before, line, constant) = _CHAINS[step[0]], step
        earlier = steps[before]
        same = isinstance(earlier, _Chain) and earlier.operation == kind
        if same and uses[before] == 1:
            steps[i] = _Chain(kind, earlier.first, (*earlier.parts, (line, constant)))
            inputs[i] = (*inputs[before], line)
            steps[before] = None
        else:
            steps[i] = _Chain(kind, before, ((line, constant),))
            inputs[i] = (before, line)


# Operations that may be the second or the first of two in one.
_SECONDS = {MULTIPLY_C, ADD_C, LEAST_C, MOST_C, FLOOR, PRESENT_OR_C, ADD}
_FIRSTS = {ADD_C, MULTIPLY_C, MOST_C, SCALE_SHIFT, SHIFT_SCALE, ABSOLUTE, MULTIPLY}
_FIRSTS |= {_LOWER_UNIT, _UNIT_OR_NAN}


def _both(before: Step, step: Step, place: int, numbers: list[float]) -> Step | None:
    """Return one step for two, the first of which is at ``place``, or None."""
    operation, a, b, _ = step
    pair, of, first, second = (before[0], operation), *before[1:]
    if pair == (ADD_C, MULTIPLY_C):
        return SHIFT_SCALE, of, first, b
    if pair == (MULTIPLY_C, ADD_C):
        return SCALE_SHIFT, of, first, b
    if pair == (MOST_C, LEAST_C):
        return BETWEEN, of, first, b
    if pair == (SCALE_SHIFT, FLOOR) and numbers[second] == 0.5:
        return WHOLE, of, first, 0
    if pair == (SHIFT_SCALE, MOST_C) and numbers[b] == -1.0:
        return _LOWER_UNIT, of, first, second
    if pair == (_LOWER_UNIT, LEAST_C) and numbers[b] == 1.0:
        return _UNIT_OR_NAN, of, first, second
    if pair == (_UNIT_OR_NAN, PRESENT_OR_C) and numbers[b].hex() == "0x0.0p+0":
        return UNIT, of, first, second
    if operation == ADD and a != b:
        other = b if a == place else a
        if before[0] == MULTIPLY_C:
            return ADD_TIMES_C, other, of, first
        if before[0] == ABSOLUTE:
            return ADD_ABSOLUTE, other, of, 0
        if before[0] == MULTIPLY and of == first:
            return ADD_SQUARE, other, of, 0
    return None


def _allocated(
    steps: list[Any], inputs: list[Any], found: list[int]
) -> tuple[list[tuple[int, ...]], int, list[tuple[int, int]]]:
    """Return the steps with lines for their results, used again as soon as they can.

    The parts of chains stand in a list of their own.
    """
    last = {at: i for i, step in enumerate(steps) if step for at in inputs[i]}
    results = set(found)
    line = {at: place for place, at in enumerate(found)}
    code: list[tuple[int, ...]] = []
    parts: list[tuple[int, int]] = []
    free: list[int] = []
    count = len(found)
    for i, step in enumerate(steps):
        if step is None:
            continue
        if step[0] == NUMBER:  # read where it is
            line[i] = -1 - step[1]
            continue
        if isinstance(step, _Chain):
            own = [line[step.first], len(parts), len(step.parts)]
            parts += [(line[at], constant) for at, constant in step.parts]
        else:
            own = list(step[1:])
            for k, at in enumerate(inputs[i]):
                own[k] = line[at]
        if i not in line:
            if not free:
                free.append(count)
                count += 1
            line[i] = free.pop()
        # After the target was taken: a loop must not write over what it still reads.
        done = {at for at in inputs[i] if last[at] == i and at not in results}
        free += {line[at] for at in done if line[at] >= 0}
        code.append((step[0], line[i], *own))
    return code, count, parts


def _of_table(code: Any, table: Floats, otherwise: float) -> Any:
    known = (code >= 0.0) & (code < len(table))
    where = np.where(known, code, 0.0).astype(np.int64)
    if not len(table):
        return np.full(len(code), otherwise)
    return np.where(known, table[where], otherwise)


def _at_least(a: Any, low: float) -> Any:
    return np.where(a < low, low, a)


def _nearest_between(a: Any, low: float, high: float) -> Any:
    above = _at_least(a, low)
    return np.where(above > high, high, above)


def _unit(a: Any, shift: float, scale: float) -> Any:
    inside = _nearest_between((a + shift) * scale, -1.0, 1.0)
    return np.where(np.isnan(inside), 0.0, inside)


def _added(first: Any, parts: Iterable[Any]) -> Any:
    for part in parts:
        first = first + part
    return first


_OF_ONE = {FLOOR, ABSOLUTE, ROOT, MISSING, EXP, LOG, LOG_1P, COPY}
_OF_TWO_CONSTANTS = {SHIFT_SCALE, SCALE_SHIFT, BETWEEN, WITHIN}
_OF_TWO_CONSTANTS |= {UNIT, _UNIT_OR_NAN, _LOWER_UNIT}
_PLAIN: dict[int, Callable[..., Any]] = {
    FLOOR: np.floor,
    ABSOLUTE: np.abs,
    ROOT: np.sqrt,
    MISSING: lambda a: np.isnan(a).astype(np.float64),
    EXP: _exp,
    LOG: _log,
    LOG_1P: _log1p,
    COPY: np.copy,
    CHOOSE: lambda a, b, c: np.where(a != 0.0, b, c),
    CHOOSE_C: lambda a, b, c: np.where(a != 0.0, c, b),
    ADD: np.add,
    SUBTRACT: np.subtract,
    MULTIPLY: np.multiply,
    DIVIDE: np.divide,
    LEAST: lambda a, b: np.where(a > b, b, a),
    MOST: lambda a, b: np.where(a < b, b, a),
    LESS: lambda a, b: (a < b).astype(np.float64),
    EQUAL: lambda a, b: (a == b).astype(np.float64),
    ADD_C: np.add,
    MULTIPLY_C: np.multiply,
    DIVIDE_C: np.divide,
    DIVIDE_INTO_C: lambda a, b: np.divide(b, a),
    LEAST_C: lambda a, b: np.where(a > b, b, a),
    MOST_C: lambda a, b: np.where(a < b, b, a),
    LESS_C: lambda a, b: (a < b).astype(np.float64),
    MORE_C: lambda a, b: (a > b).astype(np.float64),
    EQUAL_C: lambda a, b: (a == b).astype(np.float64),
    PRESENT_OR_C: lambda a, b: np.where(np.isnan(a), b, a),
    TAKE: _of_table,
    RANK: lambda a, table, _: np.searchsorted(table[:-1], a).astype(np.float64),
    SHIFT_SCALE: lambda a, b, c: (a + b) * c,
    BETWEEN: _nearest_between,
    WITHIN: lambda a, b, c: np.where((a >= 0.0) & (a < b), a, c),
    SCALE_SHIFT: lambda a, b, c: a * b + c,
    WHOLE: lambda a, b: np.floor(a * b + 0.5),
    _LOWER_UNIT: lambda a, b, c: _at_least((a + b) * c, -1.0),
    _UNIT_OR_NAN: lambda a, b, c: _nearest_between((a + b) * c, -1.0, 1.0),
    UNIT: _unit,
    CHAIN_TIMES: lambda a, parts: _added(a, (line * by for line, by in parts)),
    CHAIN_ABSOLUTE: lambda a, parts: _added(a, (np.abs(line) for line, _ in parts)),
    CHAIN_SQUARE: lambda a, parts: _added(a, (line * line for line, _ in parts)),
}
