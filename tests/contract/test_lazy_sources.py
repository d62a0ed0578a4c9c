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
from discreto.data.databases.backends import Polars
from discreto.data.engines import DatabaseEngine
from discreto.data.frames import open_frame
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
    assert found[0] == 19753 and np.isnan(found[1])
