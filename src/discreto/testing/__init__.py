"""Simulations: repeatable noise, or none, under a ledger that can never be real.

``simulate(seed)`` gives a ledger whose noise is seeded. It records what a real ledger
would, has no limit unless you set one, also records what a real ledger refuses (leaks),
and stamps every receipt SIMULATED. Use it for tests and studies on public data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreto.core.charge import Event, Receipt, Reservation, Simulation
from discreto.core.cost import Amount, Cost, read_amount
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.errors import BudgetError, LedgerError


class SimulationLedger:
    """A ledger in memory for simulations; see :func:`simulate`.

    Parameters
    ----------
    simulation
        Where noise comes from, and whether there is any.
    epsilon
        A limit to run into; nothing: none.
    """

    path = "simulation"

    def __init__(self, simulation: Simulation, epsilon: Amount | None = None) -> None:
        self.simulation = simulation
        self._limit = None if epsilon is None else read_amount(epsilon, "epsilon")
        self._entries: list[Receipt] = []
        self._spent = Cost()
        self._events: list[dict[str, Any]] = []
        self._keys: dict[str, int] = {}
        self._answers: dict[int, str] = {}
        self._unread: set[int] = set()

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
        *,
        numbered: bool = False,
    ) -> Receipt:
        """Record a charge, leaks included; keys work as in a real ledger.

        Parameters
        ----------
        cost
            What it costs; a leak is recorded, too.
        label
            What it is for.
        event
            Public facts to keep with the entry.
        key
            A name for this charge; it works as in a real ledger.
        numbered
            Whether this pays for numbered steps; it works as in a real ledger.
        """
        if key is None or key not in self._keys:
            receipt = self._record(cost, label, event)
            if key is not None:
                self._keys[key] = receipt.seq
            return receipt
        found = self._again(key, cost, label, event)
        if found.answer is not None or numbered or not cost:
            return found
        if found.seq in self._unread:
            self._unread.discard(found.seq)
        else:
            self._record(cost, f"attempt at entry {found.seq}: {label}", event)
        return found

    def _record(self, cost: Cost, label: str, event: Event | None) -> Receipt:
        if self._limit is not None and (self.spent() + cost).epsilon > self._limit:
            raise BudgetError(f"{label!r} costs {cost}: the simulation's budget is up.")
        receipt = Receipt(
            len(self._entries) + 1, label, cost, "simulated", simulated=True
        )
        self._entries.append(receipt)
        self._spent += cost
        self._events.append(dict(event or {}))
        return receipt

    def unread(self, receipt: Receipt) -> None:
        """Note that no row was read for a charge.

        Parameters
        ----------
        receipt
            The receipt of a charge that had a key.
        """
        self._unread.add(receipt.seq)

    def _again(self, key: str, cost: Cost, label: str, event: Event | None) -> Receipt:
        seq = self._keys[key]
        old = self._entries[seq - 1]
        same = (old.cost, old.label, self._events[seq - 1])
        if same != (cost, label, dict(event or {})):
            raise LedgerError(f"the key {key!r} belongs to another question.")
        return replace(old, answer=self._answers.get(seq), again=True)

    def note(self, label: str, event: Event, key: str) -> Receipt:
        """Record the use of something paid for before; it costs nothing.

        Parameters
        ----------
        label
            What is used.
        event
            Public facts to keep with the entry.
        key
            As in ``charge``.
        """
        return self.charge(Cost(), label, event, key)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Keep the answer of a charge that has a key; the first one stays.

        Parameters
        ----------
        receipt
            The receipt of a charge.
        answer
            What to store.
        """
        return self._answers.setdefault(receipt.seq, answer)

    def fault(self, label: str) -> None:
        """A simulation does not shut: nobody's rows are behind it.

        Parameters
        ----------
        label
            What could not be computed.
        """

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once.

        Parameters
        ----------
        cost
            What the whole plan costs.
        label
            What it is for.
        event
            Public facts to keep with the entry.
        """
        return Reservation(self, self.charge(cost, label, event))

    def spent(self) -> Cost:
        """What has been charged so far; infinite after a leak."""
        return self._spent

    def entries(self) -> list[dict[str, Any]]:
        """Every charge, oldest first."""
        pairs = zip(self._entries, self._events, strict=True)
        return [receipt.to_dict() | {"event": event} for receipt, event in pairs]

    def __deepcopy__(self, memo: dict[int, Any]) -> SimulationLedger:
        return self

    def __copy__(self) -> SimulationLedger:
        return self

    def __reduce__(self) -> Any:
        # A copy starts a simulation of its own; there is no budget to forget.
        return _revive, (self.simulation.noise,)

    def __str__(self) -> str:
        count = len(self._entries)
        many = "entry" if count == 1 else "entries"
        return f"SIMULATED: {self.spent()}, {count} {many}"

    def __repr__(self) -> str:
        return f"SimulationLedger({self})"


def _revive(noise: bool) -> SimulationLedger:
    return simulate(None, noise=noise)


def simulate(
    seed: int | None = 0, *, noise: bool = True, epsilon: Amount | None = None
) -> SimulationLedger:
    """A simulation ledger with noise from ``seed``, or with none.

    Parameters
    ----------
    seed : int, optional
        Equal seeds give equal noise. ``None`` takes fresh noise every time.
    noise
        ``False``: everything as it would be, but no noise is added. Models still
        shrink for the noise that they would have had, unless they are told not to:
        ``shrink=False`` (naive Bayes, k-means), ``method="functional", alpha=0``
        (linear regression). Then they give the textbook's answer.
    epsilon : int, float, str or Fraction, optional
        A limit to run into.

    Returns
    -------
    SimulationLedger
        A ledger for a ``Table`` or a model; its receipts say SIMULATED.

    Examples
    --------
    >>> print(simulate(1))
    SIMULATED: ε 0, 0 entries
    """
    entropy = Entropy(None if seed is None else str(seed).encode())
    return SimulationLedger(Simulation(Sampler(entropy), noise), epsilon)


__all__ = ["SimulationLedger", "simulate"]
