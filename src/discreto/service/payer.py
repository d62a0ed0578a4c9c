"""Who pays for a question of a service, and what can stop it between two answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from discreto.core.charge import (
    Charger,
    Event,
    Notes,
    Receipt,
    Reservation,
    Simulation,
)
from discreto.core.cost import Cost
from discreto.core.gate import Gate
from discreto.errors import LedgerError
from discreto.table.table import Table


class Answered(Exception):
    """This question was paid for and answered before: here is the stored answer."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self.answer = answer


class Once:
    """A payer for one question: its answer is stored under a key and charged once.

    Whatever asks (a statistic, a fit, an evaluation) pays for its whole plan with one
    charge. That charge gets the key; a stored answer ends the work before it begins.
    Work that ended without an answer is charged again, unless it had read nothing.
    """

    def __init__(self, payer: Charger, key: str, facts: Mapping[str, Any]) -> None:
        self._payer, self._key, self._facts = payer, key, dict(facts)
        self.receipt: Receipt | None = None
        self._read = False

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

    def begin(self) -> None:
        """Remember that rows are read from now on."""
        self._read = True

    def give_up(self) -> None:
        """Let the ledger note it if the work ended before it read a row."""
        paid = self.receipt
        if paid is not None and not self._read and isinstance(self._payer, Notes):
            with suppress(LedgerError):
                self._payer.unread(paid)

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

    def current(self) -> ServedTable:
        """Return this table, or one that is opened anew if its files were changed."""
        return self if self._rows.unchanged() else self.reload()

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
        super().__init__(paid, paid.receipt)
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
