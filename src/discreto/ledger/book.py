"""The rules of a ledger: charge before the release, never refund, one chain."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreto.errors import BudgetError, LedgerError, ParameterError, UnsafeError
from discreto.kernel.charge import Event, Receipt, Reservation, Simulation
from discreto.kernel.cost import Amount, Cost, read_amount, read_delta, show
from discreto.ledger.anchor import Anchor
from discreto.ledger.store import MEMORY, Store, refuse_network

VERSION = "1"
POPULATION = ""  # the account that every charge falls on


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
        self._key = key
        self._anchor = None if anchor is None else Anchor(anchor)
        wanted = {
            "epsilon": None if epsilon is None else read_amount(epsilon, "epsilon"),
            "delta": None if delta is None else read_delta(delta),
        }
        limits = {
            str(name): read_amount(amount, f"the epsilon of analyst {name!r}")
            for name, amount in (analysts or {}).items()
        }
        if self.path != MEMORY:
            refuse_network(self.path)
        self._store = Store(self.path, timeout)
        if not self._store.exists():
            if wanted["epsilon"] is None:
                raise LedgerError(
                    f"there is no ledger {self.path!r}. Say how much it may spend to "
                    "make one: Ledger(path, epsilon=3)."
                )
            meta = {
                "version": VERSION,
                "id": secrets.token_hex(8),
                "population": population or "",
                "epsilon": str(wanted["epsilon"]),
                "delta": str(wanted["delta"] or 0),
                "analysts": _dump({n: str(a) for n, a in limits.items()}),
            }
            self._store.create(lambda db: _fill(db, meta))
        self._read_meta()
        self._check_wanted(wanted, population, limits)
        self.verify()

    def _read_meta(self) -> None:
        with self._store.reading() as db:
            meta = dict(db.execute("SELECT name, value FROM meta"))
        if meta.get("version") != VERSION:
            raise LedgerError(
                f"{self.path!r} was written by another version of discreto (format "
                f"{meta.get('version')}; this one reads format {VERSION})."
            )
        self.id, self.population = meta["id"], meta["population"]
        self.delta = Fraction(meta["delta"])
        self._meta = meta

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
        if cost.infinite:
            raise UnsafeError(
                f"{label!r} is not private: no noise covers it. Only a simulation "
                "ledger (discreto.testing.simulate) records such things."
            )
        if not cost or min(cost.parts()) < 0:
            raise ParameterError(f"the cost of {label!r} must be above 0. Got {cost}.")
        content = {
            "label": str(label)[:200],
            "cost": cost.to_dict(),
            "analyst": analyst,
            "event": dict(event or {}),
        }
        with self._store.writing() as db:
            if key is not None and (old := _earlier(db, key, content)):
                return old
            for name in dict.fromkeys((analyst, POPULATION)):
                self._spend(db, name, cost, label)
            seq, link = self._append(db, content, key)
        if self._anchor:
            self._anchor.write(self.id, seq, link)
        return Receipt(seq, str(content["label"]), cost, link)

    def _append(
        self, db: sqlite3.Connection, content: Mapping[str, Any], key: str | None
    ) -> tuple[int, str]:
        last = db.execute("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1")
        seq, before = last.fetchone() or (0, self._first_link())
        # The time is for people to read; the order of entries is ``seq``.
        body = _dump({"seq": seq + 1, "time": round(time.time(), 3), **content})
        link = self._link(before, body, key)
        row = (seq + 1, body, key, link)
        db.execute("INSERT INTO entry VALUES(?, ?, ?, ?)", row)
        return seq + 1, link

    def _spend(self, db: sqlite3.Connection, name: str, cost: Cost, label: str) -> None:
        limit, spent = self._account(name, db)
        after = spent + cost
        if after.total(self.delta) > limit:
            raise BudgetError(self._refusal(name, limit, spent, cost, label))
        update = "UPDATE account SET spent = ? WHERE name = ?"
        db.execute(update, (_dump(after.to_dict()), name))

    def _refusal(
        self, name: str, limit: Fraction, spent: Cost, cost: Cost, label: str
    ) -> str:
        if cost.delta + spent.delta > self.delta or (cost.rho and not self.delta):
            return (
                f"{label!r} costs {cost}, which needs a delta, but this ledger has "
                f"delta {show(self.delta)}. Ask with delta=0, or use a ledger that was "
                "made with a delta."
            )
        left = max(0.0, float(limit) - float(spent.total(self.delta)))
        whose = f" for analyst {name!r}" if name else ""
        advice = f"Ask with epsilon <= {show(left)}." if left else "Nothing is left."
        return (
            f"{label!r} costs {cost}, but ε {show(left)} of {show(limit)} is left"
            f"{whose}. {advice}"
        )

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge; the first one stored is the answer for good."""
        with self._store.writing() as db:
            row = (receipt.seq, answer)
            db.execute("INSERT OR IGNORE INTO answer VALUES(?, ?)", row)
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
        limit = str(read_amount(epsilon, "epsilon"))
        content = {
            "label": f"allow {analyst or 'the population'} ε {show(Fraction(limit))}",
            "cost": {},
            "analyst": str(analyst),
            "event": {"allow": limit},
        }
        with self._store.writing() as db:
            db.execute(
                "INSERT INTO account VALUES(?, ?, '{}') ON CONFLICT(name) DO UPDATE "
                "SET epsilon = excluded.epsilon",
                (str(analyst), limit),
            )
            seq, link = self._append(db, content, None)
        if self._anchor:
            self._anchor.write(self.id, seq, link)

    def analyst(self, name: str) -> AnalystLedger:
        """This ledger as one analyst may use it."""
        return AnalystLedger(self, name)

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

    def spent(self, analyst: str = POPULATION) -> Cost:
        """What has been charged so far."""
        return self._account(analyst)[1]

    def total(self, analyst: str = POPULATION) -> float:
        """The epsilon spent so far, at this ledger's delta."""
        return float(self.spent(analyst).total(self.delta))

    def remaining(self, analyst: str = POPULATION) -> float:
        """The epsilon that is left."""
        limit, spent = self._account(analyst)
        return max(0.0, float(limit) - float(spent.total(self.delta)))

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
            if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                raise LedgerError(f"{self.path!r} is damaged: restore it.")
            query = "SELECT seq, body, key, hash FROM entry ORDER BY seq"
            rows = db.execute(query).fetchall()
            accounts = db.execute("SELECT name, epsilon, spent FROM account").fetchall()
        limits = {POPULATION: self._meta["epsilon"]}
        limits |= json.loads(self._meta["analysts"])
        sums: dict[str, Cost] = {}
        before = self._first_link()
        for place, (seq, body, key, link) in enumerate(rows, start=1):
            if seq != place or not hmac.compare_digest(
                link, self._link(before, body, key)
            ):
                raise LedgerError(
                    f"entry {place} does not follow from entry {place - 1}: this "
                    "ledger file was changed by hand, or the key is another one."
                )
            entry, before = json.loads(body), link
            if "allow" in entry["event"]:
                limits[entry["analyst"]] = entry["event"]["allow"]
                continue
            for name in dict.fromkeys((entry["analyst"], POPULATION)):
                sums[name] = sums.get(name, Cost()) + Cost.from_dict(entry["cost"])
        stored = {name: (limit, text) for name, limit, text in accounts}
        expected = {
            name: (limit, _dump(sums.get(name, Cost()).to_dict()))
            for name, limit in limits.items()
        }
        if stored != expected:
            raise LedgerError(
                "the budgets or totals do not follow from the entries: this ledger "
                "file was changed by hand."
            )
        if self._anchor:
            self._anchor.check(lines, self.id, {row[0]: row[3] for row in rows})
        return len(rows)

    def _first_link(self) -> str:
        return self._link("discreto ledger", _dump(self._meta), None)

    def _link(self, before: str, body: str, key: str | None) -> str:
        text = _dump([before, body, key]).encode()
        if self._key:
            return hmac.new(self._key, text, "sha256").hexdigest()
        return hashlib.sha256(text).hexdigest()

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
        anchor = self._anchor.path if self._anchor else None
        return _reopen, (self.path, anchor, self._key)

    def __str__(self) -> str:
        count = self.verify()
        at = f" (δ {show(self.delta)})" if self.delta else ""
        return (
            f"ε {show(self.total())} of {show(self.epsilon)}{at}, {count} "
            f"{'entry' if count == 1 else 'entries'}, chain intact"
        )

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"


