"""Bound questions as one query: numbers are clamped, added up by cell, and counted.

Questions with the same cells share one grouping. Questions of one cell, or of a few,
become sums of their own in one selection: a row in another cell counts 0. The same
statement counts the rows that it folds and those of the table, and finds the largest
number of rows of one person. The core compares them (``core.query_fold``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.aggregate import _bounds
from discreto.core.query import (
    Bound,
    BoundBlock,
    Derived,
    Everyone,
    Ones,
    Shape,
    Sum,
)
from discreto.core.query_fold import CellSums, Portion, RowCounts
from discreto.data.sql import Untranslated
from discreto.data.sql.cell_maps import cell_of
from discreto.data.sql.columns import Columns
from discreto.data.sql.maps import numbers_of
from discreto.data.sql.row_language import Expr, added, either, real, whole
from discreto.data.sql.stages import check_row_local

MOST_SUMS = 1500  # of one query: PostgreSQL has a limit of 1,664 columns
FEW = 64  # sums of a question whose cells are told apart in one selection
MOST = 256  # sums of such a selection
Names = list[list[list[str]]]  # by block and number: the parts of a sum
Make = Callable[[Sequence[str]], Columns]
Translated = Callable[[Callable[[], Any]], Any]


def clamp(numbers: list[Expr], shape: Shape, rows: Columns) -> list[Expr]:
    """Return whole numbers within a shape, as ``core.aggregate.clamp`` does.

    It comes last, whatever a translation has returned. A null becomes a number within
    the shape, too.
    """
    if len(numbers) != shape.width:
        raise ValueError("a translation gave another number of numbers than its map.")
    low, limit, total, reach = _bounds(shape)
    nearest = [(x + real(0.5)).floor() for x in numbers]
    if total < 0 and reach < 0:  # the limit alone bounds both norms
        cut = [nw.min_horizontal(x, real(limit)) for x in nearest]
        return [nw.max_horizontal(x, real(low)) for x in cut]
    out = [_clipped(x, low, limit) for x in rows.let(nearest)]
    if total >= 0:
        out = rows.let(out)
        (size,) = rows.let([added([x.abs() if shape.signed else x for x in out])])
        out = [_shrunk(x, size, total, shape.width) for x in out]
    if reach >= 0:
        out = rows.let(out)
        (square,) = rows.let([added([x * x for x in out])])
        (size,) = rows.let([square.sqrt()])
        out = [_shrunk(x, size, reach, shape.width) for x in out]
    return out


def _clipped(x: Expr, low: float, limit: float) -> Expr:
    """Return a number within two ends; null, which compares as false, is ``low``."""
    return either(x >= real(low), either(x <= real(limit), x, real(limit)), real(low))


def _shrunk(x: Expr, size: Expr, bound: float, width: int) -> Expr:
    """Return a number, scaled toward zero if the norm of its row is too large."""
    less = x * real(max(bound - width, 0)) / nw.max_horizontal(size, real(1.0))
    toward = either(x < 0, less.ceil(), less.floor())
    return either(size > bound, toward, x)


def terms_of(part: BoundBlock, rows: Columns) -> list[Expr]:
    """Return what is summed: a block's clamped numbers, or their products."""
    if isinstance(part.block.features, Ones):
        return []
    numbers = clamp(numbers_of(part.block.features, rows), part.shape, rows)
    if part.block.form == "gram":
        # Short whole numbers: a product has 31 bits, which all engines multiply
        # exactly.
        short = rows.let([number.cast(nw.Int32) for number in numbers])
        places = zip(*np.triu_indices(len(short)), strict=True)
        numbers = [short[i] * short[j] for i, j in places]
    return numbers


