"""Every statistic and every model at every epsilon that a ledger takes.

A large epsilon is the first thing that people try to switch noise off. It must give an
answer close to that without noise. A small one may be refused, from public facts and
before the charge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models, stats, synthesis
from discreto.errors import DiscretoError

ROWS = 120
EPSILONS = ("1e-9", "1e-4", "0.1", 1, 50, 700, 746, 10**4, 10**5, 10**6)
DELTAS = (0, "1e-6")
NONE = {"missing": False}


def rows() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    age = draw.integers(0, 101, ROWS)
    sick = np.where(age + draw.normal(0, 20, ROWS) > 60, "yes", "no")
    return {
        "age": age,
        "pay": np.clip(draw.normal(2000, 500, ROWS), 0, 5000),
        "sex": draw.choice(["f", "m"], ROWS),
        "city": draw.choice(["A", "B", "C"], ROWS),
        "sick": sick,
    }


DATA = rows()
COLUMNS: dict[str, Any] = {
    "age": dp.Number(0, 100, **NONE),
    "pay": dp.Number(0, 5000, **NONE),
    "sex": dp.Category(["f", "m"], **NONE),
    "city": dp.Category(["A", "B", "C"]),
    "sick": dp.Category(["no", "yes"], **NONE),
}
OLD = dp.col("age") > 30
# How a statistic is called beyond table, epsilon and delta.
CALLS: dict[str, list[dict[str, Any]]] = {
    "bounds": [{"column": "age"}],
    "correlation": [{"columns": ["age", "pay"]}],
    "correlation_test": [{"first": "age", "second": "pay"}],
    "count": [{}, {"by": "sex"}],
    "covariance": [{"columns": ["age", "pay"]}],
    "crosstab": [{"columns": ["sex", "city"]}],
    "describe": [{}],
    "distribution": [{"column": "age", "points": [10, 20, 50]}],
    "domain_fit": [{}],
    "gini": [{"column": "pay"}],
    "histogram": [{"columns": "age"}, {"columns": ["sex", "city"]}],
    "independence": [{"first": "sex", "second": "city"}],
    "lorenz": [{"column": "pay"}],
    "max": [{"column": "age"}],
    "mean": [{"column": "age"}, {"column": "age", "by": "sex"}],
    "mean_difference": [{"column": "age", "group": "sex"}],
    "median": [{"column": "age"}, {"column": "age", "by": "sex"}],
    "min": [{"column": "age"}],
    "mode": [{"column": "city"}],
    "proportion": [{"condition": OLD}],
    "proportion_difference": [{"condition": OLD, "group": "sex"}],
    "quantile": [{"column": "age", "probability": [0.1, 0.9]}],
    "quantile_difference": [{"column": "age", "group": "sex"}],
    "ratio": [{"numerator": "age", "denominator": "pay"}],
    "std": [{"column": "age"}],
    "sum": [{"column": "age"}],
    "top": [{"column": "city"}],
    "trend": [{"column": "pay", "on": "age"}],
    "unknown_keys": [{"column": "note"}],
    "variance": [{"column": "age"}, {"column": "age", "by": "sex"}],
    "weighted_mean": [{"column": "age", "weights": "pay"}],
}
# The columns that a model takes, where it does not take all.
ONLY = {
    "CategoricalNB": ("sex", "city", "sick"),
    "GaussianNB": ("age", "pay", "sick"),
}
ASKED = [(name, args) for name, several in CALLS.items() for args in several]


def test_every_statistic_is_here():
    functions = {name for name in stats.__all__ if name.islower()} - {"sentence"}
    assert functions == set(CALLS)


def table(delta: Any, name: str, target: str | None = "sick") -> dp.Table:
    columns = {n: c for n, c in COLUMNS.items() if n in ONLY.get(name, COLUMNS)}
    if name == "unknown_keys":
        columns["note"] = dp.OpenText()
    domain = dp.Domain(columns, target=target)
    data = DATA | {"note": np.where(DATA["sex"] == "f", "long", "short")}
    ledger = dp.Ledger(epsilon=10**6, delta="1e-3" if delta else 0)
    return dp.Table(data, domain, ledger)


def tried(asked: dp.Table, ask: Callable[[], Any], epsilon: Any) -> Any:
    """Ask. Only a tiny epsilon may be refused: by an error of ours, uncharged."""
    try:
        return ask()
    except DiscretoError:
        assert not asked.ledger.entries()
        if float(epsilon) > 0.01:
            raise
        return None


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_statistics(epsilon, delta):
    for name, args in ASKED:
        if name == "unknown_keys" and (not delta or float(epsilon) > 256):
            continue  # it needs a delta, and says so; so it does with its limit
        asked, ask = table(delta, name), getattr(stats, name)
        call = lambda: ask(asked, **args, epsilon=epsilon, delta=delta)  # noqa: B023, E731
        found = tried(asked, call, epsilon)
        if isinstance(found, dp.Release) and name != "mode":
            value = np.asarray(found.value, dtype=float)
            assert np.isfinite(value).all(), (name, found)
            assert (found.low <= value).all(), (name, found)
            assert (value <= found.high).all(), (name, found)
        assert found is None or str(found), name


SEX = DATA["sex"] == "f"
EXACT = {
    "count": ROWS,
    "sum": DATA["age"].sum(),
    "mean": DATA["age"].mean(),
    "variance": DATA["age"].var(),
}


@pytest.mark.parametrize("epsilon", [746, 10**4, 10**6])
def test_a_large_epsilon_is_as_good_as_no_noise(epsilon):
    for name in ("count", "sum", "mean", "variance"):
        asked, args = table(0, name), CALLS[name][0]
        found = getattr(stats, name)(asked, **args, epsilon=epsilon)
        assert found.value == pytest.approx(EXACT[name], rel=0.01), name
    by_sex = stats.count(table(0, "count"), by="sex", epsilon=epsilon)
    assert by_sex.value.tolist() == [SEX.sum(), (~SEX).sum()]
    assert by_sex.low.tolist() == by_sex.high.tolist() == by_sex.value.tolist()
    cross = stats.crosstab(table(0, "crosstab"), ["sex", "city"], epsilon=epsilon)
    cells = dict(zip(cross.keys, cross.value, strict=True))
    for city in "ABC":
        both = (SEX & (DATA["city"] == city)).sum()
        assert cells["f", city] == pytest.approx(both, abs=1e-6)


REGRESSORS = ("LinearRegression", "GradientBoostingRegressor", "AutoRegressor")
CLUSTERS = ("KMeans", "FuzzyCMeans")
AT_QUERY = ("KNeighborsClassifier", "RadiusNeighborsClassifier")
SMALL: dict[str, dict[str, Any]] = {
    "GradientBoostingClassifier": {"n_estimators": 5},
    "GradientBoostingRegressor": {"n_estimators": 5},
    "FuzzyCMeans": {"n_clusters": 2, "max_iter": 3},
}
MODELS = [
    name
    for name in models.__all__
    if isinstance(getattr(models, name), type) and hasattr(getattr(models, name), "fit")
]


def test_every_model_is_here():
    assert len(MODELS) == 14
    assert {*REGRESSORS, *CLUSTERS, *AT_QUERY} <= set(MODELS)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name, delta):
    few = name.startswith("Auto")  # it fits the others
    for epsilon in ("1e-9", 1, 10**6) if few else EPSILONS:
        target = "pay" if name in REGRESSORS else None if name in CLUSTERS else "sick"
        asked = table(delta, name, target)
        parameters = SMALL.get(name, {}) | {"epsilon": epsilon, "delta": delta}
        model = getattr(models, name)(**parameters)
        fitted = tried(asked, lambda: model.fit(asked), epsilon)  # noqa: B023
        if fitted is None or name in AT_QUERY:
            continue
        names = [n for n in asked.domain.columns if n != target]
        found = fitted.predict({n: DATA[n][:5] for n in names})
        assert len(found) == 5
        if name in REGRESSORS:
            assert np.isfinite(found).all()


@pytest.mark.parametrize("delta", DELTAS)
def test_synthesizer(delta):
    for epsilon in EPSILONS:
        asked = table(delta, "")
        made = synthesis.Synthesizer(epsilon=epsilon, delta=delta)
        fitted = tried(asked, lambda: made.fit(asked), epsilon)  # noqa: B023
        assert fitted is None or len(fitted.sample(5)["age"]) == 5
