"""What is audited on its public path: real calls of statistics, models and silos."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import discreto as dp
from discreto import models, stats
from discreto.accounting import steps_for
from discreto.audit.subjects import probes
from discreto.federated import Silo, messages
from discreto.federated.messages import Terms
from discreto.kernel.cost import Cost
from discreto.kernel.query import Block, Everyone, Ones, Sum
from discreto.queries.gradients import ClippedGradient
from discreto.queries.regression import Scaled

NUMBERS = {"a": dp.Number(18, 90), "b": dp.Number(0, 1)}
LABEL = {"label": dp.Category(["no", "yes"])}
KINDS = {"s": dp.Category(["x", "y", "z"])}
WHOLE = {"n": dp.Number(0, 20, integer=True)}
GOAL = {"y": dp.Number(0, 100)}
NAMES = itertools.count()


@dataclass(frozen=True)
class Subject:
    """A public call, and a pair of tables on which it shows most."""

    name: str
    run: Callable[[Any], Any]
    columns: dict[str, Any]
    target: str | None = None
    delta: float = 0.0
    # Filled in by what a search over hostile pairs found.
    base: str = "no rows"
    row: str = "high corner"
    group: int = 1
    runs: int = 400


def _fit(model: Any) -> Callable[[Any], Any]:
    from sklearn.base import clone

    return lambda table: clone(model).fit(table)


def _ask(model: Any) -> Callable[[Any], Any]:
    """Votes are asked for when something is predicted."""
    from sklearn.base import clone

    def run(table: Any) -> Any:
        fitted = clone(model).fit(table)
        return fitted.predict(probes(table.domain, fitted)[:1])

    return run


def statistics() -> list[Subject]:
    """Every statistic."""
    one = {"epsilon": 1}
    return [
        Subject("count", lambda t: stats.count(t, **one), NUMBERS),
        Subject("sum", lambda t: stats.sum(t, "a", **one), NUMBERS),
        Subject("mean", lambda t: stats.mean(t, "a", **one), NUMBERS),
        Subject("mean, δ 1e-3", lambda t: stats.mean(t, "a", delta="1e-3", **one),
                NUMBERS, delta=1e-3),
        Subject("variance", lambda t: stats.variance(t, "a", **one), NUMBERS),
        Subject("std", lambda t: stats.std(t, "a", **one), NUMBERS),
        Subject("covariance", lambda t: stats.covariance(t, ["a", "b"], **one), NUMBERS),
        Subject("correlation", lambda t: stats.correlation(t, ["a", "b"], **one),
                NUMBERS),
        Subject("histogram", lambda t: stats.histogram(t, "a", bins=4, **one), NUMBERS),
        Subject("mode", lambda t: stats.mode(t, "s", **one), KINDS),
        Subject("mode, δ 1e-3", lambda t: stats.mode(t, "s", delta="1e-3", **one),
                KINDS, delta=1e-3),
        Subject("median", lambda t: stats.median(t, "n", **one), WHOLE),
        Subject("quantile, two", lambda t: stats.quantile(t, "n", ["1/4", "3/4"], **one),
                WHOLE),
        Subject("min", lambda t: stats.min(t, "n", **one), WHOLE),
        Subject("max", lambda t: stats.max(t, "n", **one), WHOLE),
        Subject("bounds", lambda t: stats.bounds(t, "a", **one), NUMBERS),
    ]  # fmt: skip


def learners() -> list[Subject]:
    """Every model, with few steps: what a fit may lose is then in few answers."""
    classes, mixed = NUMBERS | LABEL, NUMBERS | KINDS | LABEL
    numbers = NUMBERS | GOAL
    small = {"epsilon": 1, "n_estimators": 1, "max_depth": 1, "random_state": 0}
    return [
        Subject("GaussianNB", _fit(models.GaussianNB(epsilon=1)), classes, "label"),
        Subject("CategoricalNB", _fit(models.CategoricalNB(epsilon=1)), KINDS | LABEL,
                "label"),
        Subject("NaiveBayes", _fit(models.NaiveBayes(epsilon=1)), mixed, "label"),
        Subject("LinearRegression", _fit(models.LinearRegression(epsilon=1)), numbers,
                "y"),
        Subject("LogisticRegression", _fit(models.LogisticRegression(epsilon=1)),
                classes, "label"),
        Subject("KMeans", _fit(models.KMeans(2, epsilon=1, random_state=0)), NUMBERS),
        Subject("FuzzyCMeans", _fit(models.FuzzyCMeans(2, epsilon=1, random_state=0)), NUMBERS),
        Subject("KNeighborsClassifier", _ask(models.KNeighborsClassifier(3, epsilon=1)),
                classes, "label"),
        Subject("RadiusNeighborsClassifier",
                _ask(models.RadiusNeighborsClassifier(epsilon=1)), classes, "label"),
        Subject("CellNeighborsClassifier",
                _fit(models.CellNeighborsClassifier(epsilon=1, random_state=0)), classes, "label"),
        Subject("GradientBoostingClassifier",
                _fit(models.GradientBoostingClassifier(**small)), classes, "label"),
        Subject("GradientBoostingRegressor",
                _fit(models.GradientBoostingRegressor(**small)), numbers, "y"),
    ]  # fmt: skip
