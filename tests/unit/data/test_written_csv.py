"""Rows that are written as CSV are read again by the domain beside them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.data.frames import open_frame
from discreto.data.written_csv import written_csv

COLUMNS = {
    "net": dp.Number(-5000, 5000),
    "age": dp.Number(0, 120, integer=True),
    "day": dp.Date("2020-01-01", "2029-12-31"),
    "at": dp.DateTime("2020-01-01", "2029-12-31 23:59:59"),
    "kind": dp.Category(["=sum", "a;b", 'q"t', "ü"]),
    "yes": dp.Boolean(),
}
ROWS = {
    "net": [-1234.5, 0.25, None, 1e-7],
    "age": [30, None, 0, 120],
    "day": [dt.date(2024, 1, 31), None, dt.date(2020, 1, 1), dt.date(2029, 12, 31)],
    "at": [dt.datetime(2024, 1, 31, 8, 30, 5), None, None, dt.datetime(2021, 2, 3)],
    "kind": ["=sum", "a;b", 'q"t', "ü"],
    "yes": [True, False, None, True],
}


@pytest.mark.parametrize(
    "dialect",
    [
        None,
        dp.Dialect(separator=";", decimal=",", thousands=".", dates="dmy"),
        dp.Dialect(separator="\t", dates="mdy", missing=["n/a", "-9"]),
        dp.Dialect(decimal=",", quoted=True, dates="ymd", encoding="latin-1"),
        dp.Dialect(separator="|", encoding="windows-1252", missing=[]),
    ],
    ids=["usual", "German", "tabs", "quoted", "bars"],
)
def test_every_value_comes_back(tmp_path: Path, dialect: dp.Dialect | None) -> None:
    domain = dp.Domain({"id": dp.Opaque()} | COLUMNS, person="id", dialect=dialect)
    text, own = written_csv(ROWS, domain)
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    own.save(tmp_path / "d.json")
    own = dp.Domain.load(tmp_path / "d.json")
    assert own.person is None
    assert dp.Table(path, own, dp.testing.simulate(0)).checked
    memory, stored = open_frame(ROWS, own), open_frame(path, own)
    for name in COLUMNS:
        np.testing.assert_array_equal(memory.column(name), stored.column(name), name)
    assert b"=sum" not in text.replace(b"'=sum", b"")


def test_what_an_encoding_lacks_is_written_as_utf8(tmp_path: Path) -> None:
    domain = dp.Domain(
        {"kind": dp.Category(["ü", "日"])}, dialect=dp.Dialect(encoding="latin-1")
    )
    text, own = written_csv({"kind": ["日", "ü"]}, domain)
    assert text.decode("utf-8") == "kind\n日\nü\n"
    assert own.dialect.encoding == "utf-8"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_synthetic_rows_are_read_by_the_domain_beside_them(
    tmp_path: Path, ending: str
) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "who": [f"p{i}" for i in range(800)],
            "height": [f"{h:.1f}".replace(".", ",") for h in rng.normal(170, 9, 800)],
            "born": [f"{1 + i % 28:02}.03.{1950 + i % 60}" for i in range(800)],
        }
    )
    rows.to_csv(tmp_path / "in.csv", sep=";", index=False)
    domain = dp.Domain(
        {
            "who": dp.Opaque(),
            "height": dp.Number(100, 250),
            "born": dp.Date("1940-01-01", "2019-12-31"),
        },
        person="who",
        dialect=dp.Dialect(separator=";", decimal=",", dates="dmy"),
    )
    domain.save(tmp_path / "in.json")
    out = tmp_path / f"made.{ending}"
    words = ["synthesize", tmp_path / "in.csv", "--domain", tmp_path / "in.json"]
    words += ["--epsilon", "20", "--ledger", tmp_path / "l", "--budget", "20"]
    words += ["--rows", "500", "--seed", "1", "--out", out, "--accept-unchecked"]
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    own = dp.Domain.load(tmp_path / "made.domain.json")
    table = dp.Table(out, own, dp.testing.simulate(noise=False))
    assert table.checked
    fit = dp.stats.domain_fit(table, epsilon=1)
    assert float(np.max(fit.value)) == 0
    assert abs(dp.stats.mean(table, "height", epsilon=1).value - 170) < 3
    if ending == "csv":
        lines = out.read_text().splitlines()
        assert lines[0] == "height;born"
        digits = [len(line.split(";")[0].partition(",")[2]) for line in lines[1:]]
        assert max(digits) <= 3
        assert all(line.split(";")[1][2] == "." for line in lines[1:])
    again = CliRunner().invoke(app, [str(word) for word in words])
    assert again.exit_code != 0  # nothing is overwritten
