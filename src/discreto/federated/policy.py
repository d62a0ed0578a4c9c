"""What the owner of a silo allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreto.errors import BudgetError, ParameterError, UnsafeError
from discreto.kernel.cost import Amount, Cost, read_amount, show
from discreto.kernel.query import Sum, encode


@dataclass(frozen=True)
class Policy:
    """What a silo's owner allows.

    How much may be spent *in all* is the ledger's own budget.

    Parameters
    ----------
    questions
        The kinds of maps that questions may be made of, such as ``("Scaled",
        "SquaredGradient")``; nothing: every kind of sum.
    partners
        Who may ask, and each one's budget: ``{"coordinator": 1}``. Nothing: anybody
        the wire lets through, within the ledger's budget.
    per_round
        The most epsilon that one message may charge. A training run is charged whole,
        by its first round.
    least_noise
        The least standard deviation of noise, in multiples of how far a row can move
        what is asked.
    most_steps
        The most local steps in one round.
    """

    questions: tuple[str, ...] | None = None
    partners: Mapping[str, Amount] = field(default_factory=dict)
    per_round: Amount | None = None
    least_noise: float = 0.0
    most_steps: int = 1000

    def __post_init__(self) -> None:
        if self.per_round is not None:
            read_amount(self.per_round, "per_round")
        if not 0 <= self.least_noise < float("inf"):
            raise ParameterError("least_noise must be a number from 0 up.")

    def check_kinds(self, query: Sum) -> None:
        """Refuse maps that the owner has not listed."""
        if self.questions is None:
            return
        allowed = {*self.questions, "Sum", "Block", "Fraction", "Everyone"}
        found = sorted(_kinds(encode(query)) - allowed)
        if found:
            raise UnsafeError(
                f"this silo does not answer questions about {', '.join(found)}. Its "
                f"owner allows {', '.join(self.questions)}."
            )

    def check_noise(self, ratio: float) -> None:
        """Refuse less noise than the owner demands."""
        if ratio < self.least_noise:
            raise UnsafeError(
                f"this question would have noise of {ratio:.4g} x a row's reach; this "
                f"silo demands {self.least_noise:.4g}. Ask with a smaller epsilon."
            )

    def check_cost(self, cost: Cost, delta: Fraction) -> None:
        """Refuse what costs more than one message may."""
        if self.per_round is None:
            return
        most, total = read_amount(self.per_round, "per_round"), cost.total(delta)
        if total > most:
            raise BudgetError(
                f"this message costs {cost}, and this silo allows ε {show(most)} for "
                "one message. Ask for less."
            )

    def check_partner(self, partner: str) -> None:
        """Refuse strangers."""
        if self.partners and partner not in self.partners:
            raise UnsafeError("this silo does not answer this partner. Ask its owner.")


def _kinds(data: Any) -> set[str]:
    if isinstance(data, dict):
        parts = set().union(*map(_kinds, data.values()))
        return parts | {str(data["kind"])} if "kind" in data else parts
    return set().union(*map(_kinds, data)) if isinstance(data, list) and data else set()
