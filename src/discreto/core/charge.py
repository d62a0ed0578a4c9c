"""Receipts, reservations, and the interface of a ledger: charge first, then release.

The gate knows nothing of files. It asks a ``Charger`` for a ``Receipt`` and draws
noise only when it has one. :mod:`discreto.core.ledger` is the durable implementation.

Every attempt without a stored answer is paid for. Two threads that ask the same at the
same moment would pay twice for one answer, so the threads of a process take turns
under a key (``one_at_a_time``): the second one waits and finds the answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, Self, runtime_checkable

from discreto.core.cost import Cost
from discreto.core.noise.sampler import Sampler
from discreto.errors import BudgetError, LedgerError, UnsafeError

Event = Mapping[str, Any]
_NOTHING = Cost()


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that something was charged: the entry's number, cost and hash."""

    seq: int
    label: str
    cost: Cost
    hash: str
    simulated: bool = False
    answer: str | None = None  # the stored answer, if this very charge was made before
    again: bool = False  # whether the entry was there before
    attempt: int = 0  # the entry that paid for this attempt, if it is a later one

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        out = {"seq": self.seq, "label": self.label, "cost": self.cost.to_dict()}
        stamp = {"simulated": True} if self.simulated else {}
        return out | {"hash": self.hash} | stamp


@dataclass(frozen=True, slots=True)
class Simulation:
    """The replacement of secret noise in a simulation: seeded noise, or none."""

    sampler: Sampler
    noise: bool = True


class Charger(Protocol):
    """A payer: a ledger, an analyst's view of it, a reservation."""

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


@runtime_checkable
class Begins(Protocol):
    """A payer that wants to know when the first row is read."""

    def begin(self) -> None: ...


@runtime_checkable
class Notes(Protocol):
    """A ledger that notes attempts under which no row was read."""

    def unread(self, receipt: Receipt) -> None: ...


def begin(payer: Charger) -> None:
    """Tell a payer that wants to know it that rows are read from now on."""
    if isinstance(payer, Prepaid | Begins):
        payer.begin()


class Prepaid:
    """A payer that was paid for in one charge, and stays in the process that made it.

    The whole cost is committed before the first question. What is left when the
    process ends is lost; nothing is ever given back.
    """

    wants_events = False  # the entry of the whole plan has them already

    def __init__(self, ledger: Charger, receipt: Receipt) -> None:
        self.ledger, self.receipt = ledger, receipt
        self._read = False
        self._lock = threading.Lock()
        self._home = os.getpid()

    @property
    def simulation(self) -> Simulation | None:
        """The simulation this belongs to, if it is one."""
        return self.ledger.simulation

    def _check_process(self) -> None:
        if self._home != os.getpid():
            raise LedgerError(
                f"what was reserved for {self.receipt.label!r} stays in the process "
                "that reserved it: two would spend it twice."
            )

    def _share(self, cost: Cost, label: str) -> Receipt:
        paid = self.receipt
        return Receipt(paid.seq, label, cost, paid.hash, paid.simulated)

    def begin(self) -> None:
        """Remember that rows are read from now on. The gate calls it."""
        self._read = True
        begin(self.ledger)

    def give_up(self) -> None:
        """Say that the work has ended without an answer.

        If no row was read, the ledger notes it, and asking again costs nothing more.
        """
        if not self._read and isinstance(self.ledger, Notes):
            with suppress(LedgerError):
                self.ledger.unread(self.receipt)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Return ``answer``: only whole charges have keys, so nothing is stored."""
        return answer

    def fault(self, label: str) -> None:
        """Shut the ledger that was charged."""
        self.ledger.fault(label)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UnsafeError("a reservation cannot be copied to another process.")


class Reservation(Prepaid):
    """A plan that is paid for: its questions draw on it until it is used up.

    Each question draws what it would cost alone, so what is left may be spent on
    anything else. Sampled steps cost more alone than their share of a block; they have
    a payer of their own (:class:`discreto.core.steps.PaidSteps`).
    """

    def __init__(
        self, ledger: Charger, receipt: Receipt, *, shared: bool = False
    ) -> None:
        super().__init__(ledger, receipt)
        # Whether a replaced row can touch two such reservations of one receipt.
        self.shared = shared
        self._drawn = _NOTHING

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Draw on the reservation, or raise and change nothing."""
        self._check_process()
        paid = self.receipt
        with self._lock:
            drawn = cost if self._drawn is _NOTHING else self._drawn + cost
            if not paid.cost.covers(drawn):
                raise BudgetError(
                    f"{label!r} costs {cost}, more than is left of what was reserved "
                    f"for {paid.label!r} ({paid.cost})."
                )
            self._drawn = drawn
        return self._share(cost, label)


class _Turn:
    """The lock of one key, and how many threads have it or wait for it."""

    def __init__(self) -> None:
        self.lock, self.users = threading.RLock(), 0


_turns: dict[str, _Turn] = {}
_guard = threading.Lock()


@contextmanager
def one_at_a_time(key: str | None) -> Iterator[None]:
    """Hold the turn of a key; without a key there is nothing to wait for."""
    if not isinstance(key, str):  # what is not a text is refused by the ledger
        yield
        return
    with _guard:
        turn = _turns.setdefault(key, _Turn())
        turn.users += 1
    try:
        with turn.lock:
            yield
    finally:
        with _guard:
            turn.users -= 1
            if not turn.users and _turns.get(key) is turn:
                del _turns[key]


def _start_anew() -> None:
    """Forget the turns of threads that a fork did not copy."""
    global _guard
    _turns.clear()
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
