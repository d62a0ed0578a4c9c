"""The chain of hashes through a ledger: everything in it must follow."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.budget import Budget
from discreto.core.cost import Cost
from discreto.errors import LedgerError, ParameterError

POPULATION = ""  # the account that every charge falls on


@dataclass(frozen=True, slots=True)
class History:
    """All that a ledger file holds, as it was read."""

    meta: Mapping[str, str]
    entries: list[tuple[int, str, str | None, str]]  # seq, body, key, hash
    accounts: list[tuple[str, str, str]]  # name, limit, spent
    answers: list[tuple[int, str, str]]  # seq, body, hash


@dataclass(frozen=True, slots=True)
class Checked:
    """A history that follows: its links by number, and totals to be brought up."""

    links: dict[int, str]
    stale: dict[str, str]


class Chain:
    """Hashes that follow from each other, under a secret key if there is one."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and (not isinstance(key, bytes) or not key):
            raise ParameterError("the key of a ledger must be bytes, at least one.")
        self.key = key

    def link(self, before: str, body: str, key: str | None) -> str:
        """The hash of an entry that follows ``before``."""
        return self._hash([before, body, key])

    def seal(self, meta: Mapping[str, str]) -> str:
        """The hash of a ledger's fixed facts, which the first entry follows."""
        facts = {name: value for name, value in meta.items() if name != "seal"}
        return self._hash(["discreto ledger", facts])

    def answer(self, link: str, body: str) -> str:
        """The hash of the answer to the entry with this link."""
        return self._hash(["answer", link, body])

    def _hash(self, parts: list[Any]) -> str:
        text = dump(parts).encode()
        if self.key:
            return hmac.new(self.key, text, "sha256").hexdigest()
        return hashlib.sha256(text).hexdigest()

    def check(self, history: History) -> Checked:
        """Refuse a history that does not follow."""
        before = self.seal(history.meta)
        if history.meta.get("seal") != before:
            raise LedgerError(
                "the budget in this ledger file was changed by hand, or the key is "
                "another one."
            )
        limits = {POPULATION: history.meta["epsilon"]}
        limits |= json.loads(history.meta["analysts"])
        sums: dict[str, Cost] = {}
        spent: dict[str, Cost] = {}
        for place, (seq, body, key, link) in enumerate(history.entries, start=1):
            if seq != place or link != self.link(before, body, key):
                raise LedgerError(
                    f"entry {place} does not follow from entry {place - 1}: this "
                    "ledger file was changed by hand, or the key is another one."
                )
            entry, before = json.loads(body), link
            if "allow" in entry:
                limits[entry["analyst"]] = entry["allow"]
                continue
            cost = Cost.from_dict(entry["cost"])
            for name in payers(entry["analyst"], entry.get("accounts", ())):
                budget = budget_of(history.meta, name, Fraction(limits[name]))
                spent[name] = budget.after(spent.get(name, Cost()), cost)
                sums[name] = sums.get(name, Cost()) + cost
        found = {name: tuple(rest) for name, *rest in history.accounts}
        expected = _rows(limits, spent)
        # Version 1 added everything up; such totals are brought up to date when read.
        if found != expected and (history.meta["version"], found) != (
            "1",
            _rows(limits, sums),
        ):
            raise LedgerError(
                "the budgets or totals do not follow from the entries: this ledger "
                "file was changed by hand."
            )
        links = {seq: link for seq, _, _, link in history.entries}
        for seq, body, link in history.answers:
            if seq not in links or link != self.answer(links[seq], body):
                raise LedgerError(f"the answer stored for entry {seq} was changed.")
        stale = {} if found == expected else {n: s for n, (_, s) in expected.items()}
        return Checked(links, stale)


def payers(analyst: str, accounts: Iterable[str]) -> dict[str, None]:
    """The accounts that a charge falls on, each once."""
    return dict.fromkeys((analyst, *accounts, POPULATION))


def budget_of(meta: Mapping[str, str], name: str, limit: Fraction) -> Budget:
    """The budget of an account. Only the population's can have parts set aside."""
    delta = Fraction(meta["delta"])
    if name != POPULATION or "pure" not in meta:
        return Budget(limit, delta)
    return Budget(limit, delta, Fraction(meta["pure"]), Fraction(meta["block_delta"]))


def _rows(
    limits: Mapping[str, str], spent: Mapping[str, Cost]
) -> dict[str, tuple[str, str]]:
    return {
        name: (limit, dump(spent.get(name, Cost()).to_dict()))
        for name, limit in limits.items()
    }


def dump(data: Any) -> str:
    """JSON in one fixed form, plain ASCII so that any text can be hashed and stored."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
