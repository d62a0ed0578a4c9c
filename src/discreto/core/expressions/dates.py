"""Parts of dates, periods of the calendar, differences and ages.

A date is a whole number of steps (days, seconds, ...) since the start of 1970 on the
clock of its column; :class:`~discreto.core.expressions.kinds.Real` says which steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreto.core.domain.dates import SECONDS, steps
from discreto.core.domain.domain import Domain
from discreto.core.expressions.kinds import Expression, Labels, Operation, Real, real
from discreto.core.expressions.values import Const
from discreto.core.query import Batch, Floats, Ints
from discreto.errors import DomainError, ParameterError

MOST_PERIODS = 1 << 16
Part = Literal["year", "quarter", "month", "day", "weekday", "hour", "minute"]


def calendar(part: Expression, domain: Domain, what: str) -> Real:
    """The range of a part that must be a date."""
    kind = real(part, domain, what)
    if not kind.calendar:
        raise DomainError(f"{what} needs a date, and {part} is a number.")
    return kind


def dated(part: Expression, other: Expression, domain: Domain) -> Expression:
    """A text beside a date is a date; anything else stays as it is."""
    if not isinstance(part, Const) or not isinstance(part.value, str):
        return part
    kind = other.kind(domain)
    if not isinstance(kind, Real) or not kind.calendar:
        return part
    resolution, zone = kind.calendar
    found = steps(part.value, resolution, zone)
    if found is None:
        raise DomainError(f"{part} is no date. Write it as '2024-01-31'.")
    return Const(found)


def date_like(part: Expression, other: Expression, domain: Domain) -> Expression:
    """``dated`` for operations between dates, where a number is none."""
    if isinstance(part, Const) and not isinstance(part.value, str):
        raise DomainError(f"{part} is no date. Write it as '2024-01-31'.")
    return dated(part, other, domain)


def _days(values: Floats, kind: Real) -> Ints:
    """Days since the start of 1970; those of missing values mean nothing."""
    per_day = 86400 // SECONDS[kind.calendar[0]]
    whole = np.floor(np.nan_to_num(values) / per_day)
    return whole.astype(np.int64)


def _months(days: Ints) -> Ints:
    """Months since the start of 1970."""
    found: Ints = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return found


def _day_of_month(days: Ints) -> Ints:
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    return days - months.astype("datetime64[D]").astype(np.int64) + 1


@dataclass(frozen=True, slots=True)
class DatePart(Operation):
    """A part of a date, as a whole number; Monday is weekday 1."""

    part: Part
    inside: Expression

    def kind(self, domain: Domain) -> Real:
        kind = calendar(self.inside, domain, self.part)
        if self.part in ("hour", "minute") and kind.calendar[0] == "day":
            raise DomainError(f"{self}: {self.inside} has days only.")
        if self.part == "minute" and kind.calendar[0] == "hour":
            raise DomainError(f"{self}: {self.inside} has hours only.")
        if self.part == "year":
            ends = self._rows(np.array([kind.lower, kind.upper]), kind)
            return Real(float(ends[0]), float(ends[1]), True, kind.missing)
        low, high = _RANGES[self.part]
        return Real(low, high, True, kind.missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        values = self.inside.rows(batch, domain)
        kind = calendar(self.inside, domain, self.part)
        return np.where(np.isnan(values), np.nan, self._rows(values, kind))

    def _rows(self, values: Floats, kind: Real) -> Floats:
        days = _days(values, kind)
        if self.part == "weekday":
            out = (days + 3) % 7 + 1  # 1970 began on a Thursday
        elif self.part == "day":
            out = _day_of_month(days)
        elif self.part in ("hour", "minute"):
            whole = np.floor(np.nan_to_num(values)).astype(np.int64)
            seconds = whole * SECONDS[kind.calendar[0]]
            rest = seconds % 86400
            out = rest // 3600 if self.part == "hour" else rest % 3600 // 60
        else:
            months = _months(days)
            year, month = months // 12 + 1970, months % 12
            out = {"year": year, "quarter": month // 3 + 1}.get(self.part, month + 1)
        return np.asarray(out, dtype=np.float64)

    def __str__(self) -> str:
        return f"{self.part}({self.inside})"


_RANGES: dict[str, tuple[float, float]] = {
    "quarter": (1.0, 4.0),
    "month": (1.0, 12.0),
    "day": (1.0, 31.0),
    "weekday": (1.0, 7.0),
    "hour": (0.0, 23.0),
    "minute": (0.0, 59.0),
}


@dataclass(frozen=True, slots=True)
class Period(Operation):
    """The year, quarter, month, week or day that a date is in, as a category."""

    inside: Expression
    unit: Literal["year", "quarter", "month", "week", "day"]

    def kind(self, domain: Domain) -> Labels:
        kind = calendar(self.inside, domain, "period")
        first, last = self.numbers(np.array([kind.lower, kind.upper]), kind).tolist()
        if last - first >= MOST_PERIODS:
            raise DomainError(f"{self} has more than {MOST_PERIODS} periods.")
        values = tuple(_period_name(n, self.unit) for n in range(first, last + 1))
        return Labels(values, kind.missing)

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        values = self.inside.rows(batch, domain)
        kind = calendar(self.inside, domain, "period")
        first = self.numbers(np.array([kind.lower]), kind)[0]
        return np.where(np.isnan(values), -1, self.numbers(values, kind) - first)

    def numbers(self, values: Floats, kind: Real) -> Ints:
        days = _days(values, kind)
        if self.unit == "day":
            return days
        if self.unit == "week":
            return (days + 3) // 7  # weeks begin on Monday
        months = _months(days)
        return months // {"year": 12, "quarter": 3, "month": 1}[self.unit]

    def __str__(self) -> str:
        return f"period({self.inside}, {self.unit!r})"


def _period_name(number: int, unit: str) -> str:
    if unit in ("day", "week"):
        day = number if unit == "day" else number * 7 - 3
        return str(np.datetime64(day, "D"))
    if unit == "year":
        return str(1970 + number)
    if unit == "quarter":
        return f"{1970 + number // 4}-Q{number % 4 + 1}"
    return str(np.datetime64(number, "M"))


@dataclass(frozen=True, slots=True)
class DaysBetween(Operation):
    """How many midnights lie between two dates; negative if the second is earlier."""

    start: Expression
    end: Expression

    def sides(self, domain: Domain) -> tuple[Expression, Expression]:
        start = date_like(self.start, self.end, domain)
        return start, date_like(self.end, self.start, domain)

    def kind(self, domain: Domain) -> Real:
        a, b = two_dates(self, *self.sides(domain), domain)
        (a_low, a_high), (b_low, b_high) = (
            _days(np.array([k.lower, k.upper]), k).tolist() for k in (a, b)
        )
        missing = a.missing or b.missing
        return Real(float(b_low - a_high), float(b_high - a_low), True, missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        start, end = self.sides(domain)
        a, b = two_dates(self, start, end, domain)
        first, second = start.rows(batch, domain), end.rows(batch, domain)
        days = (_days(second, b) - _days(first, a)).astype(np.float64)
        return np.where(np.isnan(first) | np.isnan(second), np.nan, days)

    def __str__(self) -> str:
        return f"days_between({self.start}, {self.end})"


@dataclass(frozen=True, slots=True)
class AgeAt(Operation):
    """Completed years from a date of birth to a date; 0 before birth.

    Who was born on 29 February is a year older on 1 March of other years.
    """

    birth: Expression
    at: Expression

    def sides(self, domain: Domain) -> tuple[Expression, Expression]:
        birth = date_like(self.birth, self.at, domain)
        return birth, date_like(self.at, self.birth, domain)

    def kind(self, domain: Domain) -> Real:
        birth, at = two_dates(self, *self.sides(domain), domain)
        least = _age(np.array([birth.upper]), birth, np.array([at.lower]), at)[0]
        most = _age(np.array([birth.lower]), birth, np.array([at.upper]), at)[0]
        missing = birth.missing or at.missing
        return Real(float(least), float(most), True, missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        birth, at = self.sides(domain)
        kinds = two_dates(self, birth, at, domain)
        first, second = birth.rows(batch, domain), at.rows(batch, domain)
        years = _age(first, kinds[0], second, kinds[1])
        return np.where(np.isnan(first) | np.isnan(second), np.nan, years)

    def __str__(self) -> str:
        return f"age_at({self.birth}, {self.at})"


def two_dates(
    whole: object, first: Expression, second: Expression, domain: Domain
) -> tuple[Real, Real]:
    """The ranges of two parts that must be dates; a constant is one like the other."""
    kinds = [real(part, domain, str(whole)) for part in (first, second)]
    known = [kind.calendar for kind in kinds if kind.calendar]
    if not known:
        raise ParameterError(f"{whole} needs dates.")
    out = []
    for part, kind in zip((first, second), kinds, strict=True):
        if not kind.calendar and not isinstance(part, Const):
            raise DomainError(f"{whole} needs dates, and {part} is a number.")
        shown = Real(
            kind.lower, kind.upper, True, kind.missing, kind.calendar or known[0]
        )
        out.append(shown)
    return out[0], out[1]


def _age(first: Floats, birth: Real, second: Floats, at: Real) -> Floats:
    """Completed years: they rise with the second date and fall with the first."""
    ranks = []
    for values, kind in ((first, birth), (second, at)):
        days = _days(values, kind)
        months = _months(days)
        ranks.append((months // 12, months % 12 * 32 + _day_of_month(days)))
    (year, place), (later, then) = ranks
    years = later - year - (then < place)
    return np.maximum(years, 0).astype(np.float64)
