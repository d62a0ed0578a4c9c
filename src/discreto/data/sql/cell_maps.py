"""Translations of cell maps: the cell of each row as an expression, -1 for none.

Each follows the map of the same name in :mod:`discreto.core.maps`, operation by
operation; ``tests/contract/test_engines.py`` keeps both bit for bit the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.maps import cells as core_cells
from discreto.core.maps import clusters
from discreto.core.maps._distances import whole_points
from discreto.core.maps.hyperplanes import Sides
from discreto.core.maps.margins import Margins
from discreto.core.maps.neighbors import GRID
from discreto.core.maps.row_partition import Within
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import Grid, Tree
from discreto.core.maps.unit_columns import Indicator, Term
from discreto.core.query import Everyone
from discreto.core.rounding import whole as whole_of
from discreto.data.sql import Untranslated
from discreto.data.sql.columns import Columns
from discreto.data.sql.row_language import (
    Expr,
    added,
    clip,
    either,
    real,
    search,
    table,
    whole,
)

_MOST_POINTS = 256  # centres that one query compares with


def cell_of(cells: Any, rows: Columns) -> Expr:
    """Return the cell of each row, or refuse and name the map."""
    translate = _TRANSLATIONS.get(type(cells))
    if translate is None:
        raise Untranslated(type(cells).__name__)
    return translate(cells, rows)


def _everyone(cells: Everyone, rows: Columns) -> Expr:
    return whole(0)


def _present(cells: core_cells.Present, rows: Columns) -> Expr:
    absent = rows.absent(cells.names[0])
    for name in cells.names[1:]:
        absent = absent | rows.absent(name)
    return either(absent, whole(-1), whole(0))


def _completeness(cells: core_cells.Completeness, rows: Columns) -> Expr:
    return either(
        _present(core_cells.Present(cells.names), rows) < 0, whole(1), whole(0)
    )


def _categories(cells: core_cells.Categories, rows: Columns) -> Expr:
    out, inside = whole(0), nw.lit(True)
    for name in cells.names:
        column, code = rows.domain.category(name), rows.code(name)
        gaps = column.missing and not cells.declared
        size = len(column.categories) + gaps
        if gaps:
            code = either(code < 0, whole(len(column.categories)), code)
        else:
            inside = inside & (code >= 0)
        out = out * size + code
    return either(inside, out, whole(-1))


def _bins(cells: core_cells.Bins, rows: Columns) -> Expr:
    low, high = cells.span(rows.domain.number(cells.name))
    place = rows.offset(cells.name, low) * real(cells.bins / (high - low))
    (place,) = rows.let([place.floor()])
    place = clip(place, 0, cells.bins - 1).cast(nw.Int64)
    return either(rows.absent(cells.name), whole(-1), place)


def _whole_groups(cells: core_cells.WholeGroups, rows: Columns) -> Expr:
    place = _bins(cells.bins(rows.domain), rows)
    last = whole(cells.count(rows.domain) - 1)
    return either(rows.absent(cells.name), last, place)


def _edges(cells: core_cells.Edges, rows: Columns) -> Expr:
    (value,) = rows.let([rows.tight(cells.name)])
    place = rows.place(value, cells.cuts)
    last = len(cells.cuts) + 1 if cells.gaps else -1
    return either(rows.absent(cells.name), whole(last), place)


def _magnitudes(cells: core_cells.Magnitudes, rows: Columns) -> Expr:
    (value,) = rows.let([rows.tight(cells.name)])
    (size,) = rows.let([value.abs()])
    reach = cells.reach()
    powers = [2.0 ** (cells.lowest + rank) for rank in range(reach)]
    (rank,) = rows.let([search(size, powers, whole, right=True)])
    place = either(value < 0, whole(reach) - rank, whole(reach) + rank)
    return either(rows.absent(cells.name), whole(-1), place)


def _cross(cells: core_cells.Cross, rows: Columns) -> Expr:
    first = rows.apart(lambda: cell_of(cells.first, rows))
    second = rows.apart(lambda: cell_of(cells.second, rows))
    first, second = rows.let([first, second])
    size, count = cells.second.count(rows.domain), cells.first.count(rows.domain)
    inside = (first >= 0) & (second >= 0) & (second < size) & (first < count)
    return either(inside, first.cast(nw.Int64) * size + second, whole(-1))


def _within(cells: Within, rows: Columns) -> Expr:
    parts = rows.apart(lambda: cell_of(cells.parts, rows))
    place = rows.apart(lambda: cell_of(cells.cells, rows))
    return either(parts == cells.number, place, whole(-1))


def unit_rows(
    names: tuple[Term, ...], rows: Columns, origins: tuple[float, ...] = ()
) -> list[Expr]:
    """Return the terms on [-1, 1], from their origins; missing numbers are at 0."""

    def make() -> list[Expr]:
        if not origins and all(isinstance(name, str) for name in names):
            return plain_rows(names, rows)
        out = []
        for i, name in enumerate(names):
            if isinstance(name, Indicator):
                x = indicator(name, rows)
                out.append(x - real(origins[i]) if origins else x)
                continue
            column = rows.domain.number(name)
            scaled = rows.offset(name, column.centre) * real(1 / column.half)
            x = clip(scaled, -1, 1)
            x = x - real(origins[i]) if origins else x
            out.append(either(rows.absent(name), real(0.0), x))
        return rows.let(out)

    return rows.remember(("unit", names, origins), make)


def plain_rows(names: Any, rows: Columns) -> list[Expr]:
    """Return Number columns on [-1, 1], missing values at 0."""
    out, loose = [], []
    for name in names:
        # What is missing is at the centre, which is 0 here.
        column = rows.domain.number(name)
        centre, factor = column.centre, 1 / column.half
        ends = [(end - centre) * factor for end in (column.lower, column.upper)]
        tight = ends == [-1.0, 1.0]
        out.append(rows.offset(name, centre, tight=tight) * real(factor))
        loose.append(not tight)
    made = rows.let(out)
    if not any(loose):
        return made
    pairs = zip(made, loose, strict=True)
    return rows.let([clip(x, -1, 1) if wide else x for x, wide in pairs])


def indicator(mark: Indicator, rows: Columns) -> Expr:
    """Return the size of an indicator in the rows of its category, else 0."""
    count = len(rows.domain.category(mark.column).categories)
    if mark.code == count:
        return either(rows.absent(mark.column), real(mark.size), real(0.0))
    return either(rows.code(mark.column) == mark.code, real(mark.size), real(0.0))


def gaps_of(names: tuple[Term, ...], rows: Columns) -> list[Expr | None]:
    """Return where each term is missing; None for terms that have no gaps."""
    return [
        rows.absent(name)
        if isinstance(name, str) and rows.domain.number(name).missing
        else None
        for name in names
    ]


def nothing_there(names: tuple[Term, ...], code: Expr, rows: Columns) -> Expr:
    """Return the cell of a row, or -1 where all of its terms are missing."""
    gaps = gaps_of(names, rows)
    absent = gaps[0]
    for gap in gaps[1:]:
        absent = None if absent is None or gap is None else absent & gap
    return code if absent is None else either(absent, whole(-1), code)


def nearest(names: tuple[Term, ...], centres: Any, rows: Columns) -> Expr:
    """Return the nearest centre over the terms that are there, the first of equals."""

    def make() -> Expr:
        if len(centres) > _MOST_POINTS:
            raise Untranslated(f"more than {_MOST_POINTS} centres")
        points, scale = whole_points(np.array(centres, dtype=float))
        gaps = gaps_of(names, rows)
        unit = unit_rows(names, rows)
        fine = rows.let([(x * real(scale) + real(0.5)).floor() for x in unit])
        far = []
        for point in points:  # whole numbers below 2^53: exact in any order
            terms = [x * real(-2 * p) for x, p in zip(fine, point, strict=True)]
            for gap, p in zip(gaps, point, strict=True):
                if gap is not None:
                    terms.append(either(gap, real(-(p**2)), real(0.0)))
            far.append(added(terms) + real(np.sum(point**2)))
        far = rows.let(far)
        (least,) = rows.let([nw.min_horizontal(*far) if len(far) > 1 else far[0]])
        out = whole(len(far) - 1)
        for number in range(len(far) - 2, -1, -1):
            out = either(far[number] <= least, whole(number), out)
        (code,) = rows.let([nothing_there(names, out, rows)])
        return code

    return rows.remember(("nearest", names, centres), make)


def from_nearest(names: tuple[Term, ...], centres: Any, rows: Columns) -> list[Expr]:
    """Return the way from the nearest centre; 0 along missing terms."""

    def make() -> list[Expr]:
        unit, gaps, out = unit_rows(names, rows), gaps_of(names, rows), []
        code = nearest(names, centres, rows) if len(centres) > 1 else None
        for column, x in enumerate(unit):
            shifts = [real(centre[column]) for centre in centres]
            shift = shifts[0] if code is None else table(code, shifts, real(0.0))
            gap = gaps[column]
            way = x - shift
            out.append(way if gap is None else either(gap, real(0.0), way))
        return rows.let(out)

    return rows.remember(("way", names, centres), make)


def norm_of(parts: list[Expr], norm: int, rows: Columns) -> Expr:
    """Return the l1 or l2 norm of each row, added up in order."""
    terms = [x.abs() for x in parts] if norm == 1 else [x * x for x in parts]
    (total,) = rows.let([added(terms)])
    return total if norm == 1 else total.sqrt()


def _nearest_cell(cells: clusters.Nearest, rows: Columns) -> Expr:
    return nearest(cells.names, cells.centres, rows)


def _rings(cells: clusters.Rings, rows: Columns) -> Expr:
    way = from_nearest(cells.names, cells.centres, rows)
    (size,) = rows.let([norm_of(way, cells.norm, rows)])
    (far,) = rows.let([rows.quotient(size, clusters.diameter(len(way), cells.norm))])
    place = search(far, cells.ends(), whole, right=False)
    return nothing_there(cells.names, place, rows)


def _sides(cells: Sides, rows: Columns) -> Expr:
    """Return the cell; sums are whole numbers below 2^53, exact in any order."""
    places = cells.fill or (0.0,) * len(cells.numbers)
    gaps = gaps_of(cells.numbers, rows)
    unit = unit_rows(cells.numbers, rows) if cells.numbers else []
    there = [
        x if gap is None else either(gap, real(place), x)
        for x, gap, place in zip(unit, gaps, places, strict=True)
    ]
    fine = [(x * real(GRID) + real(0.5)).floor() for x in there]
    fine = rows.let(fine) if fine else []
    cuts = list(zip(cells.weights, cells.marks, strict=True))
    different = list(dict.fromkeys(cuts))  # parallel cuts have one height
    heights = rows.let([_height(*cut, cells, fine, rows) for cut in different])
    ends = whole_of(np.array(cells.offsets, dtype=float) * GRID * GRID)
    upper = []
    for i, (cut, end) in enumerate(zip(cuts, ends, strict=True)):
        above = heights[different.index(cut)] > real(end)
        upper.append(either(above, whole(1 << (len(cuts) - 1 - i)), whole(0)))
    return added(upper)


def _height(
    weights: Any, marks: Any, cells: Sides, fine: list[Expr], rows: Columns
) -> Expr:
    """Return weighted numbers and categories, added up in steps of the grid."""
    steps = whole_of(np.array(weights, dtype=float) * GRID)
    terms = [x * real(w) for x, w in zip(fine, steps, strict=True)]
    for name, one in zip(cells.categories, marks, strict=True):
        sizes = whole_of(np.array(one, dtype=float) * GRID * GRID)
        terms.append(table(rows.code(name), [real(w) for w in sizes], real(0.0)))
    return added(terms)


def codes_of(grid: Grid, rows: Columns) -> list[Expr]:
    """Return the code of each column of a grid."""
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


def _margins(cells: Margins, rows: Columns) -> Expr:
    """Return the cell of the lead of the best class over the second best."""
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
    """Return the first class whose score is that large, other than ``but``."""
    out = whole(-1)
    for number in range(len(scores) - 1, -1, -1):
        here = scores[number] >= most
        if but is not None:
            here = here & (but != number)
        out = either(here, whole(number), out)
    return out


def _scores(of: Gradients, rows: Columns) -> list[Expr]:
    """Return the scores of a row, if every tree splits one column."""
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


_TRANSLATIONS: dict[type, Callable[[Any, Columns], Expr]] = {
    core_cells.Bins: _bins,
    core_cells.Categories: _categories,
    core_cells.Completeness: _completeness,
    core_cells.Cross: _cross,
    core_cells.Edges: _edges,
    Everyone: _everyone,
    core_cells.Magnitudes: _magnitudes,
    clusters.Nearest: _nearest_cell,
    core_cells.Present: _present,
    clusters.Rings: _rings,
    Sides: _sides,
    core_cells.WholeGroups: _whole_groups,
    Within: _within,
    Margins: _margins,
}
