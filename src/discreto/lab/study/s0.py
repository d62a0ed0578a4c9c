"""S0: nearest neighbours with noisy votes, and what a whole test set costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for, ledger_for
from discreto.data.datasets import load
from discreto.lab import published
from discreto.lab.study import figures
from discreto.lab.study.arrays import points
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.lab.study.scores import score_table, spread
from discreto.models import CellNeighborsClassifier, KNeighborsClassifier
from discreto.text.language import mark

EPSILONS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)  # those of the slides
PRINTED, PLAIN = "as printed", "non-private"
EACH, ALL, CELLS = "ours, ε a point", "ours, ε in all", "ours, ε in all (cells)"


def _accuracy_cells(quick: bool) -> list[dict[str, Any]]:
    sets = ("breast_cancer",) if quick else ("breast_cancer", "pima")
    ks, runs = ((9,), 2) if quick else ((3, 9, 25), 10)
    epsilons = (0.5, 3.0) if quick else EPSILONS
    out: list[dict[str, Any]] = []
    for name in sets:
        same = {"dataset": name, "runs": runs}
        out += [same | {"candidate": CELLS, "k": None, "epsilon": e} for e in epsilons]
        for k in ks:
            out += [same | {"candidate": PLAIN, "k": k, "epsilon": None}]
            out += [
                same | {"candidate": who, "k": k, "epsilon": e}
                for who in (PRINTED, EACH, ALL)
                for e in epsilons
            ]
    return out


def _accuracy(
    *, dataset: str, candidate: str, k: int | None, epsilon: Any, runs: int
) -> Lines:
    data = points(dataset)
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        X, y, tests, truth = data.split("s0", dataset, run)
        ledger = ledger_for("s0", dataset, candidate, k, epsilon, run)
        public: Any = {"bounds": data.bounds, "classes": [0, 1], "ledger": ledger}
        if candidate in (PRINTED, PLAIN):
            model: Any = published.KNNVotes(k or 1, epsilon=epsilon, ledger=ledger)
            spent = None if epsilon is None else 2 * epsilon * len(tests)
        elif candidate == CELLS:
            seed = int(generator_for("s0", dataset, run).integers(1 << 30))
            model = CellNeighborsClassifier(
                epsilon=epsilon, random_state=seed, **public
            )
            spent = epsilon
        else:
            spent = (epsilon or 0) * (len(tests) if candidate == EACH else 1)
            model = KNeighborsClassifier(k, epsilon=spent, **public)
        guess = model.fit(X, y).predict(tests)
        lines.append({"accuracy": float(np.mean(guess == truth)), "true ε": spent})
    return lines


def _accuracy_pictures(results: Results) -> Iterator[Picture]:
    sets, ks = results.unique("dataset"), [k for k in results.unique("k") if k]
    figure, axes = figures.panels(len(sets), len(ks), sharey="row")
    order = [PRINTED, EACH, ALL, CELLS, PLAIN]
    for row, name in zip(axes, sets, strict=True):
        for axis, k in zip(row, ks, strict=True):
            some = results.where(dataset=name)
            rows = [*some.where(k=k), *some.where(k=None)]
            figures.curves(
                axis,
                Results(rows),
                "epsilon",
                "accuracy",
                "candidate",
                order=[
                    one for one in order if any(r["candidate"] == one for r in rows)
                ],
                title=f"{name}, k = {k}",
            )
    figures.legend_below(figure, axes)
    yield Picture(
        "accuracy",
        "Accuracy of nearest neighbours against ε",
        figure,
        "As printed, ε is spent anew on every test point, and twice of it is lost. "
        "Ours scales columns by their public bounds; the slides do not scale.",
    )


def _accuracy_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "accuracy",
        "true ε",
        groups=("dataset", "k", "candidate", "epsilon"),
        title="Accuracy, and what the whole test set costs",
    )


def _accuracy_findings(results: Results) -> Iterator[StudyFinding]:
    for name in results.unique("dataset"):
        some = results.where(dataset=name)
        largest = max(e for e in some.unique("epsilon") if e)
        printed = some.where(candidate=PRINTED, epsilon=largest)
        cells = some.where(candidate=CELLS, epsilon=largest)
        plain = some.where(candidate=PLAIN).mean("accuracy")
        yield StudyFinding(
            f"{name}: accuracy rises with ε towards that without privacy",
            f"{some.where(candidate=PRINTED).curve('epsilon', 'accuracy')[1][0]:.3f} "
            f"to {printed.mean('accuracy'):.3f}; without privacy {plain:.3f}",
            agrees=bool(printed.mean("accuracy") > plain - 0.1),
            why=f"the test set costs {printed.mean('true ε'):.0f}, not {largest:g}; "
            f"for ε = {largest:g} in all, cells reach {cells.mean('accuracy'):.3f}",
        )


def exact_loss(k: int, epsilon: float) -> float:
    """What one query of two classes loses when a row pushes the last dissenter out.

    >>> [round(exact_loss(k, 1), 2) for k in (5, 15, 51)]
    [1.66, 1.87, 1.96]
    """
    gap = k - 2
    return 2 * epsilon - math.log((2 + k * epsilon) / (2 + gap * epsilon))


def _budget_cells(quick: bool) -> list[dict[str, Any]]:
    return [
        {"queries": m, "k": k, "epsilon": 1.0}
        for m in (1, 10, 100, 300)
        for k in (5, 15, 51)
    ]


def _budget(*, queries: int, k: int, epsilon: float) -> dict[str, Any]:
    return {
        "claimed": epsilon,
        "shown": queries * exact_loss(k, epsilon),
        "bound": queries * 2 * epsilon,
        "scale that keeps ε": 2 * queries / epsilon,
    }


def _budget_tables(results: Results) -> Iterator[ResultTable]:
    columns = ("test points", "k", "claimed", "attained", "limit", "scale that keeps ε")
    rows = [
        (
            line["queries"],
            line["k"],
            line["claimed"],
            line["shown"],
            line["bound"],
            line["scale that keeps ε"],
        )
        for line in results
    ]
    yield ResultTable(
        "budget",
        "What a test set costs with b = 1/ε, at ε = 1",
        columns,
        tuple(rows),
        "Attained by two tables that differ in one row, with every test point at the "
        "same place; the limit is 2ε for each point.",
    )


def _budget_findings(results: Results) -> Iterator[StudyFinding]:
    most = max(results, key=lambda line: line["shown"])
    yield StudyFinding(
        "a row changes one count by one at most, so Δ = 1 and ε is spent",
        f"{most['queries']} points at ε = 1: {most['shown']:.0f} is attained",
        agrees=bool(most["shown"] <= most["claimed"]),
        expected=False,
        why="a row that comes in pushes another out, and every point asks again",
    )


def _codes_cells(quick: bool) -> list[dict[str, Any]]:
    return [{"seed": s} for s in range(2 if quick else 20)]


def _codes(*, seed: int) -> dict[str, Any]:
    """Put one row in front, and see what becomes of the codes and the predictions."""
    data = load("mushroom", rows=1200, random_state=seed)
    texts = np.array([data.columns[n] for n in data.domain.features()]).T
    labels = np.asarray(data.y == data.y[0])

    def coded(rows: Any) -> Any:
        ledger = ledger_for("s0-codes", seed)
        return np.column_stack([published.factorize(c, ledger=ledger) for c in rows.T])

    # The last row in front; rows 0 to 998 train, the others are asked about.
    before, after = coded(texts[:-1]), coded(np.vstack([texts[-1:], texts[:-1]]))[1:]
    guesses = []
    for codes in (before, after):
        model = published.KNNVotes(9, epsilon=None, ledger=ledger_for("s0", seed))
        guesses.append(model.fit(codes[:999], labels[:999]).predict(codes[999:]))
    return {
        "codes that change": float(np.mean(before != after)),
        "predictions that change": float(np.mean(guesses[0] != guesses[1])),
        "accuracy": float(np.mean(guesses[0] == labels[999:-1])),
    }


def _codes_tables(results: Results) -> Iterator[ResultTable]:
    names = ("codes that change", "predictions that change", "accuracy")
    row = tuple(spread(results, n) for n in names)
    yield ResultTable(
        "codes", "One row in front of 1199 others (mushroom)", names, (row,)
    )


def _codes_findings(results: Results) -> Iterator[StudyFinding]:
    share = results.mean("codes that change")
    yield StudyFinding(
        "categories become numbers before the budget begins",
        f"one row in front changes {share:.0%} of all codes",
        agrees=bool(share < 0.001),
        expected=False,
        why="codes follow first appearance; a public list of categories does not",
    )


EXPERIMENTS = (
    Experiment(
        name="s0-accuracy",
        title=mark("Nearest neighbours with noisy votes"),
        source="S0, accuracy against budget",
        shows=mark(
            "Accuracy of kNN at ε 0.5 to 3 with Laplace noise on the votes. The "
            "slides do not name their data."
        ),
        cells=_accuracy_cells,
        measure=_accuracy,
        repeats=(),
        weight=lambda cell: 0.1 * cell["runs"],
        tables=_accuracy_tables,
        pictures=_accuracy_pictures,
        findings=_accuracy_findings,
    ),
    Experiment(
        name="s0-budget",
        title=mark("What a test set costs"),
        source="S0, sensitivity and budget",
        shows=mark("ε as the budget of the whole experiment."),
        cells=_budget_cells,
        measure=_budget,
        repeats=(),
        tables=_budget_tables,
        findings=_budget_findings,
    ),
    Experiment(
        name="s0-codes",
        title=mark("Codes that depend on the rows"),
        source="S0, encoding of attributes",
        shows=mark("pandas.factorize before anything else."),
        cells=_codes_cells,
        measure=_codes,
        tables=_codes_tables,
        findings=_codes_findings,
    ),
)
