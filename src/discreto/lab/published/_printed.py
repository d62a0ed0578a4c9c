"""What a source prints of an algorithm, and what is true of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Printed:
    """A line of the catalogue: one algorithm as printed.

    Attributes
    ----------
    name
        The callable here that does what is printed.
    source, where
        The source (S0 to S4) and the place in it.
    row
        The row, or rows, of the calibration table.
    claim
        The guarantee that is printed.
    add_remove, replace
        The true guarantee when one row is added or removed, or replaced.
    holds
        The neighbour relations for which the printed claim is true.
    ours
        The corrected counterpart in discreto.
    """

    name: str
    source: str
    where: str
    row: str
    claim: str
    add_remove: str
    replace: str
    holds: tuple[str, ...]
    ours: str

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return asdict(self) | {"holds": list(self.holds)}

    def section(self) -> str:
        """The record as a section of a docstring."""
        lines = {
            "Source": f"{self.source}, {self.where}; row {self.row} of the table",
            "Claim": self.claim,
            "Add/remove": self.add_remove,
            "Replace": self.replace,
            "Ours": self.ours,
        }
        body = "\n".join(f"{word:<13}{text}" for word, text in lines.items())
        return f"As printed\n----------\n{body}\n"


def printed(
    source: str,
    where: str,
    row: str,
    *,
    claim: str,
    add_remove: str,
    replace: str,
    ours: str,
    holds: tuple[str, ...] = (),
) -> Callable[[Thing], Thing]:
    """Attach a record to a function or class, and write it into its docstring."""

    def mark(thing: Any) -> Any:
        record = Printed(
            thing.__name__, source, where, row, claim, add_remove, replace, holds, ours
        )
        thing.printed = record
        thing.__doc__ = f"{inspect.cleandoc(thing.__doc__)}\n\n{record.section()}"
        return thing

    return mark
