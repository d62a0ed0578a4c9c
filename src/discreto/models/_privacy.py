"""What a fitted model says about its privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.plan import Plan


@dataclass(frozen=True)
class Privacy:
    """What a fitted model cost, and what that protects."""

    cost: Cost
    neighbours: str
    rows_per_person: int
    plan: Plan
    receipt: Receipt

    @property
    def simulated(self) -> bool:
        """Whether the model comes from a simulation, and protects nobody."""
        return self.receipt.simulated

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "cost": self.cost.to_dict(),
            "neighbours": self.neighbours,
            "rows_per_person": self.rows_per_person,
            "plan": self.plan.to_dict(),
            "receipt": self.receipt.to_dict(),
            "simulated": self.simulated,
        }

    def __str__(self) -> str:
        stamp = "SIMULATED " if self.simulated else ""
        who = "one row" if self.rows_per_person == 1 else "one person"
        return f"{stamp}{self.cost} in {len(self.plan)} question(s), protects {who}"
