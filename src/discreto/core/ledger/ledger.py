"""The rules of a ledger: charge first, then release, and never refund."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from discreto.core.charge import Event, Receipt, Reservation, Simulation
from discreto.core.cost import Amount, Budget, Cost, read_amount, show
from discreto.core.ledger import entries as rows
from discreto.core.ledger import transaction
from discreto.core.ledger.accounts import (
    POPULATION,
    AnalystLedger,
    account_of,
    no_account,
    payers,
)
from discreto.core.ledger.chain import Anchor, Chain, check_history
from discreto.core.ledger.database import CutShort
from discreto.core.ledger.group_commit import Group, LedgerJob
from discreto.core.ledger.postgres import PostgresStore, is_postgres
from discreto.core.ledger.sqlite import MEMORY, SqliteStore
from discreto.core.ledger.transaction import LedgerFacts, LedgerTransaction
from discreto.errors import DiscretoError, LedgerError, ParameterError, UnsafeError
from discreto.text import ledger_messages as say
from discreto.text.ledger_figures import LedgerFigures


class Ledger(LedgerFigures):
    """The budget of one population and every charge against it.

    Parameters
    ----------
    path
        A file, made if it does not exist; ``"postgresql://host/database#name"`` for a
        ledger that several hosts share; nothing for a ledger in memory.
    epsilon, delta
        The whole budget. For an existing file they may be left out; if given, they
        must be those of the file.
    pure, block_delta
        An epsilon, and a delta, set aside for costs that add up: questions without a
        delta, and steps on random samples. Without them such costs add up until the
        first Gaussian question, and count as Gaussian privacy after it; see
        ``docs/ledger.md``. ``pure=0`` counts everything as Gaussian privacy.
    population
        A name for these people; the file of another population is refused.
    analysts
        Budgets of single analysts, ``{"ana": 1}``; they use ``ledger.analyst("ana")``.
    anchor
        A file on another volume that receives the hash of every entry.
    key
        A secret for the chain (bytes); without it the chain is a plain hash.
    timeout
        Seconds to wait for another process that is writing.

    Raises
    ------
    LedgerError
        The file is damaged, was changed, or is another population's or budget's.

    Examples
    --------
    >>> ledger = Ledger(epsilon=3)
    >>> ledger.charge(Cost.of("0.5"), "a look").seq
    1
    >>> print(ledger)
    ε 0.5 of 3, 1 entry, chain intact
    """

    simulation: Simulation | None = None

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        pure: Amount | None = None,
        block_delta: Amount | None = None,
        population: str | None = None,
        analysts: Mapping[str, Amount] | None = None,
        anchor: str | Path | None = None,
        key: bytes | None = None,
        timeout: float = 30.0,
    ) -> None:
        place = MEMORY if path is None else str(path)
        self._chain = Chain(key)
        self._anchor = None if anchor is None else Anchor(anchor)
        self._timeout = timeout
        wanted = rows.read_wanted(epsilon, delta, pure, block_delta)
        limits = {
            transaction.check_name(name, "an analyst's name"): read_amount(
                amount, f"the epsilon of analyst {name!r}"
            )
            for name, amount in (analysts or {}).items()
        }
        if population:
            transaction.check_name(population, "the population")
        kind = PostgresStore if is_postgres(place) else SqliteStore
        self._store: PostgresStore | SqliteStore = kind(place, timeout)
        # The address of a database is shown without its password.
        self.path = self._store.path if is_postgres(place) else place
        self._group = Group()
        self._unused: set[str] = set()  # hashes of entries that were paid and not used
        if anchor and os.path.realpath(anchor) == self._store.path:
            raise ParameterError("the anchor must be another file than the ledger.")
        if not self._store.exists():
            meta = rows.new_meta(wanted, population or "", limits, self.path)
            meta["seal"] = self._chain.seal(meta)
            self._store.create(lambda db: rows.fill(db, meta))
        self._open(wanted, population, limits)

    def _open(
        self,
        wanted: rows.Wanted,
        population: str | None,
        limits: Mapping[str, Fraction],
    ) -> None:
        """Check a ledger that exists, and that it is the one that the caller wants."""
        self._store.bring_up()
        with self._store.reading() as db:
            self._meta = rows.read_meta(db, self.path)
        self._facts = LedgerFacts(self._chain, self._meta, self.path, self._store)
        self._known = self._verify(recent=True)
        self.id, self.population = self._meta["id"], self._meta["population"]
        self.delta = Fraction(self._meta["delta"])
        have = {"epsilon": self.epsilon}
        have |= {n: Fraction(v) for n, v in self._meta.items() if n in rows.PARTS}
        rows.check_wanted(self.path, wanted, have)
        rows.check_people(self.path, population, self.population)
        for name, value in limits.items():
            if self.limit(name) != value:
                raise LedgerError(say.OTHER_LIMIT.format(name=name, path=self.path))
        if self._anchor and not self._known.seq:
            self._anchor.create()

    # Spending

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
        analyst: str = POPULATION,
        accounts: tuple[str, ...] = (),
        *,
        numbered: bool = False,
    ) -> Receipt:
        """Commit a charge, or raise and change nothing.

        Parameters
        ----------
        cost
            The privacy cost.
        label
            A description, as ``entries`` shows it.
        event
            Public facts to keep with the entry.
        key
            A name for this charge. The same key and content give the same entry with
            its stored answer. If no answer was stored, another attempt is charged:
            the last one may have read rows. The same key with other content is refused.
        analyst
            The analyst whose budget pays besides the population's; empty for none.
        accounts
            Further budgets that pay, each set with ``allow``: that of a table, say.
        numbered
            True if this pays for numbered steps, which read rows under keys of their
            own. Such a charge has no answer and is made once.

        Returns
        -------
        Receipt
            The number, cost and hash of the entry.

        Raises
        ------
        BudgetError
            There is less left. Nothing was charged.
        """
        cost = transaction.check_cost(cost, label)
        return self._enter(
            cost, label, event, key, analyst, accounts, numbered=numbered
        )

    def note(
        self, label: str, event: Event, key: str, analyst: str = POPULATION
    ) -> Receipt:
        """Commit an entry that costs nothing: the use of something paid for before.

        Parameters
        ----------
        label
            A description of the use.
        event
            Public facts to keep with the entry.
        key
            As in ``charge``, so that each payment is used once.
        analyst
            The analyst in whose name the entry is made; empty for none.
        """
        return self._enter(Cost(), label, event, key, analyst)

    def _enter(
        self,
        cost: Cost,
        label: str,
        event: Event | None,
        key: str | None,
        analyst: str,
        accounts: tuple[str, ...] = (),
        *,
        numbered: bool = False,
    ) -> Receipt:
        if key is not None:
            transaction.check_key(key)
        for name in (analyst, *accounts):
            if name != POPULATION:
                transaction.check_name(name, "an analyst's name")
        content = transaction.check_content(
            {
                "label": str(label)[:200],
                "cost": cost.to_dict(),
                "analyst": analyst,
                "event": dict(event or {}),
            }
            | ({"accounts": list(accounts)} if accounts else {})
        )
        names = tuple(payers(analyst, accounts))
        job = LedgerJob(
            lambda now: now.enter(content, key, cost, names, numbered=numbered),
            key,
        )
        return self._group.run(job, self._commit)

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once; its questions then draw on the reservation.

        Parameters
        ----------
        cost
            The cost of the whole plan.
        label
            A description of the plan.
        event
            Public facts to keep with the entry.
        """
        return Reservation(self, self.charge(cost, label, event))

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge; the first one stored is the answer for good.

        Parameters
        ----------
        receipt
            The receipt of a charge that had a key.
        answer
            The text to store. A large one is kept beside the ledger under its hash.

        Returns
        -------
        str
            The answer that was stored first.
        """
        text = transaction.check_answer(answer)
        job = LedgerJob(
            lambda now: now.keep(receipt, text),
            seq=receipt.seq,
            failed=f"The charge of entry {receipt.seq} stands; without a stored answer "
            "asking again is charged again.",
        )
        return self._group.run(job, self._commit)

    def unread(self, receipt: Receipt) -> None:
        """Note that no row was read for a charge, so the next attempt costs nothing.

        Parameters
        ----------
        receipt
            The receipt of a charge that had a key and whose work was not begun.
        """
        self._group.run(LedgerJob(lambda now: now.unread(receipt)), self._commit)

    def fault(self, label: str) -> None:
        """Shut this ledger: an answer could not be computed after it was paid for.

        Nothing more is charged until the owner has looked into it and reopened it.

        Parameters
        ----------
        label
            The question that could not be answered.
        """
        self._group.run(LedgerJob(lambda now: now.fault(label)), self._commit)

    def reopen(self, comment: str = "") -> None:
        """Reopen a ledger that a failure shut. Appends an entry with the comment.

        Parameters
        ----------
        comment
            The owner's findings; they are kept with the entry.
        """
        self._group.run(LedgerJob(lambda now: now.reopen(comment)), self._commit)

    def allow(self, analyst: str, epsilon: Amount) -> None:
        """Set an analyst's budget, or with ``""`` the population's, as an entry.

        A limit below the present total is possible: it refuses everything further.

        Parameters
        ----------
        analyst
            An analyst's name, or ``""`` for the population.
        epsilon : int, float, str or Fraction
            The whole budget from now on.
        """
        if analyst != POPULATION:
            transaction.check_name(analyst, "an analyst's name")
        limit = read_amount(epsilon, "epsilon")
        label = f"allow {analyst or 'the population'} ε {show(limit)}"
        job = LedgerJob(lambda now: now.allow(analyst, str(limit), label))
        self._group.run(job, self._commit)

    def analyst(self, name: str, accounts: tuple[str, ...] = ()) -> AnalystLedger:
        """Return this ledger as one analyst may use it.

        Parameters
        ----------
        name
            One of the ``analysts``.
        accounts
            Further budgets that every charge falls on.
        """
        return AnalystLedger(
            self, transaction.check_name(name, "an analyst's name"), accounts
        )

    # Commits

    def _commit(self, jobs: list[LedgerJob[Any]]) -> None:
        """Do jobs in one transaction; when this returns, they are durable.

        A commit can be cut: the connection breaks or the disk fails while it is under
        way. Then the ledger looks, under the writers' lock, for what it wrote. If it
        cannot look either, the caller learns that the charge may stand.
        """
        made: list[LedgerTransaction] = []
        try:
            try:
                self._write(jobs, made)
            except CutShort as unknown:
                self._look_for(made[0], unknown)
            # A repeated charge too: its first maker may have died before this line.
            found = [job.result for job in jobs if isinstance(job.result, Receipt)]
            known = {one.seq: one.hash for one in found if one.answer is None}
            links = sorted((known | made[0].links).items())
            if self._anchor and links:
                self._anchor.write(self.id, links)
            self._unused -= made[0].used
        except BaseException:
            # No job gets its receipt, so nothing is read for what was committed.
            for now in made:
                self._unused |= set(now.links.values())
            raise

    def _write(self, jobs: list[LedgerJob[Any]], made: list[LedgerTransaction]) -> None:
        keys = [job.key for job in jobs if job.key is not None]
        numbers = [job.seq for job in jobs if job.seq is not None]
        # Unless this succeeds, the next transaction reads the end of the ledger anew.
        known, self._known = self._known, replace(self._known, version=None)
        with self._store.writing() as db:
            now = LedgerTransaction(db, self._facts, known, keys, numbers, self._unused)
            made.append(now)
            for job in jobs:
                try:
                    job.result = job.do(now)
                except DiscretoError as error:  # nothing was changed by it
                    job.error = error
            now.write()
        self._known = now.end()

    def _look_for(self, now: LedgerTransaction, unknown: CutShort) -> None:
        """Return if the rows of a transaction are there, after its commit was cut."""
        if now.trace is None:
            return
        table, seq, link = now.trace
        try:
            with self._store.writing() as db:
                query = f"SELECT hash FROM {table} WHERE seq = ?"  # noqa: S608
                found = db.execute(query, (seq,)).fetchone()
        except LedgerError:
            raise unknown from None
        if found is None or found[0] != link:
            raise LedgerError(say.NOT_COMMITTED.format(path=self.path))

    # Reading

    def _account(self, name: str) -> tuple[Budget, Cost]:
        query = "SELECT epsilon, spent FROM account WHERE name = ?"
        found = self._store.look(query, (name,))
        if not found:
            raise no_account(name, self.path)
        return account_of(self._meta, name, *found[0])

    def _check_accounts(self, *names: str) -> None:
        """Refuse names that have no budget. Budgets seen before are not read again."""
        for name in names:
            if name not in self._known.rows:
                self._account(name)

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the entry that was made under a key, with its answer, or None.

        Parameters
        ----------
        key
            The key that was given to ``charge`` or ``note``.
        """
        with self._store.reading() as db:
            found = rows.under_keys(db, (transaction.check_name(key, "a key"),)).get(
                key
            )
            if found is None:
                return None
            seq, body, link, answer, seal = found
            text = transaction.read_answer(db, self._facts, seq, link, answer, seal)
        return json.loads(body) | {"hash": link, "answer": text}

    def unanswered(self) -> list[tuple[str, dict[str, Any]]]:
        """Return keys and entries of charges whose answer was not stored."""
        with self._store.reading() as db:
            return rows.unanswered(db)

    def proof(self) -> dict[str, Any]:
        """Return the whole chain as JSON data, for ``check_proof`` without this file.

        Answers are not in it; their receipts are. With a key the chain can be checked
        by those who have it.
        """
        with self._store.reading() as db:
            history = rows.read_history(db)
        return {
            "discreto_ledger_proof": 1,
            "meta": dict(history.meta),
            "entries": [list(row) for row in history.entries],
            "accounts": [list(row) for row in history.accounts],
        }

    def verify(self) -> int:
        """Check the file, the chain, the sums and the anchor; return the entries.

        Opening a ledger checks its last entries, from the last totals on that are
        written in the chain. This checks everything from the beginning, and reads the
        large answers that are kept beside the ledger.
        """
        return self._verify(recent=False).seq

    def _verify(self, *, recent: bool) -> rows.Known:
        # The anchor first: the ledger, read afterwards, holds all that it holds now.
        lines = self._anchor.read() if self._anchor else None
        with self._store.reading() as db:
            history = rows.read_history(db, recent=recent)
            count, last = db.execute("SELECT count(*), max(seq) FROM entry").fetchone()
            sound = self._store.is_sound(db, thorough=not history.recent)
            if not sound or count != (last or 0):
                raise LedgerError(say.DAMAGED.format(path=self.path))
            try:
                checked = check_history(self._chain, history)
            except (ValueError, TypeError, KeyError, ArithmeticError):
                raise LedgerError(f"{self.path!r} is damaged: restore it.") from None
            for seq, name in () if recent else checked.large.items():
                transaction.read_large(db, self._facts, seq, name)
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
        link = links.get(count, history.meta["seal"])
        digest = self._chain.digest(checked.rows)
        return rows.Known(count, link, checked.rows, digest)

    def _bring_up(self, entries: int, totals: Mapping[str, str]) -> None:
        """Count totals of version 1 by today's rule, unless they were changed since."""
        with self._store.writing() as db:
            rows.check_same(db, self._meta, self.path)
            if db.execute("SELECT count(*) FROM entry").fetchone() == (entries,):
                update = "UPDATE account SET spent = ? WHERE name = ?"
                for name, text in totals.items():
                    db.execute(update, (text, name))

    @property
    def faults(self) -> int:
        """The number of answers that could not be computed so far."""
        with self._store.reading() as db:
            return rows.count_faults(db)

    @property
    def shut(self) -> bool:
        """True if the owner has not reopened the ledger after its last failure."""
        with self._store.reading() as db:
            return rows.is_shut(db)

    # The end, and copies

    def close(self) -> None:
        """Close the file; this ledger refuses everything afterwards.

        Copies, tables and models that share this ledger are closed with it. The file
        stays and can be opened anew; a ledger in memory is gone. Closing twice is fine.

        Examples
        --------
        >>> with Ledger(epsilon=1) as ledger:
        ...     print(ledger)
        ε 0 of 1, 0 entries, chain intact
        """
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Copies share the ledger: a cloned model must not get its budget back.

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[Any, ...]]:
        if self.path == MEMORY:
            raise UnsafeError(say.MEMORY_TRAVELS)
        if self._store.address is None:
            raise UnsafeError(say.ADDRESS_TRAVELS)
        if self._chain.key:
            raise UnsafeError(say.KEY_TRAVELS)
        anchor = self._anchor.path if self._anchor else None
        return _reopen, (self._store.address, anchor, self._timeout, self.id)


def _reopen(path: str, anchor: Path | None, timeout: float, name: str) -> Ledger:
    ledger = Ledger(path, anchor=anchor, timeout=timeout)
    if ledger.id != name:
        raise LedgerError(f"{path!r} is another ledger by now.")
    return ledger