class AnalystLedger:
    """A ledger as one analyst sees it: every charge falls on both budgets."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.ledger, self.name = ledger, name
        ledger.spent(name)

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
    ) -> Receipt:
        """Charge the analyst and the population."""
        return self.ledger.charge(cost, label, event, key, analyst=self.name)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge."""
        return self.ledger.keep(receipt, answer)

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once."""
        return Reservation(self, self.charge(cost, label, event))

    def remaining(self) -> float:
        """What this analyst may still spend."""
        return min(self.ledger.remaining(self.name), self.ledger.remaining())


def _fill(db: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    db.executemany("INSERT INTO meta VALUES(?, ?)", meta.items())
    limits = {POPULATION: meta["epsilon"]} | json.loads(meta["analysts"])
    db.executemany("INSERT INTO account VALUES(?, ?, '{}')", limits.items())


def _earlier(
    db: sqlite3.Connection, key: str, content: Mapping[str, Any]
) -> Receipt | None:
    row = db.execute(
        "SELECT seq, entry.body, hash, answer.body FROM entry "
        "LEFT JOIN answer USING (seq) WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    seq, body, link, answer = row
    old = json.loads(body)
    if any(_dump(old[name]) != _dump(part) for name, part in content.items()):
        raise LedgerError(
            f"the key {key!r} belongs to another question. Use a new one."
        )
    return Receipt(seq, old["label"], Cost.from_dict(old["cost"]), link, answer=answer)


def _reopen(path: str, anchor: Path | None, key: bytes | None) -> Ledger:
    return Ledger(path, anchor=anchor, key=key)


def _dump(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
