"""Every algorithm as printed with neighbours that hurt it, and ours beside it.

``data`` of a case is whatever the algorithm takes; the relation says in which way the
two tables are neighbours. ``true`` is what the calibration table says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import discreto as dp
from discreto import models, stats
from discreto.lab import published
from discreto.testing import simulate

ADD, REPLACE = "add-remove", "replace"


@dataclass(frozen=True)
class Case:
    """An algorithm as printed, a pair of tables, and what it claims."""

    name: str
    relation: str
    run: Callable[[Any], Any]
    first: Any
    second: Any
    true: str
    claimed: float = 1.0
    delta: float = 0.0
    runs: int = 20_000


def fresh() -> Any:
    """A ledger with noise of its own."""
    return simulate(None)


def array(*rows: Any) -> Any:
    return np.array(rows, dtype=float)


def fitted(kind: Any, **params: Any) -> Callable[[Any], Any]:
    def run(data: Any) -> Any:
        X, y = data if isinstance(data, tuple) else (data, None)
        return kind(**params, ledger=fresh()).fit(X, y)

    return run


def votes(classes: Any) -> Callable[[Any], Any]:
    def run(data: Any) -> Any:
        model = published.KNNVotes(3, epsilon=1, classes=classes, ledger=fresh())
        return model.fit(*data).predict(array([0.0]))

    return run


def boosted(kind: Any, probes: Any, **params: Any) -> Callable[[Any], Any]:
    """The predictions of one tree, and where they jump."""

    def run(data: Any) -> Any:
        model = kind(n_trees=1, trees_in_ensemble=1, max_depth=1, learning_rate=0.5,
                     **params, ledger=fresh())  # fmt: skip
        values = model.fit(*data).predict(probes)
        return np.concatenate([values, np.diff(values) != 0])

    return run


def _neighbours() -> tuple[Any, Any]:
    """One row of class 1 in front of two of class 0 and one of class 1, or not."""
    near = (array([0.1], [0.2], [0.3]), np.array([1, 1, 0]))
    more = (array([0.05], [0.1], [0.2], [0.3]), np.array([1, 1, 1, 0]))
    return near, more


def _bayes(columns: int) -> tuple[Any, Any]:
    rows = np.full((9, columns), 0.5)
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0])
    more = np.vstack([rows, np.full((1, columns), 1.0)])
    return (rows, labels), (more, np.append(labels, 1))


def _line(value: float) -> tuple[Any, Any]:
    return array([0.0], [value]), array(0.0, value)


def statistics() -> list[Case]:
    few, more = array(18, 18, 18), array(18, 18, 18, 90)
    far, further = array(100, 100), array(100, 100, 101)
    edges, cells = array(0, 1, 2), (array(0.5, 0.5), array(0.5, 1.5))
    places = np.arange(11.0)
    return [
        Case("count", ADD, lambda d: published.count(d, epsilon=1, ledger=fresh()),
             np.ones(9), np.ones(10), "1"),
        Case("sum, [18, 90]", ADD,
             lambda d: published.total(d, 18, 90, epsilon=1, ledger=fresh()),
             few, more, "1.25"),
        Case("sum, [100, 101]", ADD,
             lambda d: published.total(d, 100, 101, epsilon=1, ledger=fresh()),
             far, further, "101"),
        Case("sum, [18, 90]", REPLACE,
             lambda d: published.total(d, 18, 90, epsilon=1, ledger=fresh()),
             array(18, 18), array(18, 90), "1"),
        Case("mean, [100, 101]", ADD,
             lambda d: published.mean(d, 100, 101, epsilon=1, ledger=fresh()),
             array(), array(101), "51"),
        Case("histogram", ADD,
             lambda d: published.histogram(d, edges, epsilon=1, ledger=fresh()),
             array(0.5), array(0.5, 1.5), "1"),
        Case("histogram", REPLACE,
             lambda d: published.histogram(d, edges, epsilon=1, ledger=fresh()),
             *cells, "2"),
        Case("mode", ADD,
             lambda d: published.mode(d, [0, 1], epsilon=1, ledger=fresh()),
             array(1, 1), array(0, 1, 1), "1"),
        Case("mode", REPLACE,
             lambda d: published.mode(d, [0, 1], epsilon=1, ledger=fresh()),
             array(1, 1, 1), array(0, 1, 1), "2 (limit; 1.74 here)"),
        Case("median", REPLACE,
             lambda d: published.median(d, places, epsilon=1, ledger=fresh()),
             array(0, 0, 10), array(0, 10, 10), "1"),
        Case("quantile 0.9", REPLACE,
             lambda d: published.quantile(d, 0.9, places, epsilon=1, ledger=fresh()),
             array(0, 0, 10), array(0, 10, 10), "1"),
        Case("two coins", REPLACE, lambda d: published.two_coins(d, ledger=fresh()),
             np.array([0, 1]), np.array([1, 1]), "ln 3 = 1.10", claimed=math.log(3)),
        Case("sum with local sensitivity", ADD,
             lambda d: published.local_sum(d, epsilon=1, ledger=fresh()),
             array(4, 2, 7, 1), array(4, 2, 1), "∞"),
        Case("codes by factorize", REPLACE,
             lambda d: published.factorize(d, ledger=fresh()),
             np.array(["a", "b", "b"]), np.array(["b", "b", "b"]), "∞", claimed=0.0,
             runs=2_000),
        Case("staircase cleaning, ranges of the data", REPLACE,
             lambda d: published.staircase_clean(d, epsilon=1, ledger=fresh()),
             array([0.0], [0.1]), array([0.0], [1.0]), "∞"),
        Case("staircase cleaning, public ranges", REPLACE,
             lambda d: published.staircase_clean(d, [1.0], epsilon=1, ledger=fresh()),
             array([0.0], [0.0]), array([0.0], [1.0]), "1"),
    ]  # fmt: skip


def learners() -> list[Case]:
    corner = array([1.0, 0.0])
    low, high = array([0.2], [0.2]), array([0.2], [0.9])
    goal = array(0.0, 1.0, 1.0, 0.0)
    jumps = (array([0.1], [0.2], [0.3], [0.9]), array([0.1], [0.2], [0.6], [0.9]))
    seen = (array([0.0], [0.0], [1.0], [1.0]), array([0.0], [0.0], [1.0], [2.0]))
    probes, kinds = np.linspace(0, 1, 21)[:, None], array([0.0], [1.0], [2.0])
    client = (np.zeros((4, 1)), np.zeros(4))
    pulled = (np.vstack([np.zeros((4, 1)), [[1.0]]]), np.append(np.zeros(4), 9.0))
    many = (np.ones((100, 1)), np.zeros(100))
    other = (np.ones((100, 1)), np.append(np.zeros(99), 100.0))
    start = np.zeros(1)
    mixing = np.full((2, 2), 0.5)
    return [
        Case("kNN votes, public classes", ADD, votes([0, 1]), *_neighbours(),
             "2 (limit; 1.49 here)"),
        Case("kNN votes, classes of the labels", ADD, votes(None),
             (array([0.1], [0.2]), np.array([1, 1])),
             (array([0.1], [0.2], [0.3]), np.array([1, 1, 0])), "∞"),
        Case("naive Bayes (Vaidya), 8 columns", ADD,
             fitted(published.VaidyaBayes, epsilon="0.1", classes=[0, 1]),
             *_bayes(8), "1.18", claimed=0.1),
        Case("naive Bayes (thesis)", ADD, fitted(published.ThesisBayes, epsilon=1),
             *_bayes(2), "∞", runs=4_000),
        Case("functional linear", REPLACE,
             fitted(published.FunctionalLinear, epsilon=1), _line(0.0), _line(1.0),
             "0.5"),
        Case("functional linear with intercept, whole polynomial", REPLACE,
             fitted(published.FunctionalIntercept, epsilon=1),
             (array([1.0], [1.0]), array(1.0, 1.0)),
             (array([1.0], [0.0]), array(1.0, -0.5)), "∞"),
        Case("functional logistic", REPLACE,
             fitted(published.FunctionalLogistic, epsilon=1),
             (array([0.0], [1.0]), array(0, 1)), (array([0.0], [1.0]), array(0, 0)),
             "0.31"),
        Case("fuzzy c-means, centres", ADD,
             fitted(published.PrintedFuzzyCMeans, epsilon=1, max_iter=2), low,
             np.vstack([low, [[1.0]]]), "0.11", runs=6_000),
        Case("k-means", ADD,
             fitted(published.PrintedKMeans, n_clusters=1, epsilon=1, max_iter=1), low,
             np.vstack([low, [[1.0]]]), "1"),
        Case("k-means", REPLACE,
             fitted(published.PrintedKMeans, n_clusters=2, epsilon=1, max_iter=1),
             np.vstack([low, low]), np.vstack([low, high]), "2"),
        Case("DPBoost", REPLACE, boosted(published.DPBoost, probes, epsilon=1),
             (jumps[0], goal), (jumps[1], goal), "∞", runs=4_000),
        Case("PrivCatBoost", REPLACE,
             boosted(published.PrivCatBoost, kinds, epsilon=1, categorical=(0,)),
             (seen[0], goal), (seen[1], goal), "∞", runs=4_000),
        Case("PrivRandBoost", REPLACE,
             boosted(published.PrivRandBoost, probes, epsilon=1),
             (jumps[0], goal), (jumps[1], goal), "∞", runs=4_000),
        Case("federated SGD, one step", ADD,
             lambda d: published.sgd_update(start, d, epsilon=1, ledger=fresh()),
             client, pulled, "(4.4, 1e-5)", delta=1e-5),
        Case("federated SGD by gossip, one step", ADD,
             lambda d: published.gossip([d, client], mixing, epsilon=1,
                                        ledger=fresh(), rounds=1, start=start),
             client, pulled, "(4.4, 1e-5)", delta=1e-5),
        Case("federated proximal point, as printed", REPLACE,
             lambda d: published.proximal_update(start, d, epsilon=1, ledger=fresh()),
             many, other, "0: nothing is learned", delta=1e-5, runs=4_000),
        Case("federated proximal point, noise on the minimiser", REPLACE,
             lambda d: published.proximal_update(start, d, epsilon=1, ledger=fresh(),
                                                 from_minimiser=True),
             many, other, "(5430, 1e-5)", delta=1e-5),
        Case("kNN votes, 20 test points", ADD,
             lambda d: published.KNNVotes(3, epsilon=1, classes=[0, 1],
                                          ledger=fresh()).fit(*d).predict(
                 np.repeat(corner[:1, :1] * 0, 20, axis=0)),
             *_neighbours(), "40 (limit)"),
    ]  # fmt: skip


NUMBERS = {"a": dp.Number(18, 90), "b": dp.Number(0, 1)}
LABEL = {"label": dp.Category(["no", "yes"])}
KINDS = {"s": dp.Category(["x", "y", "z"])}


def ours(relation: str) -> list[tuple[str, Any, dp.Domain]]:
    """Every model and statistic of the package, with a domain."""
    facts: dict[str, Any] = (
        {} if relation == ADD else {"neighbours": REPLACE, "rows": 6}
    )
    # Whole numbers: an answer on a grid of thousands takes long to draw so often.
    table = dp.Domain(NUMBERS | KINDS | {"n": dp.Number(0, 20, integer=True)}, **facts)
    classes = dp.Domain(NUMBERS | LABEL, target="label", **facts)
    mixed = dp.Domain(NUMBERS | KINDS | LABEL, target="label", **facts)
    numbers = dp.Domain(NUMBERS | {"y": dp.Number(0, 100)}, target="y", **facts)
    plain = dp.Domain(NUMBERS, **facts)
    quarter = (Fraction(1, 4), Fraction(3, 4))
    return [
        ("stats.count", stats.Count(("s",)), table),
        ("stats.sum", stats.Total("a"), table),
        ("stats.mean", stats.Mean("a"), table),
        ("stats.variance", stats.Variance("a"), table),
        ("stats.covariance", stats.Covariance(("a", "b")), table),
        ("stats.histogram", stats.Histogram(("a",), 4), table),
        ("stats.mode", stats.Mode("s"), table),
        ("stats.median", stats.Quantile("n"), table),
        ("stats.quantile, two", stats.Quantiles("n", quarter), table),
        ("stats.max", stats.Extremum("n", "high"), table),
        ("stats.bounds", stats.Bounds("a"), table),
        ("GaussianNB", models.GaussianNB(epsilon=1), classes),
        ("CategoricalNB", models.CategoricalNB(epsilon=1),
         dp.Domain(KINDS | LABEL, target="label", **facts)),
        ("NaiveBayes", models.NaiveBayes(epsilon=1), mixed),
        ("LinearRegression", models.LinearRegression(epsilon=1), numbers),
        ("LogisticRegression", models.LogisticRegression(epsilon=1), classes),
        ("KMeans", models.KMeans(2, epsilon=1), plain),
        ("FuzzyCMeans", models.FuzzyCMeans(2, epsilon=1), plain),
        ("KNeighborsClassifier", models.KNeighborsClassifier(3, epsilon=1), classes),
        ("RadiusNeighborsClassifier", models.RadiusNeighborsClassifier(epsilon=1),
         classes),
        ("CellNeighborsClassifier", models.CellNeighborsClassifier(epsilon=1), classes),
        ("GradientBoostingClassifier",
         models.GradientBoostingClassifier(5, epsilon=1, max_depth=3), mixed),
        ("GradientBoostingRegressor",
         models.GradientBoostingRegressor(5, epsilon=1, max_depth=3), numbers),
    ]  # fmt: skip
