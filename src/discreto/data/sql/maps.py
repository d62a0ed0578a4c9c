"""Translations of feature maps: the numbers of each row, which ``sums`` clamps.

Each follows the map of the same name in :mod:`discreto.core.maps`, operation by
operation and in the same order, so that no bit differs; ``tests/contract`` compares
them. A translation returns expressions about one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.exponentials import LEAST
from discreto.core.maps import clusters
from discreto.core.maps._distances import whole_points
from discreto.core.maps.code_counts import CodeCounts
from discreto.core.maps.features import SUM_BITS, Bernstein, Presence, Values, grid
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.margins import Margins
from discreto.core.maps.regression import (
    LogisticGradient,
    Scaled,
    SquaredGradient,
    cosines,
    grids,
)
from discreto.core.maps.simplex_features import Partition, SoftVotes, weights_of
from discreto.core.maps.unit_columns import Indicator
from discreto.core.rounding import whole as whole_of
from discreto.data.sql import Untranslated
from discreto.data.sql.cell_maps import (
    codes_of,
    from_nearest,
    gaps_of,
    indicator,
    norm_of,
    unit_rows,
)
from discreto.data.sql.columns import Columns
from discreto.data.sql.row_language import (
    Expr,
    added,
    clip,
    either,
    exps,
    logs,
    real,
    table,
)

_ONE = float(1 << SUM_BITS)
_VISIBLE = 2.0**-300


def _values(features: Values, rows: Columns) -> list[Expr]:
    steps = real(1 << features.bits)
    out = [steps] if features.constant else []
    for name in features.names:
        if isinstance(name, Indicator):
            out.append(indicator(name, rows) * steps)
            continue
        origin, half = grid(rows.domain.number(name), features.origin)
        factor = real((1 << features.bits) / half)
        if features.origin == "centre":  # there, what is missing is 0 anyway
            out.append(rows.offset(name, origin) * factor)
            continue
        # Around 0 the clamp would let through what is beyond the bound nearer to it.
        found = rows.offset(name, origin, tight=True) * factor
        out.append(either(rows.absent(name), real(0.0), found))
    return out


def _presence(features: Presence, rows: Columns) -> list[Expr]:
    return [either(rows.absent(n), real(0.0), real(1.0)) for n in features.names]


def _bernstein(features: Bernstein, rows: Columns) -> list[Expr]:
    out = [real(_ONE)]
    for name in features.names:
        column = rows.domain.number(name)
        x = rows.quotient(rows.offset(name, column.centre), column.half)
        (x,) = rows.let([x])
        (x,) = rows.let([clip(x, -1, 1)])  # what is missing is at the centre
        low, high = rows.let([(real(1.0) - x) / 2, (real(1.0) + x) / 2])
        basis = [low, high]
        if features.degree == 2:
            basis = [low * low, real(2.0) * low * high, high * high]
        out = rows.let([a * b for a in out for b in basis])
    return [x.floor() for x in out]


def _partition(features: Partition, rows: Columns) -> list[Expr]:
    numbers = [n for n in features.names if not _is_category(n, rows)]
    parts_of = _number_parts(numbers, rows) if numbers else {}
    out = []
    for name in features.names:
        absent, missing = rows.absent(name), rows.domain[name].missing  # type: ignore[union-attr]
        if name in parts_of:
            out += parts_of[name]
        else:
            count = len(rows.domain.category(name).categories)
            out += [_mark(rows.code(name) == code) for code in range(count)]
        if missing:
            out.append(_mark(absent))
    return out


def levels(names: list[str], rows: Columns) -> list[Expr]:
    """Return positions between the bounds, from 0 to 1; missing values are at 1/2."""
    found, loose = [], []
    for name in names:
        column = rows.domain.number(name)
        tight = (column.upper - column.lower) / (2 * column.half) == 1.0
        away = rows.offset(name, column.lower, tight=tight)
        found.append(rows.quotient(away, 2 * column.half))
        loose.append(not tight)
    highs = rows.let(found)
    if not any(loose):
        return highs
    pairs = zip(highs, loose, strict=True)
    return rows.let([clip(x, 0, 1) if wide else x for x, wide in pairs])


def _number_parts(names: list[str], rows: Columns) -> dict[str, list[Expr]]:
    highs = levels(names, rows)
    # What is missing has parts of 0.
    ones = [either(rows.absent(name), real(0.0), real(_ONE)) for name in names]
    found = rows.let([*[real(1.0) - high for high in highs], *ones])
    lows, ones = found[: len(names)], found[len(names) :]
    return {
        name: [
            (low * low * one).floor(),
            (low * high * (one + one)).floor(),
            (high * high * one).floor(),
        ]
        for name, low, high, one in zip(names, lows, highs, ones, strict=True)
    }


def _is_category(name: str, rows: Columns) -> bool:
    return isinstance(rows.domain[name], Category)


def _mark(condition: Expr) -> Expr:
    return either(condition, real(_ONE), real(0.0))


def affine(features: Scaled, rows: Columns) -> list[Expr]:
    """Return the rows of linear models before their norm is bounded."""
    unit = unit_rows(features.names, rows, features.origins)
    out = [rows.quotient(x, s) for x, s in zip(unit, features.scales, strict=True)]
    out = rows.let(out)
    if features.power == 2:
        out = rows.let([x * x for x in out])
    if features.rotate:
        places = [i for i, n in enumerate(features.names) if isinstance(n, str)]
        lines = cosines(len(places))
        turned = rows.let([mixed(line, [out[i] for i in places]) for line in lines])
        for i, x in zip(places, turned, strict=True):
            out[i] = x
    if features.constant:
        out = [real(features.constant), *out]
    return rows.let(_turned(features, out, rows)) if features.basis else out


def _turned(features: Scaled, out: list[Expr], rows: Columns) -> list[Expr]:
    """Return an ``exact_product``: whole numbers below 2^53, exact in any order."""
    matrix = np.array(features.basis)
    first, second = grids(matrix, len(out), features.furthest())
    fine = rows.let([(x * real(second) + real(0.5)).floor() for x in out])
    lines = [mixed(line, fine) for line in whole_of(matrix * first)]
    return [x * real(1 / first) * real(1 / second) for x in rows.let(lines)]


def mixed(weights: Any, numbers: list[Expr]) -> Expr:
    """Return the weighted sum of numbers."""
    pairs = zip(numbers, weights, strict=True)
    return added([x * real(visible(w)) for x, w in pairs])


def visible(constant: float) -> float:
    """Return a factor, or 0 if it is so small that no grid shows it.

    A product that underflows is an error in PostgreSQL, for some rows and not others.
    """
    return float(constant) if abs(constant) >= _VISIBLE else 0.0


def _scaled(features: Scaled, rows: Columns) -> list[Expr]:
    out = affine(features, rows)
    (size,) = rows.let([norm_of(out, 1 if features.norm == "l1" else 2, rows)])
    reach = real(features.reach)
    (factor,) = rows.let([reach / nw.max_horizontal(size, reach)])
    steps = real(features.steps())
    return [x * factor * steps for x in out]


def _squared(features: SquaredGradient, rows: Columns) -> list[Expr]:
    of, target = features.of, features.target
    z = affine(of, rows)
    (goal,) = unit_rows((target,), rows)
    goal = rows.quotient(goal - real(features.origin), features.scale)
    (size,) = rows.let([norm_of(z, 1 if of.norm == "l1" else 2, rows)])
    reach = real(of.reach)
    (part,) = rows.let([reach / nw.max_horizontal(size, reach)])
    (left,) = rows.let([(goal - mixed(features.weights, z)) * part])
    left = clip(left, -features.clip, features.clip)
    (left,) = rows.let([either(rows.absent(target), real(0.0), left)])
    (factor,) = rows.let([rows.quotient(part * left, features.unit())])
    return [x * factor for x in z]


def _deviations(features: clusters.Deviations, rows: Columns) -> list[Expr]:
    way = from_nearest(features.names, features.centres, rows)
    (size,) = rows.let([norm_of(way, features.norm, rows)])
    far = nw.max_horizontal(size, real(features.radius))
    (factor,) = rows.let([real(clusters.steps_of(len(way))) / far])
    return [x * factor for x in way]


Translation = Callable[[Any, Columns], list[Expr]]
TRANSLATIONS: dict[type, Translation] = {
    Bernstein: _bernstein,
    clusters.Deviations: _deviations,
    Partition: _partition,
    Presence: _presence,
    Scaled: _scaled,
    SquaredGradient: _squared,
    Values: _values,
}


def _logistic(features: LogisticGradient, rows: Columns) -> list[Expr]:
    of = features.of
    z = affine(of, rows)
    (size,) = rows.let([norm_of(z, 1 if of.norm == "l1" else 2, rows)])
    scores = rows.let([mixed(weights, z) for weights in features.weights])
    steps = (_ONE - len(scores) * len(z)) / features.bound()
    reach = real(of.reach)
    (part,) = rows.let([reach / nw.max_horizontal(size, reach)])
    short = rows.let([x * part * real(steps) for x in z])
    residuals = rows.let(_residuals(features, scores, rows))
    return [r * x for r in residuals for x in short]


def _residuals(
    features: LogisticGradient, scores: list[Expr], rows: Columns
) -> list[Expr]:
    code, clip_at = rows.code(features.target), features.clip
    if len(scores) == 1:
        (chance,) = _chances_of_two(scores, rows)
        truth = either(code == 1, real(1.0), real(0.0))
        (residual,) = rows.let([chance - truth])
        residuals = [clip(residual, -clip_at, clip_at)]
    else:
        chances = _shares(scores, rows)
        truths = [either(code == k, real(1.0), real(0.0)) for k in range(len(scores))]
        off = [chance - truth for chance, truth in zip(chances, truths, strict=True)]
        off = rows.let(off)
        (size,) = rows.let([norm_of(off, 1 if features.of.norm == "l1" else 2, rows)])
        most = real(features.most())
        (part,) = rows.let([most / nw.max_horizontal(size, most)])
        residuals = [x * part for x in off]
    if features.importance:
        sizes = [real(visible(size)) for size in features.importance]
        (counts,) = rows.let([table(code, sizes, real(0.0))])
        residuals = [x * counts for x in residuals]
    return [either(code < 0, real(0.0), x) for x in residuals]


def _chances_of_two(scores: Sequence[Expr], rows: Columns) -> list[Expr]:
    raised = exps([real(0.0) - score for score in scores], rows)
    return rows.let([real(1.0) / (real(1.0) + x) for x in raised])


def _shares(scores: Sequence[Expr], rows: Columns) -> list[Expr]:
    """Return exponentials of scores, as parts of their sum."""
    (most,) = rows.let([nw.max_horizontal(*scores)])
    raised = exps([score - most for score in scores], rows)
    (total,) = rows.let([added(raised)])
    return rows.let([x / total for x in raised])


def _clipped(features: ClippedGradient, rows: Columns) -> list[Expr]:
    of = features.of
    z = affine(of, rows)
    (size,) = rows.let([norm_of(z, 1 if of.norm == "l1" else 2, rows)])
    reach = real(of.reach)
    (part,) = rows.let([reach / nw.max_horizontal(size, reach)])
    (share,) = rows.let([part * part])
    if features.basis:
        z = rows.let([mixed(line, z) for line in features.basis])
    (score,) = rows.let([mixed(features.weights, z)])
    (size,) = rows.let([norm_of(z, 2, rows)])
    limit = real(features.clip) / nw.max_horizontal(size, real(1e-12))
    if features.loss == "logistic":
        (score,) = _chances_of_two([score], rows)
        goal = either(rows.code(features.target) == 1, real(1.0), real(0.0))
    else:
        (goal,) = unit_rows((features.target,), rows)
    (off,) = rows.let([(score - goal) * share])
    (limit,) = rows.let([limit])
    (pull,) = rows.let([either(off > limit, limit, off)])
    (pull,) = rows.let([either(pull < real(0.0) - limit, real(0.0) - limit, pull)])
    absent = rows.absent(features.target)
    for gap in gaps_of(features.of.names, rows):
        absent = absent if gap is None else absent | gap
    (by,) = rows.let([either(absent, real(0.0), pull * real(1 / features.unit))])
    return [x * by for x in z]


def _votes(features: SoftVotes, rows: Columns) -> list[Expr]:
    weights = np.array(features.weights, dtype=float)
    weights = weights[1:] - weights[0]
    terms: list[list[Expr]] = [[] for _ in weights]
    numbers = [n for n in features.names if not isinstance(rows.domain[n], Category)]
    found = levels(numbers, rows) if numbers else []
    level = dict(zip(numbers, found, strict=True))
    start = 0
    for name in features.names:
        width = weights_of(name, rows.domain)
        absent = rows.absent(name)
        for own, line in zip(terms, weights[:, start : start + width], strict=True):
            if name in level:
                rise = level[name] * real(visible(line[1] - line[0]))
                own.append(either(absent, real(0.0), rise))
                own.append(either(absent, real(0.0), real(line[0])))
            else:
                own.append(table(rows.code(name), [real(w) for w in line], real(0.0)))
        start += width
    scores = rows.let([real(0.0), *[added(own) for own in terms]])
    votes = _shares(scores, rows)
    pairs = zip(*np.triu_indices(len(votes)), strict=True)
    out = [
        (votes[i] * real(_ONE if i == j else 2 * _ONE) * votes[j]).floor()
        for i, j in pairs
    ]
    return out


def _fuzzy_weights(features: clusters.FuzzyWeights, rows: Columns) -> list[Expr]:
    """Return memberships to their power in whole steps; 0 without numbers."""
    gaps = gaps_of(features.names, rows)
    nothing = gaps[0]
    for gap in gaps[1:]:
        nothing = None if nothing is None or gap is None else nothing & gap
    out = [(x * real(_ONE)).floor() for x in _powers(features, rows)]
    return out if nothing is None else [either(nothing, real(0.0), x) for x in out]


def _fuzzy_presence(features: clusters.FuzzyPresence, rows: Columns) -> list[Expr]:
    names, centres, power = features.names, features.centres, features.power
    weights = clusters.FuzzyWeights(names, centres, power)
    each = rows.let(_fuzzy_weights(weights, rows))
    absent = [rows.absent(name) for name in features.asked]
    return [either(gap, real(0.0), weight) for weight in each for gap in absent]


def _pulls(features: clusters.FuzzyPulls, rows: Columns) -> list[Expr]:
    unit = unit_rows(features.names, rows)
    gaps, weights = gaps_of(features.names, rows), _powers(features, rows)
    ways = []
    for weight, point in zip(weights, features.centres, strict=True):
        for x, gap, place in zip(unit, gaps, point, strict=True):
            way = (x - real(place)) * weight
            ways.append(way if gap is None else either(gap, real(0.0), way))
    ways = rows.let(ways)
    (size,) = rows.let([norm_of(ways, features.norm, rows)])
    far = nw.max_horizontal(size, real(features.radius))
    (factor,) = rows.let([real(clusters.steps_of(len(ways))) / far])
    return [x * factor for x in ways]


def _powers(
    features: clusters.FuzzyWeights | clusters.FuzzyPulls, rows: Columns
) -> list[Expr]:
    """Return memberships to their power, as ``memberships`` and ``raised`` do."""

    def make() -> list[Expr]:
        far = _squared_distances(features.names, features.centres, rows)
        far = rows.let([either(x < real(1e-3), real(1e-3), x) for x in far])
        found = logs(far, 1e-3, 2.0**53, rows)
        scores = rows.let([rows.quotient(x, 1 - features.power) for x in found])
        parts = _shares(scores, rows)
        if features.power == 2:
            return rows.let([x * x for x in parts])
        small = rows.let([either(x < real(LEAST), real(LEAST), x) for x in parts])
        found = logs(small, LEAST, 1.0, rows)
        return exps([x * real(features.power) for x in found], rows)

    key = "powers", features.names, features.centres, features.power
    return rows.remember(key, make)


def _squared_distances(names: Any, centres: Any, rows: Columns) -> list[Expr]:
    """Return squared distances over present terms: whole numbers below 2^53."""
    points, scale = whole_points(np.array(centres, dtype=float))
    unit, gaps = unit_rows(names, rows), gaps_of(names, rows)
    fine = rows.let([(x * real(scale) + real(0.5)).floor() for x in unit])
    (own,) = rows.let([added([x * x for x in fine])])
    out = []
    for point in points:
        terms = [x * real(-2 * p) for x, p in zip(fine, point, strict=True)]
        for gap, p in zip(gaps, point, strict=True):
            if gap is not None:
                terms.append(either(gap, real(-(p**2)), real(0.0)))
        out.append(added(terms) + real(np.sum(point**2)) + own)
    return rows.let(out)


def _code_counts(features: CodeCounts, rows: Columns) -> list[Expr]:
    sizes = features.grid.sizes(rows.domain)
    codes = codes_of(features.grid, rows)
    return [
        either(code == place, real(1.0), real(0.0))
        for code, size in zip(codes, sizes, strict=True)
        for place in range(size)
    ]


_SOFT: dict[type, Translation] = {
    ClippedGradient: _clipped,
    CodeCounts: _code_counts,
    clusters.FuzzyPresence: _fuzzy_presence,
    clusters.FuzzyPulls: _pulls,
    clusters.FuzzyWeights: _fuzzy_weights,
    LogisticGradient: _logistic,
    SoftVotes: _votes,
}


def costly(cells: Any, features: Sequence[Any]) -> bool:
    """Return True if a copy of the rows would answer many times faster."""
    return isinstance(cells, Margins) or any(type(one) in _SOFT for one in features)


def numbers_of(features: Any, rows: Columns) -> list[Expr]:
    """Return the numbers of each row, or refuse and name the map."""
    translate = (TRANSLATIONS | _SOFT).get(type(features))
    if translate is None:
        raise Untranslated(type(features).__name__)
    return translate(features, rows)
