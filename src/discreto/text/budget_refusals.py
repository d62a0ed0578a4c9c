"""Texts for charges that do not fit into a budget.

The refusal is decided before its text is made, so no charge depends on this module.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction

from discreto.core.cost import Budget, Cost, show

_LARGEST = 10**6  # no budget is larger


def refusal(label: str, cost: Cost, spent: Cost, budget: Budget, analyst: str) -> str:
    """Return why a charge does not fit, and which one would."""
    if cost.rho and not budget.delta:
        return (
            f"{label!r} asks for Gaussian noise (a delta above 0), and this ledger has "
            "no delta. Leave delta out, or use a ledger that was made with one."
        )
    if not budget.has_delta_for(spent, cost):
        return (
            f"{label!r} costs {cost}, which needs more delta than this ledger of "
            f"δ {show(budget.delta)} has for blocks. Such work comes before the first "
            "Gaussian question, or gets its delta when the ledger is made: "
            "Ledger(..., pure=..., block_delta=...)."
        )
    whose = f" for analyst {analyst!r}" if analyst else ""
    pure = cost.rho == 0
    left = budget.remaining(spent) if pure else budget.remaining_gaussian(spent)
    at = "" if pure else f" at δ {show(budget.delta)}"
    text = _down(left)
    advice = f"Ask with epsilon <= {text}{at}." if left else "Nothing is left."
    if pure and budget.after(spent, cost).rho > spent.rho:
        return _counted(label, cost, spent, budget, advice) + whose
    return (
        f"{label!r} costs {cost}, but ε {text} of {show(budget.epsilon)}{at} is "
        f"left{whose}. {advice}"
    )


def _counted(label: str, cost: Cost, spent: Cost, budget: Budget, advice: str) -> str:
    """Return why a pure question costs more after a Gaussian one."""
    other = Budget(Fraction(_LARGEST), budget.delta, Fraction(0))
    worth = other.total(other.after(Cost(), cost))
    more = _down(budget.remaining_gaussian(spent))
    if budget.pure is None:
        why = "Gaussian questions were asked of this ledger before"
    elif budget.pure:
        why = f"What this ledger sets aside (pure={show(budget.pure)}) is too little"
    else:
        why = "This ledger was made with pure=0"
    return (
        f"{label!r} costs {cost}. {why}, so a question without a delta counts as the "
        f"Gaussian privacy it implies, ε "
        f"{show(worth)} at δ {show(budget.delta)}, which does not fit. {advice} With "
        f"delta={show(budget.delta)} up to epsilon={more} fits; or make ledgers with "
        "an epsilon set aside for questions without a delta: Ledger(..., pure=1)."
    )


def _down(amount: Fraction) -> str:
    """Return an amount rounded down, so that the advice can be followed."""
    down = Context(prec=6, rounding=ROUND_DOWN)
    return show(float(down.divide(Decimal(amount.numerator), amount.denominator)))
