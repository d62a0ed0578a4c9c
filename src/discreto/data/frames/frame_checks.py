"""What is refused about a frame: names and types, never values."""

from __future__ import annotations

from collections.abc import Sequence

from discreto.core.domain.domain import Domain
from discreto.core.frame import Array, Frame, asked
from discreto.errors import DomainError


def need_columns(domain: Domain, present: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the domain."""
    absent = [name for name in domain if name not in set(present)]
    if absent:
        # A file without a header begins with somebody's row, which no error may show.
        named = any(name in domain.columns for name in present)
        has = f"; it has {some(present)}" if named else ""
        raise DomainError(
            f"the table lacks the column{'s' if len(absent) > 1 else ''} "
            f"{some(absent)} of the domain{has}. Take them out of the domain or give a "
            "table that has them." + _hint(present)
        )


def some(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, not too many of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _hint(present: Sequence[str]) -> str:
    """What to say of a table whose only column looks like a whole line."""
    for mark in (";", "\t", "|", ","):
        if len(present) == 1 and mark in present[0]:
            decimal = "," if mark == ";" else "."
            name = "tab" if mark == "\t" else mark
            return (
                f" Its first line seems to be separated by {mark!r}. Say so, and how "
                f"decimals are written: Dialect(separator={mark!r}, decimal="
                f"{decimal!r}), or --dialect 'separator={name}' --dialect "
                f"'decimal={decimal}'."
            )
    return ""


__all__ = ["Array", "Frame", "asked", "need_columns", "some"]
