"""What a service remembers besides its ledgers: people, secrets, jobs, audits.

Workers share it, so that any of them can take any request: a SQLite file, or a schema
in PostgreSQL. Secrets are stored as hashes. Nothing in it is about rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from discreto.core.ledger.database import Database
from discreto.core.ledger.postgres import PostgresStore, is_postgres
from discreto.core.ledger.sqlite import SqliteStore

_SCHEMA = (
    "CREATE TABLE person(name TEXT PRIMARY KEY, role TEXT NOT NULL, "
    "email TEXT NOT NULL, active INTEGER NOT NULL)",
    "CREATE TABLE secret(id TEXT PRIMARY KEY, kind TEXT NOT NULL, "
    "person TEXT NOT NULL, hash TEXT NOT NULL, extra TEXT NOT NULL, "
    "created REAL NOT NULL, expires REAL NOT NULL, revoked INTEGER NOT NULL)",
    "CREATE TABLE job(id TEXT PRIMARY KEY, person TEXT NOT NULL, tbl TEXT NOT NULL, "
    "label TEXT NOT NULL, answer TEXT NOT NULL, status TEXT NOT NULL, "
    "message TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL, "
    "created REAL NOT NULL, beat REAL NOT NULL)",
)


# Made when they are missing: a state of an older version has none.
_LATER = (
    "CREATE TABLE IF NOT EXISTS draft(tbl TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS audit(id TEXT PRIMARY KEY, tbl TEXT NOT NULL, "
    "subject TEXT NOT NULL, person TEXT NOT NULL, created REAL NOT NULL, "
    "status TEXT NOT NULL, body TEXT NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may sign in."""

    name: str
    role: str
    email: str = ""
    active: bool = True


@dataclass(frozen=True, slots=True)
class Secret:
    """A token, a session or a link for signing in, without what it is hashed from."""

    id: str
    kind: str
    person: str
    hash: str
    extra: str
    created: float
    expires: float
    revoked: int

    @property
    def alive(self) -> bool:
        """Whether it can still be used."""
        return not self.revoked and time.time() < self.expires


