"""A ledger as one analyst sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreto.core.charge import Event, Receipt, Reservation, Simulation
from discreto.core.cost import Cost, show
from discreto.text.wrong_calls import readable

if TYPE_CHECKING:
    from discreto.core.ledger.ledger import Ledger


class AnalystLedger:
    """A ledger as one analyst sees it: every charge falls on all of their budgets."""

    def __init__(
        self, ledger: Ledger, name: str, accounts: tuple[str, ...] = ()
    ) -> None:
        self.ledger, self.name, self.accounts = ledger, name, accounts
        for account in (name, *accounts):
            ledger.spent(account)

    @property
    def simulation(self) -> Simulation | None:
        """The simulation this ledger belongs to, if it is one."""
        return self.ledger.simulation

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
        *,
        numbered: bool = False,
    ) -> Receipt:
        """Charge the analyst and the population."""
        return self.ledger.charge(
            cost, label, event, key, self.name, self.accounts, numbered=numbered
        )

    def note(self, label: str, event: Event, key: str) -> Receipt:
        """Commit an entry that costs nothing, in this analyst's name."""
        return self.ledger.note(label, event, key, analyst=self.name)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge."""
        return self.ledger.keep(receipt, answer)

    def unread(self, receipt: Receipt) -> None:
        """Note that no row was read for a charge."""
        self.ledger.unread(receipt)

    def fault(self, label: str) -> None:
        """Shut the ledger: an answer could not be computed."""
        self.ledger.fault(label)

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once."""
        return Reservation(self, self.charge(cost, label, event))

    @readable
    def remaining(self) -> float:
        """What this analyst may still spend."""
        names = (self.name, *self.accounts, "")
        return min(self.ledger.remaining(name) for name in names)

    def __repr__(self) -> str:
        left = f"ε {show(self.remaining())} left"
        return f"AnalystLedger({self.name!r}, {left}, of {self.ledger!r})"

    def __str__(self) -> str:
        return f"ε {show(self.remaining())} left for {self.name}; {self.ledger}"
