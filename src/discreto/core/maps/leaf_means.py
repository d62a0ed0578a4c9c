"""The leaf of the papers: its value, -S / (n + ridge), with noise of its own.

A mean is no sum of rows, so no clamp can bound it. What is folded are the exact whole
sums of clamped gradients and rows; the value follows from them in whole numbers, behind
the gate, and ``LeafMean.reach`` bounds how far a row moves it, whatever the other rows
are. ``docs/proofs/boosting.md`` has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.query import Block, Cells, Fold, Ints, Shape, Sum
from discreto.core.validation import Range
from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True)
class LeafMean:
    """-S / (n + ridge) of a leaf, cut to ``most`` either way, in steps of 2^-bits.

    It is a function of sums, not a map of rows, and is not among those that a question
    from elsewhere may hold.
    """

    proof = "docs/proofs/boosting.md#leaves"

    gradients: Gradients
    ridge: Annotated[float, Range(0.0, 1e12)]
    most: Annotated[float, Range(0.0, 1.0)]

    @property
    def top(self) -> int:
        """Grid steps of a 1, which no gradient exceeds."""
        return 1 << self.gradients.bits

    @property
    def cut(self) -> int:
        """The largest value, in steps."""
        return max(math.floor(self.most * self.top), 1)

    def reach(self) -> int:
        """How far a row that comes or goes can move the value, in steps."""
        most, ridge = Fraction(self.cut, self.top), Fraction(self.ridge)
        far = min(2 * most, (1 + most) / (2 + ridge), 1 / (1 + ridge))
        return math.ceil(far * self.top)  # whole: the value is rounded

    def check(self, domain: Domain) -> None:
        """Refuse gradients of several scores."""
        if len(self.gradients.start) != 1 or self.gradients.weight:
            raise ParameterError("a LeafMean is that of single bounded gradients.")

    def shape(self, domain: Domain) -> Shape:
        # Rows that come or go one after another add up, so what holds for sums of rows
        # (several rows of a person, replaced rows) holds for this as well.
        return Shape(1, self.reach())

    def compute(self, fold: Fold, cells: Cells, domain: Domain) -> Ints:
        return self.of(fold(Sum(cells, (Block(self.gradients, "pair"),)))[0])

    def columns(self) -> tuple[str, ...]:
        return self.gradients.columns()

    def of(self, pairs: Ints) -> Ints:
        """The value of each leaf from its sums of top + g and top - g, exactly."""
        upper, lower = (sums.astype(object) for sums in pairs.T)
        over, under = Fraction(self.ridge).as_integer_ratio()
        whole = (upper + lower) * under + 2 * self.top * over
        whole = np.where(whole == 0, 1, whole)  # no rows and no ridge: 0
        # To the nearest step, and only then cut: both never swap two values.
        steps = (2 * self.top * under * (lower - upper) + whole) // (2 * whole)
        return np.clip(steps.astype(np.int64), -self.cut, self.cut)[:, None]
