"""Waiting for another process that writes to a ledger file, and saying so."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import suppress

PATIENCE = 2.0  # seconds to wait without a word
_LOG = logging.getLogger("discreto.ledger")


def begin(db: sqlite3.Connection, statement: str, path: str, timeout: float) -> None:
    """Begin a transaction; after two seconds say what it waits for.

    Readers do not wait for writers, so only ``BEGIN IMMEDIATE`` may take long.
    """
    if timeout <= PATIENCE or statement == "BEGIN":
        db.execute(statement)
        return
    try:
        _set_timeout(db, PATIENCE)
        try:
            db.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
        _say_waiting(path, timeout - PATIENCE)
        _set_timeout(db, timeout - PATIENCE)
        db.execute(statement)
    finally:
        with suppress(sqlite3.Error):  # the first failure is the one to tell of
            _set_timeout(db, timeout)


def use_log(db: sqlite3.Connection, path: str, timeout: float) -> None:
    """Switch a file to a write-ahead log, which does not wait for writers by itself."""
    start, told = time.monotonic(), False
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            if not _is_busy(error) or waited > timeout:
                raise
        if waited > PATIENCE and not told:
            _say_waiting(path, timeout - waited)
            told = True
        time.sleep(0.01)


def _set_timeout(db: sqlite3.Connection, seconds: float) -> None:
    db.execute(f"PRAGMA busy_timeout={int(1000 * seconds)}")


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _say_waiting(path: str, seconds: float) -> None:
    _LOG.warning(
        "waiting for the ledger %r: another process is writing to it. Trying for %.0f "
        "more seconds.",
        path,
        seconds,
    )
