"""The tables and triggers of a ledger in PostgreSQL, and how they look when read."""

from __future__ import annotations

from discreto.core.ledger.database import Database

_APPEND_ONLY = ("answer", "entry")
_REMOVES = ("delete", "truncate")
# PostgreSQL's own numbers for "before, for each statement" and the events.
_KINDS = {"insert": 6, "update": 18, "delete": 10, "truncate": 34}
# Texts are compared byte by byte, as SQLite does, whatever the server's language.
TABLES = (
    'CREATE TABLE meta(name TEXT COLLATE "C" PRIMARY KEY, value TEXT NOT NULL)',
    'CREATE TABLE account(name TEXT COLLATE "C" PRIMARY KEY, epsilon TEXT NOT NULL, '
    "spent TEXT NOT NULL)",
    "CREATE TABLE entry(seq BIGINT PRIMARY KEY, body TEXT NOT NULL, "
    'key TEXT COLLATE "C" UNIQUE, hash TEXT NOT NULL)',
    "CREATE TABLE answer(seq BIGINT PRIMARY KEY, body TEXT NOT NULL, "
    "hash TEXT NOT NULL)",
    "CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN RAISE EXCEPTION 'append only'; END$$",
    *(
        f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION append_only()"
        for table in _APPEND_ONLY
        for what in ("update", "delete", "truncate")
    ),
)
# Since version 3. Transactions of this library set ``discreto.writes`` for themselves,
# so an edit by hand is an error. Totals follow from the chain in any case.
_GUARDED = (
    *((t, what, "append_only") for t in ("account", "meta") for what in _REMOVES),
    ("meta", "update", "append_only"),
    ("account", "insert", "discreto_writes"),
    ("account", "update", "discreto_writes"),
    ("meta", "insert", "discreto_writes"),
)
_BODIES = {
    "append_only": "BEGIN RAISE EXCEPTION 'append only'; END",
    "discreto_writes": "BEGIN IF current_setting('discreto.writes', true) IS DISTINCT "
    "FROM 'on' THEN RAISE EXCEPTION 'written by discreto only'; END IF; "
    "RETURN NULL; END",
}
GUARDS = (
    "CREATE FUNCTION discreto_writes() RETURNS trigger LANGUAGE plpgsql AS "
    f"$${_BODIES['discreto_writes']}$$",
    *(
        f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        for table, what, function in _GUARDED
    ),
)
SCHEMA = TABLES + GUARDS
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
MADE_COLUMNS = {
    "meta name text NO C",
    "meta value text NO ",
    "account name text NO C",
    "account epsilon text NO ",
    "account spent text NO ",
    "entry seq bigint NO ",
    "entry body text NO ",
    "entry key text YES C",
    "entry hash text NO ",
    "answer seq bigint NO ",
    "answer body text NO ",
    "answer hash text NO ",
}
OLD_TRIGGERS = {
    f"{table} {table}_{what} {_KINDS[what]} O append_only {_BODIES['append_only']}"
    for table in _APPEND_ONLY
    for what in ("update", *_REMOVES)
}
MADE_TRIGGERS = OLD_TRIGGERS | {
    f"{table} {table}_{what} {_KINDS[what]} O {function} {_BODIES[function]}"
    for table, what, function in _GUARDED
}


def triggers(db: Database) -> set[str]:
    """Return the triggers of the schema, with what they do."""
    return {row[0] for row in db.execute(_TRIGGERS)}


def columns(db: Database) -> set[str]:
    """Return the columns of the schema, with their types."""
    return {row[0] for row in db.execute(_COLUMNS)}
