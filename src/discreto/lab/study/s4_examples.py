"""S4: k-means on iris, and the worked examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for, ledger_for
from discreto.lab import published
from discreto.lab.published.regression import Polynomial, squares
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

PLAIN, PRINTED, OURS = "non-private", "as printed", "ours"


# k-means


def _kmeans_cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (5, (1.0,)) if quick else (50, (0.1, 0.3, 1.0, 3.0, 10.0, 100.0))
    return [{"candidate": PLAIN, "epsilon": None, "runs": runs}] + [
        {"candidate": who, "epsilon": e, "runs": runs}
        for who in (PRINTED, OURS)
        for e in epsilons
    ]


def _kmeans(*, candidate: str, epsilon: float | None, runs: int) -> Lines:
    data = points("iris")
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
    yield score_table(results, "inertia", "agreement", title="k-means", note=note)


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
    figures.curves(right, results, "epsilon", "agreement", "candidate")
    yield Picture("k-means", "k-means on iris", figure)


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


# Worked examples

ROWS = np.array([[1.0], [0.9], [-0.5]])
TARGET = np.array([0.4, 0.3, -1.0])
NOISY = Polynomial(1.25, np.array([-0.29, -2.54]), np.array([[1.39, 1.18], [0, 2.14]]))
PEOPLE = np.array(
    [
        [182, 81.6, 30], [180, 86.2, 28], [170, 77.1, 30], [180, 74.8, 25],
        [152, 45.4, 15], [168, 68.0, 20], [165, 59.0, 18], [175, 68.0, 23],
    ]
)  # fmt: skip
SEXES = np.array(["m"] * 4 + ["f"] * 4)
DEBTORS = np.array(
    [["YMO".index(a), "LMH".index(b), "MF".index(c)] for a, b, c in zip(
        "YYMOOOMMYO", "LHHMHLLMLH", "MFMMMFFMMF", strict=True
    )]
)  # fmt: skip
LATE = np.array([late == "Y" for late in "YYNNNYNYNN"])


def _example_cells(quick: bool) -> list[dict[str, Any]]:
    return [{"example": n} for n in ("least squares", "sex", "missed payment")]


def _example(*, example: str) -> Lines:
    ledger = ledger_for("s4-examples", example)
    if example == "sex":
        bayes = published.ThesisBayes(epsilon=None, ledger=ledger).fit(PEOPLE, SEXES)
        women, men = bayes.joint([[183, 59, 20]])[0]
        return [
            {"what": "man, 183 cm, 59 kg, 20 cm", "printed": 1.3404e-10, "found": men},
            {"what": "woman, the same", "printed": 1.52e-5, "found": women},
        ]
    if example == "missed payment":
        codes = {0: 3, 1: 3, 2: 2}
        model = published.VaidyaBayes(epsilon=None, categories=codes, ledger=ledger)
        no, yes = model.fit(DEBTORS, LATE).joint([[0, 1, 1]])[0] / len(LATE)
        return [
            {"what": "young woman, medium income: yes", "printed": 0.025, "found": yes},
            {"what": "the same: no", "printed": 0.0056, "found": no},
        ]
    loss = squares(ROWS, TARGET, intercept=True)
    best, noisy = loss.stationary(), NOISY.stationary()
    found = {
        "ω0": (-564 / 1055, best[0]),
        "ω1": (393 / 422, best[1]),
        "coefficient of ω0ω1": (2.8, loss.quadratic[0, 1]),
        "ω0 from the printed noisy coefficients": (-0.17, noisy[0]),
        "ω1 from the printed noisy coefficients": (0.64, noisy[1]),
    }
    return [{"what": n, "printed": p, "found": f} for n, (p, f) in found.items()]


def _example_tables(results: Results) -> Iterator[ResultTable]:
    rows = [(r["example"], r["what"], r["printed"], r["found"]) for r in results]
    columns = ("example", "what", "printed", "found")
    yield ResultTable("examples", "Worked examples", columns, tuple(rows))


def _example_findings(results: Results) -> Iterator[StudyFinding]:
    off = max(abs(r["found"] / r["printed"] - 1) for r in results)
    yield StudyFinding(
        "the numbers of the worked examples",
        f"all within {off:.1%} of print",
        agrees=bool(off < 0.03),
    )
    yield StudyFinding(
        "Δ = 8 at ε = 10 keeps ε = 10 for the line with an intercept",
        "11.25: one row moves the coefficients by 9",
        agrees=False,
        why="x = 1, y = 1 replaced by x = 0, y = -1; and Σy² is printed without noise",
    )


EXPERIMENTS = (
    Experiment(
        name="s4-k-means",
        title="k-means on iris",
        source="S4, k-means at ε = 1",
        shows="Three clusters of iris at ε = 1.",
        cells=_kmeans_cells,
        measure=_kmeans,
        repeats=(),
        tables=_kmeans_tables,
        pictures=_kmeans_pictures,
        findings=_kmeans_findings,
    ),
    Experiment(
        name="s4-examples",
        title="Worked examples",
        source="S4, naive Bayes and linear regression by hand",
        shows="Two classifications and a line, step by step.",
        cells=_example_cells,
        measure=_example,
        repeats=(),
        tables=_example_tables,
        findings=_example_findings,
    ),
)
