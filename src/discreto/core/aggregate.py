"""The exact fold: rows become bounded integers, and only then are added.

Whatever a feature map returns (NaN, infinities, nonsense), the clamp makes integers
that keep the promises of its ``Shape``. All arithmetic is on whole numbers below 2^53
held in float64, or in int64, so sums are exact and do not depend on the order of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreto.core import compiled
from discreto.core.query import (
    Batch,
    Bound,
    BoundBlock,
    Everyone,
    Floats,
    Form,
    Ints,
    Ones,
    Shape,
    Sum,
)
from discreto.core.rounding import make_whole
from discreto.core.row_cache import WithCache
from discreto.core.row_cache import held as held_rows
from discreto.core.row_program import (
    BETWEEN,
    SHIFT_SCALE,
    Program,
    Row,
    RowCells,
    RowCodes,
    RowFeatures,
    Value,
    kept_name,
    quadratic_of,
    trace,
    trace_kept,
    whole_cells,
)
from discreto.core.row_program import (
    LOOPS as PROGRAM_LOOPS,
)

BATCH_ROWS = 1 << 19  # the most rows folded at once; their codes add up exactly


def clamp(rows: Floats, shape: Shape) -> Floats:
    """Integers within ``shape``, in place: round, then clip, then shrink norms."""
    low, limit, total, reach = _bounds(shape)
    np.copyto(rows, 0.0, where=np.isnan(rows))
    make_whole(rows)
    np.clip(rows, low, limit, out=rows)
    if total >= 0:
        sizes = add_up(np.abs(rows) if shape.signed else rows)
        _shrink(rows, sizes, total, shape.width)
    if reach >= 0:
        _shrink(rows, np.sqrt(add_up(rows * rows)), reach, shape.width)
    return rows


def _bounds(shape: Shape) -> tuple[float, float, float, float]:
    """The least and largest number, and the largest l1 and l2 norm of a row.

    A norm that the limit alone bounds is -1: there is nothing to be done about it.
    """
    total = reach = -1.0
    if shape.total < shape.width * shape.limit:
        total = float(shape.total)
    if shape.square < min(shape.width * shape.limit**2, shape.total * shape.limit):
        reach = float(int(np.sqrt(np.float64(shape.square)) * (1 - 2.0**-40)))
    limit = float(shape.limit)
    return -limit if shape.signed else 0.0, limit, total, reach


def add_up(numbers: Floats) -> Floats:
    """Each row's numbers added up in a fixed order.

    ``sum(axis=0)`` takes another order for a single row than for several, so a row's
    sum could depend, in the last bit, on whether another row is there.
    """
    total = numbers[0].copy()
    for part in numbers[1:]:
        total += part
    return total


def _shrink(rows: Floats, norms: Floats, bound: float, width: int) -> None:
    """Scale rows of too large a norm down, toward zero; ``width`` covers rounding."""
    over = norms > bound
    if not over.any():
        return
    np.multiply(rows, max(bound - width, 0), out=rows, where=over)
    np.divide(rows, norms, out=rows, where=over)
    np.trunc(rows, out=rows, where=over)


def empty(asked: Bound) -> list[Ints]:
    """The answer for a table without rows, or one of its form."""
    if not asked.blocks:
        return [asked.query.empty(asked.domain)]
    return [np.zeros((asked.cells, b.width), dtype=np.int64) for b in asked.blocks]


def merge(asked: Bound, first: list[Ints], second: list[Ints]) -> list[Ints]:
    """The answer for two parts of a table together."""
    combine = add if asked.blocks else asked.query.merge
    return [combine(a, b) for a, b in zip(first, second, strict=True)]


def add(first: Ints, second: Ints) -> Ints:
    """Whole numbers added up, however large: past 64 bits they are Python's own."""
    if first.dtype == object or second.dtype == object:
        return first.astype(object) + second.astype(object)
    total = first + second
    if (((first ^ total) & (second ^ total)) < 0).any():  # one of them has wrapped
        return first.astype(object) + second.astype(object)
    return total


