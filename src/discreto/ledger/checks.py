"""What a ledger accepts, and how it says no."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from typing import Any

from discreto.errors import ParameterError, UnsafeError
from discreto.kernel.cost import Cost, show
from discreto.ledger.chain import dump

_LARGEST = 10**6  # no budget is larger, so no charge needs to be


def check_name(name: object, what: str) -> str:
    """A text that can be stored and found again."""
    good = isinstance(name, str) and 0 < len(name) <= 200
    try:
        good = good and bool(str(name).encode())
    except UnicodeEncodeError:
        good = False
    if not good:
        raise ParameterError(f"{what} must be a text of 1 to 200 letters.")
    return str(name)


def check_cost(cost: Cost, label: str) -> Cost:
    """A finite cost above 0 in exact numbers, short enough to be written down."""
    if cost.infinite:
        raise UnsafeError(
            f"{label!r} is not private: no noise covers it. Only a simulation "
            "ledger (discreto.testing.simulate) records such things."
        )
    if not all(
        isinstance(part, int | Fraction) and 0 <= part <= _LARGEST
        for part in cost.parts()
    ):
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


def left_of(limit: Fraction, spent: Cost, delta: Fraction) -> Fraction:
    """How much epsilon is left."""
    total = spent.total(delta)
    return Fraction(0) if math.isinf(total) else max(limit - Fraction(total), 0 * limit)


def refusal(
    label: str,
    cost: Cost,
    spent: Cost,
    *,
    limit: Fraction,
    delta: Fraction,
    analyst: str,
) -> str:
    """Why a charge does not fit, and what would."""
    if math.isinf((spent + cost).total(delta)):
        return (
            f"{label!r} costs {cost}, which needs more delta than is left of this "
            f"ledger's {show(delta)}. Ask with delta=0, or use a ledger that was made "
            "with a delta."
        )
    left = left_of(limit, spent, delta)
    whose = f" for analyst {analyst!r}" if analyst else ""
    # Rounded down, so that the advice can be followed.
    down = Context(prec=6, rounding=ROUND_DOWN)
    text = show(float(down.divide(Decimal(left.numerator), Decimal(left.denominator))))
    advice = f"Ask with epsilon <= {text}." if left else "Nothing is left."
    return (
        f"{label!r} costs {cost}, but ε {text} of {show(limit)} is left{whose}. "
        f"{advice}"
    )
