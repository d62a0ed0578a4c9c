"""Row maps of linear models: rows of a bounded norm, and their gradients.

Every row is first put on [-1, 1] (or on a scale that the question brings), and then, if
its norm is above ``reach``, scaled down as a whole. A scaled row is a row of smaller
weight: it says the same about a linear model, only less loudly. That is what makes a
bound that hardly any row needs affordable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from discreto.core.aggregate import add_up
from discreto.core.domain.domain import Domain
from discreto.core.exponentials import exp
from discreto.core.maps._linear_rows import (
    add_products,
    add_weighed,
    cosines,
    grids,
    mix,
    products,
    scaled_lines,
    shortened,
    sizes_of,
    weighed,
)
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS, unit_shape
from discreto.core.maps.unit_columns import (
    Terms,
    alone,
    check_numbers,
    names_of,
    unit_rows,
)
from discreto.core.once import MadeOnce
from discreto.core.query import Batch, Floats, Shape
from discreto.core.rounding import make_whole, whole
from discreto.core.row_cache import held
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
class Scaled:
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

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        return self._short(batch, domain, self.steps())

    def points(self, batch: Batch, domain: Domain) -> Floats:
        """The rows of at most ``reach``, before they are put on a grid."""
        return self._short(batch, domain, 1.0)

    def _short(self, batch: Batch, domain: Domain, steps: float) -> Floats:
        rows, _, sizes = self.weighed(batch, domain, np.zeros((0, self.width())))
        return shortened(rows, self.reach, sizes, steps)

    def affine(self, batch: Batch, domain: Domain) -> Floats:
        """The rows before their norm is bounded."""
        return self.weighed(batch, domain, np.zeros((0, self.width())))[0]

    def weighed(
        self, batch: Batch, domain: Domain, weights: Floats, out: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """These rows (written to ``out``), their weighed sums, and their norms."""
        if self.basis:
            rows, units = self._turned(batch, domain, out)
        else:
            rows, units = self._before(batch, domain), (1.0, 1.0)
            if out is not None:
                out[:] = rows
                rows = out
        return rows, *weighed(rows, units, weights, self.norm)

    def held(
        self, batch: Batch, domain: Domain, weights: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The same, not to be changed; rows are held for the fit's next questions."""
        length, found = len(batch[names_of(self.names[:1])[0]]), []

        def fill(rows: Floats, sizes: Floats) -> None:
            _, sums, sizes[:] = self.weighed(batch, domain, weights, rows)
            found.append(sums)

        shapes = (self.width(), length), (length,)
        rows, sizes = held(batch, ("scaled", self, domain), shapes, fill)
        return rows, found[0] if found else mix(weights, rows), sizes

    def _before(self, batch: Batch, domain: Domain) -> Floats:
        """The rows before they are multiplied by the basis."""
        plain = self.power == 1 and not self.rotate
        away = self.origins, self.scales
        if plain:
            rows = scaled_lines(self.names, batch, domain, away, self.constant)
            if rows is not None:
                return rows
        unit = unit_rows(self.names, batch, domain, self.origins)
        unit /= np.array(self.scales)[:, None]
        if self.power == 2:
            unit *= unit
        if self.rotate:
            numbers = [isinstance(name, str) for name in self.names]
            unit[numbers] = mix(cosines(sum(numbers)), unit[numbers])
        if self.constant:
            ones = np.full((1, unit.shape[1]), self.constant)
            unit = np.vstack([ones, unit])
        return unit

    def _turned(
        self, batch: Batch, domain: Domain, out: Floats | None
    ) -> tuple[Floats, tuple[float, float]]:
        """The rows times the basis, in whole steps, and the two units of a step.

        Both are first put on a grid so coarse that all sums are exact in float64: else
        a row's product could depend, in the last bit, on the rows beside it.
        """
        matrix, first, second = _whole_basis(self)
        away, rows = (self.origins, self.scales), None
        if self.power == 1:
            rows = scaled_lines(self.names, batch, domain, away, self.constant, second)
        if rows is None:
            rows = self._before(batch, domain)
            rows *= second
            make_whole(rows)
        return np.matmul(matrix, rows, out=out), (1 / first, 1 / second)

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
class LogisticGradient:
    """The gradient of a row's logistic loss, residuals (x) the scaled row.

    ``weights`` holds one vector for two classes (the score of the second one) and one
    for each class otherwise; scores use rows whose norm is not yet bounded. Residuals
    are bounded by ``clip`` times those of a hopeless row, and count ``importance``
    times for a row of each class (0 to 1; by default 1). A row of no known class adds
    nothing. The bound ``clip * reach`` (twice that for more than two classes and the
    l1 norm, sqrt 2 times for the l2 norm) is 2^30 grid steps.
    """

    proof = "docs/proofs/sensitivity.md#linear"

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

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        weighed = self.of.weighed(batch, domain, _array(self.weights))
        residuals, z, short = self._factors(batch, weighed)
        return products(residuals, shortened(z, *short))

    def add_to(self, batch: Batch, domain: Domain, length: int, sums: Any) -> bool:
        """Clamp and add up the rows in one loop; see ``aggregate``."""
        held = self.of.held(batch, domain, _array(self.weights))
        return add_products(*self._factors(batch, held), length, sums)

    def _factors(
        self, batch: Batch, weighed: tuple[Floats, Floats, Floats]
    ) -> tuple[Floats, Floats, tuple[float, Floats, float]]:
        """Residuals, rows, and how rows are shortened: reach, norms, grid steps."""
        z, scores, sizes = weighed
        residuals = self._residuals(scores, batch[self.target])
        steps = (_TOP - len(residuals) * len(z)) / self.bound()
        return residuals, z, (self.of.reach, sizes, steps)

    def _residuals(self, scores: Floats, codes: Floats) -> Floats:
        if len(scores) == 1:
            chance = 1 / (1 + exp(-scores))
            residuals = chance - (codes == 1)[None, :]
            np.clip(residuals, -self.clip, self.clip, out=residuals)
        else:
            residuals = exp(scores - scores.max(axis=0))
            residuals /= add_up(residuals)
            residuals -= codes[None, :] == np.arange(len(scores))[:, None]
            most = self.most()
            sizes = sizes_of(residuals, self.of.norm)
            residuals *= most / np.maximum(sizes, most)
        if self.importance:
            known = np.clip(codes, 0, len(self.importance) - 1)
            residuals *= np.array(self.importance)[known]
        np.copyto(residuals, 0.0, where=codes < 0)
        return residuals

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.of.names), self.target)


