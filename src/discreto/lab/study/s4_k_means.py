"""S4: k-means on iris."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for, ledger_for
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
from discreto.lab.study.scores import score_table
from discreto.models import KMeans
from discreto.plots import CentroidsDisplay
from discreto.plots.style import look
from discreto.testing import simulate
from discreto.text.language import mark

PLAIN, PRINTED, OURS = "non-private", "as printed", "ours"
STEPS = "by step"
START = ((1.0, 0.2), (5.0, 1.0), (6.5, 1.2))  # petals; anywhere in the box will do


def _kmeans_cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (5, (1.0,)) if quick else (50, (0.1, 0.3, 1.0, 3.0, 10.0, 100.0))
    steps = {"candidate": STEPS, "epsilon": None, "runs": 1}
    return [{"candidate": PLAIN, "epsilon": None, "runs": runs}, steps] + [
        {"candidate": who, "epsilon": e, "runs": runs}
        for who in (PRINTED, OURS)
        for e in epsilons
    ]


def _kmeans(*, candidate: str, epsilon: float | None, runs: int) -> Lines:
    data = points("iris")
    if candidate == STEPS:
        return _steps(data)
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        ledger = ledger_for("s4-k-means", candidate, epsilon, run)
        seed = int(generator_for("s4-k-means", run).integers(1 << 30))
        centres = _centres(candidate, epsilon, data, ledger, seed)
        gaps = ((data.X[:, None] - centres) ** 2).sum(axis=2)
        lines.append(
            {
                "inertia": float(gaps.min(axis=1).sum()),
                "agreement": _agreement(data.y, np.argmin(gaps, axis=1)),
                "centres": centres[:, 2:].ravel(),
            }
        )
    return lines


def _steps(data: Any) -> Lines:
    """Centres of the petals after 0 to 4 steps: our model, no noise, no shrinkage."""
    petals, low, high = data.X[:, 2:], data.low[2:], data.high[2:]
    start = np.array(START)
    lines: list[Mapping[str, Any]] = [{"step": 0, "centres": start.ravel()}]
    for step in range(1, 5):
        ledger = simulate(noise=False)
        model = KMeans(
            3, epsilon=1, init=start, max_iter=step, shrink=False,
            bounds=(low, high), ledger=ledger,
        ).fit(petals)  # fmt: skip
        lines.append({"step": step, "centres": model.cluster_centers_.ravel()})
    return lines


def _centres(who: str, epsilon: Any, data: Any, ledger: Any, seed: int) -> Any:
    if who == PLAIN:
        from sklearn.cluster import KMeans as Plain

        return Plain(3, n_init=10, random_state=seed).fit(data.X).cluster_centers_
    if who == PRINTED:
        high = float(data.high.max())  # the slides: all columns are in [0, r]
        model: Any = published.PrintedKMeans(
            3, epsilon=epsilon, max_iter=5, high=high, ledger=ledger
        )
    else:
        model = KMeans(
            3, epsilon=epsilon, bounds=data.bounds, ledger=ledger, random_state=seed
        )
    return model.fit(data.X).cluster_centers_


def _agreement(truth: Any, found: Any) -> float:
    """The adjusted Rand index with the species."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, found))


def _kmeans_tables(results: Results) -> Iterator[ResultTable]:
    note = "Agreement is the adjusted Rand index with the species."
    scored = results.having("agreement")
    yield score_table(scored, "inertia", "agreement", title="k-means", note=note)


def _kmeans_pictures(results: Results) -> Iterator[Picture]:
    data = points("iris")
    figure, axes = figures.panels(1, 2, size=(5.0, 3.6))
    left, right = axes[0]
    shown = {}
    for who, epsilon in ((PRINTED, 1.0), (OURS, 1.0), (PLAIN, None)):
        lines = list(results.where(candidate=who, epsilon=epsilon))[:3]
        shown[who] = np.array([line["centres"] for line in lines]).reshape(-1, 2)
    display = CentroidsDisplay.from_centres(
        shown,
        ("petal length, cm", "petal width, cm"),
        points=data.X[:, 2:],
        simulated=False,
    )
    display.plot(left)
    left.set_xlim(-4, 12)
    left.set_ylim(-4, 8)
    left.set_title("three runs at ε = 1; some lie outside", fontsize=10)
    order = (PRINTED, OURS, PLAIN)
    figures.curves(right, results, "epsilon", "agreement", "candidate", order=order)
    yield Picture("k-means", mark("k-means on iris"), figure)
    lines = list(results.where(candidate=STEPS))
    figure, axes = figures.panels(1, len(lines), size=(2.6, 2.9), sharey=True)
    for axis, line in zip(axes[0], lines, strict=True):
        centres = np.reshape(line["centres"], (3, 2))
        gaps = ((data.X[:, None, 2:] - centres) ** 2).sum(axis=2)
        near = np.argmin(gaps, axis=1)
        for code in range(3):
            style = look(code)
            axis.scatter(*data.X[near == code, 2:].T, s=6, color=style.colour)
            axis.scatter(
                *centres[code], s=90, marker="X", color=style.colour, edgecolor="black"
            )
        axis.set_title(f"step {line['step']:g}", fontsize=10)
        axis.set_xlabel("petal length, cm")
    axes[0, 0].set_ylabel("petal width, cm")
    note = "Without noise: KMeans(init=..., shrink=False) with simulate(noise=False)."
    yield Picture("k-means-by-step", "k-means, step by step", figure, note)


def _kmeans_findings(results: Results) -> Iterator[StudyFinding]:
    score = {
        who: results.where(candidate=who, epsilon=e).mean("agreement")
        for who, e in ((PLAIN, None), (PRINTED, 1.0), (OURS, 1.0))
    }
    yield StudyFinding(
        "k-means on iris runs at ε = 1 and prints centres and labels",
        ", ".join(f"{who} {value:.2f}" for who, value in score.items())
        + " agreement with the species",
        agrees=None,
        why="printed labels of training rows are exact; 150 rows are few for sums with "
        "noise of scale 2drt/ε = 320",
    )


EXPERIMENTS = (
    Experiment(
        name="s4-k-means",
        title=mark("k-means on iris"),
        source="S4, k-means at ε = 1",
        shows=mark("Three clusters of iris at ε = 1."),
        cells=_kmeans_cells,
        measure=_kmeans,
        repeats=(),
        tables=_kmeans_tables,
        pictures=_kmeans_pictures,
        findings=_kmeans_findings,
    ),
)
