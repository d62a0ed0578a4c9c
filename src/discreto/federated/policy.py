"""The rules of a silo's owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreto.core.cost import Amount, Cost, read_amount, show
from discreto.core.expressions import Step
from discreto.core.query import Sum
from discreto.core.steps import Steps
from discreto.core.validation import kinds_of
from discreto.errors import BudgetError, ParameterError, UnsafeError
from discreto.session.parameters import number, whole


@dataclass(frozen=True)
class Policy:
    """The rules of a silo's owner.

    How much may be spent *in all* is the ledger's own budget.

    Parameters
    ----------
    questions
        The kinds of maps that questions may be made of, such as ``("Scaled",
        "SquaredGradient")``; nothing: every kind of sum. The kinds of derived columns
        and filters (``"Where"``, ``"Compare"``, ...) are listed beside them.
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
            _amount(self.per_round, "per_round")
        least = number(self.least_noise, "least_noise", 0, 1e9)
        object.__setattr__(self, "least_noise", least)
        most = whole(self.most_steps, "most_steps", most=10**6)
        object.__setattr__(self, "most_steps", most)
        kinds = self.questions
        if kinds is not None and (
            not isinstance(kinds, tuple) or not all(isinstance(k, str) for k in kinds)
        ):
            raise ParameterError("questions must be a list of kinds of maps.")
        if not isinstance(self.partners, Mapping):
            raise ParameterError("partners must be names and what each may spend.")
        for name, amount in self.partners.items():
            if not isinstance(name, str) or not 0 < len(name) <= 100:
                raise ParameterError("the name of a partner has 1 to 100 letters.")
            _amount(amount, f"the epsilon of {name!r}")

    def public(self) -> dict[str, Any]:
        """Return the rules that a partner may know, as JSON data."""
        most = self.per_round
        return {
            "questions": None if self.questions is None else list(self.questions),
            "per_round": None if most is None else str(read_amount(most, "per_round")),
            "least_noise": float(self.least_noise),
            "most_steps": self.most_steps,
        }

    @classmethod
    def from_public(cls, data: Any) -> Policy:
        """Return the rules that a silo told of.

        Parameters
        ----------
        data
            What ``public`` returned.
        """
        try:
            kinds = data["questions"]
            return cls(
                questions=None if kinds is None else tuple(map(str, kinds)),
                per_round=data["per_round"],
                least_noise=float(data["least_noise"]),
                most_steps=int(data["most_steps"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ParameterError("a silo sent rules that cannot be read.") from None

    def check_run(self, steps: Steps, local: int, delta: Fraction) -> None:
        """Refuse a training run that breaks the rules.

        Parameters
        ----------
        steps
            All steps of the run.
        local
            Steps in a round.
        delta
            What the silo's ledger may use of δ.
        """
        if local > self.most_steps:
            raise UnsafeError(
                f"this silo takes at most {self.most_steps} steps in a round."
            )
        self.check_noise(float(steps.noise))
        self.check_cost(steps.cost, delta)

    def check_kinds(self, query: Sum | Step) -> None:
        """Refuse maps that the owner has not listed.

        Parameters
        ----------
        query
            What is asked, or a step of the view it is asked of.
        """
        if self.questions is None:
            return
        allowed = {*self.questions, "Sum", "Block", "Fraction", "Everyone", "Present"}
        found = sorted(kinds_of(query) - allowed)
        if found:
            raise UnsafeError(
                f"this silo does not answer questions about {', '.join(found)}. Its "
                f"owner allows {', '.join(self.questions)}."
            )

    def check_noise(self, ratio: float) -> None:
        """Refuse less noise than the owner demands.

        Parameters
        ----------
        ratio
            The noise, in multiples of how far a row can move what is asked.
        """
        if ratio < self.least_noise:
            raise UnsafeError(
                f"this question would have noise of {ratio:.4g} x a row's reach; this "
                f"silo demands {self.least_noise:.4g}. Ask with a smaller epsilon."
            )

    def check_cost(self, cost: Cost, delta: Fraction) -> None:
        """Refuse what costs more than one message may.

        Parameters
        ----------
        cost
            What the message would charge.
        delta
            What the silo's ledger may use of δ.
        """
        if self.per_round is None:
            return
        most, total = read_amount(self.per_round, "per_round"), cost.total(delta)
        if total > most:
            raise BudgetError(
                f"this message costs {cost}, and this silo allows ε {show(most)} for "
                "one message. Ask for less."
            )

    def check_partner(self, partner: str) -> None:
        """Refuse strangers.

        Parameters
        ----------
        partner
            The name under which the wire knows the sender.
        """
        if self.partners and partner not in self.partners:
            raise UnsafeError("this silo does not answer this partner. Ask its owner.")


def _amount(value: Amount, name: str) -> None:
    plain = isinstance(value, int | float | str | Fraction | Decimal)
    if not plain or (
        isinstance(value, int) and abs(value) > 10**18
    ):  # too long to show
        raise ParameterError(f"{name} must be a number of reasonable size.")
    read_amount(value, name)
