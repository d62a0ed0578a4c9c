"""The PostgreSQL schema under a ledger, for several processes and hosts.

``postgresql://host/database#patients`` is the ledger ``patients``: a schema of its own,
with the same tables, chain and fractions as a file. Writers take turns by a lock on a
table; a commit is on the server's disk before it is reported. A connection that breaks
is replaced before the next transaction begins.

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

from discreto.core.ledger import database
from discreto.core.ledger.database import CutShort, Database, Fill, StoreBase
from discreto.errors import LedgerError, MissingExtraError, ParameterError
from discreto.text import ledger_messages as say
from discreto.text.install_commands import install_command

SCHEMES = ("postgresql", "postgres")
LARGE = 1 << 16  # bytes of an answer that has a row of its own in ``large_answer``
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_REMOVES = ("delete", "truncate")
_BODIES = {
    "append_only": "BEGIN RAISE EXCEPTION 'append only'; END",
    "discreto_writes": "BEGIN IF current_setting('discreto.writes', true) IS DISTINCT "
    "FROM 'on' THEN RAISE EXCEPTION 'written by discreto only'; END IF; "
    "RETURN NULL; END",
}
# Triggers as (table, event, function): those of version 1, of 3, and of large answers.
_FIRST = tuple(
    (table, what, "append_only")
    for table in database.APPEND_ONLY
    for what in ("update", *_REMOVES)
)
_THIRD = (
    *((table, w, "append_only") for table in ("account", "meta") for w in _REMOVES),
    ("meta", "update", "append_only"),
    *((table, what, "discreto_writes") for table, what in database.GUARDED),
)
_FOURTH = tuple(("large_answer", what, "append_only") for what in ("update", *_REMOVES))


def _function(name: str) -> str:
    return (
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$${_BODIES[name]}$$"
    )


def _guards(triggers: tuple[tuple[str, str, str], ...]) -> tuple[str, ...]:
    return tuple(
        f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        for table, what, function in triggers
    )


_LARGE_TABLE = (
    'CREATE TABLE large_answer(name TEXT COLLATE "C" PRIMARY KEY, body TEXT NOT NULL)',
    *_guards(_FOURTH),
)
_GUARDS = (_function("discreto_writes"), *_guards(_THIRD))
SCHEMA = (
    # Texts are compared byte by byte, as SQLite does, whatever the server's language.
    *(
        one.format(text='TEXT COLLATE "C"', number="BIGINT", end="")
        for one in database.TABLES
    ),
    _function("append_only"),
    *_guards(_FIRST),
    *_GUARDS,
    *_LARGE_TABLE,
)
_COLUMNS = (
    "SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || "
    "is_nullable || ' ' || coalesce(collation_name, '') "
    "FROM information_schema.columns WHERE table_schema = current_schema()"
)
_TRIGGERS = (
    "SELECT c.relname || ' ' || t.tgname || ' ' || t.tgtype::text || ' ' || "
    "t.tgenabled::text || ' ' || p.proname || ' ' || p.prosrc "
    "FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "JOIN pg_proc p ON p.oid = t.tgfoid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = current_schema() AND NOT t.tgisinternal"
)
_MADE_COLUMNS = {
    *("meta name text NO C", "meta value text NO "),
    *("account name text NO C", "account epsilon text NO ", "account spent text NO "),
    *("entry seq bigint NO ", "entry body text NO "),
    *("entry key text YES C", "entry hash text NO "),
    *("answer seq bigint NO ", "answer body text NO ", "answer hash text NO "),
    *("large_answer name text NO C", "large_answer body text NO "),
}
# PostgreSQL's own numbers for "before, for each statement" and the events.
_KINDS = {"insert": 6, "update": 18, "delete": 10, "truncate": 34}


def _shown(triggers: tuple[tuple[str, str, str], ...]) -> set[str]:
    """Return triggers as ``_TRIGGERS`` finds them."""
    return {
        f"{table} {table}_{what} {_KINDS[what]} O {function} {_BODIES[function]}"
        for table, what, function in triggers
    }


def _set_of(db: Database, query: str) -> set[str]:
    return {row[0] for row in db.execute(query)}


def is_postgres(path: str) -> bool:
    """Return True if this is the address of a ledger in PostgreSQL."""
    return path.partition("://")[0] in SCHEMES and "://" in path


class PostgresStore(StoreBase):
    """Transactions on one ledger in a PostgreSQL database.

    One connection writes and one reads, so that readers do not wait for a disk. One
    thread at a time uses each. They are closed before a fork and opened again after it.
    """

    large = LARGE

    def __init__(
        self, path: str, timeout: float, schema: tuple[str, ...] = SCHEMA
    ) -> None:
        self._statements = schema
        # The first table is the one whose lock makes writers take turns.
        self._turns = schema[0].removeprefix("CREATE TABLE ").partition("(")[0]
        parts = urlsplit(path)
        if not _NAME.fullmatch(parts.fragment):
            raise ParameterError(say.BAD_ADDRESS)
        self._driver = _psycopg()
        self._server = urlunsplit(parts._replace(fragment=""))
        secret = parts.password is not None or "password=" in parts.query
        self.address = None if secret else path
        self._schema = f"discreto_{parts.fragment}"
        host = parts.netloc.rpartition("@")[2]
        self.path = f"postgresql://{host}{parts.path}#{parts.fragment}"
        self._wait = max(1, math.ceil(timeout))
        self._writer, self._reader = _Line(), _Line()
        super().__init__()

    # Opening

    def exists(self) -> bool:
        """Return True if there is a ledger already."""
        name = f"{self._schema}.{self._turns}"
        with self._transaction(self._writer, "READ ONLY") as db:
            return bool(db.execute("SELECT to_regclass(?)", (name,)).fetchone()[0])

    def create(self, fill: Fill) -> None:
        """Make the schema, complete or not at all; an existing one wins a race."""
        with self._transaction(self._writer, "") as db:
            # Processes that make it at once take turns; the others find it made.
            db.execute("SELECT pg_advisory_xact_lock(7365293)")
            query = "SELECT 1 FROM pg_namespace WHERE nspname = ?"
            if db.execute(query, (self._schema,)).fetchone() is None:
                db.execute(f"CREATE SCHEMA {self._schema}")
                for statement in self._statements:
                    db.execute(statement)
                fill(db)

    def _connection(self, line: _Line) -> Any:
        if line.db is None:
            line.db = self._open()
        return line.db

    def _open(self) -> Any:
        # A ledger need not be closed, so a connection may end without a warning.
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
                raise LedgerError(say.FSYNC_OFF.format(path=self.path))
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
            # A limit of the role for its queries is not meant for a ledger: it could
            # cut a commit, or make a long verification impossible.
            "SET LOCAL statement_timeout TO 0; "
            # A client that holds the lock and does nothing is sent away.
            f"SET LOCAL lock_timeout TO {limit}; "
            f"SET LOCAL idle_in_transaction_session_timeout TO {limit}"
        )

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """Give one consistent view."""
        kind = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self._transaction(self._reader, kind) as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """Give one transaction that no other writer interleaves with, then sync it."""
        with self._transaction(self._writer, "ISOLATION LEVEL READ COMMITTED") as db:
            db.execute(f"LOCK TABLE {self._turns} IN EXCLUSIVE MODE")
            yield db

    @contextmanager
    def _transaction(self, line: _Line, kind: str) -> Iterator[Database]:
        self._check_process()
        with line.lock, self._telling(line):
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

    def _begin(self, line: _Line, sql: str) -> None:
        """Begin on a connection that works: the server may have ended an old one."""
        if line.db is not None:
            try:
                line.db.execute(sql)
                return
            except self._driver.Error:
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

    @contextmanager
    def _telling(self, line: _Line) -> Iterator[None]:
        """Turn every failure of the database into a refusal that says what to do."""
        errors = self._driver.errors
        try:
            yield
        except (errors.LockNotAvailable, errors.QueryCanceled):
            self._refuse("another process holds it", "try again")
        except errors.InsufficientPrivilege:
            self._refuse("no permission", "let this user create and write its schema")
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            self._refuse("it is gone", "restore it, do not start anew")
        except errors.OperationalError as error:
            self._drop(line)
            kind = type(error).__name__  # its text may quote the address
            self._refuse(
                f"the server cannot be reached or stopped, {kind}", "try again"
            )
        except self._driver.Error as error:
            self._drop(line)
            self._refuse(type(error).__name__, "it is damaged or not a ledger")

    def _refuse(self, what: str, hint: str) -> None:
        raise LedgerError(
            say.POSTGRES_FAILED.format(path=self.path, what=what, hint=hint)
        ) from None

    def is_sound(self, db: Database, *, thorough: bool) -> bool:
        """Return True if the tables and triggers are those of ours."""
        made = _shown(_FIRST + _THIRD + _FOURTH)
        same = _set_of(db, _COLUMNS) == _MADE_COLUMNS
        return same and _set_of(db, _TRIGGERS) == made

    def missing(self, db: Database) -> tuple[str, ...]:
        """Return the triggers and tables that a ledger of an older version lacks."""
        found = _set_of(db, _TRIGGERS) if self._statements == SCHEMA else set()
        if found == _shown(_FIRST):
            return _GUARDS + _LARGE_TABLE
        return _LARGE_TABLE if found == _shown(_FIRST + _THIRD) else ()

    # Large answers

    def place(self, name: str) -> str:
        """Return the row of a large answer."""
        return f"{self._schema}.large_answer, {name}"

    def put_large(self, db: Database, name: str, text: str) -> None:
        """Store the text of a large answer, in the transaction of its row."""
        insert = "INSERT INTO large_answer VALUES(?, ?) ON CONFLICT DO NOTHING"
        db.execute(insert, (name, text))

    def get_large(self, db: Database, name: str) -> str | None:
        """Return the text of a large answer, or None if there is none."""
        query = "SELECT body FROM large_answer WHERE name = ?"
        found = db.execute(query, (name,)).fetchone()
        return None if found is None else str(found[0])

    # The end

    def close(self) -> None:
        """Close the database permanently, after the current transaction."""
        with self._writer.lock, self._reader.lock:
            self._closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        for line in (self._writer, self._reader):
            self._drop(line)

    def pause(self) -> None:
        """Wait for the transactions under way and close, before a fork."""
        self._writer.lock.acquire()
        self._reader.lock.acquire()
        self._disconnect()

    def resume(self, *, child: bool) -> None:
        """Go on after a fork."""
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
    """A connection, if there is one now, and the lock of the thread that uses it."""

    def __init__(self) -> None:
        self.db: Any = None
        self.lock = threading.RLock()


class _Transaction:
    """Statements in the dialect that both stores share."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def execute(self, sql: str, values: Any = (), /) -> Any:
        return self._db.execute(sql.replace("?", "%s"), tuple(values) or None)

    def executemany(self, sql: str, rows: Any, /) -> None:
        if len(rows) == 1:
            self.execute(sql, rows[0])
            return
        with self._db.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s"), rows)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError(
            say.NEEDS_PSYCOPG.format(command=install_command("service"))
        ) from None
    return psycopg