class SumQuery:
    """One query that gives the exact sums of several questions, and counts rows.

    All of them have the same cells, or few cells each.
    """

    def __init__(self, several: Sequence[Bound], rows: Columns) -> None:
        for asked in several:
            if not isinstance(asked.query, Sum):
                query = asked.query
                what = query.function if isinstance(query, Derived) else query
                raise Untranslated(type(what).__name__)
        if sum(part.width for one in several for part in one.blocks) > MOST_SUMS:
            raise Untranslated(f"a question of more than {MOST_SUMS} sums")
        self._several, self._backend = several, rows.backend
        cells: dict[Any, Expr | None] = {one.query.cells: None for one in several}
        self._grouped = len(cells) == 1 and _groups(several)
        for one in cells:
            cells[one] = rows.apart(partial(_cell, one, rows))
        terms = [
            [rows.apart(partial(terms_of, part, rows)) for part in one.blocks]
            for one in several
        ]
        self._sums: dict[str, Expr] = {"rows": nw.len()}
        if rows.person is not None:
            self._sums["person"] = rows.person.max()
        self._names: list[list[tuple[str, Names]]] = []
        if self._grouped:
            self._names = [[self._added(None, blocks)] for blocks in terms]
            (cell,) = cells.values()
            frame = self._by_cell(cell, several[0].cells, rows)
        else:
            for asked, blocks in zip(several, terms, strict=True):
                cell = cells[asked.query.cells]
                each = [rows.inside]
                if cell is not None:
                    each = [_both(cell == k, rows.inside) for k in range(asked.cells)]
                self._names.append([self._added(inside, blocks) for inside in each])
            frame = rows.frame.select(**self._sums)
        self.plan = rows.backend.prepare(_beside_table(frame, rows))

    def _by_cell(self, cell: Expr | None, count: int, rows: Columns) -> Any:
        """Return sums by cell; rows in no cell have cell -1, so that they count."""
        cell = whole(0) if cell is None else cell
        inside = _both((cell >= 0) & (cell < count), rows.inside)
        place = either(inside, cell, whole(-1)).cast(nw.Int64)
        frame = rows.frame.with_columns(cell=place)
        return frame.group_by("cell").agg(**self._sums)

    def _added(
        self, inside: Expr | None, blocks: list[list[Expr]]
    ) -> tuple[str, Names]:
        """Add up rows that are inside, and return the names of the count and sums."""
        count = "rows"
        names: Names = []
        if inside is not None:
            ones = either(inside, whole(1), whole(0)).cast(nw.Int64)
            (count,) = self._named([ones.sum()])
        for terms in blocks:
            names.append([])
            for term in terms:
                check_row_local(term)
                one = term if inside is None else either(inside, term, whole(0))
                names[-1].append(self._named(self._backend.wide(one)))
        return count, names

    def _named(self, exprs: Sequence[Expr]) -> list[str]:
        names = [f"s{len(self._sums) + i}" for i in range(len(exprs))]
        self._sums |= dict(zip(names, exprs, strict=True))
        return names

    def run(self) -> tuple[RowCounts, list[CellSums]]:
        """Ask the database once, and return counts of rows and sums by cell."""
        found = self._backend.collect(self.plan)
        most = [int(one or 0) for one in found.get("person", [])]
        folded = sum(int(one or 0) for one in found["rows"])
        rows = RowCounts(folded, int(found["table"][0]), max(most, default=None))
        out = []
        for names in self._names:
            lines, cells, each = [0] * len(names), list(range(len(names))), names
            if self._grouped:  # a line for each cell; without rows one empty line
                lines = [i for i, c in enumerate(found["cell"]) if _is_cell(c)]
                cells = [int(found["cell"][i]) for i in lines]
                each = names * len(lines)
            counts: list[int] = []
            sums: list[list[list[int]]] = [[[] for _ in b] for b in names[0][1]]
            for (count, blocks), line in zip(each, lines, strict=True):
                counts.append(int(found[count][line] or 0))
                for own, terms in zip(sums, blocks, strict=True):
                    for column, parts in zip(own, terms, strict=True):
                        numbers = [int(found[name][line] or 0) for name in parts]
                        column.append(self._backend.joined(numbers))
            out.append(CellSums(cells, counts, sums))
        return rows, out


def _is_cell(cell: Any) -> bool:
    return cell is not None and cell >= 0


def _both(first: Expr, second: Expr | None) -> Expr:
    return first if second is None else first & second


def _cell(cells: Any, rows: Columns) -> Expr | None:
    """Return the cell of each row; None if all rows are in one cell."""
    if isinstance(cells, Everyone):
        return None
    (cell,) = rows.let([cell_of(cells, rows)])
    return cell


def _groups(several: Sequence[Bound]) -> bool:
    """Return True if questions with the same cells are grouped by these cells."""
    if isinstance(several[0].query.cells, Everyone):
        return False
    return len(several) == 1 or _width(several[0]) > FEW


def _beside_table(frame: Any, rows: Columns) -> Any:
    """Return a query with the row count of the table, from the same statement.

    The count stands on the left: it is there even if the table has no rows.
    """
    table = rows.backend.frame.select(table=nw.len()).with_columns(key=whole(0))
    return table.join(frame.with_columns(key=whole(0)), on="key", how="left")


def portions_of(
    several: Sequence[Bound], make: Make, translated: Translated
) -> list[Portion]:
    """Return few queries for several questions; what is in none is asked alone.

    No row is read here. ``translated`` says whether a database knows a query.
    """

    def queries(places: list[int]) -> list[Portion]:
        return [
            Portion(own, translated(partial(query_of, [several[i] for i in own], make)))
            for own in _together(several, places)
        ]

    def alone(asked: Bound) -> bool:
        with suppress(Untranslated):
            translated(partial(query_of, [asked], make))
            return True
        return False

    try:
        return queries(list(range(len(several))))
    except Untranslated:  # some have no translation, or there are too many at once
        places = [place for place, asked in enumerate(several) if alone(asked)]
    with suppress(Untranslated):
        return queries(places)
    return []


def query_of(several: Sequence[Bound], make: Make) -> SumQuery:
    """Return one query for questions that fit into one."""
    names = dict.fromkeys(name for asked in several for name in asked.columns)
    return SumQuery(several, make(list(names)))


def _width(asked: Bound) -> int:
    """Return how many sums a selection needs for a question."""
    return asked.cells * (1 + sum(part.width for part in asked.blocks))


def _together(several: Sequence[Bound], places: list[int]) -> list[list[int]]:
    """Return portions of questions with few sums, and groups with the same cells."""
    portions: list[list[int]] = []
    groups: dict[Any, list[int]] = {}
    total = MOST
    for place in places:
        asked = several[place]
        if not isinstance(asked.query, Sum):
            continue
        width = _width(asked)
        if not isinstance(asked.query.cells, Everyone) and width > FEW:
            groups.setdefault(asked.query.cells, []).append(place)
            continue
        if total + width > MOST:
            portions.append([])
            total = 0
        portions[-1].append(place)
        total += width
    return [own for own in (*portions, *groups.values()) if len(own) > 1]
