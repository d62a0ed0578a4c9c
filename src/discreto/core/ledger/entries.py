"""The rows of a ledger: how they are written and read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.ledger.chain import POPULATION, Chain, History, dump
from discreto.core.ledger.database import Database
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
    # The time is for people to read; the order of entries is ``seq``.
    body = dump({"seq": seq + 1, "time": round(time.time(), 3), **content})
    link = chain.link(before, body, key)
    row = (seq + 1, body, key, link)
    db.execute("INSERT INTO entry VALUES(?, ?, ?, ?)", row)
    return seq + 1, link


def earlier(db: Database, key: str, content: Mapping[str, Any]) -> Receipt | None:
    """The receipt of the charge that was made under ``key``, if there was one."""
    row = db.execute(
        "SELECT seq, entry.body, entry.hash, answer.body FROM entry "
        "LEFT JOIN answer USING (seq) WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    seq, body, link, answer = row
    old = json.loads(body)
    if any(dump(old[name]) != dump(part) for name, part in content.items()):
        raise LedgerError(
            f"the key {key!r} belongs to another question. Use a new one."
        )
    cost = Cost.from_dict(old["cost"])
    return Receipt(seq, old["label"], cost, link, answer=answer)


def read_history(db: Database) -> History:
    """All rows."""
    return History(
        dict(db.execute("SELECT name, value FROM meta").fetchall()),
        db.execute("SELECT * FROM entry ORDER BY seq").fetchall(),
        db.execute("SELECT * FROM account").fetchall(),
        db.execute("SELECT * FROM answer").fetchall(),
    )
