"""Many Gaussian steps that are paid for as one (epsilon, delta) block.

A step is a noisy sum, like any other, over a secret random sample of the rows. How much
noise makes all steps together (epsilon, delta)-private is worked out once, by an
accountant (:mod:`discreto.accounting`), for real-valued noise; ``docs/proofs/noise.md``
shows that the last thousandth of epsilon covers the integer grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.errors import BudgetError, DomainError
from discreto.kernel import clamp
from discreto.kernel.charge import Receipt, Reservation
from discreto.kernel.cost import Cost
from discreto.kernel.domain import Domain
from discreto.kernel.gate import Gate, Measurement, Noise
from discreto.kernel.gaussian import GRID_PART, fine_bits
from discreto.kernel.query import Sum


@dataclass(frozen=True, slots=True)
class Steps:
    """``count`` steps; each takes every row with chance ``rate``.

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
        """What all steps cost together."""
        return Cost(block_epsilon=self.epsilon, delta=self.delta)

    def noises(self, query: Sum, domain: Domain) -> tuple[Noise, ...]:
        """The noise on each block of a step's sums."""
        out = []
        for block in query.blocks:
            reach = Fraction(block.square_sensitivity(domain))
            variance = self.noise**2 * reach / block.share
            numbers = self.count * block.touched(domain)
            part = self.epsilon * GRID_PART * block.share
            bits = fine_bits(variance, numbers, part)
            out.append(Noise("gaussian", variance, bits=bits))
        return tuple(out)

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "count": self.count,
            "rate": str(self.rate),
            "noise": str(self.noise),
        }


class Training:
    """Steps that were paid for, taken one by one.

    ``taken`` is how many of them were taken before, by a process that kept count.
    """

    def __init__(
        self, gate: Gate, steps: Steps, receipt: Receipt, taken: int = 0
    ) -> None:
        check_sampling(steps.rate, gate.domain)
        if not receipt.cost.covers(steps.cost):
            raise BudgetError(f"{receipt.cost} does not pay for {steps.cost}.")
        self.steps, self.receipt, self._gate = steps, receipt, gate
        # A reservation draws equal shares until nothing is left, in this process only.
        self._payer = Reservation(gate.ledger, receipt)
        self._each = steps.cost * Fraction(1, steps.count)
        if taken:
            self._payer.charge(self._each * taken, "steps taken before")

    def measure(self, query: Sum, label: str) -> Measurement:
        """The next step: noisy sums over a fresh secret sample of the rows."""
        gate, rate = self._gate, self.steps.rate
        gate._check_columns(query, label)
        clamp.check(query, gate.domain)
        noises = self.steps.noises(query, gate.domain)
        receipt = self._payer.charge(self._each, label)

        def keep(rows: int) -> NDArray[np.bool_]:
            return gate._sampler().entropy.below(rate.denominator, rows) < (
                rate.numerator
            )

        tables = gate._noisy(query, noises, keep if rate < 1 else None)
        return Measurement(tables, noises, receipt)


def check_sampling(rate: Fraction, domain: Domain) -> None:
    """Refuse to sample where the accountant's theorem does not hold."""
    alone = domain.neighbours == "add-remove" and domain.rows_per_person == 1
    if rate < 1 and not alone:
        raise DomainError(
            "random samples of rows are accounted for add-remove neighbours with one "
            "row for each person. Use rate=1, or declare the domain so."
        )


__all__ = ["Steps", "Training", "check_sampling"]
