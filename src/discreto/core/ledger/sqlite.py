"""The SQLite file under a ledger: made whole or not at all, synced at every commit."""

from __future__ import annotations

import ctypes
import logging
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob
from pathlib import Path

from discreto.core.ledger import database
from discreto.core.ledger.database import CutShort, Database, Fill, StoreBase
from discreto.errors import LedgerError
from discreto.text import ledger_messages as say

MEMORY = ":memory:"
ANSWERS = ".answers"  # the folder beside a ledger with its large answers
LARGE = 1 << 16  # bytes of an answer that is a file of its own
PATIENCE = 2.0  # seconds to wait for another process without a message
_LOG = logging.getLogger("discreto.ledger")
_PARTS = ("", "-wal", "-shm")  # the file, its log, and the log's index with the locks
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "afs"}
_HELD = "another process holds it; try again"
_WRITABLE = "make the file and its folder exist and be writable"
_FULL = "make room on the disk; nothing was released"
_HINTS = {
    **dict.fromkeys(
        (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL), _HELD
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        _WRITABLE,
    ),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR), _FULL),
}
_DAMAGED = "it is damaged or not a ledger: restore it, do not start anew"


def _guard(table: str, what: str, when: str, why: str) -> str:
    return (
        f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} {when}"
        f"BEGIN SELECT RAISE(ABORT, '{why}'); END"
    )


# Schemas are compared letter by letter with what a file has: a changed text is damage.
_FIRST = (
    *(
        one.format(text="TEXT", number="INTEGER", end=" STRICT")
        for one in database.TABLES
    ),
    *(
        _guard(table, what, "", "append only")
        for table in database.APPEND_ONLY
        for what in ("update", "delete")
    ),
)
_GUARDS = (
    *(_guard(table, what, "", "append only") for table, what in database.KEPT),
    *(
        # The function is known to connections of this library only.
        _guard(table, what, "WHEN discreto_writes() <> 1 ", "written by discreto only")
        for table, what in database.GUARDED
    ),
)
SCHEMA = _FIRST + _GUARDS
# Keeps a connection alive until its store lets go of it: collected together, as parts
# of a cycle, the connection could be finalized first, unclosed.
_held: set[sqlite3.Connection] = set()


