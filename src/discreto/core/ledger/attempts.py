"""Attempts: entries without an answer are paid for again before rows are read again.

The entry of a charge with a key is its first attempt. Work that was cancelled, died or
could not store its answer may have read rows and shown something of them: that it
ended, and when. So another attempt draws fresh noise for a charge of its own, which is
committed before its first row is read. Receipt and answer belong to the first entry.

An attempt that ended before it read a row says so in the chain. The next one is free.
"""

from __future__ import annotations

from typing import Any

from discreto.core.charge import Receipt
from discreto.core.ledger.chain import POPULATION
from discreto.core.ledger.checks import OWN
from discreto.core.ledger.database import Database
from discreto.core.ledger.faults import own_entry
from discreto.errors import LedgerError

ATTEMPT = f"{OWN}attempt "
UNREAD = f"{OWN}unread "


def latest(db: Database, first: Receipt) -> tuple[int, int, str]:
    """Return how many attempts there were, and the last one's entry and hash."""
    begin = f"{ATTEMPT}{first.seq} "
    query = "SELECT count(*), max(seq) FROM entry WHERE key >= ? AND key < ?"
    count, last = db.execute(query, (begin, begin[:-1] + "!")).fetchone()
    if not count:
        return 1, first.seq, first.hash
    found = db.execute("SELECT hash FROM entry WHERE seq = ?", (last,)).fetchone()
    return int(count) + 1, int(last), str(found[0])


def attempt_entry(
    content: dict[str, Any], first: int, number: int, *, free: bool
) -> tuple[dict[str, Any], str]:
    """Return the content and key of the entry of another attempt."""
    label = f"attempt {number} at entry {first}: {content['label']}"
    event = content["event"] | {"attempt": number, "entry": first}
    changed = {"label": label[:200], "event": event} | ({"cost": {}} if free else {})
    return content | changed, f"{ATTEMPT}{first} {number}"


def read_nothing(db: Database, attempt: int) -> bool:
    """Return True if the attempt of this entry ended before it read a row."""
    query = "SELECT 1 FROM entry WHERE key = ?"
    return db.execute(query, (f"{UNREAD}{attempt}",)).fetchone() is not None


def unread_entry(
    db: Database, receipt: Receipt, path: str
) -> tuple[dict[str, Any] | None, str | None]:
    """Return the entry that says that an attempt has read nothing; none if it is there.

    Raises
    ------
    LedgerError
        The receipt is not of this ledger.
    """
    query = "SELECT hash FROM entry WHERE seq = ?"
    if db.execute(query, (receipt.seq,)).fetchone() != (receipt.hash,):
        raise LedgerError(f"entry {receipt.seq} of {path!r} is not this receipt's.")
    attempt = receipt.attempt or receipt.seq
    if read_nothing(db, attempt):
        return None, None
    label = f"nothing was read for entry {attempt}: asking again costs nothing more"
    return own_entry(label, POPULATION), f"{UNREAD}{attempt}"
