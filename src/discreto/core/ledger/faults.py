"""Failures of the machine: entries that shut a ledger, and those that reopen it.

What is left after everything was checked is a dead worker, a full disk, a bug. Whether
it happens may depend on rows, so it may tell one bit, and not a second one: the gate
stays shut until the owner has looked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreto.core.ledger.chain import POPULATION
from discreto.core.ledger.checks import OWN
from discreto.core.ledger.database import Database
from discreto.errors import KernelFault

FAULT = f"{OWN}fault "
REOPENED = f"{OWN}reopened "
OwnEntry = Callable[
    [Database, str], tuple[dict[str, Any] | None, str | None]
]  # the content and key of an entry, or none


def own_entry(label: str, analyst: str = POPULATION) -> dict[str, Any]:
    """The content of an entry that the ledger makes itself."""
    return {"label": label[:200], "cost": {}, "analyst": analyst, "event": {}}


def fault_entry(db: Database, label: str) -> tuple[dict[str, Any], str]:
    """The entry that shuts a ledger."""
    content = own_entry(f"shut: no answer to {label!r}")
    return content, f"{FAULT}{count_faults(db) + 1}"


def reopening(db: Database, comment: str) -> tuple[dict[str, Any] | None, str | None]:
    """The entry that reopens a ledger; none if it is not shut."""
    if not is_shut(db):
        return None, None
    return own_entry(f"reopened: {comment}"), f"{REOPENED}{count_faults(db)}"


def count_faults(db: Database) -> int:
    """How many failures there were; keys are sorted, so this is quick."""
    query = "SELECT count(*) FROM entry WHERE key >= ? AND key < ?"
    return int(db.execute(query, (FAULT, FAULT[:-1] + "!")).fetchone()[0])


def is_shut(db: Database) -> bool:
    """Whether the last failure was not looked into yet."""
    number = count_faults(db)
    if not number:
        return False
    query = "SELECT 1 FROM entry WHERE key = ?"
    return db.execute(query, (f"{REOPENED}{number}",)).fetchone() is None


def shut_error(path: str) -> KernelFault:
    """What is said to those who would be charged while the gate is shut."""
    return KernelFault(
        f"{path!r} is shut: an answer could not be computed after it was paid "
        "for. Its owner looks into it and goes on with ledger.reopen()."
    )
