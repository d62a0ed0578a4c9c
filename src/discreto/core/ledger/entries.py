"""The rows of a ledger file: how they are written and read."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.ledger.chain import POPULATION, Chain, History, dump
from discreto.core.ledger.store import SCHEMA
from discreto.errors import LedgerError


def fill(db: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    """The rows of a new ledger."""
    db.executemany("INSERT INTO meta VALUES(?, ?)", meta.items())
    limits = {POPULATION: meta["epsilon"]} | json.loads(meta["analysts"])
    db.executemany("INSERT INTO account VALUES(?, ?, '{}')", limits.items())


def append(
    db: sqlite3.Connection,
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


def earlier(
    db: sqlite3.Connection, key: str, content: Mapping[str, Any]
) -> Receipt | None:
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


def is_sound(db: sqlite3.Connection) -> bool:
    """Whether the file is whole and its tables and triggers are the ones we made."""
    if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        return False
    made = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {row[0] for row in made} == set(SCHEMA)


def read_history(db: sqlite3.Connection) -> History:
    """All rows."""
    return History(
        dict(db.execute("SELECT name, value FROM meta")),
        db.execute("SELECT * FROM entry ORDER BY seq").fetchall(),
        db.execute("SELECT * FROM account").fetchall(),
        db.execute("SELECT * FROM answer").fetchall(),
    )
