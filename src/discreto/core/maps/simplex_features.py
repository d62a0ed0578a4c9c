"""Row maps that split one row into non-negative parts that add up to one.

Naive Bayes needs, for each class, a histogram of every Category column and two moments
of every Number column. In this form both are parts of one, so that a row moves the
table of a column by one in all, and its count needs no share of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Batch, Floats, Shape
from discreto.core.row_program import (
    Row,
    RowFeatures,
    Value,
    between,
    choose,
    exp,
    floor,
    largest,
    missing,
    present_or,
    take,
    total,
    trace,
    within,
)
from discreto.core.validation import Length, Names, Range
from discreto.errors import DomainError, ParameterError

MAX_CLASSES = 64
MAX_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class Partition(RowFeatures):
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

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        one, out = float(1 << SUM_BITS), list[Value]()
        for name in self.names:
            out += row_parts(name, row, domain, one)
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class SoftVotes(RowFeatures):
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

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        votes, one = row_votes(self.names, self.weights, row, domain), 1 << SUM_BITS
        out: list[Value] = []
        for i, first in enumerate(votes):
            out.append(floor((first * float(one)) * first))
            out += [floor((first * (2.0 * one)) * second) for second in votes[i + 1 :]]
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names


def soft_votes(
    names: tuple[str, ...], weights: Floats, batch: Batch, domain: Domain
) -> Floats:
    """Return the votes of rows for the classes, (classes, rows)."""
    lines = tuple(tuple(line) for line in weights.tolist())
    made = trace(lambda row: row_votes(names, lines, row, domain))
    return made.numbers(batch, len(batch[names[0]]))


def row_votes(
    names: tuple[str, ...],
    weights: tuple[tuple[float, ...], ...],
    row: Row,
    domain: Domain,
) -> list[Value]:
    """Return the votes of a row for the classes: they add up to one."""
    # The first class scores 0: a softmax allows it.
    scores = [row.constant(0.0)]
    for line in weights[1:]:
        mine = [w - base for w, base in zip(line, weights[0], strict=True)]
        start, score = 0, row.constant(0.0)
        for name in names:
            width = weights_of(name, domain)
            part, start = mine[start : start + width], start + width
            column = domain[name]
            if isinstance(column, Number):
                level = _level(row.number(name), column)
                here = 1.0 - missing(level)
                level = present_or(level, 0.0)
                score = score + level * (part[1] - part[0])
                score = score + choose(here, part[0], 0.0)
            else:
                score = score + take(part, row.code(name), 0.0)
        scores.append(score)
    best = largest(scores)
    votes = [exp(score - best) for score in scores]
    every = total(votes)
    return [vote / every for vote in votes]


def _level(value: Value, column: Number) -> Value:
    """Return the place of a number between its bounds, 0 to 1; NaN if missing."""
    return between((value - float(column.lower)) / float(2 * column.half), 0.0, 1.0)


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


def row_parts(name: str, row: Row, domain: Domain, one: float) -> list[Value]:
    """Return the parts of ``one`` of a column.

    Rounding down keeps the total below its bound, so nothing is shrunk.
    """
    column = domain[name]
    if isinstance(column, Number):
        high = _level(row.number(name), column)
        low, gone = 1.0 - high, missing(high)
        parts = low * low * one, low * high * (2.0 * one), high * high * one
        out = [present_or(floor(part), 0.0) for part in parts]
    elif isinstance(column, Category):
        code, size = row.code(name), len(column.categories)
        gone = missing(within(code, float(size), math.nan))
        out = [code.equals(float(k)) * one for k in range(size)]
    else:
        return []
    return [*out, gone * one] if column.missing else out
