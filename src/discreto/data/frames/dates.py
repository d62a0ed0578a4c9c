"""Dates and times of any origin as whole steps since the start of 1970.

What a value becomes depends on that value alone. What is no date is missing.
"""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from discreto.core.dates import SECONDS, DateTime, steps
from discreto.core.frame import Array

_QUARTER = 900  # seconds: clocks are changed at whole quarters of an hour
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def dates(values: Any, column: DateTime, order: str = "iso") -> Array:
    """Steps since the start of 1970 as float64, NaN for what is missing or no date."""
    with suppress(Exception):
        found = _instants(values, column)
        if found is not None:
            return found
    flat = values if isinstance(values, np.ndarray) else None
    if flat is not None and flat.dtype.kind == "M":
        return _steps_of(flat, column)
    return _one_by_one(values, column, order)


def is_date_type(name: str) -> bool:
    """Whether an arrow type of this name holds dates or times."""
    return name.startswith(("timestamp", "date32", "date64"))


def _instants(values: Any, column: DateTime) -> Array | None:
    """Columns of pandas, polars and arrow that are dates by their type."""
    import pyarrow as pa

    arrow = values.to_arrow() if hasattr(values, "to_arrow") else values
    if not isinstance(arrow, pa.Array | pa.ChunkedArray):
        return None
    kind = arrow.type
    if pa.types.is_date(kind):
        days = arrow.cast(pa.date32()).cast(pa.int32())
        found = _floats(days) * 86400
    elif pa.types.is_timestamp(kind):
        per_second = _PER_SECOND[kind.unit]
        whole, absent = _whole(arrow.cast(pa.int64()))
        seconds = whole // per_second
        if kind.tz is not None:
            seconds = seconds + _offsets(seconds, column.zone)
        found = np.where(absent, np.nan, seconds)
    else:
        return None
    return np.floor(found / SECONDS[column.resolution])


def _whole(numbers: Any) -> tuple[Array, Array]:
    import pyarrow.compute as pc

    filled = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    absent = pc.is_null(numbers).to_numpy(zero_copy_only=False)
    return np.asarray(filled, dtype=np.int64), np.asarray(absent, dtype=bool)


def _floats(numbers: Any) -> Array:
    whole, absent = _whole(numbers)
    return np.where(absent, np.nan, whole)


def _offsets(seconds: Array, zone: str) -> Array:
    """How far a zone's clock is ahead at these seconds of universal time."""
    if zone in ("", "UTC"):
        return np.zeros_like(seconds)
    there = ZoneInfo(zone)
    quarters, place = np.unique(seconds // _QUARTER, return_inverse=True)
    ahead = []
    for quarter in quarters.tolist():
        offset = None
        with suppress(Exception):  # far beyond the years that Python knows
            when = dt.datetime.fromtimestamp(quarter * _QUARTER, there)
            offset = when.utcoffset()
        ahead.append(0 if offset is None else round(offset.total_seconds()))
    return np.array(ahead, dtype=np.int64)[place.reshape(seconds.shape)]


def _steps_of(values: Array, column: DateTime) -> Array:
    """Steps of numpy's own times, which name no zone."""
    seconds = values.astype("datetime64[s]")
    whole = seconds.astype(np.int64) // SECONDS[column.resolution]
    return np.where(np.isnat(values), np.nan, whole)


def _one_by_one(values: Any, column: DateTime, order: str) -> Array:
    out = np.full(len(values), np.nan)
    several: list[Any] | None = None
    with suppress(Exception):
        several = values.tolist() if hasattr(values, "tolist") else list(_each(values))
    if several is None:  # bytes that are no text: they alone are missing
        several = [_at(values, place) for place in range(len(values))]
    for place, value in enumerate(several):
        found = _one(in_order(value, order), column)
        out[place] = np.nan if found is None else found
    return out


def in_order(value: object, order: str) -> object:
    """A text such as 31.01.2024 as 2024-01-31; whatever else as it is.

    >>> in_order("31.1.2024 08:30", "dmy"), in_order("2024-01-31", "dmy")
    ('2024-01-31 08:30', '2024-01-31')
    """
    if isinstance(value, bytes) and order != "iso":
        value = value.decode("utf-8", errors="replace")
    if not isinstance(value, str) or order == "iso":
        return value
    found = _WRITTEN.fullmatch(value.strip()[:_LONGEST])
    if found is None:
        return value
    parts = dict(zip(order, found.groups(), strict=False))
    if len(parts["y"]) != 4 or max(len(parts["m"]), len(parts["d"])) > 2:
        return value
    return f"{parts['y']}-{parts['m']:0>2}-{parts['d']:0>2}{found[4] or ''}"


_WRITTEN = re.compile(r"([0-9]{1,4})[./-]([0-9]{1,2})[./-]([0-9]{1,4})([ T].*)?")
_LONGEST = 64  # letters of a date


def _each(values: Any) -> Any:
    for value in values:
        yield value.as_py() if hasattr(value, "as_py") else value


def _at(values: Any, place: int) -> Any:
    with suppress(Exception):
        value = values[place]
        return value.as_py() if hasattr(value, "as_py") else value
    return None


def _one(value: object, column: DateTime) -> float | None:
    if isinstance(value, np.datetime64):
        return (
            None if np.isnat(value) else float(_steps_of(np.array([value]), column)[0])
        )
    return steps(value, column.resolution, column.zone)