@dataclass(frozen=True, slots=True)
class SquaredGradient:
    """What is left of a target by a line, times the scaled row.

    The target is (u - origin) / scale for u on [-1, 1]. A row that its bound scales
    down to a part w says w times as much of both sides, so its residual is w times the
    residual, clipped to ``clip``. A row without a target adds nothing. The bound
    ``clip * reach`` is 2^30 grid steps.
    """

    proof = "docs/proofs/sensitivity.md#linear"

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

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        weighed = self.of.weighed(batch, domain, np.array([self.weights]))
        z, by = self._factors(batch, domain, weighed)
        z *= by
        return z

    def add_to(self, batch: Batch, domain: Domain, length: int, sums: Any) -> bool:
        """Clamp and add up the rows in one loop; see ``aggregate``."""
        held = self.of.held(batch, domain, np.array([self.weights]))
        return add_weighed(*self._factors(batch, domain, held), length, sums)

    def _factors(
        self, batch: Batch, domain: Domain, weighed: tuple[Floats, Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """The scaled rows, and what each of them is multiplied by."""
        z, scores, sizes = weighed
        residuals = unit_rows(alone(self.target), batch, domain)[0]
        residuals -= self.origin
        residuals /= self.scale
        residuals -= scores[0]
        parts = self.of.reach / np.maximum(sizes, self.of.reach)
        residuals *= parts
        np.clip(residuals, -self.clip, self.clip, out=residuals)
        np.copyto(residuals, 0.0, where=np.isnan(batch[self.target]))
        parts *= residuals
        parts /= self.unit()
        return z, parts

    def columns(self) -> tuple[str, ...]:
        return (*names_of(self.of.names), self.target)


def _put_on_grid(scaled: Scaled) -> tuple[Floats, float, float]:
    """The basis in whole steps, and the steps of a 1 for it and for rows."""
    matrix = np.array(scaled.basis)
    first, second = grids(matrix, scaled.length(), scaled.furthest())
    return whole(matrix * first), first, second


_whole_basis = MadeOnce(_put_on_grid, 4)  # they may be large
_array = MadeOnce(np.array, 4)
