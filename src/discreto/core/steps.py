"""Many Gaussian steps on samples of the rows, paid for as one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.bound import Bound
from discreto.core.cost import Cost, rho_for
from discreto.core.domain import Domain
from discreto.core.noise.calibration import Noise
from discreto.core.noise.gaussian import GRID_PART, fine_bits
from discreto.core.query import BoundBlock
from discreto.errors import DomainError


@dataclass(frozen=True, slots=True)
class Steps:
    """``count`` steps; each takes every row with probability ``rate``.

    ``noise`` is the standard deviation of a step's noise in multiples of how far one
    row can move its sum, in the l2 norm.
    """

    epsilon: Fraction
    delta: Fraction
    count: int
    rate: Fraction
    noise: Fraction

    @property
    def cost(self) -> Cost:
        """What all steps cost together.

        Over all rows they are Gaussian privacy like any other, on samples a block.
        """
        if self.rate == 1:
            return Cost(rho=rho_for(self.epsilon, self.delta))
        return Cost(block_epsilon=self.epsilon, delta=self.delta)

    @property
    def each(self) -> Cost:
        """What one step draws of it."""
        return self.cost * Fraction(1, self.count)

    def noises(self, query: Bound) -> tuple[Noise, ...]:
        """The noise on each block of a step's sums."""
        if self not in query.kept:
            query.kept[self] = tuple([self._noise(part) for part in query.blocks])
        noises: tuple[Noise, ...] = query.kept[self]
        return noises

    def _noise(self, part: BoundBlock) -> Noise:
        share = part.block.share
        variance = self.noise**2 * Fraction(part.square) / share
        numbers = self.count * part.touched
        loss = (self.cost.rho or self.epsilon) * GRID_PART * share
        return Noise("gaussian", variance, bits=fine_bits(variance, numbers, loss))

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "count": self.count,
            "rate": str(self.rate),
            "noise": str(self.noise),
        }


def check_sampling(rate: Fraction, domain: Domain) -> None:
    """Refuse to sample where the accountant's theorem does not hold."""
    alone = domain.neighbours == "add-remove" and domain.rows_per_person == 1
    if rate < 1 and not alone:
        raise DomainError(
            "random samples of rows are accounted for add-remove neighbours with one "
            "row for each person. Use rate=1, or declare the domain so."
        )
