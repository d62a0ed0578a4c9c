"""S4: naive Bayes and linear regression on Pima, cleaned by staircase noise or private.

Candidates of the slides are the model without privacy, the same model on rows with
staircase noise, and a private model. The last two are here as printed and as ours.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
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
from discreto.local import LocalLearner
from discreto.models import GaussianNB, LinearRegression
from discreto.text.language import mark

PLAIN = "non-private"
STAIRS, OUR_STAIRS = "staircase, as printed", "staircase, ours"
PRIVATE, OURS = "private, as printed", "private, ours"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0, 30.0, 55.0, 100.0)
PRIVATES = (STAIRS, OUR_STAIRS, PRIVATE, OURS)
TIE = 0.01  # accuracies this near are equal: twenty runs tell no more


def _cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (3, (0.1, 10.0, 100.0)) if quick else (20, EPSILONS)
    return [{"candidate": PLAIN, "epsilon": None, "runs": runs}] + [
        {"candidate": who, "epsilon": e, "runs": runs}
        for who in (STAIRS, OUR_STAIRS, PRIVATE, OURS)
        for e in epsilons
    ]


def _cleaned(X: Any, y: Any, epsilon: Any, ledger: Any) -> tuple[Any, Any]:
    """Rows and labels with staircase noise; a label is the nearer of 0 and 1."""
    table = np.column_stack([X, y])
    noisy = published.staircase_clean(table, epsilon=epsilon, ledger=ledger)
    labels = (noisy[:, -1] > 0.5).astype(int)
    return noisy[:, :-1], labels


def _bayes(who: str, epsilon: Any, X: Any, y: Any, ledger: Any) -> Any:
    from sklearn.naive_bayes import GaussianNB as Plain

    data = points("pima")
    if who == PLAIN:
        return Plain().fit(X, y)
    if who == STAIRS:
        return Plain().fit(*_cleaned(X, y, epsilon, ledger))
    public: Any = {"bounds": data.bounds, "classes": [0, 1], "ledger": ledger}
    if who == OUR_STAIRS:
        return LocalLearner(Plain(), epsilon=epsilon, **public).fit(X, y)
    if who == PRIVATE:
        return published.VaidyaBayes(epsilon=epsilon, **public).fit(X, y)
    return GaussianNB(epsilon=epsilon, **public).fit(X, y)


class _Above:
    """A regression on 0 and 1 as a classifier: 1 from a half up."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, X: Any) -> Any:
        """0 or 1 for each row."""
        return (self.model.predict(X) >= 0.5).astype(int)


def _linear(who: str, epsilon: Any, X: Any, y: Any, ledger: Any) -> Any:
    from sklearn.linear_model import LinearRegression as Plain
    from sklearn.linear_model import RidgeClassifier

    data = points("pima")
    if who == PLAIN:
        return _Above(Plain().fit(X, y))
    if who == STAIRS:
        return _Above(Plain().fit(*_cleaned(X, y, epsilon, ledger)))
    if who == OUR_STAIRS:
        # Least squares on labels -1 and 1, cut at 0: the same line, as a classifier.
        return LocalLearner(
            RidgeClassifier(1e-9),
            epsilon=epsilon,
            bounds=data.bounds,
            classes=[0, 1],
            ledger=ledger,
        ).fit(X, y)
    if who == PRIVATE:
        model: Any = published.FunctionalIntercept(
            epsilon=epsilon, scaling="data", ledger=ledger
        )
    else:
        model = LinearRegression(
            epsilon=epsilon, bounds=data.bounds, target_bounds=(0, 1), ledger=ledger
        )
    return _Above(model.fit(X, y.astype(float)))


def _measure(fit: Any, *, candidate: str, epsilon: float | None, runs: int) -> Lines:
    data: Points = points("pima")
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        X, y, tests, truth = data.split("s4", run)
        ledger = ledger_for("s4", fit.__name__, candidate, epsilon, run)
        guess = fit(candidate, epsilon, X, y, ledger).predict(tests)
        lines.append({"accuracy": float(np.mean(guess == truth))})
    return lines


def _measure_bayes(*, candidate: str, epsilon: float | None, runs: int) -> Lines:
    return _measure(_bayes, candidate=candidate, epsilon=epsilon, runs=runs)


def _measure_linear(*, candidate: str, epsilon: float | None, runs: int) -> Lines:
    return _measure(_linear, candidate=candidate, epsilon=epsilon, runs=runs)


def _tables(results: Results) -> Iterator[ResultTable]:
    note = "Always saying no is right in 65 % of cases."
    yield score_table(results, "accuracy", title="Accuracy on Pima", note=note)


def _pictures(model: str, results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 2, size=(5.0, 3.6), sharey=True)
    for axis, names, title in (
        (axes[0, 0], (PLAIN, STAIRS, PRIVATE), "as printed"),
        (axes[0, 1], (PLAIN, OUR_STAIRS, OURS), "ours"),
    ):
        figures.curves(
            axis, results, "epsilon", "accuracy", "candidate", order=names, title=title
        )
    yield Picture("accuracy", f"{model} on Pima: accuracy against ε", figure)


def at(results: Results, who: str, low: float, high: float) -> float:
    """Mean accuracy of a candidate for ε in a range."""
    rows = [r for r in results.where(candidate=who) if low <= r["epsilon"] <= high]
    return Results(rows).mean("accuracy")


def always_better(results: Results, one: str, other: str) -> tuple[int, int]:
    """At how many ε one is at least as good as another, and of how many."""
    epsilons = [e for e in results.unique("epsilon") if e is not None]
    gaps = [at(results, one, e, e) - at(results, other, e, e) for e in epsilons]
    tie = results.where(candidate=one, epsilon=epsilons[0]).margin(TIE, 20)
    return sum(gap >= -tie for gap in gaps), len(epsilons)


