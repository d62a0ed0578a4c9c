"""Words for gaps: from every source a cell with such a word is an empty cell."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_tables import to_dask, to_dataset, to_duckdb, to_ibis, to_polars

import discreto as dp
from discreto.data.engines import DatabaseEngine
from discreto.data.frames.owner_check import exact_shares
from discreto.testing import simulate

ROWS = 120
WORDS = ["", "NA", "unknown", "-999", "-999.9", "1900-01-01"]
DIALECT = dp.Dialect(missing=WORDS)
DOMAIN = dp.Domain(
    {
        "real": dp.Number(0, 100),
        "short": dp.Number(-1000, 1000),
        "whole": dp.Number(0, 100, integer=True),
        "day": dp.Date("2020-01-01", "2029-12-31"),
        "time": dp.DateTime("2020-01-01", "2029-12-31", resolution="hour"),
        "truth": dp.Boolean(),
        "code": dp.Category([1, 2, 7]),
        "kind": dp.Category(["a", "b"]),
        "spelt": dp.Category(["A", "B"], case=False, strip=True),
        "words": dp.OpenText(),
        "person": dp.Opaque(),
    },
    person="person",
    dialect=DIALECT,
)
GOOD: dict[str, list[Any]] = {
    "real": [12.5, 50.25, 99.0],
    "short": [-998.5, 0.25, 7.75],
    "whole": [1, 50, 99],
    "day": [dt.date(2024, 1, 31), dt.date(2021, 5, 6)],
    "time": [dt.datetime(2024, 1, 31, 23), dt.datetime(2021, 5, 6, 7)],
    "truth": [1, 0, 1],
    "code": [1, 2, 2],
    "kind": ["a", "b", "b"],
    "spelt": ["a", "B ", "b"],
    "words": ["tea", "tea", "milk"],
}
# One cell for each word that a column of this type can hold.
STORED: dict[str, list[Any]] = {
    "real": [-999.0, -999.9],
    "short": [-999.0, -999.9],
    "whole": [-999],
    "day": [dt.date(1900, 1, 1)],
    "time": [dt.datetime(1900, 1, 1)],
    "truth": [-999],
    "code": [-999],
    "kind": ["-999", "-999.0", "unknown", "NA", ""],
    "spelt": [" -999", "-999.00", "unknown ", "NA", ""],
    "words": ["-999", "unknown", "NA", "", "1900-01-01"],
    "person": [-999],
}
_NUMBERS = ["-999", "-999.0", " -999", "-9.99e2", "-999.9", "unknown", "NA", ""]
SPELT = STORED | {
    **dict.fromkeys(("real", "short", "whole"), _NUMBERS),
    "day": ["1900-01-01", "19000101", "1900-01-01 00:00", "unknown", "-999", ""],
    "time": ["1900-01-01", "1900-01-01T00:00:00Z", "unknown", "NA", ""],
    "truth": ["-999", "-999.0", "NA", "unknown", ""],
    "code": ["-999", "-999.00", "NA", "unknown", ""],
    "person": ["-999", "-999.9", "NA", "unknown", ""],
}
TYPES = {
    "real": pa.float64(),
    "short": pa.float32(),
    "whole": pa.int64(),
    "day": pa.date32(),
    "time": pa.timestamp("us"),
    "truth": pa.int64(),
    "code": pa.float64(),
    "person": pa.int64(),
}


def rows_of(gaps: dict[str, list[Any]] | None) -> dict[str, list[Any]]:
    """About every third cell is a gap, written as given, or empty."""
    out: dict[str, list[Any]] = {}
    for place, name in enumerate(DOMAIN):
        values = GOOD.get(name, list(range(ROWS)))
        cells = [values[k % len(values)] for k in range(ROWS)]
        words = [None] if gaps is None else gaps[name]
        empty = np.flatnonzero(np.random.default_rng(place).random(ROWS) < 1 / 3)
        for number, k in enumerate(empty):
            cells[k] = words[number % len(words)]
        out[name] = cells
    return out


def typed(gaps: bool) -> pa.Table:
    rows = rows_of(STORED if gaps else None)
    return pa.table(
        {name: pa.array(rows[name], TYPES.get(name, pa.string())) for name in DOMAIN}
    )


def spelt(gaps: bool) -> pa.Table:
    rows = rows_of(SPELT if gaps else None)
    texts = {n: [None if v is None else str(v) for v in rows[n]] for n in rows}
    return pa.table({n: pa.array(texts[n], pa.string()) for n in DOMAIN})


def answers(source: Any, engine: Any = None) -> dict[str, Any]:
    """Exact answers about every column, and which share of it is missing."""
    # Spellings are looked up in memory.
    few = (
        DOMAIN if engine is None else DOMAIN.select([n for n in DOMAIN if n != "spelt"])
    )
    table = dp.Table(source, few, simulate(noise=False), engine=engine)
    out: dict[str, Any] = {"rows": dp.stats.count(table, epsilon=1).value}
    for name in ("real", "short", "whole", "day", "time"):
        out[name] = dp.stats.mean(table, name, epsilon=1).value
        out[f"{name} cut"] = dp.stats.histogram(table, name, bins=5, epsilon=1).value
        missing = dp.col(name).is_missing()
        out[f"{name} gaps"] = dp.stats.proportion(table, missing, epsilon=1).value
    for name in ("truth", "code", "kind", "spelt"):
        if name in few.columns:
            out[name] = dp.stats.count(table, by=name, epsilon=1).value
    if engine is None:
        found = dp.stats.unknown_keys(table, "words", epsilon=200, delta="0.01")
        out["words"] = found.keys, found.value.tolist()
        out["fit"] = dp.stats.domain_fit(table, epsilon=1).value
    return out


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def _csv(folder: Path, table: pa.Table) -> Path:
    names, rows = table.column_names, table.to_pylist()
    cells = [["" if row[n] is None else str(row[n]) for n in names] for row in rows]
    lines = [",".join(f'"{cell}"' for cell in row) for row in cells]
    (folder / "a.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    return folder / "a.csv"


def _excel(folder: Path, table: pa.Table) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    sheet: Any = book.active
    sheet.append(table.column_names)
    for row in table.to_pylist():
        sheet.append(list(row.values()))
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def _parquet(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def _feather(folder: Path, table: pa.Table) -> Path:
    with pa.ipc.new_file(str(folder / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    return folder / "a.arrow"


def _arrays(folder: Path, table: pa.Table) -> dict[str, Any]:
    return {n: table[n].to_numpy(zero_copy_only=False) for n in table.column_names}


def _objects(folder: Path, table: pa.Table) -> Any:
    return np.array([list(row.values()) for row in table.to_pylist()], dtype=object)


SOURCES: dict[str, Callable[[Path, pa.Table], Any]] = {
    "csv": _csv,
    "excel": _excel,
    "parquet": _parquet,
    "arrow file": _feather,
    "arrow": lambda folder, table: table,
    "pandas": lambda folder, table: table.to_pandas(),
    "pandas objects": lambda folder, table: table.to_pandas().astype(object),
    "polars": lambda folder, table: to_polars(table).collect(),
    "arrays": _arrays,
    "lists": lambda folder, table: table.to_pydict(),
    "array of objects": _objects,
    "lazy polars": lambda folder, table: to_polars(table),
    "duckdb": lambda folder, table: to_duckdb(table),
    "ibis": lambda folder, table: to_ibis(table),
    "dask frame": lambda folder, table: to_dask(table),
    "dataset": lambda folder, table: to_dataset(folder, table),
}
TABLES = {"typed": typed, "texts": spelt}
DOUBLES = ("csv", "excel", "pandas objects", "lists", "array of objects")
PUSHED = ("lazy polars", "duckdb", "ibis")


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    return answers(rows_of(None))


def test_the_answers_are_those_of_the_cells_that_are_there(
    wanted: dict[str, Any],
) -> None:
    rows = rows_of(None)
    here = [k for k in range(ROWS) if rows["person"][k] is not None]
    for name in ("real", "short", "whole"):
        values = [rows[name][k] for k in here if rows[name][k] is not None]
        assert wanted[name] == pytest.approx(np.mean(values), abs=1e-5)
        gaps = 1 - len(values) / len(here)
        assert wanted[f"{name} gaps"] == pytest.approx(gaps)
        assert 0.2 < gaps < 0.5
    for name in ("code", "kind"):
        values = [rows[name][k] for k in here]
        kinds = [*DOMAIN.category(name).categories, None]
        assert wanted[name].tolist() == [values.count(kind) for kind in kinds]
    words = [rows["words"][k] for k in here]
    assert dict(zip(*wanted["words"], strict=True)) == {
        "tea": words.count("tea"),
        "milk": words.count("milk"),
    }
    assert not wanted["fit"][1::2].any()  # nothing is clipped or unknown


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("source", SOURCES)
def test_a_word_is_an_empty_cell(
    source: str, form: str, wanted: dict[str, Any], tmp_path: Path
) -> None:
    if source == "dask frame":
        pytest.importorskip("dask")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas and Ibis, about themselves
        table = TABLES[form](True)
        if form == "typed" and source in DOUBLES:
            real = pa.array(rows_of(STORED)["short"], pa.float64())
            table = table.set_column(1, "short", real)
        same(answers(SOURCES[source](tmp_path, table)), wanted)


@pytest.mark.parametrize("source", PUSHED)
def test_a_word_is_an_empty_cell_inside_of_a_database(
    source: str, wanted: dict[str, Any], tmp_path: Path
) -> None:
    lazy = SOURCES[source](tmp_path, typed(True))
    found = answers(lazy, DatabaseEngine(fetch=False))
    same(found, {name: wanted[name] for name in found})


@pytest.mark.parametrize("form", TABLES)
def test_a_word_is_an_empty_cell_in_postgresql(
    form: str, wanted: dict[str, Any], postgresql: Callable[[Any], Any]
) -> None:
    table = TABLES[form](True)
    same(answers(postgresql(table)), wanted)
    if form == "typed":
        found = answers(postgresql(table), DatabaseEngine(fetch=False))
        same(found, {name: wanted[name] for name in found})


def test_the_owner_is_told_that_words_are_missing(tmp_path: Path) -> None:
    several = DOMAIN.with_(person=None)
    for form in TABLES.values():
        for source in (_csv, _parquet):
            found = exact_shares(str(source(tmp_path, form(True))), several)
            for name, shares in found.items():
                if (name, source) != ("short", _csv):
                    empty = rows_of(None)[name].count(None)
                    assert (shares.missing, shares.outside) == (empty, 0)
                    assert not shares.unknown


@pytest.mark.parametrize("word", ["inf", "-1e999", "0", "9007199254740993", "1e3"])
def test_odd_numbers_are_words_as_well(word: str) -> None:
    """Infinite, zero (of either sign), not exact in a float, with an exponent."""
    value = float(word)
    domain = dp.Domain(
        {"x": dp.Number(-5, 5), "p": dp.Opaque()},
        dialect=dp.Dialect(missing=[word]),
    )
    cells = [1.0, value, -value if value == 0 else value, 2.0, None]
    table = pa.table({"x": pa.array(cells, pa.float64()), "p": range(5)})
    for source in (table, to_polars(table), to_duckdb(table), to_ibis(table)):
        asked = dp.Table(source, domain, simulate(noise=False))
        assert dp.stats.mean(asked, "x", epsilon=1).value == pytest.approx(1.5)
        assert dp.stats.sum(asked, "x", epsilon=1).value == pytest.approx(3)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "uint64"])
def test_words_that_a_type_of_identifiers_cannot_hold_do_no_harm(kind: str) -> None:
    words = ["-999", "7", "70000", str(2**63), str(2**70), "7.5"]
    domain = dp.Domain(
        {"x": dp.Number(0, 9), "p": dp.Opaque()},
        person="p",
        dialect=dp.Dialect(missing=words),
    )
    top = np.iinfo(kind).max
    table = pa.table({"x": [1.0, 2.0, 3.0], "p": pa.array([7, 8, top], kind)})
    for source in (table, to_polars(table), to_duckdb(table)):
        asked = dp.Table(source, domain, simulate(noise=False))
        assert dp.stats.count(asked, epsilon=1).value == 2


def test_a_declared_category_is_none_of_the_words() -> None:
    domain = dp.Domain(
        {"c": dp.Category([-9, 1]), "t": dp.Category(["NA", "x"]), "b": dp.Boolean()},
        dialect=dp.Dialect(missing=["-9", "NA", "0"]),
    )
    table = dp.Table(
        {"c": [-9, 1, 1], "t": ["NA", "x", "x"], "b": [0, 1, 1]},
        domain,
        simulate(noise=False),
    )
    for name in domain:
        found = dp.stats.count(table, by=name, epsilon=1).value
        assert found.tolist() == [1, 2, 0]


@pytest.mark.parametrize("form", ["patients.csv", "patients.parquet"])
def test_a_service_reads_words_as_gaps(form: str, tmp_path: Path) -> None:
    """What leaves as JSON is the mean of the cells that are there."""
    from discreto.service import Service, read_config
    from discreto.service.demo import write_demo

    config = write_demo(tmp_path, rows=1)
    frame = to_polars(pa.table({"age": [50, -999] * 5000})).collect()
    if form == "patients.csv":
        frame.write_csv(tmp_path / form)
    else:
        frame.write_parquet(tmp_path / form)
    domain = dp.Domain({"age": dp.Number(0, 110)})
    domain.save(tmp_path / "patients.domain.json")
    words = f'data = "{form}"\naccept_unchecked = true\n'
    words += 'dialect = {missing = ["-999"]}'
    text = config.read_text().replace('data = "patients.parquet"', words)
    config.write_text(text)
    service = Service(read_config(config))
    person = service.state.person("ana")
    assert person is not None
    body = {"ask": "mean(age)", "epsilon": "0.5"}
    found = service.ask(person, "patients", body)["releases"][0]
    service.close()
    assert found["value"] == pytest.approx(50, abs=2)  # 25 if -999 were clipped


def test_predictions_read_words_as_gaps() -> None:
    domain = dp.Domain(
        {"x": dp.Number(0, 10), "y": dp.Number(0, 10)},
        target="y",
        dialect=dp.Dialect(missing=["-999"]),
    )
    x = np.tile(np.arange(10.0), 200)
    table = dp.Table({"x": x, "y": x}, domain, simulate(noise=False))
    model = dp.models.LinearRegression(epsilon=100).fit(table)
    empty = model.predict(np.array([[np.nan]]))
    np.testing.assert_array_equal(model.predict(np.array([[-999.0]])), empty)
    np.testing.assert_array_equal(model.predict({"x": ["-999.0"]}), empty)
    assert not np.array_equal(model.predict(np.array([[0.0]])), empty)


@pytest.mark.parametrize("kind", ["LinearRegression", "LogisticRegression"])
def test_large_arrays_are_read_by_the_same_words(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by compiled loops, which read arrays as they are."""
    from discreto.core import compiled

    pytest.importorskip("numba", reason="without numba there are no compiled loops")
    monkeypatch.setattr(compiled, "_folded", compiled.WORTH)
    target = dp.Number(0, 10) if kind == "LinearRegression" else dp.Category([0, 1])
    columns = {"x": dp.Number(0, 10), "y": target}
    words = dp.Dialect(missing=["-999"])
    domain = dp.Domain(columns, target="y", dialect=words)
    x = np.tile(np.arange(10.0), 200)
    y = x if kind == "LinearRegression" else (x > 5).astype(int)
    table = dp.Table({"x": x, "y": y}, domain, simulate(noise=False))
    model = getattr(dp.models, kind)(epsilon=100).fit(table)
    answer = getattr(model, "predict_proba", model.predict)
    rows = np.ascontiguousarray(np.where(x > 8, np.nan, x)[:, None])
    worded = np.nan_to_num(rows, nan=-999.0)
    np.testing.assert_array_equal(answer(worded), answer(rows))
