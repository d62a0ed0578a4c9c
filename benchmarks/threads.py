"""Fits as users run them, with the threads that BLAS takes by itself, and with one.

    python benchmarks/threads.py [--rows 500000]

Every other benchmark of speed gives all libraries one thread. Here each model is fitted
in two processes, one of them with the defaults of the machine: seconds by the clock and
of the processors. Defaults must not be slower.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

COLUMNS, CLUSTERS = 20, 8
NAMES = ("logistic", "linear", "naive Bayes", "k-means", "fuzzy c-means", "boosting")
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def fits(rows: int) -> dict[str, Callable[[], Any]]:
    """A fit of each model on a table in memory."""
    import discreto as dp
    from discreto import models
    from discreto.testing import simulate

    coins = np.random.default_rng(0)
    x = np.clip(coins.normal(size=(rows, COLUMNS)), -5, 5)
    score = x @ coins.normal(size=COLUMNS)
    y = (score + coins.normal(size=rows) > 0).astype(int)
    names = [f"x{i}" for i in range(COLUMNS)]
    columns: dict[str, Any] = {n: dp.Number(-5, 5, missing=False) for n in names}
    data = dict(zip(names, x.T, strict=True))
    data |= {"y": y, "t": np.clip(score / 5, -5, 5)}
    label = dp.Category([0, 1], missing=False)
    start = np.clip(coins.normal(size=(CLUSTERS, COLUMNS)), -5, 5)

    def table(**target: Any) -> dp.Table:
        domain = dp.Domain(columns | target, target=next(iter(target), None))
        return dp.Table(data, domain, simulate(0))

    classes, points = table(y=label), table()
    numbers = table(t=dp.Number(-5, 5, missing=False))
    made: list[tuple[Any, dp.Table]] = [
        (models.LogisticRegression(epsilon=1), classes),
        (models.LinearRegression(epsilon=1), numbers),
        (models.NaiveBayes(epsilon=1), classes),
        (models.KMeans(CLUSTERS, epsilon=1, max_iter=10, init=start), points),
        (models.FuzzyCMeans(CLUSTERS, epsilon=1, max_iter=5, init=start), points),
        (models.GradientBoostingClassifier(epsilon=1), classes),
    ]
    return {
        name: (lambda model=model, rows=rows: model.fit(rows))
        for name, (model, rows) in zip(NAMES, made, strict=True)
    }


def measure(rows: int) -> dict[str, tuple[float, float]]:
    """Seconds by the clock and of the processors: the better of two, loops compiled."""
    found = {}
    for name, fit in fits(rows).items():
        fit()
        tries = []
        for _ in range(2):
            clock, processors = time.perf_counter(), time.process_time()
            fit()
            tries.append(
                (time.perf_counter() - clock, time.process_time() - processors)
            )
        found[name] = min(tries)
    return found


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--here", action="store_true", help="measure in this process")
    asked = parser.parse_args()
    if asked.here:
        print(json.dumps(measure(asked.rows)))
        return
    plain = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    words = [sys.executable, __file__, "--here", "--rows", str(asked.rows)]
    both = []
    for environment in (plain, plain | dict.fromkeys(VARIABLES, "1")):
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=True
        )
        both.append(json.loads(done.stdout))
    print(f"{asked.rows} rows of {COLUMNS}, seconds (of the processors)")
    for name in NAMES:
        ours, one = (found[name] for found in both)
        print(
            f"{name:14} as it comes {ours[0]:6.2f} ({ours[1]:6.2f})   "
            f"one thread {one[0]:6.2f} ({one[1]:6.2f})   ratio {ours[0] / one[0]:.2f}"
        )


if __name__ == "__main__":
    main()
