"""S3, figures 3.2 and 3.4: linear and logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.compare.seeds import ledger_for
from discreto.lab import published
from discreto.lab.study import figures
from discreto.lab.study.arrays import Points, points
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.lab.study.scores import score_table
from discreto.models import LinearRegression, LogisticRegression
from discreto.plots.style import legend, look
from discreto.text.language import mark

PRINTED, INTERCEPT = "as printed", "as printed, with an intercept"
OURS, FUNCTIONAL = "ours", "ours, functional mechanism"
PLAIN, TAYLOR = "non-private", "second order, no noise"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class MinMax:
    """[0, 1] by the smallest and largest value: what the thesis assumes, and a leak."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Any) -> MinMax:
        """The ends of these values."""
        return cls(float(np.min(values)), float(np.max(values)))

    def to(self, values: Any) -> Any:
        """Onto [0, 1]."""
        return (values - self.low) / (self.high - self.low)

    def back(self, values: Any) -> Any:
        """From [0, 1]."""
        return self.low + (self.high - self.low) * values


# Figure 3.2: fuel consumption and CO2


def _fuel() -> Points:
    return points("fuel_consumption_2000", ("fuel_consumption",), "co2_emissions")


def _line(who: str, epsilon: Any, X: Any, y: Any, ledger: Any) -> Callable:
    data = _fuel()
    if who == PLAIN:
        slope, start = np.polyfit(X[:, 0], y, 1)
        return lambda rows: start + slope * rows[:, 0]
    if who in (OURS, FUNCTIONAL):
        model: Any = LinearRegression(
            epsilon=epsilon,
            method="weighted" if who == OURS else "functional",
            bounds=data.bounds,
            target_bounds=data.target,
            ledger=ledger,
        )
        return model.fit(X, y).predict
    ends, aim = MinMax.of(X), MinMax.of(y)
    model = published.FunctionalLinear(
        epsilon=epsilon, fit_intercept=who == INTERCEPT, ledger=ledger
    ).fit(ends.to(X), aim.to(y))
    return lambda rows: aim.back(model.predict(ends.to(rows)))


