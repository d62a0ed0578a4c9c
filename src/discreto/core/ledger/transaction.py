"""One transaction of a ledger: loaded at its beginning, written at its end.

Everything that can refuse a charge does so before the transaction is changed. So a
transaction of several charges writes those that were made and nothing of the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING, Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.ledger import entries as rows
from discreto.core.ledger.accounts import (
    EVERY,
    LARGEST,
    POPULATION,
    account_of,
    dump,
    no_account,
)
from discreto.core.ledger.chain import Chain
from discreto.core.ledger.database import Database
from discreto.errors import (
    BudgetError,
    KernelFault,
    LedgerError,
    ParameterError,
    UnsafeError,
)
from discreto.text import ledger_messages as say
from discreto.text.budget_refusals import refusal

if TYPE_CHECKING:
    from discreto.core.ledger.postgres import PostgresStore
    from discreto.core.ledger.sqlite import SqliteStore

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """The parts of an open ledger that do not change."""

    chain: Chain
    meta: Mapping[str, str]
    path: str
    store: SqliteStore | PostgresStore


class LedgerTransaction:
    """The end of a ledger while no other writer interleaves.

    Parameters
    ----------
    db
        The transaction of the database.
    facts
        The parts of the ledger that do not change.
    known
        The end of the ledger when this process saw it last.
    keys, numbers
        Keys and numbers of the entries that the jobs of this transaction look at.
    unused
        Hashes of entries that were paid for and under which nothing was read: their
        commit was cut, and the caller never had a receipt.
    """

    def __init__(
        self,
        db: Database,
        facts: LedgerFacts,
        known: rows.Known,
        keys: Iterable[str] = (),
        numbers: Iterable[int] = (),
        unused: set[str] | None = None,
    ) -> None:
        self._db, self._facts = db, facts
        self._unused = set() if unused is None else unused
        version = facts.store.version(db)
        if version is None or version != known.version:
            known = rows.brought_up(db, facts.chain, facts.meta, known, facts.path)
        self.version = version
        self.last, self.shut = (known.seq, known.link), known.shut
        self.rows, self.digest = dict(known.rows), known.digest
        self._found = rows.under_keys(db, keys)
        self._paid = rows.paid_entries(db, numbers)
        self._entries: list[tuple[int, str, str | None, str]] = []
        self._changed: dict[str, None] = {}  # accounts
        self._answers: list[tuple[int, str, str]] = []
        self.links: dict[int, str] = {}  # new entries
        self.used: set[str] = set()  # of those that were unused
        self.trace: tuple[str, int, str] | None = None  # the table and row of a change

    def end(self) -> rows.Known:
        """Return the end of the ledger after this transaction."""
        return rows.Known(*self.last, self.rows, self.digest, self.shut, self.version)

    # Charges

    def enter(
        self,
        content: Content,
        key: str | None,
        cost: Cost,
        names: Iterable[str],
        *,
        numbered: bool = False,
    ) -> Receipt:
        """Return the receipt of the charge made under ``key`` before, or of a new one.

        A charge that was made before and has no answer is paid for once more, unless
        it pays for ``numbered`` steps. Nothing is changed when it is refused.
        """
        receipt = None if key is None else self._earlier(key, content)
        if self.shut and (receipt is None or receipt.answer is None):
            raise KernelFault(say.SHUT.format(path=self._facts.path))
        if receipt is not None:
            if receipt.answer is not None or numbered or not cost:
                return receipt
            return self._attempt(receipt, content, cost, names)
        spent = self._pay(cost, content["label"], names)
        seq, link = self._append(content, key, spent)
        return Receipt(seq, content["label"], cost, link)

    def _earlier(self, key: str, content: Content) -> Receipt | None:
        """Return the receipt of the charge that was made under ``key``, if any."""
        found = self._found.get(key)
        changed = self._entries or self._answers or self.trace
        if found is not None and found[3] is None and changed:
            self.write()  # its answer may have been stored in this transaction
            found = rows.under_keys(self._db, (key,))[key]
        if found is None:
            return None
        seq, body, link, answer, seal = found
        entry = rows.same_content(body, key, content)
        text = read_answer(self._db, self._facts, seq, link, answer, seal)
        cost = Cost.from_dict(entry["cost"])
        return Receipt(seq, entry["label"], cost, link, answer=text, again=True)

    def _attempt(
        self, first: Receipt, content: Content, cost: Cost, names: Iterable[str]
    ) -> Receipt:
        """Pay for another attempt at an entry that has no answer."""
        count, last, link = rows.latest_attempt(self._db, first)
        if link in self._unused and link not in self.used:
            self.used.add(link)
            return replace(first, attempt=last)
        free = rows.has_key(self._db, f"{rows.UNREAD}{last}")
        spent = {} if free else self._pay(cost, content["label"], names)
        entry = rows.attempt_entry(content, first.seq, count + 1, free=free)
        seq, _ = self._append(*entry, spent)
        return replace(first, attempt=seq)

    def _pay(self, cost: Cost, label: str, names: Iterable[str]) -> dict[str, Any]:
        """Add a cost to accounts, all or none; return the new totals."""
        after = {name: self._after(name, cost, label) for name in dict.fromkeys(names)}
        spent = {name: total.to_dict() for name, total in after.items()} if cost else {}
        for name, total in spent.items():
            self._set(name, self.rows[name][0], dump(total))
        return spent

    def _set(self, name: str, limit: str, spent: str) -> None:
        """Set the limit and total of an account."""
        old, new = self.rows.get(name), (limit, spent)
        self.digest = self._facts.chain.moved(self.digest, name, old, new)
        self.rows[name] = new
        self._changed[name] = None

    def _after(self, name: str, cost: Cost, label: str) -> Cost:
        """Return the total of an account with this charge, if it fits."""
        budget, spent = self._account(name)
        after = budget.charge(spent, cost)
        if after is None and cost:
            raise BudgetError(refusal(label, cost, spent, budget, name))
        return spent if after is None else after

    def _account(self, name: str) -> tuple[Any, Cost]:
        if name not in self.rows:
            raise no_account(name, self._facts.path)
        return account_of(self._facts.meta, name, *self.rows[name])

    def _append(
        self, content: Content, key: str | None, spent: Mapping[str, Any] | None = None
    ) -> tuple[int, str]:
        """Add an entry after the last one; return its number and hash."""
        seq, link = self._add(content, key, dict(spent or {}))
        if seq % EVERY == EVERY - 1:
            self._add(*rows.totals_entry(self.rows, seq), {})
        return seq, link

    def _add(
        self, content: Content, key: str | None, spent: dict[str, Any]
    ) -> tuple[int, str]:
        # Each entry carries the totals of the population and of the accounts that it
        # changes, and the digest of all accounts.
        total = spent.pop(POPULATION, None) or json.loads(self.rows[POPULATION][1])
        carried = {"total": total, "digest": f"{self.digest:064x}"}
        carried |= {"spent": spent} if spent else {}
        row = rows.next_entry(self._facts.chain, self.last, {**content, **carried}, key)
        self._entries.append(row)
        seq, body, _, link = row
        self.last = (seq, link)
        self.links[seq] = link
        if key is not None:
            self._found[key] = (seq, body, link, None, "")
        return seq, link

    # Answers

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge, unless there is one; return the stored one."""
        link, stored, seal = self._paid.get(receipt.seq, (None, None, ""))
        if link != receipt.hash:
            raise LedgerError(
                say.NO_ANSWER_THERE.format(seq=receipt.seq, path=self._facts.path)
            )
        if stored is not None:
            text = read_answer(self._db, self._facts, receipt.seq, link, stored, seal)
            return str(text)
        body, seal = answer, self._facts.chain.answer(link, answer)
        most = self._facts.store.large
        if most is not None and len(answer.encode()) > most:
            body = large_name(answer)
            seal = self._facts.chain.large_answer(link, body)
            # First the text, then its row: a row always has its text.
            self._facts.store.put_large(self._db, body, answer)
        self._answers.append((receipt.seq, body, seal))
        self._paid[receipt.seq] = (link, body, seal)
        return answer

    # The ledger's own entries

    def fault(self, label: str) -> None:
        """Shut the ledger."""
        self.write()
        number = rows.count_faults(self._db) + 1
        content = rows.own_entry(f"shut: no answer to {label!r}")
        self._append(content, f"{rows.FAULT}{number}")
        self.shut = True

    def reopen(self, comment: str) -> None:
        """Reopen the ledger if it is shut."""
        self.write()
        if self.shut:
            number = rows.count_faults(self._db)
            content = rows.own_entry(f"reopened: {comment}")
            self._append(content, f"{rows.REOPENED}{number}")
            self.shut = False

    def allow(self, analyst: str, limit: str, label: str) -> None:
        """Set the limit of an account, which may be new."""
        _, spent = self.rows.get(analyst, ("", "{}"))
        self._set(analyst, limit, spent)
        self._append(rows.own_entry(label, analyst) | {"allow": limit}, None)

    def unread(self, receipt: Receipt) -> None:
        """Note that an attempt has read nothing, unless that was noted before.

        Raises
        ------
        LedgerError
            The receipt is not of this ledger.
        """
        self.write()
        if rows.hash_of(self._db, receipt.seq) != receipt.hash:
            raise LedgerError(
                say.OTHER_RECEIPT.format(seq=receipt.seq, path=self._facts.path)
            )
        attempt = receipt.attempt or receipt.seq
        key = f"{rows.UNREAD}{attempt}"
        if not rows.has_key(self._db, key):
            label = f"nothing was read for entry {attempt}: asking again costs nothing"
            self._append(rows.own_entry(f"{label} more"), key)

    def write(self) -> None:
        """Write the changes, in the order in which they happened."""
        many = self._db.executemany
        if self._changed:
            totals = [(name, *self.rows[name]) for name in self._changed]
            many(
                "INSERT INTO account VALUES(?, ?, ?) ON CONFLICT(name) DO UPDATE "
                "SET epsilon = excluded.epsilon, spent = excluded.spent",
                totals,
            )
        if self._entries:
            many("INSERT INTO entry VALUES(?, ?, ?, ?)", self._entries)
            self.trace = ("entry", *self.last)
        if self._answers:
            many("INSERT INTO answer VALUES(?, ?, ?)", self._answers)
            seq, _, seal = self._answers[-1]
            self.trace = self.trace or ("answer", seq, seal)
        self._entries, self._changed, self._answers = [], {}, []