class SqliteStore(StoreBase):
    """Transactions on one ledger file, or on a ledger in memory.

    One connection, which one thread uses at a time. It is closed before a fork and
    opened again after it.
    """

    def __init__(
        self, path: str, timeout: float, schema: tuple[str, ...] = SCHEMA
    ) -> None:
        self._schema, self._timeout = schema, timeout
        self._db: sqlite3.Connection | None = None
        self._opened = 0  # connections so far; see ``version``
        self._lock = threading.RLock()
        self._files: list[tuple[int, int] | None] = []
        self._moved = False
        self.path = path
        if path != MEMORY:
            # SQLite names the log after the real file; a later chdir changes nothing.
            self.path = os.path.realpath(path)
            self.large = LARGE
            refuse_network(self.path)
        self.address = None if path == MEMORY else self.path
        super().__init__()

    # Opening

    def exists(self) -> bool:
        """Return True if there is a file already."""
        return self.path != MEMORY and os.path.exists(self.path)

    def create(self, fill: Fill) -> None:
        """Make the file, complete or not at all; an existing one wins a race."""
        if self.path == MEMORY:
            db = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
            self._hold(db)
            self._build(db, fill)
            return
        if os.path.exists(f"{self.path}-wal") and not self.exists():
            raise LedgerError(
                say.LOG_WITHOUT_FILE.format(path=self.path, log=self.path + "-wal")
            )
        draft = f"{self.path}.{secrets.token_hex(8)}.new"
        with self._lock, self.telling():
            try:
                db = sqlite3.connect(draft, isolation_level=None)
                try:
                    db.execute("PRAGMA synchronous=FULL")
                    self._build(db, fill)
                finally:
                    db.close()
                with suppress(FileExistsError):
                    os.link(draft, self.path)
            finally:
                Path(draft).unlink(missing_ok=True)
            sync_folder(self.path)

    def _build(self, db: sqlite3.Connection, fill: Fill) -> None:
        _may_write(db)
        db.execute("BEGIN IMMEDIATE")
        for statement in self._schema:
            db.execute(statement)
        fill(db)
        db.execute("COMMIT")

    def _connection(self) -> sqlite3.Connection:
        return self._hold(self._open()) if self._db is None else self._db

    def _hold(self, db: sqlite3.Connection) -> sqlite3.Connection:
        _held.add(db)
        self._db = db
        self._opened += 1
        return db

    def _let_go(self) -> sqlite3.Connection | None:
        db, self._db = self._db, None
        if db is not None:
            _held.discard(db)
        return db

    def _open(self) -> sqlite3.Connection:
        if not os.path.isfile(self.path) or os.path.getsize(self.path) == 0:
            raise LedgerError(say.NO_FILE.format(path=self.path))
        self._refuse_second_name()
        db = sqlite3.connect(
            f"{Path(self.path).as_uri()}?mode=rw",
            uri=True,
            timeout=min(self._timeout, PATIENCE),
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _may_write(db)
            _execute(db, "PRAGMA journal_mode=WAL", self.path, self._timeout)
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
            raise LedgerError(say.SECOND_NAME.format(path=self.path))

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
        """Refuse for good when the open file is not the one that others read.

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
            raise LedgerError(say.MOVED.format(path=self.path))

    @staticmethod
    def _abandon(db: sqlite3.Connection) -> None:
        # Closing would write our stale log into the file. Keep it open until the
        # process ends, interpreter shutdown included: one reference more.
        with suppress(sqlite3.Error):
            db.rollback()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))

    # Transactions

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give one consistent view."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give one transaction that no other writer interleaves with, then sync it."""
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
            _execute(db, begin, self.path, self._timeout)
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

    def version(self, db: Database) -> object:
        """Return a value that changes when another connection commits."""
        return self._opened, db.execute("PRAGMA data_version").fetchone()[0]

    def seen(self) -> object:
        """Return a value that changes with every commit, without a transaction."""
        self._check_process()
        with self._lock, self.telling():
            self._check_open()
            db = self._connection()
            self._check_files()
            return self.version(db), db.total_changes

    def is_sound(self, db: Database, *, thorough: bool) -> bool:
        """Return True if the file is whole, with the tables and triggers of ours."""
        if thorough and db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return False
        return _made(db) == set(self._schema)

    def missing(self, db: Database) -> tuple[str, ...]:
        """Return the triggers that a file of an older version lacks."""
        old = self._schema == SCHEMA and _made(db) == set(_FIRST)
        return _GUARDS if old else ()

    # Large answers

    def place(self, name: str) -> str:
        """Return the file of a large answer."""
        return os.path.join(self.path + ANSWERS, name)

    def put_large(self, db: Database, name: str, text: str) -> None:
        """Write and sync the file of a large answer, whole or not at all."""
        draft = f"{self.place(name)}.{secrets.token_hex(8)}.new"
        try:
            if not os.path.isdir(self.path + ANSWERS):
                os.makedirs(self.path + ANSWERS, exist_ok=True)
                sync_folder(self.path)
            try:
                with open(draft, "xb") as file:
                    file.write(text.encode())
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, self.place(name))
            finally:
                Path(draft).unlink(missing_ok=True)
            sync_folder(draft)
        except OSError as error:
            raise LedgerError(
                say.LARGE_NOT_WRITTEN.format(
                    place=self.place(name), error=error, hint=_FULL
                )
            ) from None

    def get_large(self, db: Database, name: str) -> str | None:
        """Return the text of a large answer, or None if its file cannot be read."""
        try:
            return Path(self.place(name)).read_bytes().decode(errors="replace")
        except OSError:
            return None

    # Failures and the end

    def _check_process(self) -> None:
        if self._pid != os.getpid() and self.path == MEMORY:
            raise LedgerError(say.MEMORY_FORKED)
        super()._check_process()

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Turn every failure of the file into a refusal that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            self._refuse(error, _HINTS.get(code, _DAMAGED))
        except UnicodeDecodeError:  # of an error's text that quotes damaged bytes
            self._refuse(sqlite3.DatabaseError("not UTF-8"), _DAMAGED)
        except OSError as error:
            self._refuse(error, _WRITABLE)

    def _refuse(self, error: Exception, hint: str) -> None:
        self._close()  # after an I/O error the connection is not trusted any more
        raise LedgerError(
            say.SQLITE_FAILED.format(path=self.path, error=error, hint=hint)
        ) from None

    def _close(self) -> None:
        db = None if self.path == MEMORY else self._let_go()
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    def close(self) -> None:
        """Close the file permanently, after the current transaction has finished.

        A ledger in memory is gone with it, so it can never start anew.
        """
        with self._lock:
            self._closed = True
            self._release()

    def _release(self) -> None:
        db = self._let_go()
        if db is None:
            return
        # A file that was moved or belongs to another process is not closed: that would
        # drop the other's locks, or write our stale log into the file.
        here = self._pid == os.getpid() and self._identity() == self._files
        if self.path != MEMORY and not here:
            self._abandon(db)
            return
        with suppress(sqlite3.Error):
            db.close()

    def pause(self) -> None:
        """Wait for the transaction under way and close, before a fork."""
        self._lock.acquire()
        self._close()

    def resume(self, *, child: bool) -> None:
        """Go on after a fork."""
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


def sync_folder(path: str | Path) -> None:
    """Make a new file's name as durable as its content."""
    if os.name != "posix":
        return  # elsewhere folders cannot be opened, and need not be
    handle = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_network(path: str, mounts: str = "/proc/mounts") -> None:
    """Refuse a file on a network: the write-ahead log needs shared memory."""
    try:
        text = Path(mounts).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path))) + "/"
    best, kind = "", ""
    for line in text.split("\n"):
        words = line.split()
        if len(words) < 3:
            continue
        # A space in a folder's name is written \040 there.
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), words[1])
        if folder.startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, kind = point, words[2]  # of mounts on one point the last one counts
    if kind in _NETWORK:
        raise LedgerError(say.NETWORK.format(path=path, kind=kind))


def _execute(db: sqlite3.Connection, statement: str, path: str, timeout: float) -> None:
    """Execute a statement that waits for other processes; log a warning if it is long.

    SQLite itself waits for up to ``PATIENCE`` seconds in most cases, and not at all
    for the change to a write-ahead log.
    """
    start, told = time.monotonic(), False
    while True:
        try:
            db.execute(statement)
            return
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or waited > timeout:
                raise
        if waited > PATIENCE and not told:
            told = True
            _LOG.warning(
                "waiting for the ledger %r: another process is writing to it. Trying "
                "for %.0f more seconds.",
                path,
                timeout - waited,
            )
        time.sleep(0.01)
