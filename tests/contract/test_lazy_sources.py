"""Lazy tables whose readers guess, fail or shuffle: no row may decide what happens."""

from __future__ import annotations

import datetime as dt
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreto as dp
from discreto.data.engines import DatabaseEngine
from discreto.data.frames import open_frame
from discreto.data.sql.backends import Polars
from discreto.errors import DomainError, ParameterError
from discreto.testing import simulate

AGES = dp.Domain({"age": dp.Number(0, 120), "c": dp.Category(["a", "b"])})


def _scan(path: Path) -> Any:
    return pl.scan_csv(path)


def _relation(path: Path) -> Any:
    return pytest.importorskip("duckdb").read_csv(str(path))


def _connection(path: Path) -> Any:
    connection = pytest.importorskip("duckdb").connect()
    connection.execute(f"CREATE VIEW people AS SELECT * FROM '{path}'")
    return connection


def _view(path: Path) -> Any:
    return _connection(path).sql("SELECT age, c FROM people WHERE c IS NOT NULL")


def _ibis(path: Path) -> Any:
    ibis = pytest.importorskip("ibis")
    with warnings.catch_warnings():  # what Ibis calls is old to DuckDB
        warnings.simplefilter("ignore")
        return ibis.duckdb.from_connection(_connection(path)).table("people")


def _dataset(path: Path) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(path, format="csv")


