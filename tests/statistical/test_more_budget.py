"""More budget never hurts: every model, three tables, beyond the spread of seeds."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from sklearn import datasets

from discreto import models
from discreto.testing import simulate

CLASSIFIERS = (
    models.AutoClassifier,
    models.CellNeighborsClassifier,
    models.GradientBoostingClassifier,
    models.LogisticRegression,
    models.NaiveBayes,
)
REGRESSORS = (
    models.AutoRegressor,
    models.GradientBoostingRegressor,
    models.LinearRegression,
)
CLUSTERERS = (models.KMeans, models.FuzzyCMeans)
COSTS = ((1, 0), (8, 0), (1, 1e-5))
SEEDS = 6


@functools.cache
def classes(name):
    """Rows, classes and bounds; the last third is for the score."""
    load = {
        "iris": datasets.load_iris,
        "cancer": datasets.load_breast_cancer,
        "wine": datasets.load_wine,
    }
    X, y = load[name](return_X_y=True)
    repeats = {"iris": 8, "cancer": 2, "wine": 6}[name]
    coins = np.random.default_rng(0)
    place = coins.permutation(len(X))
    train, test = place[: 2 * len(X) // 3], place[2 * len(X) // 3 :]
    many = np.tile(train, repeats)  # as many rows as models need at epsilon 1
    bounds = (X.min(axis=0), X.max(axis=0))
    return X[many], y[many], X[test], y[test], bounds


@functools.cache
def numbers(name):
    coins = np.random.default_rng(0)
    X = coins.uniform(-1, 1, (3000, 4))
    shapes = {
        "line": X @ [1.0, -0.5, 0.2, 0.0],
        "steps": np.sign(X[:, 0]) + 0.5 * (X[:, 1] > 0.3),
        "curve": np.sin(3 * X[:, 0]) + X[:, 1] ** 2,
    }
    y = shapes[name] + coins.normal(0, 0.3, 3000)
    return X[:2000], y[:2000], X[2000:], y[2000:]


def no_worse(scores):
    """That the score with more budget, or with delta, is not below the first one."""
    one, eight, delta = (np.array(s) for s in scores)
    # Two of the fifty rows that some scores are made of are within chance.
    spread = max(one.std(), eight.std(), delta.std(), 0.04)
    assert eight.mean() > one.mean() - spread
    assert delta.mean() > one.mean() - spread


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "cancer", "wine"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers(kind, name):
    X, y, new, truth, bounds = classes(name)
    scores = []
    for epsilon, delta in COSTS:
        found = []
        for seed in range(SEEDS):
            model = kind(
                epsilon=epsilon,
                delta=delta,
                bounds=bounds,
                classes=np.unique(y).tolist(),
                ledger=simulate(seed),
                random_state=seed,
            ).fit(X, y)
            found.append(model.score(new, truth))
        scores.append(found)
    no_worse(scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["line", "steps", "curve"])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors(kind, name):
    X, y, new, truth = numbers(name)
    scores = []
    for epsilon, delta in COSTS:
        model = functools.partial(
            kind, epsilon=epsilon, delta=delta, bounds=(-1, 1), target_bounds=(-4, 4)
        )
        fitted = [model(ledger=simulate(s)).fit(X, y) for s in range(SEEDS)]
        scores.append([one.score(new, truth) for one in fitted])
    assert np.mean(scores) > -0.05  # nowhere much below a constant
    no_worse(scores)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("kind", CLUSTERERS)
def test_clusterers(kind, groups):
    coins = np.random.default_rng(groups)
    middles = coins.uniform(-0.8, 0.8, (groups, 3))
    X = np.clip(
        np.repeat(middles, 500, axis=0) + coins.normal(0, 0.05, (500 * groups, 3)),
        -1,
        1,
    )
    scores = []
    for epsilon, delta in COSTS:
        found = []
        for seed in range(SEEDS):
            model = kind(
                groups,
                epsilon=epsilon,
                delta=delta,
                bounds=(-1, 1),
                ledger=simulate(seed),
                random_state=seed,
            ).fit(X)
            found.append(model.score(X) / len(X))
        scores.append(found)
    no_worse(scores)


def test_public_priors_take_the_place_of_noisy_shares():
    X, y, _, _, bounds = classes("iris")
    given = [0.5, 0.3, 0.2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (models.NaiveBayes, models.GaussianNB):
            model = kind(
                epsilon=1,
                priors=given,
                bounds=bounds,
                classes=[0, 1, 2],
                ledger=simulate(0),
            ).fit(X, y)
            np.testing.assert_allclose(model.class_prior_, given)
    for wrong in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.5, 0.5], "even"):
        with pytest.raises(Exception, match="priors"):
            models.GaussianNB(
                epsilon=1, priors=wrong, bounds=bounds, classes=[0, 1, 2]
            ).fit(X, y)
