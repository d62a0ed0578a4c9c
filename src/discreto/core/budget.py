"""What fits into a budget: one rule that holds for charges chosen after any answers.

A budget (epsilon, delta) has two accounts. In the *basic* one epsilons and deltas add
up (pure questions and blocks). In the *Gaussian* one rho adds up. How much of epsilon
and delta belongs to the basic account is fixed before the first Gaussian charge: it is
what was set aside when the ledger was made, or else whatever had been spent by then.
From that moment a pure question that does not fit into the basic account is counted
as the Gaussian privacy that it implies. ``docs/proofs/composition.md`` proves that
whoever chooses among all these, seeing every answer, stays within (epsilon, delta).

With a delta of 0 there is only the basic account.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreto.core.cost import Cost, epsilon_for, rho_within
from discreto.core.noise.gaussian import range_of

_DIGITS = 10**15
_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta), and what of it was set aside for costs that add up."""

    epsilon: Fraction
    delta: Fraction = _NOTHING
    pure: Fraction | None = None
    block_delta: Fraction = _NOTHING

    def charge(self, spent: Cost, cost: Cost) -> Cost | None:
        """What is spent after one more charge, or None if it does not fit."""
        after = self.after(spent, cost)
        return after if self.has_delta_for(spent, cost) and self.fits(after) else None

    def after(self, spent: Cost, cost: Cost) -> Cost:
        """What would be spent."""
        return spent + self.counted(spent, cost)

    def counted(self, spent: Cost, cost: Cost) -> Cost:
        """What a charge counts as: which account each part of it falls on."""
        if not self.delta or self._open(spent):
            return cost
        room = _NOTHING if self.pure is None else self.pure - _adding(spent)
        if _adding(cost) <= room:
            return cost
        gauss = rho_of_pure(cost.epsilon) + rho_of_pure(cost.block_epsilon)
        return Cost(rho=cost.rho + gauss, delta=cost.delta, infinite=cost.infinite)

    def has_delta_for(self, spent: Cost, cost: Cost) -> bool:
        """Whether the basic account has the delta of a block."""
        if not self._open(spent):
            kept = spent.delta if self.pure is None else self.block_delta
            return not cost.delta or spent.delta + cost.delta <= kept
        return spent.delta + cost.delta <= self.delta

    def fits(self, spent: Cost) -> bool:
        """Whether so much may have been spent."""
        if spent.infinite:
            return False
        if not self.delta or self._open(spent):
            within = _adding(spent) <= self.epsilon and spent.delta <= self.delta
            return within and not spent.rho
        if self.pure is not None and not (
            _adding(spent) <= self.pure <= self.epsilon
            and spent.delta <= self.block_delta <= self.delta
        ):
            return False
        return self._gaussian(spent) <= self.epsilon - self._basic(spent)

    def total(self, spent: Cost) -> Fraction | float:
        """The epsilon that is spent, at this budget's delta."""
        if spent.infinite or spent.delta > self.delta:
            return math.inf
        gaussian = self._gaussian(spent)
        return gaussian if math.isinf(gaussian) else _adding(spent) + Fraction(gaussian)

    def room(self, spent: Cost) -> Fraction:
        """The largest pure epsilon that still fits, rounded down."""
        if self.fits(spent) and (not self.delta or self._open(spent)):
            return self.epsilon - _adding(spent)
        inside = _NOTHING if self.pure is None else self.pure - _adding(spent)
        return max(inside, self._largest(spent, lambda e: Cost(epsilon=e)), _NOTHING)

    def gaussian_room(self, spent: Cost) -> Fraction:
        """Return the largest epsilon at this budget's delta that fits, rounded down."""
        rho = self._largest_rho(spent)
        return Fraction(epsilon_for(rho, self.delta)) if rho else _NOTHING

    def _largest_rho(self, spent: Cost) -> Fraction:
        left = self.epsilon - self._basic(spent)
        spare = self._spare_delta(spent)
        if left <= 0 or spare <= 0:
            return _NOTHING
        whole = Fraction(rho_within(float(left), spare)) - spent.rho
        for digits in range(52, 0, -1):  # the rule of charges decides what fits
            part = whole * (1 - Fraction(1, 1 << digits))
            if part > 0 and self.charge(spent, Cost(rho=part)) is not None:
                return part
        return _NOTHING

    def _largest(self, spent: Cost, cost_of: Callable[[Fraction], Cost]) -> Fraction:
        low, high = _NOTHING, 4 * self.epsilon + 100
        for _ in range(60):
            middle = (low + high) / 2
            if self.charge(spent, cost_of(middle)) is not None:
                low = middle
            else:
                high = middle
        return low

    def _open(self, spent: Cost) -> bool:
        """Whether the split between the two accounts is not fixed yet."""
        return self.pure is None and not spent.rho

    def _basic(self, spent: Cost) -> Fraction:
        return _adding(spent) if self.pure is None else self.pure

    def _gaussian(self, spent: Cost) -> float:
        if not spent.rho:
            return 0.0
        spare = self._spare_delta(spent)
        return epsilon_for(spent.rho, spare) if spare > 0 else math.inf

    def _spare_delta(self, spent: Cost) -> Fraction:
        """Return the delta of the Gaussian account."""
        return self.delta - (spent.delta if self.pure is None else self.block_delta)


def _adding(cost: Cost) -> Fraction:
    return cost.epsilon + cost.block_epsilon


@lru_cache(maxsize=1024)
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """The Gaussian privacy that pure epsilon implies, rounded up.

    Telling neighbours apart is never easier than from randomised response with odds
    e^epsilon, and that is as hard as N(0, 1) against N(mu, 1) at the one point where
    it matters: Phi(mu / 2) = e^epsilon / (1 + e^epsilon). It is the formula for a
    choice whose log-ratios have a range of 2 epsilon.

    >>> f"{float(rho_of_pure(Fraction(1, 10))):.12f}"
    '0.007851174286'
    """
    if not epsilon:
        return _NOTHING
    wanted = 2 * float(epsilon) * (1 + 1e-12)
    low, high = 0.0, 4 * wanted + 1e-9  # rho is below both 0.8 epsilon^2 and 4 epsilon
    for _ in range(200):
        middle = (low + high) / 2
        if range_of(middle) >= wanted:
            high = middle
        else:
            low = middle
    scale = _DIGITS * 10 ** max(0, -math.floor(math.log10(high)))
    return Fraction(math.ceil(Fraction(high) * scale), scale)
