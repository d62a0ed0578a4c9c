"""What stands for a ledger that cannot travel to another process with its model."""

from __future__ import annotations

from typing import Any

from discreto.core.charge import Event, Receipt
from discreto.core.cost import Cost
from discreto.errors import UnsafeError


class AbsentLedger:
    """Refuses every charge, with the reason why the ledger is not here.

    Pickling a ledger in memory is refused, but joblib tells nobody why. So a model is
    pickled with this instead: it predicts as ever, and whoever fits it is told.
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
    """The ledger if it may be pickled, else what stands for it."""
    try:
        ledger.__reduce__()
    except UnsafeError as reason:
        return AbsentLedger(str(reason))
    except (TypeError, AttributeError):  # None, or somebody else's
        return ledger
    return ledger
