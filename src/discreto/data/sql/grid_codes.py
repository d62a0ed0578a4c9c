"""Translations of codes between cut points, and of scores that add up by code."""

from __future__ import annotations

import narwhals as nw

from discreto.core.domain.domain import Category
from discreto.core.maps.margins import Margins
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import Grid, Tree
from discreto.data.sql import Untranslated
from discreto.data.sql.columns import Columns, Expr, search, table
from discreto.data.sql.sql_terms import added, either, real, whole


def codes_of(grid: Grid, rows: Columns) -> list[Expr]:
    """The code of each column of a grid."""
    found = [
        _code(name, cuts, rows)
        for name, cuts in zip(grid.names, grid.cuts, strict=True)
    ]
    return rows.let(found)


def _code(name: str, cuts: tuple[float, ...], rows: Columns) -> Expr:
    column = rows.domain[name]
    if isinstance(column, Category):
        code = rows.code(name)
        return either(code < 0, whole(len(column.categories)), code)
    number = rows.domain.number(name)
    if cuts and not number.lower <= cuts[0] <= cuts[-1] < number.upper:
        raise Untranslated("cuts outside of the bounds of a column")
    # What is missing and may not be is at the centre.
    place = search(rows.tight(name), cuts, whole, right=False)
    if not number.missing:
        return place
    return either(rows.absent(name), whole(len(cuts) + 1), place)


def margin_cell(cells: Margins, rows: Columns) -> Expr:
    """The cell of a row's lead, as ``Margins`` says."""
    scores = _scores(cells.of, rows)
    (most,) = rows.let([nw.max_horizontal(*scores)])
    (best,) = rows.let([_first(scores, most, None)])
    others = [either(best == k, real(-1e300), score) for k, score in enumerate(scores)]
    (next_most,) = rows.let([nw.max_horizontal(*others)])
    (second,) = rows.let([_first(scores, next_most, best)])
    lead = most - next_most
    target = rows.code(cells.of.target)
    place, half = rows.let(
        [
            search(lead, cells.ends(), whole, right=True),
            either(
                target == best,
                whole(0),
                either(target == second, whole(cells.bins), whole(-1)),
            ),
        ]
    )
    return either(half < 0, whole(-1), half + place)


def _first(scores: list[Expr], most: Expr, but: Expr | None) -> Expr:
    """The first class whose score is that large, other than one."""
    out = whole(-1)
    for number in range(len(scores) - 1, -1, -1):
        here = scores[number] >= most
        if but is not None:
            here = here & (but != number)
        out = either(here, whole(number), out)
    return out


def _scores(of: Gradients, rows: Columns) -> list[Expr]:
    """The scores of a row, if every tree looks at one column."""
    codes = codes_of(of.grid, rows)
    terms: list[list[Expr]] = [[real(start)] for start in of.start]
    for tree in of.trees:
        for own, values in zip(terms, tree.table.tolist(), strict=True):
            own.append(_leaf_value(tree, values, codes))
    return rows.let([added(own) for own in terms])


def _leaf_value(tree: Tree, values: list[float], codes: list[Expr]) -> Expr:
    if not tree.features:
        return real(values[0])
    if len(tree.features) > 1:
        raise Untranslated("trees of several levels")
    by_code = [real(values[leaf]) for leaf in tree.routes[0]]
    return table(codes[tree.features[0]], by_code, real(0.0))
