"""Distances between rows and points that do not depend on the other rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreto.core import compiled
from discreto.core.aggregate import add_up
from discreto.core.exponentials import exp, log
from discreto.core.maps.unit_columns import has_gaps
from discreto.core.once import MadeOnce
from discreto.core.query import Floats, Ints
from discreto.core.rounding import make_whole, whole

_HELD = 1 << 22  # distances held at once
_FEW = 64  # points; distances from many are a matrix product


def nearest(x: Floats, points: Floats, *, gaps: bool = True) -> Ints:
    """The index of the nearest point for each column of ``x``; the first of equals.

    Distances are over the numbers that are there. A row without any is near none: -1.
    Without ``gaps`` all numbers are there for sure.
    """
    points, scale, twice, squares = _facts_of(points)
    if gaps and has_gaps(x):
        absent = np.isnan(x)
        full, weights = _filled(x, absent, points, scale)
        out = _nearest(full, scale, weights, squares)
        out[absent.all(axis=0)] = -1
        return out
    return _nearest(x, scale, twice, squares)


def _filled(
    x: Floats, absent: Any, points: Floats, scale: float
) -> tuple[Floats, Floats]:
    """Rows with a line more for each that may have gaps, and the weights of all lines.

    A gap adds nothing to a product, and its line takes back what the point's square
    has too much there. All numbers stay whole and below 2^53: 2^52 for the squares of
    points up to 4, as much for what is taken back, 2^51 for products with rows up to 1.
    """
    full = np.concatenate([np.where(absent, 0.0, x), absent / scale])
    return full, np.hstack([-2 * points, -(points**2)])


def _nearest(x: Floats, scale: float, twice: Floats, squares: Floats) -> Ints:
    out = np.zeros(x.shape[1], dtype=np.int64)
    fast = compiled.point_loops(x.size * len(twice))
    if fast is not None and len(twice) <= _FEW:
        x = compiled.plain(x, *x.shape)
        fast.nearest(x, scale, twice, squares, out)
        return out
    x, squares = make_whole(x * scale), squares[:, None]
    # Some rows at a time: what is held must not grow with the number of rows.
    step = max(_HELD // len(twice), 1)
    for start in range(0, x.shape[1], step):
        far = twice @ x[:, start : start + step]
        far += squares
        best, place = far[0], out[start : start + step]
        for j in range(1, len(twice)):
            closer = far[j] < best
            place[closer] = j
            np.minimum(best, far[j], out=best)
    return out


def memberships(x: Floats, points: Floats, power: float) -> Floats:
    """Fuzzy memberships (points x rows) of the columns of ``x``.

    Distances are over the numbers that are there; a row without any is in all alike.
    """
    far = _squared_distances(x, points)
    logs = log(np.maximum(far, 1e-3, out=far))
    logs /= 1 - power
    logs -= logs.max(axis=0)
    out = exp(logs)
    out /= add_up(out)
    return out


def raised(parts: Floats, power: float) -> Floats:
    """Parts of one to a power of at least one."""
    return parts * parts if power == 2 else exp(log(parts) * power)


def _squared_distances(x: Floats, points: Floats) -> Floats:
    """Squared distances (points x rows) over what is there, in grid steps."""
    points, scale, twice, squares = _facts_of(points)
    if has_gaps(x):
        # Lines of gaps are no part of a row's own square, so it is taken without them.
        full, weights = _filled(x, np.isnan(x), points, scale)
        far = weights @ make_whole(full * scale)
        far += squares[:, None]
        far += (make_whole(full[: len(x)] * scale) ** 2).sum(axis=0)
        return far
    fast = compiled.point_loops(x.size * len(points))
    if fast is not None and len(points) <= _FEW:
        far = np.empty((len(points), x.shape[1]))
        x = compiled.plain(x, *x.shape)
        fast.squared_distances(x, scale, twice, squares, far)
        return far
    x = make_whole(x * scale)
    far = -2 * (points @ x)
    far += squares[:, None]
    far += (x**2).sum(axis=0)
    return far


def _work_out(points: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Whole points, their steps, and |x - c|^2 without |x|^2, alike for all centres."""
    points, scale = whole_points(points)
    return points, scale, -2 * points, (points**2).sum(axis=1)


_kept_facts = MadeOnce(_work_out, 4)


def _facts_of(points: Floats) -> tuple[Floats, float, Floats, Floats]:
    """The same, once for points that nobody can change."""
    return _work_out(points) if points.flags.writeable else _kept_facts(points)


def whole_points(points: Floats) -> tuple[Floats, float]:
    """Points on a grid so coarse that squared distances are exact in float64.

    A matrix product may round a row differently beside other rows. Then one row more
    could move another row to another cell, which no sensitivity covers. Also says how
    many grid steps a 1 has.
    """
    bits = (48 - math.ceil(math.log2(points.shape[1]))) // 2
    scale = float(1 << bits)
    return whole(points * scale), scale
