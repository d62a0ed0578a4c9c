"""Planted bugs about what still fits a budget. The first of each pair is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreto.audit.losses import rho_of
from discreto.core.cost import Cost, epsilon_for
from discreto.lab.known_bugs.planted_bug import PlantedBug

EPSILON, DELTA = Fraction(1), Fraction(1, 10**5)


def _rho(epsilon: Fraction) -> Fraction:
    """What a pure question is worth as rho, rounded up."""
    return Fraction(rho_of(float(epsilon)) * (1 + 1e-9)) + Fraction(1, 10**15)


def added_up(charges: Sequence[Cost]) -> bool:
    """Pure epsilon plus the epsilon of all rho, looked at after every charge."""
    pure = sum((c.epsilon + c.block_epsilon for c in charges), Fraction(0))
    spare = DELTA - sum((c.delta for c in charges), Fraction(0))
    rho = sum((c.rho for c in charges), Fraction(0))
    if spare < 0 or (rho and not spare):
        return False
    return pure + (Fraction(epsilon_for(rho, spare)) if rho else 0) <= EPSILON


def two_accounts(charges: Sequence[Cost]) -> bool:
    """What comes before the first Gaussian question adds up; then all is Gaussian."""
    pure, told, rho = Fraction(0), Fraction(0), Fraction(0)
    for cost in charges:
        if rho and cost.delta:
            return False  # a block is no Gaussian question
        if rho or cost.rho:
            rho += cost.rho + (_rho(cost.epsilon) if cost.epsilon else 0)
        else:
            pure, told = pure + cost.epsilon + cost.block_epsilon, told + cost.delta
        if pure > EPSILON or told > DELTA or (rho and told == DELTA):
            return False
        if rho and Fraction(epsilon_for(rho, DELTA - told)) > EPSILON - pure:
            return False
    return True


PLANTED_BUGS = (
    PlantedBug("two currencies, one budget", "a ledger that adds pure epsilon to rho's",
          "conversation", added_up, two_accounts, None, first=EPSILON, second=DELTA),
)  # fmt: skip