def plain_finding(results: Results, name: str, others: Sequence[str]) -> StudyFinding:
    """That nobody is better than the model without privacy."""
    plain = results.where(candidate=PLAIN).mean("accuracy")
    scores = [
        (results.where(candidate=who, epsilon=e).mean("accuracy"), who, e)
        for who in others
        for e in results.unique("epsilon")
        if e is not None
    ]
    best = max(scores)
    return StudyFinding(
        f"{name} without privacy is always the most accurate",
        f"{plain:.3f}; the best other is {best[0]:.3f} ({best[1]}, ε = {best[2]:g})",
        agrees=bool(plain >= best[0] - results.where(candidate=PLAIN).margin(TIE, 20)),
    )


def worth_finding(results: Results, who: str, title: str) -> StudyFinding:
    """The slides' question about ε from 10 to 30: what DP-GNB is worth beside GNB."""
    plain = results.where(candidate=PLAIN).mean("accuracy")
    inner = sorted(e for e in results.unique("epsilon") if e and 10 <= e <= 30)
    means = [at(results, who, e, e) for e in inner]
    shown = ", ".join(f"{m:.3f} at {e:g}" for e, m in zip(inner, means, strict=True))
    near = results.where(candidate=PLAIN).margin(0.03, 20)
    return StudyFinding(
        f"for ε from 10 to 30 DP-GNB is worth about what GNB is ({title})",
        f"{shown}; GNB {plain:.3f}",
        agrees=bool(np.mean(means) > plain - near),
        expected=who != PRIVATE,
        why=""
        if who != PRIVATE
        else "printed noise on deviations grows with the "
        "root of the rows; diffprivlib, which the slides ran, has less of it",
    )


def _bayes_findings(results: Results) -> Iterator[StudyFinding]:
    yield plain_finding(results, "GNB", PRIVATES)
    for one, other, title in (
        (PRIVATE, STAIRS, "as printed"),
        (OURS, OUR_STAIRS, "ours"),
    ):
        wins, of = always_better(results, one, other)
        yield StudyFinding(
            f"DP-GNB is always more accurate than staircase + GNB ({title})",
            f"at {wins} of {of} values of ε",
            agrees=wins == of,
        )
    if not results.quick:
        yield worth_finding(results, PRIVATE, "as printed")
        yield worth_finding(results, OURS, "ours")
    low = at(results, STAIRS, 0.1, 10)
    yield StudyFinding(
        "staircase + GNB is close to chance for ε from 0.1 to 10",
        f"mean accuracy {low:.3f} as printed, {at(results, OUR_STAIRS, 0.1, 10):.3f} "
        "ours; always saying no gives 0.65",
        agrees=bool(low < 0.67),
    )
    columns = len(points("pima").names)
    spent = 1 + 2 * columns * 0.1 / (columns + 1)
    yield StudyFinding(
        "the private model costs ε",
        f"1 + 2dε/(d + 1): {spent:.2f} where 0.1 is printed",
        agrees=bool(spent <= 0.1),
        expected=False,
        why="the noise on class counts has no ε in it, and means and deviations both "
        "take the share of their column",
    )


def _linear_findings(results: Results) -> Iterator[StudyFinding]:
    yield plain_finding(results, "LR", PRIVATES)
    spread = [
        results.where(candidate=who).spread("accuracy") for who in (PRIVATE, OURS)
    ]
    yield StudyFinding(
        "the accuracy of DP-LR varies a lot",
        f"spread over runs and ε {spread[0]:.3f} as printed, {spread[1]:.3f} ours",
        agrees=bool(spread[0] > 0.05),
        why="as printed nothing is done about an objective without a minimum",
    )
    private, stairs = (at(results, who, 0.1, 10) for who in (PRIVATE, STAIRS))
    yield StudyFinding(
        "both private ways are close to chance for ε from 0.1 to 10",
        f"DP-LR {private:.3f}, staircase + LR {stairs:.3f}; ours "
        f"{at(results, OURS, 0.1, 10):.3f} and "
        f"{at(results, OUR_STAIRS, 0.1, 10):.3f}; always saying no gives 0.65",
        agrees=bool(max(private, stairs) < 0.67),
    )
    if not results.quick:
        private, stairs = (at(results, who, 10, 30) for who in (PRIVATE, STAIRS))
        yield StudyFinding(
            "staircase + LR is more accurate than DP-LR for ε from 10 to 30",
            f"{stairs:.3f} against {private:.3f} as printed; ours "
            f"{at(results, OUR_STAIRS, 10, 30):.3f} against "
            f"{at(results, OURS, 10, 30):.3f}",
            agrees=bool(stairs > private),
            why="so it is as printed; ours is made for targets that vary, not for "
            "labels of which two thirds are 0",
        )


EXPERIMENTS = (
    Experiment(
        name="s4-naive-bayes",
        title=mark("Naive Bayes on Pima"),
        source="S4, GNB against staircase + GNB against DP-GNB",
        shows=mark("Accuracy for ε from 0.1 to 100, 20 runs."),
        cells=_cells,
        measure=_measure_bayes,
        repeats=(),
        tables=_tables,
        pictures=functools.partial(_pictures, "Naive Bayes"),
        findings=_bayes_findings,
    ),
    Experiment(
        name="s4-linear-regression",
        title=mark("Linear regression on Pima"),
        source="S4, LR against staircase + LR against DP-LR",
        shows=mark("Accuracy for ε from 0.1 to 100, 20 runs."),
        cells=_cells,
        measure=_measure_linear,
        repeats=(),
        tables=_tables,
        pictures=functools.partial(_pictures, "Linear regression"),
        findings=_linear_findings,
    ),
)
