"""S1: the sum of {4, 2, 7, 1}, with local and with global sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from discreto import stats
from discreto.compare.seeds import ledger_for
from discreto.core.domain.domain import Domain, Number
from discreto.lab import published
from discreto.lab.published.sums import laplace_density, local_sensitivity
from discreto.lab.study import figures
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.plots.style import legend, look
from discreto.table.table import Table as People
from discreto.text.language import mark

PROPERTIES = (4, 2, 7, 1)
WITHOUT_GIL = (4, 2, 1)
NOISE = {-4.58: 3.70, -0.15: 6.98, 12.15: 1.25, -6.43: 2.85, 2.89: 4.72}  # as printed
UPPER = 10  # a public bound: nobody declares more properties
LOCAL, GLOBAL = "local sensitivity (as printed)", f"global sensitivity, [0, {UPPER}]"


def _example_cells(quick: bool) -> list[dict[str, Any]]:
    return [{"sensitivity": name, "epsilon": 1.0} for name in (LOCAL, GLOBAL)]


def _example(*, sensitivity: str, epsilon: float) -> dict[str, Any]:
    outputs = np.arange(-40, 201)
    logs = []
    for people in (PROPERTIES, WITHOUT_GIL):
        reach = local_sensitivity(people) if sensitivity == LOCAL else UPPER
        density = laplace_density(outputs, reach / epsilon, sum(people))
        logs.append(np.log(density))
    return {
        "output": outputs,
        "density": np.exp(logs[0]),
        "without Gil": np.exp(logs[1]),
        "log ratio": np.abs(logs[0] - logs[1]),
    }


def _example_tables(results: Results) -> Iterator[ResultTable]:
    rows = [
        (noise, 14 + noise, printed, 100 * float(laplace_density(noise, 7)))
        for noise, printed in NOISE.items()
    ]
    yield ResultTable(
        "noise",
        "Noise from Lap(0, 7) on a sum of 14",
        ("noise", "noisy sum", "density as printed, %", "density, %"),
        tuple(rows),
        "What the lecture calls a probability is a density times 100.",
    )
    line = results.where(sensitivity=LOCAL).rows[0]
    other = results.where(sensitivity=GLOBAL).rows[0]
    rows = [
        (
            output,
            *(one["log ratio"][line["output"].index(output)] for one in (line, other)),
        )
        for output in (14, 60, 200)
    ]
    columns = ("output", "local sensitivity", "global sensitivity")
    yield ResultTable(
        "log-ratio",
        "How much an output tells about Gil, at ε = 1",
        columns,
        tuple(rows),
        "|log| of the ratio of the densities with and without the person who has 7.",
    )


def _example_pictures(results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 3)
    for axis, line in zip(axes[0], results, strict=False):
        for place, name in enumerate(("density", "without Gil")):
            style = look(place)
            axis.plot(
                line["output"], line[name], color=style.colour, linestyle=style.line,
                label="with Gil" if name == "density" else name,
            )  # fmt: skip
        axis.set_xlim(-30, 60)
        axis.set_xlabel("noisy sum")
        axis.set_ylabel("density")
        axis.set_title(line["sensitivity"], fontsize=10)
        legend(axis)
    last = axes[0, 2]
    for place, line in enumerate(results):
        style = look(place)
        last.plot(
            line["output"], line["log ratio"], color=style.colour, linestyle=style.line,
            label=line["sensitivity"],
        )  # fmt: skip
    last.axhline(1, color="grey", linewidth=0.8)
    last.set_xlabel("noisy sum")
    last.set_ylabel("|log ratio|; ε = 1 is promised")
    legend(last)
    yield Picture("densities", "Densities of the noisy sum, and what they tell", figure)


def _example_findings(results: Results) -> Iterator[StudyFinding]:
    local = max(results.where(sensitivity=LOCAL).rows[0]["log ratio"])
    whole = max(results.where(sensitivity=GLOBAL).rows[0]["log ratio"])
    yield StudyFinding(
        "b = 7/ε gives ε",
        f"log ratio up to {local:.0f} at an output of 200, and without end beyond",
        agrees=bool(local <= 1 + 1e-9),
        expected=False,
        why="7 is the local sensitivity: without the 7 the scale is 4, and the scale "
        f"shows. With the public bound {UPPER} it is {whole:.2f} at most.",
    )
    worst = max(
        abs(100 * float(laplace_density(n, 7)) - printed)
        for n, printed in NOISE.items()
    )
    yield StudyFinding(
        "densities of five noise values",
        f"the same to {worst:.3f} percentage points",
        agrees=worst < 0.02,
    )


def _utility_cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (
        (20, (0.1, 1.0)) if quick else (400, (0.01, 0.1, 0.693, 1.0986, 3.0))
    )
    uppers = (7, 10, 50)
    return [
        {"candidate": "as printed", "upper": None, "epsilon": e, "runs": runs}
        for e in epsilons
    ] + [
        {"candidate": f"ours, [0, {u}]", "upper": u, "epsilon": e, "runs": runs}
        for u in uppers
        for e in epsilons
    ]


def _utility(*, candidate: str, upper: int | None, epsilon: float, runs: int) -> Lines:
    ledger = ledger_for("s1", candidate, epsilon)
    lines: list[Mapping[str, Any]] = []
    for _ in range(runs):
        if upper is None:
            answer = published.local_sum(PROPERTIES, epsilon=epsilon, ledger=ledger)
        else:
            domain = Domain({"properties": Number(0, upper, integer=True)})
            people = People({"properties": np.array(PROPERTIES)}, domain, ledger)
            answer = float(stats.sum(people, "properties", epsilon=epsilon))
        lines.append({"answer": answer, "error": abs(answer - sum(PROPERTIES))})
    return lines


def _utility_pictures(results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 1, size=(5.5, 3.6))
    figures.curves(axes[0, 0], results, "epsilon", "error", "candidate")
    axes[0, 0].set_yscale("log")
    yield Picture("trade-off", "Error of the sum against ε", figure)


def _utility_findings(results: Results) -> Iterator[StudyFinding]:
    epsilon = max(results.unique("epsilon"))
    some = results.where(epsilon=epsilon)
    printed = some.where(candidate="as printed").mean("error")
    ours = some.where(candidate="ours, [0, 7]").mean("error")
    low = results.where(epsilon=min(results.unique("epsilon"))).mean("error")
    yield StudyFinding(
        "less budget, more privacy, less use",
        f"mean error {low:.3g} at the smallest ε and {some.mean('error'):.3g} at the "
        "largest",
        agrees=bool(low > some.mean("error")),
    )
    yield StudyFinding(
        "the scale of the example is 7/ε",
        f"with the same 7 as a public bound the error is {ours:.3g} (as printed "
        f"{printed:.3g}), and the promise is kept",
        agrees=None,
    )


EXPERIMENTS = (
    Experiment(
        name="s1-sum",
        title=mark("The sum of {4, 2, 7, 1}"),
        source="S1, the example of the Laplace mechanism",
        shows=mark(
            "A table of noise and densities for Lap(0, 7), from a local sensitivity."
        ),
        cells=_example_cells,
        measure=_example,
        repeats=(),
        tables=_example_tables,
        pictures=_example_pictures,
        findings=_example_findings,
    ),
    Experiment(
        name="s1-trade-off",
        title=mark("Privacy against use"),
        source="S1, the privacy limit ε",
        shows=mark(
            "A small ε protects more and answers worse; 0.01, 0.1, ln 2 and ln 3 are "
            "recommended."
        ),
        cells=_utility_cells,
        measure=_utility,
        repeats=(),
        pictures=_utility_pictures,
        findings=_utility_findings,
    ),
)
