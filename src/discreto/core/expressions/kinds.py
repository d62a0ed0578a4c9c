"""What an expression is worth in every row: a number in a range, or one of some labels.

Ranges are carried through by interval arithmetic on the same floats that rows go
through. Every operation that is used is monotone after rounding, so a row's value can
never leave the range that was worked out from the ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreto.core.domain.dates import Date, DateTime, show_date
from discreto.core.domain.domain import Category, Column, Domain, Number, Value
from discreto.core.frame import Array
from discreto.core.query import Batch, Floats, Ints
from discreto.core.validation import forms_of
from discreto.errors import DomainError

LARGEST = 1e150  # numbers beyond become this: products of two of them are still finite
SMALLEST = 1e-150  # numbers below become 0: no product of two of them underflows


@dataclass(frozen=True, slots=True)
class Real:
    """Numbers from ``lower`` to ``upper``; NaN stands for what is missing."""

    lower: float
    upper: float
    integer: bool = False
    missing: bool = False
    calendar: tuple[str, ...] = ()  # of dates: their resolution and zone


@dataclass(frozen=True, slots=True)
class Labels:
    """Codes of ``values``; -1 stands for what is missing."""

    values: tuple[Value, ...]
    missing: bool = False


Kind = Real | Labels
TRUTHS = (False, True)


class Expression(Protocol):
    """A row-local function of the columns of a row, as data.

    ``kind`` refuses what does not fit the domain; ``rows`` never fails after that.
    """

    def kind(self, domain: Domain) -> Kind: ...
    def rows(self, batch: Batch, domain: Domain) -> Array: ...
    def columns(self) -> tuple[str, ...]: ...


class Operation:
    """What all kinds of expressions share."""

    __slots__ = ()

    def kind(self, domain: Domain) -> Kind:
        """What it is worth in every row, or a refusal from public facts."""
        raise NotImplementedError

    def check(self, domain: Domain) -> None:
        """Refuse what does not fit a domain."""
        self.kind(domain)

    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        found: list[str] = []
        for name in forms_of(type(self)):
            value = getattr(self, name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Operation):
                    found += part.columns()
        return tuple(dict.fromkeys(found))


def tidy(numbers: Floats) -> Floats:
    """Numbers that every engine can calculate with: none too large, none too small."""
    out = np.clip(numbers, -LARGEST, LARGEST)
    return np.where(np.abs(out) < SMALLEST, 0.0, out)


def tidy_ends(*ends: float) -> tuple[float, float]:
    """The least and the largest of the values at the ends of ranges."""
    low, high = tidy(np.array([min(ends), max(ends)])).tolist()
    return low, high


def real(part: Expression, domain: Domain, what: str) -> Real:
    """The range of a part that must be a number."""
    kind = part.kind(domain)
    if not isinstance(kind, Real):
        raise DomainError(f"{what} needs numbers, and {part} is a category.")
    return kind


def labels(part: Expression, domain: Domain, what: str) -> Labels:
    """The labels of a part that must be a category."""
    kind = part.kind(domain)
    if not isinstance(kind, Labels):
        raise DomainError(f"{what} needs a category, and {part} is a number.")
    return kind


def truth(part: Expression, domain: Domain, what: str) -> Labels:
    """The labels of a part that must be true or false."""
    kind = part.kind(domain)
    if not isinstance(kind, Labels) or kind.values != TRUTHS:
        raise DomainError(f"{what} needs something true or false, and {part} is not.")
    return kind


def code_of(value: Value, kind: Labels) -> int:
    """The code of a value among labels, or -1; a text is never a number here."""
    return codes_of((value,), kind)[0]


def codes_of(values: tuple[Value, ...], kind: Labels) -> list[int]:
    """The code of each value among labels, or -1."""
    places: dict[tuple[bool, Value], int] = {}
    for code, known in enumerate(kind.values):
        places.setdefault((isinstance(known, str), known), code)
    return [places.get((isinstance(value, str), value), -1) for value in values]


def known_codes(codes: Ints, kind: Labels) -> Ints:
    """Codes of labels; whatever else was there is missing."""
    return np.where((codes >= 0) & (codes < len(kind.values)), codes, -1)


def recoded(codes: Ints, table: list[int]) -> Ints:
    """Codes by way of a table; what was missing stays so."""
    return np.array([*table, -1], dtype=np.int64)[codes]


def gather(values: list[Value]) -> tuple[tuple[Value, ...], list[int]]:
    """The different values in the order of their first place, and the code of each."""
    seen: dict[tuple[bool, Value], int] = {}
    table = [seen.setdefault((isinstance(v, str), v), len(seen)) for v in values]
    return tuple(value for _, value in seen), table


def column_of(kind: Kind, text: str) -> Column:
    """The column that an expression makes, with a domain of its own."""
    if isinstance(kind, Labels):
        return Category(kind.values, missing=kind.missing)
    if kind.lower == kind.upper:
        raise DomainError(f"{text} is the same in every row: there is nothing to ask.")
    if max(-kind.lower, kind.upper) >= LARGEST:
        raise DomainError(
            f"{text} has no useful bounds, since it may divide by what is nearly 0 or "
            "grow without end. Say which values count: (...).clip(lower, upper)."
        )
    if kind.calendar:
        return _date_column(kind)
    return Number(kind.lower, kind.upper, integer=kind.integer, missing=kind.missing)


def _date_column(kind: Real) -> Column:
    """A column of dates with the range and the clock of another."""
    resolution, zone = kind.calendar
    kept = DateTime(
        show_date(kind.lower, f"{resolution}s since 1970-01-01"),
        show_date(kind.upper, f"{resolution}s since 1970-01-01"),
        resolution=resolution,  # type: ignore[arg-type]
        zone=zone,
        missing=kind.missing,
    )
    if zone or resolution != "day":
        return kept
    return Date(kept.show(kept.lower), kept.show(kept.upper), missing=kind.missing)
