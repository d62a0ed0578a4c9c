"""The rules of a ledger: charge first, then release, and never refund."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreto.errors import BudgetError, LedgerError, ParameterError, UnsafeError
from discreto.kernel.charge import Event, Receipt, Reservation, Simulation
from discreto.kernel.cost import Amount, Cost, read_amount, read_delta, show
from discreto.ledger.analyst import AnalystLedger
from discreto.ledger.anchor import Anchor
from discreto.ledger.chain import POPULATION, Chain, dump
from discreto.ledger.checks import (
    check_content,
    check_cost,
    check_name,
    left_of,
    refusal,
)
from discreto.ledger.entries import append, earlier, fill, is_sound, read_history
from discreto.ledger.store import MEMORY, Store

VERSION = "1"


class Ledger:
    """The budget of one population and every charge against it.

    Parameters
    ----------
    path
        A file, made if it does not exist; nothing for a ledger in memory.
    epsilon, delta
        The whole budget. For an existing file they may be left out; if given, they
        must be those of the file.
    population
        A name for these people; the file of another population is refused.
    analysts
        Budgets of single analysts, ``{"ana": 1}``; they use ``ledger.analyst("ana")``.
    anchor
        A file on another volume that learns every entry's hash.
    key
        A secret for the chain (bytes); without it the chain is a plain hash.
    timeout
        Seconds to wait for another process that is writing.

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
        population: str | None = None,
        analysts: Mapping[str, Amount] | None = None,
        anchor: str | Path | None = None,
        key: bytes | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.path = MEMORY if path is None else str(path)
        self._chain = Chain(key)
        self._anchor = None if anchor is None else Anchor(anchor)
        self._timeout = timeout
        wanted = {
            "epsilon": None if epsilon is None else read_amount(epsilon, "epsilon"),
            "delta": None if delta is None else read_delta(delta),
        }
        limits = {
            check_name(name, "an analyst's name"): read_amount(
                amount, f"the epsilon of analyst {name!r}"
            )
            for name, amount in (analysts or {}).items()
        }
        if population:
            check_name(population, "the population")
        self._store = Store(self.path, timeout)
        if anchor and os.path.realpath(anchor) == self._store.path:
            raise ParameterError("the anchor must be another file than the ledger.")
        if not self._store.exists():
            self._create(wanted, population or "", limits)
        with self._store.reading() as db:
            self._meta = dict(db.execute("SELECT name, value FROM meta"))
        if self._meta.get("version") != VERSION:
            raise LedgerError(
                f"{self.path!r} was written by another version of discreto (format "
                f"{self._meta.get('version')}; this one reads format {VERSION})."
            )
        count = self.verify()
        self.id, self.population = self._meta["id"], self._meta["population"]
        self.delta = Fraction(self._meta["delta"])
        self._check_wanted(wanted, population, limits)
        if self._anchor and not count:
            self._anchor.create()

    def _create(
        self,
        wanted: Mapping[str, Fraction | None],
        population: str,
        limits: Mapping[str, Fraction],
    ) -> None:
        if wanted["epsilon"] is None:
            raise LedgerError(
                f"there is no ledger {self.path!r}. Say how much it may spend to "
                "make one: Ledger(path, epsilon=3)."
            )
        meta = {
            "version": VERSION,
            "id": secrets.token_hex(8),
            "population": population,
            "epsilon": str(wanted["epsilon"]),
            "delta": str(wanted["delta"] or 0),
            "analysts": dump({name: str(limit) for name, limit in limits.items()}),
        }
        meta["seal"] = self._chain.seal(meta)
        self._store.create(lambda db: fill(db, meta))

    def _check_wanted(
        self,
        wanted: Mapping[str, Fraction | None],
        population: str | None,
        limits: Mapping[str, Fraction],
    ) -> None:
        if population is not None and population != self.population:
            raise LedgerError(
                f"{self.path!r} is the ledger of population {self.population!r}, not "
                f"of {population!r}. One file belongs to one population."
            )
        have = {"epsilon": self.epsilon, "delta": self.delta}
        for name, value in wanted.items():
            if value is not None and value != have[name]:
                raise LedgerError(
                    f"{self.path!r} has {name} {show(have[name])}, not {show(value)}. "
                    f"Leave {name} out to use what the file says."
                )
        for name, value in limits.items():
            if self._account(name)[0] != value:
                raise LedgerError(
                    f"analyst {name!r} of {self.path!r} has another budget. Change it "
                    f"with ledger.allow({name!r}, ...)."
                )

    # Spending

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
        analyst: str = POPULATION,
    ) -> Receipt:
        """Commit a charge, or raise and change nothing.

        A ``key`` makes repeating safe: the same key and content give the same entry
        with its stored answer; the same key with other content is refused.
        """
        return self._enter(check_cost(cost, label), label, event, key, analyst)

    def note(
        self, label: str, event: Event, key: str, analyst: str = POPULATION
    ) -> Receipt:
        """Commit an entry that costs nothing: the use of something paid for before.

        The ``key`` works as in ``charge``, so what was paid for is used once.
        """
        return self._enter(Cost(), label, event, key, analyst)

    def _enter(
        self,
        cost: Cost,
        label: str,
        event: Event | None,
        key: str | None,
        analyst: str,
    ) -> Receipt:
        if key is not None:
            check_name(key, "a key")
        if analyst != POPULATION:
            check_name(analyst, "an analyst's name")
        content = check_content(
            {
                "label": str(label)[:200],
                "cost": cost.to_dict(),
                "analyst": analyst,
                "event": dict(event or {}),
            }
        )
        with self._store.writing() as db:
            receipt = None if key is None else earlier(db, key, content)
            if receipt is None:
                for name in dict.fromkeys((analyst, POPULATION)):
                    self._spend(db, name, cost, label)
                seq, link = append(db, self._chain, self._meta["seal"], content, key)
                receipt = Receipt(seq, content["label"], cost, link)
        # A repeated charge too: whoever made it may have died before this line.
        if self._anchor and receipt.answer is None:
            self._anchor.write(self.id, receipt.seq, receipt.hash)
        return receipt

    def _spend(self, db: sqlite3.Connection, name: str, cost: Cost, label: str) -> None:
        limit, spent = self._account(name, db)
        after = spent + cost
        if after.total(self.delta) > limit:
            raise BudgetError(
                refusal(label, cost, spent, limit=limit, delta=self.delta, analyst=name)
            )
        update = "UPDATE account SET spent = ? WHERE name = ?"
        db.execute(update, (dump(after.to_dict()), name))

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge; the first one stored is the answer for good."""
        with self._store.writing() as db:
            query = "SELECT hash FROM entry WHERE seq = ? AND key IS NOT NULL"
            if db.execute(query, (receipt.seq,)).fetchone() != (receipt.hash,):
                raise LedgerError(
                    f"entry {receipt.seq} of {self.path!r} is not this receipt's, or "
                    "has no key: its answer cannot be stored."
                )
            link = self._chain.answer(receipt.hash, answer)
            row = (receipt.seq, answer, link)
            db.execute("INSERT OR IGNORE INTO answer VALUES(?, ?, ?)", row)
            query = "SELECT body FROM answer WHERE seq = ?"
            return str(db.execute(query, row[:1]).fetchone()[0])

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once; its questions then draw on the reservation."""
        return Reservation(self, self.charge(cost, label, event))

    def allow(self, analyst: str, epsilon: Amount) -> None:
        """Set an analyst's budget, or with ``""`` the population's, as an entry.

        A limit below what is spent already is possible: it refuses everything further.
        """
        if analyst != POPULATION:
            check_name(analyst, "an analyst's name")
        limit = str(read_amount(epsilon, "epsilon"))
        content = {
            "label": f"allow {analyst or 'the population'} ε {show(Fraction(limit))}",
            "cost": {},
            "analyst": analyst,
            "event": {},
            "allow": limit,
        }
        with self._store.writing() as db:
            db.execute(
                "INSERT INTO account VALUES(?, ?, '{}') ON CONFLICT(name) DO UPDATE "
                "SET epsilon = excluded.epsilon",
                (analyst, limit),
            )
            seq, link = append(db, self._chain, self._meta["seal"], content)
        if self._anchor:
            self._anchor.write(self.id, seq, link)

    def analyst(self, name: str) -> AnalystLedger:
        """This ledger as one analyst may use it."""
        return AnalystLedger(self, check_name(name, "an analyst's name"))

    # Reading

    def _account(
        self, name: str, db: sqlite3.Connection | None = None
    ) -> tuple[Fraction, Cost]:
        if db is None:
            with self._store.reading() as db:
                return self._account(name, db)
        query = "SELECT epsilon, spent FROM account WHERE name = ?"
        row = db.execute(query, (name,)).fetchone()
        if row is None:
            raise LedgerError(
                f"there is no analyst {name!r} in {self.path!r}. The owner adds one "
                f"with ledger.allow({name!r}, epsilon)."
            )
        return Fraction(row[0]), Cost.from_dict(json.loads(row[1]))

    @property
    def epsilon(self) -> Fraction:
        """The population's whole budget."""
        return self._account(POPULATION)[0]

    def limit(self, analyst: str) -> Fraction:
        """An analyst's whole budget."""
        return self._account(analyst)[0]

    def spent(self, analyst: str = POPULATION) -> Cost:
        """What has been charged so far."""
        return self._account(analyst)[1]

    def total(self, analyst: str = POPULATION) -> float:
        """The epsilon spent so far, at this ledger's delta."""
        return float(self.spent(analyst).total(self.delta))

    def remaining(self, analyst: str = POPULATION) -> float:
        """The epsilon that is left."""
        return float(left_of(*self._account(analyst), self.delta))

    def entries(self) -> list[dict[str, Any]]:
        """Every entry, oldest first."""
        with self._store.reading() as db:
            rows = db.execute("SELECT body, hash FROM entry ORDER BY seq").fetchall()
        return [json.loads(body) | {"hash": link} for body, link in rows]

    def verify(self) -> int:
        """Check the file, the chain, the sums and the anchor; the number of entries."""
        # The anchor first: whatever it holds now, the ledger holds when read after.
        lines = self._anchor.read() if self._anchor else None
        with self._store.reading() as db:
            sound, history = is_sound(db), read_history(db)
        if not sound:
            raise LedgerError(f"{self.path!r} is damaged or was changed: restore it.")
        try:
            links = self._chain.check(history)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            raise LedgerError(f"{self.path!r} is damaged: restore it.") from None
        if self._anchor:
            if lines is None and links and self._anchor.path.exists():
                return self.verify()  # it was made while we were reading
            self._anchor.check(lines, history.meta["id"], links)
        return len(links)

    # Copies share the ledger: a cloned model must not get its budget back.

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> Any:
        if self.path == MEMORY:
            raise UnsafeError(
                "a ledger in memory cannot be sent to another process: each would "
                "spend the whole budget. Use a ledger file."
            )
        if self._chain.key:
            raise UnsafeError(
                "a ledger with a key cannot be pickled: the key would travel along. "
                "Open the ledger in the other process."
            )
        anchor = self._anchor.path if self._anchor else None
        return _reopen, (self._store.path, anchor, self._timeout, self.id)

    def __str__(self) -> str:
        count = self.verify()
        at = f" (δ {show(self.delta)})" if self.delta else ""
        return (
            f"ε {show(self.total())} of {show(self.epsilon)}{at}, {count} "
            f"{'entry' if count == 1 else 'entries'}, chain intact"
        )

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"


def _reopen(path: str, anchor: Path | None, timeout: float, name: str) -> Ledger:
    ledger = Ledger(path, anchor=anchor, timeout=timeout)
    if ledger.id != name:
        raise LedgerError(f"{path!r} is another ledger by now.")
    return ledger
