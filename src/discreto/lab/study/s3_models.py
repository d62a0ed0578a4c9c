"""S3, figures 3.5 to 3.9, tables 3.1, 3.2: fuzzy clusters and naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for, ledger_for
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
from discreto.lab.study.scores import score_table, spread
from discreto.models import FuzzyCMeans, GaussianNB
from discreto.plots import CentroidsDisplay
from discreto.text.language import mark

PRINTED, OURS, PLAIN = "as printed", "ours", "non-private"
EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0, 100.0)


def _pima() -> Points:
    return points("pima", ("bmi", "glucose"))


def _cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (3, (0.5, 1.0)) if quick else (20, EPSILONS)
    return [{"candidate": PLAIN, "epsilon": None, "runs": runs}] + [
        {"candidate": who, "epsilon": e, "runs": runs}
        for who in (PRINTED, OURS)
        for e in epsilons
    ]


# Figures 3.5 to 3.7


def _clusters(*, candidate: str, epsilon: Any, runs: int) -> Lines:
    data = _pima()
    quiet = ledger_for("s3-3.6", noise=False)
    plain = published.PrintedFuzzyCMeans(2, epsilon=None, max_iter=100, ledger=quiet)
    best = _sorted(plain.fit(data.unit(data.X)).cluster_centers_)
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        ledger = ledger_for("s3-3.7", candidate, epsilon, run)
        if candidate == OURS:
            seed = int(generator_for("s3-3.7", run).integers(1 << 30))
            ours = FuzzyCMeans(
                2,
                epsilon=epsilon,
                bounds=data.bounds,
                ledger=ledger,
                random_state=seed,
            )
            centres = data.unit(ours.fit(data.X).cluster_centers_)
        else:
            steps = 10 if candidate == PRINTED else 100
            model = published.PrintedFuzzyCMeans(
                2, epsilon=epsilon, max_iter=steps, ledger=ledger
            )
            centres = model.fit(data.unit(data.X)).cluster_centers_
        centres = _sorted(centres)
        lines.append(
            {
                "distance": float(np.linalg.norm(centres - best, axis=1).mean()),
                "accuracy": _agreement(data, centres),
                "centres": centres.ravel(),
            }
        )
    return lines


def _sorted(centres: Any) -> Any:
    """By glucose: the second is the cluster of more diabetes."""
    return centres[np.argsort(centres[:, 1])]


def _agreement(data: Points, centres: Any) -> float:
    gaps = ((data.unit(data.X)[:, None] - centres) ** 2).sum(axis=2)
    return float(np.mean(np.argmin(gaps, axis=1) == data.y))


def _cluster_pictures(results: Results) -> Iterator[Picture]:
    data = _pima()
    unit = data.unit(data.X)
    figure, axes = figures.panels(1, 3, size=(4.4, 3.6))
    first, second, third = axes[0]
    _classes(first, unit, data.y, "figure 3.5")
    shown = {}
    for who, epsilon in ((PRINTED, 1.0), (OURS, 1.0), (PLAIN, None)):
        lines = list(results.where(candidate=who, epsilon=epsilon))[:5]
        shown[who] = np.array([line["centres"] for line in lines]).reshape(-1, 2)
    display = CentroidsDisplay.from_centres(
        shown, ("BMI, scaled", "glucose, scaled"), points=unit, simulated=False
    )
    display.plot(second)
    second.set_title("centres of five runs, ε = 1", fontsize=10)
    figures.curves(third, results, "epsilon", "distance", "candidate")
    third.set_title("distance to the plain centres", fontsize=10)
    yield Picture("figure-3-5", mark("Fuzzy c-means on BMI and glucose"), figure)
    figure, axes = figures.panels(1, 3, size=(4.0, 3.6), sharey=True)
    titles = ("figure 3.6", "figure 3.7, as printed", "figure 3.7, ours")
    for axis, (who, centres), title in zip(
        axes[0],
        [(w, shown[w][:2]) for w in (PLAIN, PRINTED, OURS)],
        titles,
        strict=True,
    ):
        colours = axis.scatter(
            *unit.T, s=8, c=memberships(unit, centres)[:, 1], cmap="coolwarm",
            vmin=0, vmax=1,
        )  # fmt: skip
        axis.scatter(*centres.T, s=110, marker="X", color="black", edgecolor="white")
        axis.set_title(f"{title} ({who})" if who == PLAIN else title, fontsize=10)
        axis.set_xlabel("BMI, scaled")
    axes[0, 0].set_ylabel("glucose, scaled")
    figure.colorbar(colours, ax=list(axes[0]), label="membership in cluster 2")
    note = "The colour of a point is its membership; ε = 1, the first run of each."
    yield Picture("figures-3-6-3-7", "Memberships of two fuzzy clusters", figure, note)


def _classes(axes: Any, rows: Any, codes: Any, title: str) -> None:
    """Rows coloured by class."""
    for code, name, colour in ((0, "negative", "#0072b2"), (1, "positive", "#d55e00")):
        some = rows[codes == code]
        axes.scatter(*some.T, s=7, color=colour, alpha=0.5, label=name)
    axes.set_xlabel("BMI, scaled")
    axes.set_ylabel("glucose, scaled")
    axes.legend(frameon=False, fontsize=8.5)
    axes.set_title(title, fontsize=10)


def memberships(rows: Any, centres: Any, m: float = 2) -> Any:
    """Each row's membership in each cluster (algorithm 5, line 5); they add up to 1.

    >>> memberships([[0.0, 0.0]], [[0.0, 1.0], [0.0, 2.0]]).tolist()
    [[0.8, 0.2]]
    """
    gaps = np.asarray(rows)[:, None] - np.asarray(centres)
    far = np.maximum((gaps**2).sum(axis=2), 1e-30) ** (1 / (m - 1))
    return 1 / far / (1 / far).sum(axis=1, keepdims=True)


def _cluster_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(results, "distance", "accuracy")


def _cluster_findings(results: Results) -> Iterator[StudyFinding]:
    printed = results.where(candidate=PRINTED, epsilon=1.0).mean("distance")
    ours = results.where(candidate=OURS, epsilon=1.0).mean("distance")
    yield StudyFinding(
        "at ε = 1 the noisy centres lie close to the plain ones",
        f"mean distance {printed:.2f} on a square of side 1 (ours {ours:.2f})",
        agrees=bool(printed < 0.1),
        expected=False,
        why="noise of scale 3tc(2+d)/ε = 240 is added to coordinates in [0, 1]: as "
        "printed, centres are random corners. The figure cannot come from it.",
    )


# Figures 3.8, 3.9 and tables 3.1, 3.2

TABLE_31 = {  # mean, deviation, p-value; then table 3.2
    "glucose, no": (108.67568, 27.22728, 0.21, 108.6949, 26.9758),
    "glucose, yes": (137.8659, 32.4038, 0.93, 137.88405, 31.26305),
    "BMI, no": (30.603041, 7.635663, 0.33, 30.605681, 8.632087),
    "BMI, yes": (35.139024, 7.153218, 0.13, 35.137254, 7.828566),
}
PLACES = {"glucose, no": (0, 1), "glucose, yes": (1, 1), "BMI, no": (0, 0)} | {
    "BMI, yes": (1, 0)
}  # class and column


# Table 3.1 has means and deviations of whole numbers (glucose) and of tenths (BMI): no
# other counts up to 500 and 268 give its printed digits. 460 rows are 60 % of 768.
TRAINED = (296, 164)


def _split(data: Points, run: int) -> tuple[Any, Any, Any, Any]:
    """Train and test rows with as many rows of each class as table 3.1 implies."""
    rng = generator_for("split", "s3-3.8", run)
    mixed = [rng.permutation(np.flatnonzero(data.y == code)) for code in (0, 1)]
    kept, held = (
        np.concatenate([rows[part] for rows, part in zip(mixed, parts, strict=True)])
        for parts in zip(
            *((slice(None, n), slice(n, None)) for n in TRAINED), strict=True
        )
    )
    return data.X[kept], data.y[kept], data.X[held], data.y[held]


def _bayes(*, candidate: str, epsilon: Any, runs: int) -> Lines:
    data = _pima()
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        X, y, tests, truth = _split(data, run)
        ledger = ledger_for("s3-3.9", candidate, epsilon, run)
        public: Any = {"bounds": data.bounds, "ledger": ledger}
        if candidate == OURS:
            model: Any = GaussianNB(epsilon=epsilon, classes=[0, 1], **public)
            model.fit(X, y)
            means, spreads = model.theta_, np.sqrt(model.var_)
        else:
            model = published.ThesisBayes(epsilon=epsilon, **public).fit(X, y)
            means, spreads = model.theta_, model.sigma_
        guess = model.predict(tests)
        found: dict[str, Any] = {"accuracy": float(np.mean(guess == truth))}
        if run == 0:
            found["guess"] = guess.astype(float)
        for name, (code, column) in PLACES.items():
            found[f"mean, {name}"] = float(means[code, column])
            found[f"sd, {name}"] = float(spreads[code, column])
            if candidate == PLAIN:
                found[f"p, {name}"] = _normal(X[y == code, column])
        lines.append(found)
    return lines


def _normal(values: Any) -> float:
    """Kolmogorov and Smirnov's p for a normal distribution fitted to these values."""
    from scipy.stats import kstest

    scaled = (values - values.mean()) / values.std(ddof=1)
    return float(kstest(scaled, "norm").pvalue)


