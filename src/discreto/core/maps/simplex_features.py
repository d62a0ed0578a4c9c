"""Row maps that split one row into non-negative parts that add up to one.

Naive Bayes needs, for each class, a histogram of every Category column and two moments
of every Number column. In this form both are parts of one, so that a row moves the
table of a column by one in all, and its count needs no share of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from discreto.core import compiled
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.exponentials import exp
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Batch, Floats, Shape
from discreto.core.validation import Length, Names, Range
from discreto.errors import DomainError, ParameterError

Mask = NDArray[np.bool_]

MAX_CLASSES = 64
MAX_WEIGHT = 1e6
_CHUNK = 1 << 14  # rows whose scores stay in the cache


@dataclass(frozen=True, slots=True)
class Partition:
    """For each column its parts of one, one column after the other.

    A Number x on [-1, 1] has ((1-x)^2/4, (1-x^2)/2, (1+x)^2/4), a Category a one in
    the place of its value. A column that may be missing has one part more, for that.
    Elsewhere a missing or unknown value has no part at all.
    """

    names: Names

    def check(self, domain: Domain) -> None:
        for name in self.names:
            parts_of(name, domain)

    def shape(self, domain: Domain) -> Shape:
        limit, width = 1 << SUM_BITS, self._width(domain)
        return Shape(width, limit, total=len(self.names) * limit, signed=False)

    def _width(self, domain: Domain) -> int:
        return sum(parts_of(name, domain) for name in self.names)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        out = np.empty((self._width(domain), len(batch[self.names[0]])))
        fill_parts(out, self.names, batch, domain, float(1 << SUM_BITS))
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class SoftVotes:
    """Products of soft votes for the classes, which add up to one in every row.

    The votes q of a row are the softmax of its scores, one for each list of
    ``weights``. The score adds up the columns: a Number has two weights, its score at
    the lower and at the upper bound, with a straight line between; a Category has one
    for each value. What is missing scores nothing. The features are q_i q_i and
    2 q_i q_j for i < j: the sums of q and of its products in one.
    """

    names: Names
    weights: Annotated[
        tuple[tuple[float, ...], ...],
        Length(1, MAX_CLASSES),
        Range(-MAX_WEIGHT, MAX_WEIGHT),
    ]

    def check(self, domain: Domain) -> None:
        width = sum(weights_of(name, domain) for name in self.names)
        if any(len(row) != width for row in self.weights):
            raise ParameterError(f"SoftVotes needs {width} weights for each class.")

    def shape(self, domain: Domain) -> Shape:
        limit, count = 1 << SUM_BITS, len(self.weights)
        return Shape(count * (count + 1) // 2, limit, total=limit, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        weights, length = np.array(self.weights, dtype=float), len(batch[self.names[0]])
        first, second = np.triu_indices(len(weights))
        double = np.where(first == second, 1.0, 2.0)[:, None] * (1 << SUM_BITS)
        out = np.empty((first.size, length))
        for start in range(0, length, _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = {name: batch[name][part] for name in self.names}
            q = soft_votes(self.names, weights, rows, domain)
            np.multiply(q[first] * double, q[second], out=out[:, part])
        return np.floor(out, out=out)

    def columns(self) -> tuple[str, ...]:
        return self.names


def soft_votes(
    names: tuple[str, ...], weights: Floats, batch: Batch, domain: Domain
) -> Floats:
    """The votes of rows for the classes, (classes, rows)."""
    # Plain sums in a fixed order: a product of matrices would round a row's votes
    # differently next to other rows, and so make them depend on those.
    votes = np.zeros((len(weights), len(batch[names[0]])))
    others, fast = votes[1:], compiled.point_loops(votes.size * len(names))
    weights = weights[1:] - weights[0]  # the first class scores 0: a softmax allows it
    start = 0
    for name in names:
        width, values = weights_of(name, domain), batch[name]
        mine = weights[:, start : start + width]
        start += width
        if isinstance(domain[name], Number) and fast is not None:
            ends = float(domain.number(name).lower), float(2 * domain.number(name).half)
            values = compiled.plain(values, votes.shape[1])
            lows = np.ascontiguousarray(mine[:, 0])
            fast.add_votes(values, *ends, mine[:, 1] - lows, lows, others)
        elif isinstance(domain[name], Number):
            level, absent = _level(values, domain.number(name))
            if absent is not None:
                level[absent] = 0.0
            for vote, (low, high) in zip(others, mine, strict=True):
                vote += level * (high - low)
                vote += low if absent is None else np.where(absent, 0.0, low)
        else:
            known = (values >= 0) & (values < width)
            others += np.where(known, mine[:, np.where(known, values, 0)], 0.0)
    votes = exp(votes - votes.max(axis=0))
    total = votes[0].copy()
    for vote in votes[1:]:
        total += vote
    votes /= total
    return votes


def _level(values: Floats, column: Number) -> tuple[Floats, Mask | None]:
    """Where values are between the bounds, from 0 to 1; and which are missing."""
    level: Floats = np.subtract(values, column.lower)
    level /= 2 * column.half
    np.clip(level, 0.0, 1.0, out=level)
    absent = np.isnan(level)
    return level, absent if absent.any() else None


def weights_of(name: str, domain: Domain) -> int:
    """How many weights of :class:`SoftVotes` a column has."""
    column = domain[name]
    if isinstance(column, Category):
        return len(column.categories)
    domain.number(name)
    return 2


def parts_of(name: str, domain: Domain) -> int:
    """How many parts a column has."""
    column = domain[name]
    if isinstance(column, Number):
        return 3 + column.missing
    if isinstance(column, Category):
        return len(column.categories) + column.missing
    raise DomainError(f"{name!r} is opaque: it cannot be asked about.")


def fill_parts(
    out: Floats, names: tuple[str, ...], batch: Batch, domain: Domain, one: float
) -> None:
    """Write the parts of ``one`` of every column into the rows of ``out``.

    Rounding down keeps the total below its bound, so nothing is shrunk.
    """
    start = 0
    for name in names:
        column, values = domain[name], batch[name]
        width = parts_of(name, domain)
        place = out[start : start + width]
        start += width
        absent: Mask | None
        if isinstance(column, Number):
            absent = _number_parts(place, values, column, one)
        elif isinstance(column, Category):
            place[:] = 0.0
            absent = (values < 0) | (values >= len(column.categories))
            here = np.flatnonzero(~absent)
            place[values[here], here] = one
        else:
            continue
        if column.missing:
            place[-1] = 0.0 if absent is None else np.where(absent, one, 0.0)


def _number_parts(
    place: Floats, values: Floats, column: Number, one: float
) -> Mask | None:
    """The three parts of a Number; says where it is missing."""
    low, middle, high = place[:3]
    fast = compiled.loops(3 * len(values))
    if fast is not None:
        values = compiled.plain(values, len(high))
        bounds = float(column.lower), float(2 * column.half)
        missing = fast.fill_parts(values, *bounds, one, low, middle, high)
        return np.isnan(values) if missing else None
    level, absent = _level(values, column)
    high[:] = level
    np.subtract(1.0, high, out=low)
    np.multiply(low, high, out=middle)
    middle *= 2 * one
    low *= low
    low *= one
    high *= high
    high *= one
    np.floor(place[:3], out=place[:3])
    if absent is not None:
        place[:3, absent] = 0.0
    return absent
