"""The experiments of S0, S1, S3 (statistics and models) and S4: what they must show."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreto.errors import MissingExtraError
from discreto.lab import published, study
from discreto.lab.study import (
    s0,
    s1,
    s3_mechanisms,
    s3_models,
    s3_regression,
    s3_statistics,
    s4_examples,
    s4_pima,
)
from discreto.lab.study.arrays import points
from discreto.lab.study.deaths_data import VIOLENT, deaths
from discreto.lab.study.scores import score_table
from discreto.testing import simulate

MODULES = (s0, s1, s3_mechanisms, s3_statistics, s3_regression, s3_models)
EXPERIMENTS = [one for m in (*MODULES, s4_pima, s4_examples) for one in m.EXPERIMENTS]


@pytest.fixture(scope="module")
def pima():
    try:
        return points("pima")
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.name)
def test_a_quick_run_makes_everything(one: study.Experiment, tmp_path: Path) -> None:
    (outcome,) = study.run([one], tmp_path, quick=True, jobs=1)
    if outcome.skipped:
        pytest.skip(outcome.skipped[0]["why"])
    assert outcome.failed == []
    manifest = json.loads((outcome.folder / "manifest.json").read_text("utf-8"))
    assert manifest["findings"]
    assert manifest["tables"] or manifest["pictures"]


def findings(name: str, tmp_path: Path) -> dict[str, dict]:
    chosen = study.find([name])
    (outcome,) = study.run(chosen, tmp_path, quick=True, jobs=1)
    if outcome.skipped:
        pytest.skip(outcome.skipped[0]["why"])
    manifest = json.loads((outcome.folder / "manifest.json").read_text("utf-8"))
    return {one["claim"]: one for one in manifest["findings"]}


def test_the_sum_of_s1_does_not_keep_its_promise(tmp_path: Path) -> None:
    found = findings("s1-sum", tmp_path)
    assert found["b = 7/ε gives ε"]["agrees"] is False
    assert "21" in found["b = 7/ε gives ε"]["seen"]
    assert found["densities of five noise values"]["agrees"] is True


def test_the_examples_of_s4_come_out(tmp_path: Path) -> None:
    found = findings("s4-examples", tmp_path)
    assert found["the numbers of the worked examples"]["agrees"] is True


def test_a_test_set_of_s0_costs_hundreds() -> None:
    line = s0._budget(queries=300, k=51, epsilon=1.0)
    assert 580 < line["shown"] < line["bound"] == 600


def test_the_register_has_what_is_printed_of_it() -> None:
    register = deaths()
    causes, counts = np.unique(register.cause, return_counts=True)
    assert causes[np.argsort(counts)][::-1][:2].tolist() == ["U071", "I219"]
    decades = np.bincount(register.violent // 10)
    assert np.argmax(decades) == 2
    assert (register.cause == VIOLENT).sum() == register.violent.size


def test_references_agree_with_scikit_learn(pima) -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.naive_bayes import GaussianNB

    X, y, tests, _ = pima.split("reference")
    ledger = simulate()
    mine = published.ThesisBayes(epsilon=None, ledger=ledger).fit(X, y).predict(tests)
    assert np.mean(mine == GaussianNB().fit(X, y).predict(tests)) > 0.97
    line = published.FunctionalLinear(
        epsilon=None, fit_intercept=True, ledger=ledger
    ).fit(X, y)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(line.predict(tests), plain.predict(tests), atol=1e-6)


def test_points_know_their_bounds(pima) -> None:
    unit = pima.unit(pima.X)
    assert unit.min() >= 0
    assert unit.max() <= 1
    X, y, tests, truth = pima.split("a", 1)
    assert len(y) + len(truth) == len(pima.y) == 768
    assert len(X) == len(y)
    np.testing.assert_array_equal(tests, pima.split("a", 1)[2])
    assert (tests != pima.split("a", 2)[2]).any()


def test_the_printed_means_are_too_near(pima) -> None:
    assert s3_models._probability_of_table_32() < 1e-6


def test_a_score_table_leaves_out_what_was_not_measured() -> None:
    lines = study.Results(
        [
            {"candidate": "ours", "epsilon": 1.0, "error": 1.0},
            {"candidate": "plain", "epsilon": None, "other": 2.0},
        ]
    )
    table = score_table(lines, "error")
    assert table.columns == ("candidate", "ε", "error")
    assert table.rows[0][2].mean == 1
    assert table.rows[1] == ("plain", None, None)
