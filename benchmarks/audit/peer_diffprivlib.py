"""The same black box against diffprivlib, where it is installed.

    python benchmarks/audit/peer_diffprivlib.py --python OLD_ENVIRONMENT/bin/python

diffprivlib 0.6.6 needs scikit-learn 1.6 or older, so it lives in an environment of its
own (``pip install diffprivlib==0.6.6 scikit-learn==1.6.1`` and what discreto needs).
Every case claims epsilon 1 with public bounds. Neighbours: one record replaced,
the relation that its documentation uses, unless a case says otherwise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Case:
    """A call, two neighbouring inputs, and what it is about."""

    name: str
    run: Callable[[Any], Any]
    first: Any
    second: Any
    runs: int = 4_000
    bits: bool = False
    note: str = ""


def rows(*values: float) -> Any:
    return np.array(values, dtype=float)


def table(*values: Any) -> Any:
    return np.array(values, dtype=float)


def tools() -> list[Case]:
    from diffprivlib import mechanisms, tools

    ones = {"epsilon": 1, "bounds": (0, 1)}
    missing = rows(0.5, 0.5, np.nan)
    return [
        Case("tools.mean", lambda d: tools.mean(d, **ones), rows(0, 0, 0, 0, 0),
             rows(0, 0, 0, 0, 1), 20_000),
        Case("tools.median", lambda d: tools.median(d, **ones), rows(0, 1), rows(1, 1),
             20_000),
        Case("tools.quantile", lambda d: tools.quantile(d, 0.25, **ones),
             rows(0, 0, 1, 1), rows(0, 1, 1, 1), 20_000),
        Case("tools.histogram",
             lambda d: tools.histogram(d, epsilon=1, bins=2, range=(0, 1))[0],
             rows(0.1, 0.1, 0.9), rows(0.1, 0.9, 0.9), 10_000,
             note="noise for add-remove"),
        Case("tools.sum", lambda d: tools.sum(d, **ones), rows(0, 0, 0), rows(0, 0, 1),
             10_000),
        Case("tools.mean, one value missing", lambda d: tools.mean(d, **ones),
             rows(0.5, 0.5, 0.5), missing, 400),
        Case("tools.nanmean, most values missing", lambda d: tools.nanmean(d, **ones),
             rows(*[np.nan] * 19, 0.0), rows(*[np.nan] * 19, 1.0)),
        Case("mechanisms.Laplace, low bits",
             lambda d: mechanisms.Laplace(epsilon=1, sensitivity=1).randomise(d),
             0.0, 1.0, bits=True),
    ]  # fmt: skip


def learners() -> list[Case]:
    from diffprivlib import models

    def naive_bayes(low: float, high: float) -> Callable[[Any], Any]:
        def run(data: Any) -> Any:
            return models.GaussianNB(epsilon=1, bounds=(low, high)).fit(*data)

        return run

    def spread(low: float) -> tuple[Any, Any]:
        X = np.full((10, 1), low + 1.0)
        y = np.array([0] * 5 + [1] * 5)
        return (X, y), (X, np.array([0] * 4 + [1] * 6))

    def logistic(data: Any, **options: Any) -> Any:
        model = models.LogisticRegression(epsilon=1, data_norm=1.0, **options)
        return model.fit(*data)

    def linear(data: Any, **options: Any) -> Any:
        bounds = {"bounds_X": (0, 1), "bounds_y": (0, 1)}
        return models.LinearRegression(epsilon=1, **bounds, **options).fit(*data)

    def inertia(data: Any) -> Any:
        return models.KMeans(2, epsilon=1, bounds=(0, 1)).fit(data).inertia_

    def centres(data: Any) -> Any:
        model = models.KMeans(2, epsilon=1, bounds=(0, 1), random_state=None)
        return model.fit(data).cluster_centers_

    def forest(data: Any) -> Any:
        model = models.RandomForestClassifier(
            1, epsilon=1, bounds=(0, 1), classes=[0, 1], max_depth=1
        )
        return model.fit(*data).predict(table([0.5]))

    label = (table([1.0], [1.0]), np.array([0, 1]))
    flat, ramp = table([0.0], *[[0.5]] * 9), table([1.0], *[[0.5]] * 9)
    goal = np.linspace(0, 1, 10)
    groups = table([0.1], [0.1], [0.1], [0.1]), table([0.9], [0.1], [0.1], [0.1])
    return [
        Case("GaussianNB, bounds (0, 1)", naive_bayes(0, 1), *spread(0)),
        Case("GaussianNB, bounds (100, 101)", naive_bayes(100, 101), *spread(100)),
        Case("LinearRegression, with intercept", linear, (flat, goal), (ramp, goal),
             2_000),
        Case("LinearRegression, no intercept",
             lambda d: linear(d, fit_intercept=False),
             (table([0.0], [0.0]), rows(0, 1)), (table([0.0], [1.0]), rows(0, 1)),
             2_000),
        Case("LogisticRegression, no intercept",
             lambda d: logistic(d, fit_intercept=False),
             (table([1.0], [-1.0]), np.array([0, 1])),
             (table([1.0], [1.0]), np.array([0, 1])), 3_000),
        Case("LogisticRegression, with intercept", logistic, label,
             (table([1.0], [-1.0]), np.array([0, 1])), 3_000),
        Case("KMeans, centres", centres, *groups, 2_000),
        Case("KMeans, inertia_", inertia, *groups, 400),
        Case("RandomForestClassifier, one tree", forest,
             (table([0.5]), np.array([0])), (table([0.5]), np.array([1])),
             note="noise for add-remove"),
    ]  # fmt: skip


def main(words: list[str]) -> None:
    """Print what each case with one of the words in its name claims, and what shows."""
    import diffprivlib
    import sklearn

    from discreto.audit import epsilon

    warnings.simplefilter("ignore")
    print(f"diffprivlib {diffprivlib.__version__}, scikit-learn {sklearn.__version__}")
    print("| case | claimed | shown, 99.9 % | runs a side | verdict | note | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in [*tools(), *learners()]:
        if words and not any(word in case.name for word in words):
            continue
        start = time.process_time()
        found = epsilon(
            case.run,
            case.first,
            case.second,
            claimed=1,
            runs=case.runs,
            bits=case.bits,
            name=case.name,
        )
        used = time.process_time() - start
        print(
            f"| {case.name} | 1 | ≥ {found.shown:.2f} | {found.runs} | "
            f"{found.verdict} | {case.note} | {used:.0f} |",
            flush=True,
        )


def elsewhere(python: str, words: list[str]) -> int:
    """Run this file with another interpreter."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([python, __file__, *words], env=env, check=False).returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="an interpreter that has diffprivlib")
    parser.add_argument("words", nargs="*", help="cases that have one of these")
    given = parser.parse_args()
    if given.python:
        sys.exit(elsewhere(given.python, given.words))
    main(given.words)
