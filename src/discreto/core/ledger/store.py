"""The SQLite file under a ledger: made whole or not at all, synced at every commit."""

from __future__ import annotations

import ctypes
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob
from pathlib import Path
from typing import Any

from discreto.core.ledger import waiting
from discreto.core.ledger.database import CutShort, Database, Fill
from discreto.core.ledger.fork import watch
from discreto.core.ledger.mounts import refuse_network
from discreto.core.ledger.store_schema import GUARDS, SCHEMA, TABLES
from discreto.errors import LedgerError

MEMORY = ":memory:"
_PARTS = ("", "-wal", "-shm")  # the file, its log, and the log's index with the locks
_HINTS = {
    sqlite3.SQLITE_BUSY: "another process holds it; try again",
    sqlite3.SQLITE_LOCKED: "another process holds it; try again",
    sqlite3.SQLITE_PROTOCOL: "another process holds it; try again",
    sqlite3.SQLITE_READONLY: "make the file and its folder exist and be writable",
    sqlite3.SQLITE_CANTOPEN: "make the file and its folder exist and be writable",
    sqlite3.SQLITE_PERM: "make the file and its folder exist and be writable",
    sqlite3.SQLITE_FULL: "make room on the disk; nothing was released",
    sqlite3.SQLITE_IOERR: "make room on the disk; nothing was released",
}
_DAMAGED = "it is damaged or not a ledger: restore it, do not start anew"
# Keeps a connection alive until its store lets go of it: collected together, as parts
# of a cycle, the connection could be finalized first, unclosed.
_held: set[sqlite3.Connection] = set()