@dataclass(frozen=True, slots=True)
class Job:
    """A long piece of work and how far it has come."""

    id: str
    person: str
    table: str
    label: str
    answer: str
    status: str  # waiting, running, done, refused, cancelled, died
    message: str
    done: int
    total: int
    created: float
    beat: float

    @property
    def open(self) -> bool:
        """Whether there is still something to come."""
        return self.status in ("waiting", "running")


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit and what it found, as JSON."""

    id: str
    table: str
    subject: str
    person: str
    created: float
    status: str  # running, done, refused
    body: str


Bearer = tuple[Secret, Person | None]
_MOST_BEARERS = 256  # that a worker remembers


class State:
    """People, secrets, jobs, drafts and audits, shared by all workers."""

    def __init__(self, path: str, timeout: float = 10.0) -> None:
        shared = is_postgres(path)
        schema, later = (tuple(_own(s, shared) for s in t) for t in (_SCHEMA, _LATER))
        kind = PostgresStore if shared else SqliteStore
        self._store: PostgresStore | SqliteStore = kind(path, timeout, schema)
        # Bearers that were read since the last change of the state, by any worker.
        self._bearers: tuple[object, dict[str, Bearer]] = (None, {})
        if not self._store.exists():
            self._store.create(lambda db: None)
        with self._store.writing() as db:
            for statement in later:
                db.execute(statement)

    def _write(self, sql: str, values: tuple[Any, ...]) -> None:
        with self._store.writing() as db:
            db.execute(sql, values)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._store.look(sql, values)

    # People

    def add_person(self, person: Person) -> None:
        """Somebody new; who is there already stays as they are."""
        self._write(
            "INSERT INTO person VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (person.name, person.role, person.email.lower(), int(person.active)),
        )

    def people(self) -> list[Person]:
        """Everybody, by name."""
        rows = self._read("SELECT name, role, email, active FROM person ORDER BY name")
        return [Person(n, role, email, bool(on)) for n, role, email, on in rows]

    def person(self, name: str) -> Person | None:
        """Somebody by name."""
        query = "SELECT name, role, email, active FROM person WHERE name = ?"
        rows = self._read(query, (name,))
        return next((Person(n, r, e, bool(on)) for n, r, e, on in rows), None)

    def by_email(self, email: str) -> Person | None:
        """Somebody by the e-mail that a provider has verified."""
        known = email.lower()
        return next((p for p in self.people() if p.email and p.email == known), None)

    def set_active(self, name: str, *, active: bool) -> None:
        """Let somebody in, or no longer; their secrets end with it."""
        with self._store.writing() as db:
            values = (int(active), name)
            db.execute("UPDATE person SET active = ? WHERE name = ?", values)
            if not active:
                db.execute("UPDATE secret SET revoked = 1 WHERE person = ?", (name,))

    # Secrets

    def add_secret(self, secret: Secret) -> None:
        """Store a secret's hash."""
        self._write(
            "INSERT INTO secret VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(secret.id, secret.kind, secret.person, secret.hash, secret.extra),
                *(secret.created, secret.expires, int(secret.revoked)),
            ),
        )

    def secret(self, id_: str) -> Secret | None:
        """A secret by its name."""
        rows = self._read("SELECT * FROM secret WHERE id = ?", (id_,))
        return Secret(*rows[0]) if rows else None

    def bearer(self, id_: str) -> Bearer | None:
        """Return a secret by its name, and its person if it has one.

        A secret that was read before is read again only after a change of the state.
        """
        seen = self._store.seen()
        before, known = self._bearers
        if seen is None or seen != before:
            known = {}
        found = known.get(id_) or self._read_bearer(id_)
        if found is not None and len(known) < _MOST_BEARERS:
            # The state was as ``seen`` before the row was read, so the row is as new.
            self._bearers = (seen, {**known, id_: found})
        return found

    def _read_bearer(self, id_: str) -> Bearer | None:
        rows = self._read(
            "SELECT secret.*, name, role, email, active FROM secret "
            "LEFT JOIN person ON name = person WHERE id = ?",
            (id_,),
        )
        if not rows:
            return None
        secret, (name, role, email, on) = Secret(*rows[0][:8]), rows[0][8:]
        return secret, None if name is None else Person(name, role, email, bool(on))

    def secrets(self, person: str = "") -> list[Secret]:
        """The tokens of somebody, or of all, newest first."""
        rows = self._read(
            "SELECT * FROM secret WHERE kind = 'token' AND (person = ? OR ? = '') "
            "ORDER BY created DESC",
            (person, person),
        )
        return [Secret(*row) for row in rows]

    def revoke(self, id_: str) -> bool:
        """End a secret; whether it was still good, so that links work once."""
        with self._store.writing() as db:
            query = "SELECT 1 FROM secret WHERE id = ? AND revoked = 0"
            good = db.execute(query, (id_,)).fetchone() is not None
            db.execute("UPDATE secret SET revoked = 1 WHERE id = ?", (id_,))
        return good

    # Jobs

    def add_job(self, job: Job) -> None:
        """A new piece of work."""
        self._write(
            "INSERT INTO job VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(job.id, job.person, job.table, job.label, job.answer, job.status),
                *(job.message, job.done, job.total, job.created, job.beat),
            ),
        )

    def job(self, id_: str) -> Job | None:
        """A job by its name."""
        rows = self._read("SELECT * FROM job WHERE id = ?", (id_,))
        return Job(*rows[0]) if rows else None

    def jobs(self, person: str) -> list[Job]:
        """The newest jobs of somebody."""
        query = "SELECT * FROM job WHERE person = ? ORDER BY created DESC LIMIT 100"
        return [Job(*row) for row in self._read(query, (person,))]

    def set_job(self, id_: str, **parts: Any) -> None:
        """Change what is known of a job that is still open."""
        names = ", ".join(f"{name} = ?" for name in parts)
        self._write(
            f"UPDATE job SET {names} WHERE id = ? "  # noqa: S608 - names of our own
            "AND status IN ('waiting', 'running')",
            (*parts.values(), id_),
        )

    def beat(self, ids: list[str]) -> None:
        """These jobs are alive."""
        with self._store.writing() as db:
            for id_ in ids:
                _beat(db, id_)

    def bury(self, before: float) -> list[Job]:
        """Open jobs that have not been alive since; they count as died from now on."""
        query = "SELECT * FROM job WHERE status IN ('waiting', 'running') AND beat < ?"
        with self._store.writing() as db:
            found = [Job(*row) for row in db.execute(query, (before,)).fetchall()]
            for job in found:
                db.execute("UPDATE job SET status = 'died' WHERE id = ?", (job.id,))
        return found

    def live_answers(self, since: float) -> set[str]:
        """The keys of answers that living jobs work on."""
        query = "SELECT answer FROM job WHERE status = 'running' AND beat >= ?"
        return {row[0] for row in self._read(query, (since,))}

    # Drafts of domains, and audits

    def set_draft(self, table: str, body: str) -> None:
        """Keep the draft of a table's domain, in the place of the one before."""
        self._write(
            "INSERT INTO draft VALUES(?, ?) "
            "ON CONFLICT(tbl) DO UPDATE SET body = excluded.body",
            (table, body),
        )

    def draft(self, table: str) -> str | None:
        """The draft of a table's domain, if one was kept."""
        rows = self._read("SELECT body FROM draft WHERE tbl = ?", (table,))
        return rows[0][0] if rows else None

    def add_audit(self, audit: Audit) -> None:
        """An audit that has begun."""
        self._write(
            "INSERT INTO audit VALUES(?, ?, ?, ?, ?, ?, ?)",
            (
                *(audit.id, audit.table, audit.subject, audit.person),
                *(audit.created, audit.status, audit.body),
            ),
        )

    def end_audit(self, id_: str, status: str, body: str) -> None:
        """What an audit found."""
        update = "UPDATE audit SET status = ?, body = ? WHERE id = ?"
        self._write(update, (status, body, id_))

    def audits(self) -> list[Audit]:
        """The newest audits."""
        query = "SELECT * FROM audit ORDER BY created DESC LIMIT 100"
        return [Audit(*row) for row in self._read(query)]

    def close(self) -> None:
        """Let go of it."""
        self._store.close()


def _beat(db: Database, id_: str) -> None:
    db.execute("UPDATE job SET beat = ? WHERE id = ?", (time.time(), id_))


def _own(statement: str, shared: bool) -> str:
    """A statement in the words of PostgreSQL, or of SQLite."""
    wide = statement.replace(" REAL ", " DOUBLE PRECISION ")
    return wide if shared else f"{statement} STRICT"
