"""What is made of the federated runs: figures 4.2 to 4.15, errors, and claims."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreto.lab.study.experiment import Picture, ResultTable, Spread, StudyFinding
from discreto.lab.study.figures import curves, legend_below, panels, rounds
from discreto.lab.study.results import Results

DELTA = 1e-5
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
AVERAGING, PROXIMAL = "averaging", "proximal point"
DEGREES, CONSTANT = "graph, degree weights", "graph, constant weights"
ROUNDS = {AVERAGING: 50, PROXIMAL: 30, DEGREES: 100, CONSTANT: 100}
FIGURES = {
    AVERAGING: ("4-2", "4-3"),
    PROXIMAL: ("4-4", "4-5"),
    DEGREES: ("4-12", "4-13"),
    CONSTANT: ("4-14", "4-15"),
}
CANDIDATES = ("non-private", "as printed", "as meant", "ours")
QUIET = "ours, no noise"
SHOWN = (0.35, 1.1)  # the range of errors in pictures; 1 is the error of zeros


def pictures(results: Results) -> Iterator[Picture]:
    """Every figure of error by round, and the last errors against ε."""
    for approach, (first, second) in FIGURES.items():
        mine = results.where(approach=approach)
        figure, axes = panels(1, 4, sharey=True, size=(3.0, 2.9))
        for axis, candidate in zip(axes.flat, CANDIDATES, strict=True):
            some = mine.where(candidate=candidate)
            if candidate != "non-private":
                some = some.where(epsilon=1.0)
            _by_round(axis, some, "candidate", candidate)
            if axis.get_legend():
                axis.get_legend().remove()
        yield Picture(f"figure-{first}", f"{approach}: error by round, ε = 1", figure)
        figure, axes = panels(1, 3, sharey=True, size=(3.6, 3.0))
        for axis, candidate in zip(axes.flat, CANDIDATES[1:], strict=True):
            _by_round(axis, mine.where(candidate=candidate), "epsilon", candidate)
        yield Picture(f"figure-{second}", f"{approach}: error by round and ε", figure)
    figure, axes = panels(2, 2, sharey=True, size=(4.2, 3.0))
    for axis, approach in zip(axes.flat, ROUNDS, strict=True):
        mine = results.where(approach=approach)
        name = "final error"
        order = (*CANDIDATES[1:], "non-private")
        curves(axis, mine, "epsilon", name, by="candidate", order=order, title=approach)
        axis.set_ylim(*SHOWN)
    legend_below(figure, axes)
    note = "The ε of what is printed is what it claims; the table has the true ones."
    yield Picture("final-errors", "Error after the last round against ε", figure, note)


def _by_round(axis: Any, results: Results, by: str, title: str) -> None:
    axis.set_title(title, fontsize=10)
    if results:
        rounds(axis, results, "error", by=by, log=False, first=0, title=title)
        axis.set_ylim(*SHOWN)


def tables(results: Results) -> Iterator[ResultTable]:
    """Last errors with their true ε."""
    rows = []
    groups = results.by("approach", "candidate", "epsilon")
    for (approach, candidate, epsilon), some in groups.items():
        cells = [
            Spread(some.mean(name), some.spread(name), some.count)
            for name in ("final error", "excess", "worst node")
        ]
        spent = some.rows[0]["true ε"]
        rows.append((approach, candidate, epsilon, spent, *cells))
    yield ResultTable(
        "errors",
        "Error after the last round",
        (
            "approach",
            "candidate",
            "ε",
            "true ε",
            "final error",
            "excess over least squares",
            "worst node",
        ),
        tuple(rows),
        f"δ = {DELTA:g}. The true ε of what is printed counts all steps, no sampling.",
    )


def findings(results: Results) -> Iterator[StudyFinding]:
    """The claims of sections 4.1 to 4.3."""
    for approach in ROUNDS:
        mine = results.where(approach=approach)
        free = mine.where(candidate="non-private").mean("final error")
        some = mine.where(epsilon=1.0)
        told = some.where(candidate="as meant") or some.where(candidate="as printed")
        ours = some.where(candidate="ours")
        if not told or not ours:
            continue
        seen = (
            f"at ε = 1: without noise {free:.3f}, as meant "
            f"{told.mean('final error'):.3f} (true ε {told.rows[0]['true ε']:.3g}), "
            f"ours {ours.mean('final error'):.3f} (true ε 1)"
        )
        yield StudyFinding(
            f"{approach}: with noise the error falls about as it does without",
            seen,
            agrees=bool(ours.mean("final error") < 1.25 * free),
            why="The printed noise is for one step; all steps together cost far more.",
        )
    quiet = results.where(candidate=QUIET).by("approach")
    seen = ", ".join(f"{a} {some.mean('excess'):.2g}" for (a,), some in quiet.items())
    yield StudyFinding(
        "(no claim of the source) ours without noise against least squares",
        f"excess error on the pooled rows: {seen}",
        agrees=None,
        why="The proximal point of creditors that differ is not that of all rows.",
    )
    if not results.quick:
        yield from _small_findings(results)


def _small_findings(results: Results) -> Iterator[StudyFinding]:
    """Two claims about small ε, at the smallest that was run."""
    least = min(e for e in results.unique("epsilon") if e is not None)
    some = results.where(epsilon=least)
    ends = {
        (a, c): group.mean("final error")
        for (a, c), group in some.by("approach", "candidate").items()
    }
    meant = ends[PROXIMAL, "as meant"] < ends[AVERAGING, "as meant"]
    ours = ends[PROXIMAL, "ours"] < ends[AVERAGING, "ours"]
    seen = "; ".join(
        f"{c}: {ends[PROXIMAL, c]:.3f} against {ends[AVERAGING, c]:.3f}"
        for c in ("as meant", "ours")
    )
    yield StudyFinding(
        "the proximal point stands smaller ε than averaging",
        f"final error at ε = {least:g}: {seen}",
        agrees=bool(meant and ours),
        expected=False,
        why=""
        if meant and ours
        else "The printed noises protect by very different "
        "amounts, so the source compares different privacy.",
    )
    meant = results.where(approach=CONSTANT, candidate="as meant")
    most = max(e for (e,) in meant.by("epsilon"))
    small, large = (
        meant.where(epsilon=e).values("error")[:, 10] for e in (least, most)
    )
    doubt = np.hypot(small.std(), large.std()) / math.sqrt(len(small))
    yield StudyFinding(
        "on the graph small ε sometimes learn faster in the first rounds",
        f"mean error after 10 rounds, as meant: {small.mean():.3f} at ε = {least:g}, "
        f"{large.mean():.3f} at ε = {most:g}; the difference is known to ± {doubt:.3f}",
        agrees=bool(small.mean() < large.mean() - 2 * doubt),
        expected=False,
        why="A single run may be lucky; in the mean over runs noise does not help.",
    )
