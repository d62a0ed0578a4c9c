"""What a frame of rows is: batches of plain arrays, encoded by a domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from discreto.core.domain import Category, Number

BATCH = 1 << 16  # rows read at once where nothing says otherwise
Array = NDArray[Any]


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


def asked(column: object) -> bool:
    """Whether a column can be asked about."""
    return isinstance(column, Number | Category)
