"""What a frame is, and what is refused about one: names and types, never values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from discreto.core.domain import Category, Domain, Number
from discreto.errors import DomainError

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


def need_columns(domain: Domain, present: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the domain."""
    absent = [name for name in domain if name not in set(present)]
    if absent:
        raise DomainError(
            f"the table lacks the column{'s' if len(absent) > 1 else ''} "
            f"{', '.join(map(repr, absent))} of the domain. Take them out with "
            "domain.select([...]) or give a table that has them."
        )


def wrong_type(name: str, column: object, found: str) -> DomainError:
    """The refusal of a column whose type cannot fit the domain."""
    return DomainError(
        f"column {name!r} is {type(column).__name__} in the domain but holds {found} "
        "values. Change the domain or convert the column."
    )


def asked(column: object) -> bool:
    """Whether a column can be asked about."""
    return isinstance(column, Number | Category)