@pytest.mark.parametrize("reader", [_scan, _relation, _view, _ibis, _dataset])
@pytest.mark.parametrize("odd", ["", "ninety,b\n"])
def test_text_files_that_others_read_are_refused(
    reader: Callable[[Path], Any], odd: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,c\n" + "40,a\n" * 200 + odd)
    with pytest.raises(DomainError, match="guesses types"):
        dp.Table(reader(path), AGES, simulate(noise=False))
    table = dp.Table(path, AGES, simulate(noise=False))
    assert dp.stats.count(table, epsilon=1).value == 200 + bool(odd)


def test_parquet_files_that_others_read_are_not(tmp_path: Path) -> None:
    path = tmp_path / "csv scan.parquet"
    pl.DataFrame({"age": [40], "c": ["a"]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(path)
    import pyarrow.dataset as ds

    table = dp.Table(ds.dataset(path), AGES, simulate(noise=False))
    assert dp.stats.count(table, epsilon=1).value == 1


PEOPLE = dp.Domain({"id": dp.Opaque(), "v": dp.Number(0, 99)}, person="id")
OTHERS = dp.Domain({"id": dp.Opaque(), "w": dp.Number(0, 99)}, person="id")


def test_rows_are_joined_by_person_in_whatever_order_a_database_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn = itertools.count()

    def shuffled(self: Polars, native: Any, rows: int) -> Any:
        order = np.random.default_rng(next(turn)).permutation(50)
        yield native.collect()[order].to_arrow()

    monkeypatch.setattr(Polars, "_batches", shuffled)
    ledger, ids = simulate(noise=False), np.arange(50)
    first = pl.LazyFrame({"id": ids, "v": ids.astype(float)})
    second = pl.LazyFrame({"id": ids[::-1], "w": ids[::-1].astype(float)})
    tables = dp.Table(first, PEOPLE, ledger), dp.Table(second, OTHERS, ledger)
    joined = tables[0].join(tables[1].where("w >= 10"), how="inner")
    assert dp.stats.count(joined, epsilon=1).value == 40
    assert dp.stats.count(joined.where("v == w"), epsilon=1).value == 40


def test_rows_that_may_not_be_read_are_not_joined() -> None:
    ledger, engine = simulate(noise=False), DatabaseEngine(fetch=False)
    first = dp.Table(pl.LazyFrame({"id": [1], "v": [1.0]}), PEOPLE, ledger)
    data = pl.LazyFrame({"id": [1], "w": [1.0]})
    second = dp.Table(data, OTHERS, ledger, engine=engine)
    for here, there in ((first, second), (second, first)):
        with pytest.raises(ParameterError, match="fetch=False"):
            here.join(there)


@pytest.mark.parametrize("odd", [1, 1.5, b"a", "\ud800", {}, dt.date(2024, 1, 1)])
def test_objects_of_dask_make_nothing_fail(odd: Any) -> None:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    values = np.fromiter(["a", "b", "a", odd], dtype=object, count=4)
    data = pd.DataFrame({"age": [1.0] * 4, "c": pd.Series(values, dtype=object)})
    with dask.config.set({"dataframe.convert-string": False}):
        source = frames.from_pandas(data, npartitions=2)
        ledger = simulate(noise=False)
        table = dp.Table(source, AGES, ledger, engine=DatabaseEngine(keep=0))
        streamed = dp.stats.histogram(table, "c", epsilon=1).value
        copied = dp.stats.histogram(
            dp.Table(source, AGES, ledger), "c", epsilon=1
        ).value
    memory = dp.Table(data, AGES, ledger)
    wanted = dp.stats.histogram(memory, "c", epsilon=1).value
    assert streamed.tolist() == copied.tolist() == wanted.tolist()


def test_dates_beyond_the_calendar_of_a_sheet_say_nothing(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["day"])
    book.active.append([dt.date(2024, 1, 31)])
    book.active.append([98765432100])  # no day of any calendar
    book.active["A3"].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "a.xlsx")
    domain = dp.Domain({"day": dp.Date("2000-01-01", "2030-01-01")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = open_frame(tmp_path / "a.xlsx", domain).column("day")
    np.testing.assert_array_equal(found, [19753, np.nan])


def test_dates_that_python_does_not_know_are_read(postgresql_server: str) -> None:
    ibis, psycopg = pytest.importorskip("ibis"), pytest.importorskip("psycopg")
    domain = dp.Domain(
        {
            "d": dp.Date("1900-01-01", "2100-01-01"),
            "m": dp.DateTime("1900-01-01", "2100-01-01"),
        }
    )
    odd = [("infinity", "-infinity"), ("0044-03-15 BC", "12000-01-01"), (None, None)]
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute("CREATE TABLE calendars (d date, m timestamp)")
        for row in [*odd, ("2000-01-01", "2000-01-01 10:00")]:
            connection.execute("INSERT INTO calendars VALUES (%s, %s)", row)
        source = ibis.postgres.from_connection(connection).table("calendars")
        frame = open_frame(source, domain)
        days, times = frame.column("d"), frame.copied(1 << 20)[0].column("m")
    first, last = domain["d"].lower, domain["d"].upper
    clipped = np.sort(np.clip(days, first, last)[~np.isnan(days)])
    assert clipped.tolist() == [first, 10957, last]
    assert np.isnan(times).sum() == 1
    assert np.count_nonzero(times > 4e9) == 1


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_times_with_a_zone_that_python_does_not_know_are_read(
    zone: str, postgresql_server: str
) -> None:
    ibis, psycopg = pytest.importorskip("ibis"), pytest.importorskip("psycopg")
    column = dp.DateTime("1900-01-01", "2100-01-01", zone="Europe/Berlin")
    odd = ["infinity", "-infinity", "0044-03-15 BC", "12000-01-01", None]
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE clocks (m timestamptz)")
        for time in [*odd, "2000-01-01 10:00+00"]:
            connection.execute("INSERT INTO clocks VALUES (%s)", [time])
        connection.execute(f"SET TIME ZONE '{zone}'")
        source = ibis.postgres.from_connection(connection).table("clocks")
        found = open_frame(source, dp.Domain({"m": column})).column("m")
    known = np.clip(found, column.lower, column.upper)[~np.isnan(found)]
    ends = [column.lower] * 2, [column.upper] * 2
    assert np.sort(known).tolist() == [*ends[0], 946724400, *ends[1]]


@pytest.mark.parametrize("odd", ["0.12345678901234", "NaN", "1" + "0" * 200])
def test_decimals_of_any_length_are_read(odd: str, postgresql_server: str) -> None:
    ibis, psycopg = pytest.importorskip("ibis"), pytest.importorskip("psycopg")
    columns = {"n": dp.Number(0, 10), "id": dp.Opaque()}
    domain = dp.Domain(columns, person="id")
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS decimals")
        connection.execute("CREATE TABLE decimals (n numeric, id numeric)")
        rows = "(2.5, 1), (2.5, 1.00), (%s, 2), (NULL, NULL)"
        connection.execute(f"INSERT INTO decimals VALUES {rows}", [odd])
        source = ibis.postgres.from_connection(connection).table("decimals")
        frame = open_frame(source, domain)
        assert sorted(map(str, frame.raw("id"))) == ["1", "1", "2", "None"]
        several = frame.column("n"), frame.held().column("n")
        table = dp.Table(source, domain, simulate(noise=False))
        assert dp.stats.count(table, epsilon=1).value == 2
    wanted = np.sort([2.5, 2.5, float(odd), np.nan])
    for found in several:
        np.testing.assert_array_equal(np.sort(found), wanted)
