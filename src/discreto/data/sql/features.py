"""Translations of feature maps: numbers of each row, which are clamped afterwards.

Each follows the map of the same name in :mod:`discreto.core.maps`, operation by
operation and in the same order, so that no bit differs. A translation returns numbers;
``numbers_of`` clamps them to the shape of the map, whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.maps.clusters import Deviations, steps_of
from discreto.core.maps.features import SUM_BITS, Bernstein, Presence, Values, grid
from discreto.core.maps.regression import Scaled, SquaredGradient, cosines, grids
from discreto.core.maps.simplex_features import Partition
from discreto.core.maps.unit_columns import Indicator
from discreto.core.query import Shape
from discreto.core.rounding import whole
from discreto.data.sql.cells import from_nearest, indicator, norm_of, unit_rows
from discreto.data.sql.columns import Columns, Expr
from discreto.data.sql.sql_terms import added, clip, either, real

_ONE = float(1 << SUM_BITS)
_VISIBLE = 2.0**-300


@dataclass(frozen=True)
class ProvenNumbers:
    """Whole numbers whose norm is bounded by how they are made, as ``proof`` shows.

    Each number is clipped to its limit all the same; a row's norm is believed.
    """

    numbers: list[Expr]
    proof: str


def clamped(
    found: list[Expr] | ProvenNumbers, shape: Shape, rows: Columns
) -> list[Expr]:
    """Return numbers within a shape, whatever a translation has returned."""
    if isinstance(found, ProvenNumbers):
        low = -shape.limit if shape.signed else 0
        return [clip(x, low, shape.limit) for x in found.numbers]
    return clamp(found, shape, rows)


def clamp(numbers: list[Expr], shape: Shape, rows: Columns) -> list[Expr]:
    """Return whole numbers within a shape, as ``core.aggregate.clamp`` does."""
    low = -shape.limit if shape.signed else 0
    whole = rows.let([(x + real(0.5)).floor() for x in numbers])
    out = [clip(x, low, shape.limit) for x in whole]
    if shape.total < shape.limit * shape.width:
        out = rows.let(out)
        (size,) = rows.let([added([x.abs() for x in out])])
        out = _shrunk(out, size, shape.total, shape.width)
    if shape.square < min(shape.limit**2 * shape.width, shape.limit * shape.total):
        reach = int(np.sqrt(np.float64(shape.square)) * (1 - 2.0**-40))
        out = rows.let(out)
        (size,) = rows.let([norm_of(out, 2, rows)])
        out = _shrunk(out, size, reach, shape.width)
    return out


def _shrunk(numbers: list[Expr], size: Expr, bound: int, width: int) -> list[Expr]:
    out = []
    for x in numbers:
        less = x * real(max(bound - width, 0)) / nw.max_horizontal(size, real(1.0))
        toward = either(x < 0, less.ceil(), less.floor())
        out.append(either(size > bound, toward, x))
    return out


def _values(
    features: Values, shape: Shape, rows: Columns
) -> list[Expr] | ProvenNumbers:
    out = [real(1 << features.bits)] if features.constant else []
    loose = features.origin != "centre"
    for name in features.names:
        if isinstance(name, Indicator):
            out.append(indicator(name, rows) * real(1 << features.bits))
            loose = True
            continue
        column = rows.domain.number(name)
        origin, half = grid(column, features.origin)
        factor = (1 << features.bits) / half
        ends = [(end - origin) * factor for end in (column.lower, column.upper)]
        # Arithmetic is monotone: if both ends fit exactly, so does all between them.
        tight = not loose and ends == [-shape.limit, shape.limit]
        # Around 0 the clamp would let through what is beyond the bound nearer to it.
        cut = tight or features.origin != "centre"
        steps = rows.offset(name, origin, tight=cut) * real(factor)
        if features.origin != "centre":  # there, what is missing is 0 anyway
            steps = either(rows.absent(name), real(0.0), steps)
        loose = loose or not tight
        out.append(steps)
    if loose:
        return out
    return ProvenNumbers(
        [(x + real(0.5)).floor() for x in out], "arithmetic is monotone"
    )


def _presence(features: Presence, shape: Shape, rows: Columns) -> ProvenNumbers:
    marks = [either(rows.absent(n), real(0.0), real(1.0)) for n in features.names]
    return ProvenNumbers(marks, "one for each column at most")


def _bernstein(features: Bernstein, shape: Shape, rows: Columns) -> ProvenNumbers:
    out = [real(_ONE)]
    for name in features.names:
        column = rows.domain.number(name)
        x = rows.over(rows.offset(name, column.centre), column.half)
        (x,) = rows.let([x])
        (x,) = rows.let([clip(x, -1, 1)])  # what is missing is at the centre
        low, high = rows.let([(real(1.0) - x) / 2, (real(1.0) + x) / 2])
        basis = [low, high]
        if features.degree == 2:
            basis = [low * low, real(2.0) * low * high, high * high]
        out = rows.let([a * b for a in out for b in basis])
    return ProvenNumbers([x.floor() for x in out], "parts of one, rounded down")


def _partition(features: Partition, shape: Shape, rows: Columns) -> ProvenNumbers:
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
    return ProvenNumbers(out, "parts of one for each column, rounded down")


def levels(names: list[str], rows: Columns) -> list[Expr]:
    """Where numbers are between their bounds, from 0 to 1; in the middle if missing."""
    found, loose = [], []
    for name in names:
        column = rows.domain.number(name)
        tight = (column.upper - column.lower) / (2 * column.half) == 1.0
        away = rows.offset(name, column.lower, tight=tight)
        found.append(rows.over(away, 2 * column.half))
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
    """The rows of linear models before their norm is bounded."""
    unit = unit_rows(features.names, rows, features.origins)
    out = [rows.over(x, s) for x, s in zip(unit, features.scales, strict=True)]
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
    """As ``exact_product``: whole numbers below 2^53, exact in any order."""
    matrix = np.array(features.basis)
    first, second = grids(matrix, len(out), features.furthest())
    fine = rows.let([(x * real(second) + real(0.5)).floor() for x in out])
    lines = [mixed(line, fine) for line in whole(matrix * first)]
    return [x * real(1 / first) * real(1 / second) for x in rows.let(lines)]


def mixed(weights: Any, numbers: list[Expr]) -> Expr:
    """Numbers weighed and added up."""
    pairs = zip(numbers, weights, strict=True)
    return added([x * real(visible(w)) for x, w in pairs])


def visible(constant: float) -> float:
    """A factor, or 0 if it is so small that no grid shows it.

    A product that underflows is an error in PostgreSQL, for some rows and not others.
    """
    return float(constant) if abs(constant) >= _VISIBLE else 0.0


def _scaled(features: Scaled, shape: Shape, rows: Columns) -> list[Expr]:
    out = affine(features, rows)
    (size,) = rows.let([norm_of(out, 1 if features.norm == "l1" else 2, rows)])
    reach = real(features.reach)
    (factor,) = rows.let([reach / nw.max_horizontal(size, reach)])
    steps = real(features.steps())
    return [x * factor * steps for x in out]


def _squared(features: SquaredGradient, shape: Shape, rows: Columns) -> list[Expr]:
    of, target = features.of, features.target
    z = affine(of, rows)
    (goal,) = unit_rows((target,), rows)
    goal = rows.over(goal - real(features.origin), features.scale)
    (size,) = rows.let([norm_of(z, 1 if of.norm == "l1" else 2, rows)])
    reach = real(of.reach)
    (part,) = rows.let([reach / nw.max_horizontal(size, reach)])
    (left,) = rows.let([(goal - mixed(features.weights, z)) * part])
    left = clip(left, -features.clip, features.clip)
    (left,) = rows.let([either(rows.absent(target), real(0.0), left)])
    (factor,) = rows.let([rows.over(part * left, features.unit())])
    return [x * factor for x in z]


def _deviations(features: Deviations, shape: Shape, rows: Columns) -> list[Expr]:
    way = from_nearest(features.names, features.centres, rows)
    (size,) = rows.let([norm_of(way, features.norm, rows)])
    far = nw.max_horizontal(size, real(features.radius))
    (factor,) = rows.let([real(steps_of(len(way))) / far])
    return [x * factor for x in way]


Translation = Callable[[Any, Shape, Columns], list[Expr] | ProvenNumbers]
TRANSLATIONS: dict[type, Translation] = {
    Bernstein: _bernstein,
    Deviations: _deviations,
    Partition: _partition,
    Presence: _presence,
    Scaled: _scaled,
    SquaredGradient: _squared,
    Values: _values,
}
