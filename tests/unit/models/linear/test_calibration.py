"""How far the scores of two classes are trusted, where class means are all there is."""

from __future__ import annotations

import numpy as np
import pytest

from discreto import Category, Domain, Number, Table, models
from discreto.core.maps.unit_columns import Indicator
from discreto.models.linear import calibration as _calibration
from discreto.models.linear.calibration import _PLACES, _fitted, _sides, worth_asking
from discreto.testing import simulate


def test_rows_are_counted_where_their_scores_are():
    """Numbers, categories and a missing value, each with its own weight."""
    rng = np.random.default_rng(0)
    domain = Domain({"u": Number(-1, 1), "c": Category(["a", "b", "d"])})
    terms = ("u", *(Indicator("c", code) for code in range(4)))
    slopes = np.array([0.4, -0.5, 0.2, 0.1, 0.3])
    batch = {"u": rng.uniform(-1, 1, 500), "c": rng.integers(-1, 3, 500)}
    scores = slopes[0] * batch["u"]
    scores = scores + slopes[1:][batch["c"]]  # the last one is that of no category
    offsets = np.array([-0.4, 0.0, 0.3])
    codes = _sides(terms, slopes, offsets, domain).codes(batch, domain)
    passed = (scores[:, None] > offsets).sum(axis=1)
    assert set(passed) == {0, 1, 2, 3}
    assert codes.tolist() == np.array([0b000, 0b100, 0b110, 0b111])[passed].tolist()


@pytest.mark.parametrize(("slope", "score"), [(0.25, 0.5), (1.6, -1.0), (1.0, 0.0)])
def test_the_likeliest_slope_and_shift_are_found(slope, score):
    away = 2.0 * _PLACES
    odds = slope * away + score
    counts = 1e4 * np.array([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])
    found = _fitted(counts, np.full((2, 1), 1e-6), away, 0.0)
    assert found == pytest.approx((slope, score), rel=0.07, abs=0.07)


def test_counts_that_may_be_noise_change_nothing():
    away = 2.0 * _PLACES
    odds = 0.5 * away
    counts = 3 * np.array([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))])
    slope, score = _fitted(counts, np.full((2, 1), 100.0), away, 0.3)
    assert (slope, score) == (1.0, 0.3)


def test_few_rows_and_few_or_many_columns_are_not_asked():
    assert worth_asking(400, 16, gaussian=False)
    assert not worth_asking(150, 16, gaussian=False)
    assert worth_asking(150, 16, gaussian=True)
    assert not worth_asking(400, 4, gaussian=False)
    assert not worth_asking(400, 64, gaussian=False)


def repeated(rows: int, coins: np.random.Generator) -> dict[str, np.ndarray]:
    """Sixteen columns that say about the same, and a class that hears it badly."""
    said = coins.normal(0, 0.35, rows)
    y = (said + coins.normal(0, 0.3, rows) > 0.2).astype(int)
    data = {f"x{i}": said + coins.normal(0, 0.2, rows) for i in range(16)}
    return {name: np.clip(x, -1, 1) for name, x in data.items()} | {"y": y}


def log_loss(model: models.LogisticRegression, rows: dict[str, np.ndarray]) -> float:
    features = {name: x for name, x in rows.items() if name != "y"}
    chances = model.predict_proba(features)
    return float(-np.log(chances[np.arange(len(rows["y"])), rows["y"]]).mean())


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LogisticRegression", {"epsilon": 2, "method": "means"}),
        ("LogisticRegression", {"epsilon": 2, "delta": "1e-5", "method": "means"}),
        ("NaiveBayes", {"epsilon": 0.9}),
    ],
)
def test_columns_that_repeat_each_other_make_no_model_too_sure(
    kind, options, monkeypatch
):
    """Class means of copies of a column are worse than a constant without asking."""
    columns = {f"x{i}": Number(-1, 1, missing=False) for i in range(16)}
    domain = Domain(columns | {"y": Category([0, 1], missing=False)}, target="y")
    coins = np.random.default_rng(3)
    fresh = repeated(2000, coins)
    share = fresh["y"].mean()
    constant = -share * np.log(share) - (1 - share) * np.log(1 - share)

    def mean_loss() -> float:
        losses = []
        for seed in range(4):
            rows = repeated(400, np.random.default_rng(seed))
            table = Table(rows, domain.with_(rows=400), simulate(seed))
            losses.append(log_loss(getattr(models, kind)(**options).fit(table), fresh))
        return float(np.mean(losses))

    asked = mean_loss()
    monkeypatch.setattr(_calibration, "_fitted", lambda *facts: (1.0, facts[-1]))
    assert asked < constant - 0.05
    assert asked < mean_loss() - 0.1


def test_the_share_for_it_is_part_of_the_cost():
    columns = {f"x{i}": Number(-1, 1) for i in range(16)}
    domain = Domain(columns | {"y": Category([0, 1])}, target="y", rows=400)
    plan = models.LogisticRegression(epsilon=2).plan(domain)
    prices = {question.label: question.cost.epsilon for question in plan}
    windows = next(iter(prices.values()))  # where numbers are comes first
    assert prices["how sure to be"] == (2 - windows) * _calibration.SHARE
    assert sum(prices.values()) == plan.total.epsilon == 2