def _cells(candidates: tuple[str, ...], quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (3, (1.0,)) if quick else (50, EPSILONS)
    plain = [c for c in candidates if c in (PLAIN, TAYLOR)]
    noisy = [c for c in candidates if c not in plain]
    return [{"candidate": c, "epsilon": None, "runs": runs} for c in plain] + [
        {"candidate": c, "epsilon": e, "runs": runs} for c in noisy for e in epsilons
    ]


def _linear_cells(quick: bool) -> list[dict[str, Any]]:
    return _cells((PLAIN, PRINTED, INTERCEPT, OURS, FUNCTIONAL), quick)


def _linear(*, candidate: str, epsilon: float | None, runs: int) -> Lines:
    data = _fuel()
    grid = MinMax.of(data.X).back(np.array([[0.0], [1.0]]))
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        X, y, tests, truth = data.split("s3-3.2", run)
        ledger = ledger_for("s3-3.2", candidate, epsilon, run)
        line = _line(candidate, epsilon, X, y, ledger)
        error = float(np.sqrt(np.mean((line(tests) - truth) ** 2)))
        lines.append({"RMSE": error, "ends": line(grid)})
    return lines


def _linear_pictures(results: Results) -> Iterator[Picture]:
    data = _fuel()
    figure, axes = figures.panels(1, 2, size=(5.0, 3.6))
    left, right = axes[0]
    left.scatter(data.X[:, 0], data.y, s=6, color="#6f7680", alpha=0.4)
    ends = MinMax.of(data.X).back(np.array([0.0, 1.0]))
    for place, (who, epsilon) in enumerate(
        [(PRINTED, 1.0), (OURS, 1.0), (PLAIN, None)]
    ):
        for run, one in enumerate(
            list(results.where(candidate=who, epsilon=epsilon))[:3]
        ):
            style = look(place)
            left.plot(
                ends,
                one["ends"],
                color=style.colour,
                linestyle=style.line,
                label=None if run else who,
            )
    left.set_xlabel("fuel consumption, L/100 km")
    left.set_ylabel("CO2, g/km")
    left.set_title("three lines each at ε = 1", fontsize=10)
    legend(left)
    figures.curves(right, results, "epsilon", "RMSE", "candidate")
    right.set_yscale("log")
    right.set_ylim(bottom=8)  # bands of wild lines reach below zero
    yield Picture("figure-3-2", "Fuel consumption and CO2", figure)


def _linear_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(results, "RMSE")


def _linear_findings(results: Results) -> Iterator[StudyFinding]:
    score = {
        who: results.where(candidate=who, epsilon=e).mean("RMSE")
        for who, e in ((PLAIN, None), (PRINTED, 1.0), (INTERCEPT, 1.0), (OURS, 1.0))
    }
    yield StudyFinding(
        "at ε = 1 the private line fits somewhat worse than the other",
        ", ".join(f"{who} {value:.1f}" for who, value in score.items()) + " (g/km)",
        agrees=bool(score[PLAIN] < score[PRINTED] < 3 * score[PLAIN]),
        why="rows were scaled by their own minimum and maximum, which costs ∞; with "
        "public bounds the printed noise is twice what ε needs",
    )


# Figure 3.4: glucose and diabetes


def _glucose() -> Points:
    return points("pima", ("glucose",))


def _curve(who: str, epsilon: Any, X: Any, y: Any, ledger: Any) -> Callable:
    data = _glucose()
    if who == PLAIN:
        from sklearn.linear_model import LogisticRegression as Plain

        fitted = Plain(C=1e6).fit(X / 100, y)
        return lambda rows: fitted.predict_proba(rows / 100)[:, 1]
    if who == OURS:
        model: Any = LogisticRegression(
            epsilon=epsilon, bounds=data.bounds, classes=[0, 1], ledger=ledger
        ).fit(X, y)
        return lambda rows: model.predict_proba(rows)[:, 1]
    ends = MinMax.of(X)
    model = published.FunctionalLogistic(
        epsilon=epsilon, fit_intercept=who != PRINTED, ledger=ledger
    ).fit(ends.to(X), y)
    return lambda rows: model.predict_proba(ends.to(rows))[:, 1]


GLUCOSE = np.linspace(40, 200, 33)[:, None]


def _logistic_cells(quick: bool) -> list[dict[str, Any]]:
    return _cells((PLAIN, TAYLOR, PRINTED, INTERCEPT, OURS), quick)


def _logistic(*, candidate: str, epsilon: float | None, runs: int) -> Lines:
    data = _glucose()
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        X, y, tests, truth = data.split("s3-3.4", run)
        ledger = ledger_for("s3-3.4", candidate, epsilon, run)
        curve = _curve(candidate, epsilon, X, y, ledger)
        probability = np.clip(curve(tests), 1e-9, 1 - 1e-9)
        right = np.where(truth == 1, probability, 1 - probability)
        lines.append(
            {
                "accuracy": float(np.mean((probability > 0.5) == truth)),
                "log loss": float(-np.mean(np.log(right))),
                "curve": curve(GLUCOSE),
            }
        )
    return lines


def _logistic_pictures(results: Results) -> Iterator[Picture]:
    data = _glucose()
    figure, axes = figures.panels(1, 2, size=(5.0, 3.6))
    left, right = axes[0]
    left.scatter(data.X[:, 0], data.y, s=6, color="#6f7680", alpha=0.2)
    order = [(PRINTED, 1.0), (INTERCEPT, 1.0), (OURS, 1.0), (PLAIN, None)]
    for place, (who, epsilon) in enumerate(order):
        for run, one in enumerate(
            list(results.where(candidate=who, epsilon=epsilon))[:3]
        ):
            style = look(place)
            left.plot(
                GLUCOSE[:, 0],
                one["curve"],
                color=style.colour,
                linestyle=style.line,
                label=None if run else who,
            )
    left.set_xlabel("glucose, mg/dL")
    left.set_ylabel("probability of diabetes")
    left.set_title("three curves each at ε = 1", fontsize=10)
    legend(left)
    figures.curves(right, results, "epsilon", "accuracy", "candidate")
    yield Picture("figure-3-4", mark("Glucose and diabetes"), figure)


def _logistic_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(results, "accuracy", "log loss")


def _logistic_findings(results: Results) -> Iterator[StudyFinding]:
    score = {
        who: results.where(candidate=who, epsilon=e).mean("accuracy")
        for who, e in ((PLAIN, None), (PRINTED, 1.0), (INTERCEPT, 1.0), (OURS, 1.0))
    }
    yield StudyFinding(
        "at ε = 1 both curves rise alike and the private one fits a little worse",
        ", ".join(f"{who} {value:.3f}" for who, value in score.items()),
        agrees=bool(score[PRINTED] > score[PLAIN] - 0.05),
        expected=False,
        why="the printed objective has no intercept, so its curve is 1/2 at the lowest "
        "glucose and all people get the same class; the figure must have had one",
    )


EXPERIMENTS = (
    Experiment(
        name="s3-figure-3.2",
        title=mark("Fuel consumption against CO2"),
        source="S3, figure 3.2",
        shows=mark("A line with and without privacy at ε = 1."),
        cells=_linear_cells,
        measure=_linear,
        repeats=(),
        tables=_linear_tables,
        pictures=_linear_pictures,
        findings=_linear_findings,
    ),
    Experiment(
        name="s3-figure-3.4",
        title=mark("Glucose and diabetes"),
        source="S3, figure 3.4",
        shows=mark("A logistic curve with and without privacy at ε = 1."),
        cells=_logistic_cells,
        measure=_logistic,
        repeats=(),
        tables=_logistic_tables,
        pictures=_logistic_pictures,
        findings=_logistic_findings,
    ),
)
