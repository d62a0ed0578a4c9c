"""Translations of feature maps with exponentials: chances, votes, memberships.

As in ``features``, each follows the map of its name operation by operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.exponentials import LEAST
from discreto.core.maps._distances import whole_points
from discreto.core.maps.clusters import (
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    steps_of,
)
from discreto.core.maps.code_counts import CodeCounts
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.margins import Margins
from discreto.core.maps.regression import LogisticGradient
from discreto.core.maps.simplex_features import SoftVotes, weights_of
from discreto.core.query import Shape
from discreto.data.sql import Untranslated
from discreto.data.sql.cells import gaps_of, norm_of, unit_rows
from discreto.data.sql.columns import Columns, Expr, table
from discreto.data.sql.exponentials import exps, logs
from discreto.data.sql.features import (
    TRANSLATIONS,
    ProvenNumbers,
    Translation,
    affine,
    clamped,
    levels,
    mixed,
    visible,
)
from discreto.data.sql.grid_codes import codes_of
from discreto.data.sql.sql_terms import added, clip, either, real

_TOP = float(1 << SUM_BITS)


def _logistic(features: LogisticGradient, shape: Shape, rows: Columns) -> list[Expr]:
    of = features.of
    z = affine(of, rows)
    (size,) = rows.let([norm_of(z, 1 if of.norm == "l1" else 2, rows)])
    scores = rows.let([mixed(weights, z) for weights in features.weights])
    steps = (_TOP - len(scores) * len(z)) / features.bound()
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
    """Exponentials of scores, as parts of their sum."""
    (most,) = rows.let([nw.max_horizontal(*scores)])
    raised = exps([score - most for score in scores], rows)
    (total,) = rows.let([added(raised)])
    return rows.let([x / total for x in raised])


def _clipped(features: ClippedGradient, shape: Shape, rows: Columns) -> list[Expr]:
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


def _votes(features: SoftVotes, shape: Shape, rows: Columns) -> list[Expr]:
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
        (votes[i] * real(_TOP if i == j else 2 * _TOP) * votes[j]).floor()
        for i, j in pairs
    ]
    return out


def _fuzzy(features: FuzzyWeights, shape: Shape, rows: Columns) -> list[Expr]:
    return _weights(features, rows)


def _weights(features: FuzzyWeights, rows: Columns) -> list[Expr]:
    """The memberships to their power in whole steps; 0 for a row without numbers."""
    gaps = gaps_of(features.names, rows)
    nothing = gaps[0]
    for gap in gaps[1:]:
        nothing = None if nothing is None or gap is None else nothing & gap
    out = [(x * real(_TOP)).floor() for x in _powers(features, rows)]
    return out if nothing is None else [either(nothing, real(0.0), x) for x in out]


def _presence(features: FuzzyPresence, shape: Shape, rows: Columns) -> list[Expr]:
    weights = FuzzyWeights(features.names, features.centres, features.power)
    each = rows.let(_weights(weights, rows))
    absent = [rows.absent(name) for name in features.asked]
    out = [either(gap, real(0.0), weight) for weight in each for gap in absent]
    return out


def _pulls(features: FuzzyPulls, shape: Shape, rows: Columns) -> list[Expr]:
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
    (factor,) = rows.let([real(steps_of(len(ways))) / far])
    return [x * factor for x in ways]


def _powers(features: FuzzyWeights | FuzzyPulls, rows: Columns) -> list[Expr]:
    """Memberships to their power: as ``memberships`` and ``raised`` of the core."""

    def make() -> list[Expr]:
        far = _squared_distances(features.names, features.centres, rows)
        far = rows.let([either(x < real(1e-3), real(1e-3), x) for x in far])
        found = logs(far, 1e-3, 2.0**53, rows)
        scores = rows.let([rows.over(x, 1 - features.power) for x in found])
        parts = _shares(scores, rows)
        if features.power == 2:
            return rows.let([x * x for x in parts])
        small = rows.let([either(x < real(LEAST), real(LEAST), x) for x in parts])
        found = logs(small, LEAST, 1.0, rows)
        return exps([x * real(features.power) for x in found], rows)

    key = "powers", features.names, features.centres, features.power
    return rows.remember(key, make)


def _squared_distances(names: Any, centres: Any, rows: Columns) -> list[Expr]:
    """Squared distances over what is there: whole numbers below 2^53, exact."""
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
        out.append(added(terms) + real((point**2).sum()) + own)
    return rows.let(out)


def _code_counts(features: CodeCounts, shape: Shape, rows: Columns) -> ProvenNumbers:
    sizes = features.sizes(rows.domain)
    marks = [
        either(code == place, real(1.0), real(0.0))
        for code, size in zip(codes_of(features.grid, rows), sizes, strict=True)
        for place in range(size)
    ]
    return ProvenNumbers(marks, "a column has one code")


_SOFT: dict[type, Translation] = {
    ClippedGradient: _clipped,
    CodeCounts: _code_counts,
    FuzzyPresence: _presence,
    FuzzyPulls: _pulls,
    FuzzyWeights: _fuzzy,
    LogisticGradient: _logistic,
    SoftVotes: _votes,
}


def costly(cells: Any, features: Sequence[Any]) -> bool:
    """Whether a copy of the rows would answer many times faster than a query."""
    return isinstance(cells, Margins) or any(type(one) in _SOFT for one in features)


def numbers_of(features: Any, shape: Shape, rows: Columns) -> list[Expr]:
    """Return the whole numbers of each row, clamped, or refuse and name the map."""
    translate = (TRANSLATIONS | _SOFT).get(type(features))
    if translate is None:
        raise Untranslated(type(features).__name__)
    return clamped(translate(features, shape, rows), shape, rows)
