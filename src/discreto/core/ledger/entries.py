"""The rows of a ledger: how they are written and read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from secrets import token_hex
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Budget, Cost
from discreto.core.ledger.chain import POPULATION, Chain, budget_of, dump
from discreto.core.ledger.checks import OWN
from discreto.core.ledger.database import Database
from discreto.core.ledger.totals import Rows, last_totals
from discreto.core.ledger.verification import History, check_history
from discreto.errors import LedgerError

# seq, body and hash of an entry; the stored answer and its hash
Keyed = tuple[int, str, str, str | None, str]


def fill(db: Database, meta: Mapping[str, str]) -> None:
    """The rows of a new ledger."""
    for row in meta.items():
        db.execute("INSERT INTO meta VALUES(?, ?)", row)
    limits = {POPULATION: meta["epsilon"]} | json.loads(meta["analysts"])
    for row in limits.items():
        db.execute("INSERT INTO account VALUES(?, ?, '{}')", row)


def check_same(db: Database, meta: Mapping[str, str], path: str) -> None:
    """Refuse to write to another ledger than the one that was opened.

    Every transaction that writes asks this. A pooler, a restored backup or a renamed
    schema can put another ledger in the place of the one whose facts are in memory.
    """
    query = "SELECT name, value FROM meta WHERE name IN ('id', 'seal')"
    found = dict(db.execute(query).fetchall())
    if found != {"id": meta["id"], "seal": meta["seal"]}:
        raise LedgerError(
            f"{path!r} is another ledger than the one that was opened, or its budget "
            "was changed by hand: nothing was charged and nothing was released. Open "
            "the ledger anew."
        )


def last_entry(db: Database) -> tuple[int, str, str] | None:
    """The number, hash and body of the last entry, if there is one."""
    query = "SELECT seq, hash, body FROM entry ORDER BY seq DESC LIMIT 1"
    found: tuple[int, str, str] | None = db.execute(query).fetchone()
    return found


def next_entry(
    chain: Chain, last: tuple[int, str], content: Mapping[str, Any], key: str | None
) -> tuple[int, str, str | None, str]:
    """The row of an entry that follows the last one."""
    seq, before = last
    # The time is for people to read; the order of entries is ``seq``.
    # The mark tells an entry from an equal one of another process: see ``writer``.
    facts = {"seq": seq + 1, "time": round(time.time(), 3), "mark": token_hex(4)}
    body = dump(facts | dict(content))
    return seq + 1, body, key, chain.link(before, body, key)


def under_keys(db: Database, keys: Iterable[str]) -> dict[str, Keyed]:
    """What was entered under these keys before, with the stored answers."""
    found = _among(
        db,
        "SELECT key, seq, entry.body, entry.hash, answer.body, answer.hash "
        "FROM entry LEFT JOIN answer USING (seq) WHERE key",
        keys,
    )
    return {key: tuple(entry) for key, *entry in found}


def _among(db: Database, query: str, values: Iterable[Any]) -> Iterable[Any]:
    """What a query that ends with a column finds for these values of it."""
    wanted = tuple(dict.fromkeys(values))
    if not wanted:
        return ()
    return db.execute(f"{query} IN ({', '.join('?' * len(wanted))})", wanted)


def read_accounts(db: Database) -> Rows:
    """Return limits and totals of all accounts, as texts."""
    rows = db.execute("SELECT name, epsilon, spent FROM account").fetchall()
    return {name: (limit, spent) for name, limit, spent in rows}


def check_totals(
    db: Database, chain: Chain, last: str | None, accounts: Rows, path: str
) -> None:
    """Refuse to write when the totals are not those that the last entry carries."""
    said = None if last is None else json.loads(last).get("state")
    if said is not None:
        sound = said == chain.state(accounts)
    else:  # no entry, or one of an older version: its totals follow from all of them
        try:
            sound = not check_history(chain, read_history(db, recent=True)).stale
        except (LedgerError, ValueError, TypeError, KeyError, ArithmeticError):
            sound = False
    if not sound:
        raise LedgerError(
            f"the budgets or totals of {path!r} do not follow from its entries: they "
            "were changed by hand. Nothing was charged and nothing was released. "
            "Restore the ledger."
        )


def account_of(
    meta: Mapping[str, str], name: str, limit: str, spent: str
) -> tuple[Budget, Cost]:
    """A budget and what was spent of it, from their texts."""
    try:
        budget = budget_of(meta, name, Fraction(limit))
        return budget, Cost.from_dict(json.loads(spent))
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        raise LedgerError(
            f"the budget or total of {name or 'the population'!r} is damaged or was "
            "changed by hand: restore the ledger."
        ) from None


def no_account(name: str, path: str) -> LedgerError:
    """What is said of a budget that nobody set."""
    return LedgerError(
        f"there is no analyst {name!r} in {path!r}. The owner adds one "
        f"with ledger.allow({name!r}, epsilon)."
    )


def paid_entries(
    db: Database, numbers: Iterable[int]
) -> dict[int, tuple[str, str | None]]:
    """Hashes and answers of the entries with a key among these."""
    query = (
        "SELECT seq, entry.hash, answer.body FROM entry LEFT JOIN answer USING (seq) "
        "WHERE key IS NOT NULL AND seq"
    )
    found = _among(db, query, numbers)
    return {seq: (link, answer) for seq, link, answer in found}


def earlier(
    found: Keyed, chain: Chain, key: str, content: Mapping[str, Any]
) -> Receipt:
    """The receipt of the charge that was made under ``key``, if it is this one."""
    seq, body, link, answer, seal = found
    _check_answer(chain, seq, link, answer, seal)
    old = json.loads(body)
    same = all(dump(old.get(name)) == dump(part) for name, part in content.items())
    if not same or ("accounts" in old) != ("accounts" in content):
        raise LedgerError(
            f"the key {key!r} belongs to another question. Use a new one."
        )
    cost = Cost.from_dict(old["cost"])
    return Receipt(seq, old["label"], cost, link, answer=answer, again=True)


def _check_answer(
    chain: Chain, seq: int, link: str, answer: str | None, seal: str
) -> None:
    # Opening a long ledger looks at its last entries only, so an old answer is looked
    # at when it is given.
    if answer is not None and seal != chain.answer(link, answer):
        raise LedgerError(f"the answer stored for entry {seq} was changed.")


def found(db: Database, chain: Chain, key: str) -> dict[str, Any] | None:
    """The entry under ``key`` with its hash and its answer, if there is one."""
    entry = under_keys(db, (key,)).get(key)
    if entry is None:
        return None
    seq, body, link, answer, seal = entry
    _check_answer(chain, seq, link, answer, seal)
    return json.loads(body) | {"hash": link, "answer": answer}


def newest(db: Database, last: int | None) -> list[dict[str, Any]]:
    """The last entries, or all of them, oldest first."""
    query = "SELECT body, hash FROM entry ORDER BY seq DESC"
    limit = ("", ()) if last is None else (" LIMIT ?", (last,))
    rows = db.execute(query + limit[0], limit[1]).fetchall()
    return [json.loads(body) | {"hash": link} for body, link in reversed(rows)]


def unanswered(db: Database) -> list[tuple[str, dict[str, Any]]]:
    """Return keys and first entries of charges that have no answer yet."""
    rows = db.execute(
        "SELECT key, entry.body FROM entry LEFT JOIN answer USING (seq) "
        "WHERE key IS NOT NULL AND answer.seq IS NULL ORDER BY seq"
    )
    made = [(key, json.loads(body)) for key, body in rows]
    return [
        (key, entry) for key, entry in made if entry["cost"] and not key.startswith(OWN)
    ]


def read_history(db: Database, *, recent: bool = False) -> History:
    """All rows, or the entries from the last totals on, and one before them."""
    start = last_totals(db) if recent else 0
    where, after = ("WHERE seq >= ?", (start - 1,)) if start else ("", ())
    return History(
        dict(db.execute("SELECT name, value FROM meta").fetchall()),
        db.execute(f"SELECT * FROM entry {where} ORDER BY seq", after).fetchall(),  # noqa: S608
        db.execute("SELECT * FROM account").fetchall(),
        db.execute(f"SELECT * FROM answer {where}", after).fetchall(),  # noqa: S608
        recent=start > 0,
    )
