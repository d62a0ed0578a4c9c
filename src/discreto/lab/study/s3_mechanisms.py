"""S3, example 1.2 and figure 2.2: two coins, and densities of a noisy count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto.compare.seeds import ledger_for
from discreto.lab import published
from discreto.lab.published.statistics import two_coin_share
from discreto.lab.published.sums import laplace_density
from discreto.lab.study import figures
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.lab.study.scores import score_table
from discreto.local import RandomizedResponse
from discreto.plots.style import legend, look
from discreto.text.language import mark

COUNT = 108  # minors who died of causes related to diabetes
PRINTED, OURS = "as printed", "ours"


# Figure 2.2


def _density_cells(quick: bool) -> list[dict[str, Any]]:
    return [{"epsilon": epsilon} for epsilon in (1.0, 0.1)]


def _density(*, epsilon: float) -> dict[str, Any]:
    outputs = np.linspace(COUNT - 40, COUNT + 40, 321)
    with_row, without = (
        laplace_density(outputs, 1 / epsilon, centre) for centre in (COUNT, COUNT - 1)
    )
    ratio = np.abs(np.log(with_row / without)).max()
    return {"output": outputs, "D": with_row, "D'": without, "log ratio": float(ratio)}


def _density_pictures(results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 2)
    for axis, line in zip(axes[0], results, strict=True):
        for place, name in enumerate(("D", "D'")):
            style = look(place)
            axis.plot(
                line["output"], line[name], color=style.colour, linestyle=style.line,
                label=name,
            )  # fmt: skip
        for place, centre in enumerate((COUNT, COUNT - 1)):
            axis.axvline(centre, color=look(place).colour, linewidth=0.7)
        axis.set_title(f"ε = {line['epsilon']:g}", fontsize=10)
        axis.set_xlabel("noisy count")
        axis.set_ylabel("density")
        legend(axis)
    yield Picture("figure-2-2", "Densities of a noisy count of 108", figure)


def _density_findings(results: Results) -> Iterator[StudyFinding]:
    for line in results:
        yield StudyFinding(
            f"densities of neighbours are within e^ε at ε = {line['epsilon']:g}",
            f"largest |log ratio| {line['log ratio']:.3g}",
            agrees=line["log ratio"] <= line["epsilon"] * (1 + 1e-9),
        )


# Example 1.2


def _coin_cells(quick: bool) -> list[dict[str, Any]]:
    sizes, runs = ((100, 1000), 10) if quick else ((100, 1000, 10_000), 200)
    return [
        {"candidate": who, "people": n, "share": 0.3, "runs": runs}
        for who in (PRINTED, OURS)
        for n in sizes
    ]


def _coin(*, candidate: str, people: int, share: float, runs: int) -> Lines:
    answers = (np.arange(people) < share * people).astype(int)
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        ledger = ledger_for("s3-two-coins", candidate, people, run)
        if candidate == PRINTED:
            guess = two_coin_share(published.two_coins(answers, ledger=ledger))
        else:
            survey = RandomizedResponse((0, 1), epsilon=math.log(3), ledger=ledger)
            replies = survey.fit().transform(answers)
            guess = float(dict(survey.frequencies(replies).items())[1])
        lines.append({"estimate": guess, "error": abs(guess - share)})
    return lines


def _coin_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "estimate",
        "error",
        groups=("candidate", "people"),
        title="Two coins, ε = ln 3: the share of yes is 0.3",
    )


def _coin_findings(results: Results) -> Iterator[StudyFinding]:
    for who, words in (
        (PRINTED, "2s - 1/2 gives the share of true yes answers"),
        (OURS, "(no claim of the source) so does the survey of this library"),
    ):
        most = max(results.unique("people"))
        some = results.where(candidate=who, people=most)
        seen = some.mean("estimate")
        # A mean of 200 estimates from 10,000 people is known to 0.0006.
        near = 0.003 * (10_000 / most * 200 / some.count) ** 0.5
        yield StudyFinding(
            words,
            f"mean estimate {seen:.3f} ± {near / 3:.1g} where 0.3 is true "
            f"({most} people)",
            agrees=bool(abs(seen - 0.3) < near),
        )


EXPERIMENTS = (
    Experiment(
        name="s3-figure-2.2",
        title=mark("Densities of a noisy count"),
        source="S3, figure 2.2",
        shows=mark(
            "Laplace densities around 108 for two neighbours, at ε = 1 and 0.1."
        ),
        cells=_density_cells,
        measure=_density,
        repeats=(),
        pictures=_density_pictures,
        findings=_density_findings,
    ),
    Experiment(
        name="s3-two-coins",
        title=mark("The answer of two coins"),
        source="S3, example 1.2 and remark 1.2",
        shows=mark("Randomised response with two coins, and the estimator 2s - 1/2."),
        cells=_coin_cells,
        measure=_coin,
        edition=2,
        repeats=(),
        tables=_coin_tables,
        findings=_coin_findings,
    ),
)
