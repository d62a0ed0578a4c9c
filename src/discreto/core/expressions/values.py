"""Columns and constants: what expressions are made of."""

from __future__ import annotations

import keyword
import math
from dataclasses import dataclass

import numpy as np

from discreto.core.domain.dates import DateTime
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.expressions.kinds import (
    TRUTHS,
    Kind,
    Labels,
    Operation,
    Real,
    known_codes,
    tidy,
    tidy_ends,
)
from discreto.core.query import Batch, Floats, Ints
from discreto.errors import DomainError, ParameterError

_WORDS = ("by", "col", "where")  # a column of this name is written col('by')


@dataclass(frozen=True, slots=True)
class Col(Operation):
    """A column of the table, clipped to its bounds."""

    name: str

    def kind(self, domain: Domain) -> Kind:
        column = domain[self.name]
        if isinstance(column, Number):
            low, high = tidy_ends(column.lower, column.upper)
            clock = (
                (column.resolution, column.zone) if isinstance(column, DateTime) else ()
            )
            return Real(low, high, column.integer, column.missing, clock)
        if isinstance(column, Category):
            return Labels(column.categories, column.missing)
        raise DomainError(f"{self.name!r} is opaque: it cannot be asked about.")

    def rows(self, batch: Batch, domain: Domain) -> Floats | Ints:
        kind = self.kind(domain)
        if isinstance(kind, Labels):
            return known_codes(batch[self.name], kind)
        return np.clip(tidy(batch[self.name]), kind.lower, kind.upper)

    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __str__(self) -> str:
        name = self.name
        odd = name in _WORDS or keyword.iskeyword(name) or not name.isascii()
        return f"col({name!r})" if odd or not name.isidentifier() else name


@dataclass(frozen=True, slots=True)
class Const(Operation):
    """The same number, text or truth in every row."""

    value: float | str | bool

    def __post_init__(self) -> None:
        value = self.value
        long = isinstance(value, int) and abs(value) > 10**300  # no float holds it
        if not isinstance(value, str) and (long or not math.isfinite(value)):
            raise ParameterError(
                "a constant is a finite number up to 1e300, a text or a truth."
            )
        if isinstance(value, int) and not isinstance(value, bool):
            object.__setattr__(self, "value", float(value))

    def kind(self, domain: Domain) -> Kind:
        if isinstance(self.value, bool):
            return Labels(TRUTHS)
        if isinstance(self.value, str):
            return Labels((self.value,))
        low, high = tidy_ends(self.value)
        return Real(low, high, integer=float(self.value).is_integer())

    def rows(self, batch: Batch, domain: Domain) -> Floats | Ints:
        if isinstance(self.value, bool | str):
            return np.array(int(self.value is True), dtype=np.int64)
        return tidy(np.array(self.value, dtype=np.float64))

    def __str__(self) -> str:
        value = self.value
        if not isinstance(value, float):
            return repr(value)
        whole = value.is_integer() and abs(value) < 1e15
        text = str(int(value)) if whole else repr(value)
        return text if value >= 0 else f"({text})"  # -1 ** 2 is something else
