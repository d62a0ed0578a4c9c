"""A cell becomes the same value wherever it stands, for every reader and column type.

Columns are permuted, halved and duplicated; the values that are read from them must be
permuted, halved and duplicated in the same way.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.data.frames import open_frame
from discreto.errors import DomainError

COLUMNS = {
    "number": dp.Number(-10, 10),
    "whole": dp.Number(0, 5, integer=True),
    "category": dp.Category(["a", "b", "1"]),
    "coded": dp.Category([1, 2, 2.5]),
    "spelled": dp.Category(["a", "B"], case=False, strip=True, aliases={"one": "a"}),
    "truth": dp.Boolean(),
    "day": dp.Date("2000-01-01", "2030-01-01"),
    "hour": dp.DateTime("2000-01-01", "2030-01-01", zone="Europe/Zurich"),
    "open": dp.OpenText(),
    "person": dp.Opaque(),
}
DIALECTS = [
    dp.Dialect(missing=("", "NA", "-9", "2010-01-01")),
    dp.Dialect(decimal=",", separator=";", thousands=".", dates="dd.mm.yyyy"),
    dp.Dialect(dates="epoch", missing=("-9",)),
]
TEXTS = [
    "", " ", "NA", "-9", "-9.0", "a", "b", "B ", "one", "1", "1.0", "01", "2", "2.5",
    "2,5", "1.234,5", "1e3", "1e999", "inf", "nan", "true", "False", "2010-01-01",
    "2020-02-29", "31.12.2020", "2020-07-01 12:30", "2020-07-01T12:30+09:00",
    "1593561600", "é", "x" * 40, '"', "a,b", "a\nb", "٣", "1_000", "None",
]  # fmt: skip
ODD: list[Any] = [
    None, 0, 1, -9, 2.5, float("nan"), True, 10**30, b"a", b"\xff", 1j, {}, pd.NaT,
    pd.NA, dt.date(2020, 2, 29), dt.datetime(2020, 7, 1, 12, 30),
    dt.datetime(2020, 7, 1, 12, 30, tzinfo=dt.UTC), np.datetime64("2020-07-01T12"),
]  # fmt: skip
NUMBERS = [0.0, -0.0, 1.0, 2.0, 2.5, -9.0, 1e300, np.inf, np.nan, 0.1, 1593561600.0]
TIMES = [dt.datetime(2020, 7, 1, 12, 30), dt.datetime(2010, 1, 1), None]

texts = st.lists(st.sampled_from(TEXTS) | st.text(max_size=3), min_size=1, max_size=9)
whole = st.lists(
    st.sampled_from([None, 0, 1, 2, -9, 5, 2**53 + 1]), min_size=1, max_size=9
)
numbers = st.lists(st.sampled_from([None, *NUMBERS]), min_size=1, max_size=9)
times = st.lists(st.sampled_from(TIMES), min_size=1, max_size=9)
objects = st.lists(st.sampled_from([*ODD, *TEXTS]), min_size=1, max_size=9)


def _array(values: list[Any]) -> Any:
    return np.fromiter(values, dtype=object, count=len(values))


def _encodable(values: list[Any]) -> list[Any]:
    return [v.encode("utf-8", "replace").decode() if v else v for v in values]


def _file(kind: str) -> Callable[[list[Any], Path, Any], Any]:
    def make(values: list[Any], folder: Path, form: Any) -> Any:
        table = pa.table({"c": pa.array(values, form)})
        path = folder / f"t.{kind}"
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=3)
        else:
            pyarrow.feather.write_feather(table, path, compression="uncompressed")
        return path

    return make


def _csv(values: list[Any], folder: Path, form: Any) -> Any:
    cells = ["" if v is None else str(v).replace("\r", " ") for v in values]
    quoted = "".join('"' + cell.replace('"', '""') + '"\n' for cell in cells)
    path = folder / "t.csv"
    path.write_bytes(("c\n" + quoted).encode("utf-8", "replace"))
    return path


TYPED: dict[str, Callable[[list[Any], Path, Any], Any]] = {
    "arrow": lambda v, _, form: pa.table({"c": pa.array(v, form)}),
    "chunks": lambda v, _, form: pa.table(
        {"c": pa.chunked_array([pa.array(v[:2], form), pa.array(v[2:], form)])}
    ),
    "polars": lambda v, _, form: pl.DataFrame({"c": pl.from_arrow(pa.array(v, form))}),
    "pandas": lambda v, _, form: pd.DataFrame(
        {"c": pd.Series(v, dtype=pd.ArrowDtype(form))}
    ),
    "parquet": _file("parquet"),
    "feather": _file("arrow"),
    "csv": _csv,
}
UNTYPED: dict[str, Callable[[list[Any], Path, Any], Any]] = {
    "list": lambda v, *_: {"c": list(v)},
    "numpy": lambda v, *_: {"c": _array(v)},
    "pandas": lambda v, *_: pd.DataFrame({"c": pd.Series(_array(v), dtype=object)}),
    "polars": lambda v, *_: pl.DataFrame({"c": pl.Series(v, dtype=pl.Object)}),
}


def read(data: Any, name: str, dialect: dp.Dialect) -> list[Any]:
    """Return the values of a column, each as a text, so that NaN equals NaN."""
    person = "c" if name == "person" else None
    domain = dp.Domain({"c": COLUMNS[name]}, dialect=dialect, person=person)
    frame = open_frame(data, domain)
    raw = name in ("person", "open")
    return list(map(str, (frame.raw if raw else frame.column)("c").tolist()))


def check(
    make: Callable[[list[Any]], Any], values: list[Any], name: str, order: Any
) -> None:
    """Compare a column with itself permuted, halved and duplicated."""
    dialects = DIALECTS if name != "open" else DIALECTS[:1]
    order = [i for i in order if i < len(values)]
    for dialect in dialects:
        try:
            found = read(make(values), name, dialect)
        except DomainError:  # by type: for all of these columns alike
            for some in ([values[0]], values * 2):
                with pytest.raises(DomainError):
                    read(make(some), name, dialect)
            continue
        half = len(values) // 2
        places = [
            order,
            range(half),
            range(half, len(values)),
            [*range(len(values))] * 2,
        ]
        for several in places:
            if len(several):
                again = read(make([values[i] for i in several]), name, dialect)
                assert again == [found[i] for i in several]


FORMS = {
    "texts": (texts.map(_encodable), pa.string()),
    "large texts": (texts.map(_encodable), pa.large_string()),
    "whole numbers": (whole, pa.int64()),
    "numbers": (numbers, pa.float64()),
    "times": (times, pa.timestamp("us")),
    "times of a zone": (times, pa.timestamp("ms", "Asia/Tokyo")),
}
QUIET = settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ORDER = st.permutations(range(9))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reader", TYPED)
@QUIET
@given(st.data())
def test_typed_columns_are_read_cell_by_cell(
    reader: str, form: str, tmp_path: Path, data: st.DataObject
) -> None:
    cells, kind = FORMS[form]
    values, order = data.draw(cells), data.draw(ORDER)
    name = data.draw(st.sampled_from(sorted(COLUMNS)))
    check(lambda some: TYPED[reader](some, tmp_path, kind), values, name, order)


@pytest.mark.parametrize("reader", UNTYPED)
@settings(QUIET, max_examples=40)
@given(objects, st.sampled_from(sorted(COLUMNS)), ORDER)
def test_objects_are_read_cell_by_cell(
    reader: str, tmp_path: Path, values: list[Any], name: str, order: Any
) -> None:
    check(lambda some: UNTYPED[reader](some, tmp_path, None), values, name, order)


def test_sheets_are_read_cell_by_cell(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

    def make(values: list[Any]) -> Any:
        book = openpyxl.Workbook()
        for value in ["c", *values]:
            book.active.append([value])
        book.save(tmp_path / "t.xlsx")
        return tmp_path / "t.xlsx"

    cells = [0, 1, 2.5, -9, "a", "-9", "1", "2,5", True, dt.datetime(2020, 7, 1, 12)]
    for name in COLUMNS:
        check(make, cells, name, [3, 1, 7, 0, 9, 2, 8, 4, 6, 5])
