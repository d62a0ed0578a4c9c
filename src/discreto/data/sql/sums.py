"""A bound question as one query: cells, whole numbers, sums by cell; then checked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core import aggregate
from discreto.core.query import Bound, BoundBlock, Everyone, Ints, Ones, Sum
from discreto.data.sql import Untranslated
from discreto.data.sql.cells import cell_of
from discreto.data.sql.columns import Columns, Expr
from discreto.data.sql.exponential_features import numbers_of

MOST_SUMS = 1500  # of one query: PostgreSQL has a limit of 1,664 columns


class SumQuery:
    """One query that gives the exact sums of a question.

    ``more`` questions of the same cells are answered by the same query: their tables
    come after its own.
    """

    def __init__(self, asked: Bound, rows: Columns, more: Sequence[Bound] = ()) -> None:
        if not isinstance(asked.query, Sum):
            function = getattr(asked.query, "function", asked.query)
            raise Untranslated(type(function).__name__)
        self._blocks = [part for one in (asked, *more) for part in one.blocks]
        if sum(part.width for part in self._blocks) > MOST_SUMS:
            raise Untranslated(f"a question of more than {MOST_SUMS} sums")
        self._asked, self._backend = asked, rows.backend
        self._alone = isinstance(asked.query.cells, Everyone)
        cells, cell = asked.query.cells, None
        if not self._alone:
            cell = rows.apart(lambda: cell_of(cells, rows))
        terms = [rows.apart(partial(terms_of, part, rows)) for part in self._blocks]
        sums: dict[str, Expr] = {"n": nw.len()}
        self._names: list[list[list[str]]] = []
        for block in terms:
            names = []
            for term in block:
                parts = rows.backend.wide(term)
                own = [f"s{len(sums) + i}" for i in range(len(parts))]
                sums |= dict(zip(own, parts, strict=True))
                names.append(own)
            self._names.append(names)
        if cell is None:
            frame = rows.frame.select(**sums)
        else:
            inside = rows.frame.with_columns(cell=cell.cast(nw.Int64))
            chosen = (nw.col("cell") >= 0) & (nw.col("cell") < asked.cells)
            frame = inside.filter(chosen).group_by("cell").agg(**sums)
        self.plan = rows.backend.prepare(frame)

    def run(self) -> list[Ints]:
        """The exact sums, one (cells x width) table for each block."""
        found = self._backend.collect(self.plan)
        cells = [0] * len(found["n"]) if self._alone else found["cell"]
        count = self._asked.cells
        tally = column_of(cells, found["n"], count)
        out = []
        for part, names in zip(self._blocks, self._names, strict=True):
            columns = [self._sums(found, own) for own in names]
            sums = [column_of(cells, column, count) for column in columns]
            out.append(form_of(part, tally, sums))
        return out

    def _sums(self, found: dict[str, list[Any]], names: Sequence[str]) -> list[int]:
        parts = [[int(value or 0) for value in found[name]] for name in names]
        return [self._backend.joined(one) for one in zip(*parts, strict=True)]


def terms_of(part: BoundBlock, rows: Columns) -> list[Expr]:
    """What is summed: a block's whole numbers, or their products."""
    if isinstance(part.block.features, Ones):
        return []
    numbers = numbers_of(part.block.features, part.shape, rows)
    if part.block.form != "gram":
        return numbers
    # Short whole numbers: a product has 31 bits, which all engines multiply exactly.
    numbers = rows.let([number.cast(nw.Int32) for number in numbers])
    places = zip(*np.triu_indices(len(numbers)), strict=True)
    return [numbers[i] * numbers[j] for i, j in places]


def column_of(cells: Sequence[Any], values: Sequence[Any], count: int) -> Ints:
    """One number for each cell; a cell that is not there has no rows."""
    out = np.zeros(count, dtype=object)
    if len(set(cells)) != len(cells):
        raise ValueError("a cell came twice.")
    for cell, value in zip(cells, values, strict=True):
        out[int(cell)] = int(value or 0)
    return out


def form_of(part: BoundBlock, tally: Ints, sums: list[Ints]) -> Ints:
    """The answer of a block, checked against what so many rows can add up to."""
    block, limit = part.block, part.shape.limit
    if isinstance(block.features, Ones):
        zero = 0 * tally
        columns = [2 * tally, zero] if block.form == "pair" else [tally]
    else:
        most = limit**2 if block.form == "gram" else limit
        least = -most if part.shape.signed else 0
        for column in sums:
            if (column > most * tally).any() or (column < least * tally).any():
                raise ValueError("a sum is beyond what its rows can add up to.")
        columns = sums
        if block.form == "pair":
            base = tally * limit
            columns = [made for one in sums for made in (base + one, base - one)]
    return aggregate.narrowed(np.stack(columns, axis=1))
