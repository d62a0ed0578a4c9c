"""The ledger of a fit that was given none, and the warning that goes with it."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from discreto.core.cost import Amount
from discreto.core.ledger import Ledger
from discreto.errors import PrivacyWarning

_OWN = ("discreto.", "sklearn.", "joblib.")


def own_ledger(learner: Any, epsilon: Amount, delta: Amount = 0) -> Ledger:
    """Return a ledger in memory for one use, and warn that it keeps no count."""
    ledger = Ledger(epsilon=epsilon, delta=delta)
    name, at = type(learner).__name__, f", δ {delta}" if ledger.delta else ""
    warnings.warn(
        f"{name} was paid from a ledger of its own, which forgets: "
        f"ε {epsilon}{at} this time, and as much each time again. To keep count: "
        f"{name}(..., ledger=dp.Ledger('people.ledger', epsilon=3)).",
        PrivacyWarning,
        stacklevel=callers_level(),
    )
    return ledger


def callers_level() -> int:
    """The stack level of the first caller outside of this package and scikit-learn."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None:
        if not str(frame.f_globals.get("__name__", "")).startswith(_OWN):
            break
        level, frame = level + 1, frame.f_back
    return level
