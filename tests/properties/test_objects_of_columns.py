"""A row of Python objects becomes what it would become alone, whatever is beside it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreto as dp
from discreto.data.frames import open_frame

UTC = dt.UTC
SUMMER = dt.datetime(2024, 7, 2, 23, 30)
PLAIN: dict[str, list[Any]] = {
    "whole numbers": [0, 1],
    "numbers": [1.0, 2.5],
    "texts": ["a", "2024-01-02"],
    "days": [dt.date(2024, 1, 2), dt.date(2024, 7, 2)],
    "times": [SUMMER, dt.datetime(2024, 1, 2, 1)],
    "numpy's times": [np.datetime64("2090-01-02T03", "s"), np.datetime64("1000", "Y")],
}
ODD: list[Any] = [
    1, 2.5, None, float("nan"), "a", "\ud800", b"a", 1j, Decimal("1.5"), 10**400, {},
    np.timedelta64(5, "s"), np.timedelta64(5, "ns"), dt.timedelta(1), dt.time(1),
    np.datetime64("2024-01-02T03:04", "ns"), dt.date(2024, 1, 2), SUMMER,
    SUMMER.replace(tzinfo=UTC), dt.datetime(9999, 12, 31), pd.NaT, pd.NA,
    pd.Timestamp("2024-07-02 03:00", tz="Asia/Tokyo"), np.array([1, 2]), [1], (1, 2),
]  # fmt: skip
COLUMNS = {
    "number": dp.Number(-1e10, 1e10),
    "category": dp.Category(["a", "2024-01-02"]),
    "truth": dp.Boolean(),
    "day": dp.Date("1990-01-01", "2100-01-01"),
    "time": dp.DateTime(
        "1990-01-01", "2100-01-01", zone="Europe/Zurich", resolution="hour"
    ),
}


def _objects(values: list[Any]) -> Any:
    return np.fromiter(values, dtype=object, count=len(values))


def _series(values: list[Any]) -> Any:
    return pd.Series(_objects(values), dtype=object)


MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": lambda values: {"c": list(values)},
    "numpy": lambda values: {"c": _objects(values)},
    "pandas": lambda values: pd.DataFrame({"c": _series(values)}),
    "polars": lambda values: pl.DataFrame({"c": pl.Series(values, dtype=pl.Object)}),
}


def _read(maker: str, column: str, values: list[Any]) -> Any:
    domain = dp.Domain({"c": COLUMNS[column]}, dialect=dp.Dialect(missing=("-",)))
    return open_frame(MAKERS[maker](values), domain).column("c")


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("column", COLUMNS)
def test_an_odd_value_changes_no_other(maker: str, column: str) -> None:
    for values in PLAIN.values():
        alone = _read(maker, column, values)
        for odd in ODD:
            after = _read(maker, column, [*values, odd])[:-1]
            before = _read(maker, column, [odd, *values])[1:]
            np.testing.assert_array_equal(after, alone, err_msg=repr(odd))
            np.testing.assert_array_equal(before, alone, err_msg=repr(odd))


def test_texts_of_pandas_are_read_fast_and_alike() -> None:
    # Whether all of a column are texts decides how it is read, not what comes of it.
    several = ["a", None, float("nan"), "b", "a"]
    for more in ([], ["x"], [1], [b"a"]):
        found = _read("pandas", "category", several + more)
        assert found[:5].tolist() == [0, -1, -1, -2, 0]