def _bayes_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(results, "accuracy")
    rows = []
    for name, (mean, deviation, p, noisy_mean, noisy_deviation) in TABLE_31.items():
        plain = results.where(candidate=PLAIN)
        half = results.where(candidate=PRINTED, epsilon=0.5)
        cells = [
            spread(some, what)
            for some, what in (
                (plain, f"mean, {name}"),
                (plain, f"sd, {name}"),
                (plain, f"p, {name}"),
                (half, f"mean, {name}"),
                (half, f"sd, {name}"),
            )
        ]
        printed = (mean, deviation, p, noisy_mean, noisy_deviation)
        pairs = (x for pair in zip(printed, cells, strict=True) for x in pair)
        rows.append((name, *pairs))
    names = ("mean", "sd", "p", "mean at ε 0.5", "sd at ε 0.5")
    columns = (x for name in names for x in (f"{name}, printed", name))
    yield ResultTable(
        "tables-3-1-3-2",
        "Parameters of naive Bayes, as printed and found",
        ("column, diabetes", *columns),
        tuple(rows),
        "Found: over splits of the same table into 460 and 308 rows (296 and 164 of "
        "the classes to learn from, as the printed means imply). Printed rows are one "
        "split.",
    )


def _bayes_pictures(results: Results) -> Iterator[Picture]:
    data = _pima()
    _, _, tests, truth = _split(data, 0)
    rows = data.unit(tests)
    figure, axes = figures.panels(1, 4, size=(3.4, 3.6), sharey=True)
    _classes(axes[0, 0], rows, truth, "figures 3.8, 3.9 (a): true class")
    for axis, who, epsilon, title in (
        (axes[0, 1], PLAIN, None, "figure 3.8 (b): naive Bayes"),
        (axes[0, 2], PRINTED, 1.0, "figure 3.9 (b), as printed, ε = 1"),
        (axes[0, 3], OURS, 1.0, "figure 3.9 (b), ours, ε = 1"),
    ):
        (line, *_) = results.where(candidate=who, epsilon=epsilon)
        right = f"{100 * line['accuracy']:.0f} % right"
        _classes(axis, rows, np.asarray(line["guess"]), f"{title}\n{right}")
    note = "The first of the random splits; 460 rows to learn from, 308 to test."
    yield Picture("figures-3-8-3-9", "True and predicted classes", figure, note)
    figure, axes = figures.panels(1, 1, size=(5.5, 3.6))
    figures.curves(axes[0, 0], results, "epsilon", "accuracy", "candidate")
    yield Picture("accuracy", mark("Naive Bayes on BMI and glucose"), figure)


