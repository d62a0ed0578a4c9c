"""The accounts of a ledger: limits, totals, and the rule by which charges add up.

Every ``EVERY`` entries the ledger adds one with the limits and totals so far. Opening
a long ledger starts from the last of them; ``verify`` starts from the beginning, and
finds totals that do not follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreto.core.charge import Event, Receipt, Reservation, Simulation
from discreto.core.cost import Budget, Cost
from discreto.errors import LedgerError
from discreto.text import ledger_messages as say
from discreto.text.ledger_figures import AnalystFigures

if TYPE_CHECKING:
    from discreto.core.ledger.ledger import Ledger

POPULATION = ""  # the account that every charge falls on
EVERY = 1024
LARGEST = 10**6  # no budget is larger, so no charge needs to be
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

Written = tuple[tuple[str, str | bool], ...]  # a cost, as an entry has it
Rows = dict[str, tuple[str, str]]  # the limit and the total of each account, as texts


def dump(data: Any) -> str:
    """Return JSON in one fixed form, plain ASCII so that any text can be hashed."""
    return _encode(data)


def payers(analyst: str, accounts: Iterable[str]) -> dict[str, None]:
    """Return the accounts that a charge falls on, each once."""
    return dict.fromkeys((analyst, *accounts, POPULATION))


def budget_of(meta: Mapping[str, str], name: str, limit: str) -> Budget:
    """Return the budget of an account. Only the population's has parts set aside."""
    if name != POPULATION or "pure" not in meta:
        return _budget(limit, meta["delta"])
    return _budget(limit, meta["delta"], meta["pure"], meta["block_delta"])


@lru_cache(maxsize=1024)
def _budget(limit: str, *parts: str) -> Budget:
    return Budget(Fraction(limit), *map(Fraction, parts))


def account_of(
    meta: Mapping[str, str], name: str, limit: str, spent: str
) -> tuple[Budget, Cost]:
    """Return a budget and its total from their texts."""
    try:
        return budget_of(meta, name, limit), Cost.from_dict(json.loads(spent))
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        raise LedgerError(
            say.DAMAGED_ACCOUNT.format(name=name or "the population")
        ) from None


def no_account(name: str, path: str) -> LedgerError:
    """Return the error for a budget that was never set."""
    return LedgerError(say.NO_ACCOUNT.format(name=name, path=path))


# Adding up


@lru_cache(maxsize=1024)
def read_cost(written: Written) -> Cost:
    """Return a cost from its form in entries; most of them have been read before."""
    return Cost.from_dict(dict(written))


class Totals:
    """Limits and totals of all accounts, brought up entry by entry."""

    def __init__(self, meta: Mapping[str, str], start: Rows) -> None:
        self._meta, self._rows = meta, dict(start)
        self._parsed: dict[str, tuple[Budget, Cost]] = {}  # accounts with new totals

    def add(self, entry: Mapping[str, Any]) -> bool:
        """Add one entry; return False if it carries totals that do not follow."""
        name = entry["analyst"]
        if "totals" in entry:
            said = {name: tuple(rest) for name, rest in entry["totals"].items()}
            return said == self.rows()
        if "allow" in entry:
            _, text = self.rows().get(name, ("", "{}"))
            self._rows[name] = (entry["allow"], text)
            return True
        cost = read_cost(tuple(entry["cost"].items()))
        # Version 3 carries the total of the population, version 4 those of all payers.
        carried = entry.get("spent", {}) | {POPULATION: entry.get("total")}
        follows = True
        for payer in payers(name, entry.get("accounts", ())):
            budget, spent = self._account(payer)
            after = budget.after(spent, cost) if cost else spent
            self._parsed[payer] = (budget, after)
            follows &= carried.get(payer) in (None, after.to_dict())
        return follows

    def _account(self, name: str) -> tuple[Budget, Cost]:
        found = self._parsed.get(name)
        return found or account_of(self._meta, name, *self._rows[name])

    def rows(self) -> Rows:
        """Return the limit and total of each account, as the ledger stores them."""
        for name, (_, spent) in self._parsed.items():
            self._rows[name] = (self._rows[name][0], dump(spent.to_dict()))
        self._parsed = {}
        return dict(self._rows)


def plain_sums(rows: Rows, bodies: list[dict[str, Any]]) -> Rows:
    """Return the same limits with everything added up, as version 1 did."""
    sums: dict[str, Cost] = {}
    for entry in bodies:
        if "allow" not in entry and "totals" not in entry:
            cost = read_cost(tuple(entry["cost"].items()))
            for name in {entry["analyst"], POPULATION}:
                sums[name] = sums.get(name, Cost()) + cost
    return {
        name: (limit, dump(sums.get(name, Cost()).to_dict()))
        for name, (limit, _) in rows.items()
    }


class AnalystLedger(AnalystFigures):
    """A ledger as one analyst sees it: every charge falls on all of their budgets."""

    def __init__(
        self, ledger: Ledger, name: str, accounts: tuple[str, ...] = ()
    ) -> None:
        self.ledger, self.name, self.accounts = ledger, name, accounts
        ledger._check_accounts(name, *accounts)

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
        *,
        numbered: bool = False,
    ) -> Receipt:
        """Charge the analyst and the population."""
        return self.ledger.charge(
            cost, label, event, key, self.name, self.accounts, numbered=numbered
        )

    def note(self, label: str, event: Event, key: str) -> Receipt:
        """Commit an entry that costs nothing, in this analyst's name."""
        return self.ledger.note(label, event, key, analyst=self.name)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge."""
        return self.ledger.keep(receipt, answer)

    def unread(self, receipt: Receipt) -> None:
        """Note that no row was read for a charge."""
        self.ledger.unread(receipt)

    def fault(self, label: str) -> None:
        """Shut the ledger: an answer could not be computed."""
        self.ledger.fault(label)

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once."""
        return Reservation(self, self.charge(cost, label, event))
