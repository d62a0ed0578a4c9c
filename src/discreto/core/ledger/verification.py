"""Whether a ledger's history follows: hashes, totals, stored answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreto.core.cost import Cost
from discreto.core.ledger.chain import POPULATION, Chain, dump
from discreto.core.ledger.totals import OneByOne, Rows, TooFine, Totals, read_cost
from discreto.errors import LedgerError

Entry = tuple[int, str, str | None, str]  # seq, body, key, hash


@dataclass(frozen=True, slots=True)
class History:
    """What a ledger holds, as it was read: all of it, or what is ``recent``.

    Recent entries begin with the one before an entry that has totals.
    """

    meta: Mapping[str, str]
    entries: list[Entry]
    accounts: list[tuple[str, str, str]]  # name, limit, spent
    answers: list[tuple[int, str, str]]  # seq, body, hash
    recent: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A history that follows: its links by number, and totals to be brought up."""

    links: dict[int, str]
    stale: dict[str, str]


def check_history(chain: Chain, history: History) -> Checked:
    """Refuse a history that does not follow."""
    seal = chain.seal(history.meta)
    if history.meta.get("seal") != seal:
        raise LedgerError(
            "the budget in this ledger file was changed by hand, or the key is "
            "another one."
        )
    bodies = _check_links(chain, history, seal)
    found: Rows = {name: (limit, spent) for name, limit, spent in history.accounts}
    try:
        expected = _add_up(history, bodies, Totals)
    except TooFine:
        expected = _add_up(history, bodies, _careful)
    # Version 1 added everything up; such totals are brought up to date when read.
    old = history.meta["version"] == "1" and not history.recent
    if found != expected and not (old and found == _plain_sums(expected, bodies)):
        raise LedgerError(
            "the budgets or totals do not follow from the entries: this ledger file "
            "was changed by hand."
        )
    links = {seq: link for seq, _, _, link in history.entries}
    said = bodies[-1].get("state") if bodies else None
    if said is not None and said != chain.state(expected):
        raise LedgerError(
            "the last entry carries totals that do not follow from the entries."
        )
    for seq, body, link in history.answers:
        if seq not in links or link != chain.answer(links[seq], body):
            raise LedgerError(f"the answer stored for entry {seq} was changed.")
    stale = {} if found == expected else {n: s for n, (_, s) in expected.items()}
    return Checked(links, stale)


def _check_links(chain: Chain, history: History, seal: str) -> list[dict[str, Any]]:
    """The contents of all entries that follow from the one before."""
    entries, before = history.entries, seal
    if history.recent:
        before, entries = entries[0][3], entries[1:]
    first, bodies = (history.entries[0][0] + 1 if history.recent else 1), []
    for place, (seq, body, key, link) in enumerate(entries, start=first):
        if seq != place or link != chain.link(before, body, key):
            raise LedgerError(
                f"entry {place} does not follow from entry {place - 1}: this "
                "ledger file was changed by hand, or the key is another one."
            )
        before = link
        bodies.append(json.loads(body))
    return bodies


def _start(history: History, bodies: list[dict[str, Any]]) -> Rows:
    """The totals before the first of the entries."""
    if history.recent:
        said = bodies[0]["totals"]
        return {name: (limit, spent) for name, (limit, spent) in said.items()}
    limits = {POPULATION: history.meta["epsilon"]}
    limits |= json.loads(history.meta["analysts"])
    return {name: (limit, "{}") for name, limit in limits.items()}


def _careful(meta: Mapping[str, str], start: Rows) -> Totals:
    return Totals(meta, start, OneByOne)


def _add_up(history: History, bodies: list[dict[str, Any]], kind: Any) -> Rows:
    """The limits and totals after all entries."""
    totals: Totals = kind(history.meta, _start(history, bodies))
    for number, entry in enumerate(bodies):
        if not totals.add(entry):
            raise LedgerError(
                f"entry {history.entries[0][0] + number + history.recent} tells totals "
                "that do not follow from the entries before it."
            )
    return totals.rows()


def _plain_sums(rows: Rows, bodies: list[dict[str, Any]]) -> Rows:
    """The same limits with everything added up, as version 1 did."""
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
