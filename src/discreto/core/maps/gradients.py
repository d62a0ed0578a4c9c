"""The gradient of a loss, clipped row by row: what is learned from across silos.

A row's gradient is a residual times the row, times the row's weight. Clipping it to a
public norm is the same as bounding the weighted residual, so it is still the gradient
of a convex loss (Huber's, for squares): a row far off the line pulls with a bounded
force, whatever the line.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from discreto.core.aggregate import add_up
from discreto.core.domain.domain import Domain
from discreto.core.exponentials import exp as exp_of
from discreto.core.maps.regression import (
    Basis,
    Scaled,
    check_linear,
    size_of,
    weighed,
)
from discreto.core.maps.unit_columns import names_of, unit_values
from discreto.core.query import Batch, Floats, Shape
from discreto.core.row_program import (
    Row,
    RowFeatures,
    Value,
    choose,
    exp,
    least,
    missing,
    most,
    root,
    total,
    trace,
)
from discreto.core.validation import Range, check_widths
from discreto.errors import ParameterError

TOP = 1 << 30  # grid steps of the largest gradient
FARTHEST = 1e12  # no weight is larger
Loss = Literal["squared", "logistic"]


@dataclass(frozen=True, slots=True)
class ClippedGradient(RowFeatures):
    """The gradient of a row's loss at ``weights``, of norm ``clip`` at most.

    Rows are those of a ``Scaled``, mapped by the matrix ``basis`` if there is one. A
    row whose norm n (before the basis) is above the ``reach`` of the ``Scaled`` has the
    weight (reach / n)^2, as in the products of its scaled rows; the others have 1. So
    the loss curves nowhere more than the weighted second moments. The bound is the
    clip, whatever the weights are: 2^30 grid steps.

    ``squared``: the target is a Number on [-1, 1]. ``logistic``: it is a Category of
    two, and the score is that of the second. A row without a target adds nothing, nor
    does one in which a number is missing that may be.
    """

    of: Scaled
    target: str
    weights: Annotated[tuple[float, ...], Range(-FARTHEST, FARTHEST)]
    clip: Annotated[float, Range(1e-9, 1e12)]
    loss: Loss = "squared"
    basis: Basis = ()

    @property
    def width(self) -> int:
        """How many numbers a row becomes."""
        return self.of.width()

    @property
    def unit(self) -> float:
        """The size of one grid step, with room for rounding."""
        return self.clip / (TOP - self.width - 1)

    def check(self, domain: Domain) -> None:
        check_linear(self.of, self.target)
        if len(self.weights) != self.of.width():
            raise ParameterError("a ClippedGradient needs a weight for each feature.")
        if len(self.basis) not in (0, self.width):
            raise ParameterError("the basis of a gradient is a square matrix.")
        check_widths(self.basis, self.width)
        if self.loss == "squared":
            domain.number(self.target)
        elif len(domain.category(self.target).categories) != 2:
            raise ParameterError("a logistic gradient needs a target of two classes.")

    def shape(self, domain: Domain) -> Shape:
        return Shape(self.width, TOP, square=TOP**2)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        z, share = self._points(row, domain)
        size = most(root(total(value * value for value in z)), 1e-12)
        limit = self.clip / size
        pull = weighed(self.weights, z)
        if self.loss == "logistic":
            pull = 1.0 / (1.0 + exp(-pull))
        pull = (pull - self._target(row, domain)) * share
        pull = least(most(pull, -limit), limit)  # NaN: the row adds nothing
        by = pull * (1 / self.unit)
        return [value * by for value in z]

    def _points(self, row: Row, domain: Domain) -> tuple[list[Value], Value]:
        """Return the row by which the residual is multiplied, and the row's weight."""
        z = self.of.row_values(row, domain)
        part = self.of.reach / most(size_of(z, self.of.norm), self.of.reach)
        if self.basis:
            z = [weighed(line, z) for line in self.basis]
        return z, part * part

    def _target(self, row: Row, domain: Domain) -> Value:
        if self.loss == "logistic":
            code = row.code(self.target)
            target = choose(code < 0.0, math.nan, code.equals(1.0))
        else:
            (unit,) = unit_values((self.target,), row, domain)
            target = choose(missing(row.number(self.target)), math.nan, unit)
        for name in self.of.names:
            if isinstance(name, str) and domain.number(name).missing:
                target = choose(missing(row.number(name)), math.nan, target)
        return target

    def points(self, batch: Batch, domain: Domain) -> Floats:
        """Return the rows by which residuals are multiplied."""
        return self.weighed(batch, domain)[0]

    def weighed(self, batch: Batch, domain: Domain) -> tuple[Floats, Floats]:
        """Return the rows by which residuals are multiplied, and each row's weight."""

        def values(row: Row) -> list[Value]:
            z, share = self._points(row, domain)
            return [*z, share]

        found = trace(values).numbers(batch, len(batch[self.target]))
        return found[:-1], found[-1]

    def goals(self, batch: Batch, domain: Domain) -> Floats:
        """Return targets on [-1, 1], or 0 and 1; NaN for rows that add nothing."""
        length = len(batch[self.target])
        return trace(lambda row: [self._target(row, domain)]).numbers(batch, length)[0]

    def at(self, weights: Iterable[float]) -> ClippedGradient:
        """The same gradient at other weights, cut to those it takes.

        A search looks at weights that depend on rows, so no number may be refused here.
        """
        there = np.nan_to_num([float(w) for w in weights])
        cut = there.clip(-FARTHEST, FARTHEST).tolist()
        return dataclasses.replace(self, weights=tuple(cut))

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.of.names), self.target)


def pulls_of(
    loss: Loss, scores: Floats, goals: Floats, shares: Floats, limits: Floats
) -> Floats:
    """Return bounded, weighted residuals, written over the scores. Any shape."""
    if loss == "logistic":
        np.divide(1, 1 + exp_of(-scores), out=scores)
    scores -= goals
    scores *= shares
    return scores.clip(-limits, limits, out=scores)


def limits_of(sizes: Floats, clip: float | Floats) -> Floats:
    """How large a residual may be for rows of these norms."""
    limits: Floats = clip / sizes
    return limits


def norms(z: Floats) -> Floats:
    """The l2 norm of each row (rows are columns here), never 0."""
    return np.maximum(np.sqrt(add_up(z * z)), 1e-12)
