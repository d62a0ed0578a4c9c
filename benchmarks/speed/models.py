"""Fitting and predicting, next to scikit-learn and numpy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn import cluster, linear_model, metrics, naive_bayes

import discreto as dp
from __main__ import Line
from discreto import models as ours
from discreto.data.engines import LocalEngine

COLUMNS, CLUSTERS = 20, 8


def lines(rows: int) -> Iterator[Line]:
    """The lines."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(COLUMNS)]
    x = np.clip(rng.normal(size=(rows, COLUMNS)), -5, 5)
    y = (x @ rng.normal(size=COLUMNS) + rng.normal(size=rows) > 0).astype(int)
    t = np.clip(x @ rng.normal(size=COLUMNS) / 5, -5, 5)
    columns = {name: dp.Number(-5, 5, missing=False) for name in names}
    bare = dp.Domain(columns)
    labelled = dp.Domain(
        columns | {"y": dp.Category([0, 1], missing=False)}, target="y"
    )
    numbered = dp.Domain(columns | {"t": dp.Number(-5, 5, missing=False)}, target="t")
    data = {name: x[:, i] for i, name in enumerate(names)} | {"y": y, "t": t}

    def table(domain: dp.Domain) -> dp.Table:
        return dp.Table(data, domain, dp.testing.simulate(0), engine=LocalEngine(1))

    points, classes, targets = table(bare), table(labelled), table(numbered)
    start = np.clip(rng.normal(size=(CLUSTERS, COLUMNS)), -5, 5)
    yield Line(
        "logistic regression, fit",
        lambda: ours.LogisticRegression(epsilon=1).fit(classes),
        {"sklearn": lambda: linear_model.LogisticRegression().fit(x, y)},
        1.2,
    )
    yield Line(
        "linear regression, fit",
        lambda: ours.LinearRegression(epsilon=1).fit(targets),
        {"sklearn": lambda: linear_model.LinearRegression().fit(x, t)},
        1.2,
    )
    yield Line(
        "naive Bayes, fit",
        lambda: ours.GaussianNB(epsilon=1).fit(classes),
        {"sklearn": lambda: naive_bayes.GaussianNB().fit(x, y)},
        1.5,
    )
    yield Line(
        "k-means, 10 steps from given centres",
        lambda: ours.KMeans(CLUSTERS, epsilon=1, max_iter=10, init=start).fit(points),
        {
            "sklearn": lambda: cluster.KMeans(
                CLUSTERS, init=start, n_init=1, max_iter=10, tol=0
            ).fit(x)
        },
        1.5,
    )
    yield Line(
        "fuzzy c-means, 5 steps from given centres",
        lambda: ours.FuzzyCMeans(CLUSTERS, epsilon=1, max_iter=5, init=start).fit(
            points
        ),
        {"numpy": lambda: _plain_cmeans(x, start, 5)},
        2,
    )
    fitted = {
        "logistic": (
            ours.LogisticRegression(epsilon=1).fit(classes),
            linear_model.LogisticRegression().fit(x, y),
        ),
        "linear": (
            ours.LinearRegression(epsilon=1).fit(targets),
            linear_model.LinearRegression().fit(x, t),
        ),
        "k-means": (
            ours.KMeans(CLUSTERS, epsilon=1).fit(points),
            cluster.KMeans(CLUSTERS, n_init=1, max_iter=5).fit(x),
        ),
        "naive Bayes": (
            ours.GaussianNB(epsilon=1).fit(classes),
            naive_bayes.GaussianNB().fit(x, y),
        ),
    }
    for name, (mine, other) in fitted.items():
        yield Line(
            f"{name}, predict",
            lambda mine=mine: mine.predict(x),
            {"sklearn": lambda other=other: other.predict(x)},
            1.5,
        )
    mine, other = fitted["naive Bayes"]

    def evaluate() -> None:
        classes._rows._frame._memories.clear()  # what was predicted the last time
        ours.evaluate(mine, classes, epsilon=1)

    yield Line(
        "evaluate",
        evaluate,
        {"sklearn": lambda: metrics.confusion_matrix(y, other.predict(x))},
        2,
    )
    yield from _boosting()


def _boosting(few: int = 10**4, trees: int = 100) -> Iterator[Line]:
    """Greedy trees of a given number and depth, next to LightGBM where it is."""
    try:
        import lightgbm
    except ImportError:
        return
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(size=(few, 10)), -5, 5)
    y = (x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(size=few) > 0).astype(int)
    columns = {f"x{i}": dp.Number(-5, 5, missing=False) for i in range(10)}
    domain = dp.Domain(columns | {"y": dp.Category([0, 1], missing=False)}, target="y")
    data = {name: x[:, i] for i, name in enumerate(columns)} | {"y": y}
    table = dp.Table(data, domain, dp.testing.simulate(0), engine=LocalEngine(1))
    size = {"n_estimators": trees, "max_depth": 5}
    other = lightgbm.LGBMClassifier(**size, num_leaves=32, n_jobs=1, verbose=-1)
    mine = ours.GradientBoostingClassifier(**size, epsilon=1)
    yield Line(
        f"{trees} greedy trees of depth 5, {few:,} rows",
        lambda: mine.fit(table),
        {"lightgbm": lambda: other.fit(x, y)},
        1.5,
    )


def _plain_cmeans(x: np.ndarray, centres: np.ndarray, steps: int) -> np.ndarray:
    """Fuzzy c-means with m = 2, as a person would write it with numpy."""
    size = (x * x).sum(axis=1)
    for _ in range(steps):
        far = size[:, None] - 2 * x @ centres.T + (centres * centres).sum(axis=1)
        weight = 1 / np.maximum(far, 1e-12)
        weight /= weight.sum(axis=1, keepdims=True)
        weight **= 2
        centres = (weight.T @ x) / weight.sum(axis=0)[:, None]
    return centres
