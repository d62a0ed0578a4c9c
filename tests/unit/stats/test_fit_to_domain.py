"""Does the data fit its domain: shares that are right, covered, and said."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.data.domain_file import schema
from discreto.data.frames.owner_check import exact_shares
from discreto.errors import DomainError
from discreto.testing import simulate

ROWS = 4000
COINS = np.random.default_rng(3)
X = COINS.normal(50, 30, ROWS)
X[::10] = np.nan
SEX = COINS.choice(["F", "M", "Female", "", "x"], ROWS, p=[0.4, 0.3, 0.2, 0.05, 0.05])
DOMAIN = dp.Domain(
    {"x": dp.Number(0, 100), "sex": dp.Category(["F", "M"]), "id": dp.Opaque()}
)
DATA = {"x": X, "sex": SEX, "id": np.arange(ROWS)}
TRUTH = {
    ("x", "missing"): np.isnan(X).mean(),
    ("x", "clipped"): ((X < 0) | (X > 100)).mean(),
    ("sex", "missing"): (SEX == "").mean(),
    ("sex", "unknown"): np.isin(SEX, ["Female", "x"]).mean(),
}


def test_shares_are_right() -> None:
    for neighbours in ("add-remove", "replace"):
        rows = ROWS if neighbours == "replace" else None
        domain = DOMAIN.with_(neighbours=neighbours, rows=rows)
        table = dp.Table(DATA, domain, simulate(noise=False))
        found = dp.stats.domain_fit(table, epsilon=1)
        assert found.keys == tuple(TRUTH)
        assert found.value == pytest.approx(list(TRUTH.values()), abs=1e-9)
        assert "of sex was not declared" in found.note
        assert "of x is outside of its bounds" in found.note


@pytest.mark.slow
def test_intervals_cover() -> None:
    hits = np.zeros(len(TRUTH))
    for seed in range(200):
        found = dp.stats.domain_fit(dp.Table(DATA, DOMAIN, simulate(seed)), epsilon=1)
        truth = np.array(list(TRUTH.values()))
        hits += (found.low <= truth) & (truth <= found.high)
    assert (hits >= 0.9 * 200).all()
    assert hits.mean() >= 0.94 * 200


def test_a_table_that_fits_has_nothing_to_say() -> None:
    rows = {"x": np.full(ROWS, 5.0), "sex": ["F"] * ROWS, "id": [0] * ROWS}
    found = dp.stats.domain_fit(dp.Table(rows, DOMAIN, simulate(1)), epsilon=1)
    assert found.note == ""
    assert (found.low < 0.01).all()


def test_refusals_are_free() -> None:
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(DomainError):
        dp.stats.domain_fit(dp.Table(DATA, DOMAIN, ledger), "id", epsilon=1)
    only = dp.Domain({"id": dp.Opaque()})
    with pytest.raises(DomainError, match="no column that can be asked about"):
        dp.stats.domain_fit(dp.Table(DATA, only, ledger), epsilon=1)
    assert ledger.spent() == dp.Cost()


def test_the_owner_sees_exact_shares(tmp_path: Path) -> None:
    lines = [f"{'' if np.isnan(x) else x},{s}" for x, s in zip(X, SEX, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["x,sex", *lines]))
    found = exact_shares(tmp_path / "a.csv", DOMAIN.select(["x", "sex"]))
    assert found["x"].rows == ROWS
    assert found["x"].missing == np.isnan(X).sum()
    assert found["x"].outside == ((X < 0) | (X > 100)).sum()
    assert found["sex"].missing == (SEX == "").sum()
    assert dict(found["sex"].unknown) == {
        "Female": (SEX == "Female").sum(),
        "x": (SEX == "x").sum(),
    }


def test_the_owner_sees_texts_that_are_no_numbers_or_dates(tmp_path: Path) -> None:
    rows = ["1.200,5;31/01/2024", "n/a;", "-;2024-01-31", "3,5;31/01/2024"] * 3
    (tmp_path / "a.csv").write_text("\n".join(["pay;seen", *rows]))
    columns = {"pay": dp.Number(0, 9000), "seen": dp.Date("2020-01-01", "2025-01-01")}
    dialect = dp.Dialect(separator=";", decimal=",")
    found = exact_shares(tmp_path / "a.csv", dp.Domain(columns, dialect=dialect))
    assert dict(found["pay"].unknown) == {"1.200,5": 3, "-": 3}
    assert dict(found["seen"].unknown) == {"31/01/2024": 6}
    dp.Domain(columns, dialect=dialect).save(tmp_path / "d.json")
    words = ["domain", "check", str(tmp_path / "d.json"), "--owner"]
    done = CliRunner().invoke(app, [*words, "--data", str(tmp_path / "a.csv")])
    said = " ".join(done.output.split())
    assert "texts of 'pay', 'seen' cannot be read as a number or date" in said
    assert done.exit_code == 0


def test_the_owner_sees_that_there_are_no_rows(tmp_path: Path) -> None:
    """Nobody else does: a table without rows is asked and charged like any other."""
    (tmp_path / "a.csv").write_text("pay;seen\n")
    dialect = dp.Dialect(separator=";", decimal=",", symbols=["€"], dates="d.m.yy")
    domain = dp.Domain({"pay": dp.Number(0, 9)}, dialect=dialect)
    domain.save(tmp_path / "d.json")
    assert dp.Domain.load(tmp_path / "d.json").dialect == dialect
    words = ["domain", "check", str(tmp_path / "d.json"), "--owner"]
    said = ["--dialect", "symbols=€|%", "--dialect", "brackets=true"]
    done = CliRunner().invoke(app, [*words, "--data", str(tmp_path / "a.csv"), *said])
    assert done.exit_code == 0, done.output
    assert "rows: 0" in done.output
    ledger = dp.Ledger(epsilon=1)
    found = dp.stats.mean(
        dp.Table(tmp_path / "a.csv", domain, ledger), "pay", epsilon=1
    )
    assert ledger.spent().epsilon == 1
    assert (found.low, found.high) == (0, 9)


@pytest.mark.slow
def test_the_owner_sees_spellings_of_a_database(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "a.db") as made:
        made.execute(
            "CREATE TABLE t AS SELECT range AS x, "
            "['F', 'f', NULL][range % 3 + 1] AS sex FROM range(9)"
        )
    columns = {"x": dp.Number(0, 6), "sex": dp.Category(["F", "M"])}
    found = exact_shares(f"duckdb:///{tmp_path}/a.db?table=t", dp.Domain(columns))
    assert (found["sex"].missing, found["sex"].unknown) == (3, (("f", 3),))
    assert (found["x"].rows, found["x"].missing, found["x"].outside) == (9, 0, 2)


def test_the_schema_knows_what_files_may_say() -> None:
    checker = jsonschema.Draft202012Validator(schema())
    category = dp.Category(["F"], aliases={"f": "F"}, case=False, strip=True)
    domain = dp.Domain(
        {"n": dp.Number(0, 1), "c": category, "d": dp.Date("2020-01-01", "2021-01-01")},
        dialect=dp.Dialect(separator=";", decimal=","),
    )
    assert checker.is_valid(domain.to_dict())
    words = {"columns": {"n": {"type": "Number", "lower": 0, "upper": 1}}}
    assert checker.is_valid(words)
    for wrong in ({}, {"columns": {"n": {"type": "Number"}}}, {"columns": {"n": 3}}):
        assert not checker.is_valid(wrong)
    assert json.dumps(schema())