class Store:
    """Transactions on one ledger file, or on a ledger in memory.

    One connection, which one thread uses at a time. It is closed before a fork and
    opened again after it.
    """

    def __init__(
        self, path: str, timeout: float, schema: tuple[str, ...] = SCHEMA
    ) -> None:
        self._schema = schema
        self._db: sqlite3.Connection | None = None
        self._pid, self._timeout = os.getpid(), timeout
        self._lock = threading.RLock()
        self._files: list[tuple[int, int] | None] = []
        self._moved = self._closed = False
        self.path = path
        if path != MEMORY:
            # SQLite names the log after the real file; a later chdir changes nothing.
            self.path = os.path.realpath(path)
            refuse_network(self.path)
        watch(self)

    @property
    def address(self) -> str | None:
        """How another process opens the same ledger; nothing: it cannot."""
        return None if self.path == MEMORY else self.path

    def exists(self) -> bool:
        """Whether there is a file already."""
        return self.path != MEMORY and os.path.exists(self.path)

    def create(self, fill: Fill) -> None:
        """Make the file, complete or not at all; an existing one wins a race."""
        if self.path == MEMORY:
            db = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
            _may_write(db)
            self._hold(db)
            _build(db, self._schema, fill)
            return
        if os.path.exists(f"{self.path}-wal") and not self.exists():
            raise LedgerError(
                f"{self.path!r} is gone, but its log {self.path + '-wal'!r} is still "
                "there: it was a ledger. Restore it, do not start anew."
            )
        draft = f"{self.path}.{secrets.token_hex(8)}.new"
        with self._lock, self.telling():
            try:
                db = sqlite3.connect(draft, isolation_level=None)
                try:
                    _may_write(db)
                    db.execute("PRAGMA synchronous=FULL")
                    _build(db, self._schema, fill)
                finally:
                    db.close()
                with suppress(FileExistsError):
                    os.link(draft, self.path)
            finally:
                Path(draft).unlink(missing_ok=True)
            sync_folder(self.path)

    def _connection(self) -> sqlite3.Connection:
        return self._hold(self._open()) if self._db is None else self._db

    def _hold(self, db: sqlite3.Connection) -> sqlite3.Connection:
        _held.add(db)
        self._db = db
        return db

    def _let_go(self) -> sqlite3.Connection | None:
        db, self._db = self._db, None
        if db is not None:
            _held.discard(db)
        return db

    def _open(self) -> sqlite3.Connection:
        if not os.path.isfile(self.path) or os.path.getsize(self.path) == 0:
            raise LedgerError(
                f"{self.path!r} is missing, empty or no file. If it was a ledger, "
                "restore it."
            )
        self._refuse_second_name()
        db = sqlite3.connect(
            f"{Path(self.path).as_uri()}?mode=rw",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _may_write(db)
            waiting.use_log(db, self.path, self._timeout)
            # NORMAL could lose a committed charge when the power fails.
            db.execute("PRAGMA synchronous=FULL")
            db.execute("PRAGMA fullfsync=ON")
            db.execute("PRAGMA cell_size_check=ON")
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            db.close()
            raise
        files = self._identity()
        if self._files and self._files[0] != files[0]:
            db.close()
            self._moved = True
            self._check_files()
        self._files = files
        return db

    def _refuse_second_name(self) -> None:
        # Each name of a file has a log of its own: the budget could be spent twice.
        if os.stat(self.path).st_nlink == 1:
            return
        for draft in glob(f"{escape(self.path)}.*.new"):  # left by a killed creator
            with suppress(FileNotFoundError):
                if os.path.samefile(draft, self.path):
                    os.unlink(draft)
        if os.stat(self.path).st_nlink > 1:
            raise LedgerError(
                f"{self.path!r} has a second name (a hard link), under which its "
                "budget could be spent again. Remove the other name."
            )

    def _identity(self) -> list[tuple[int, int] | None]:
        out: list[tuple[int, int] | None] = []
        for part in _PARTS:
            try:
                found = os.stat(self.path + part)
            except FileNotFoundError:
                out.append(None)
            else:
                out.append((found.st_dev, found.st_ino))
        return out

    def _check_files(self) -> None:
        """Refuse for good when what we write to is not what others read.

        Files are deleted and replaced by hand; and on POSIX a plain copy of an open
        ledger drops SQLite's locks, so that another process may take away the log.
        """
        if self.path == MEMORY:
            return
        if not self._moved and self._identity() != self._files:
            self._moved = True
            db = self._let_go()
            if db is not None:
                self._abandon(db)
        if self._moved:
            raise LedgerError(
                f"{self.path!r} was moved, replaced or copied while it was open: "
                "nothing was released. Open the ledger anew; copy it only when no "
                "process uses it."
            )

    @staticmethod
    def _abandon(db: sqlite3.Connection) -> None:
        # Closing would write our stale log into the file. Keep it open until the
        # process ends, interpreter shutdown included: one reference more.
        with suppress(sqlite3.Error):
            db.rollback()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with self._transaction("BEGIN") as db:
            yield db

    def look(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """What one statement finds."""
        with self.reading() as db:
            return db.execute(sql, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that no other writer interleaves with, synced at its end."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        self._check_process()
        with self._lock, self.telling():
            self._check_open()
            if self._moved:
                self._check_files()
            db = self._connection()
            waiting.begin(db, begin, self.path, self._timeout)
            try:
                yield db
                self._check_files()
                self._commit(db)
            except CutShort:
                self._close()
                raise
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            self._check_files()

    def _commit(self, db: sqlite3.Connection) -> None:
        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:  # it was not made, and is rolled back
                raise
            raise CutShort(self.path, str(error)) from None

    def remember(self, seq: int, link: str) -> None:
        """Nothing to do: a file that was replaced is known by its place on disk."""

    def is_sound(self, db: Database, *, thorough: bool) -> bool:
        """Whether the file is whole, with the tables and triggers that we made."""
        if thorough and db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return False
        return _made(db) == set(self._schema)

    def bring_up(self) -> None:
        """Add the triggers that a file of an older version lacks."""
        with self.reading() as db:
            old = self._schema == SCHEMA and _made(db) == set(TABLES)
        if not old:
            return
        with self.writing() as db:
            if _made(db) == set(TABLES):
                for statement in GUARDS:
                    db.execute(statement)

    def _check_process(self) -> None:
        if self._pid == os.getpid():
            return
        if self.path == MEMORY:
            raise LedgerError(
                "a ledger in memory cannot be used after fork: parent and child "
                "would both spend the whole budget. Use a ledger file."
            )
        raise LedgerError(
            f"{self.path!r} was opened in another process. Open the ledger anew."
        )

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerError(
                f"the ledger {self.path!r} is closed: nothing was released. Open it "
                "anew."
            )

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Every failure of the file refuses the release and says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            self._close()  # after an I/O error it is not trusted any more
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            self._tell(error, _HINTS.get(code, _DAMAGED))
        except UnicodeDecodeError:  # of an error's text that quotes damaged bytes
            self._close()
            self._tell(sqlite3.DatabaseError("not UTF-8"), _DAMAGED)
        except OSError as error:
            self._close()
            self._tell(error, "make the file and its folder exist and be writable")

    def _tell(self, error: Exception, hint: str) -> None:
        raise LedgerError(
            f"the ledger {self.path!r} cannot be used ({error}): {hint}."
        ) from None

    def _close(self) -> None:
        db = None if self.path == MEMORY else self._let_go()
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    def close(self) -> None:
        """Let go of the file, for good; waits for the transaction under way.

        A ledger in memory is gone with it, so it can never start anew.
        """
        with self._lock:
            self._closed = True
            self._release()

    def _release(self) -> None:
        db = self._let_go()
        if db is None:
            return
        # What was moved or belongs to another process is not closed: that would drop
        # the other's locks, or write our stale log into the file.
        here = self._pid == os.getpid() and self._identity() == self._files
        if self.path != MEMORY and not here:
            self._abandon(db)
            return
        with suppress(sqlite3.Error):
            db.close()

    def pause(self) -> None:
        """Before a fork: wait for the transaction under way and close."""
        self._lock.acquire()
        self._close()

    def resume(self, *, child: bool) -> None:
        """After a fork."""
        if not child:
            self._lock.release()
            return
        self._lock = threading.RLock()
        if self.path != MEMORY:
            self._pid = os.getpid()

    def __del__(self) -> None:
        self._release()


def _made(db: Database) -> set[str]:
    found = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {row[0] for row in found}


def _may_write(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA trusted_schema=ON")
    db.create_function("discreto_writes", 0, lambda: 1)


def _build(db: sqlite3.Connection, schema: tuple[str, ...], fill: Fill) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in schema:
        db.execute(statement)
    fill(db)
    db.execute("COMMIT")


def sync_folder(path: str | Path) -> None:
    """Make a new file's name as durable as its content."""
    if os.name != "posix":
        return  # elsewhere folders cannot be opened, and need not be
    handle = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
