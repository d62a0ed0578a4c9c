"""Dates and times of a database as whole steps since the start of 1970.

Only comparisons, and arithmetic on whole numbers held as floats. A whole number x is
divided by c as ``floor((x + 1/2) * (1/c))``: x + 1/2 is at least 1/2 away from every
multiple of c, far more than two roundings can move it, so all engines find the same
number (some multiply by 1/c whatever is written).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import narwhals as nw

from discreto.core.domain.dates import SECONDS, DateTime
from discreto.data.sql.sql_terms import Expr, either, real

Literal = Callable[[Any], Expr]
_BEYOND = 1e15  # steps of what lies outside of the years 1 to 9999; cut later
SHIFT = 719468.0  # days from 1 March of the year 0 to the start of 1970


def is_clock(dtype: Any) -> bool:
    """Whether a type holds days, or times that name no zone."""
    return dtype == nw.Date or (
        isinstance(dtype, nw.Datetime) and dtype.time_zone is None
    )


def steps(raw: Expr, dtype: Any, column: DateTime, lit: Literal = nw.lit) -> Expr:
    """Whole steps since the start of 1970, as ``discreto.data.frames.dates`` counts.

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
    """The same dates; those outside of the years 1 to 9999 are at their ends.

    PostgreSQL has others, and infinity, which no Python object can hold.
    """
    first, last = _calendar(dtype)
    early, late = raw < lit(first), raw > lit(last)
    return either(early, lit(first), either(late, lit(last), raw))


def _calendar(dtype: Any) -> tuple[Any, Any]:
    """The first and the last date of a type that all engines know."""
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
    """Days since the start of 1970, in years that begin in March."""
    month, day = _float(date.dt.month()), _float(date.dt.day())
    early = month < 3
    year = _float(date.dt.year()) - either(early, real(1.0), real(0.0))
    place = month + either(early, real(9.0), real(-3.0))
    leaps = divided(year, 4) - divided(year, 100) + divided(year, 400)
    return year * 365.0 + leaps + divided(place * 153.0 + 2.0, 5) + day - (SHIFT + 1)


def divided(expr: Expr, divisor: int) -> Expr:
    """A whole number over another one, rounded down."""
    if divisor == 1:
        return expr
    return ((expr + 0.5) * real(1 / divisor)).floor()