def checked(asked: Bound, found: list[Ints]) -> list[Ints]:
    """What an engine found, if it has the form of an answer; else a failure.

    Noise fits whole numbers in a table of a known size. Where the number of rows is
    public, no sum can be larger than so many rows make it.
    """
    rows = asked.domain.rows if asked.domain.neighbours == "replace" else None
    if not asked.blocks:
        return [_whole_table(table) for table in found]
    for part, table in zip(asked.blocks, found, strict=True):
        if _whole_table(table).shape != (asked.cells, part.width):
            raise ValueError("an engine returned a table of another size.")
        if rows is not None and isinstance(asked.query, Sum):
            most = _largest(part) * rows * asked.domain.rows_per_person
            if table.size and (table.max() > most or table.min() < -most):
                raise ValueError("an engine returned more than the rows add up to.")
    return found


def _whole_table(table: Ints) -> Ints:
    whole = isinstance(table, np.ndarray) and table.dtype in (np.int64, object)
    if not whole or (
        table.dtype == object and not all(isinstance(one, int) for one in table.flat)
    ):
        raise ValueError("an engine returned something other than whole numbers.")
    return table


def _largest(part: BoundBlock) -> int:
    """The largest number that one row can be in a sum."""
    limit, form = part.shape.limit, part.block.form
    return limit**2 if form == "gram" else 2 * limit if form == "pair" else limit


def narrowed(sums: Ints) -> Ints:
    """Whole numbers of any size in 64 bits, if all of them fit."""
    fits = all(-(1 << 63) <= number < 1 << 63 for number in sums.flat)
    return sums.astype(np.int64) if fits else sums


def bounded(sums: Ints) -> Ints:
    """Sums cut to 63 bits: no two tables' sums come farther apart by that."""
    if sums.dtype != object:
        return sums
    return np.clip(sums, -(1 << 62), 1 << 62).astype(np.int64)


def shown(noisy: Ints) -> Ints:
    """Noisy sums as they leave: in 64 bits, or as floats where they are too large."""
    if noisy.dtype != object:
        return noisy
    narrow = narrowed(noisy)
    return narrow.astype(np.float64) if narrow.dtype == object else narrow


def fold(asked: Bound, batch: Batch, length: int) -> list[Ints]:
    """The exact sums of one batch, one (cells x width) table for each block."""
    with np.errstate(all="ignore"):  # a warning would tell what is in the rows
        return _fold(asked, batch, length)


def _fold(asked: Bound, batch: Batch, length: int) -> list[Ints]:
    if not asked.blocks:
        return [asked.query.fold(batch, length, asked.domain)]
    work = _work_of(asked)
    fast = compiled.loops(length * work.width)
    if fast is not None:
        found = work.added(batch, length)
        if found is not None:
            return found
    program, columns = work.programs(batch, length)
    made = program.numbers(columns, length) if program.width else None
    cells = _Cells(work.place(batch, made), asked.cells, length, fast)
    return [work.sums(k, batch, made, cells) for k in range(len(asked.blocks))]


def routed(place: Ints, count: int) -> Ints:
    """Return cell codes with codes outside ``0..count-1`` replaced by ``count``."""
    return np.where((place >= 0) & (place < count), place, count)


