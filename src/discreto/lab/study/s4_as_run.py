"""S4 as it was run: the slides print code that calls diffprivlib.

The library has no place in this environment (it wants an older scikit-learn), so a
Python of its own runs it: ``DISCRETO_DIFFPRIVLIB`` names one, made by ::

    python -m venv peers
    peers/bin/pip install "diffprivlib==0.6.6" "scikit-learn<1.6"
    export DISCRETO_DIFFPRIVLIB=peers/bin/python

Without it these cells are skipped. Calls are those of the slides: no bounds are given,
so diffprivlib reads them from the data (and warns that this leaks).
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreto.compare.seeds import ledger_for, seed_for
from discreto.errors import MissingExtraError
from discreto.lab.study import figures, s4_pima
from discreto.lab.study.arrays import points
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.lab.study.s4_pima import EPSILONS, OURS, PLAIN, STAIRS, TIE
from discreto.lab.study.scores import score_table
from discreto.text.language import mark

AS_RUN, VERSION = "private, as run", "0.6.6"
BAYES, LINEAR, KMEANS = "naive Bayes", "linear regression", "k-means"
FITS = {BAYES: s4_pima._bayes, LINEAR: s4_pima._linear}
HOW = (
    f"diffprivlib {VERSION} is not here: name a Python that has it with "
    "DISCRETO_DIFFPRIVLIB (the docstring of discreto.lab.study.s4_as_run says how)."
)


@functools.lru_cache(maxsize=1)
def interpreter() -> str:
    """The Python that has diffprivlib, or a MissingExtraError that says what to do."""
    python = os.environ.get("DISCRETO_DIFFPRIVLIB", "")
    if not python:
        raise MissingExtraError(HOW)
    try:
        version = _ask(python, {"hello": True})
    except (OSError, subprocess.SubprocessError, ValueError):
        raise MissingExtraError(HOW) from None
    if version != VERSION:
        raise MissingExtraError(f"{HOW} It has {version}.")
    return python


def _ask(python: str, question: Mapping[str, Any]) -> Any:
    script = Path(__file__).with_name("diffprivlib_script.py")
    done = subprocess.run(  # noqa: S603 - no shell; the user named this program
        [python, "-I", str(script)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return json.loads(done.stdout)


def _cells(quick: bool) -> list[dict[str, Any]]:
    runs, epsilons = (3, (0.1, 10.0, 100.0)) if quick else (20, EPSILONS)
    out = []
    for model in FITS:
        same = {"model": model, "runs": runs}
        out += [same | {"candidate": PLAIN, "epsilon": None}]
        for who in (STAIRS, AS_RUN, OURS):
            out += [same | {"candidate": who, "epsilon": e} for e in epsilons]
    clusters = {"model": KMEANS, "candidate": AS_RUN, "epsilon": 1.0}
    return [*out, clusters | {"runs": 5 if quick else 50}]


def _measure(*, model: str, candidate: str, epsilon: Any, runs: int) -> Lines:
    if model == KMEANS:
        return _clusters(epsilon, runs)
    if candidate != AS_RUN:
        fit = FITS[model]
        return s4_pima._measure(fit, candidate=candidate, epsilon=epsilon, runs=runs)
    splits = [points("pima").split("s4", run) for run in range(runs)]
    tables = [
        {"X": X.tolist(), "y": y.tolist(), "tests": tests.tolist()}
        for X, y, tests, _ in splits
    ]
    lines: list[Mapping[str, Any]] = []
    answers = _fit(model, epsilon, tables)
    for (*_, truth), found in zip(splits, answers, strict=True):
        guess = np.asarray(found)
        if model == LINEAR:
            guess = guess >= 0.5
        lines.append({"accuracy": float(np.mean(guess.astype(int) == truth))})
    return lines


def _fit(model: str, epsilon: float, tables: list[dict[str, Any]]) -> Any:
    ledger_for("s4-as-run")  # a simulation: nothing of this is anybody's promise
    seeds = [
        seed_for("s4-as-run", model, epsilon, i) % 2**31 for i in range(len(tables))
    ]
    question = {"model": model, "epsilon": epsilon, "seeds": seeds, "tables": tables}
    return _ask(interpreter(), question)


def _clusters(epsilon: float, runs: int) -> Lines:
    from sklearn.metrics import adjusted_rand_score

    data = points("iris")
    answers = _fit(KMEANS, epsilon, [{"X": data.X.tolist()}] * runs)
    return [
        {
            "agreement": float(adjusted_rand_score(data.y, found["labels"])),
            "centres": np.asarray(found["centres"]).ravel(),
        }
        for found in answers
    ]


def _tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "accuracy",
        "agreement",
        groups=("model", "candidate", "epsilon"),
        title=f"S4 with diffprivlib {VERSION}, as its slides call it",
        note="Always saying no is right in 65 % of cases.",
    )


def _pictures(results: Results) -> Iterator[Picture]:
    figure, axes = figures.panels(1, 2, size=(5.0, 3.6), sharey=True)
    for axis, model in zip(axes[0], FITS, strict=True):
        figures.curves(
            axis,
            results.where(model=model),
            "epsilon",
            "accuracy",
            "candidate",
            order=(PLAIN, STAIRS, AS_RUN, OURS),
            title=model,
        )
    figures.legend_below(figure, axes)
    note = (
        f"As run: diffprivlib {VERSION}; bands are one standard deviation of 20 runs."
    )
    yield Picture("accuracy", "S4's figures with diffprivlib, as run", figure, note)


def _findings(results: Results) -> Iterator[StudyFinding]:
    for model, name in ((BAYES, "GNB"), (LINEAR, "LR")):
        some = results.where(model=model)
        if not some.where(candidate=AS_RUN):
            continue
        yield s4_pima.plain_finding(some, f"{name} (as run)", (STAIRS, AS_RUN))
        yield from (_bayes_findings if model == BAYES else _linear_findings)(some)
    found = results.where(model=KMEANS).having("agreement")
    if found:
        yield StudyFinding(
            "k-means on iris runs at ε = 1 and prints centres and labels (as run)",
            f"agreement with the species {found.mean('agreement'):.2f} "
            f"± {found.spread('agreement'):.2f}",
            agrees=None,
            why="its bounds are read from the rows, and its labels are exact",
        )


def _bayes_findings(some: Results) -> Iterator[StudyFinding]:
    wins, of = s4_pima.always_better(some, AS_RUN, STAIRS)
    yield StudyFinding(
        "DP-GNB is always more accurate than staircase + GNB (as run)",
        f"at {wins} of {of} values of ε",
        agrees=wins == of,
    )
    yield s4_pima.worth_finding(some, AS_RUN, "as run")


def _linear_findings(some: Results) -> Iterator[StudyFinding]:
    spread = some.where(candidate=AS_RUN).spread("accuracy")
    yield StudyFinding(
        "the accuracy of DP-LR varies a lot (as run)",
        f"spread over runs and ε {spread:.3f}",
        agrees=bool(spread > 0.05),
    )
    low = s4_pima.at(some, AS_RUN, 0.1, 10)
    yield StudyFinding(
        "DP-LR is close to chance for ε from 0.1 to 10 (as run)",
        f"mean accuracy {low:.3f}; always saying no gives 0.65",
        agrees=bool(low < 0.67),
    )
    stairs, private = (s4_pima.at(some, who, 10, 30) for who in (STAIRS, AS_RUN))
    near = some.where(candidate=AS_RUN).margin(TIE, 180)
    yield StudyFinding(
        "staircase + LR is more accurate than DP-LR for ε from 10 to 30 (as run)",
        f"{stairs:.3f} against {private:.3f}",
        agrees=bool(stairs > private - near),
    )


EXPERIMENTS = (
    Experiment(
        name="s4-as-run",
        title=mark("S4 with diffprivlib, as its slides call it"),
        source="S4, GNB, LR and k-means with DiffprivLib",
        shows=mark(
            "Accuracy on Pima for ε from 0.1 to 100, 20 runs, and k-means on iris. "
            "Needs a Python with diffprivlib 0.6.6."
        ),
        cells=_cells,
        measure=_measure,
        repeats=(),
        weight=lambda cell: 4.0 if cell["candidate"] == AS_RUN else 0.5,
        tables=_tables,
        pictures=_pictures,
        findings=_findings,
    ),
)
