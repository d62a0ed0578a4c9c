"""The rows of a ledger: its fixed facts, accounts, entries and answers.

Entries that the ledger makes itself have keys that begin with ``OWN``:

* totals, so that opening a long ledger need not read all of it;
* faults, which shut a ledger, and their reopening by the owner;
* attempts, which pay once more for work whose answer was not stored, and notes that an
  attempt read no row.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Amount, read_amount, read_delta, show
from discreto.core.ledger.accounts import POPULATION, Rows, Totals, dump
from discreto.core.ledger.chain import Chain, History
from discreto.core.ledger.database import Database
from discreto.errors import LedgerError, ParameterError
from discreto.text import ledger_messages as say

OWN = "discreto "
TOTALS, ATTEMPT, UNREAD = f"{OWN}totals ", f"{OWN}attempt ", f"{OWN}unread "
FAULT, REOPENED = f"{OWN}fault ", f"{OWN}reopened "
VERSION = "4"
# Version 1 had no parts set aside; before version 3 entries carried no totals; entries
# of version 3 carry a hash of all accounts, those of 4 their digest.
READS = ("1", "2", "3", "4")
PARTS = ("delta", "pure", "block_delta")
Wanted = Mapping[str, Fraction | None]
# seq, body and hash of an entry; the stored answer and its hash
Keyed = tuple[int, str, str, str | None, str]


# Fixed facts, written once and checked whenever a ledger is opened


def read_wanted(
    epsilon: Amount | None,
    delta: Amount | None,
    pure: Amount | None,
    block_delta: Amount | None,
) -> dict[str, Fraction | None]:
    """Return the parts of a budget that a caller gives, checked."""
    out = {
        "epsilon": None if epsilon is None else read_amount(epsilon, "epsilon"),
        "delta": None if delta is None else read_delta(delta),
        "pure": None,
        "block_delta": None,
    }
    if pure is None and block_delta is None:
        return out
    out["pure"] = added = read_amount(0 if pure is None else pure, "pure", zero=True)
    out["block_delta"] = part = read_delta(0 if block_delta is None else block_delta)
    if out["epsilon"] is not None and (
        added > out["epsilon"] or part > (out["delta"] or 0)
    ):
        raise ParameterError(say.ASIDE_TOO_LARGE)
    return out


def new_meta(
    wanted: Wanted, population: str, limits: Mapping[str, Fraction], path: str
) -> dict[str, str]:
    """Return the fixed facts of a new ledger."""
    if wanted["epsilon"] is None:
        raise LedgerError(say.NO_LEDGER.format(path=path))
    meta = {
        "version": VERSION,
        "id": secrets.token_hex(8),
        "population": population,
        "epsilon": str(wanted["epsilon"]),
        "delta": str(wanted["delta"] or 0),
        "analysts": dump({name: str(limit) for name, limit in limits.items()}),
    }
    if wanted["pure"] is not None:
        meta |= {name: str(wanted[name]) for name in ("pure", "block_delta")}
    return meta


def fill(db: Database, meta: Mapping[str, str]) -> None:
    """Write the rows of a new ledger."""
    for row in meta.items():
        db.execute("INSERT INTO meta VALUES(?, ?)", row)
    limits = {POPULATION: meta["epsilon"]} | json.loads(meta["analysts"])
    for row in limits.items():
        db.execute("INSERT INTO account VALUES(?, ?, '{}')", row)


def read_meta(db: Database, path: str) -> dict[str, str]:
    """Return the fixed facts, or refuse a format that is not known here."""
    meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
    if meta.get("version") not in READS:
        raise LedgerError(
            say.OTHER_FORMAT.format(
                path=path, version=meta.get("version"), known=", ".join(READS)
            )
        )
    return meta


def check_people(path: str, wanted: str | None, found: str) -> None:
    """Refuse the file of another population."""
    if wanted is not None and wanted != found:
        raise LedgerError(
            say.OTHER_POPULATION.format(path=path, found=found, wanted=wanted)
        )


def check_wanted(path: str, wanted: Wanted, have: Mapping[str, Fraction]) -> None:
    """Refuse a file whose budget is another one."""
    for name, value in wanted.items():
        if value is not None and value != have.get(name):
            old = show(have[name]) if name in have else "none"
            raise LedgerError(
                say.OTHER_BUDGET.format(
                    path=path, name=name, old=old, value=show(value)
                )
            )


# The end of a ledger


@dataclass(frozen=True, slots=True)
class Known:
    """The end of a ledger that was read and checked by this process.

    ``version`` is that of the database at that time. As long as it stays the same, no
    other connection has written, and nothing has to be read again.
    """

    seq: int
    link: str
    rows: Rows
    digest: int  # of the rows
    shut: bool = False
    version: object = None


def brought_up(
    db: Database, chain: Chain, meta: Mapping[str, str], known: Known, path: str
) -> Known:
    """Return the end of a ledger now: entries are added to those that are known.

    Raises
    ------
    LedgerError
        It is another ledger, it lacks a known entry, or its limits and totals do not
        follow from its entries.
    """
    check_same(db, meta, path)
    query = "SELECT seq, body, key, hash FROM entry WHERE seq >= ? ORDER BY seq"
    new = db.execute(query, (max(known.seq, 1),)).fetchall()
    if known.seq and (not new or (new[0][0], new[0][3]) != (known.seq, known.link)):
        raise LedgerError(say.LOST_ENTRY.format(path=path))
    seq, link, totals = known.seq, known.link, Totals(meta, known.rows)
    try:
        sound = True
        for number, body, key, found in new[1:] if known.seq else new:
            sound &= number == seq + 1 and found == chain.link(link, body, key)
            sound &= totals.add(json.loads(body))
            seq, link = number, found
        rows = totals.rows()
        digest = known.digest
        for name, row in rows.items():
            if known.rows.get(name) != row:
                digest = chain.moved(digest, name, known.rows.get(name), row)
        accounts = db.execute("SELECT name, epsilon, spent FROM account")
        sound &= rows == {name: (limit, spent) for name, limit, spent in accounts}
    except (LedgerError, ValueError, TypeError, KeyError, ArithmeticError):
        sound = False
    if not sound:
        raise LedgerError(say.LIVE_EDIT.format(path=path))
    return Known(seq, link, rows, digest, is_shut(db))


def check_same(db: Database, meta: Mapping[str, str], path: str) -> None:
    """Refuse to write to another ledger than the one that was opened.

    A pooler, a restored backup or a renamed schema can put another ledger in the place
    of the one whose facts are in memory.
    """
    query = "SELECT name, value FROM meta WHERE name IN ('id', 'seal')"
    found = dict(db.execute(query).fetchall())
    if found != {"id": meta["id"], "seal": meta["seal"]}:
        raise LedgerError(say.OTHER_LEDGER.format(path=path))


def next_entry(
    chain: Chain, last: tuple[int, str], content: Mapping[str, Any], key: str | None
) -> tuple[int, str, str | None, str]:
    """Return the row of an entry that follows the last one."""
    seq, before = last
    # The time is for people to read; the order of entries is ``seq``. The mark tells an
    # entry from an equal one of another process, when a commit was cut.
    facts = {
        "seq": seq + 1,
        "time": round(time.time(), 3),
        "mark": secrets.token_hex(4),
    }
    body = dump(facts | dict(content))
    return seq + 1, body, key, chain.link(before, body, key)


def own_entry(label: str, analyst: str = POPULATION) -> dict[str, Any]:
    """Return the content of an entry that the ledger makes itself."""
    return {"label": label[:200], "cost": {}, "analyst": analyst, "event": {}}


def totals_entry(rows: Rows, seq: int) -> tuple[dict[str, Any], str]:
    """Return content and key of an entry with the totals after entry ``seq``."""
    totals = {name: list(row) for name, row in rows.items()}
    return own_entry("totals") | {"totals": totals}, f"{TOTALS}{seq + 1:018d}"


# Entries under keys, and their answers


def under_keys(db: Database, keys: Iterable[str]) -> dict[str, Keyed]:
    """Return the entries that were made under these keys, with the stored answers."""
    query = (
        "SELECT key, seq, entry.body, entry.hash, answer.body, answer.hash "
        "FROM entry LEFT JOIN answer USING (seq) WHERE key"
    )
    return {key: tuple(entry) for key, *entry in _among(db, query, keys)}


def paid_entries(
    db: Database, numbers: Iterable[int]
) -> dict[int, tuple[str, str | None, str]]:
    """Return hash, answer and answer's hash of the entries with a key among these."""
    query = (
        "SELECT seq, entry.hash, answer.body, answer.hash FROM entry "
        "LEFT JOIN answer USING (seq) WHERE key IS NOT NULL AND seq"
    )
    return {seq: tuple(rest) for seq, *rest in _among(db, query, numbers)}


