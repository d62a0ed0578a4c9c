"""S0 as the slides describe it: factorised categories and the curve of ε together.

The slides factorise every column that is no number, then let the k nearest rows vote
with noise. They do not name their data; mushrooms have categories only. Beside it: what
the corrected models do with the same categories, which they take as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for, ledger_for
from discreto.data.datasets import load
from discreto.lab import published
from discreto.lab.study import figures
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.lab.study.s0 import ALL, EACH, EPSILONS, PLAIN, PRINTED
from discreto.lab.study.scores import score_table
from discreto.models import (
    CellNeighborsClassifier,
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)
from discreto.table.table import Table as Rows
from discreto.text.language import mark

ROWS, NEIGHBORS, RUNS = 2000, 9, 10
RADIUS, CELLS = "ours, ε in all (radius)", "ours, ε in all (cells)"
ORDER = (PRINTED, EACH, ALL, RADIUS, CELLS, PLAIN)


def _cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (2, (0.5, 3.0)) if quick else (RUNS, EPSILONS)
    return [{"candidate": PLAIN, "epsilon": None, "runs": runs}] + [
        {"candidate": who, "epsilon": e, "runs": runs}
        for who in ORDER[:-1]
        for e in epsilons
    ]


def _measure(*, candidate: str, epsilon: Any, runs: int) -> Lines:
    data = load("mushroom", rows=ROWS, random_state=0)
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        order = generator_for("split", "s0-categories", run).permutation(ROWS)
        held, kept = order[: ROWS // 5], order[ROWS // 5 :]
        ledger = ledger_for("s0-categories", candidate, epsilon, run)
        if candidate in (PRINTED, PLAIN):
            guess = _as_printed(data, epsilon, kept, held, ledger)
            spent = None if epsilon is None else 2 * epsilon * len(held)
        else:
            spent = epsilon * (len(held) if candidate == EACH else 1)
            model = _model(candidate, spent, run)
            guess = _ours(model, data, kept, held, ledger)
        right = guess == np.asarray(data.columns[data.target])[held]
        lines.append({"accuracy": float(np.mean(right)), "true ε": spent})
    return lines


def _as_printed(data: Any, epsilon: Any, kept: Any, held: Any, ledger: Any) -> Any:
    """Every column factorised, the whole table at once, as the slides' loop does."""
    features = [name for name in data.domain.features() if name != data.target]
    codes = np.column_stack(
        [published.factorize(data.columns[name], ledger=ledger) for name in features]
    )
    labels = np.asarray(data.columns[data.target])
    model = published.KNNVotes(NEIGHBORS, epsilon=epsilon, ledger=ledger)
    return model.fit(codes[kept], labels[kept]).predict(codes[held])


def _model(candidate: str, epsilon: Any, run: int) -> Any:
    if candidate == RADIUS:
        return RadiusNeighborsClassifier(epsilon=epsilon)
    if candidate == CELLS:
        seed = int(generator_for("s0-categories", run).integers(1 << 30))
        return CellNeighborsClassifier(epsilon=epsilon, random_state=seed)
    return KNeighborsClassifier(NEIGHBORS, epsilon=epsilon)


def _ours(model: Any, data: Any, kept: Any, held: Any, ledger: Any) -> Any:
    columns, domain = data.columns, data.domain
    rows = {name: np.asarray(values)[kept] for name, values in columns.items()}
    model.fit(Rows(rows, domain, ledger), data.target)
    unseen = [np.asarray(columns[name])[held] for name in model.space_.features]
    return model.predict(np.column_stack(unseen))


def _tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "accuracy",
        "true ε",
        title=f"Mushrooms, {ROWS} rows, k = {NEIGHBORS}, 80/20",
        note="As printed, the codes also follow the rows, which has no finite price.",
    )


def _pictures(results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 1, size=(6.0, 3.6))
    order = [one for one in ORDER if results.where(candidate=one)]
    figures.curves(axes[0, 0], results, "epsilon", "accuracy", "candidate", order=order)
    figures.legend_below(figure, axes)
    yield Picture(
        "accuracy",
        "Nearest neighbours on factorised categories: accuracy against ε",
        figure,
        "As printed, ε is spent anew on every test point, and twice of it is lost.",
    )


def _findings(results: Results) -> Iterator[StudyFinding]:
    plain = results.where(candidate=PLAIN).mean("accuracy")
    places, means, _ = results.where(candidate=PRINTED).curve("epsilon", "accuracy")
    shown = ", ".join(f"{m:.3f} at {e:g}" for e, m in zip(places, means, strict=True))
    least = results.where(candidate=PLAIN).margin(0.003, RUNS)
    yield StudyFinding(
        "on factorised categories accuracy rises with ε to that without privacy",
        f"{shown}; without privacy {plain:.3f}",
        agrees=bool(means[0] < means[-1] + least and means[-1] > plain - 0.01 - least),
    )
    most = results.where(epsilon=places[-1])
    found = {who: most.where(candidate=who).mean("accuracy") for who in ORDER[:-1]}
    yield StudyFinding(
        f"the whole test set at ε = {places[-1]:g} costs {places[-1]:g}",
        f"{most.where(candidate=PRINTED).mean('true ε'):.0f} and the codes; with all "
        "paid for: "
        + ", ".join(f"{who} {found[who]:.3f}" for who in (ALL, RADIUS, CELLS)),
        agrees=bool(most.where(candidate=PRINTED).mean("true ε") <= places[-1]),
        expected=False,
        why=f"for the same ε a point, {EACH} reaches {found[EACH]:.3f} on categories",
    )


EXPERIMENTS = (
    Experiment(
        name="s0-categories",
        title=mark("Nearest neighbours on factorised categories"),
        source="S0, encoding of attributes and accuracy against budget",
        shows=mark(
            "pandas.factorize, then kNN at ε 0.5 to 3 with Laplace noise on the "
            "votes. Mushrooms: 2,000 rows of 22 categories."
        ),
        cells=_cells,
        measure=_measure,
        repeats=(),
        weight=lambda cell: 0.2 * cell["runs"],
        tables=_tables,
        pictures=_pictures,
        findings=_findings,
    ),
)
