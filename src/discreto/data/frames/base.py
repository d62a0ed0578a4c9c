"""What is refused about a frame: names and types, never values."""

from __future__ import annotations

from collections.abc import Sequence

from discreto.core.domain import Domain
from discreto.core.frame import Array, Frame, asked
from discreto.errors import DomainError


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


__all__ = ["Array", "Frame", "asked", "need_columns", "wrong_type"]
