"""What a frame of rows is: batches of plain arrays, encoded by a domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Number

BATCH = 1 << 16  # rows read at once where nothing says otherwise
Array = NDArray[Any]


# Rows from one number to another of something with a name: a file's parts, an array.
Place = tuple[str, int, int]


class Origin(Protocol):
    """Files or a database that rows come from, and that others may change."""

    def unready(self) -> str:
        """Return why rows cannot be read now, a public reason; empty if they can."""

    def unchanged(self) -> bool:
        """Return True if what was noted of the rows at the opening still holds."""

    def sessions(self) -> int:
        """Return how many connections there were; 0 without any."""

    def recovered(self, since: int) -> bool:
        """Return True if a connection was lost and replaced ``since`` so many sessions.

        Then what failed on it may be tried again.
        """


class Frame(Protocol):
    """Rows in the terms of a domain."""

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        """Arrays of at most ``size`` rows, and how many rows there are."""

    def split(self, parts: int) -> list[Frame]:
        """At most ``parts`` frames that hold these rows between them."""

    def column(self, name: str) -> Array:
        """One whole column."""

    def raw(self, name: str) -> Array:
        """Whose rows they are: whole numbers, or texts with None for nobody."""

    def length(self) -> int:
        """The number of rows: private unless the domain says otherwise."""

    def origins(self) -> tuple[Origin, ...]:
        """Return where the rows come from; nothing if they are a private copy."""

    def places(self) -> tuple[Place, ...]:
        """Return which places these rows have in the table that they are a part of."""

    def for_plan(self) -> Frame:
        """Return the same rows for one plan: copies of a database are its own."""


def asked(column: object) -> bool:
    """Whether a column can be asked about."""
    return isinstance(column, Number | Category)
