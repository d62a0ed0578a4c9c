"""The SQLite file under a ledger: made whole or not at all, synced at every commit."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreto.errors import LedgerError

MEMORY = ":memory:"
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "afs"}
_SCHEMA = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE account(name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "spent TEXT NOT NULL) STRICT",
    "CREATE TABLE entry(seq INTEGER PRIMARY KEY, body TEXT NOT NULL, "
    "key TEXT UNIQUE, hash TEXT NOT NULL) STRICT",
    "CREATE TABLE answer(seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT",
    "CREATE TRIGGER entry_update BEFORE UPDATE ON entry "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER entry_delete BEFORE DELETE ON entry "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER answer_update BEFORE UPDATE ON answer "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
)
Fill = Callable[[sqlite3.Connection], None]


class Store:
    """Transactions on one ledger file, or on a ledger in memory.

    Every thread and every process has a connection of its own; a connection inherited
    through fork is never used and never closed (closing would drop the parent's locks).
    """

    def __init__(self, path: str, timeout: float) -> None:
        self.path, self._timeout = path, timeout
        self._home = os.getpid()
        self._memory: sqlite3.Connection | None = None
        self._inherited: list[object] = []
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._local = threading.local()

    def exists(self) -> bool:
        """Whether there is a file already."""
        return self.path != MEMORY and os.path.exists(self.path)

    def create(self, fill: Fill) -> None:
        """Make the file, complete or not at all; an existing one wins a race."""
        if self.path == MEMORY:
            self._memory = sqlite3.connect(
                MEMORY, isolation_level=None, check_same_thread=False
            )
            _build(self._memory, fill)
            return
        draft = f"{self.path}.{os.getpid()}.{threading.get_ident()}.new"
        with self.telling():
            try:
                db = sqlite3.connect(draft, isolation_level=None)
                db.execute("PRAGMA synchronous=FULL")
                _build(db, fill)
                db.close()
                os.link(draft, self.path)
            except FileExistsError:
                pass
            finally:
                Path(draft).unlink(missing_ok=True)
        _sync_folder(self.path)

    def connection(self) -> sqlite3.Connection:
        """This thread's connection in this process."""
        if self._memory is not None:
            if self._home != os.getpid():
                raise LedgerError(
                    "a ledger in memory cannot be used after fork: parent and child "
                    "would both spend the whole budget. Use a ledger file."
                )
            return self._memory
        if not hasattr(self._local, "db"):
            self._local.db = self._open()
        db: sqlite3.Connection = self._local.db
        return db

    def _open(self) -> sqlite3.Connection:
        if not self.exists() or os.path.getsize(self.path) == 0:
            raise LedgerError(
                f"{self.path!r} is missing or empty. If it was a ledger, restore it."
            )
        db = sqlite3.connect(
            f"{Path(self.path).absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        deadline = time.monotonic() + self._timeout
        while True:  # the switch to WAL does not wait for other writers by itself
            try:
                db.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        # NORMAL could lose a committed charge when the power fails.
        db.execute("PRAGMA synchronous=FULL")
        return db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that no other writer interleaves with, synced at its end."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        if self._pid != os.getpid():
            self._inherited.append(self._local)
            self._start()
        with self._lock, self.telling():
            db = self.connection()
            db.execute(begin)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Every failure of the file refuses the release and says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            # After an I/O error the connection is not trusted any more.
            self._inherited.append(self._local)
            self._local = threading.local()
            text = str(error)
            if "locked" in text or "busy" in text:
                hint = "another process holds it; try again"
            elif "readonly" in text or "unable to open" in text or "ermission" in text:
                hint = "make the file and its folder exist and be writable"
            elif "full" in text or "I/O" in text:
                hint = "make room on the disk; nothing was released"
            else:
                hint = "it is damaged or not a ledger: restore it, do not start anew"
            raise LedgerError(
                f"the ledger {self.path!r} cannot be used ({text}): {hint}."
            ) from None


def _build(db: sqlite3.Connection, fill: Fill) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        db.execute(statement)
    fill(db)
    db.execute("COMMIT")


def _sync_folder(path: str) -> None:
    handle = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_network(path: str) -> None:
    """The write-ahead log needs shared memory, which a network file system lacks."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path))) + "/"
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    mounts = [words for line in lines.split("\n") if len(words := line.split()) > 2]
    over = [m for m in mounts if folder.startswith(m[1].rstrip("/") + "/")]
    kind = max(over, key=lambda m: len(m[1]))[2] if over else ""
    if kind in _NETWORK:
        raise LedgerError(
            f"{path!r} is on a network file system ({kind}), where two machines could "
            "spend the same budget. Keep the ledger on a local disk."
        )
