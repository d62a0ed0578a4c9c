"""The tables and triggers of a ledger in SQLite."""

from __future__ import annotations

TABLES = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE account(name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "spent TEXT NOT NULL) STRICT",
    "CREATE TABLE entry(seq INTEGER PRIMARY KEY, body TEXT NOT NULL, "
    "key TEXT UNIQUE, hash TEXT NOT NULL) STRICT",
    "CREATE TABLE answer(seq INTEGER PRIMARY KEY, body TEXT NOT NULL, "
    "hash TEXT NOT NULL) STRICT",
    "CREATE TRIGGER entry_update BEFORE UPDATE ON entry "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER entry_delete BEFORE DELETE ON entry "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER answer_update BEFORE UPDATE ON answer "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER answer_delete BEFORE DELETE ON answer "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
)
# Since version 3. The function is known to connections of this library only, so an
# edit by hand is an error. Limits and totals follow from the chain in any case.
GUARDS = (
    "CREATE TRIGGER meta_update BEFORE UPDATE ON meta "
    "BEGIN SELECT RAISE(ABORT, 'append only'); END",
    *(
        f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'append only'); END"
        for table in ("account", "meta")
    ),
    *(
        f"CREATE TRIGGER {table}_{what} BEFORE {what.upper()} ON {table} "
        "WHEN discreto_writes() <> 1 "
        "BEGIN SELECT RAISE(ABORT, 'written by discreto only'); END"
        for table, what in (
            ("account", "insert"),
            ("account", "update"),
            ("meta", "insert"),
        )
    ),
)
SCHEMA = TABLES + GUARDS