class _Work:
    """The row functions of one question, as one program, and what is done with it.

    ``lines`` are the lines of each block in the program; None for a block whose map is
    not a row function. ``cell`` says that line 0 is the cell of a row. ``codes`` are
    the sizes of the codes of a block that counts codes.
    """

    def __init__(self, asked: Bound) -> None:
        self.asked, self.domain = asked, asked.domain
        self.cells = asked.query.cells
        self.cell = isinstance(self.cells, RowCells) and self.cells.of_rows()
        self.width = sum([part.shape.width for part in asked.blocks])
        self.lines: list[slice | None] = []
        self.codes: list[tuple[int, ...]] = []
        self.program = trace(lambda row: self._values(row, self.lines, self.codes))
        self.simple = _simple_loops(asked, self.program)
        self._tables = self._of_blocks()
        self._kept: tuple[Program, Program] | bool | None = False
        self.counted = any(
            part.block.form == "pair" or isinstance(part.block.features, Ones)
            for part in asked.blocks
        )

    def _values(
        self, row: Row, lines: list[slice | None], codes: list[tuple[int, ...]]
    ) -> list[Value]:
        """Return the cell and the numbers of a row; note which block has which."""
        out: list[Value] = []
        if self.cell:
            out.append(self.cells.row_cell(row, self.domain))
        for part in self.asked.blocks:
            found, sizes = self._of_block(part, row)
            lines.append(slice(len(out), len(out) + len(found)) if found else None)
            codes.append(sizes)
            out += found
        return out

    def _of_block(
        self, part: BoundBlock, row: Row
    ) -> tuple[Sequence[Value], tuple[int, ...]]:
        """Return the values of a block, and the sizes of codes if they are codes."""
        features, shape = part.block.features, part.shape
        sizes: tuple[int, ...] = ()
        if isinstance(features, RowFeatures) and features.of_rows():
            found = features.row_numbers(row, self.domain)
            width = len(found)
        elif isinstance(features, RowCodes) and part.block.form == "linear":
            codes = features.row_codes(row, self.domain)
            found, sizes = [code for code, _ in codes], tuple(n for _, n in codes)
            width = sum(sizes)
            # No number is above the limit, all together are no more than the total.
            if len(codes) > min(shape.total, shape.square) or shape.limit < 1:
                raise ValueError("a map gave more codes than it promised.")
        else:
            return [], ()
        if width != shape.width:
            raise ValueError("a map gave numbers of another form than it promised.")
        return found, sizes

    def _of_blocks(self) -> tuple[Ints, Floats] | None:
        """Return lines and bounds of blocks, if one compiled loop can add all of them.

        It knows counts, counts of codes, and sums and pairs of row functions.
        """
        blocks, bounds, at = [], [], 0
        every = zip(self.asked.blocks, self.lines, self.codes, strict=True)
        for part, lines, codes in every:
            if isinstance(part.block.features, Ones):
                continue
            if lines is None or part.block.form == "gram":
                return None
            if codes:
                for line, size in enumerate(codes, start=lines.start):
                    blocks.append((line, line + 1, at, size))
                    at += size
            else:
                blocks.append((lines.start, lines.stop, at, 0))
                at += part.shape.width
            bounds += [_bounds(part.shape)] * (len(codes) or 1)
        found = np.array(blocks, dtype=np.int64).reshape(-1, 4)
        return found, np.array(bounds, dtype=np.float64).reshape(-1, 4)

    def added_by_loop(self) -> bool:
        """Return True if one compiled loop adds up all blocks."""
        return self._tables is not None

    def place(self, batch: Batch, made: Floats | None) -> Ints | None:
        """Return the cell of each row; None where all are in the first."""
        if isinstance(self.cells, Everyone):
            return None
        if self.cell and made is not None:
            return whole_cells(made[0])
        return self.cells.codes(batch, self.domain)

    def sums(self, k: int, batch: Batch, made: Floats | None, cells: _Cells) -> Ints:
        """Return the sums of a block."""
        part, lines, codes = self.asked.blocks[k], self.lines[k], self.codes[k]
        if isinstance(part.block.features, Ones):
            return _count_form(cells.tally(), part.block.form)
        if lines is None or made is None:
            rows = part.block.features.rows(batch, self.domain)
        elif codes:
            found = zip(made[lines], codes, strict=True)
            return np.hstack([cells.codes(line, size) for line, size in found])
        else:
            rows = made[lines]
        return _block(part, rows, cells)

    def programs(self, batch: Batch, length: int) -> tuple[Program, Batch]:
        """Return the program to run, and the columns that it reads.

        Where a fit holds what its questions have in common, that is read and not
        worked out again.
        """
        if not isinstance(batch, WithCache) or not batch.cache.keeps_whole_rows():
            return self.program, batch
        if self._kept is False:
            # Lists of its own: other threads read those of this question.
            self._kept = trace_kept(lambda row: self._values(row, [], []))
        if not isinstance(self._kept, tuple):
            return self.program, batch
        first, rest = self._kept

        def fill(out: Floats) -> None:
            first.fill(batch, length, out)

        (lines,) = held_rows(batch, first.key(), [(first.width, length)], fill)
        kept = {kept_name(k): line for k, line in enumerate(lines)}
        return rest, {**batch, **kept}

    def added(self, batch: Batch, length: int) -> list[Ints] | None:
        """Return the sums of a batch by one compiled loop, or None if none fits."""
        if self._tables is None:
            return None
        fast = compiled.load(PROGRAM_LOOPS)
        if fast is None:
            return None
        count, (blocks, bounds) = self.asked.cells, self._tables
        place = _EVERYONE
        if not self.cell and not isinstance(self.cells, Everyone):
            codes = self.cells.codes(batch, self.domain).astype(np.int64, copy=False)
            place = compiled.plain(codes, length)
        width = self.width - sum(
            isinstance(part.block.features, Ones) for part in self.asked.blocks
        )
        out = np.zeros((width, count + 1), dtype=np.int64)
        tally = np.zeros(count + 1 if self.counted else 0, dtype=np.int64)
        program, batch = self.programs(batch, length)
        columns, held = program.addresses(batch, length)
        if self.simple is None:
            how = columns, length, place, self.cell, blocks, bounds
            fast.add_rows(program.arrays(), *how, tally, out)
        else:
            for loop, column, facts, lines in self.simple:
                add = getattr(compiled.loops(0), loop)
                add(held[column], *facts, *bounds[0], place, out[lines])
            tally[:1] = length
        return self._parts(tally[:count], out[:, :count].T)

    def _parts(self, tally: Ints, sums: Ints) -> list[Ints]:
        found, at = [], 0
        for part in self.asked.blocks:
            if isinstance(part.block.features, Ones):
                found.append(_count_form(tally, part.block.form))
                continue
            own = sums[:, at : at + part.shape.width]
            at += part.shape.width
            found.append(_in_form(own, tally, part))
        return found


