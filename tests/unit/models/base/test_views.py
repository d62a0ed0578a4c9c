"""Few rows, many classes, wide bounds, long code books: what defaults do with them."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.models import (
    AutoClassifier,
    AutoRegressor,
    CellNeighborsClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NaiveBayes,
)
from discreto.models.base.signal_to_noise import likely_counts
from discreto.models.interop.json import dumps, loads
from discreto.testing import simulate

CLASSIFIERS = (
    AutoClassifier,
    CellNeighborsClassifier,
    GradientBoostingClassifier,
    models.LogisticRegression,
    NaiveBayes,
)


def domain(width: float = 1.0, classes: int = 2, rows: int | None = None) -> dp.Domain:
    columns = {f"x{i}": dp.Number(0, 10 * width) for i in range(4)}
    columns["y"] = dp.Category(range(classes))
    return dp.Domain(columns, target="y", rows=rows)


def rows_of(count: int, classes: int = 2, seed: int = 0):
    coins = np.random.default_rng(seed)
    y = coins.integers(0, classes, count)
    middle = np.random.default_rng(9).uniform(2, 8, (classes, 4))
    return middle[y] + coins.normal(0, 1.0, (count, 4)), y


def log_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("declared", [True, False])
def test_with_few_rows_a_model_knows_class_shares(kind, declared):
    coins = np.random.default_rng(1)
    X, y = coins.uniform(0, 10, (100, 4)), (coins.random(100) < 0.1).astype(int)
    right = []
    for seed in range(6):  # rows x epsilon = 20
        facts = domain(rows=100 if declared else None)
        model = kind(epsilon="0.2", domain=facts, ledger=simulate(seed))
        right.append(np.mean(model.fit(X, y).predict(X) == 0))
    assert np.mean(right) > 0.8


@pytest.mark.parametrize("declared", [True, False])
def test_with_few_rows_a_regressor_knows_the_mean(declared):
    X, _ = rows_of(100)
    y = np.full(100, 30.0)
    columns = {f"x{i}": dp.Number(0, 10) for i in range(4)} | {"y": dp.Number(0, 100)}
    rows = 100 if declared else None
    facts = dp.Domain(columns, target="y", rows=rows)
    for kind in (GradientBoostingRegressor, AutoRegressor):
        model = kind(epsilon="0.3", domain=facts, ledger=simulate(2)).fit(X, y)
        inner = getattr(model, "model_", model)
        assert inner.n_trees_ == 0
        found = model.predict(X)
        assert np.ptp(found) == 0
        assert abs(found[0] - 30) < 15


def test_the_count_of_rows_chooses_how_many_trees_there_are():
    trees = []
    for count in (60, 600, 20_000):
        X, y = rows_of(count)
        model = GradientBoostingClassifier(
            epsilon=1, domain=domain(), ledger=simulate(0), random_state=0
        ).fit(X, y)
        trees.append(model.n_trees_)
        assert sum(q.cost.epsilon for q in model.privacy_.plan) == 1
    assert trees == sorted(trees)
    assert trees[0] < trees[-1]


def test_many_classes_are_told_apart_and_not_doubted():
    X, y = rows_of(6000, 10)
    new, truth = rows_of(2000, 10, seed=5)
    model = GradientBoostingClassifier(
        epsilon=1, domain=domain(classes=10, rows=6000), ledger=simulate(0)
    ).fit(X, y)
    assert "class tables" in [q.label for q in model.privacy_.plan]
    assert model.score(new, truth) > 0.75
    assert log_loss(model, new, truth) < 1.0  # by chance: 2.3


@pytest.mark.parametrize(
    "kind", [CellNeighborsClassifier, models.LogisticRegression, NaiveBayes]
)
def test_bounds_that_are_far_too_wide_cost_little(kind):
    X, y = rows_of(6000)
    new, truth = rows_of(2000, seed=5)
    right = {}
    for width in (1, 50):
        facts = domain(width, rows=6000)
        model = kind(epsilon=1, domain=facts, ledger=simulate(0), random_state=0)
        right[width] = model.fit(X, y).score(new, truth)
    assert right[50] > right[1] - 0.1
    upper = [model.view_.domain.number(name).upper for name in model.view_.numbers]
    assert max(upper) < 100  # of 500 that are declared


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, NaiveBayes])
def test_a_code_book_costs_little(kind):
    coins = np.random.default_rng(3)
    c = coins.choice(["a", "b", "c", "d"], 3000)
    y = (coins.random(3000) < np.isin(c, ["a", "b"]) * 0.8 + 0.1).astype(int)
    codes = ["a", "b", "c", "d", *(f"code {i}" for i in range(1500))]
    facts = dp.Domain(
        {"c": dp.Category(codes), "y": dp.Category([0, 1])}, target="y", rows=3000
    )
    model = kind(epsilon=1, domain=facts, ledger=simulate(1)).fit(c[:, None], y)
    assert np.mean(model.predict(c[:, None]) == y) > 0.85
    again = loads(dumps(model))
    np.testing.assert_array_equal(again.predict(c[:, None]), model.predict(c[:, None]))
    with pytest.warns(UserWarning, match="such as 'nobody declared this'"):
        model.predict(np.array([["code 7"], ["nobody declared this"]], dtype=object))


def test_one_declared_class_is_always_predicted():
    for seed in range(5):
        model = GradientBoostingClassifier(
            epsilon=1, bounds=(0, 1), classes=["a"], ledger=simulate(seed)
        ).fit(np.linspace(0, 1, 200)[:, None], ["a"] * 200)
        assert model.predict([[0.3]]).tolist() == ["a"]
        assert model.predict_proba([[0.3]]).tolist() == [[1.0]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_more_budget_is_not_worse_and_no_log_loss_is_worse_than_a_constant(kind):
    new, truth = rows_of(2000, 3, seed=5)
    right = {}
    for cost in ((1, 0), (8, 0), (1, 1e-5)):
        found = []
        for seed in range(3):
            X, y = rows_of(1500, 3, seed)
            facts = domain(classes=3, rows=1500)
            model = kind(
                epsilon=cost[0], delta=cost[1], domain=facts, ledger=simulate(seed)
            ).fit(X, y)
            assert log_loss(model, new, truth) < np.log(3)
            found.append(model.score(new, truth))
        right[cost] = np.mean(found)
    assert right[8, 0] > right[1, 0] - 0.02
    assert right[1, 1e-5] > right[1, 0] - 0.03


@pytest.mark.parametrize(
    "kind",
    [
        AutoClassifier,
        GradientBoostingClassifier,
        models.LogisticRegression,
        NaiveBayes,
    ],
)
def test_class_means_are_heard_before_anything_else(kind):
    """150 rows of three classes at epsilon 1: tables and trees would be noise."""
    new, truth = rows_of(2000, 3, seed=5)
    right, lost = [], []
    for seed in range(5):
        X, y = rows_of(150, 3, seed)
        model = kind(epsilon=1, domain=domain(classes=3), ledger=simulate(seed))
        model.fit(X, y)
        right.append(model.score(new, truth))
        lost.append(log_loss(model, new, truth))
    assert np.median(right) > 0.8
    assert np.mean(lost) < np.log(3)


@pytest.mark.parametrize("kind", [models.LogisticRegression, NaiveBayes])
@pytest.mark.parametrize(("epsilon", "question"), [("0.1", "counts"), ("1", "sums")])
def test_class_means_that_are_noise_alone_are_not_asked_for(kind, epsilon, question):
    columns = {f"x{i}": dp.Number(0, 1) for i in range(64)}
    goal = {"y": dp.Category(range(10))}
    facts = dp.Domain(columns | goal, target="y", rows=1000)
    asked = [ask.label for ask in kind(epsilon=epsilon).plan(facts)]
    assert asked[0] == f"class {question}"


def test_scores_of_two_classes_from_means_are_less_sure():
    """Columns that repeat each other: naive Bayes counts what they say 16 times."""
    columns = {f"x{i}": dp.Number(-4, 4, missing=False) for i in range(16)}
    coins = np.random.default_rng(0)
    y = coins.integers(0, 2, 300)
    X = np.repeat((y + coins.normal(0, 2, 300))[:, None], 16, axis=1).clip(-4, 4)
    facts = dp.Domain(columns | {"y": dp.Category([0, 1])}, target="y", rows=300)
    for kind in (models.LogisticRegression, NaiveBayes):
        model = kind(epsilon=1, domain=facts, ledger=simulate(0, noise=False))
        assert log_loss(model.fit(X, y), X, y) < 2.5  # 3.0 if they were as sure


@pytest.mark.parametrize("noise", [0.0, 4.0, 400.0])
def test_likely_counts_are_above_zero_and_drawn_together_by_noise(noise):
    raw = np.array([100.0, -30.0, 20.0])
    counts = likely_counts(raw, noise)
    assert (counts > 0).all()
    assert np.ptp(counts) <= np.ptp(np.maximum(raw, 0.25))
    if not noise:  # as they are, but for the one that cannot be
        np.testing.assert_allclose(counts[[0, 2]], raw[[0, 2]], atol=1e-6)


def test_likely_counts_lose_less_than_noisy_ones():
    coins, shares = np.random.default_rng(0), np.array([0.6, 0.3, 0.1])
    lost = []
    for _ in range(200):
        raw = 60 * shares + coins.laplace(0, 10, 3)
        plain = np.maximum(raw, 0.5)
        likely = likely_counts(raw, 200.0)
        lost.append([-shares @ np.log(c / c.sum()) for c in (plain, likely)])
    plain, likely = np.mean(lost, axis=0)
    assert likely < plain - 0.05
    assert likely < np.log(3) + 0.01


def test_auto_takes_what_suits_and_can_be_saved():
    X, y = rows_of(500, 10)
    facts = domain(classes=10, rows=500)
    made = {}
    for epsilon in ("1/20", "1/2", "2", "8"):
        model = AutoClassifier(epsilon=epsilon, domain=facts, ledger=simulate(0))
        made[epsilon] = model.fit(X, y)
    assert [type(model.model_).__name__ for model in made.values()] == [
        "LogisticRegression",  # class means, as far as they are heard
        "LogisticRegression",
        "CellNeighborsClassifier",
        "GradientBoostingClassifier",
    ]
    for model in made.values():
        again = loads(dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "AutoClassifier" in models.__all__


@pytest.mark.parametrize("kind", [models.LogisticRegression, NaiveBayes])
def test_with_many_columns_and_few_rows_classes_have_their_shares(kind):
    """Means of twenty columns are noise: paid for is how many rows classes have.

    Rows are too few to be counted, which is no reason to take noise for means.
    """
    coins = np.random.default_rng(2)
    X = coins.uniform(0, 1, (150, 20))
    y = coins.choice(4, 150, p=[0.85, 0.05, 0.05, 0.05])
    more = []
    for seed in range(8):  # rows x epsilon = 15
        model = kind(
            epsilon="0.1", bounds=(0, 1), classes=range(4), ledger=simulate(seed)
        )
        more.append(log_loss(model.fit(X, y), X, y))
    shares = np.bincount(y) / len(y)
    assert np.mean(more) < -(shares * np.log(shares)).sum() + 0.3


def test_a_column_with_a_long_tail_makes_no_line_too_sure():
    """The last step was accelerated past where the loss bends: +.4 of log loss."""
    coins = np.random.default_rng(3)
    rows = 3000
    tail = np.where(coins.random(rows) < 0.08, coins.pareto(1.5, rows) * 3000, 0.0)
    X = np.column_stack([np.minimum(tail, 99_999), coins.normal(0, 1, rows)])
    score = 1.5 * (tail > 5000) * 2 + X[:, 1] - 1.2
    y = (coins.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    facts = {"bounds": ([0, -4], [99_999, 4]), "classes": [0, 1], "delta": "1e-5"}
    share = y.mean()
    constant = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    for seed in range(4):
        model = models.LogisticRegression(epsilon=1, **facts, ledger=simulate(seed))
        assert log_loss(model.fit(X, y), X, y) < constant
