"""Dates: read from anywhere, on the clock that was declared, asked like numbers."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreto as dp
from discreto.core.domain.dates import steps
from discreto.data.frames import convert
from discreto.errors import DomainError, ParameterError
from discreto.stats import sentence
from discreto.testing import simulate

DAY = dp.Date("2020-01-01", "2024-12-31")
ZURICH = dp.DateTime(
    "2024-01-01", "2024-12-31", resolution="second", zone="Europe/Zurich"
)
DAYS = [dt.date(2020, 2, 29), dt.date(1969, 7, 20), dt.date(2024, 12, 31), None]
WANTED = [18321.0, -165.0, 20088.0, np.nan]


@pytest.mark.parametrize(
    "values",
    [
        np.array(DAYS, dtype=object),
        np.array(["2020-02-29", "1969-07-20", b"2024-12-31", "31.12.2024"], object),
        np.array([f"{d} 13:45:10" if d else "" for d in DAYS], dtype=object),
        np.array(DAYS, dtype="datetime64[D]"),
        np.array(DAYS, dtype="datetime64[ns]"),
        pa.array(DAYS),
        pa.array(DAYS, type=pa.date64()),
        pa.array([None if d is None else dt.datetime(d.year, d.month, d.day, 23, 59)
                  for d in DAYS], type=pa.timestamp("us")),
        pa.array(["2020-02-29", "1969-07-20", "2024-12-31", None]),
        pl.Series(DAYS),
    ],
)  # fmt: skip
def test_days_of_any_origin(values):
    assert np.array_equal(convert(values, DAY), WANTED, equal_nan=True)


def test_a_clock_is_that_of_its_zone():
    """Summer and winter, and the hours at which the clocks are changed."""
    times = [
        dt.datetime(2024, 1, 15, 12, tzinfo=dt.UTC),
        dt.datetime(2024, 7, 15, 12, tzinfo=dt.UTC),
        dt.datetime(2024, 3, 31, 0, 59, 59, tzinfo=dt.UTC),
        dt.datetime(2024, 3, 31, 1, 0, 0, tzinfo=dt.UTC),
    ]
    wanted = ["2024-01-15 13:00:00", "2024-07-15 14:00:00"]
    wanted += ["2024-03-31 01:59:59", "2024-03-31 03:00:00"]
    for values in (
        np.array(times, dtype=object),
        np.array([t.isoformat() for t in times], dtype=object),
        pa.array(times, type=pa.timestamp("us", tz="UTC")),
        pa.array(times, type=pa.timestamp("ns", tz="America/New_York")),
        pl.Series(times),
    ):
        found = convert(values, ZURICH)
        assert [ZURICH.show(value) for value in found] == wanted
    naive = convert(np.array(["2024-07-15T12:00"], dtype=object), ZURICH)
    assert ZURICH.show(naive[0]) == "2024-07-15 12:00:00"


HOSTILE = [None, "", "x", "0000-00-00", 7, 3.5, float("nan"), b"\xff", object(), True]
HOSTILE += [dt.datetime.max.replace(tzinfo=dt.UTC), dt.date.min, pd.NaT, [1]]


def test_no_value_fails():
    values = np.empty(len(HOSTILE), dtype=object)
    values[:] = HOSTILE
    found = convert(values, ZURICH)
    assert found.dtype == np.float64
    assert found.size == len(HOSTILE)
    for place in range(len(HOSTILE)):  # each by itself is what it is beside others
        alone = convert(values[place : place + 1], ZURICH)
        assert np.array_equal(alone, found[place : place + 1], equal_nan=True)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe/Zürich", "../passwd"])
def test_unknown_zones_are_refused(zone):
    with pytest.raises(DomainError, match="time zone"):
        dp.DateTime("2024-01-01", "2024-12-31", zone=zone)


def test_other_declarations_are_refused():
    with pytest.raises(DomainError, match="two texts"):
        dp.Date("2024-01-01", "yesterday")
    with pytest.raises(DomainError, match="first day before the last"):
        dp.Date("2024-01-02", "2024-01-01")
    with pytest.raises(DomainError, match="resolution"):
        dp.DateTime("2024-01-01", "2024-12-31", resolution="fortnight")


def test_domain_files(tmp_path):
    domain = dp.Domain({"d": DAY, "t": ZURICH, "o": dp.Opaque("datetime")})
    domain.save(tmp_path / "d.json")
    again = dp.Domain.load(tmp_path / "d.json")
    assert again == domain
    assert again.fingerprint == domain.fingerprint
    assert "2020-01-01 to 2024-12-31" in repr(again)
    with pytest.raises(DomainError, match="malformed"):
        dp.Domain.from_dict({"columns": {"d": {"type": "date", "first": 1, "last": 2}}})


COINS = np.random.default_rng(3)
ROWS = 4000
BORN = np.datetime64("1930-01-01") + COINS.integers(0, 30_000, ROWS)
SEEN = np.datetime64("2022-01-01") + COINS.integers(0, 730, ROWS)
DATA = {"born": BORN, "seen": SEEN, "sex": COINS.choice(["f", "m"], ROWS)}
DOMAIN = dp.Domain(
    {
        "born": dp.Date("1930-01-01", "2013-12-31", missing=False),
        "seen": dp.Date("2022-01-01", "2023-12-31", missing=False),
        "sex": dp.Category(["f", "m"], missing=False),
    }
)
TABLE = dp.Table(DATA, DOMAIN, simulate(noise=False))
FRAME = pd.DataFrame(DATA)


def ask(text):
    return TABLE.answer(sentence(text), epsilon=1)


def test_groups_by_month_and_weekday():
    found = ask("count() by period(seen, 'month'), sex")
    months = FRAME.seen.dt.strftime("%Y-%m")
    wanted = FRAME.groupby([months, FRAME.sex]).size()
    assert found.keys == tuple(wanted.index)
    assert found.value.tolist() == wanted.tolist()
    days = ask("count() by weekday(seen)")
    assert days.keys == tuple(range(1, 8))
    wanted = FRAME.groupby(FRAME.seen.dt.day_of_week).size()
    assert days.value.tolist() == wanted.tolist()
    each = ask("count() by seen")
    assert each.keys[:2] == ("2022-01-01", "2022-01-02")
    assert each.value.sum() == ROWS
    with pytest.raises(DomainError, match="too many"):
        ask("count() by born")


def test_quantiles_histograms_and_extremes_of_dates():
    found = ask("median(seen)")
    assert found.dates() == [str(np.sort(SEEN)[ROWS // 2 - 1])]
    assert "2022-" in str(found) or "2023-" in str(found)
    late = ask("quantile(seen, 0.1, 0.9)")
    assert late.dates()[0] < "2022-04-01" < late.dates()[1]
    bars = ask("histogram(seen, 4)")
    assert bars.keys[0].startswith("2022-01-01 to 2022-0")
    assert ask("min(born)").dates()[0].startswith("193")
    assert ask("std(seen)").unit == "days"
    assert "days (95 %)" in str(TABLE.plan(sentence("median(seen)"), epsilon=1))


def test_ages_filters_and_differences():
    age = FRAME.apply(
        lambda r: max(
            r.seen.year
            - r.born.year
            - ((r.seen.month, r.seen.day) < (r.born.month, r.born.day)),
            0,
        ),
        axis=1,
    )
    assert ask("mean(age_at(born, seen))").value == pytest.approx(age.mean(), abs=1e-6)
    old = TABLE.with_columns(age="age_at(born, seen)").domain["age"]
    assert (old.lower, old.upper) == (8, 93)
    wanted = (FRAME.seen >= "2023-07-01").sum()
    assert ask("count() where seen >= '2023-07-01'").value == wanted
    view = TABLE.where(dp.col("seen") >= dt.date(2023, 7, 1))
    assert dp.stats.count(view, epsilon=1).value == wanted
    lag = TABLE.with_columns(lag=dp.col("born").days_to("2024-01-01"))
    assert lag.domain["lag"].lower == 3653  # born by the end of 2013
    days = (pd.Timestamp("2024-01-01") - FRAME.born).dt.days
    assert dp.stats.mean(lag, "lag", epsilon=1).value == pytest.approx(days.mean())
    kept = TABLE.with_columns(copy=dp.col("seen"))
    assert kept.domain["copy"] == DOMAIN["seen"]


@pytest.mark.parametrize(
    "text",
    [
        "mean(year(sex))",
        "mean(hour(seen))",
        "count() where seen > 'soon'",
        "count() by period(seen, 'fortnight')",
        "mean(age_at(born, 3))",
        "mean(days_between(sex, seen))",
    ],
)
def test_what_is_no_date_is_refused(text):
    with pytest.raises((DomainError, ParameterError)):
        ask(text)


def test_files(tmp_path):
    FRAME.to_parquet(tmp_path / "p.parquet")
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    for name in ("p.parquet", "p.csv"):
        table = dp.Table(str(tmp_path / name), DOMAIN, simulate(noise=False))
        found = dp.stats.count(table.where("seen < '2022-06-01'"), epsilon=1)
        assert found.value == (FRAME.seen < "2022-06-01").sum()


def test_numbers_are_no_dates():
    with pytest.raises(DomainError, match="holds"):
        dp.Table(DATA | {"seen": np.arange(ROWS)}, DOMAIN, simulate(0))
    with pytest.raises(DomainError, match="holds"):
        dp.Table(FRAME.assign(seen=1.0), DOMAIN, simulate(0))
    assert steps(20_000, "day", "") is None


def test_dates_of_a_database_are_read_as_rows():
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    base.register("frame", FRAME)
    table = dp.Table(base.table("frame"), DOMAIN, simulate(noise=False))
    found = dp.stats.count(table.where("seen >= '2023-07-01'"), epsilon=1)
    assert found.value == (FRAME.seen >= "2023-07-01").sum()
    months = table.answer(sentence("count() by period(seen, 'month')"), epsilon=1)
    assert months.value.sum() == ROWS
