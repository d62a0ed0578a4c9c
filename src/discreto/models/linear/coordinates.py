"""Rows of linear models: centred, scaled and turned by what has been released.

In such coordinates rows are about as wide in every direction, however columns are
correlated, so that noise and steps of one size fit all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.gate import bind, noises_for
from discreto.core.maps import Scaled
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS
from discreto.core.maps.unit_columns import Term
from discreto.core.query import Block, Cells, Sum
from discreto.models.linear.moments import Floats, unfold
from discreto.session.session import Ask

TYPICAL = 0.4  # how far Number columns are from the middle of their range
WIDE = 400  # above so many terms no matrix of products is asked for
_FLOOR = 1e-4  # of an eigenvalue


@dataclass(frozen=True)
class Design:
    """Public facts of the rows of a linear model."""

    names: tuple[Term, ...]
    numbers: Any  # which of them are Number columns
    columns: int  # how many columns they are made of
    gaussian: bool
    bounded: bool  # whether rows of a large norm are scaled down
    known: Cells  # the rows that have a target and all numbers
    whole: Cells  # the rows that have all numbers

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def norm(self) -> Any:
        return "l2" if self.gaussian else "l1"

    @property
    def typical(self) -> Floats:
        """The usual distance of terms from their middle, where it is not known."""
        return np.where(self.numbers, TYPICAL, 1.0)

    def rows(self, origins: Any, scales: Any, constant: float, part: float) -> Scaled:
        """Return rows around ``origins``, of at most a part of a typical row's norm."""
        if not self.bounded:
            far = (1 + np.abs(origins)) / scales
            reach = (
                math.hypot(constant, *far) if self.gaussian else constant + far.sum()
            )
        elif self.gaussian:
            reach = math.sqrt(constant**2 + part * self.columns)
        else:
            reach = constant + part * self.columns
        return Scaled(
            self.names, plain(origins), plain(scales), constant, reach, self.norm
        )

    def noise(self, ask: Ask, share: Fraction) -> float:
        """Return the spread of the noise on a sum of rows whose norm is 1 at most."""
        rows = self.rows(np.zeros(self.width), self.typical, 1.0, 1.0)
        bound = bind(Sum(self.known, (Block(rows),)), ask.domain)
        law = noises_for(bound, ask.cost * share)[0]
        return math.sqrt(law.variance) / (1 << SUM_BITS)

    def usual(self, dimension: float, width: float) -> float:
        """Return the norm of a usual row of ``width`` numbers in so many directions."""
        if self.gaussian:
            return math.sqrt(dimension)
        return 0.8 * math.sqrt(dimension * width)


@dataclass(frozen=True)
class Sums:
    """Noisy sums of rows, in their own units, and the variance of their noise."""

    values: Floats
    variance: float


@dataclass(frozen=True)
class Coordinates:
    """Coordinates for steps: rows (1, (u - middle) / scales), turned by ``basis``."""

    middle: Floats
    scales: Floats
    products: Floats  # of such rows, on average, before they are turned
    basis: Floats
    doubt: float  # how large the noise makes an eigenvalue of the products
    size: float  # the mean of the eigenvalues
    dimension: float  # in how many directions rows really lie

    def unit(self, local: Floats) -> Floats:
        """Return coefficients of such rows as coefficients of rows on [-1, 1]."""
        slopes = local[:, 1:] / self.scales
        return np.column_stack([local[:, 0] - slopes @ self.middle, slopes])


def spreads(ask: Ask, design: Design, middle: Floats, share: Fraction) -> Floats:
    """Return standard deviations around ``middle``, drawn together by the noise."""
    typical = design.typical
    rows = replace(design.rows(middle, typical, 1.0, 0.05), power=2)
    sums = ask_sums(ask, Sum(design.known, (Block(rows),)), "spreads", share, rows)
    values = sums.values[0]
    total = max(values[0], 1.0)
    squares = values[1:] / total
    noise = sums.variance * (1 + squares**2) / total**2
    centre = float(np.clip(squares.mean(), 0.02, typical.min() ** -2))
    apart = squares - centre
    signal = max(float(np.mean(apart**2 - noise)), 0.0)
    drawn = centre + apart * signal / np.maximum(signal + noise, 1e-300)
    return np.asarray(typical * np.sqrt(np.clip(drawn, 0.05 * centre, 4.0)))


def frame(
    ask: Ask,
    design: Design,
    middle: Floats,
    scales: Floats,
    total: float,
    share: Fraction,
    *,
    cautious: bool = False,
) -> Coordinates:
    """Coordinates in which rows are about as wide in every direction.

    ``cautious``: never wider than noise would make a direction that is not there.
    """
    width = design.width + 1
    if not share:  # too many terms: no direction is wider than all columns together
        basis = np.eye(width) / math.sqrt(1 + design.columns)
        size = float(1 + design.columns)
        return Coordinates(middle, scales, np.eye(width), basis, size, 1.0, size)
    room = total / design.noise(ask, share)
    usual = design.usual(design.columns + 1.0, design.columns + 1.0)
    reach = max(0.5 * usual, min(0.1 * math.sqrt(room), 50 * usual))
    rows = design.rows(middle, scales, 1.0, 1.0)
    if design.bounded:
        rows = replace(rows, reach=reach)
    rows = replace(rows, bits=PRODUCT_BITS)
    query = Sum(design.known, (Block(rows, "gram"),))
    answer = ask.measure(query, "products of the columns", share)
    step = rows.steps() ** 2
    sums = unfold(answer.tables[0][0] / step, width)
    noise = math.sqrt(answer.noises[0].variance) / step
    heard = max(float(sums[0, 0]), 2 * noise, 1.0)
    products, doubt = sums / heard, 2 * math.sqrt(width) * noise / heard
    size = max(float(np.trace(products)) / width, 0.3)
    values, vectors = np.linalg.eigh(products)
    trimmed = trim(values, doubt, size)
    if cautious:
        trimmed = np.maximum(values, doubt + _FLOOR)
    basis = (vectors / np.sqrt(trimmed)).T
    dimension = max(float((np.maximum(values, 0) / trimmed).sum()), 1.0)
    return Coordinates(middle, scales, products, basis, doubt, size, dimension)


def trim(values: Floats, doubt: float, size: float) -> Floats:
    """Eigenvalues as far as they are known: what noise can explain is their mean."""
    values = np.maximum(values, 0)
    low = np.maximum(values, min(size, doubt) + _FLOOR)
    middle = np.full_like(values, size) if doubt > 0.5 * size else values
    return np.where(values > size + doubt, values, np.where(values < size, low, middle))


def ask_sums(ask: Ask, query: Sum, label: str, share: Fraction, rows: Scaled) -> Sums:
    """Return noisy sums of rows, in the units of the rows."""
    answer = ask.measure(query, label, share)
    unit = rows.reach / ((1 << SUM_BITS) - rows.width())
    values = np.asarray(answer.tables[0] * unit, dtype=np.float64)
    return Sums(values, answer.noises[0].variance * unit**2)


def rows_of(weights: Floats) -> tuple[tuple[float, ...], ...]:
    """Return a matrix as JSON knows it."""
    return tuple(plain(row) for row in weights)


def plain(values: Any) -> tuple[float, ...]:
    """Return numbers as JSON knows them."""
    return tuple(float(value) for value in values)
