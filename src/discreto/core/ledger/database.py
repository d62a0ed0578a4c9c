"""The database under a ledger: the tables and the behaviour that both kinds share.

``sqlite`` and ``postgres`` keep the same tables. Statements are written once, in SQL
that both understand; ``?`` stands for a value.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from discreto.errors import LedgerError
from discreto.text import ledger_messages as say

# ``text`` is compared byte by byte in both databases; ``end`` makes SQLite check types.
TABLES = (
    "CREATE TABLE meta(name {text} PRIMARY KEY, value TEXT NOT NULL){end}",
    "CREATE TABLE account(name {text} PRIMARY KEY, epsilon TEXT NOT NULL, "
    "spent TEXT NOT NULL){end}",
    "CREATE TABLE entry(seq {number} PRIMARY KEY, body TEXT NOT NULL, "
    "key {text} UNIQUE, hash TEXT NOT NULL){end}",
    "CREATE TABLE answer(seq {number} PRIMARY KEY, body TEXT NOT NULL, "
    "hash TEXT NOT NULL){end}",
)
APPEND_ONLY = ("entry", "answer")
# Since version 3 triggers guard limits and totals too. Only connections of this
# library may write them, so an edit by hand is an error.
KEPT = (("meta", "update"), ("account", "delete"), ("meta", "delete"))
GUARDED = (("account", "insert"), ("account", "update"), ("meta", "insert"))


class Database(Protocol):
    """A transaction under way; ``?`` stands for a value in every dialect."""

    def execute(self, sql: str, values: Any = ..., /) -> Any: ...
    def executemany(self, sql: str, rows: Any, /) -> object: ...


class CutShort(LedgerError):
    """A commit whose outcome is not known: the connection or the disk failed in it."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(say.CUT_SHORT.format(path=path, why=why))


Fill = Callable[[Database], None]


class StoreBase:
    """The common part of both stores: transactions on rows, not their meaning.

    ``reading()`` gives one consistent view. ``writing()`` gives one transaction that no
    other writer interleaves with and that is durable at its end; it raises ``CutShort``
    if the commit failed and may have been made nevertheless.
    """

    path: str
    address: str | None  # the address for other processes; None: they cannot open it
    large: int | None = None  # answers of more bytes are kept outside their row
    reading: Callable[[], AbstractContextManager[Any]]
    writing: Callable[[], AbstractContextManager[Any]]
    missing: Callable[[Database], tuple[str, ...]]  # statements that are to be added

    def __init__(self) -> None:
        self._pid, self._closed = os.getpid(), False
        watch(self)

    def version(self, db: Database) -> object:
        """Return a value that changes when another connection commits; None: unknown.

        Only the values of one process can be compared. Own commits do not change it.
        """
        return None

    def seen(self) -> object:
        """Return a value that changes with every commit, or None if there is none."""
        return None

    def look(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return the rows of one statement, in a transaction of its own."""
        with self.reading() as db:
            return list(db.execute(sql, values).fetchall())

    def bring_up(self) -> None:
        """Add the triggers and tables that a ledger of an older version lacks."""
        with self.reading() as db:
            old = self.missing(db)
        if old:
            with self.writing() as db:
                for statement in self.missing(db):  # another process may be faster
                    db.execute(statement)

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise LedgerError(say.OTHER_PROCESS.format(path=self.path))

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerError(say.CLOSED.format(path=self.path))


# Forks. SQLite keeps its locks per process and cannot know that a fork made them void:
# a child that inherits a connection, or only its traces, can lose charges. So every
# store closes its connections just before a fork, when no transaction is under way.


# Python calls the functions below around every os.fork. They must find every store.
# Each has ``pause()`` and ``resume(child=...)``.
_stores: weakref.WeakSet[Any] = weakref.WeakSet()
_forking = threading.Lock()
_paused: list[Any] = []


def watch(store: object) -> None:
    """Pause ``store`` around every fork from now on."""
    with _forking:
        _stores.add(store)


def _before_fork() -> None:
    _forking.acquire()
    _paused[:] = _stores
    for store in _paused:
        store.pause()


def _after_fork(*, child: bool) -> None:
    for store in _paused:
        store.resume(child=child)
    _paused.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
