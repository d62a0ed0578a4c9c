"""Naive Bayes: what it equals without noise, what it costs, what it survives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import discreto as dp
from discreto.errors import DomainError, ParameterError
from discreto.models import CategoricalNB, GaussianNB, NaiveBayes
from discreto.models.interop import json as persist
from discreto.testing import simulate

MIXED = {
    "x": dp.Number(0, 10),
    "z": dp.Number(-1, 1, missing=True),
    "s": dp.Category(["a", "b", "c"]),
    "t": dp.Category(["u", "v"], missing=True),
}


def mixed_domain(**more):
    return dp.Domain(MIXED | {"y": dp.Category(["n", "p"])}, target="y", **more)


def mixed_rows(rows, seed=0):
    coins = np.random.default_rng(seed)
    yes = coins.random(rows) < 0.4
    return {
        "x": 4 + 3 * yes + coins.normal(0, 1, rows),
        "z": np.where(coins.random(rows) < 0.1, np.nan, 0.4 * yes - 0.2),
        "s": np.where(coins.random(rows) < 0.3 + 0.5 * yes, "a", "c"),
        "t": np.where(coins.random(rows) < 0.5, "u", None),
        "y": np.where(yes, "p", "n"),
    }


def silent():
    return simulate(noise=False)


# The worked examples of the slides S4


def test_missed_payment():
    rows = """Young Low Male Yes,Young High Female Yes,Medium High Male No,
    Old Medium Male No,Old High Male No,Old Low Female Yes,Medium Low Female No,
    Medium Medium Male Yes,Young Low Male No,Old High Female No"""
    table = pd.DataFrame(
        [row.split() for row in rows.split(",")],
        columns=["age", "income", "gender", "missed"],
    )
    domain = dp.Domain(
        {
            "age": dp.Category(["Young", "Medium", "Old"]),
            "income": dp.Category(["Low", "Medium", "High"]),
            "gender": dp.Category(["Female", "Male"]),
            "missed": dp.Category(["Yes", "No"]),
        },
        target="missed",
    )
    model = CategoricalNB(
        epsilon=1, alpha=0, shrink=False, domain=domain, ledger=silent()
    )
    features = table[["age", "income", "gender"]]
    model.fit(features, table["missed"])
    who = pd.DataFrame([["Young", "Medium", "Female"]], columns=features.columns)
    joint = np.exp(model.predict_joint_log_proba(who))[0]
    assert joint == pytest.approx([1 / 40, 1 / 180], rel=1e-8)
    assert model.predict(who) == ["Yes"]


def test_height_weight_foot():
    men = [[182, 81.6, 30], [180, 86.2, 28], [170, 77.1, 30], [180, 74.8, 25]]
    women = [[152, 45.4, 15], [168, 68, 20], [165, 59, 18], [175, 68, 23]]
    model = GaussianNB(
        epsilon=1,
        ddof=1,
        shrink=False,
        bounds=([100, 30, 10], [220, 150, 40]),
        classes=["m", "f"],
        ledger=silent(),
    )
    model.fit(np.array(men + women), ["m"] * 4 + ["f"] * 4)
    variances = [[29.3, 25.5, 5.58], [92.7, 114, 11.3]]
    assert model.var_ == pytest.approx(np.array(variances), rel=4e-3)
    joint = np.exp(model.predict_joint_log_proba([[183, 59, 20]]))[0]
    assert joint == pytest.approx([1.34e-10, 1.52e-5], rel=4e-3)
    assert model.predict([[183, 59, 20]]) == ["f"]


# Without noise


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("kind", [GaussianNB, NaiveBayes])
def test_equals_sklearn_on_numbers(load, kind):
    X, y = load(return_X_y=True)
    bounds = (X.min(axis=0) - 1e-3, X.max(axis=0) + 1e-3)
    model = kind(epsilon=1, shrink=False, bounds=bounds, ledger=silent())
    model.set_params(classes=sorted(set(y.tolist()))).fit(X, y)
    reference = model.reference().fit(X, y)
    assert model.theta_ == pytest.approx(reference.theta_, rel=1e-6)
    assert model.var_ == pytest.approx(reference.var_, rel=1e-4)
    assert model.epsilon_ == pytest.approx(reference.epsilon_, rel=1e-6)
    assert model.class_count_ == pytest.approx(reference.class_count_)
    np.testing.assert_allclose(
        model.predict_proba(X), reference.predict_proba(X), atol=1e-5
    )


def test_equals_sklearn_on_categories():
    coins = np.random.default_rng(0)
    X = coins.integers(0, 4, (300, 5))
    y = (X[:, 0] + coins.integers(0, 3, 300) > 2).astype(int)
    for alpha in (1.0, 0.3):
        model = CategoricalNB(
            epsilon=1,
            alpha=alpha,
            shrink=False,
            n_categories=4,
            classes=[0, 1],
            ledger=silent(),
        ).fit(X, y)
        reference = model.reference().fit(X, y)
        np.testing.assert_allclose(
            model.predict_log_proba(X), reference.predict_log_proba(X), atol=1e-8
        )


def test_shrinking_goes_away_with_the_noise():
    X, y = load_breast_cancer(return_X_y=True)
    bounds = (X.min(axis=0), X.max(axis=0))
    model = GaussianNB(epsilon=10**6, bounds=bounds, classes=[0, 1], ledger=silent())
    model.fit(X, y)
    reference = model.reference().fit(X, y)
    assert model.vote_share_ < 1e-6
    # Outliers are drawn in, and probabilities less sure; the laws are the same else.
    assert np.median(np.abs(model.theta_ / reference.theta_ - 1)) < 1e-3
    assert np.mean(model.predict(X) == reference.predict(X)) > 0.97


def test_a_mixed_model_is_the_product_of_its_columns():
    rows = mixed_rows(500)
    table = dp.Table(rows, mixed_domain(), silent())
    model = NaiveBayes(epsilon=1, shrink=False).fit(table)
    yes = rows["y"] == "p"
    for code, here in enumerate((~yes, yes)):
        there = ~np.isnan(rows["z"])
        assert model.theta_[code, 0] == pytest.approx(rows["x"][here].mean(), rel=1e-6)
        assert model.theta_[code, 1] == pytest.approx(rows["z"][here & there].mean())
        chance = ((rows["s"][here] == "a").sum() + 1) / (here.sum() + 3)
        assert np.exp(model.feature_log_prob_[0][code, 0]) == pytest.approx(chance)
        assert np.exp(model.feature_log_prob_[1][code, 0]) > 0.98  # v never happens
    assert model.class_prior_ == pytest.approx([(~yes).mean(), yes.mean()])


@pytest.mark.filterwarnings("ignore:column .* has values that the domain")
def test_missing_values_drop_their_column():
    table = dp.Table(mixed_rows(500), mixed_domain(), silent())
    for shrink in (False, True):
        model = NaiveBayes(epsilon=1, shrink=shrink).fit(table)
        empty = np.array([[None, None, None, None]], dtype=object)
        joint = model.predict_joint_log_proba(empty)
        assert np.exp(joint)[0] == pytest.approx(model.class_prior_)
        part = np.array([[5.0, None, "?", None]], dtype=object)
        mean, var = model.theta_[:, 0], (model.var_ + model.theta_doubt_)[:, 0]
        law = np.exp(-((5 - mean) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var)
        expected = model.class_prior_ * law
        assert np.exp(model.predict_joint_log_proba(part))[0] == pytest.approx(expected)
        assert np.isfinite(model.predict_log_proba(part)).all()


# What it costs


def test_plan():
    left = Fraction(19, 20)
    wanted = {
        "rows": Fraction(1, 20),
        "where the numbers are": left / 10,
        "class tables": left * 6 / 10,
        "class scores": left / 4,
        "how sure to be": left / 20,
    }
    for shrink, shares in ((True, wanted), (False, {"class tables": 1})):
        plan = NaiveBayes(epsilon=2, shrink=shrink).plan(mixed_domain())
        assert {q.label: q.cost.epsilon / 2 for q in plan} == shares
        assert plan.total.epsilon == 2
    # With few rows all of it goes to class counts, then to class means.
    forms = NaiveBayes(epsilon=2).plan(mixed_domain()).forms
    labels = {tuple(question.label for question in form) for form in forms}
    assert {("rows", "class counts"), ("rows", "class sums")} <= labels
    assert all(sum(q.cost.epsilon for q in form) == 2 for form in forms)
    three = dp.Domain(MIXED | {"y": dp.Category(["a", "b", "c"])}, target="y")
    labels = [question.label for question in NaiveBayes(epsilon=2).plan(three)]
    assert "class scores" not in labels  # (3 - 1)^2 is not below 4


# What it is good for


@pytest.mark.slow
def test_is_accurate_at_epsilon_one():
    X, y = load_breast_cancer(return_X_y=True)
    # Wider than the data, as bounds from a code book would be.
    span = X.max(axis=0) - X.min(axis=0)
    bounds = (X.min(axis=0) - span / 20, X.max(axis=0) + span / 20)
    right = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:398], order[398:]
        model = GaussianNB(
            epsilon=1, bounds=bounds, classes=[0, 1], ledger=simulate(seed)
        )
        right.append(model.fit(X[train], y[train]).score(X[test], y[test]))
    assert np.mean(right) > 0.82


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_mixed_is_accurate(delta, neighbours):
    rows = mixed_rows(3000)
    count = 3000 if neighbours == "replace" else None
    domain = mixed_domain(neighbours=neighbours, rows=count)
    model = NaiveBayes(epsilon=1, delta=delta).fit(dp.Table(rows, domain, simulate(1)))
    new = mixed_rows(1000, seed=5)
    X = np.column_stack([np.asarray(new[name], dtype=object) for name in MIXED])
    assert (model.predict(X) == new["y"]).mean() > 0.9
    if neighbours == "replace":
        assert model.class_count_.sum() == pytest.approx(3000, rel=0.01)


# What it survives and refuses

TABLES = {
    "empty": 0,
    "one row": 1,
    "one class": 40,
    "all missing": 30,
    "all outside": 30,
}


@pytest.mark.parametrize("what", TABLES)
@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("shrink", [True, False])
def test_odd_tables(what, noise, shrink):
    rows = mixed_rows(TABLES[what])
    if what == "one class":
        rows["y"] = np.full(40, "n")
    if what == "all missing":
        rows = dict.fromkeys(rows, np.full(30, None))
    if what == "all outside":
        rows |= {"x": np.full(30, 1e9), "s": np.full(30, "?"), "y": np.full(30, "?")}
    table = dp.Table(rows, mixed_domain(), simulate(0, noise=noise))
    model = NaiveBayes(epsilon=1, shrink=shrink).fit(table)
    new = np.array([[5, 0, "a", "u"], [None, None, None, None]], dtype=object)
    chance = model.predict_proba(new)
    assert np.isfinite(chance).all()
    assert chance.sum(axis=1) == pytest.approx([1, 1])
    assert set(model.predict(new)) <= {"n", "p"}


@pytest.mark.parametrize(
    "bad",
    [
        {"alpha": -1},
        {"alpha": "x"},
        {"alpha": float("nan")},
        {"var_smoothing": -1},
        {"ddof": 2},
        {"ddof": True},
        {"shrink": "yes"},
    ],
)
def test_bad_parameters_cost_nothing(bad):
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(mixed_rows(10), mixed_domain(), ledger)
    with pytest.raises(ParameterError, match=f"NaiveBayes: {next(iter(bad))} must"):
        NaiveBayes(epsilon=1, **bad).fit(table)
    assert ledger.spent().epsilon == 0


def test_kinds_of_columns():
    with pytest.raises(DomainError, match="'s' is a Category"):
        GaussianNB(epsilon=1).plan(mixed_domain())
    with pytest.raises(DomainError, match="'x' is a Number"):
        CategoricalNB(epsilon=1).plan(mixed_domain())
    with pytest.raises(DomainError, match="needs public categories"):
        CategoricalNB(epsilon=1, classes=[0, 1]).fit([[0], [1]], [0, 1])
    for bad in (0, "x", [1, 2, 3]):
        model = CategoricalNB(epsilon=1, classes=[0, 1], n_categories=bad)
        with pytest.raises(ParameterError, match="n_categories must be"):
            model.fit([[0, 1], [1, 1]], [0, 1])
    model = NaiveBayes(epsilon=1).fit(dp.Table(mixed_rows(9), mixed_domain(), silent()))
    with pytest.raises(ParameterError, match="no naive Bayes for Number and Category"):
        model.reference()


def test_saved_and_read_back():
    table = dp.Table(mixed_rows(200), mixed_domain(), simulate(3))
    model = NaiveBayes(epsilon=1).fit(table)
    again = persist.loads(persist.dumps(model))
    new = np.array([[5, 0, "a", "u"], [None, 1, "c", None]], dtype=object)
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_a_model_of_a_table_predicts_frames_by_name():
    domain = dp.Domain({"a": dp.Number(0, 1), "y": dp.Category(["n", "p"])}, target="y")
    data = {"a": np.linspace(0, 1, 100), "y": ["n"] * 50 + ["p"] * 50}
    table = dp.Table(data, domain, simulate(noise=False))
    model = NaiveBayes(epsilon=1).fit(table)
    frame = pd.DataFrame({"other": [1, 1], "a": [0.1, 0.9]})
    assert model.predict(frame).tolist() == ["n", "p"]
