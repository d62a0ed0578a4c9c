"""Dates and times of a database as whole steps since the start of 1970.

Only comparisons, and arithmetic on whole numbers held as floats. A whole number x is
divided by c as ``floor((x + 1/2) * (1/c))``: x + 1/2 is at least 1/2 away from every
multiple of c, far more than two roundings can move it, so all engines find the same
number (some multiply by 1/c whatever is written).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreto.core.domain.dates import SECONDS, DateTime
from discreto.core.expressions import AgeAt, DatePart, DaysBetween, Period
from discreto.core.expressions.dates import calendar, two_dates
from discreto.core.expressions.kinds import Real
from discreto.data.sql.row_language import Expr, either, real, whole

if TYPE_CHECKING:
    from discreto.data.sql.columns import Columns

Literal = Callable[[Any], Expr]
_BEYOND = 1e15  # steps of what lies outside of the years 1 to 9999; cut later
SHIFT = 719468.0  # days from 1 March of the year 0 to the start of 1970


def is_clock(dtype: Any) -> bool:
    """Return True if a type holds days, or times that name no zone."""
    return dtype == nw.Date or (
        isinstance(dtype, nw.Datetime) and dtype.time_zone is None
    )


def steps(raw: Expr, dtype: Any, column: DateTime, lit: Literal = nw.lit) -> Expr:
    """Return whole steps since the start of 1970, as ``data.frames.dates`` counts.

    No engine takes a date apart that others do not know: those are replaced first.
    ``lit`` writes a date down.
    """
    first, last = _calendar(dtype)
    early, late = raw < lit(first), raw > lit(last)
    known = within_calendar(raw, dtype, lit)
    found = _days_of(known)
    if column.resolution != "day":
        per_day = 86400 // SECONDS[column.resolution]
        found = found * per_day
        if dtype != nw.Date:
            seconds = _float(known.dt.hour()) * 3600.0
            seconds = seconds + _float(known.dt.minute()) * 60.0
            seconds = seconds + _float(known.dt.second())
            found = found + divided(seconds, SECONDS[column.resolution])
    return either(early, real(-_BEYOND), either(late, real(_BEYOND), found))


def within_calendar(raw: Expr, dtype: Any, lit: Literal = nw.lit) -> Expr:
    """Return dates; those outside of the years 1 to 9999 are moved to the ends.

    PostgreSQL has others, and infinity, which no Python object can hold.
    """
    first, last = _calendar(dtype)
    early, late = raw < lit(first), raw > lit(last)
    return either(early, lit(first), either(late, lit(last), raw))


def _calendar(dtype: Any) -> tuple[Any, Any]:
    """Return the first and the last date of a type that all engines know."""
    if dtype == nw.Date:
        return dt.date(1, 1, 1), dt.date(9999, 12, 31)
    if dtype.time_zone is not None:  # a driver may show them by any clock
        ends = dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)
        return tuple(end.replace(tzinfo=dt.UTC) for end in ends)  # type: ignore[return-value]
    if dtype.time_unit == "ns":  # DuckDB fails at others, if there is a row at all
        return dt.datetime(1677, 9, 22), dt.datetime(2262, 4, 11, 23, 47, 16)
    return dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)


def _float(expr: Expr) -> Expr:
    return expr.cast(nw.Float64)


def _days_of(date: Expr) -> Expr:
    """Return days since the start of 1970, counted in years that begin in March."""
    month, day = _float(date.dt.month()), _float(date.dt.day())
    early = month < 3
    year = _float(date.dt.year()) - either(early, real(1.0), real(0.0))
    place = month + either(early, real(9.0), real(-3.0))
    leaps = divided(year, 4) - divided(year, 100) + divided(year, 400)
    return year * 365.0 + leaps + divided(place * 153.0 + 2.0, 5) + day - (SHIFT + 1)


def divided(expr: Expr, divisor: int) -> Expr:
    """Return a whole number over another one, rounded down."""
    if divisor == 1:
        return expr
    return ((expr + 0.5) * real(1 / divisor)).floor()


def part_of(part: DatePart, found: Expr, rows: Columns) -> Expr:
    """Return a part of a date."""
    kind = calendar(part.inside, rows.domain, part.part)
    if part.part in ("hour", "minute"):
        seconds = found.floor() * float(SECONDS[kind.calendar[0]])
        rest = _rest(seconds, 86400, rows)
        if part.part == "hour":
            return divided(rest, 3600)
        return divided(_rest(rest, 3600, rows), 60)
    day = days(found, kind, rows)
    if part.part == "weekday":
        return _rest(day + 3.0, 7, rows) + 1.0  # 1970 began on a Thursday
    year, month, number = civil(day, rows)
    if part.part == "quarter":
        return divided(month + 2.0, 3)
    return {"year": year, "month": month, "day": number}[part.part]


def _rest(expr: Expr, divisor: int, rows: Columns) -> Expr:
    (expr,) = rows.let([expr])
    (found,) = rows.let([expr - divided(expr, divisor) * float(divisor)])
    return found


def period_of(part: Period, found: Expr, rows: Columns) -> Expr:
    """Return the code of the year, quarter, month, week or day of a date."""
    kind = calendar(part.inside, rows.domain, "period")
    first = float(part.numbers(np.array([kind.lower]), kind)[0])
    number = days(found, kind, rows)
    if part.unit == "week":
        number = divided(number + 3.0, 7)
    elif part.unit != "day":
        year, month, _ = civil(number, rows)
        months = (year - 1970.0) * 12.0 + month - 1.0
        number = divided(months, {"year": 12, "quarter": 3, "month": 1}[part.unit])
    code = (number - first).cast(nw.Int64)
    return either(found.is_null(), whole(-1), code)


def days_between(part: DaysBetween, first: Expr, second: Expr, rows: Columns) -> Expr:
    """Return the number of midnights between two dates."""
    start, end = two_dates(part, *part.sides(rows.domain), rows.domain)
    first, second = rows.beside(
        lambda: days(first, start, rows), lambda: days(second, end, rows)
    )
    return second - first


def age_at(part: AgeAt, first: Expr, second: Expr, rows: Columns) -> Expr:
    """Return completed years between two dates, 0 before the first."""
    birth, at = two_dates(part, *part.sides(rows.domain), rows.domain)
    (year, month, day), (later, then, number) = rows.beside(
        lambda: civil(days(first, birth, rows), rows),
        lambda: civil(days(second, at, rows), rows),
    )
    early = then * 32.0 + number < month * 32.0 + day
    (years,) = rows.let([later - year - either(early, real(1.0), real(0.0))])
    return either(years < 0, real(0.0), years)


def days(expr: Expr, kind: Real, rows: Columns) -> Expr:
    """Return days since the start of 1970 for a date of any resolution."""
    per_day = 86400 // SECONDS[kind.calendar[0]]
    (found,) = rows.let([divided(expr.floor(), per_day)])
    return found


def civil(day: Expr, rows: Columns) -> tuple[Expr, Expr, Expr]:
    """Return year, month and day of the month for days since the start of 1970."""
    (away,) = rows.let([day + SHIFT])
    (era,) = rows.let([divided(away, 146097)])  # 400 years
    (rest,) = rows.let([away - era * 146097.0])
    leaps = divided(rest, 1460) - divided(rest, 36524) + divided(rest, 146096)
    (year,) = rows.let([divided(rest - leaps, 365)])
    before = year * 365.0 + divided(year, 4) - divided(year, 100)
    (rest,) = rows.let([rest - before])
    (place,) = rows.let([divided(rest * 5.0 + 2.0, 153)])
    month = place + either(place < 10, real(3.0), real(-9.0))
    number = rest - divided(place * 153.0 + 2.0, 5) + 1.0
    month, number = rows.let([month, number])
    late = either(month < 3, real(1.0), real(0.0))
    (year,) = rows.let([year + era * 400.0 + late])
    return year, month, number
