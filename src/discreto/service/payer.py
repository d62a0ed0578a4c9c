"""Who pays for a question of a service, and what can stop it between two answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from discreto.core.charge import Charger, Event, Receipt, Reservation, Simulation
from discreto.core.cost import Cost
from discreto.core.gate import Gate
from discreto.tables import Table


class Answered(Exception):
    """This question was paid for and answered before: here is the stored answer."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self.answer = answer


class Once:
    """A payer for one question: it is charged once under a key, however often asked.

    Whatever asks (a statistic, a fit, an evaluation) pays for its whole plan with one
    charge. That charge gets the key; a stored answer ends the work before it begins.
    """

    def __init__(self, payer: Charger, key: str, facts: Mapping[str, Any]) -> None:
        self._payer, self._key, self._facts = payer, key, dict(facts)
        self.receipt: Receipt | None = None

    @property
    def simulation(self) -> Simulation | None:
        """The simulation this belongs to, if it is one."""
        return self._payer.simulation

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Commit the charge of the whole question."""
        facts = dict(event or {}) | self._facts
        receipt = self._payer.charge(cost, label, facts, self._key)
        if receipt.answer is not None:
            raise Answered(receipt.answer)
        self.receipt = receipt
        return receipt

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer; the one that was stored first is the answer."""
        return self._payer.keep(receipt, answer)

    def fault(self, label: str) -> None:
        """Shut the ledger: an answer could not be computed."""
        self._payer.fault(label)


class ServedTable(Table):
    """A table whose work can be watched, and stopped between two questions."""

    watch: Callable[[], None] | None = None

    def watched(self, watch: Callable[[], None] | None) -> ServedTable:
        """The same rows; ``watch`` is called before every question of a plan.

        Parameters
        ----------
        watch
            Counts, or raises to stop the work; what was paid is paid.
        """
        out = copy.copy(self)
        out.watch = watch
        return out

    def gate(self, ledger: Charger | None = None) -> Gate:
        """The gate, whose questions are seen by ``watch``.

        Parameters
        ----------
        ledger
            Who pays instead of this table's ledger, such as a reservation.
        """
        if self.watch is not None and isinstance(ledger, Reservation):
            ledger = _Watched(ledger, self.watch)
        return super().gate(ledger)


class _Watched(Reservation):
    """A reservation that tells of every question before it is asked."""

    def __init__(self, paid: Reservation, watch: Callable[[], None]) -> None:
        super().__init__(paid.ledger, paid.receipt)
        self._paid, self._watch = paid, watch

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Tell of the question, then draw on the reservation that was paid for."""
        self._watch()
        return self._paid.charge(cost, label, event, key)
