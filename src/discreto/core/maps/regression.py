"""Row maps of linear models: rows of a bounded norm, and their gradients.

Every row is first put on [-1, 1] (or on a scale that the question brings), and then, if
its norm is above ``reach``, scaled down as a whole. A scaled row is a row of smaller
weight: it says the same about a linear model, only less loudly. That is what makes a
bound that hardly any row needs affordable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS, unit_shape
from discreto.core.maps.unit_columns import (
    Terms,
    check_numbers,
    names_of,
    unit_values,
)
from discreto.core.once import MadeOnce
from discreto.core.query import Batch, Floats, Shape
from discreto.core.rounding import whole
from discreto.core.row_program import (
    Row,
    RowFeatures,
    Value,
    absolute,
    between,
    choose,
    exp,
    floor,
    largest,
    missing,
    most,
    present_or,
    root,
    take,
    total,
    trace,
)
from discreto.core.validation import Length, Range, check_widths
from discreto.errors import ParameterError

Norm = Literal["l1", "l2"]
_TOP = 1 << SUM_BITS
WIDEST = 1 << 11
Basis = Annotated[
    tuple[tuple[float, ...], ...], Length(0, WIDEST), Range(-1e9, 1e9)
]  # a matrix
_NO_LIMIT = 1e12


@dataclass(frozen=True, slots=True)
class Scaled(RowFeatures):
    """``((u - origin) / scale) ** power`` of each column u on [-1, 1], row by row.

    A missing number counts as its origin. ``constant`` is put in front (0: nothing is).
    With ``rotate`` the Number columns are replaced by their cosine transform, in which
    columns that move together, or lie off the middle together, have a small l1 norm.
    A row whose norm is above ``reach`` is scaled down to it; ``reach`` is 2^bits grid
    steps (take 15 bits for products). If no number can be above ``largest``, saying so
    makes the bound of products tighter. With a ``basis`` the row, constant and all, is
    multiplied by that matrix before its norm is bounded.
    """

    names: Terms
    origins: Annotated[tuple[float, ...], Range(-1e6, 1e6)]
    scales: Annotated[tuple[float, ...], Range(1e-9, 1e9)]
    constant: Annotated[float, Range(0.0, 1e9)]
    reach: Annotated[float, Range(1e-9, 1e12)]
    norm: Norm = "l1"
    rotate: bool = False
    power: Annotated[int, Range(1, 2)] = 1
    bits: int = SUM_BITS
    largest: Annotated[float, Range(1e-9, 1e12)] = _NO_LIMIT
    basis: Basis = ()

    def width(self) -> int:
        """How many numbers a row becomes."""
        return len(self.basis) or self.length()

    def length(self) -> int:
        """How many numbers a row has before it is multiplied by the basis."""
        return len(self.names) + (self.constant > 0)

    def check(self, domain: Domain) -> None:
        if self.bits not in (PRODUCT_BITS, SUM_BITS) or self.length() > WIDEST:
            raise ParameterError("Scaled takes 15 or 30 bits and at most 2048 columns.")
        if {len(self.origins), len(self.scales)} != {len(self.names)}:
            raise ParameterError("a Scaled has an origin and a scale for each column.")
        if self.basis and (self.rotate or self.largest < _NO_LIMIT):
            raise ParameterError("a Scaled with a basis has no other turn or limit.")
        check_widths(self.basis, self.length())
        check_numbers(self.names, domain)

    def shape(self, domain: Domain) -> Shape:
        top = 1 << self.bits
        limit = min(math.ceil(self.largest / self.reach * top), top)
        shape = unit_shape(self.width(), self.norm, top, limit)
        square = min(shape.square, math.ceil(self._square() * top**2))
        return Shape(shape.width, limit, shape.total, square)

    def _square(self) -> float:
        """The largest squared l2 norm of a row, against ``reach`` squared.

        Every row has the constant c in it, so it cannot be one large number. With m
        the largest of the others, a row of l1 norm r has the most if all of r - c is
        one number, or if it is (c, m) scaled down: ``docs/proofs/sensitivity.md``.
        Where nothing is said about the ``largest`` number, the bound is the same for
        all origins and scales: those may come from answers, bounds may not.
        """
        if self.largest >= _NO_LIMIT:
            return 1.0
        if self.norm != "l1" or self.rotate or not 0 < self.constant < self.reach:
            return 1.0
        far = (1 + np.abs(self.origins)) / np.array(self.scales)
        c, m = self.constant / self.reach, float(far.max()) ** self.power / self.reach
        whole = max((c * c + m * m) / (c + m) ** 2, c * c + (1 - c) ** 2)
        # A grid step more for every number that was rounded up.
        return min(1.0, whole + 3 * self.width() / (1 << self.bits))

    def steps(self) -> float:
        """Grid steps of a 1, with room for rounding."""
        return ((1 << self.bits) - self.width()) / self.reach

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        z = self.row_values(row, domain)
        by = self.reach / most(size_of(z, self.norm), self.reach)
        return [value * by * self.steps() for value in z]

    def row_values(self, row: Row, domain: Domain) -> list[Value]:
        """Return a row before its norm is bounded."""
        return row.keep(self._turned(row, domain))

    def _turned(self, row: Row, domain: Domain) -> list[Value]:
        rows = self._before(row, domain)
        if not self.basis:
            return rows
        # Both are put on a grid so coarse that all sums are exact in float64.
        matrix, first, second = _whole_basis(self)
        steps = [floor(value * second + 0.5) for value in rows]
        turned = [weighed(line, steps) for line in matrix.tolist()]
        return [value * (1 / first) * (1 / second) for value in turned]

    def _before(self, row: Row, domain: Domain) -> list[Value]:
        """Return the row before it is multiplied by the basis."""
        out = []
        terms = zip(self.names, self.origins, self.scales, strict=True)
        for name, origin, scale in terms:
            if isinstance(name, str):
                column = domain.number(name)
                value = (row.number(name) - float(column.centre)) * (1 / column.half)
                value = present_or(between(value, -1.0, 1.0) - float(origin), 0.0)
            else:
                value = name.row_value(row, domain) - float(origin)
            value = value / float(scale)
            out.append(value * value if self.power == 2 else value)
        if self.rotate:
            numbers = [i for i, name in enumerate(self.names) if isinstance(name, str)]
            plain = [out[i] for i in numbers]
            turned = [weighed(line, plain) for line in cosines(len(numbers)).tolist()]
            for i, value in zip(numbers, turned, strict=True):
                out[i] = value
        return [row.constant(self.constant), *out] if self.constant else out

    def affine(self, batch: Batch, domain: Domain) -> Floats:
        """Return rows before their norm is bounded, (width, rows)."""
        length = len(batch[names_of(self.names[:1])[0]])
        made = trace(lambda row: self.row_values(row, domain))
        return made.numbers(batch, length)

    def furthest(self) -> float:
        """No number of a row is larger than this before it is multiplied by a basis."""
        far = (1 + np.abs(self.origins)) / np.array(self.scales)
        return max(float((far**self.power).max()), self.constant)

    def columns(self) -> tuple[str, ...]:
        return names_of(self.names)


def check_linear(of: Scaled, target: str) -> None:
    """Refuse rows of a gradient that are squared, or have the target in them."""
    if of.power != 1:
        raise ParameterError("a gradient is made of a Scaled of power 1.")
    if target in names_of(of.names):
        raise ParameterError(f"{target!r} is the target: it is not in the rows.")


@dataclass(frozen=True, slots=True)
class LogisticGradient(RowFeatures):
    """The gradient of a row's logistic loss, residuals (x) the scaled row.

    ``weights`` holds one vector for two classes (the score of the second one) and one
    for each class otherwise; scores use rows whose norm is not yet bounded. Residuals
    are bounded by ``clip`` times those of a hopeless row, and count ``importance``
    times for a row of each class (0 to 1; by default 1). A row of no known class adds
    nothing. The bound ``clip * reach`` (twice that for more than two classes and the
    l1 norm, sqrt 2 times for the l2 norm) is 2^30 grid steps.
    """

    of: Scaled
    target: str
    weights: Annotated[
        tuple[tuple[float, ...], ...], Length(1, 1 << 12), Range(-1e12, 1e12)
    ]
    clip: Annotated[float, Range(1e-6, 1.0)] = 1.0
    importance: Annotated[tuple[float, ...], Range(0.0, 1.0)] = ()

    def check(self, domain: Domain) -> None:
        check_linear(self.of, self.target)
        check_widths(self.weights, self.of.width())
        classes = len(domain.category(self.target).categories)
        if len(self.weights) != (1 if classes == 2 else classes):
            raise ParameterError("a LogisticGradient needs weights for every class.")
        if len(self.importance) not in (0, classes):
            raise ParameterError("importance is one number for every class.")

    def shape(self, domain: Domain) -> Shape:
        return unit_shape(len(self.weights) * self.of.width(), self.of.norm)

    def bound(self) -> float:
        """The largest norm of a row's gradient: 2^30 grid steps."""
        return self.clip * self.of.reach * self._factor()

    def most(self) -> float:
        """The largest norm of a row's residuals."""
        return self.clip * self._factor()

    def _factor(self) -> float:
        if len(self.weights) == 1:
            return 1.0
        return 2.0 if self.of.norm == "l1" else math.sqrt(2)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        z = self.of.row_values(row, domain)
        scores = [weighed(line, z) for line in self.weights]
        residuals = self._residuals(scores, row.code(self.target))
        steps = (_TOP - len(residuals) * len(z)) / self.bound()
        by = self.of.reach / most(size_of(z, self.of.norm), self.of.reach)
        short = [value * by * steps for value in z]
        return [residual * value for residual in residuals for value in short]

    def _residuals(self, scores: list[Value], code: Value) -> list[Value]:
        if len(scores) == 1:
            chance = 1.0 / (1.0 + exp(-scores[0]))
            out = [between(chance - code.equals(1.0), -self.clip, self.clip)]
        else:
            best = largest(scores)
            votes = [exp(score - best) for score in scores]
            every = total(votes)
            out = [vote / every - code.equals(float(k)) for k, vote in enumerate(votes)]
            limit = self.most()
            by = limit / most(size_of(out, self.of.norm), limit)
            out = [residual * by for residual in out]
        if self.importance:
            own = take(self.importance, code, self.importance[-1])
            out = [residual * own for residual in out]
        return [choose(code < 0.0, 0.0, residual) for residual in out]

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.of.names), self.target)


