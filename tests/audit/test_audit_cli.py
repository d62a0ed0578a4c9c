"""``discreto audit`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import discreto as dp
from discreto.audit import Finding
from discreto.cli import app


def run(*args: object) -> Result:
    return CliRunner().invoke(app, ["audit", *[str(arg) for arg in args]])


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    path = tmp_path / "d.json"
    columns = {"age": dp.Number(0, 120), "sick": dp.Category(["no", "yes"])}
    dp.Domain(columns, target="sick").save(path)
    return path


def test_a_model_and_its_page(domain, tmp_path):
    page = tmp_path / "audit.html"
    done = run(
        "NaiveBayes", "--domain", domain, "--epsilon", 1, "--runs", 400, "--out", page
    )
    assert done.exit_code == 0, done.output
    assert "holds" in done.output
    text = page.read_text()
    assert "NaiveBayes" in text
    assert "SIMULATED" in text
    again = run("NaiveBayes", "--domain", domain, "--epsilon", 1, "--out", page)
    assert again.exit_code == 2


def test_a_statistic_as_json(domain):
    done = run(
        "mean", "age", "--domain", domain, "--epsilon", "0.5", "--runs", 400, "--json"
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["findings"]
    assert [one["method"] for one in found] == ["transcript", "black box"]
    assert found[0]["claimed"] == 0.5


def test_settings_reach_the_model(domain):
    options = ("--domain", domain, "--epsilon", 1, "--runs", 0)
    assert run("KMeans", *options, "--set", "n_clusters=2").exit_code == 0
    assert run("KMeans", *options, "--set", "colour=2").exit_code == 2
    assert run("KMeans", *options, "--set", "n_clusters").exit_code == 2


@pytest.mark.parametrize(
    "args",
    [
        ("NaiveBayes", "--epsilon", 1),
        ("NaiveBayes", "--domain", "DOMAIN"),
        ("Nothing", "--domain", "DOMAIN", "--epsilon", 1),
    ],
)
def test_what_is_missing_is_said(domain, args):
    done = run(*[domain if arg == "DOMAIN" else arg for arg in args])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_a_violation_has_an_exit_code(domain, monkeypatch):
    bad = Finding("Thing", "transcript", True, 1, float("inf"), "it leaks", "two", 1)
    monkeypatch.setattr("discreto.audit.examine", lambda *a, **k: [bad])
    done = run("mean", "age", "--domain", domain, "--epsilon", 1)
    assert done.exit_code == 6
    assert "VIOLATION" in done.output


def test_known_bugs_by_their_old_name(monkeypatch):
    from discreto.lab import known_bugs

    few = (known_bugs.named("forgotten clip"), known_bugs.named("halved noise"))
    monkeypatch.setattr(known_bugs, "PLANTED_BUGS", few)
    done = run("museum", "--runs", 4000)
    assert done.exit_code == 0, done.output
    assert "forgotten clip" in done.output
    assert "clear" in done.output


def test_a_known_bug_that_is_missed_says_so(monkeypatch):
    from dataclasses import replace

    from discreto.lab import known_bugs

    planted_bug = known_bugs.named("forgotten clip")
    monkeypatch.setattr(
        known_bugs, "PLANTED_BUGS", (replace(planted_bug, bug=planted_bug.honest),)
    )
    done = run("known-bugs")
    assert done.exit_code == 6
    assert "MISSED" in done.output


def test_findings_print_and_travel():
    one = Finding(
        "Thing", "black box", False, 1, 0.8, "x ≥ 2", "two", 1, confidence=0.9
    )
    assert "at least ε 0.8" in str(one)
    assert json.loads(json.dumps(one.to_dict()))["verdict"] == "holds"


def test_a_silo_of_one_column(tmp_path):
    path = tmp_path / "one.json"
    dp.Domain({"age": dp.Number(0, 120)}).save(path)
    done = run("silo", "--domain", path)
    assert done.exit_code == 0, done.output
    assert "refusals" in done.output
    assert run("silo").exit_code == 2
