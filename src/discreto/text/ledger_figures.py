"""Figures and texts of a ledger for people to read: totals, entries, HTML.

Nothing here changes a ledger, and no charge depends on it. So it is not part of the
trusted core.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreto.core.cost import Amount, Budget, Cost, read_delta, show
from discreto.errors import LedgerError
from discreto.text.html import Html, html_table
from discreto.text.wrong_calls import readable

NEWEST = 10  # entries that a notebook shows


class LedgerFigures:
    """The figures of a ledger, as methods of it."""

    path: str
    population: str
    delta: Fraction
    _store: Any

    def _account(self, name: str) -> tuple[Budget, Cost]:
        raise NotImplementedError

    def verify(self) -> int:
        """Check the ledger; return the number of entries."""
        raise NotImplementedError

    @property
    def epsilon(self) -> Fraction:
        """The population's whole budget."""
        return self._account("")[0].epsilon

    def accounts(self) -> list[str]:
        """Return the names of all budgets; ``""`` is the population's."""
        return [row[0] for row in self._store.look("SELECT name FROM account")]

    def limit(self, analyst: str) -> Fraction:
        """Return an analyst's whole budget.

        Parameters
        ----------
        analyst
            An analyst's name, or ``""`` for the population.
        """
        return self._account(analyst)[0].epsilon

    @readable
    def spent(self, analyst: str = "") -> Cost:
        """Return the sum of all charges so far, as the budget counts it.

        Parameters
        ----------
        analyst
            An analyst's name; empty for the population.
        """
        return self._account(analyst)[1]

    def total(self, analyst: str = "") -> float:
        """Return the epsilon spent so far, at this ledger's delta.

        Parameters
        ----------
        analyst
            An analyst's name; empty for the population.
        """
        budget, spent = self._account(analyst)
        return float(budget.total(spent))

    @readable
    def remaining(self, analyst: str = "") -> float:
        """Return the epsilon that is left: the whole budget less the total.

        Parameters
        ----------
        analyst
            An analyst's name; empty for the population.
        """
        budget, spent = self._account(analyst)
        return max(
            0.0, float(budget.epsilon - Fraction(min(budget.total(spent), 10**9)))
        )

    def room(self, delta: Amount = 0, analyst: str = "") -> float:
        """Return the largest epsilon that a question with this ``delta`` may have now.

        Parameters
        ----------
        delta
            The δ of the question; 0 for a pure one.
        analyst
            An analyst's name; empty for the population.

        Examples
        --------
        >>> from discreto import Ledger
        >>> ledger = Ledger(epsilon=1, delta="1e-5")
        >>> ledger.room()
        1.0
        """
        budget, spent = self._account(analyst)
        if not read_delta(delta):
            return float(budget.remaining(spent))
        return float(budget.remaining_gaussian(spent)) if budget.delta else 0.0

    def entries(self, last: int | None = None) -> list[dict[str, Any]]:
        """Return every entry, oldest first.

        Parameters
        ----------
        last
            The number of newest entries to return; all if left out.
        """
        query = "SELECT body, hash FROM entry ORDER BY seq DESC"
        limit, values = ("", ()) if last is None else (" LIMIT ?", (last,))
        rows = self._store.look(query + limit, values)
        return [json.loads(body) | {"hash": link} for body, link in reversed(rows)]

    def __str__(self) -> str:
        count = self.verify()
        at = f" (δ {show(self.delta)})" if self.delta else ""
        return (
            f"ε {show(self.total())} of {show(self.epsilon)}{at}, {count} "
            f"{'entry' if count == 1 else 'entries'}, chain intact"
        )

    def __repr__(self) -> str:
        try:
            left = f", ε {show(self.remaining())} of {show(self.epsilon)} left"
        except LedgerError:  # a closed one, or one that cannot be read now
            left = ""
        return f"Ledger({self.path!r}{left})"

    def _repr_html_(self) -> str:
        return ledger_html(self)


class AnalystFigures:
    """The figures of a ledger as one analyst sees it."""

    ledger: Any
    name: str
    accounts: tuple[str, ...]

    @readable
    def remaining(self) -> float:
        """Return the epsilon that this analyst may still spend."""
        names = (self.name, *self.accounts, "")
        return min(self.ledger.remaining(name) for name in names)

    def __repr__(self) -> str:
        left = f"ε {show(self.remaining())} left"
        return f"AnalystLedger({self.name!r}, {left}, of {self.ledger!r})"

    def __str__(self) -> str:
        return f"ε {show(self.remaining())} left for {self.name}; {self.ledger}"


def ledger_html(ledger: LedgerFigures) -> Html:
    """Return a table of the remaining budget and the newest entries."""
    entries = ledger.entries()
    rows = [
        (
            entry["seq"],
            datetime.fromtimestamp(entry["time"], UTC).strftime("%Y-%m-%d %H:%M"),
            entry["label"],
            str(Cost.from_dict(entry["cost"])) if entry["cost"] else "",
        )
        for entry in entries[-NEWEST:]
    ]
    whose = f" of {ledger.population}" if ledger.population else ""
    at = f" at δ {show(ledger.delta)}" if ledger.delta else ""
    earlier = len(entries) - len(rows)
    caption = (
        f"Ledger{whose}: ε {show(ledger.total())} of {show(ledger.epsilon)} spent, "
        f"{show(ledger.remaining())} left{at}"
        + (f"; {earlier} earlier entries" if earlier else "")
    )
    return html_table(["#", "time (UTC)", "what", "cost"], rows, caption=caption)
