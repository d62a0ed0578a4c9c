"""Which store keeps a ledger: a file, memory, or a schema in PostgreSQL."""

from __future__ import annotations

from discreto.core.ledger.database import LedgerStore
from discreto.core.ledger.postgres import PostgresStore, is_postgres
from discreto.core.ledger.store import Store


def store_of(path: str, timeout: float) -> tuple[LedgerStore, str]:
    """The store that a path names, and the path as it may be shown."""
    if is_postgres(path):
        store = PostgresStore(path, timeout)
        return store, store.path  # without the password
    return Store(path, timeout), path