@dataclass(frozen=True, slots=True)
class SquaredGradient(RowFeatures):
    """What is left of a target by a line, times the scaled row.

    The target is (u - origin) / scale for u on [-1, 1]. A row that its bound scales
    down to a part w says w times as much of both sides, so its residual is w times the
    residual, clipped to ``clip``. A row without a target adds nothing. The bound
    ``clip * reach`` is 2^30 grid steps.
    """

    of: Scaled
    target: str
    origin: Annotated[float, Range(-1e6, 1e6)]
    scale: Annotated[float, Range(1e-9, 1e9)]
    weights: Annotated[tuple[float, ...], Range(-1e12, 1e12)]
    clip: Annotated[float, Range(1e-9, 1e9)]

    def check(self, domain: Domain) -> None:
        check_linear(self.of, self.target)
        check_widths((self.weights,), self.of.width())
        domain.number(self.target)

    def shape(self, domain: Domain) -> Shape:
        return unit_shape(self.of.width(), self.of.norm)

    def unit(self) -> float:
        """The size of one grid step."""
        return self.clip * self.of.reach / (_TOP - self.of.width())

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        z = self.of.row_values(row, domain)
        target = row.number(self.target)
        (value,) = unit_values((self.target,), row, domain)
        residual = (value - self.origin) / self.scale - weighed(self.weights, z)
        part = self.of.reach / most(size_of(z, self.of.norm), self.of.reach)
        residual = between(residual * part, -self.clip, self.clip)
        residual = choose(missing(target), 0.0, residual)
        by = part * residual / self.unit()
        return [value * by for value in z]

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.of.names), self.target)


