"""S3, figures 2.3 to 2.6: mean, histogram, mode and quantiles of deaths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreto import stats
from discreto.compare.seeds import ledger_for
from discreto.core.domain.domain import Category, Domain, Number
from discreto.lab import published
from discreto.lab.study import figures
from discreto.lab.study.deaths_data import CODE, OLDEST, deaths, domain
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.lab.study.scores import score_table
from discreto.plots.style import legend, look
from discreto.table.table import Table as People
from discreto.text.language import mark

EDGES = np.arange(0, OLDEST + 11, 10) - 0.5  # between whole ages
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
PRINTED, OURS = "as printed", "ours"


def _mean(candidate: str, epsilon: float, ledger: Any) -> dict[str, Any]:
    return _mean_of(candidate, epsilon, ledger, 0)


def _mean_of_codes(candidate: str, epsilon: float, ledger: Any) -> dict[str, Any]:
    return _mean_of(candidate, epsilon, ledger, CODE)


def _mean_of(who: str, epsilon: float, ledger: Any, code: int) -> dict[str, Any]:
    ages, low, high = deaths().age + code, code, code + OLDEST
    if who == PRINTED:
        answer = published.mean(ages, low, high, epsilon=epsilon, ledger=ledger)
    else:
        public = Domain({"age": Number(low, high, integer=True)})
        people = People({"age": ages}, public, ledger)
        answer = float(stats.mean(people, "age", epsilon=epsilon))
    return {"answer": answer, "error": abs(answer - ages.mean())}


def _histogram(candidate: str, epsilon: float, ledger: Any) -> dict[str, Any]:
    ages = deaths().violent
    exact, _ = np.histogram(ages, EDGES)
    if candidate == PRINTED:
        noisy = published.histogram(ages, EDGES, epsilon=epsilon, ledger=ledger)
    else:
        people = People({"age": ages}, domain().select(["age"]), ledger)
        cuts = EDGES[1:-1].tolist()
        noisy = np.asarray(stats.histogram(people, "age", bins=cuts, epsilon=epsilon))
    return {"answers": noisy, "error": float(np.abs(noisy - exact).mean())}


def _mode(candidate: str, epsilon: float, ledger: Any) -> dict[str, Any]:
    causes, column = deaths().cause, domain()["cause"]
    if candidate == PRINTED and isinstance(column, Category):
        options = list(column.categories)
        answer = published.mode(causes, options, epsilon=epsilon, ledger=ledger)
    else:
        people = People({"cause": causes}, domain().select(["cause"]), ledger)
        answer = stats.mode(people, "cause", epsilon=epsilon).value
    return {"choice": str(answer), "error": float(str(answer) != "U071")}


def _quantiles(candidate: str, epsilon: float, ledger: Any) -> dict[str, Any]:
    ages, share = deaths().age, epsilon / len(PROBABILITIES)
    exact = np.quantile(ages, PROBABILITIES)
    if candidate == PRINTED:
        options = np.arange(OLDEST + 1)
        noisy: Any = [
            published.quantile(ages, p, options, epsilon=share, ledger=ledger)
            for p in PROBABILITIES
        ]
    else:
        people = People({"age": ages}, domain().select(["age"]), ledger)
        noisy = stats.quantile(
            people, "age", list(PROBABILITIES), epsilon=epsilon
        ).value
    return {"answers": noisy, "error": float(np.abs(np.asarray(noisy) - exact).mean())}


ASK: dict[str, Callable[[str, float, Any], dict[str, Any]]] = {
    "mean": _mean,
    "mean of codes": _mean_of_codes,
    "histogram": _histogram,
    "mode": _mode,
    "quantiles": _quantiles,
}


def _answer_cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (3, (1.0,)) if quick else (50, (0.01, 0.1, 1.0))
    return [
        {"statistic": name, "candidate": who, "epsilon": e, "runs": runs}
        for name in ASK
        for who in (PRINTED, OURS)
        for e in epsilons
    ]


def _answer(*, statistic: str, candidate: str, epsilon: float, runs: int) -> Lines:
    facts = ("s3-statistics", statistic, candidate, epsilon)
    return [
        ASK[statistic](candidate, epsilon, ledger_for(*facts, run))
        for run in range(runs)
    ]


def _answer_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "error",
        groups=("statistic", "candidate", "epsilon"),
        title="Absolute errors of statistics of a made-up register of deaths",
        note="Mean over bins and quantiles; for the mode the share of wrong answers. "
        f"Quantiles share ε equally. Codes are {CODE} and the age.",
    )
    draws = results.where(epsilon=1.0)
    three: list[tuple[str, ...]] = [
        (
            who,
            ", ".join(f"{r['answer']:.2f}" for r in _some(draws, "mean", who)),
            ", ".join(f"{r['answer']:.2f}" for r in _some(draws, "mean of codes", who)),
            ", ".join(r["choice"] for r in _some(draws, "mode", who)),
        )
        for who in (PRINTED, OURS)
    ]
    exact = deaths().age.mean()
    three.insert(0, ("exact", f"{exact:.2f}", f"{exact + CODE:.2f}", "U071"))
    columns = ("candidate", "mean (2.3)", "mean of codes (2.3)", "mode (2.5)")
    yield ResultTable("figures-2-3-2-5", "Three draws at ε = 1", columns, tuple(three))


def _some(results: Results, statistic: str, candidate: str) -> list[Any]:
    return list(results.where(statistic=statistic, candidate=candidate))[:3]


def _answer_pictures(results: Results) -> Iterator[Picture]:
    one = results.where(epsilon=1.0)
    figure, axes = figures.panels(1, 2, size=(5.0, 3.2))
    exact, _ = np.histogram(deaths().violent, EDGES)
    left, right = axes[0]
    left.bar(EDGES[:-1] + 5, exact, 9, color="#d0d3d8", label="exact (made-up data)")
    at = np.linspace(0, 1, 201)
    right.plot(at, np.quantile(deaths().age, at), color="grey", label="exact")
    for place, who in enumerate((PRINTED, OURS)):
        style = look(place)
        looks_so: Any = {
            "color": style.colour,
            "marker": style.marker,
            "linestyle": "",
            "label": who,
        }
        for line in _some(one, "histogram", who)[:1]:
            left.plot(EDGES[:-1] + 3.5 + 3 * place, line["answers"], **looks_so)
        for line in _some(one, "quantiles", who)[:1]:
            right.plot(np.array(PROBABILITIES), line["answers"], **looks_so)
    left.set_xlabel("age of those who died of violence")
    left.set_ylabel("people")
    right.set_xlabel("share of people below")
    right.set_ylabel("age")
    legend(left)
    legend(right)
    yield Picture("figures-2-4-2-6", "Histogram and quantiles at ε = 1", figure)


def _answer_findings(results: Results) -> Iterator[StudyFinding]:
    one = results.where(epsilon=1.0)
    wrong = one.where(statistic="mode", candidate=PRINTED).mean("error")
    counts = sorted(np.unique(deaths().cause, return_counts=True)[1])
    yield StudyFinding(
        "one of three noisy modes at ε = 1 is the second most frequent cause",
        f"wrong in {wrong:.0%} of draws; the two causes are {counts[-1] - counts[-2]} "
        "rows apart here",
        agrees=bool(wrong > 0.05),
        expected=False,
        why="with exp(ε n) the second has probability e^-gap: the printed draw needs "
        "two causes that are a few rows apart among all deaths of a year",
    )
    mean = one.where(statistic="mean of codes")
    reach = 0.5 + 0.5 * (CODE + OLDEST) / OLDEST
    printed = mean.where(candidate=PRINTED).mean("error")
    yield StudyFinding(
        "noisy means of codes lie near the true one at ε = 1",
        f"mean error {printed:.3g} as printed, "
        f"{mean.where(candidate=OURS).mean('error'):.3g} ours",
        agrees=bool(printed < 2),  # three draws of the source: 1.2, 0.5 and 0.0
        why=f"codes of 4000 and more make one row add far more than the range: the "
        f"printed noise gives {reach:.1f}ε when a row is added or removed",
    )
    bins = one.where(statistic="histogram", candidate=PRINTED)
    peak = [int(np.argmax(line["answers"])) for line in bins]
    yield StudyFinding(
        "the noisy histogram still shows that ages 20 to 30 are the most frequent",
        f"in {np.mean([p == 2 for p in peak]):.0%} of draws",
        agrees=bool(np.mean([p == 2 for p in peak]) > 0.9),
    )


EXPERIMENTS = (
    Experiment(
        name="s3-statistics",
        title=mark("Mean, histogram, mode and quantiles"),
        source="S3, figures 2.3 to 2.6",
        shows=mark("Statistics of a register of deaths at ε = 1."),
        cells=_answer_cells,
        measure=_answer,
        repeats=(),
        tables=_answer_tables,
        pictures=_answer_pictures,
        findings=_answer_findings,
    ),
)
