"""Everything a table can be asked, and tables on which that must not show.

``QUESTIONS`` holds questions of every kind: some written down here, and all that the
statistics and models of the package ask of a table. ``TABLES`` are neighbours of each
other, or far apart: whether there is an answer, and of what form, must be the same for
all of them.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

import discreto as dp
from discreto import models, stats
from discreto.core.gate import Gate
from discreto.core.maps import (
    Bernstein,
    Bins,
    Block,
    Categories,
    CentredRanks,
    ClippedGradient,
    CodeCounts,
    Completeness,
    Cross,
    Deviations,
    Edges,
    Everyone,
    Extreme,
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    Gradients,
    Grid,
    HashParts,
    Indicator,
    Largest,
    LeafShifts,
    Leaves,
    LogisticGradient,
    Magnitudes,
    MarginalCounts,
    MarginalErrors,
    Margins,
    Memberships,
    Nearest,
    NearestRows,
    NearestVotes,
    Ones,
    Partition,
    Presence,
    Present,
    Ranks,
    ReachVotes,
    Residuals,
    Rings,
    RowsInReach,
    Scaled,
    Sides,
    SoftVotes,
    SplitHistogram,
    SplitScore,
    SquaredGradient,
    Tree,
    Unfit,
    Values,
    Weighted,
    WholeGroups,
    Within,
)
from discreto.core.query import Choice, Randomise, Sum
from discreto.testing import simulate

NAMES = ("a", "b")
COLUMNS = {
    "a": dp.Number(0, 10, missing=True),
    "b": dp.Number(-1, 1),
    "n": dp.Number(0, 5, integer=True),
    "s": dp.Category(["x", "y", "z"]),
    "t": dp.Category(["u", "v"], missing=True),
    "label": dp.Category(["no", "yes"]),
    "amount": dp.Number(0, 100),
    "id": dp.Opaque(),
}
ROWS = 12
DOMAIN = dp.Domain(COLUMNS)
REPLACE = DOMAIN.with_(neighbours="replace", rows=ROWS)


def plain_rows(rows: int, seed: int = 0) -> dict[str, Any]:
    coins = np.random.default_rng(seed)
    yes = coins.random(rows) < 0.4
    return {
        "a": np.where(coins.random(rows) < 0.1, np.nan, coins.normal(5, 3, rows)),
        "b": np.where(yes, 0.4, -0.3) + coins.normal(0, 0.3, rows),
        "n": coins.integers(0, 6, rows).astype(float),
        "s": np.where(coins.random(rows) < 0.5, "x", "z").astype(object),
        "t": np.where(coins.random(rows) < 0.5, "u", "v").astype(object),
        "label": np.where(yes, "yes", "no").astype(object),
        "amount": 30 + 40 * yes + coins.normal(0, 5, rows),
        "id": np.arange(rows).astype(object),
    }


def odd_rows(rows: int, seed: int = 1) -> dict[str, Any]:
    """Rows that hold whatever a row may hold."""
    coins = np.random.default_rng(seed)
    odd = np.array(
        [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0, 1, 99, 1e9]
    )
    words = np.array(
        ["x", "u", "yes", "no", "z", None, 7, "?", "", np.nan, b"x"], object
    )
    out = {}
    for name, column in COLUMNS.items():
        values = odd if isinstance(column, dp.Number) else words
        out[name] = values[coins.integers(0, len(values), rows)]
    return out


def joined(*several: dict[str, Any]) -> dict[str, Any]:
    return {name: np.concatenate([part[name] for part in several]) for name in COLUMNS}


PLAIN, ODD, ONE = plain_rows(ROWS), odd_rows(ROWS), odd_rows(1, 5)
TABLES = {
    "plain": PLAIN,
    "one more": joined(PLAIN, ONE),
    "one": ONE,
    "none": plain_rows(0),
    "odd": ODD,
    "missing": {
        n: np.full(4, np.nan if isinstance(c, dp.Number) else None)
        for n, c in COLUMNS.items()
    },
    "twice": joined(*[plain_rows(1, 3)] * 6),
}
SAME_SIZE = {
    "plain": PLAIN,
    "odd": ODD,
    "twice": joined(*[plain_rows(1, 3)] * ROWS),
}

COUNT = (Block(Ones()),)
POINTS = ((0.5, -0.25), (-1.0, 1.0), (0.0, 0.0))
SIDES = Sides(NAMES, ("s",), ((0.5, -0.2),) * 2, (((-1.0, 1.0, 0.3),),) * 2, (0.2, 0.0))
SCALED = Scaled(NAMES, (0.0, 0.5), (1.0, 2.0), 1.0, 3.0)
MARK = Indicator("s", 1, 0.5)
MARKED = Scaled(("b", MARK), (0.0, 0.5), (1.0, 2.0), 1.0, 3.0)
GRID = Grid(("a", "t", "s", "n"), ((2.0, 5.0), (), (), ()))
TREE = Tree(
    (0, 2, 1), ((0, 1, 1, 0), (0, 1, 2, 0), (1, 0, 0)), tuple((v,) for v in range(5))
)
SMALL = Tree((2,), ((0, 1, 1, 0),), ((0.5,), (-1.0,)))
SOFT = Tree((0,), ((0, 0, 1, 1),), ((0.5, 1.0, 0.0), (-1.0, 2.0, 0.1)))
GROWING = Tree(TREE.features, TREE.routes)
YES = Gradients(GRID, "label", "logistic", (0.0,), (TREE, SMALL, TREE), bits=12)
FAR = Gradients(GRID, "amount", "squared", (0.5,), (SMALL, TREE), clip=3.0)
RATES = replace(FAR, loss="poisson", weight=0.3)
SIDE = replace(FAR, loss="quantile", quantile=0.9)
TWO = Grid(("a", "n"), ((2.0, 5.0), ()))
CLASSES = Gradients(TWO, "s", "softmax", (0.0, 0.1, 0.0), (SOFT, SOFT), weight=0.5)
PARTS = HashParts(("a", "t"), (1, 2), 7)
GRADIENT = ClippedGradient(SCALED, "amount", (0.5, 1.0, -0.5), 0.25)
YES_GRADIENT = ClippedGradient(
    SCALED, "label", (0.5, 1.0, 0.0), 0.25, "logistic", ((1.0, 0.5, 0.0),) * 3
)


def _all(features: Any, form: Any = "linear") -> Sum:
    return Sum(Everyone(), (Block(features, form),))


WRITTEN: list[Any] = [
    Sum(Leaves(GRID, GROWING, "label"), (Block(YES),)),
    Sum(Residuals(FAR), COUNT),
    Sum(Leaves(GRID, GROWING, "amount"), (Block(RATES),)),
    Sum(Residuals(RATES), COUNT),
    Choice(
        Sum(LeafShifts(SIDE, GROWING, 4), COUNT), CentredRanks(Ranks((9,) * 5, 10), 3)
    ),
    Sum(Margins(CLASSES), COUNT),
    _all(CodeCounts(GRID)),
    _all(CLASSES),
    _all(FAR),
    Sum(Within(PARTS, 1, Everyone()), COUNT),
    Sum(Within(PARTS, 0, Categories(("s",))), (Block(Values(("b",)), "pair"),)),
    Sum(Everyone(), COUNT),
    Sum(Present(("a", "s")), (Block(Values(NAMES), "pair"),)),
    Sum(Completeness(("a", "s")), (Block(Presence(NAMES)),)),
    Sum(Categories(("s", "t")), (Block(Values(NAMES, 15, "zero", True), "gram"),)),
    Sum(Bins("n", 6), (Block(Bernstein(NAMES, 2)),)),
    Sum(WholeGroups("n"), (Block(Bernstein(NAMES, 2)),)),
    Sum(
        Cross(Edges("a", (0.0, 1), gaps=True), Magnitudes("b", -3, 3)),
        (
            Block(Ones(), share=Fraction(1, 3)),
            Block(Values(("b",)), share=Fraction(2, 3), noise="cube"),
        ),
    ),
    Sum(Nearest(NAMES, POINTS), COUNT),
    Sum(SIDES, COUNT),
    Sum(Rings(NAMES, POINTS, 4, 2), (Block(SCALED),)),
    _all(LogisticGradient(SCALED, "label", ((1.0, 2.0, 3.0),))),
    _all(LogisticGradient(SCALED, "s", ((1.0, 2.0, 3.0),) * 3)),
    _all(GRADIENT),
    _all(SquaredGradient(MARKED, "amount", 0.1, 0.5, (0.5, 1.0, -0.5), 0.25)),
    _all(replace(MARKED, bits=15, basis=((1.0, 0.5, 0.0),) * 2), "gram"),
    Sum(Nearest(("a", MARK), ((0.5, 0.0), (0.0, 1.0))), (Block(Values((MARK,))),)),
    _all(YES_GRADIENT),
    _all(Deviations(NAMES, POINTS, 0.5, 2)),
    _all(FuzzyWeights(NAMES, POINTS, 2.0)),
    _all(FuzzyPresence(NAMES, POINTS, 2.0, NAMES[:1])),
    _all(FuzzyPulls(NAMES, POINTS, 2.0, 0.5)),
    _all(Partition(("a", "t", "s"))),
    _all(Unfit(("a", "t", "s"))),
    Sum(Categories(("s", "t"), declared=True), COUNT),
    _all(Memberships((SIDES, SIDES))),
    _all(Weighted(Values(NAMES, 15), "n", "gram"), "gram"),
    _all(Weighted(Values(("a", "n")), "n", "pair")),
    _all(Weighted(Ones(), "amount")),
    _all(SoftVotes(("b", "t"), ((1.0, -2.0, 0.0, 1.0), (0.0, 3.0, 1.0, 0.5)))),
    Choice(SplitHistogram(YES, GROWING), SplitScore(GRID, 5, "gain")),
    Choice(
        SplitHistogram(YES, Tree(), False), SplitScore(GRID, 1, "l1", 1.0, "either")
    ),
    Choice(Sum(Bins("a", 4), COUNT), Largest()),
    Choice(
        MarginalCounts(("s", "t"), ((0,), (0, 1))),
        MarginalErrors((1,) * 16, (4, 12), (0, 3)),
    ),
    Choice(Sum(Cross(Categories(("label",)), Bins("a", 3)), COUNT), Ranks((1, 2), 4)),
    Choice(Sum(Edges("a", (1.0,)), COUNT), Extreme("low", 3)),
    Choice(NearestRows(NAMES, "s", POINTS, 3), NearestVotes(3, 3)),
    Choice(RowsInReach(NAMES, "s", POINTS, 0.5), ReachVotes(3, 3)),
    Randomise("a", "laplace"),
    Randomise("b", "staircase"),
    Randomise("s", "response"),
    Randomise("t", "response"),
]
STATISTICS = [
    stats.Count(("s",)),
    stats.Total("a"),
    stats.Mean("b", ("t",)),
    stats.Variance("a"),
    stats.Covariance(NAMES),
    stats.Histogram(("n",)),
    stats.Mode("s"),
    stats.Quantiles("a", (Fraction(1, 2), Fraction(1, 4))),
    stats.Extremum("b", "high"),
    stats.Bounds("amount"),
]
MODELS: list[tuple[str, str | None, tuple[str, ...], dict[str, Any]]] = [
    ("KMeans", None, NAMES, {"n_clusters": 2}),
    ("FuzzyCMeans", None, NAMES, {"n_clusters": 2}),
    ("GaussianNB", "label", NAMES, {}),
    ("CategoricalNB", "label", ("s", "t"), {}),
    ("NaiveBayes", "label", ("a", "s"), {}),
    ("LinearRegression", "amount", NAMES, {}),
    ("LogisticRegression", "label", NAMES, {}),
    ("CellNeighborsClassifier", "label", NAMES, {"n_tables": 2}),
    ("GradientBoostingClassifier", "s", ("a", "b", "t"), {"n_estimators": 3}),
    ("GradientBoostingRegressor", "amount", ("a", "s"), {"n_estimators": 3}),
]


@contextlib.contextmanager
def _overheard(found: list[Any]) -> Any:
    """Writes down every question that any gate is asked."""
    doors = {name: getattr(Gate, name) for name in ("measure", "select")}

    def listen(name: str) -> Any:
        def door(self: Gate, query: Any, *args: Any, **options: Any) -> Any:
            found.append(getattr(query, "query", query))
            return doors[name](self, query, *args, **options)

        return door

    try:
        for name in doors:
            setattr(Gate, name, listen(name))
        yield
    finally:
        for name, door in doors.items():
            setattr(Gate, name, door)


@lru_cache(maxsize=1)
def fitted() -> list[Any]:
    """Every model of the package, fitted to the plain rows."""
    out = []
    for name, target, features, params in MODELS:
        names = [*features, *([target] if target else [])]
        domain = DOMAIN.select(names).with_(target=target)
        data = {n: np.tile(PLAIN[n], 8) for n in names}
        model = getattr(models, name)(epsilon=5, **params)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        out.append(model.fit(dp.Table(data, domain, simulate(1))))
    return out


@lru_cache(maxsize=1)
def questions() -> list[Any]:
    """Valid questions of every kind, those of statistics and models included."""
    found: list[Any] = []
    with _overheard(found):
        for statistic in STATISTICS:
            table = dp.Table(PLAIN, DOMAIN, simulate(1))
            table.answer(statistic, epsilon=1)
        fitted()
    kept = {repr(query)[:400]: query for query in found}
    return [*WRITTEN, *kept.values()]
