"""Many Gaussian steps on samples of the rows, paid for as one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from discreto.core.accounting import noise_multiplier
from discreto.core.charge import Charger, Event, Prepaid, Receipt
from discreto.core.cost import Amount, Cost, read_amount, read_delta, rho_for
from discreto.core.domain.domain import Domain
from discreto.core.noise.calibration import Noise
from discreto.core.noise.gaussian import GRID_PART, fine_bits
from discreto.core.query import Bound, BoundBlock
from discreto.errors import BudgetError, DomainError, ParameterError


@dataclass(frozen=True, slots=True)
class Steps:
    """``count`` steps; each takes every row with probability ``rate``."""

    epsilon: Fraction
    delta: Fraction
    count: int
    rate: Fraction

    def __post_init__(self) -> None:
        exact = (self.epsilon, self.delta, self.rate)
        if not all(isinstance(amount, Fraction) for amount in exact):
            raise ParameterError("Steps: epsilon, delta and rate are exact fractions.")
        if not (self.epsilon > 0 and 0 < self.delta < 1 and 0 < self.rate <= 1):
            raise ParameterError("Steps: epsilon, delta or rate is out of range.")
        if type(self.count) is not int or self.count < 1:
            raise ParameterError(
                f"count must be a whole number from 1 up. Got {self.count!r}."
            )

    @property
    def noise(self) -> Fraction:
        """Standard deviation of a step's noise, in multiples of its l2 sensitivity."""
        return noise_multiplier(self.epsilon, self.delta, self.count, self.rate)

    @property
    def cost(self) -> Cost:
        """Cost of all steps together.

        Over all rows they are Gaussian privacy like any other, on samples a block.
        """
        if self.rate == 1:
            return Cost(rho=rho_for(self.epsilon, self.delta))
        return Cost(block_epsilon=self.epsilon, delta=self.delta)

    @property
    def each(self) -> Cost:
        """One step's share of the cost, for the books.

        It is not what one step costs: a sampled step by itself costs more.
        """
        return self.cost * Fraction(1, self.count)

    def noises(self, query: Bound) -> tuple[Noise, ...]:
        """Return the noise on each block of a step's sums."""
        return query.once(
            self, lambda: tuple([self._noise(part) for part in query.blocks])
        )

    def _noise(self, part: BoundBlock) -> Noise:
        share = part.block.share
        variance = self.noise**2 * Fraction(part.square) / share
        numbers = self.count * part.touched
        loss = (self.cost.rho or self.epsilon) * GRID_PART * share
        # Both neighbours of a sampled step are mixtures of near and far means.
        shift = float(1 / self.noise) / (2 if self.rate == 1 else 1)
        bits = fine_bits(variance, numbers, loss, shift)
        return Noise("gaussian", variance, bits=bits)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "count": self.count,
            "rate": str(self.rate),
            "noise": str(self.noise),
        }


def steps_for(epsilon: Amount, delta: Amount, count: int, rate: Amount = 1) -> Steps:
    """Return steps with the least noise that (epsilon, delta) allows.

    >>> float(steps_for(1, "1e-5", 100).noise)  # sqrt(100) / 0.268
    37.309848
    """
    budget, chance = read_amount(epsilon, "epsilon"), read_delta(delta)
    share = read_amount(rate, "rate")
    if not chance:
        raise ParameterError("Gaussian steps need a delta above 0, such as 1e-5.")
    if share > 1:
        raise ParameterError(f"rate is a probability, at most 1. Got {rate!r}.")
    steps = Steps(budget, chance, count, share)
    _ = steps.noise  # refuses what cannot be accounted for
    return steps


class PaidSteps(Prepaid):
    """A payer for the steps of one plan, each of them once, and for nothing else.

    The block that pays for sampled steps cannot be divided: one of n steps costs more
    than an n-th of it. So nothing else can be paid from what is left.
    """

    def __init__(self, ledger: Charger, receipt: Receipt, steps: Steps) -> None:
        if type(steps) is not Steps:  # its noise follows from its four numbers
            raise ParameterError("a training needs Steps.")
        if not receipt.cost.covers(steps.cost):
            raise BudgetError(f"{receipt.cost} does not pay for {steps.cost}.")
        super().__init__(ledger, receipt)
        self.steps, self._taken = steps, 0

    def take(self, label: str) -> Receipt:
        """Count one more step, or raise and change nothing."""
        self._check_process()
        with self._lock:
            if self._taken >= self.steps.count:
                raise BudgetError(
                    f"all {self.steps.count} steps were taken: {label!r} is more."
                )
            self._taken += 1
        return self._share(self.steps.each, label)

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> NoReturn:
        """Refuse: a part of a block pays for nothing but its steps."""
        raise BudgetError(
            f"{label!r} cannot be paid from {self.receipt.label!r}, which pays for "
            f"{self.steps.count} steps and nothing else."
        )


def check_sampling(rate: Fraction, domain: Domain) -> None:
    """Refuse to sample where the accountant's theorem does not hold."""
    alone = domain.neighbours == "add-remove" and domain.rows_per_person == 1
    if rate < 1 and not alone:
        raise DomainError(
            "random samples of rows are accounted for add-remove neighbours with one "
            "row for each person. Use rate=1, or declare the domain so."
        )
