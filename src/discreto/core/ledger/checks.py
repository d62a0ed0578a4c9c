"""What a ledger accepts, and how it says no."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from itertools import repeat
from typing import Any

from discreto.core.cost import Budget, Cost, show
from discreto.core.ledger.chain import dump
from discreto.core.ledger.store import MEMORY
from discreto.errors import ParameterError, UnsafeError

OWN = "discreto "  # keys of entries that the ledger makes itself
_LARGEST = 10**6  # no budget is larger, so no charge needs to be


def check_name(name: object, what: str) -> str:
    """A text that can be stored and found again."""
    good = isinstance(name, str) and 0 < len(name) <= 200
    if not good or not _can_be_stored(str(name)):
        raise ParameterError(f"{what} must be a text of 1 to 200 letters.")
    return str(name)


def check_answer(answer: str) -> str:
    """A text that every store can keep."""
    if not isinstance(answer, str) or not _can_be_stored(answer):
        raise ParameterError("an answer to store must be a plain text.")
    return answer


def _can_be_stored(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def check_key(key: str) -> str:
    """A key that is not one of the ledger's own."""
    if check_name(key, "a key").startswith(OWN):
        raise ParameterError(f"a key may not begin with {OWN!r}.")
    return key


def check_cost(cost: Cost, label: str) -> Cost:
    """A finite cost above 0 in exact numbers, short enough to be written down."""
    if cost.infinite:
        raise UnsafeError(
            f"{label!r} is not private: no noise covers it. Only a simulation "
            "ledger (discreto.testing.simulate) records such things."
        )
    parts = cost.parts()
    exact = all(map(isinstance, parts, repeat(int | Fraction)))
    if not exact or min(parts) < 0 or max(parts) > _LARGEST:
        raise ParameterError(
            f"the cost of {label!r} must be made of exact numbers from 0 to {_LARGEST}."
        )
    if not cost:
        raise ParameterError(f"the cost of {label!r} must be above 0. Got {cost}.")
    return Cost() + cost  # adding rounds an endless denominator up


def check_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """An entry as it will be read back."""
    try:
        out: dict[str, Any] = json.loads(dump(content))
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(
            f"the event of {content['label']!r} must be plain JSON."
        ) from None
    return out


def refusal(label: str, cost: Cost, spent: Cost, budget: Budget, analyst: str) -> str:
    """Why a charge does not fit, and what would."""
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
    """Why a pure question costs more after a Gaussian one, and what costs less."""
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
    """Rounded down, so that the advice can be followed."""
    down = Context(prec=6, rounding=ROUND_DOWN)
    return show(float(down.divide(Decimal(amount.numerator), amount.denominator)))


def check_can_travel(path: str, address: str | None, key: bytes | None) -> str:
    """The address of a ledger that another process may open, without secrets."""
    if path == MEMORY:
        raise UnsafeError(
            "a ledger in memory cannot be sent to another process: each would "
            "spend the whole budget. Use a ledger file."
        )
    if address is None:
        raise UnsafeError(
            "a ledger with a password in its address cannot be pickled: it would "
            "travel along. Let PGPASSFILE name the file that has it."
        )
    if key:
        raise UnsafeError(
            "a ledger with a key cannot be pickled: the key would travel along. "
            "Open the ledger in the other process."
        )
    return address
