"""What a ledger needs of the database under it, SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from discreto.errors import LedgerError


class Found(Protocol):
    """What a statement found."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A transaction under way; ``?`` stands for a value in every dialect."""

    def execute(self, sql: str, values: Any = ..., /) -> Found: ...
    def executemany(self, sql: str, rows: Any, /) -> object: ...


class CutShort(LedgerError):
    """A commit whose outcome is not known: the connection or the disk failed in it."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"the ledger {path!r} was cut off in mid-commit ({why}): it may have been "
            "charged, and nothing was released. Ask again under the same key; without "
            "a key, look at the ledger's entries first."
        )


Fill = Callable[[Database], None]


class LedgerStore(Protocol):
    """Transactions on the rows of one ledger, and nothing about their meaning."""

    path: str

    @property
    def address(self) -> str | None:
        """How another process opens the same ledger; nothing: it cannot."""

    def exists(self) -> bool:
        """Whether there is a ledger already."""

    def create(self, fill: Fill) -> None:
        """Make it, complete or not at all; an existing one wins a race."""

    def reading(self) -> AbstractContextManager[Database]:
        """One consistent view."""

    def look(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """What one statement finds."""

    def writing(self) -> AbstractContextManager[Database]:
        """One transaction that no other writer interleaves with, durable at its end.

        Raises ``CutShort`` if the commit failed and may have been made nevertheless.
        """

    def remember(self, seq: int, link: str) -> None:
        """An entry that was committed here: it must be there from now on."""

    def bring_up(self) -> None:
        """Add the triggers that a ledger of an older version lacks."""

    def is_sound(self, db: Database, *, thorough: bool) -> bool:
        """Whether the tables and triggers are the ones that were made, and whole.

        ``thorough`` reads all of it.
        """

    def close(self) -> None:
        """Let go of it, for good."""
