"""Columns of a database as expressions, in the terms of a domain.

What a value becomes is what :mod:`~discreto.data.frames.convert` makes of it, written
so that no engine can fail or round in a way of its own: missing numbers are filled
before any arithmetic and remembered in a column of truths, numbers are cut to a wide
band before they are calculated with, and codes are chosen by comparisons.

Columns of the table are named once, in the first selection; after that every column
has a short name of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreto.core.domain.dates import DateTime
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.data.frames.cells import gaps_of
from discreto.data.frames.convert import number_codes
from discreto.data.frames.dates import word_steps
from discreto.data.sql import Untranslated
from discreto.data.sql.dates import is_clock, steps
from discreto.data.sql.row_language import (
    MOST_CHOICES,
    Expr,
    among,
    clip,
    either,
    real,
    whole,
)
from discreto.data.sql.stages import Stages, StayingRows
from discreto.errors import DomainError

if TYPE_CHECKING:
    from discreto.data.sql.backends import Backend

_BAND = 8.0  # half ranges from the centre to which numbers are cut
_CHAIN = 8  # choices that are tried one after the other


def kind_of(dtype: Any) -> str | None:
    """Return the kind of values of a column, None if expressions cannot use them."""
    if dtype == nw.Boolean:
        return "truth"
    if dtype in (nw.Float64, nw.Float32):
        return "float"
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return "whole"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return None


def readable(column: Column, dtype: Any) -> bool:
    """Return True if expressions read a column of this type as memory would."""
    kind = kind_of(dtype)
    if isinstance(column, DateTime):
        # Texts are read as rows in memory are; zones, databases know in their own ways.
        return is_clock(dtype)
    if isinstance(column, Category):
        few = len(column.categories) <= MOST_CHOICES
        if column.aliases or column.strip or not column.case:
            return False  # spellings are looked up as rows in memory are
        plain = all(type(value) is str for value in column.categories)
        return few and (plain if kind == "text" else kind is not None)
    return isinstance(column, Number) and kind in ("truth", "float", "whole")


class Columns(Stages):
    """The columns of a query by name, and what was worked out on the way."""

    def __init__(
        self,
        backend: Backend,
        frame: Any,
        domain: Domain,
        names: Sequence[str],
        *,
        kept: StayingRows | None = None,
        beside: bool = False,
    ) -> None:
        super().__init__(backend, frame, kept, beside=beside)
        self.domain = domain
        self.views = 0  # steps that may have given a name to another column
        self._made: dict[str, tuple[Expr, Expr]] = {}  # derived columns
        for name in names:
            if not readable(domain[name], self._schema[name]):
                raise Untranslated(f"column {name!r} of type {self._schema[name]}")

    def open(self, names: Sequence[str]) -> None:
        """Read columns now: what comes next no longer sees the table itself."""
        for name in names:
            if isinstance(self.domain[name], Category):
                self.code(name)
            else:
                for read in (self.value, self.tight, self.absent):
                    read(name)
        _ = self.frame

    def value(self, name: str) -> Expr:
        """Return a Number, the centre where it is missing, cut to a wide band.

        Every map cuts it again, and inside of the band arithmetic is that of numpy; but
        nothing can overflow.
        """
        column = self.domain.number(name)
        wide = _BAND * column.half
        most = 2 * max(abs(column.lower), abs(column.upper))  # some measure from 0
        low, high = column.centre - wide, column.centre + wide
        return self._number(name, min(low, -most), max(high, most))

    def tight(self, name: str) -> Expr:
        """Return a Number cut to its bounds, the centre where it is missing."""
        column = self.domain.number(name)
        return self._number(name, column.lower, column.upper)

    def _number(self, name: str, low: float, high: float) -> Expr:
        if name in self._made:
            return clip(self._made[name][0], low, high)
        dated = isinstance(self.domain[name], DateTime)

        def make() -> Expr:
            raw, absent = self._raw(name)
            if dated:  # long to write down: once is enough
                raw = self.read(("steps", name), lambda: raw)
                absent = self.absent(name)
            cut = either(raw > real(high), real(high), raw)
            cut = either(raw < real(low), real(low), cut)
            return either(absent, real(self.domain.number(name).centre), cut)

        key = ("number", name, low, high)
        if dated:
            return self.remember(key, lambda: self.let([make()])[0])
        return self.read(key, make)

    def _raw(self, name: str) -> tuple[Expr, Expr]:
        """Return a number of the table, and True where it is missing."""
        raw, dtype = nw.col(name), self._schema[name]
        column, dialect = self.domain[name], self.domain.dialect or Dialect()
        kind, absent = kind_of(dtype), raw.is_null()
        if isinstance(column, DateTime):
            found = steps(raw, dtype, column, self.backend.literal)
            return found, among(found, word_steps(column, dialect), absent)
        numbers = raw.cast(nw.Float64) if kind != "truth" else _zero_one(raw)
        if kind == "float":
            absent = absent | numbers.is_nan()
        short = "float32" if dtype == nw.Float32 else "float64"
        return numbers, among(numbers, gaps_of(dialect).stored(short), absent)

    def absent(self, name: str) -> Expr:
        """Return True where there is no value, or none of the declared ones."""
        if isinstance(self.domain[name], Category):
            return self.code(name) < 0
        if name in self._made:
            return self._made[name][1]
        return self.read(("absent", name), lambda: self._raw(name)[1])

    def code(self, name: str) -> Expr:
        """Return the place of a value among the categories, -1 for others."""
        column = self.domain.category(name)
        if name in self._made:
            return self._made[name][0]
        kind = kind_of(self._schema[name])
        return self.read(("code", name), lambda: _code(nw.col(name), kind, column))

    def offset(self, name: str, origin: float, *, tight: bool = False) -> Expr:
        """Return a Number in its band, or in its bounds, measured from an origin."""

        def make() -> Expr:
            away = self.tight(name) if tight else self.value(name)
            away = away - real(origin) if origin else away
            if not self.backend.strict:
                return away
            # Too small to be seen in any map, and its products would underflow.
            tiny = self.domain.number(name).half * 2.0**-200
            (away,) = self.let([away])
            return either(away.abs() < real(tiny), real(0.0), away)

        return self.remember(("offset", name, origin, tight), make)

    def quotient(self, expr: Expr, divisor: float) -> Expr:
        """Return a quotient, rounded as IEEE 754 says."""
        return self.backend.quotient(expr, divisor, self._some_number())

    def _some_number(self) -> Expr:
        for key, (made, level) in self._memory.items():
            if isinstance(key, tuple) and key[0] == "number":
                self._level = max(self._level, level)
                found: Expr = made
                return found
        for found, _ in self._made.values():
            return found
        raise Untranslated("a quotient without numbers")

    def add_column(self, name: str, expr: Expr, column: Column) -> None:
        """Add a derived column: numbers are null where missing, codes are -1."""
        if isinstance(column, Category):
            (code,) = self.let([expr])
            self._made[name] = code, code < 0
        elif isinstance(column, Number):
            (made,) = self.let([expr])
            filled = nw.coalesce(made, real(column.centre))
            value, absent = self.let([filled, made.is_null()])
            self._made[name] = value, absent
        else:
            raise DomainError(f"{name!r} is opaque: it cannot be asked about.")


def _zero_one(raw: Expr) -> Expr:
    return either(raw, real(1.0), real(0.0))


def _code(raw: Expr, kind: str | None, column: Category) -> Expr:
    if kind == "text":
        texts = raw.cast(nw.String)
        keys: list[Any] = list(column.categories)
        codes, found = list(range(len(keys))), texts
    else:
        pairs = number_codes(column)
        keys, codes = list(pairs), list(pairs.values())
        found = raw.cast(nw.Float64) if kind != "truth" else raw
        if kind == "truth":
            found = _zero_one(raw)
    if not keys:
        return either(raw.is_null(), whole(-1), whole(-1)).cast(nw.Int64)
    literal = nw.lit if kind == "text" else real

    def find(first: int, last: int) -> Expr:
        if last - first <= _CHAIN:
            out = whole(-1)
            for key, code in zip(
                reversed(keys[first:last]), reversed(codes[first:last]), strict=True
            ):
                out = either(found == literal(key), whole(code), out)
            return out
        middle = (first + last) // 2
        among = found.is_in(keys[first:middle])
        return either(among, find(first, middle), find(middle, last))

    absent = raw.is_null()
    return either(absent, whole(-1), find(0, len(keys))).cast(nw.Int64)
