"""Dates and times of any origin as whole steps since the start of 1970.

The result for a cell depends on that cell alone. A value that is not a date is missing.
"""

from __future__ import annotations

import datetime as dt
import math
from contextlib import suppress
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from discreto.core.domain.date_formats import COUNTED, iso_texts
from discreto.core.domain.dates import SECONDS, DateTime, steps
from discreto.core.domain.dialect import Dialect
from discreto.core.frame import Array
from discreto.data.frames.cells import cells_of, gaps_of, reader_of, without
from discreto.data.frames.elementwise import by_value, np, pc

_QUARTER = 900  # seconds: clocks are changed at whole quarters of an hour
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def dates(values: Any, column: DateTime, dialect: Dialect) -> Array:
    """Return steps since the start of 1970 as float64, NaN where there is no date."""
    return without(_dates(values, column, dialect), word_steps(column, dialect))


@lru_cache(maxsize=64)
def word_steps(column: DateTime, dialect: Dialect) -> tuple[float, ...]:
    """Return the steps of the words for gaps that spell a date.

    Where dates are stored as numbers, numbers are compared before they are steps.
    """
    counted = dialect.dates in COUNTED
    words = [
        word
        for word in dialect.missing
        if not counted or math.isnan(reader_of(dialect)(word))
    ]
    found = _one_by_one(words, column, dialect)
    return tuple(dict.fromkeys(found[~np.isnan(found)].tolist()))


def _dates(values: Any, column: DateTime, dialect: Dialect) -> Array:
    with suppress(Exception):
        found = _instants(values, column)
        if found is not None:
            return found
    if dialect.dates in COUNTED:
        with suppress(Exception):
            numbers = _stored_numbers(values)
            if numbers is not None:
                gaps = gaps_of(dialect).stored(numbers.dtype.name)
                return _counted(without(numbers.astype(float), gaps), column, dialect)
    flat = values if isinstance(values, np.ndarray) else None
    if flat is not None and flat.dtype.kind == "M":
        return _steps_of(flat, column)
    return _one_by_one(values, column, dialect)


def _stored_numbers(values: Any) -> Array | None:
    """Return the numbers of a column whose type is numeric; None for other types."""
    from discreto.data.frames.convert import plain

    flat = plain(values)
    return flat if flat.dtype.kind in "fiu" else None


def _counted(numbers: Array, column: DateTime, dialect: Dialect) -> Array:
    """Return the steps of dates that are stored as numbers."""
    if dialect.dates == "excel":
        # Excel has a 29 February 1900, day 60, that never was.
        days = np.where(numbers < 60, numbers + 1, numbers) - _EXCEL
        days = np.where((numbers >= 60) & (numbers < 61), np.nan, days)
        found = np.floor(days * 86400 + 1e-3)  # a time is a rounded part of a day
    else:
        found = np.floor(numbers / (1000 if dialect.dates == "epoch-ms" else 1))
    known = (found >= _FIRST) & (found <= _LAST)  # years 1 to 9999
    seconds = np.where(known, found, 0).astype(np.int64)
    if dialect.dates != "excel":  # it names an instant, in universal time
        seconds = seconds + _offsets(seconds, column.zone)
    out = np.floor(seconds / SECONDS[column.resolution])
    return np.where(known, out, np.nan)


_EXCEL = 25569  # the day of Excel that is the start of 1970
_FIRST, _LAST = -62135596800, 253402300799


def _instants(values: Any, column: DateTime) -> Array | None:
    """Return the steps of columns that are dates by their type; None for others."""
    import pyarrow as pa

    arrow = values.to_arrow() if hasattr(values, "to_arrow") else values
    if not isinstance(arrow, pa.Array | pa.ChunkedArray):
        return None
    kind = arrow.type
    if pa.types.is_date(kind):
        days, absent = _whole(arrow.cast(pa.date32()).cast(pa.int32()))
        seconds = days * 86400
    elif pa.types.is_timestamp(kind):
        per_second = _PER_SECOND[kind.unit]
        whole, absent = _whole(arrow.cast(pa.int64()))
        seconds = whole // per_second
        if kind.tz is not None:
            seconds = seconds + _offsets(seconds, column.zone)
    else:
        return None
    return np.floor(np.where(absent, np.nan, seconds) / SECONDS[column.resolution])


def _whole(numbers: Any) -> tuple[Array, Array]:
    filled = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    absent = pc.is_null(numbers).to_numpy(zero_copy_only=False)
    return np.asarray(filled, dtype=np.int64), np.asarray(absent, dtype=bool)


def _offsets(seconds: Array, zone: str) -> Array:
    """Return how many seconds a zone's clock is ahead of universal time."""
    if zone in ("", "UTC"):
        return np.zeros_like(seconds)
    there = ZoneInfo(zone)

    def offset(quarter: int) -> int:
        found = None
        with suppress(Exception):  # far beyond the years that Python knows
            when = dt.datetime.fromtimestamp(quarter * _QUARTER, there)
            found = when.utcoffset()
        return 0 if found is None else round(found.total_seconds())

    return by_value(
        seconds // _QUARTER, lambda several: np.array([*map(offset, several)], np.int64)
    )


def _steps_of(values: Array, column: DateTime) -> Array:
    """Return the steps of numpy's own times, which name no zone."""
    seconds = values.astype("datetime64[s]")
    whole = seconds.astype(np.int64) // SECONDS[column.resolution]
    return np.where(np.isnat(values), np.nan, whole)


def _one_by_one(values: Any, column: DateTime, dialect: Dialect) -> Array:
    several = cells_of(values)
    out, other = np.full(len(several), np.nan), np.ones(len(several), dtype=bool)
    if dialect.dates in COUNTED:
        read = reader_of(dialect)
        spelt = [np.nan if _is_date(one) else read(one) for one in several]
        numbers = np.array(spelt, dtype=np.float64)
        known = without(numbers, gaps_of(dialect).numbers)
        out, other = _counted(known, column, dialect), np.isnan(numbers)
    for place in np.flatnonzero(other).tolist():
        found = _one(several[place], column, dialect.dates)
        out[place] = np.nan if found is None else found
    return out


def _is_date(value: object) -> bool:
    return isinstance(value, dt.date | np.datetime64 | np.timedelta64)


def _one(value: object, column: DateTime, form: str) -> float | None:
    if isinstance(value, np.datetime64):
        found = _steps_of(np.array([value]), column)[0]
        return None if np.isnan(found) else float(found)
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if not isinstance(value, str):
        return steps(value, column.resolution, column.zone)
    texts = iso_texts(value, form)
    found = [steps(text, column.resolution, column.zone) for text in texts]
    known = [step for step in found if step is not None]
    inside = [step for step in known if column.lower <= step <= column.upper]
    return next(iter(inside or known), None)
