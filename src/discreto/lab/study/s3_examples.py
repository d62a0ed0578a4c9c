"""S3, chapter 2 by hand: figure 2.1, example 2.5 (a median), remark 2.1 (a density)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from discreto import stats
from discreto.compare.seeds import generator_for, ledger_for
from discreto.core.domain.domain import Domain, Number
from discreto.lab import published
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
from discreto.plots.style import legend, look
from discreto.table.table import Table as People
from discreto.text.language import mark

SCALES = (1.0, 2.0, 4.0)
TOP = 1_000_000  # example 2.5: values from 0 to a million


# Figure 2.1 and remark 2.1


def _density_cells(quick: bool) -> list[dict[str, Any]]:
    return [{"scale": scale} for scale in SCALES]


def _density(*, scale: float) -> dict[str, Any]:
    """Laplace's density, and the exponential mechanism's with the remark's utility.

    The remark has q = -2|f(D) - o|, and ε q / 2Δf as the exponent. A step of Δf moves
    this q by 2Δf, so (2.3), which divides by 2Δq, has half of that exponent.
    """
    places = np.linspace(-60, 60, 24001)
    laplace = laplace_density(places, scale)
    as_written, by_rule = (
        _normed(np.exp(-2 * np.abs(places) / (factor * scale)), places)
        for factor in (2, 4)
    )
    shown = np.abs(places) <= 10
    return {
        "place": places[shown][::20],
        "density": laplace[shown][::20],
        "exponent as written": _apart(as_written, laplace, places),
        "exponent of (2.3)": _apart(by_rule, laplace, places),
    }


def _normed(weights: Any, places: Any) -> Any:
    return weights / trapezoid(weights, places)


def _apart(one: Any, other: Any, places: Any) -> float:
    """The total variation distance: the most by which a probability differs."""
    return float(trapezoid(np.abs(one - other), places) / 2)


def _density_pictures(results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 1, size=(5.0, 3.4))
    for place, line in enumerate(results):
        style = look(place)
        axes[0, 0].plot(
            line["place"],
            line["density"],
            color=style.colour,
            linestyle=style.line,
            label=f"b = {line['scale']:g}",
        )
    axes[0, 0].set_xlabel("x")
    axes[0, 0].set_ylabel("density")
    legend(axes[0, 0])
    yield Picture("figure-2-1", "Laplace densities Lap(0, b)", figure)


def _density_findings(results: Results) -> Iterator[StudyFinding]:
    written = max(results.values("exponent as written"))
    ruled = max(results.values("exponent of (2.3)"))
    yield StudyFinding(
        "Laplace noise is an exponential mechanism with the utility -2|f(D) - o|",
        f"with the exponent that is written probabilities differ by {written:.0e}",
        agrees=bool(written < 1e-3),
    )
    yield StudyFinding(
        "and that exponent is (2.3)'s for this utility",
        f"with Δq = 2Δf, as this utility has, probabilities differ by {ruled:.2f}",
        agrees=bool(ruled < 1e-3),
        expected=False,
        why="(2.3) then has scale 2Δf/ε: its factor of 2 is for scores that can move "
        "both ways, and Laplace noise does not need it",
    )


# Example 2.5


def local_change(rows: int) -> float:
    """How far one changed value moves the median of 0s and 1,000,000s, at most.

    >>> local_change(1000), local_change(1001)
    (500000.0, 1000000.0)
    """
    most = 0.0
    for ones in range(rows // 2 - 2, rows // 2 + 3):
        values = np.repeat([0.0, TOP], [rows - ones, ones])
        for changed in (0.0, TOP):
            for place in (0, -1):
                other = values.copy()
                other[place] = changed
                most = max(most, abs(float(np.median(other) - np.median(values))))
    return most


def _median_cells(quick: bool) -> list[dict[str, Any]]:
    runs = 5 if quick else 100
    names = ("Laplace on the median", "as printed", "ours")
    return [{"candidate": name, "epsilon": 1.0, "runs": runs} for name in names]


def _median(*, candidate: str, epsilon: float, runs: int) -> Lines:
    """The median of a thousand incomes, by all three ways."""
    rng = generator_for("s3-example-2.5")
    values = np.clip(np.round(rng.lognormal(10.5, 0.6, 1000)), 0, TOP)
    truth = float(np.median(values))
    lines: list[Mapping[str, Any]] = []
    for run in range(runs):
        ledger = ledger_for("s3-example-2.5", candidate, run)
        if candidate == "ours":
            public = Domain({"x": Number(0, TOP, integer=True)})
            people = People({"x": values}, public, ledger)
            found = float(stats.median(people, "x", epsilon=epsilon))
        elif candidate == "as printed":
            options = np.arange(TOP + 1)
            found = published.median(values, options, epsilon=epsilon, ledger=ledger)
        else:
            noise = generator_for("s3-example-2.5", run)
            found = truth + float(noise.laplace(scale=TOP / epsilon))
        lines.append({"median": found, "error": abs(found - truth)})
    return lines


def _median_tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "median",
        "error",
        title="The median of 1,000 incomes from 0 to 1,000,000",
        note="Laplace noise is for a sensitivity of 1,000,000.",
    )


def _median_findings(results: Results) -> Iterator[StudyFinding]:
    even, odd = local_change(1000), local_change(1001)
    yield StudyFinding(
        "one value can move the median of values from 0 to 1,000,000 by 500,000",
        f"{even:.0f} with an even number of rows, {odd:.0f} with an odd one",
        agrees=bool(even == TOP / 2 and odd >= even),
        why="the example's bound is a lower one; the sensitivity is the whole range",
    )
    errors = {c: g.mean("error") for (c,), g in results.by("candidate").items()}
    noise, printed = errors["Laplace on the median"], errors["as printed"]
    yield StudyFinding(
        "so Laplace noise is of no use for a median, and the exponential mechanism is",
        ", ".join(f"{who} {value:.3g}" for who, value in errors.items())
        + " (mean error at ε = 1)",
        agrees=bool(noise > 20 * printed),
    )


EXPERIMENTS = (
    Experiment(
        name="s3-figure-2.1",
        title=mark("Laplace densities, and the exponential mechanism"),
        source="S3, figure 2.1 and remark 2.1",
        shows=mark(
            "The density of Laplace noise, a case of the exponential mechanism."
        ),
        cells=_density_cells,
        measure=_density,
        repeats=(),
        pictures=_density_pictures,
        findings=_density_findings,
    ),
    Experiment(
        name="s3-example-2.5",
        title=mark("The sensitivity of a median"),
        source="S3, examples 2.5 and 2.7",
        shows=mark(
            "One value can move a median by half of the range, so it takes another "
            "mechanism."
        ),
        cells=_median_cells,
        measure=_median,
        repeats=(),
        tables=_median_tables,
        findings=_median_findings,
    ),
)