def _put_on_grid(scaled: Scaled) -> tuple[Floats, float, float]:
    """The basis in whole steps, and the steps of a 1 for it and for rows."""
    matrix = np.array(scaled.basis)
    first, second = grids(matrix, scaled.length(), scaled.furthest())
    return whole(matrix * first), first, second


_whole_basis = MadeOnce(_put_on_grid, 4)  # they may be large


def weighed(weights: Sequence[float], values: Sequence[Value]) -> Value:
    """Return the sum of values times weights, in their order."""
    return total(value * weight for weight, value in zip(weights, values, strict=True))


def size_of(values: Sequence[Value], norm: str) -> Value:
    """Return the norm of a row."""
    if norm == "l1":
        return total(absolute(value) for value in values)
    return root(total(value * value for value in values))


@lru_cache(maxsize=32)
def cosines(width: int) -> Floats:
    """Return the orthonormal cosine transform of ``width`` columns."""
    k, j = np.arange(width)[:, None], np.arange(width)[None, :]
    out = np.cos(math.pi * k * (2 * j + 1) / (2 * width)) * math.sqrt(2 / width)
    out[0] /= math.sqrt(2)
    out.setflags(write=False)
    return out


def grids(matrix: Floats, length: int, largest: float) -> tuple[float, float]:
    """Return steps of a 1, for a matrix and for rows of ``length`` numbers."""
    steps = float(1 << (52 - math.ceil(math.log2(length + 1))) // 2)
    tall = max(float(np.abs(matrix).max(initial=0.0)), 1e-300)
    return steps / tall, steps / max(largest, 1e-300)
