"""The PostgreSQL schema under a ledger, for several processes and hosts.

``postgresql://host/database#patients`` is the ledger ``patients``: a schema of its own,
with the same tables, chain and fractions as a file. Writers take turns by a lock on a
table; a commit is on the server's disk before it is reported. A connection
that breaks is opened anew, and what this process has committed must still be there.

A pooler may run every transaction on another session. So nothing is set for a session:
each transaction sets its schema, its durability and its time limits for itself.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from discreto.core.ledger import postgres_schema as schemas
from discreto.core.ledger.database import CutShort, Database, Fill
from discreto.core.ledger.fork import watch
from discreto.errors import LedgerError, MissingExtraError, ParameterError
from discreto.text.install_commands import install_command

SCHEMES = ("postgresql", "postgres")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def is_postgres(path: str) -> bool:
    """Whether this is the address of a ledger in PostgreSQL."""
    return path.partition("://")[0] in SCHEMES and "://" in path


class PostgresStore:
    """Transactions on one ledger in a PostgreSQL database.

    One connection that writes and one that reads, so that nobody who looks waits for a
    disk; one thread at a time uses each. They are closed before a fork and opened again
    after it.
    """

    def __init__(
        self, path: str, timeout: float, schema: tuple[str, ...] = schemas.SCHEMA
    ) -> None:
        self._statements = schema
        # The first table is the one whose lock makes writers take turns.
        self._turns = schema[0].removeprefix("CREATE TABLE ").partition("(")[0]
        parts = urlsplit(path)
        if not _NAME.fullmatch(parts.fragment):
            raise ParameterError(
                "the address of a ledger in PostgreSQL ends with its name, in small "
                "letters: postgresql://host/database#patients."
            )
        self._driver = _psycopg()
        self._server = urlunsplit(parts._replace(fragment=""))
        secret = parts.password is not None or "password=" in parts.query
        self.address = None if secret else path
        self._schema = f"discreto_{parts.fragment}"
        host = parts.netloc.rpartition("@")[2]
        self.path = f"postgresql://{host}{parts.path}#{parts.fragment}"
        self._wait, self._pid = max(1, math.ceil(timeout)), os.getpid()
        self._writer, self._reader = _Line(), _Line()
        self._closed = self._lost = False
        self._last: tuple[int, str] | None = None
        watch(self)

    # Opening

    def exists(self) -> bool:
        """Whether there is a ledger already."""
        with self._line(self._writer) as line:
            found = self._connection(line).execute(
                "SELECT to_regclass(%s)", (f"{self._schema}.{self._turns}",)
            )
            return found.fetchone()[0] is not None

    def create(self, fill: Fill) -> None:
        """Make the schema, complete or not at all; an existing one wins a race."""
        with self._line(self._writer) as line:
            db = self._connection(line)
            db.execute(self._beginning(""))
            try:
                # Those who make it at once take turns; the others find it made.
                db.execute("SELECT pg_advisory_xact_lock(7365293)")
                query = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
                if db.execute(query, (self._schema,)).fetchone() is None:
                    db.execute(f"CREATE SCHEMA {self._schema}")
                    for statement in self._statements:
                        db.execute(statement)
                    fill(_Transaction(db))
                db.execute("COMMIT")
            except BaseException:
                self._roll_back(line, db)
                raise

    def _connection(self, line: _Line) -> Any:
        if line.db is None:
            line.db = self._open()
        return line.db

    def _open(self) -> Any:
        # Nobody needs to close a ledger, so a connection may end without a warning.
        quiet = {"__del__": lambda connection: None}
        kind: Any = type("LedgerConnection", (self._driver.Connection,), quiet)
        db = kind.connect(
            self._server,
            autocommit=True,
            connect_timeout=self._wait,
            client_encoding="utf8",
            application_name="discreto",
            prepare_threshold=None,  # a prepared statement belongs to one session
        )
        try:
            if db.execute("SHOW fsync").fetchone()[0] != "on":
                raise LedgerError(
                    f"the server of {self.path!r} runs with fsync off: it could forget "
                    "a charge. Turn it on."
                )
        except BaseException:
            db.close()
            raise
        return db

    # Transactions

    def _beginning(self, kind: str) -> str:
        """Return the statements that begin a transaction, sent in one message.

        ``SET LOCAL`` ends with the transaction, so it holds for exactly the session
        that a pooler lends to it. ``pg_temp`` comes last in the path: else a temporary
        table that another client left in the session would stand for one of ours.
        """
        limit = self._wait * 1000
        return (
            f"BEGIN {kind}; SET LOCAL search_path TO {self._schema}, pg_temp; "
            "SET LOCAL synchronous_commit TO on; SET LOCAL discreto.writes TO 'on'; "
            # A client that holds the lock and does nothing is sent away.
            f"SET LOCAL lock_timeout TO {limit}; "
            f"SET LOCAL idle_in_transaction_session_timeout TO {limit}"
        )

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """One consistent view."""
        kind = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self._transaction(self._reader, kind) as db:
            yield db

    def look(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return what one statement finds, in a transaction of its own."""
        with self.reading() as db:
            return list(db.execute(sql, values).fetchall())

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """One transaction that no other writer interleaves with, synced at its end."""
        with self._transaction(self._writer, "ISOLATION LEVEL READ COMMITTED") as db:
            db.execute(f"LOCK TABLE {self._turns} IN EXCLUSIVE MODE")
            self._check_last(db)
            yield db

    @contextmanager
    def _transaction(self, wanted: _Line, kind: str) -> Iterator[Database]:
        with self._line(wanted) as line:
            self._check_open()
            self._begin(line, self._beginning(kind))
            db = line.db
            cut = False
            try:
                yield _Transaction(db)
                cut = True
                db.execute("COMMIT")
            except self._driver.OperationalError as error:
                self._roll_back(line, db)
                if cut and line.db is None:  # the connection is gone
                    raise CutShort(self.path, type(error).__name__) from None
                raise
            except BaseException:
                self._roll_back(line, db)
                raise

    @contextmanager
    def _line(self, line: _Line) -> Iterator[_Line]:
        """A connection that this thread alone uses; its failures are refusals."""
        if self._pid != os.getpid():
            raise LedgerError(
                f"{self.path!r} was opened in another process. Open the ledger anew."
            )
        with line.lock, self._telling(line):
            yield line

    def _begin(self, line: _Line, sql: str) -> None:
        """Begin on a connection that works: an old one may be broken."""
        if line.db is not None:
            try:
                line.db.execute(sql)
                return
            except self._driver.OperationalError:
                self._drop(line)
        self._connection(line).execute(sql)

    def _roll_back(self, line: _Line, db: Any) -> None:
        try:
            db.execute("ROLLBACK")
        except self._driver.Error:
            self._drop(line)

    def _drop(self, line: _Line) -> None:
        db, line.db = line.db, None
        if db is not None:
            with suppress(self._driver.Error, OSError):
                db.close()

    def remember(self, seq: int, link: str) -> None:
        """An entry that was committed here: it must be there from now on."""
        self._last = (seq, link)

    def _check_last(self, db: Database) -> None:
        """Refuse for good when a backup was put in the place of what we wrote to."""
        if self._last is None:
            return
        seq, link = self._last
        found = db.execute("SELECT hash FROM entry WHERE seq = ?", (seq,)).fetchone()
        if found != (link,):
            self._lost = True
            self._check_open()

    def _check_open(self) -> None:
        if self._lost:
            raise LedgerError(
                f"{self.path!r} has lost an entry that was committed: a backup was "
                "restored or the history was rewritten. Nothing was released."
            )
        if self._closed:
            raise LedgerError(
                f"the ledger {self.path!r} is closed: nothing was released. Open it "
                "anew."
            )

    @contextmanager
    def _telling(self, line: _Line) -> Iterator[None]:
        """Every failure of the database refuses the release and says what to do."""
        errors = self._driver.errors
        try:
            yield
        except (errors.LockNotAvailable, errors.QueryCanceled):
            self._tell("another process holds it", "try again")
        except errors.InsufficientPrivilege:
            self._tell("no permission", "let this user create and write its schema")
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            self._tell("it is gone", "restore it, do not start anew")
        except errors.OperationalError as error:
            self._drop(line)
            kind = type(error).__name__  # its text may quote the address
            self._tell(f"the server cannot be reached or stopped, {kind}", "try again")
        except self._driver.Error as error:
            self._drop(line)
            self._tell(type(error).__name__, "it is damaged or not a ledger")

    def _tell(self, what: str, hint: str) -> None:
        raise LedgerError(
            f"the ledger {self.path!r} cannot be used ({what}): {hint}; nothing was "
            "released."
        ) from None

    def is_sound(self, db: Database, *, thorough: bool) -> bool:
        """Whether the tables and triggers are the ones we made."""
        return (
            schemas.columns(db) == schemas.MADE_COLUMNS
            and schemas.triggers(db) == schemas.MADE_TRIGGERS
        )

    def bring_up(self) -> None:
        """Add the triggers that a ledger of an older version lacks."""
        with self.reading() as db:
            old = self._is_old(db)
        if not old:
            return
        with self.writing() as db:
            if self._is_old(db):
                for statement in schemas.GUARDS:
                    db.execute(statement)

    def _is_old(self, db: Database) -> bool:
        ledger = self._statements == schemas.SCHEMA
        return ledger and schemas.triggers(db) == schemas.OLD_TRIGGERS

    # Letting go

    def close(self) -> None:
        """Let go of the database, for good; waits for the transaction under way."""
        with self._writer.lock, self._reader.lock:
            self._closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        for line in (self._writer, self._reader):
            self._drop(line)

    def pause(self) -> None:
        """Before a fork: wait for the transactions under way and close."""
        self._writer.lock.acquire()
        self._reader.lock.acquire()
        self._disconnect()

    def resume(self, *, child: bool) -> None:
        """After a fork."""
        if not child:
            self._reader.lock.release()
            self._writer.lock.release()
            return
        self._writer, self._reader = _Line(), _Line()
        self._pid = os.getpid()

    def __del__(self) -> None:
        if getattr(self, "_pid", None) == os.getpid() and hasattr(self, "_reader"):
            self._disconnect()


class _Line:
    """A connection, if there is one now, and the lock of whoever uses it."""

    def __init__(self) -> None:
        self.db: Any = None
        self.lock = threading.RLock()


class _Transaction:
    """Statements in the dialect that both stores share."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def execute(self, sql: str, values: Any = (), /) -> Any:
        return self._db.execute(_dialect(sql), tuple(values) or None)

    def executemany(self, sql: str, rows: Any, /) -> None:
        if len(rows) == 1:
            self.execute(sql, rows[0])
            return
        with self._db.cursor() as cursor:
            cursor.executemany(_dialect(sql), rows)


def _dialect(sql: str) -> str:
    return sql.replace("?", "%s")


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError(
            f"a ledger in PostgreSQL needs psycopg: {install_command('service')}"
        ) from None
    return psycopg
