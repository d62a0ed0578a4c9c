"""A hospital that never opens Python: draft, fill in, check, ask, on a messy file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from messy import patients, write
from typer.testing import CliRunner, Result

import discreto as dp
from discreto.cli import app
from discreto.errors import DomainError

DATA = patients()


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def filled(text: str) -> str:
    """The draft, as a person with the code book fills it in."""
    data = json.loads(text)
    number = {"type": "Number", "lower": 0, "upper": 120}
    columns = data["columns"]
    columns["age"] |= number | {"integer": True}
    columns["weight"] |= number | {"lower": 20, "upper": 250}
    columns["crp"] |= number | {"upper": 300}
    spelt = {"Female": "F", "Male": "M"}
    rule = {"aliases": spelt, "case": False, "strip": True}
    columns["sex"] |= {"type": "Category", "categories": ["F", "M"]} | rule
    towns = ["Köln", "Nürnberg", "Ulm"]
    columns["town"] |= {"type": "Category", "categories": towns}
    data["dialect"] |= {"encoding": "latin-1", "decimal": ",", "thousands": "."}
    data["dialect"] |= {"dates": "iso", "missing": ["", "NA", "n/a"]}
    return json.dumps(data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "p.csv", DATA)
    return tmp_path


def test_from_a_draft_to_the_right_numbers(folder: Path) -> None:
    drafted = run("domain", "draft", folder / "p.csv")
    assert drafted.exit_code == 0, drafted.output
    assert "assumed: fields are separated by ';'" in drafted.stderr
    assert json.loads(drafted.stdout)["dialect"]["decimal"] == "TODO"
    (folder / "draft.json").write_text(drafted.stdout)
    still = run("domain", "check", folder / "draft.json")
    assert still.exit_code == DomainError.exit_code
    assert "'crp' needs type" in " ".join(still.stderr.replace("│", " ").split())
    (folder / "d.json").write_text(filled(drafted.stdout), encoding="utf-8")
    places = ["--domain", folder / "d.json", "--ledger", folder / "l.ledger"]
    crp = DATA["crp"][~np.isnan(DATA["crp"])]
    asked = {
        ("mean", "crp"): crp.mean(),
        ("mean", "weight"): DATA["weight"].mean(),
        ("median", "age"): np.quantile(DATA["age"], 0.5, method="inverted_cdf"),
    }
    for words, truth in asked.items():
        shown = run(
            "query", folder / "p.csv", *words, *places,
            "--epsilon", 2, "--budget", 20, "--json",
        )  # fmt: skip
        assert shown.exit_code == 0, shown.output
        release = json.loads(shown.stdout)
        # Five widths off is a chance below 1e-6 with Laplace noise.
        width = release["high"] - release["low"]
        assert abs(release["value"] - truth) <= 5 * width
        assert release["low"] <= release["value"] <= release["high"]
    shown = run(
        "query", folder / "p.csv", "count", "--by", "sex", *places,
        "--epsilon", 2, "--json",
    )  # fmt: skip
    release = json.loads(shown.stdout)
    truth = [(DATA["sex"] == sex).sum() for sex in ("F", "M")]
    assert np.abs(np.array(release["value"][:2]) - truth).max() <= 20


def test_the_owner_sees_what_does_not_fit(folder: Path) -> None:
    drafted = run("domain", "draft", folder / "p.csv").stdout
    (folder / "d.json").write_text(filled(drafted), encoding="utf-8")
    shown = run(
        "domain", "check", folder / "d.json", "--data", folder / "p.csv", "--owner"
    )
    text = " ".join(shown.stdout.split())
    assert shown.exit_code == 0, shown.output
    assert "for the owner's eyes only" in text
    assert f"{np.isnan(DATA['crp']).mean():.2%}" in text
    assert f"'Bern' ({(DATA['town'] == 'Bern').sum()})" in text


def test_a_command_says_how_a_file_is_written(folder: Path) -> None:
    """A Python domain without a dialect, and the dialect as words of the command."""
    domain = dp.Domain({"weight": dp.Number(20, 250)})
    domain.save(folder / "d.json")
    words = ["--domain", folder / "d.json", "--ledger", folder / "l.ledger"]
    plain = run(
        "query", folder / "p.csv", "mean", "weight", *words,
        "--epsilon", 1, "--budget", 3,
    )  # fmt: skip
    assert plain.exit_code == DomainError.exit_code
    assert not (folder / "l.ledger").exists()  # refused before anything was charged
    dialect = ["--dialect", "separator=;", "--dialect", "decimal=,"]
    shown = run(
        "query", folder / "p.csv", "mean", "weight", *words, *dialect,
        "--epsilon", 1, "--budget", 3, "--json",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert abs(json.loads(shown.stdout)["value"] - DATA["weight"].mean()) < 20
