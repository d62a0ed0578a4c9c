"""Columns of a database as expressions, in the terms of a domain.

What a value becomes is what :mod:`~discreto.data.frames.convert` makes of it, written
so that no engine can fail or round in a way of its own: missing numbers are filled
before any arithmetic and remembered in a column of truths, numbers are cut to a wide
band before they are calculated with, and codes are chosen by comparisons.

Columns of the table are named once, in the first selection; after that every column
has a short name of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw

from discreto.core.domain.dates import DateTime
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.data.frames.cells import gaps_of
from discreto.data.frames.convert import number_codes
from discreto.data.frames.dates import word_steps
from discreto.data.sql import Untranslated
from discreto.data.sql.dates import is_clock, steps
from discreto.data.sql.sql_terms import among, clip, either, real, whole
from discreto.errors import DomainError

if TYPE_CHECKING:
    from discreto.data.sql.backend import Backend

Expr = nw.Expr
T = TypeVar("T")
MOST_CHOICES = 1 << 12  # categories or cuts of one column that are compared with
MOST_STAGES = 128  # selections inside of each other; an operation takes two to four
_BAND = 8.0  # half ranges from the centre to which numbers are cut
_CHAIN = 8  # choices that are tried one after the other


def kind_of(dtype: Any) -> str | None:
    """What a column of a database holds, if expressions can calculate with it."""
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
    """Whether expressions read a column of this type as rows in memory would."""
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


class Columns:
    """The rows of a query: columns by name, and what was worked out on the way."""

    def __init__(
        self,
        backend: Backend,
        frame: Any,
        domain: Domain,
        names: Sequence[str],
        *,
        beside: bool = False,
    ) -> None:
        self.backend, self.domain, self._next = backend, domain, 0
        self.views = 0  # steps that may have given a name to another column
        self._memory: dict[Hashable, Any] = {}
        self._first: dict[str, Expr] = {}  # read from the table before all else
        self._stages: list[dict[str, Expr]] = []
        self._built = 0  # stages that are part of the frame already
        self._level = 0  # how many stages what is translated now is built on
        self._made: dict[str, tuple[Expr, Expr]] = {}  # derived columns
        self._frame, self._beside, self._opened = frame, beside, False
        self._schema = frame.collect_schema()
        self._prefix = "v"
        while any(name.lower().startswith(self._prefix) for name in self._schema):
            self._prefix += "_"  # in databases large and small letters may be the same
        for name in names:
            if not readable(domain[name], self._schema[name]):
                raise Untranslated(f"column {name!r} of type {self._schema[name]}")

    def _new(self) -> str:
        self._next += 1
        self._last = f"{self._prefix}{self._next}"
        return self._last

    def let(self, exprs: Sequence[Expr]) -> list[Expr]:
        """Work out expressions once; later ones refer to them by name."""
        return [nw.col(name) for name in self.named(exprs)]

    def named(self, exprs: Sequence[Expr]) -> list[str]:
        """The same; the names of the new columns."""
        made = {self._new(): expr for expr in exprs}
        if self._level == len(self._stages):
            if self._built + self._level == MOST_STAGES:
                raise Untranslated(f"a query of more than {MOST_STAGES} stages")
            self._stages.append({})
        self._stages[self._level] |= made
        self._level += 1
        return list(made)

    def apart(self, make: Callable[[], T]) -> T:
        """What ``make`` builds on columns alone, beside what is built already.

        Parts of a question that do not need each other share their stages.
        """
        before, self._level = self._level, 0
        made = make()
        self._level = max(before, self._level)
        return made

    def beside(self, *makes: Callable[[], T]) -> list[T]:
        """What each of these builds on what there is, in stages that they share."""
        before = most = self._level
        found = []
        for make in makes:
            self._level = before
            found.append(make())
            most = max(most, self._level)
        self._level = most
        return found

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was worked out under this key, for the maps that share it."""
        if key not in self._memory:
            made = self.apart(make)
            self._memory[key] = made, self._level
        found, level = self._memory[key]
        self._level = max(self._level, level)
        return found

    @property
    def frame(self) -> Any:
        """The rows with all that was worked out so far."""
        if not self._opened:
            # Beside the columns of the table, or instead of them. A count needs no
            # column: rows are counted, whatever is in them.
            if self._first and self._beside:
                self._frame = self._frame.with_columns(**self._first)
            elif self._first:
                self._frame = self._frame.select(**self._first)
            self._frame, self._opened = self.backend.fence(self._frame), True
        for stage in self._stages:
            self._frame = self.backend.fence(self._frame.with_columns(**stage))
        self._built += len(self._stages)
        self._stages, self._level = [], 0
        self._memory = {key: (made, 0) for key, (made, _) in self._memory.items()}
        return self._frame

    def open(self, names: Sequence[str]) -> None:
        """Read columns now: what comes next no longer sees the table itself."""
        for name in names:
            if isinstance(self.domain[name], Category):
                self.code(name)
            else:
                for read in (self.value, self.tight, self.absent):
                    read(name)
        _ = self.frame

    def _read(self, key: Hashable, make: Callable[[], Expr]) -> Expr:
        """A column that is read from the table in the first selection."""
        if key not in self._memory:
            if self._opened:
                raise Untranslated("a column that was not read in time")
            self._first[self._new()] = make()
            self._memory[key] = nw.col(self._last), 0
        found: Expr = self._memory[key][0]
        return found

    def value(self, name: str) -> Expr:
        """A Number, the centre where it is missing, cut to a wide band.

        Every map cuts it again, and inside of the band arithmetic is that of numpy; but
        nothing can overflow.
        """
        column = self.domain.number(name)
        wide = _BAND * column.half
        most = 2 * max(abs(column.lower), abs(column.upper))  # some measure from 0
        low, high = column.centre - wide, column.centre + wide
        return self._number(name, min(low, -most), max(high, most))

    def tight(self, name: str) -> Expr:
        """A Number cut to its bounds, the centre where it is missing."""
        column = self.domain.number(name)
        return self._number(name, column.lower, column.upper)

    def _number(self, name: str, low: float, high: float) -> Expr:
        if name in self._made:
            return clip(self._made[name][0], low, high)
        dated = isinstance(self.domain[name], DateTime)

        def make() -> Expr:
            raw, absent = self._raw(name)
            if dated:  # long to write down: once is enough
                raw = self._read(("steps", name), lambda: raw)
                absent = self.absent(name)
            cut = either(raw > real(high), real(high), raw)
            cut = either(raw < real(low), real(low), cut)
            return either(absent, real(self.domain.number(name).centre), cut)

        key = ("number", name, low, high)
        if dated:
            return self.remember(key, lambda: self.let([make()])[0])
        return self._read(key, make)

    def _raw(self, name: str) -> tuple[Expr, Expr]:
        """A number of the table, and whether there is none."""
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
        """Whether there is no value, or none of the declared ones."""
        if isinstance(self.domain[name], Category):
            return self.code(name) < 0
        if name in self._made:
            return self._made[name][1]
        return self._read(("absent", name), lambda: self._raw(name)[1])

    def code(self, name: str) -> Expr:
        """The place of a Category's value in the declared list, -1 for others."""
        column = self.domain.category(name)
        if name in self._made:
            return self._made[name][0]
        kind = kind_of(self._schema[name])
        return self._read(("code", name), lambda: _code(nw.col(name), kind, column))

    def offset(self, name: str, origin: float, *, tight: bool = False) -> Expr:
        """A Number in its band, or in its bounds, measured from an origin."""

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

    def over(self, expr: Expr, divisor: float) -> Expr:
        """A quotient, rounded as IEEE 754 says."""
        return self.backend.over(expr, divisor, self._some_number())

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
        """A derived column: numbers are null where missing, codes are -1."""
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

    def keep(self, condition: Expr) -> None:
        """Only the rows for which a condition holds."""
        self._frame = self.frame.filter(condition)


def search(
    expr: Expr, cuts: Sequence[float], pick: Callable[[int], Expr], *, right: bool
) -> Expr:
    """What ``pick`` gives for the number of cuts below a value, or up to it."""
    if len(cuts) > MOST_CHOICES:
        raise Untranslated(f"more than {MOST_CHOICES} cuts of a column")

    def find(first: int, last: int) -> Expr:
        if first == last:
            return pick(first)
        middle = (first + last + 1) // 2
        cut = real(cuts[middle - 1])
        below = expr < cut if right else expr <= cut
        return either(below, find(first, middle - 1), find(middle, last))

    return find(0, len(cuts))


def table(code: Expr, values: Sequence[Expr], default: Expr) -> Expr:
    """The entry of a list that a code names."""

    def find(first: int, last: int) -> Expr:
        if last - first == 1:
            return values[first]
        middle = (first + last) // 2
        return either(code < middle, find(first, middle), find(middle, last))

    inside = (code >= 0) & (code < len(values))
    return either(inside, find(0, len(values)), default)


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