def read_answer(
    db: Database, facts: LedgerFacts, seq: int, link: str, body: str | None, seal: str
) -> str | None:
    """Return the stored answer of an entry, checked against its hash.

    Opening a long ledger checks its last entries only, so an old answer is checked
    when it is given.
    """
    if body is None or seal == facts.chain.answer(link, body):
        return body
    if seal != facts.chain.large_answer(link, body):
        raise LedgerError(f"the answer stored for entry {seq} was changed.")
    return read_large(db, facts, seq, body)


def large_name(text: str) -> str:
    """Return the name of a large answer: the hash of its text."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_large(db: Database, facts: LedgerFacts, seq: int, name: str) -> str:
    """Return a large answer, or refuse one that is missing or was changed."""
    text = facts.store.get_large(db, name)
    if text is None or large_name(text) != name:
        what = "is missing" if text is None else "was changed"
        raise LedgerError(
            say.LARGE_LOST.format(seq=seq, place=facts.store.place(name), what=what)
        )
    return text


# Checks of what callers give


def check_name(name: object, what: str) -> str:
    """Return a text that can be stored and found again."""
    good = isinstance(name, str) and 0 < len(name) <= 200
    if not good or not _can_be_stored(str(name)):
        raise ParameterError(f"{what} must be a text of 1 to 200 letters.")
    return str(name)


def check_answer(answer: str) -> str:
    """Return a text that every store can keep."""
    if not isinstance(answer, str) or not _can_be_stored(answer):
        raise ParameterError("an answer to store must be a plain text.")
    return answer


def _can_be_stored(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def check_key(key: str) -> str:
    """Return a key that is not one of the ledger's own."""
    if check_name(key, "a key").startswith(rows.OWN):
        raise ParameterError(f"a key may not begin with {rows.OWN!r}.")
    return key


def check_cost(cost: Cost, label: str) -> Cost:
    """Return a finite cost above 0 in exact numbers, short enough to write down."""
    if cost.infinite:
        raise UnsafeError(say.LEAK.format(label=label))
    parts = cost.parts()
    exact = all(map(isinstance, parts, repeat(int | Fraction)))
    if not exact or min(parts) < 0 or max(parts) > LARGEST:
        raise ParameterError(say.INEXACT_COST.format(label=label, most=LARGEST))
    if not cost:
        raise ParameterError(f"the cost of {label!r} must be above 0. Got {cost}.")
    return Cost() + cost  # adding rounds an endless denominator up


def check_content(content: Content) -> dict[str, Any]:
    """Return the content of an entry as it will be read back."""
    try:
        out: dict[str, Any] = json.loads(dump(content))
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(say.NOT_JSON.format(label=content["label"])) from None
    return out
