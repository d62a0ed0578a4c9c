"""Scores of the same rows without privacy, from scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from discreto.compare.metrics import HIGHER, judge
from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.text.language import mark, tr

Array = NDArray[Any]
_SMALL = 50_000  # rows
_MOST_CATEGORIES = 255  # of a column, for scikit-learn's trees


def scores(
    columns: dict[str, Array],
    domain: Domain,
    target: str,
    cuts: list[tuple[Array, Array]],
    metric: str,
) -> list[tuple[str, list[float]]]:
    """The better of trees and a linear model, then a constant, on the same folds."""
    features = [f for f in domain.with_(target=target).features() if f != target]
    column, truth = domain[target], columns[target]
    X = np.column_stack([_codes(columns[f], domain[f]) for f in features])
    kinds = np.array([isinstance(domain[f], Category) for f in features])
    known = np.array([v is not None and v == v for v in truth])
    got: dict[str, list[float]] = {}
    # Threads that wait for each other cost more than they do on a small table.
    threads = 1 if len(X) < _SMALL else None
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about slow convergence, on stderr
        for train, test in cuts:
            kept = train[known[train]]
            y = truth[kept].astype(float if metric == "rmse" else str)
            for name, model in _models(metric, X, kinds, len(np.unique(y))).items():
                right = truth[test] if metric == "rmse" else _texts(truth[test])
                model.fit(X[kept], y)
                score = judge(metric, model, X[test], right, column)
                got.setdefault(name, []).append(score)
    baseline = got.pop("baseline")
    best = (max if metric in HIGHER else min)(got, key=lambda n: np.mean(got[n]))
    title = tr("no privacy ({model})", model=tr(_MODELS[best]))
    return [
        (title, got[best]),
        (tr("always {constant}", constant=tr(_CONSTANTS[metric])), baseline),
    ]


_MODELS = {"linear": mark("linear"), "trees": mark("trees")}
_CONSTANTS = {
    "accuracy": mark("most frequent class"),
    "f1": mark("most frequent class"),
    "auc": mark("the shares of classes"),
    "log_loss": mark("the shares of classes"),
    "rmse": mark("the mean"),
}


def _texts(values: Array) -> Array:
    return np.array([None if v is None else str(v) for v in values], dtype=object)


def _codes(values: Array, column: Column) -> Array:
    """Numbers on [-1, 1] (missing in the middle), or the places of categories."""
    if isinstance(column, Category):
        place = {value: code for code, value in enumerate(column.categories)}
        return np.array([place.get(value, len(place)) for value in values], dtype=float)
    if not isinstance(column, Number):
        raise TypeError
    unit = np.clip((values - column.centre) / column.half, -1, 1)
    return np.where(np.isnan(unit), 0.0, unit)


def _models(metric: str, X: Array, kinds: Array, several: int) -> dict[str, Any]:
    from sklearn import dummy, ensemble, linear_model
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    spread = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), kinds),
        (StandardScaler(), ~kinds),
    )
    few = kinds & (X.max(axis=0) < _MOST_CATEGORIES)
    trees = {"categorical_features": few, "random_state": 0}
    if metric != "rmse" and several < 2:  # scikit-learn wants two classes
        return dict.fromkeys(("linear", "trees", "baseline"), dummy.DummyClassifier())
    if metric != "rmse":
        return {
            "linear": make_pipeline(
                spread, linear_model.LogisticRegression(max_iter=2000)
            ),
            "trees": ensemble.HistGradientBoostingClassifier(**trees),
            "baseline": dummy.DummyClassifier(),
        }
    return {
        "linear": make_pipeline(spread, linear_model.Ridge()),
        "trees": ensemble.HistGradientBoostingRegressor(**trees),
        "baseline": dummy.DummyRegressor(),
    }
