"""What the entries of a ledger add up to, and entries that say so.

Every ``EVERY`` entries the ledger adds one with the limits and totals so far. Opening
a long ledger starts from the last of them; ``verify`` starts from the beginning, and
finds out totals that do not follow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreto.core.cost import FINEST_TOTAL, Budget, Cost
from discreto.core.ledger.chain import POPULATION, budget_of, dump, payers
from discreto.core.ledger.checks import OWN
from discreto.core.ledger.database import Database

EVERY = 1024
TOTALS = f"{OWN}totals "

Written = tuple[tuple[str, str | bool], ...]  # a cost, as an entry has it
Rows = dict[str, tuple[str, str]]  # the limit and the total of each account


def totals_entry(db: Database, seq: int) -> tuple[dict[str, Any], str]:
    """The content and key of an entry with the totals after entry ``seq``."""
    rows = db.execute("SELECT name, epsilon, spent FROM account").fetchall()
    totals = {name: list(rest) for name, *rest in rows}
    content = {"label": "totals", "cost": {}, "analyst": POPULATION, "event": {}}
    return content | {"totals": totals}, f"{TOTALS}{seq + 1:018d}"


def last_totals(db: Database) -> int:
    """The number of the last entry with totals; 0 if there is none."""
    query = "SELECT seq FROM entry WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT 1"
    found = db.execute(query, (TOTALS, TOTALS[:-1] + "!")).fetchone()
    return int(found[0]) if found else 0


@dataclass(slots=True)
class Lots:
    """What one budget has spent, added up in whole lots of equal charges.

    Adding fractions one by one is slow, and most charges are equal to others. What a
    charge counts as depends on those before it in two ways only: whether there was a
    Gaussian one, and how much is left of what was set aside (then it is added at once).
    """

    budget: Budget
    spent: Cost = field(default_factory=Cost)
    waiting: dict[Written, int] = field(default_factory=dict)

    def add(self, written: Written) -> None:
        """One more charge."""
        if written in self.waiting:
            self.waiting[written] += 1
            return
        cost = read_cost(written)
        if self.budget.pure is not None or (cost.rho and not self.spent.rho):
            self.settle()
            self.spent = self.budget.after(self.spent, cost)
        else:
            self.waiting[written] = 1

    def settle(self) -> None:
        """Add up what is waiting."""
        several = [
            (self.budget.counted(self.spent, read_cost(written)), number)
            for written, number in self.waiting.items()
        ]
        self.waiting = {}
        parts = [self.spent, *(cost for cost, _ in several)]
        if all(_denominator(column) <= FINEST_TOTAL for column in _columns(parts)):
            for cost, number in several:
                self.spent = self.spent + cost * number
        else:  # totals are rounded up on the way
            raise TooFine


class TooFine(Exception):
    """Charges so fine that their sum depends on their order."""


def _columns(costs: list[Cost]) -> list[tuple[Fraction, ...]]:
    return list(zip(*[cost.parts() for cost in costs], strict=True))


def _denominator(parts: tuple[Fraction, ...]) -> int:
    return math.lcm(*[Fraction(part).denominator for part in parts])


class OneByOne(Lots):
    """The same, added up in the order of the charges."""

    def add(self, written: Written) -> None:
        """One more charge."""
        self.spent = self.budget.after(self.spent, read_cost(written))


class Totals:
    """Limits and totals of all accounts, brought up entry by entry."""

    def __init__(
        self, meta: Mapping[str, str], start: Rows, kind: type[Lots] = Lots
    ) -> None:
        self._meta, self._kind = meta, kind
        self._limits: dict[str, str] = {}
        self._accounts: dict[str, Lots] = {}
        for name, (limit, spent) in start.items():
            self._allow(name, limit)
            self._accounts[name].spent = Cost.from_dict(json.loads(spent))

    def _allow(self, name: str, limit: str) -> None:
        budget = budget_of(self._meta, name, Fraction(limit))
        self._limits[name] = limit
        if name in self._accounts:
            self._accounts[name].budget = budget
        else:
            self._accounts[name] = self._kind(budget)

    def add(self, entry: Mapping[str, Any]) -> bool:
        """One more entry; whether it is true, if it says what the totals are."""
        if "totals" in entry:
            said = {name: tuple(rest) for name, rest in entry["totals"].items()}
            return said == self.rows()
        if "allow" in entry:
            self._allow(entry["analyst"], entry["allow"])
            return True
        written = tuple(entry["cost"].items())
        for name in payers(entry["analyst"], entry.get("accounts", ())):
            self._accounts[name].add(written)
        return True

    def rows(self) -> Rows:
        """The limit and total of each account, as the ledger stores them."""
        for account in self._accounts.values():
            if account.waiting:
                account.settle()
        return {
            name: (limit, dump(self._accounts[name].spent.to_dict()))
            for name, limit in self._limits.items()
        }


@lru_cache(maxsize=1024)
def read_cost(written: Written) -> Cost:
    """A cost as entries write it; most of them have been read before."""
    return Cost.from_dict(dict(written))
