"""What the gate needs of a ledger: charge first, then release.

The gate knows nothing of files. It asks a ``Charger`` for a ``Receipt`` and draws
noise only when it has one. :mod:`discreto.core.ledger` is the durable implementation.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from discreto.core.cost import Cost
from discreto.core.noise.sampler import Sampler
from discreto.errors import BudgetError, LedgerError, UnsafeError

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that something was charged: the entry's number, cost and hash."""

    seq: int
    label: str
    cost: Cost
    hash: str
    simulated: bool = False
    answer: str | None = None  # the stored answer, if this very charge was made before

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        out = {"seq": self.seq, "label": self.label, "cost": self.cost.to_dict()}
        stamp = {"simulated": True} if self.simulated else {}
        return out | {"hash": self.hash} | stamp


@dataclass(frozen=True, slots=True)
class Simulation:
    """How a simulation ledger replaces secret noise: by seeded noise, or by none."""

    sampler: Sampler
    noise: bool = True


class Charger(Protocol):
    """Whatever can be charged: a ledger, an analyst's view of it, a reservation."""

    @property
    def simulation(self) -> Simulation | None: ...

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Commit the charge for good, or raise and change nothing."""

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge that has a key; return the one stored first."""

    def fault(self, label: str) -> None:
        """Shut: an answer could not be computed after it was paid for."""


class Reservation:
    """A plan that is paid for: its questions draw on it until it is used up.

    The whole cost is committed before the first question. What is left when the
    process ends is lost; nothing is ever given back.
    """

    wants_events = False  # the entry of the whole plan has them already

    def __init__(
        self, ledger: Charger, receipt: Receipt, *, shared: bool = False
    ) -> None:
        self.ledger, self.receipt = ledger, receipt
        # Whether a replaced row can touch two such reservations of one receipt.
        self.shared = shared
        self._drawn = Cost()
        self._lock = threading.Lock()
        self._home = os.getpid()

    @property
    def simulation(self) -> Simulation | None:
        """The simulation this belongs to, if it is one."""
        return self.ledger.simulation

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Draw on the reservation, or raise and change nothing."""
        paid = self.receipt
        if self._home != os.getpid():
            raise LedgerError(
                f"what was reserved for {paid.label!r} stays in the process that "
                "reserved it: two would spend it twice."
            )
        with self._lock:
            drawn = self._drawn + cost
            if not paid.cost.covers(drawn):
                raise BudgetError(
                    f"{label!r} costs {cost}, more than is left of what was reserved "
                    f"for {paid.label!r} ({paid.cost})."
                )
            self._drawn = drawn
        return Receipt(paid.seq, label, cost, paid.hash, paid.simulated)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Only whole charges have keys, so there is nothing to store."""
        return answer

    def fault(self, label: str) -> None:
        """Shut the ledger that was charged."""
        self.ledger.fault(label)

    def __copy__(self) -> Reservation:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Reservation:
        return self

    def __reduce__(self) -> NoReturn:
        raise UnsafeError("a reservation cannot be copied to another process.")
