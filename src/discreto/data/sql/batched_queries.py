"""Several questions as one query, where they do not depend on each other.

Questions of one cell, or of a few, become sums of their own in one selection: what is
in another cell counts 0. Questions with the same many cells share one grouping. The
rest is asked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw

from discreto.core.query import Bound, Everyone, Ints, Sum
from discreto.data.sql import Untranslated
from discreto.data.sql.cells import cell_of
from discreto.data.sql.columns import Columns, Expr
from discreto.data.sql.sql_terms import either, whole
from discreto.data.sql.sums import SumQuery, column_of, form_of, terms_of

FEW = 64  # sums of a question whose cells are told apart in one selection
MOST = 256  # sums of such a selection
Make = Callable[[Sequence[str]], Columns]


class SelectQuery:
    """One selection that gives the exact sums of several questions."""

    def __init__(self, several: Sequence[Bound], rows: Columns) -> None:
        self._several, self._backend = several, rows.backend
        self._sums: dict[str, Expr] = {}
        self._names: list[list[tuple[str, list[list[list[str]]]]]] = []
        found: list[tuple[Bound, Expr | None, list[list[Expr]]]] = []
        for asked in several:
            cells, cell = asked.query.cells, None
            if not isinstance(cells, Everyone):
                cell = rows.apart(partial(cell_of, cells, rows))
            terms = [rows.apart(partial(terms_of, part, rows)) for part in asked.blocks]
            found.append((asked, cell, terms))
        for asked, cell, terms in found:
            every = [None] if cell is None else [cell == k for k in range(asked.cells)]
            self._names.append([self._cell(inside, terms) for inside in every])
        self.plan = rows.backend.prepare(rows.frame.select(**self._sums))

    def _cell(
        self, inside: Expr | None, blocks: list[list[Expr]]
    ) -> tuple[str, list[list[list[str]]]]:
        """The names of a cell's count and of its sums, block by block."""
        if inside is None:
            (count,) = self._named([nw.len()])
        else:
            ones = either(inside, whole(1), whole(0)).cast(nw.Int64)
            (count,) = self._named([ones.sum()])
        out = []
        for terms in blocks:
            names = []
            for term in terms:
                one = term if inside is None else either(inside, term, whole(0))
                names.append(self._named(self._backend.wide(one)))
            out.append(names)
        return count, out

    def _named(self, exprs: Sequence[Expr]) -> list[str]:
        names = [f"s{len(self._sums) + i}" for i in range(len(exprs))]
        self._sums |= dict(zip(names, exprs, strict=True))
        return names

    def run(self) -> list[list[Ints]]:
        """The exact sums of each question."""
        found = self._backend.collect(self.plan)
        return [
            self._answer(asked, names, found)
            for asked, names in zip(self._several, self._names, strict=True)
        ]

    def _answer(
        self, asked: Bound, names: list[Any], found: dict[str, list[Any]]
    ) -> list[Ints]:
        cells = list(range(asked.cells))
        counts = [found[count][0] for count, _ in names]
        tally = column_of(cells, counts, asked.cells)
        out = []
        for b, part in enumerate(asked.blocks):
            many = len(names[0][1][b])
            sums = []
            for t in range(many):
                each = [self._sum(found, blocks[b][t]) for _, blocks in names]
                sums.append(column_of(cells, each, asked.cells))
            out.append(form_of(part, tally, sums))
        return out

    def _sum(self, found: dict[str, list[Any]], names: Sequence[str]) -> int:
        return self._backend.joined([int(found[name][0] or 0) for name in names])


@dataclass(frozen=True)
class Portion:
    """One query, and the places of the questions that it answers."""

    places: list[int]
    run: Callable[[], list[list[Ints]]]


def portions_of(
    several: Sequence[Bound],
    make: Make,
    translated: Callable[[Callable[[], Any]], Any],
) -> list[Portion]:
    """Few queries for several questions; what is in none is asked alone.

    No row is read here. ``translated`` says whether a database knows a query.
    """
    try:
        return _queries(several, list(range(len(several))), make, translated)
    except Untranslated:  # some have no translation, or there are too many at once
        known = [_translates(asked, make, translated) for asked in several]
        places = [place for place, translates in enumerate(known) if translates]
    with suppress(Untranslated):
        return _queries(several, places, make, translated)
    return []


def _queries(
    several: Sequence[Bound],
    places: list[int],
    make: Make,
    translated: Callable[[Callable[[], Any]], Any],
) -> list[Portion]:
    few, groups = _sorted_out(several, places)
    out = []
    for own in _portions(several, few):
        mine = [several[place] for place in own]
        query = translated(partial(_selected, mine, make))
        out.append(Portion(own, query.run))
    for own in groups:
        mine = [several[place] for place in own]
        query = translated(partial(_grouped, mine, make))
        out.append(Portion(own, partial(_parts, mine, query)))
    return out


def _translates(
    asked: Bound, make: Make, translated: Callable[[Callable[[], Any]], Any]
) -> bool:
    """Whether a query of its own answers a question."""
    with suppress(Untranslated):
        translated(lambda: SumQuery(asked, make(asked.columns)))
        return True
    return False


def _selected(several: Sequence[Bound], make: Make) -> SelectQuery:
    return SelectQuery(several, _rows(several, make))


def _rows(several: Sequence[Bound], make: Make) -> Columns:
    names = dict.fromkeys(name for asked in several for name in asked.columns)
    return make(list(names))


def _grouped(several: Sequence[Bound], make: Make) -> SumQuery:
    first, *more = several
    return SumQuery(first, _rows(several, make), more)


def _parts(several: Sequence[Bound], query: SumQuery) -> list[list[Ints]]:
    tables, out, start = query.run(), [], 0
    for asked in several:
        out.append(tables[start : start + len(asked.blocks)])
        start += len(asked.blocks)
    return out


def _width(asked: Bound) -> int:
    """How many sums a selection needs for a question."""
    return asked.cells * (1 + sum(part.width for part in asked.blocks))


def _sorted_out(
    several: Sequence[Bound], places: list[int]
) -> tuple[list[int], list[list[int]]]:
    """Questions with few sums, and groups of questions with the same cells."""
    few: list[int] = []
    groups: dict[Any, list[int]] = {}
    for place in places:
        asked = several[place]
        if not isinstance(asked.query, Sum):
            continue
        if isinstance(asked.query.cells, Everyone) or _width(asked) <= FEW:
            few.append(place)
        else:
            groups.setdefault(asked.query.cells, []).append(place)
    return few, [places for places in groups.values() if len(places) > 1]


def _portions(several: Sequence[Bound], places: list[int]) -> list[list[int]]:
    """Questions in portions of a bounded number of sums."""
    out: list[list[int]] = []
    total = MOST
    for place in places:
        width = _width(several[place])
        if total + width > MOST:
            out.append([])
            total = 0
        out[-1].append(place)
        total += width
    return [portion for portion in out if len(portion) > 1]
