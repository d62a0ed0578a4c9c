"""Weights of rows: what they do to a fit, what is refused, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model, naive_bayes

import discreto as dp
from discreto.core.maps import Values, Weighted
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.errors import DomainError, ParameterError
from discreto.models import (
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
)
from discreto.testing import simulate

NUMBERS = {f"x{i}": dp.Number(-1, 1, missing=False) for i in range(3)}
AMOUNT = dp.Domain(NUMBERS | {"y": dp.Number(-6, 6, missing=False)}, target="y")
LABEL = dp.Domain(NUMBERS | {"y": dp.Category([0, 1], missing=False)}, target="y")
EVERY = pytest.mark.parametrize(
    ("kind", "options"),
    [
        (LinearRegression, {}),
        (LinearRegression, {"method": "weighted"}),
        (LinearRegression, {"method": "functional"}),
        (LogisticRegression, {}),
        (LogisticRegression, {"method": "means"}),
        (GaussianNB, {}),
        (NaiveBayes, {"shrink": False}),
    ],
    ids=str,
)


def data(rows=3000, seed=0):
    """Two kinds of rows that say different things, and a mark of the first kind."""
    coins = np.random.default_rng(seed)
    X, first = coins.uniform(-1, 1, (rows, 3)), coins.random(rows) < 0.5
    line = X @ [1.0, -2.0, 0.5] + np.where(first, 0.0, 3 * X[:, 0])
    y = line + coins.normal(0, 0.2, rows)
    return X, y, first


def fitted(kind, options, X, y, epsilon=1, noise=False, **weights):
    number = kind is LinearRegression
    domain = AMOUNT if number else LABEL
    ledger = simulate(1, noise=noise)
    model = kind(epsilon=epsilon, domain=domain, ledger=ledger, **options)
    return model.fit(X, y if number else (y > 0).astype(int), **weights)


def learned(model):
    return model.coef_ if hasattr(model, "coef_") else model.theta_


@EVERY
def test_rows_of_weight_0_are_not_there(kind, options):
    X, y, first = data()
    some = fitted(kind, options, X[first], y[first], 1000)
    weighted = fitted(kind, options, X, y, 1000, sample_weight=first.astype(float))
    every = fitted(kind, options, X, y, 1000)
    apart = np.abs(learned(some) - learned(weighted)).max()
    assert apart < 0.05 * np.abs(learned(some) - learned(every)).max()


@EVERY
def test_weights_cost_what_a_fit_costs(kind, options):
    bare = AMOUNT if kind is LinearRegression else LABEL
    bare = bare.with_(neighbours="replace", rows=5000)  # so that no count decides
    domain = bare.with_(columns=dict(bare.columns) | {"w": dp.Number(0, 1)})
    model = kind(epsilon=1, **options)
    mine, theirs = model.plan(domain, sample_weight="w"), model.plan(bare)
    assert mine.total == theirs.total == dp.Cost.of(1)
    for one, two in zip(mine, theirs, strict=True):
        # The noise is the same, against what a row can move.
        assert one.cost == two.cost
        np.testing.assert_allclose(one.ratios(), two.ratios(), rtol=1e-3)


def test_without_noise_weights_are_those_of_the_references():
    X, y, _ = data(1000)
    weights = np.random.default_rng(3).uniform(0, 4, 1000)
    told = {"sample_weight": weights, "max_weight": 4}
    ours = fitted(NaiveBayes, {"shrink": False}, X, y, **told)
    plain = naive_bayes.GaussianNB().fit(X, y > 0, sample_weight=weights)
    np.testing.assert_allclose(ours.theta_, plain.theta_, atol=1e-6)
    np.testing.assert_allclose(ours.class_prior_, plain.class_prior_, atol=1e-6)
    options = {"method": "functional", "alpha": 0}
    line = fitted(LinearRegression, options, X, y, **told)
    plain = linear_model.LinearRegression().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(line.coef_, plain.coef_, atol=1e-3)


def test_a_column_of_a_table_is_a_weight_and_no_feature():
    X, y, first = data()
    domain = AMOUNT.with_(columns=dict(AMOUNT.columns) | {"w": dp.Number(0, 50)})
    rows = {f"x{i}": X[:, i] for i in range(3)} | {"y": y, "w": 50.0 * first}
    table = dp.Table(rows, domain, simulate(1))
    model = LinearRegression(epsilon=1).fit(table, "y", sample_weight="w")
    assert model.space_.features == ("x0", "x1", "x2")
    assert model.coef_[0] == pytest.approx(1, abs=0.3)
    plan = LinearRegression(epsilon=1).plan(domain, "y", sample_weight="w")
    assert plan.total == dp.Cost.of(1)
    assert model.predict(X[:2]).shape == (2,)


def test_missing_weights_are_0_and_categories_take_weights():
    codes = np.array([[0]] * 400 + [[1]] * 400)
    labels = np.array([0] * 400 + [1] * 200 + [0] * 200)
    weights = np.array([1.0] * 600 + [np.nan] * 200)
    model = CategoricalNB(
        epsilon=50, n_categories=2, classes=[0, 1], ledger=simulate(1), shrink=False
    ).fit(codes, labels, sample_weight=weights)
    assert model.class_count_ == pytest.approx([400, 200], abs=5)


def test_no_row_counts_more_than_the_largest_weight():
    domain = dp.Domain({"x": dp.Number(-1, 1), "w": dp.Number(0, 2)})
    rows = {"x": np.full(4, 0.5), "w": np.array([2.0, 1e9, -3, np.nan])}
    for features, form, each in (
        (Ones(), "linear", [1 << 30]),
        (Values(("x",), bits=4), "linear", [8]),
        (Values(("x",), bits=4), "pair", [24, 8]),
        (Values(("x",), bits=4), "gram", [64]),
    ):
        table = dp.Table(rows, domain, simulate(noise=False))
        block = Block(
            Weighted(features, "w", form), "gram" if form == "gram" else "linear"
        )
        query = Sum(Everyone(), (block,))
        answer = table.gate().measure(query, dp.Cost.of(1), "weights")
        assert answer.tables[0][0].tolist() == [2 * one for one in each], form


def test_what_is_no_weight_is_refused_for_free():
    X, y, first = data(50)
    ledger = dp.Ledger(epsilon=1)
    model = LinearRegression(epsilon=1, domain=AMOUNT, ledger=ledger)
    for wrong in (first[:9], [["a"]] * 50, "w", np.ones((50, 1)), ["a"] * 50):
        with pytest.raises(ParameterError, match="sample_weight"):
            model.fit(X, y, sample_weight=wrong)
    for most in (0, -1, True, "2", np.inf, np.nan):
        with pytest.raises(ParameterError, match="max_weight"):
            model.fit(X, y, sample_weight=first, max_weight=most)
    signed = AMOUNT.with_(columns=dict(AMOUNT.columns) | {"w": dp.Number(-1, 1)})
    rows = {f"x{i}": X[:, i] for i in range(3)} | {"y": y, "w": y}
    table = dp.Table(rows, signed, ledger)
    with pytest.raises(DomainError, match="0 at least"):
        model.fit(table, "y", sample_weight="w")
    for wrong in ("y", "nothing", first):
        with pytest.raises((ParameterError, DomainError)):
            model.fit(table, "y", sample_weight=wrong)
    with pytest.raises(ParameterError, match="max_weight"):
        model.fit(table, "y", sample_weight="w", max_weight=2)
    assert ledger.total() == 0
    with pytest.raises(TypeError):
        KMeans(2, epsilon=1).fit(X, sample_weight=first)


@pytest.mark.parametrize("rows", [0, 1])
def test_any_weights_of_any_rows_are_answered(rows):
    X = np.zeros((rows, 3))
    for kind in (LinearRegression, LogisticRegression, GaussianNB):
        model = fitted(kind, {}, X, np.zeros(rows), noise=True, sample_weight=X[:, 0])
        assert np.isfinite(learned(model)).all()