def _among(db: Database, query: str, values: Iterable[Any]) -> Iterable[Any]:
    """Return the rows of a query that ends with a column, for these values of it."""
    wanted = tuple(dict.fromkeys(values))
    if not wanted:
        return ()
    return db.execute(f"{query} IN ({', '.join('?' * len(wanted))})", wanted)


def same_content(body: str, key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that was made under ``key``, or refuse another question."""
    old: dict[str, Any] = json.loads(body)
    same = all(dump(old.get(name)) == dump(part) for name, part in content.items())
    if not same or ("accounts" in old) != ("accounts" in content):
        raise LedgerError(say.OTHER_QUESTION.format(key=key))
    return old


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
    """Return all rows, or the entries from the last totals on and one before them."""
    start = 0
    if recent:
        query = "SELECT seq FROM entry WHERE key >= ? AND key < ? ORDER BY key DESC"
        found = db.execute(f"{query} LIMIT 1", _between(TOTALS)).fetchone()
        start = int(found[0]) if found else 0
    where, after = ("WHERE seq >= ?", (start - 1,)) if start else ("", ())
    return History(
        dict(db.execute("SELECT name, value FROM meta").fetchall()),
        db.execute(f"SELECT * FROM entry {where} ORDER BY seq", after).fetchall(),  # noqa: S608
        db.execute("SELECT * FROM account").fetchall(),
        db.execute(f"SELECT * FROM answer {where}", after).fetchall(),  # noqa: S608
        recent=start > 0,
    )


def _between(begin: str) -> tuple[str, str]:
    """Return the limits of keys that begin so; ``!`` is the letter after a space."""
    return begin, begin[:-1] + "!"


# Faults. After all checks there remain a dead worker, a full disk, a bug. A fault may
# depend on rows, so it may tell one bit, and not a second one: the ledger stays shut
# until the owner has reopened it.


def count_faults(db: Database) -> int:
    """Return the number of failures; keys are sorted, so this is quick."""
    query = "SELECT count(*) FROM entry WHERE key >= ? AND key < ?"
    return int(db.execute(query, _between(FAULT)).fetchone()[0])


def is_shut(db: Database) -> bool:
    """Return True if the owner has not reopened the ledger after its last failure."""
    number = count_faults(db)
    return number > 0 and not has_key(db, f"{REOPENED}{number}")


def has_key(db: Database, key: str) -> bool:
    """Return True if there is an entry under this key."""
    query = "SELECT 1 FROM entry WHERE key = ?"
    return db.execute(query, (key,)).fetchone() is not None


# Attempts. The entry of a charge with a key is its first attempt. Work that was
# cancelled, died or could not store its answer may have read rows and shown something
# of them: that it ended, and when. So another attempt draws fresh noise for a charge of
# its own, which is committed before its first row is read.


def latest_attempt(db: Database, first: Receipt) -> tuple[int, int, str]:
    """Return the number of attempts, and the last one's entry and hash."""
    query = "SELECT count(*), max(seq) FROM entry WHERE key >= ? AND key < ?"
    begin = f"{ATTEMPT}{first.seq} "
    count, last = db.execute(query, _between(begin)).fetchone()
    if not count:
        return 1, first.seq, first.hash
    return int(count) + 1, int(last), str(hash_of(db, last))


def hash_of(db: Database, seq: int) -> str | None:
    """Return the hash of an entry, if there is one."""
    found = db.execute("SELECT hash FROM entry WHERE seq = ?", (seq,)).fetchone()
    return None if found is None else str(found[0])


def attempt_entry(
    content: Mapping[str, Any], first: int, number: int, *, free: bool
) -> tuple[dict[str, Any], str]:
    """Return the content and key of the entry of another attempt."""
    label = f"attempt {number} at entry {first}: {content['label']}"
    event = content["event"] | {"attempt": number, "entry": first}
    changed = {"label": label[:200], "event": event} | ({"cost": {}} if free else {})
    return {**content, **changed}, f"{ATTEMPT}{first} {number}"