_Simple = tuple[str, int, tuple[float, ...], slice]  # loop, column, facts, lines


def _simple_loops(asked: Bound, program: Program) -> list[_Simple] | None:
    """Return the loops that do what a program of one block does, in one go each.

    They are for the two kinds of questions that are asked most: scaled columns, and
    the three polynomials of one column. They clamp what they add, like all others.
    """
    if len(asked.blocks) != 1 or not isinstance(asked.query.cells, Everyone):
        return None
    constants, bounds = program.constants.tolist(), _bounds(asked.blocks[0].shape)
    facts = quadratic_of(program)
    if facts is not None:
        return [("add_quadratic", 0, facts, slice(0, 3))]
    if program.width > 1 and max(bounds[2:]) >= 0:
        return None  # a loop over one column does not know the norm of a whole row
    out: list[_Simple] = []
    within: dict[int, tuple[int, float, float]] = {}
    for operation, target, a, b, c in program.code.tolist():
        if operation == BETWEEN and a < 0:
            within[target] = a, constants[b], constants[c]
        elif operation == SHIFT_SCALE and (a < 0 or a in within):
            column, *ends = within.pop(a, (a, -math.inf, math.inf))
            facts, line = (
                (-constants[b], constants[c], *ends),
                slice(target, target + 1),
            )
            out.append(("add_scaled", -1 - column, facts, line))
        else:
            return None
    return out if len(out) == program.width and not within else None


def _work_of(asked: Bound) -> _Work:
    """Return how a question is folded, worked out once for all batches."""
    if "work" not in asked.kept:
        asked.kept["work"] = _Work(asked)
    work: _Work = asked.kept["work"]
    return work


