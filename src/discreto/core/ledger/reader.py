"""What can be read of a ledger: budgets, what was spent, entries, and whether all fits.

Nothing here changes what was spent, but for totals that an older version wrote in its
own way, which are brought up to today's rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreto.core.cost import Amount, Budget, Cost, read_delta, show
from discreto.core.ledger import entries as rows
from discreto.core.ledger import faults as failures
from discreto.core.ledger.anchor import Anchor
from discreto.core.ledger.chain import POPULATION, Chain
from discreto.core.ledger.checks import check_name
from discreto.core.ledger.notebook import ledger_html
from discreto.core.ledger.proof import proof_of
from discreto.core.ledger.verification import check_history
from discreto.errors import LedgerError


class LedgerReader:
    """The half of a ledger that only looks."""

    path: str
    population: str
    delta: Fraction
    _chain: Chain
    _anchor: Anchor | None
    _store: Any
    _meta: Mapping[str, str]

    def _account(self, name: str) -> tuple[Budget, Cost]:
        query = "SELECT epsilon, spent FROM account WHERE name = ?"
        found = self._store.look(query, (name,))
        if not found:
            raise rows.no_account(name, self.path)
        return rows.account_of(self._meta, name, *found[0])

    @property
    def epsilon(self) -> Fraction:
        """The population's whole budget."""
        return self._account(POPULATION)[0].epsilon

    def accounts(self) -> list[str]:
        """The names of all budgets; ``""`` is the population's."""
        with self._store.reading() as db:
            return [row[0] for row in db.execute("SELECT name FROM account")]

    def limit(self, analyst: str) -> Fraction:
        """An analyst's whole budget.

        Parameters
        ----------
        analyst
            An analyst's name, or ``""`` for the population.
        """
        return self._account(analyst)[0].epsilon

    def spent(self, analyst: str = POPULATION) -> Cost:
        """What has been charged so far, as the budget counts it.

        Parameters
        ----------
        analyst
            An analyst's name; nothing: the population.
        """
        return self._account(analyst)[1]

    def total(self, analyst: str = POPULATION) -> float:
        """The epsilon spent so far, at this ledger's delta.

        Parameters
        ----------
        analyst
            An analyst's name; nothing: the population.
        """
        budget, spent = self._account(analyst)
        return float(budget.total(spent))

    def remaining(self, analyst: str = POPULATION) -> float:
        """The epsilon that is left: of the whole, less what is spent.

        Parameters
        ----------
        analyst
            An analyst's name; nothing: the population.
        """
        budget, spent = self._account(analyst)
        return max(
            0.0, float(budget.epsilon - Fraction(min(budget.total(spent), 10**9)))
        )

    def room(self, delta: Amount = 0, analyst: str = POPULATION) -> float:
        """The largest epsilon that a question with this ``delta`` may have now.

        Parameters
        ----------
        delta
            The δ of the question; 0 for a pure one.
        analyst
            An analyst's name; nothing: the population.

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
        """Every entry, oldest first.

        Parameters
        ----------
        last
            Only so many of the newest.
        """
        with self._store.reading() as db:
            return rows.newest(db, last)

    def find(self, key: str) -> dict[str, Any] | None:
        """The entry that was made under a key, with its answer, if there is one.

        Parameters
        ----------
        key
            As it was given to ``charge`` or ``note``.
        """
        with self._store.reading() as db:
            return rows.found(db, self._chain, check_name(key, "a key"))

    def unanswered(self) -> list[tuple[str, dict[str, Any]]]:
        """Keys and entries of charges whose answer was not stored: work that died."""
        with self._store.reading() as db:
            return rows.unanswered(db)

    def proof(self) -> dict[str, Any]:
        """The whole chain as JSON data, which ``check_proof`` checks without this file.

        Answers are not in it; their receipts are. With a key the chain can be checked
        by those who have it.
        """
        with self._store.reading() as db:
            return proof_of(rows.read_history(db))

    def verify(self) -> int:
        """Check the file, the chain, the sums and the anchor; the number of entries.

        Opening a ledger checks its last entries, from the last totals on that are
        written in the chain; this checks everything from the beginning.
        """
        return self._verify(recent=False)

    def _verify(self, *, recent: bool) -> int:
        # The anchor first: whatever it holds now, the ledger holds when read after.
        lines = self._anchor.read() if self._anchor else None
        with self._store.reading() as db:
            history = rows.read_history(db, recent=recent)
            count, last = db.execute("SELECT count(*), max(seq) FROM entry").fetchone()
            sound = self._store.is_sound(db, thorough=not history.recent)
        if not sound or count != (last or 0):
            raise LedgerError(f"{self.path!r} is damaged or was changed: restore it.")
        try:
            checked = check_history(self._chain, history)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            raise LedgerError(f"{self.path!r} is damaged: restore it.") from None
        links = checked.links
        if self._anchor:
            if lines is None and links and self._anchor.path.exists():
                return self._verify(recent=recent)  # made while we were reading
            if lines and history.recent:  # a link stands for all before it
                first = history.entries[0][0]
                lines = [line for line in lines if line[1] >= first]
            self._anchor.check(lines, history.meta["id"], links)
        if checked.stale:
            self._bring_up(count, checked.stale)
        return int(count)

    def _bring_up(self, entries: int, totals: Mapping[str, str]) -> None:
        """Totals of version 1, counted by today's rule, unless somebody was faster."""
        with self._store.writing() as db:
            rows.check_same(db, self._meta, self.path)
            if db.execute("SELECT count(*) FROM entry").fetchone() == (entries,):
                update = "UPDATE account SET spent = ? WHERE name = ?"
                for name, text in totals.items():
                    db.execute(update, (text, name))

    @property
    def faults(self) -> int:
        """How many answers could not be computed so far."""
        with self._store.reading() as db:
            return failures.count_faults(db)

    @property
    def shut(self) -> bool:
        """Whether a failure was not looked into yet."""
        with self._store.reading() as db:
            return failures.is_shut(db)

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
