"""Cells of dates and times, and their values as people write them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from discreto.core.domain.dates import SECONDS, DateTime, steps
from discreto.synthesis._junction_tree import Floats

_START = dt.datetime(1970, 1, 1)
# Periods of the calendar from short to long: numpy's unit, and how many of them.
_PERIODS = (("h", 1), ("D", 1), ("W", 1), ("M", 1), ("M", 3), ("Y", 1), ("Y", 10))


def period_edges(column: DateTime, most: int) -> Floats:
    """Where the periods begin that are the shortest of which there are few enough.

    Hours, days, weeks, months, quarters, years or decades of the column's own clock;
    none where even decades are too many.

    >>> from discreto.core.domain.dates import Date
    >>> year = Date("2023-01-01", "2023-12-31")
    >>> [year.show(edge) for edge in period_edges(year, 12)][:3]
    ['2023-02-01', '2023-03-01', '2023-04-01']
    """
    length = SECONDS[column.resolution]
    ends = np.array([column.lower, column.upper]) * length
    first, last = ends.astype("M8[s]")
    for unit, many in _PERIODS:
        if SECONDS["hour"] < length and unit == "h":
            continue
        periods = [end.astype(f"M8[{unit}]").astype(np.int64) for end in (first, last)]
        starts = np.arange(periods[0] // many + 1, periods[1] // many + 1) * many
        if len(starts) < most:
            found = starts.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64)
            return np.asarray(found // length, dtype=float)
    return np.empty(0)


def read_edges(values: list[Any], column: DateTime) -> list[float] | None:
    """Declared edges as steps since the start of 1970; None if one is no date."""
    found = [steps(value, column.resolution, column.zone) for value in values]
    return None if None in found else [float(edge or 0) for edge in found]


def points(drawn: Floats, column: DateTime) -> list[Any]:
    """Dates, or times on the clock of the column's zone; what is missing is None."""
    length = SECONDS[column.resolution]
    out: list[Any] = []
    for value in drawn.tolist():
        if value != value:
            out.append(None)
            continue
        when = _START + dt.timedelta(seconds=int(value) * length)
        out.append(when.date() if column.resolution == "day" else when)
    return out
