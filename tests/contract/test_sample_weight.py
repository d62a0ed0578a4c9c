"""What every model with weights of rows keeps to."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import discreto as dp
from discreto.models.interop import json as persist
from discreto.testing import simulate

TAKERS = {
    *("GaussianNB", "CategoricalNB", "NaiveBayes"),
    *("LinearRegression", "LogisticRegression"),
}


def weighted(case, neighbours="add-remove", rows=None):
    domain = case.domain(neighbours, rows)
    return domain.with_(columns=dict(domain.columns) | {"w": dp.Number(0, 4)})


def data(case, rows, seed=0):
    weights = np.random.default_rng(seed + 7).uniform(-1, 9, rows)
    return case.data(rows, seed) | {"w": weights}


@pytest.fixture
def taker(case):
    if case.name not in TAKERS:
        pytest.skip("it has no weights of rows")
    return case


def test_these_models_take_weights(case):
    takes = "sample_weight" in inspect.signature(case.make().fit).parameters
    assert takes == (case.name in TAKERS)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_plan_equals_what_is_charged(taker, delta, neighbours):
    domain = weighted(taker, neighbours, 60 if neighbours == "replace" else None)
    ledger, model = dp.Ledger(epsilon=2, delta="1e-5"), taker.make(delta=delta)
    plan = model.plan(domain, sample_weight="w")
    model.fit(dp.Table(data(taker, 60), domain, ledger), sample_weight="w")
    assert model.privacy_.plan.questions in plan.forms
    assert [entry["cost"] for entry in ledger.entries()] == [plan.total.to_dict()]
    assert plan.total == taker.make(delta=delta).plan(taker.domain()).total


@pytest.mark.parametrize("kind", ["empty", "no weights", "far", "declared"])
def test_survives_poor_weights(taker, kind):
    rows = data(taker, 0 if kind == "empty" else 30)
    odd = {"no weights": np.nan, "far": np.inf}.get(kind, 0.0)
    rows["w"] = np.full(len(rows["w"]), odd)
    domain = weighted(taker, rows=30 if kind == "declared" else None)
    table = dp.Table(rows, domain, simulate(3))
    model = taker.make().fit(table, sample_weight="w")
    found = persist.loads(persist.dumps(model)).predict(frame(taker))
    assert len(found) == 5


def frame(case):
    names = [n for n in case.domain().features() if n != case.target]
    rows = case.data(5)
    return np.column_stack([np.asarray(rows[n], dtype=object) for n in names])


def test_order_of_rows_does_not_matter(taker):
    rows, domain = data(taker, 200), weighted(taker)
    turned = {name: np.asarray(values)[::-1] for name, values in rows.items()}
    one, two = (
        taker.make().fit(dp.Table(some, domain, simulate(5)), sample_weight="w")
        for some in (rows, turned)
    )
    np.testing.assert_array_equal(one.predict(frame(taker)), two.predict(frame(taker)))


def test_weights_of_one_and_no_weights_are_the_same_without_noise(taker):
    rows = data(taker, 400) | {"w": np.full(400, 4.0)}
    table = dp.Table(rows, weighted(taker), simulate(noise=False))
    bare = dp.Table(taker.data(400), taker.domain(), simulate(noise=False))
    model = taker.make(epsilon=20).fit(table, sample_weight="w")
    plain = taker.make(epsilon=20).fit(bare)
    for name in ("coef_", "theta_", "class_prior_"):
        if hasattr(plain, name):
            np.testing.assert_allclose(
                getattr(model, name), getattr(plain, name), rtol=1e-6, atol=1e-8
            )
