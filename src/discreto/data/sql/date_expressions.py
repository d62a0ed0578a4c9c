"""Translations of what is asked of dates: their parts, periods and differences."""

from __future__ import annotations

import narwhals as nw
import numpy as np

from discreto.core.domain.dates import SECONDS
from discreto.core.expressions import AgeAt, DatePart, DaysBetween, Period
from discreto.core.expressions.dates import calendar, two_dates
from discreto.core.expressions.kinds import Real
from discreto.data.sql.columns import Columns
from discreto.data.sql.dates import SHIFT, divided
from discreto.data.sql.sql_terms import Expr, either, real, whole


def part_of(part: DatePart, found: Expr, rows: Columns) -> Expr:
    """A part of a date."""
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
    """The code of the year, quarter, month, week or day of a date."""
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
    """How many midnights lie between two dates."""
    start, end = two_dates(part, *part.sides(rows.domain), rows.domain)
    first, second = rows.beside(
        lambda: days(first, start, rows), lambda: days(second, end, rows)
    )
    return second - first


def age_at(part: AgeAt, first: Expr, second: Expr, rows: Columns) -> Expr:
    """Completed years between two dates, 0 before the first."""
    birth, at = two_dates(part, *part.sides(rows.domain), rows.domain)
    (year, month, day), (later, then, number) = rows.beside(
        lambda: civil(days(first, birth, rows), rows),
        lambda: civil(days(second, at, rows), rows),
    )
    early = then * 32.0 + number < month * 32.0 + day
    (years,) = rows.let([later - year - either(early, real(1.0), real(0.0))])
    return either(years < 0, real(0.0), years)


def days(expr: Expr, kind: Real, rows: Columns) -> Expr:
    """Days since the start of 1970 of a date, whatever it counts."""
    per_day = 86400 // SECONDS[kind.calendar[0]]
    (found,) = rows.let([divided(expr.floor(), per_day)])
    return found


def civil(day: Expr, rows: Columns) -> tuple[Expr, Expr, Expr]:
    """Year, month and day of the month of days since the start of 1970."""
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
