"""What one transaction knows of a ledger: read at its beginning, written at its end.

Whatever can refuse a charge does so before the page is changed, so that a transaction
of several charges writes those that were made and nothing of those that were not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain as joined
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Budget, Cost
from discreto.core.ledger import attempts
from discreto.core.ledger import entries as rows
from discreto.core.ledger import faults as failures
from discreto.core.ledger.chain import POPULATION, Chain, dump
from discreto.core.ledger.checks import refusal
from discreto.core.ledger.database import Database
from discreto.core.ledger.totals import EVERY, totals_entry
from discreto.errors import BudgetError, LedgerError

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be read for a job: keys, names of budgets, numbers of entries."""

    keys: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    entries: tuple[int, ...] = ()


class LedgerPage:
    """The end of a ledger inside a transaction that no other writer interleaves with.

    Parameters
    ----------
    db
        The transaction.
    chain, meta, path
        The ledger's hashes, its fixed facts, and its name in messages.
    needs
        What the jobs of this transaction will look at.
    unused
        Hashes of entries that were paid for and under which nothing was read: their
        commit was cut, and the caller never had a receipt.
    """

    def __init__(
        self,
        db: Database,
        chain: Chain,
        meta: Mapping[str, str],
        path: str,
        needs: Iterable[Needs] = (),
        unused: set[str] | None = None,
    ) -> None:
        self._unused = set() if unused is None else unused
        self._db, self._chain, self._meta, self._path = db, chain, meta, path
        rows.check_same(db, meta, path)
        wanted = tuple(needs)
        last = rows.last_entry(db)
        self.last = (0, meta["seal"]) if last is None else last[:2]
        body = None if last is None else last[2]
        self._texts = rows.read_accounts(db)
        rows.check_totals(db, chain, body, self._texts, path)
        self._shut = failures.is_shut(db)
        keys = joined.from_iterable([need.keys for need in wanted])
        self._found = rows.under_keys(db, keys)
        names = joined.from_iterable([need.accounts for need in wanted])
        self._accounts = self._read(names)
        numbers = joined.from_iterable([need.entries for need in wanted])
        self._paid = rows.paid_entries(db, numbers)
        self._entries: list[tuple[int, str, str | None, str]] = []
        self._changed: dict[str, Cost] = {}
        self._answers: list[tuple[int, str, str]] = []
        self.links: dict[int, str] = {}  # new entries
        self.used: set[str] = set()  # of those that were unused
        self.trace: tuple[str, int, str] | None = None  # the table and row of a change

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
        """The receipt of a charge: of the one made under ``key`` before, or a new one.

        A charge that was made before and has no answer is paid for once more, unless
        it pays for ``numbered`` steps. Nothing is changed when it is refused.
        """
        found = None if key is None else self._found.get(key)
        receipt = None
        if found is not None:
            receipt = rows.earlier(found, self._chain, str(key), content)
            if receipt.answer is None:  # it may have been stored in this transaction
                self.write()
                found = rows.under_keys(self._db, (str(key),))[str(key)]
                receipt = rows.earlier(found, self._chain, str(key), content)
        if self._shut and (receipt is None or receipt.answer is None):
            raise failures.shut_error(self._path)
        if receipt is not None:
            if receipt.answer is not None or numbered or not cost:
                return receipt
            return self._attempt(receipt, content, cost, names)
        self._pay(cost, content["label"], names)
        seq, link = self.append(content, key)
        return Receipt(seq, content["label"], cost, link)

    def _attempt(
        self, first: Receipt, content: Content, cost: Cost, names: Iterable[str]
    ) -> Receipt:
        """Pay for another attempt at an entry that has no answer."""
        count, last, link = attempts.latest(self._db, first)
        if link in self._unused and link not in self.used:
            self.used.add(link)
            return replace(first, attempt=last)
        free = attempts.read_nothing(self._db, last)
        if not free:
            self._pay(cost, content["label"], names)
        entry = attempts.attempt_entry(dict(content), first.seq, count + 1, free=free)
        seq, _ = self.append(*entry)
        return replace(first, attempt=seq)

    def _pay(self, cost: Cost, label: str, names: Iterable[str]) -> None:
        after = {name: self._after(name, cost, label) for name in dict.fromkeys(names)}
        for name, spent in after.items():
            self._accounts[name] = (self._accounts[name][0], spent)
            self._texts[name] = (self._texts[name][0], dump(spent.to_dict()))
        self._changed |= after

    def _after(self, name: str, cost: Cost, label: str) -> Cost:
        """What an account has spent with this charge, if it fits."""
        budget, spent = self._account(name)
        after = budget.charge(spent, cost)
        if after is None and cost:
            raise BudgetError(refusal(label, cost, spent, budget, name))
        return spent if after is None else after

    def _read(self, names: Iterable[str]) -> dict[str, tuple[Budget, Cost]]:
        """Return the budgets that there are among these, and what was spent of them."""
        return {
            name: rows.account_of(self._meta, name, *self._texts[name])
            for name in names
            if name in self._texts
        }

    def _account(self, name: str) -> tuple[Budget, Cost]:
        found = self._accounts.get(name)
        if found is None:
            raise rows.no_account(name, self._path)
        return found

    def append(self, content: Content, key: str | None = None) -> tuple[int, str]:
        """Add an entry after the last one; its number and hash."""
        seq, link = self._write(content, key)
        if seq % EVERY == EVERY - 1:
            self.write()
            self._write(*totals_entry(self._db, seq))
        return seq, link

    def _write(self, content: Content, key: str | None) -> tuple[int, str]:
        total = json.loads(self._texts[POPULATION][1])
        state = {"total": total, "state": self._chain.state(self._texts)}
        row = rows.next_entry(self._chain, self.last, {**content, **state}, key)
        self._entries.append(row)
        seq, body, _, link = row
        self.last = (seq, link)
        self.links[seq] = link
        if key is not None:
            self._found[key] = (seq, body, link, None, "")
        return seq, link

    # Answers

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge, unless there is one; the one that stays."""
        link, stored = self._paid.get(receipt.seq, (None, None))
        if link != receipt.hash:
            raise LedgerError(
                f"entry {receipt.seq} of {self._path!r} is not this receipt's, or "
                "has no key: its answer cannot be stored."
            )
        if stored is not None:
            return stored
        seal = self._chain.answer(receipt.hash, answer)
        self._answers.append((receipt.seq, answer, seal))
        self._paid[receipt.seq] = (link, answer)
        return answer

    # The ledger's own entries

    def own(self, entry: failures.OwnEntry, text: str) -> Receipt | None:
        """Add an entry that the ledger makes itself, from what the database says."""
        self.write()
        content, key = entry(self._db, text)
        if content is None:
            return None
        self._texts = rows.read_accounts(self._db)
        seq, link = self.append(content, key)
        self.write()
        self._accounts = self._read((*self._accounts, content["analyst"]))
        self._shut = failures.is_shut(self._db)
        return Receipt(seq, content["label"], Cost(), link)

    def write(self) -> None:
        """Write what was changed, in the order in which it happened."""
        many = self._db.executemany
        if self._changed:
            totals = [(self._texts[name][1], name) for name in self._changed]
            many("UPDATE account SET spent = ? WHERE name = ?", totals)
        if self._entries:
            many("INSERT INTO entry VALUES(?, ?, ?, ?)", self._entries)
            self.trace = ("entry", *self.last)
        if self._answers:
            many("INSERT INTO answer VALUES(?, ?, ?)", self._answers)
            seq, _, seal = self._answers[-1]
            self.trace = self.trace or ("answer", seq, seal)
        self._entries, self._changed, self._answers = [], {}, []
