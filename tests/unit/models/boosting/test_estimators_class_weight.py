"""Weights of classes move the odds by just that much, and cost nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

import discreto as dp
from discreto.errors import ParameterError
from discreto.models import BoostingSettings, GradientBoostingClassifier
from discreto.testing import simulate


def domain(classes=2, rows=None):
    columns = {"a": dp.Number(0, 1), "c": dp.Category(range(classes))}
    return dp.Domain(columns, target="c", rows=rows)


def data(rows=4000, classes=2, seed=0):
    """The first class has nearly all of the rows."""
    coins = np.random.default_rng(seed)
    c = (coins.random(rows) > 0.9) * coins.integers(1, classes, rows)
    return {"a": np.clip(0.3 + 0.15 * c + coins.normal(0, 0.1, rows), 0, 1), "c": c}


def fit(weight, classes=2, ledger=None, **more):
    model = GradientBoostingClassifier(**{"epsilon": 1, "class_weight": weight, **more})
    public = domain(classes, more.pop("rows", None))
    return model.fit(dp.Table(data(classes=classes), public, ledger or simulate(2)))


X = np.linspace(0, 1, 50)[:, None]


@pytest.mark.slow
def test_two_classes_have_other_odds():
    plain, heavy = (fit(w).predict_proba(X) for w in (None, {0: 1, 1: 5}))
    odds = (heavy[:, 1] / heavy[:, 0]) / (plain[:, 1] / plain[:, 0])
    np.testing.assert_allclose(odds, 5)


@pytest.mark.slow
def test_several_classes_have_other_odds():
    plain, heavy = (fit(w, 3).predict_proba(X) for w in (None, [1, 2, 8]))
    odds = heavy / plain
    np.testing.assert_allclose(odds[:, 1] / odds[:, 0], 2)
    np.testing.assert_allclose(odds[:, 2] / odds[:, 0], 8)


def test_weights_where_class_shares_are_not_asked_for():
    settings = BoostingSettings(start=False)
    plain, heavy = (
        fit(w, 3, settings=settings).predict_proba(X) for w in (None, [1, 2, 8])
    )
    assert plain.shape == (50, 3)
    odds = heavy / plain
    np.testing.assert_allclose(odds[:, 2] / odds[:, 1], 4)


def test_one_class_takes_a_weight():
    model = GradientBoostingClassifier(epsilon=1, class_weight=[3])
    model.fit(dp.Table({"a": [0.5] * 9, "c": [0] * 9}, domain(1), simulate(1)))
    assert model.predict([[0.5]]).tolist() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_finds_rare_classes(classes):
    fresh = data(4000, classes, 7)
    found = [
        balanced_accuracy_score(
            fresh["c"], fit(w, classes, epsilon=4).predict(fresh["a"][:, None])
        )
        for w in (None, "balanced")
    ]
    assert found[1] > found[0] + 0.05


def test_with_few_rows_balanced_classes_are_even():
    model = GradientBoostingClassifier(epsilon=1, class_weight="balanced")
    model.fit(dp.Table(data(20), domain(), simulate(3)))
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_weights_are_free():
    plans = [
        GradientBoostingClassifier(epsilon=1, class_weight=w).plan(domain())
        for w in (None, "balanced", [1, 3])
    ]
    assert plans[0].forms == plans[1].forms == plans[2].forms


@pytest.mark.parametrize(
    "weight", ["even", {0: 1}, {0: 1, 1: 0}, [1], [1, -1], [1, True], [1, np.nan], 3]
)
def test_bad_weights_spend_nothing(weight):
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match="class_weight"):
        fit(weight, ledger=ledger)
    assert ledger.total() == 0


def test_balanced_needs_class_shares():
    ledger, settings = dp.Ledger(epsilon=1), BoostingSettings(start=False)
    with pytest.raises(ParameterError, match="class shares"):
        fit("balanced", ledger=ledger, settings=settings)
    assert ledger.total() == 0
