"""Row maps around points: the nearest centre, the way to it, fuzzy memberships.

Points are on [-1, 1], where columns are measured from the middle of their range. A
missing number is left out: distances are over the numbers that are there, and no way
leads along one that is not. A row without any number belongs to no point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from discreto.core import compiled
from discreto.core.domain.domain import Domain
from discreto.core.maps import trees_numpy as kernels
from discreto.core.maps._distances import memberships, nearest, raised
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.unit_columns import (
    Terms,
    check_numbers,
    has_gaps,
    may_lack,
    names_of,
    rows_with_gaps,
    without_gaps,
)
from discreto.core.once import MadeOnce
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.core.row_cache import held, remember, share
from discreto.core.validation import Length, Names, Range, check_widths
from discreto.errors import ParameterError

Points = Annotated[tuple[tuple[float, ...], ...], Length(1, 1 << 16), Range(-4.0, 4.0)]
Norm = Annotated[int, Range(1, 2)]  # l1 or l2
Radius = Annotated[float, Range(1e-9, 1e9)]
Fuzzifier = Annotated[float, Range(1.001, 100.0)]
MAX_RINGS = 64
_STEPS = 1 << SUM_BITS


@dataclass(frozen=True, slots=True)
class Nearest:
    """One cell for each centre, with the rows that are nearest to it."""

    names: Terms
    centres: Points

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def count(self, domain: Domain) -> int:
        return len(self.centres)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        x = _unit(self.names, batch, domain)
        return _nearest_of(x, self.names, self.centres, batch, domain)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class Rings:
    """Cells by the distance of a row to its nearest centre.

    The last of ``bins`` cells reaches to the largest possible distance; every cell
    before it reaches 1/sqrt(2) times as far as the next. ``norm`` 1 adds up absolute
    differences, 2 is the Euclidean distance.
    """

    names: Terms
    centres: Points
    bins: Annotated[int, Range(1, MAX_RINGS)]
    norm: Norm = 1

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def count(self, domain: Domain) -> int:
        return self.bins

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        x = _from_nearest(self.names, self.centres, batch, domain)
        nothing = np.isnan(x).all(axis=0)
        far = _norms(without_gaps(x), self.norm) / diameter(len(x), self.norm)
        out = np.empty(len(far), dtype=np.int64)
        kernels.place(far, np.array(self.ends()), self.bins - 1, out)
        return np.where(nothing, -1, out)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)

    def ends(self) -> tuple[float, ...]:
        """Where each cell but the last ends, in parts of the largest distance."""
        return tuple(
            2.0 ** ((cell + 1 - self.bins) / 2) for cell in range(self.bins - 1)
        )

    def edge(self, cell: int) -> float:
        """How far a cell reaches."""
        reach = diameter(len(self.names), self.norm)
        return reach * 2.0 ** ((cell + 1 - self.bins) / 2)


@dataclass(frozen=True, slots=True)
class Deviations:
    """The way from the nearest centre to a row, in units of ``radius``.

    A row further away than ``radius`` is pulled in to it. The smaller the radius, the
    less noise a centre gets; the sensitivity is 1 for every radius.
    """

    proof = "docs/proofs/sensitivity.md#linear"

    names: Terms
    centres: Points
    radius: Radius
    norm: Norm = 1

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return _ball(len(self.names), self.norm)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        x = without_gaps(_from_nearest(self.names, self.centres, batch, domain))
        return _pull_in(x, self.radius, self.norm)

    def add_to(self, batch: Batch, domain: Domain, length: int, sums: Any) -> bool:
        """Clamp and add up the rows in one loop; see ``aggregate``."""
        loops = compiled.point_loops(0)
        if loops is None:
            return False
        x, points = _unit(self.names, batch, domain), _array(self.centres)
        near = np.empty(0, dtype=np.int64)
        if len(points) > 1:
            near = _nearest_of(x, self.names, self.centres, batch, domain)
        near = compiled.plain(near, length if len(points) > 1 else 0)
        x, lines = compiled.plain(x, len(self.names), length), points.T.copy()
        how = float(steps_of(len(x))), float(self.radius), self.norm
        loops.add_deviations(x, lines, near, *how, *sums)
        return True

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class FuzzyWeights:
    """Fuzzy memberships u_j to the power of m, one number for each centre.

    u_j is proportional to distance^(-2 / (m - 1)) and the u_j add up to one, so their
    powers add up to at most one.
    """

    names: Terms
    centres: Points
    power: Fuzzifier

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return Shape(len(self.centres), _STEPS, total=_STEPS, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        x, out = _unit(self.names, batch, domain), _powers(self, batch, domain) * _STEPS
        if has_gaps(x):
            np.copyto(out, 0.0, where=np.isnan(x).all(axis=0))
        # Rounding down keeps the total below its bound, so nothing is shrunk.
        return np.floor(out, out=out)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class FuzzyPresence:
    """``FuzzyWeights`` of the rows that have a value, for each of some Number columns.

    One number for each centre and column; the weights of a row add up to at most one
    in each column.
    """

    names: Terms
    centres: Points
    power: Fuzzifier
    asked: Names

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        if not set(self.asked) <= set(self.names):
            raise ParameterError("presence is asked of some of the columns.")
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        width = len(self.centres) * len(self.asked)
        return Shape(width, _STEPS, total=len(self.asked) * _STEPS, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        weights = FuzzyWeights(self.names, self.centres, self.power)
        each = weights.rows(batch, domain)
        there = np.stack([1.0 - np.isnan(batch[name]) for name in self.asked])
        size = len(each) * len(there)
        return (each[:, None, :] * there[None, :, :]).reshape(size, each.shape[1])

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


@dataclass(frozen=True, slots=True)
class FuzzyPulls:
    """The ways from all centres to a row, weighted by its memberships to the power m.

    The numbers of one row (centres x columns) are measured in units of ``radius`` and
    pulled in to it together.
    """

    proof = "docs/proofs/sensitivity.md#linear"

    names: Terms
    centres: Points
    power: Fuzzifier
    radius: Radius
    norm: Norm = 1

    def check(self, domain: Domain) -> None:
        check_widths(self.centres, len(self.names))
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        return _ball(len(self.centres) * len(self.names), self.norm)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        weights, points = _powers(self, batch, domain), _array(self.centres)
        x = _unit(self.names, batch, domain)
        size = len(points) * len(x)  # -1 would fail without rows
        ways = without_gaps((x[None, :, :] - points[:, :, None]) * weights[:, None, :])
        return _pull_in(ways.reshape(size, x.shape[1]), self.radius, self.norm)

    def add_to(self, batch: Batch, domain: Domain, length: int, sums: Any) -> bool:
        """Clamp and add up the rows in one loop; see ``aggregate``."""
        loops = compiled.point_loops(0)
        if loops is None:
            return False
        points = _array(self.centres)
        weights = compiled.plain(_powers(self, batch, domain), len(points), length)
        x = compiled.plain(_unit(self.names, batch, domain), len(self.names), length)
        how = float(steps_of(points.size)), float(self.radius), self.norm
        loops.add_pulls(x, points, weights, *how, *sums)
        return True

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


def diameter(width: int, norm: int) -> float:
    """The largest distance of two points on [-1, 1]."""
    return 2.0 * (width if norm == 1 else math.sqrt(width))


def _as_array(points: Points) -> Floats:
    out = np.array(points, dtype=float)
    out.flags.writeable = False
    return out


_array = MadeOnce(_as_array, 4)


def _unit(names: Terms, batch: Batch, domain: Domain) -> Floats:
    """Columns on [-1, 1], not to be changed; NaN where a number is missing."""

    def fill(out: Floats) -> None:
        out[:] = rows_with_gaps(names, batch, domain)

    shape, key = (len(names), len(batch[names_of(names[:1])[0]])), (names, domain)
    return share(
        batch, "unit", key, lambda: held(batch, ("unit", *key), [shape], fill)[0]
    )


def _powers(of: FuzzyWeights | FuzzyPulls, batch: Batch, domain: Domain) -> Floats:
    """Memberships to their power, not to be changed."""

    def make() -> Floats:
        x = _unit(of.names, batch, domain)
        parts = memberships(x, _array(of.centres), of.power)
        return raised(parts, of.power)

    return share(batch, "powers", (of.names, of.centres, of.power, domain), make)


def _with_nearest(
    names: Terms, centres: Points, batch: Batch, domain: Domain
) -> tuple[Floats, Floats, Ints]:
    """Rows to be written over, the centres, and which is nearest; none of one."""
    x = rows_with_gaps(names, batch, domain)
    near = np.empty(0, dtype=np.int64)
    if len(centres) > 1:
        near = _nearest_of(x, names, centres, batch, domain)
    return x, _array(centres), near


def _nearest_of(
    x: Floats, names: Terms, centres: Points, batch: Batch, domain: Domain
) -> Ints:
    """Which of the centres is nearest to each row."""
    points, lacks = _array(centres), may_lack(names, domain)
    key = names, centres, domain
    return remember(batch, "nearest", key, lambda: nearest(x, points, gaps=lacks))


def _from_nearest(
    names: Terms, centres: Points, batch: Batch, domain: Domain
) -> Floats:
    """The way from the nearest centre to each row; NaN along what is missing."""
    x, points, place = _with_nearest(names, centres, batch, domain)
    if len(points) == 1:
        x -= points.T
        return x
    shift = np.empty(x.shape[1])
    for row, column in zip(x, np.ascontiguousarray(points.T), strict=True):
        np.take(column, place, out=shift, mode="clip")
        row -= shift
    return x


def _norms(x: Floats, norm: int) -> Floats:
    # One buffer in the cache instead of a second table.
    total, part = np.zeros(x.shape[1]), np.empty(x.shape[1])
    for row in x:
        total += np.abs(row, out=part) if norm == 1 else np.square(row, out=part)
    return total if norm == 1 else np.sqrt(total, out=total)


def _pull_in(x: Floats, radius: float, norm: int) -> Floats:
    """Steps whose norm is at most one radius, once they are rounded; in place."""
    x *= steps_of(len(x)) / np.maximum(_norms(x, norm), radius)
    return x


def steps_of(width: int) -> int:
    """How many grid steps one radius has, so that rounding stays within the bound."""
    return _STEPS - width


def _ball(width: int, norm: int) -> Shape:
    if norm == 1:
        return Shape(width, _STEPS, total=_STEPS)
    return Shape(width, _STEPS, square=_STEPS**2)
