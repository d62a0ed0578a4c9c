"""What is audited on its public path: real calls of statistics, models and silos."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import discreto as dp
from discreto import models, stats
from discreto.audit.adapters import probes
from discreto.audit.neighbours import table_of, typical_rows
from discreto.core.cost import Cost
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.regression import Scaled
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.core.steps import steps_for
from discreto.errors import ParameterError
from discreto.federated import Silo, messages
from discreto.federated.messages import Terms
from discreto.synthesis import Synthesizer

NUMBERS = {"a": dp.Number(18, 90), "b": dp.Number(0, 1)}
LABEL = {"label": dp.Category(["no", "yes"])}
KINDS = {"s": dp.Category(["x", "y", "z"])}
WHOLE = {"n": dp.Number(0, 20, integer=True)}
GOAL = {"y": dp.Number(0, 100)}
NAMES = itertools.count()


@dataclass(frozen=True)
class Subject:
    """A public call, and the pair of tables on which it shows most.

    The first table has ``many`` rows ``base``, the second ``group`` rows ``row`` more.
    Pairs come from a search with half of the noise, on other draws than those counted.
    """

    name: str
    run: Callable[[Any], Any]
    columns: dict[str, Any]
    row: tuple[Any, ...]
    base: tuple[Any, ...] = ()
    many: int = 6
    group: int = 1
    runs: int = 600
    target: str | None = None
    delta: float = 0.0
    claimed: float = 1.0
    lead: int = 0  # rows of the table on which the law of the noise is judged

    @property
    def domain(self) -> dp.Domain:
        """The public facts of the rows."""
        return dp.Domain(self.columns, target=self.target)

    @property
    def tables(self) -> tuple[Any, Any]:
        """The two tables."""
        few = [self.base] * self.many if self.base else []
        return self._table(few), self._table([*few, *[self.row] * self.group])

    @property
    def plain(self) -> Any:
        """A table for the law of the noise: choices need one that leads a little."""
        if self.lead:
            return self._table([self.row] * self.lead)  # -1: an empty one
        return table_of(typical_rows(self.domain, 12), self.domain)

    def _table(self, rows: list[tuple[Any, ...]]) -> Any:
        named = [dict(zip(self.columns, row, strict=True)) for row in rows]
        return table_of(named, self.domain)


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
    two = ["1/4", "3/4"]
    high, low, fine = (90, 1), (18, 0), {"delta": "1e-3", **one}
    return [
        Subject("count", lambda t: stats.count(t, **one), NUMBERS, high),
        Subject("sum", lambda t: stats.sum(t, "a", **one), NUMBERS, high),
        Subject("mean", lambda t: stats.mean(t, "a", **one), NUMBERS, high, high),
        Subject("mean, δ 1e-3", lambda t: stats.mean(t, "a", **fine), NUMBERS, low,
                high, delta=1e-3, runs=1600, group=2),
        Subject("variance", lambda t: stats.variance(t, "a", **one), NUMBERS, high,
                high),
        Subject("std", lambda t: stats.std(t, "a", **one), NUMBERS, high, high),
        Subject("covariance", lambda t: stats.covariance(t, ["a", "b"], **one), NUMBERS,
                high, high),
        Subject("correlation", lambda t: stats.correlation(t, ["a", "b"], **one),
                NUMBERS, low, high),
        Subject("histogram", lambda t: stats.histogram(t, "a", bins=4, **one), NUMBERS,
                high),
        Subject("mode", lambda t: stats.mode(t, "s", **one), KINDS, ("x",), group=2,
                lead=1),
        Subject("median", lambda t: stats.median(t, "n", **one), WHOLE, (10,), (0,), 2,
                2, 1600),
        Subject("quantile, two", lambda t: stats.quantile(t, "n", two, **one),
                WHOLE, (10,), (10,), 6, 2),
        Subject("min", lambda t: stats.min(t, "n", **one), WHOLE, (20,), (0,), 6, 3,
                6000),
        Subject("max", lambda t: stats.max(t, "n", **one), WHOLE, (0,), (20,), 1, 3,
                4000),
        Subject("bounds", lambda t: stats.bounds(t, "a", **one), NUMBERS, low, high),
        *_comparisons(),
    ]  # fmt: skip


def _comparisons() -> list[Subject]:
    """Statistics that put two columns, or two groups, side by side."""
    one, mixed, kinds = {"epsilon": 1}, NUMBERS | LABEL, KINDS | LABEL
    high, low, yes, no = (90, 1), (18, 0), (90, 1, "yes"), (18, 0, "no")
    points = [20, 50]
    return [
        Subject("proportion", lambda t: stats.proportion(t, "a > 50", **one), NUMBERS,
                high),
        Subject("ratio", lambda t: stats.ratio(t, "a", "b", **one), NUMBERS, high),
        Subject("weighted_mean", lambda t: stats.weighted_mean(t, "a", "b", **one),
                NUMBERS, high, low),
        Subject("mean_difference", lambda t: stats.mean_difference(t, "a", "label",
                **one), mixed, yes, no),
        Subject("proportion_difference", lambda t: stats.proportion_difference(t,
                "a > 50", "label", **one), mixed, yes, no),
        Subject("quantile_difference", lambda t: stats.quantile_difference(t, "a",
                "label", **one), mixed, yes, no),
        Subject("independence", lambda t: stats.independence(t, "s", "label", **one),
                kinds, ("x", "yes"), ("y", "no")),
        Subject("correlation_test", lambda t: stats.correlation_test(t, "a", "b",
                **one), NUMBERS, high, low),
        Subject("trend", lambda t: stats.trend(t, "a", "b", **one), NUMBERS, high, low),
        Subject("distribution", lambda t: stats.distribution(t, "a", points, **one),
                NUMBERS, high),
        Subject("gini", lambda t: stats.gini(t, "a", **one), NUMBERS, high),
        Subject("lorenz", lambda t: stats.lorenz(t, "a", **one), NUMBERS, high),
        Subject("top", lambda t: stats.top(t, "s", **one), KINDS, ("x",)),
        Subject("domain_fit", lambda t: stats.domain_fit(t, "s", **one), KINDS, ("x",)),
        Subject("crosstab", lambda t: stats.crosstab(t, ["s", "label"], **one), kinds,
                ("x", "yes"), ("y", "no")),
        Subject("describe", lambda t: stats.describe(t, **one), KINDS, ("x",)),
    ]  # fmt: skip


def learners() -> list[Subject]:
    """Every model, with few steps: what a fit may lose is then in few answers."""
    classes, numbers = NUMBERS | LABEL, NUMBERS | GOAL
    few = {"epsilon": 1, "random_state": 0}
    small = {"n_estimators": 1, "max_depth": 1, **few}
    yes = {"target": "label"}
    return [
        Subject("GaussianNB", _fit(models.GaussianNB(epsilon=1)), classes,
                (18, 1, "yes"), group=2, runs=1200, **yes),
        Subject("GaussianNB with weights",
                lambda t: models.GaussianNB(epsilon=1).fit(t, sample_weight="b"),
                classes, (18, 1, "yes"), group=2, runs=1200, **yes),
        Subject("CategoricalNB", _fit(models.CategoricalNB(epsilon=1)), KINDS | LABEL,
                ("x", "no"), **yes),
        Subject("NaiveBayes", _fit(models.NaiveBayes(epsilon=1)),
                NUMBERS | KINDS | LABEL, (18, 0, "z", "yes"), group=2, runs=1600,
                **yes),
        Subject("LinearRegression", _fit(models.LinearRegression(epsilon=1)), numbers,
                (54, 0.5, 100), group=2, runs=5000, target="y"),
        Subject("LogisticRegression", _fit(models.LogisticRegression(epsilon=1)),
                classes, (90, 0, "no"), group=2, runs=4000, **yes),
        Subject("KMeans", _fit(models.KMeans(2, **few)), NUMBERS, (18, 0.5), (18, 1),
                group=2, runs=4000),
        Subject("FuzzyCMeans", _fit(models.FuzzyCMeans(2, **few)), NUMBERS, (90, 0.5),
                (18, 0), group=2, runs=2400),
        Subject("KNeighborsClassifier", _ask(models.KNeighborsClassifier(3, epsilon=1)),
                classes, (54, 0.5, "no"), (90, 1, "yes"), runs=2000, lead=2, **yes),
        Subject("RadiusNeighborsClassifier",
                _ask(models.RadiusNeighborsClassifier(epsilon=1)), classes,
                (18, 0, "no"), lead=1, **yes),
        Subject("CellNeighborsClassifier",
                _fit(models.CellNeighborsClassifier(**few)), classes, (18, 0, "yes"),
                runs=6000, **yes),
        Subject("GradientBoostingRegressor",
                _fit(models.GradientBoostingRegressor(**small)), numbers, (54, 1, 0),
                (18, 0, 100), runs=2400, target="y"),
        Subject("GradientBoostingClassifier",
                _fit(models.GradientBoostingClassifier(**small)), classes,
                (90, 0.5, "no"), (18, 0, "yes"), group=2, runs=12000, **yes),
        *_forks_and_losses(classes, numbers, few, small),
        Subject("Synthesizer", _fit(Synthesizer(epsilon=1, rounds=1)), KINDS | LABEL,
                ("x", "no"), group=2, runs=1200),
    ]  # fmt: skip


def _forks_and_losses(
    classes: dict[str, Any], numbers: dict[str, Any], few: Any, small: Any
) -> list[Subject]:
    """Plans whose form a noisy count chooses, other losses, and choosing a model."""
    boost, goal = models.GradientBoostingRegressor, {"target": "y"}
    bayes = [models.GaussianNB(epsilon=1), models.NaiveBayes(epsilon=1)]
    high = {"loss": "quantile", "quantile": 0.75, **small}

    def choose(how: Any) -> Callable[[Any], Any]:
        options = {"epsilon": 1, "method": how, "repeats": 2}
        return lambda table: models.select(bayes, table, "label", **options)

    return [
        Subject("AutoClassifier", _fit(models.AutoClassifier(**few)), classes,
                (18, 1, "yes"), group=2, runs=1600, target="label"),
        Subject("AutoRegressor", _fit(models.AutoRegressor(**few)), numbers,
                (54, 0.5, 100), group=2, runs=4000, **goal),
        Subject("boosting, trees by a count", _fit(boost(**few)), numbers,
                (54, 1, 0), (18, 0, 100), many=400, runs=2400, lead=400, **goal),
        Subject("boosting, poisson", _fit(boost(loss="poisson", **small)), numbers,
                (54, 1, 100), (18, 0, 0), runs=2400, **goal),
        Subject("boosting, huber", _fit(boost(loss="huber", **small)), numbers,
                (54, 1, 0), (18, 0, 100), runs=2400, **goal),
        Subject("boosting, quantile", _fit(boost(**high)), numbers, (54, 1, 100),
                (18, 0, 0), runs=4000, lead=12, **goal),
        Subject("select, all", choose("all"), classes, (18, 1, "yes"), runs=1600,
                target="label"),
        Subject("select, hidden", choose("hidden"), classes, (18, 1, "yes"), runs=1600,
                target="label"),
    ]  # fmt: skip


COUNT = Sum(Everyone(), (Block(Ones()),))
SLOPE = ClippedGradient(
    Scaled(("a",), (54.0,), (36.0,), 1.0, 1.0), "b", (0.0, 0.0), 1.0
)


def _measure(table: Any) -> Any:
    silo = Silo(table)
    name = f"q{next(NAMES)}"
    message = messages.measure(COUNT, Cost.of(1), "rows", name, silo.schema)
    return _released(silo.answer(json.loads(json.dumps(message))))


def _round(move: dict[str, Any], query: Sum, steps: int = 1) -> Callable[[Any], Any]:
    def run(table: Any) -> Any:
        silo = Silo(table, rows=6)
        terms, name = Terms.of(1, "1e-3", 1, steps), f"run {next(NAMES)}"
        args = (query, terms, name, 0, silo.schema, move)
        return _released(silo.answer(messages.training_round(*args)))

    return run


def _released(reply: Any) -> Any:
    if reply["kind"] != "release":
        raise ParameterError(str(reply))
    return reply


def _train(table: Any) -> Any:
    """Three steps, each on a secret half of the rows."""
    training = table.train(steps_for(1, "1e-3", 3, "1/2"), f"train {next(NAMES)}")
    return [training.measure(COUNT, "step") for _ in range(3)]


def silos() -> list[Subject]:
    """What a silo answers: sums, rounds of a training, proximal points."""
    slope = Sum(Everyone(), (Block(SLOPE),))
    walk, near = (
        {"kind": "steps", "rate": 0.01},
        {"kind": "proximal", "mu": 1.0, "rows": 6.0},
    )
    delta = {"delta": 1e-3, "runs": 3000, "group": 3}
    return [
        Subject("silo: measure", _measure, NUMBERS, (90, 1)),
        Subject("silo: round of sums", _round({"kind": "sums"}, COUNT), NUMBERS,
                (90, 1), **delta),
        Subject("silo: round of 3 steps", _round(walk, slope, 3), NUMBERS, (90, 1),
                (54, 0.5), **delta),
        Subject("silo: proximal round", _round(near, slope), NUMBERS, (90, 1),
                (54, 0.5), **delta),
        Subject("training, 3 steps, half of the rows", _train, NUMBERS, (90, 1),
                delta=1e-3, runs=8000, lead=-1),
    ]  # fmt: skip


def everything() -> list[Subject]:
    """All of them."""
    return [*statistics(), *silos(), *learners()]
