"""Row maps that split one row into non-negative parts that add up to one.

Naive Bayes needs, for each class, a histogram of every Category column and two moments
of every Number column. In this form both are parts of one, so that a row moves the
table of a column by one in all, and its count needs no share of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.errors import DomainError, ParameterError
from discreto.kernel.domain import Category, Domain, Number
from discreto.kernel.query import Batch, Floats, Shape
from discreto.queries._names import check_names
from discreto.queries.features import SUM_BITS

MAX_CLASSES = 64
MAX_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class Partition:
    """For each column its parts of one, one column after the other.

    A Number x on [-1, 1] has ((1-x)^2/4, (1-x^2)/2, (1+x)^2/4), a Category a one in
    the place of its value. A column that may be missing has one part more, for that.
    Elsewhere a missing or unknown value has no part at all.
    """

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        check_names(self.names)

    def shape(self, domain: Domain) -> Shape:
        limit = 1 << SUM_BITS
        width = sum(parts_of(name, domain) for name in self.names)
        return Shape(width, limit, total=len(self.names) * limit, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        out = np.empty((self.shape(domain).width, len(batch[self.names[0]])))
        fill_parts(out, self.names, batch, domain, float(1 << SUM_BITS))
        # Rounding down keeps the total below its bound, so nothing is shrunk.
        return np.floor(out, out=out)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class SoftVotes:
    """Products of soft votes for the classes, which add up to one in every row.

    The votes q of a row are the softmax of ``weights`` times its parts (see
    :class:`Partition`), one list of weights for each class. The features are
    q_i q_i and 2 q_i q_j for i < j: sums of q and of its products in one.
    """

    names: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_names(self.names)
        good = isinstance(self.weights, tuple) and 1 <= len(self.weights) <= MAX_CLASSES
        for row in self.weights if good else ():
            good = good and isinstance(row, tuple) and len(row) == len(self.weights[0])
            good = good and all(
                isinstance(w, int | float)
                and not isinstance(w, bool)
                and abs(w) <= MAX_WEIGHT
                for w in (row if good else ())
            )
        if not good:
            raise ParameterError("SoftVotes needs equally long lists of finite weights.")

    def shape(self, domain: Domain) -> Shape:
        width = sum(parts_of(name, domain) for name in self.names)
        if width != len(self.weights[0]):
            raise ParameterError(f"SoftVotes needs {width} weights for each class.")
        limit, count = 1 << SUM_BITS, len(self.weights)
        return Shape(count * (count + 1) // 2, limit, total=limit, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        parts = np.empty((len(self.weights[0]), len(batch[self.names[0]])))
        fill_parts(parts, self.names, batch, domain, 1.0)
        q = soft_votes(np.array(self.weights, dtype=float), parts)
        first, second = np.triu_indices(len(q))
        double = np.where(first == second, 1.0, 2.0) * (1 << SUM_BITS)
        out = q[first]
        out *= q[second]
        out *= double[:, None]
        return np.floor(out, out=out)

    def columns(self) -> tuple[str, ...]:
        return self.names


def soft_votes(weights: Floats, parts: Floats) -> Floats:
    """The softmax of ``weights @ parts`` over the classes."""
    votes: Floats = weights @ parts
    votes -= votes.max(axis=0)
    np.exp(votes, out=votes)
    votes /= votes.sum(axis=0)
    return votes


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
    """Write the parts of ``one`` of every column into the rows of ``out``."""
    start = 0
    for name in names:
        column, values = domain[name], batch[name]
        width = parts_of(name, domain)
        place = out[start : start + width]
        if isinstance(column, Number):
            absent = _number_parts(place, values, column, one)
        else:
            place[:] = 0.0
            absent = (values < 0) | (values >= width - column.missing)  # type: ignore[union-attr]
            here = np.flatnonzero(~absent)
            place[values[here], here] = one
        if column.missing:  # type: ignore[union-attr]
            place[-1] = np.where(absent, one, 0.0)
        start += width


def _number_parts(place: Floats, values: Floats, column: Number, one: float) -> Floats:
    """The three parts of a Number; says where it is missing."""
    low, middle, high = place[:3]
    np.subtract(values, column.lower, out=high)
    high /= 2 * column.half
    absent: Floats = np.isnan(high)
    np.clip(high, 0.0, 1.0, out=high)
    np.subtract(1.0, high, out=low)
    np.multiply(low, high, out=middle)
    middle *= 2 * one
    low *= low
    low *= one
    high *= high
    high *= one
    if absent.any():
        place[:3, absent] = 0.0
    return absent