class _Cells:
    """The cells of a batch: sums and counts by them, compiled or not."""

    def __init__(self, place: Ints | None, count: int, length: int, fast: Any) -> None:
        self.count, self.fast, self._length = count, fast, length
        self.place = place
        if place is not None:
            place = routed(place, count).astype(np.int64, copy=False)
            self.place = place if fast is None else compiled.plain(place, length)
        self._tally: Ints | None = None

    def tally(self) -> Ints:
        """Return the number of rows in each cell."""
        if self._tally is None:
            if self.place is None:
                self._tally = np.array([self._length], dtype=np.int64)
            else:
                counts = np.bincount(self.place, minlength=self.count + 1)
                self._tally = counts[: self.count]
        return self._tally

    def codes(self, numbers: Floats, size: int) -> Ints:
        """Return how many rows of each cell have each of ``size`` codes."""
        code = routed(whole_cells(numbers), size)
        place = np.zeros_like(code) if self.place is None else self.place
        both = np.bincount(
            place * (size + 1) + code, minlength=(self.count + 1) * (size + 1)
        )
        return both.reshape(-1, size + 1)[: self.count, :size]

    def sums(self, rows: Floats, shape: Shape) -> Ints:
        """Return the sums of clamped rows in each cell; ``rows`` is written over."""
        rows = _fitting(rows, shape.width, self._length)
        if self.fast is None:
            clamp(rows, shape)
            if self.place is None:
                return rows.sum(axis=1)[None, :].astype(np.int64)
            return _by_cell(rows, self.place, self.count).astype(np.int64)
        place = _EVERYONE if self.place is None else self.place
        out = np.zeros((shape.width, self.count + 1), dtype=np.int64)
        self.fast.add_clamped(rows, *_bounds(shape), place, out)
        return out[:, : self.count].T


def held(asked: Bound) -> int:
    """Return how many numbers of a row are held at once; 0 if a loop adds them up."""
    work = _work_of(asked)
    numbers = 0 if work.cell or isinstance(work.cells, Everyone) else 1
    if work.added_by_loop():
        return numbers
    return numbers + work.width


def _fitting(rows: Floats, width: int, length: int) -> Floats:
    """Return rows in one piece, to be written over: maps return fresh ones."""
    if rows.shape != (width, length):
        raise ValueError("a map gave numbers of another form than it promised.")
    return np.ascontiguousarray(rows, dtype=np.float64)


_EVERYONE = compiled.plain(np.empty(0, dtype=np.int64), 0)


def _block(part: BoundBlock, rows: Floats, cells: _Cells) -> Ints:
    block, shape = part.block, part.shape
    if block.form == "gram":
        return _gram(_clamped(rows, shape, cells), cells)
    return _in_form(cells.sums(rows, shape), cells.tally(), part)


def _in_form(whole: Ints, tally: Ints, part: BoundBlock) -> Ints:
    """Return sums, or the pairs of sums of M + q and M - q for the limit M."""
    if part.block.form == "linear":
        return whole
    base = tally[:, None] * np.int64(part.shape.limit)
    return np.stack([base + whole, base - whole], axis=2).reshape(len(whole), -1)


def _clamped(rows: Floats, shape: Shape, cells: _Cells) -> Floats:
    rows = _fitting(rows, shape.width, rows.shape[1])
    if cells.fast is None:
        return clamp(rows, shape)
    cells.fast.clamp(rows, *_bounds(shape))
    return rows


def _by_cell(rows: Floats, place: Ints, count: int) -> Floats:
    """Sums of whole numbers by cell; exact either way, so the quicker one is taken."""
    if count <= 32 and len(rows) >= 4:
        member = (place[:, None] == np.arange(count)).astype(np.float64)
        return (rows @ member).T
    parts = [np.bincount(place, weights=r, minlength=count + 1)[:count] for r in rows]
    return np.stack(parts, axis=1)


def _count_form(tally: Ints, form: Form) -> Ints:
    """Sums of forms of the constant 1."""
    tally = tally.astype(np.int64)[:, None]
    return np.hstack([2 * tally, 0 * tally]) if form == "pair" else tally


def _gram(rows: Floats, cells: _Cells) -> Ints:
    upper, count = np.triu_indices(rows.shape[0]), cells.count
    if cells.place is not None and count == 1:  # a row elsewhere adds nothing
        rows = rows if not cells.place.any() else rows * (cells.place == 0)
    if cells.place is None or count == 1:
        return (rows @ rows.T)[upper].astype(np.int64)[None, :]
    place = routed(cells.place, count)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(count + 1))
    rows = rows[:, order]
    out = np.empty((count, upper[0].size), dtype=np.int64)
    for cell in range(count):
        part = rows[:, ends[cell] : ends[cell + 1]]
        out[cell] = (part @ part.T)[upper]
    return out
