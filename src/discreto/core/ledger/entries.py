"""The rows of a ledger: how they are written and read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.ledger.chain import POPULATION, Chain, dump
from discreto.core.ledger.database import Database
from discreto.core.ledger.history import History
from discreto.core.ledger.totals import EVERY, last_totals, totals_entry
from discreto.errors import LedgerError


def fill(db: Database, meta: Mapping[str, str]) -> None:
    """The rows of a new ledger."""
    for row in meta.items():
        db.execute("INSERT INTO meta VALUES(?, ?)", row)
    limits = {POPULATION: meta["epsilon"]} | json.loads(meta["analysts"])
    for row in limits.items():
        db.execute("INSERT INTO account VALUES(?, ?, '{}')", row)


def append(
    db: Database,
    chain: Chain,
    seal: str,
    content: Mapping[str, Any],
    key: str | None = None,
) -> tuple[int, str]:
    """Add an entry after the last one; its number and hash."""
    last = db.execute("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1")
    seq, before = last.fetchone() or (0, seal)
    seq, link = _write(db, chain, (seq, before), content, key)
    if seq % EVERY == EVERY - 1:
        _write(db, chain, (seq, link), *totals_entry(db, seq))
    return seq, link


def _write(
    db: Database,
    chain: Chain,
    last: tuple[int, str],
    content: Mapping[str, Any],
    key: str | None,
) -> tuple[int, str]:
    seq, before = last
    # The time is for people to read; the order of entries is ``seq``.
    body = dump({"seq": seq + 1, "time": round(time.time(), 3), **content})
    link = chain.link(before, body, key)
    row = (seq + 1, body, key, link)
    db.execute("INSERT INTO entry VALUES(?, ?, ?, ?)", row)
    return seq + 1, link


def earlier(
    db: Database, chain: Chain, key: str, content: Mapping[str, Any]
) -> Receipt | None:
    """The receipt of the charge that was made under ``key``, if there was one."""
    row = db.execute(
        "SELECT seq, entry.body, entry.hash, answer.body, answer.hash FROM entry "
        "LEFT JOIN answer USING (seq) WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    seq, body, link, answer, seal = row
    _check_answer(chain, seq, link, answer, seal)
    old = json.loads(body)
    same = all(dump(old.get(name)) == dump(part) for name, part in content.items())
    if not same or ("accounts" in old) != ("accounts" in content):
        raise LedgerError(
            f"the key {key!r} belongs to another question. Use a new one."
        )
    cost = Cost.from_dict(old["cost"])
    return Receipt(seq, old["label"], cost, link, answer=answer)


def _check_answer(
    chain: Chain, seq: int, link: str, answer: str | None, seal: str
) -> None:
    # Opening a long ledger looks at its last entries only, so an old answer is looked
    # at when it is given.
    if answer is not None and seal != chain.answer(link, answer):
        raise LedgerError(f"the answer stored for entry {seq} was changed.")


def found(db: Database, chain: Chain, key: str) -> dict[str, Any] | None:
    """The entry under ``key`` with its hash and its answer, if there is one."""
    row = db.execute(
        "SELECT seq, entry.body, entry.hash, answer.body, answer.hash FROM entry "
        "LEFT JOIN answer USING (seq) WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    seq, body, link, answer, seal = row
    _check_answer(chain, seq, link, answer, seal)
    return json.loads(body) | {"hash": link, "answer": answer}


def newest(db: Database, last: int | None) -> list[dict[str, Any]]:
    """The last entries, or all of them, oldest first."""
    query = "SELECT body, hash FROM entry ORDER BY seq DESC"
    limit = ("", ()) if last is None else (" LIMIT ?", (last,))
    rows = db.execute(query + limit[0], limit[1]).fetchall()
    return [json.loads(body) | {"hash": link} for body, link in reversed(rows)]


def unanswered(db: Database) -> list[tuple[str, dict[str, Any]]]:
    """Keys and entries of charges that have no answer yet."""
    rows = db.execute(
        "SELECT key, entry.body FROM entry LEFT JOIN answer USING (seq) "
        "WHERE key IS NOT NULL AND answer.seq IS NULL ORDER BY seq"
    )
    made = [(key, json.loads(body)) for key, body in rows]
    return [(key, entry) for key, entry in made if entry["cost"]]


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