def _bayes_findings(results: Results) -> Iterator[StudyFinding]:
    plain = results.where(candidate=PLAIN).mean("accuracy")
    half = results.where(candidate=PRINTED, epsilon=0.5).mean("accuracy")
    ours = results.where(candidate=OURS, epsilon=0.5).mean("accuracy")
    yield StudyFinding(
        "naive Bayes is right in 79 % of cases",
        f"{plain:.1%} over random splits",
        agrees=bool(abs(plain - 0.79) < 0.05),
        why="79 % or more in "
        f"{np.mean(results.where(candidate=PLAIN).values('accuracy') >= 0.785):.0%} "
        "of splits",
    )
    yield StudyFinding(
        "with noise at ε = 0.5 it is right in 78 %",
        f"as printed {half:.1%}, ours {ours:.1%}",
        agrees=bool(abs(half - 0.78) < 0.05),
        expected=False,
        why="the printed noise on the deviation of glucose, about 30, has scale 20",
    )
    probability = _probability_of_table_32()
    yield StudyFinding(
        "table 3.2 is a draw of the printed mechanism at ε = 0.5",
        f"four means that near to those of table 3.1: probability {probability:.0e}",
        agrees=bool(probability > 1e-3),
        expected=False,
        why=f"with the {sum(TRAINED)} rows that table 3.1 implies and public ranges",
    )


def _probability_of_table_32(rows: int = sum(TRAINED), epsilon: float = 0.5) -> float:
    """The probability that all four printed means move as little as they do."""
    data, probability = _pima(), 1.0
    for name, (mean, _, _, noisy, _) in TABLE_31.items():
        column = PLACES[name][1]
        scale = (data.high[column] - data.low[column]) / (rows + 1) / epsilon
        probability *= 1 - np.exp(-abs(noisy - mean) / scale)
    return float(probability)


EXPERIMENTS = (
    Experiment(
        name="s3-figure-3.7",
        title=mark("Fuzzy c-means on BMI and glucose"),
        source="S3, figures 3.5 to 3.7",
        shows=mark("Two fuzzy clusters with and without privacy at ε = 1."),
        cells=_cells,
        measure=_clusters,
        repeats=(),
        tables=_cluster_tables,
        pictures=_cluster_pictures,
        findings=_cluster_findings,
    ),
    Experiment(
        name="s3-figure-3.9",
        title=mark("Naive Bayes on BMI and glucose"),
        source="S3, figures 3.8, 3.9, tables 3.1, 3.2",
        shows=mark("79 % right without privacy and 78 % with."),
        cells=_cells,
        measure=_bayes,
        edition=2,
        repeats=(),
        tables=_bayes_tables,
        pictures=_bayes_pictures,
        findings=_bayes_findings,
    ),
)
