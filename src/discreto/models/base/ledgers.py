"""Ledgers of models: one for a fit without a ledger, and one for a pickled model."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from discreto.core.charge import Event, Receipt
from discreto.core.cost import Amount, Cost
from discreto.core.ledger import Ledger
from discreto.errors import PrivacyWarning, UnsafeError

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
    """Return the stack level of the first caller outside discreto and scikit-learn."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None:
        if not str(frame.f_globals.get("__name__", "")).startswith(_OWN):
            break
        level, frame = level + 1, frame.f_back
    return level


class AbsentLedger:
    """Refuses every charge, with the reason why the ledger is not here.

    Pickling a ledger in memory is refused, but joblib hides the reason. So a model is
    pickled with this instead: it predicts as before, and a fit raises the reason.
    """

    simulation = None

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Refuse."""
        raise UnsafeError(
            f"nothing was charged, and nothing is released: {self.reason} "
            "Or keep n_jobs=1."
        )

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Refuse."""
        raise UnsafeError(self.reason)

    def fault(self, label: str) -> None:
        """Nothing to shut."""

    def __repr__(self) -> str:
        return "AbsentLedger()"


def travelling(ledger: Any) -> Any:
    """Return the ledger if it may be pickled, else what stands for it."""
    try:
        ledger.__reduce__()
    except UnsafeError as reason:
        return AbsentLedger(str(reason))
    except (TypeError, AttributeError):  # None, or a ledger of another package
        return ledger
    return ledger
