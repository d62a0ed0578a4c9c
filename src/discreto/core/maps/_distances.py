"""Distances between a row and points, exact in whole grid steps.

Rows and points are put on a grid so coarse that squared distances are whole numbers
below 2^53. Then their order cannot depend on the order of additions, and engines agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreto.core.query import Batch, Floats, Ints
from discreto.core.rounding import whole
from discreto.core.row_program import (
    Row,
    Value,
    choose,
    exp,
    floor,
    largest,
    least,
    log,
    missing,
    most,
    present_or,
    surely_present,
    total,
    trace,
)

Points = Sequence[Sequence[float]]


def nearest(x: Floats, points: Floats) -> Ints:
    """Return the index of the nearest point for each column of ``x``; see below."""
    made = trace(lambda row: [nearest_point(_lines(row, x), points.tolist(), row)])
    return made.numbers(_batch(x), x.shape[1])[0].astype(np.int64)


def memberships_of(x: Floats, points: Floats, power: float) -> Floats:
    """Return the fuzzy memberships (points x rows) of the columns of ``x``."""
    made = trace(lambda row: memberships(_lines(row, x), points.tolist(), power, row))
    return made.numbers(_batch(x), x.shape[1])


def _batch(x: Floats) -> Batch:
    return {str(k): line for k, line in enumerate(x)}


def _lines(row: Row, x: Floats) -> list[Value]:
    return [row.number(str(k)) for k in range(len(x))]


def nearest_point(x: list[Value], points: Points, row: Row) -> Value:
    """Return the index of the nearest point, the first of equals.

    Distances are over the numbers that are there. A row without any is near none: -1.
    """
    near, best = row.constant(0.0), None
    for j, far in enumerate(_distances(x, points, row, own=False)):
        if best is None:
            best = far
            continue
        near = choose(far < best, float(j), near)
        best = least(best, far)
    return near if any(map(surely_present, x)) else choose(any_present(x), near, -1.0)


def any_present(x: Sequence[Value]) -> Value:
    """Return 1 where any of some values is there, else 0."""
    here = x[0].equals(x[0])
    for value in x[1:]:
        here = most(here, value.equals(value))
    return here


def memberships(x: list[Value], points: Points, power: float, row: Row) -> list[Value]:
    """Return the fuzzy memberships of a row: they add up to one.

    Distances are over the numbers that are there; a row without any is in all alike.
    """
    far = _distances(x, points, row, own=True)
    logs = [log(most(one, 1e-3)) / (1 - power) for one in far]
    best = largest(logs)
    parts = [exp(one - best) for one in logs]
    every = total(parts)
    return [part / every for part in parts]


def raised(parts: list[Value], power: float) -> list[Value]:
    """Return parts of one to a power of at least one."""
    if power == 2:
        return [part * part for part in parts]
    return [exp(log(part) * power) for part in parts]


def _distances(x: list[Value], points: Points, row: Row, *, own: bool) -> list[Value]:
    """Return squared distances over what is there, in grid steps.

    Without ``own`` the square of the row is left out: it is alike for all points.
    """
    places, scale = whole_points(np.array(points, dtype=np.float64))
    steps, gaps = [], []
    for value in x:
        step = floor(value * scale + 0.5)
        here = surely_present(value)
        steps.append(step if here else present_or(step, 0.0))
        gaps.append(None if here else missing(value))
    out = []
    for point in places.tolist():
        far = total(s * (-2.0 * place) for s, place in zip(steps, point, strict=True))
        far = far + float(sum(place * place for place in point))
        for gap, place in zip(gaps, point, strict=True):
            far = far if gap is None else far + gap * (-place * place)
        if own:
            for step in steps:
                far = far + step * step
        out.append(far)
    return out


def whole_points(points: Floats) -> tuple[Floats, float]:
    """Return points in whole steps, and how many steps a 1 has."""
    bits = (48 - math.ceil(math.log2(points.shape[1]))) // 2
    scale = float(1 << bits)
    return whole(points * scale), scale
