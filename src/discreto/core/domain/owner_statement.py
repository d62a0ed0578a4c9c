"""The owner's public statement that a text file was read as its domain says.

Texts that are not numbers or dates by the dialect count as missing. How many there are
is a fact about rows, so it is not stored: the record says that the owner has looked,
when, and with which dialect and columns. It holds no number taken from rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreto.core.domain.columns import Number
from discreto.core.domain.dates import DateTime
from discreto.core.domain.dialect import Dialect
from discreto.errors import DomainError

if TYPE_CHECKING:
    from discreto.core.domain.domain import Domain

READ = "at least 95 %"  # of the texts of every column; less is not recorded


@dataclass(frozen=True)
class OwnerStatement:
    """That the owner has checked how a text file is read. It is public.

    Parameters
    ----------
    date
        The day of the check, as in ``"2026-01-31"``.
    dialect
        A digest of the dialect. Under another dialect the statement is void.
    columns
        The columns of numbers and dates that were read, with their kinds.
    read
        The share of texts that were read in each of them, as a class: ``"at least
        95 %"``.
    """

    date: str
    dialect: str
    columns: Mapping[str, str]
    read: str = READ

    def __post_init__(self) -> None:
        texts = [self.date, self.dialect, self.read]
        plain = isinstance(self.columns, Mapping)
        if plain:
            texts += [*self.columns, *self.columns.values()]
        if not plain or not all(isinstance(text, str) for text in texts):
            raise DomainError(
                'the part "checked" of a domain file cannot be read. Delete it, and '
                "record the check anew: discreto domain check --owner --record."
            )
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @classmethod
    def of(cls, domain: Domain) -> OwnerStatement:
        """Return the statement of an owner who has checked a domain today."""
        day = date.today().isoformat()
        return cls(day, _digest(domain.dialect), _spelled(domain))

    @classmethod
    def from_dict(cls, data: Any) -> OwnerStatement | None:
        """Read the JSON form; None where a file has none."""
        if data is None:
            return None
        if not isinstance(data, Mapping) or set(data) != {
            *("date", "dialect", "columns", "read")
        }:
            data = {"date": "", "dialect": "", "columns": None}
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, as it stands in a domain file."""
        facts = {"date": self.date, "dialect": self.dialect, "read": self.read}
        return facts | {"columns": dict(self.columns)}

    def covers(self, domain: Domain) -> bool:
        """Return True if the dialect and the columns are those that were checked."""
        same = self.dialect == _digest(domain.dialect)
        return same and _spelled(domain).items() <= self.columns.items()


def _spelled(domain: Domain) -> dict[str, str]:
    """The columns whose texts are read as numbers or dates, with their kinds."""
    columns = domain.columns.items()
    return {
        name: "date" if isinstance(column, DateTime) else "number"
        for name, column in columns
        if isinstance(column, Number)
    }


def _digest(dialect: Dialect | None) -> str:
    """A short digest of a dialect; none is the usual one."""
    text = json.dumps((dialect or Dialect()).to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def has_spelled(domain: Domain) -> bool:
    """Return True if a domain has columns of numbers or dates."""
    return bool(_spelled(domain))
