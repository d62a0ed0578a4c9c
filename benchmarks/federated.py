"""How fast a simulation is, and how good learning across seven silos gets.

    python benchmarks/federated.py

Data: drawn from the correlations of table 4.1 of the thesis (balance on four other
columns), seven silos of 100 to 700 rows whose means differ. Errors are excess squared
error over least squares on the pooled rows, as a fraction of it; on a graph, of the
worst node. Every seed has data and noise of its own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from discreto.federated import (
    FederatedAveraging,
    FederatedTable,
    Federation,
    GraphLearning,
    ProximalPoint,
    Silo,
    simulate,
)
from discreto.models import LinearRegression
from discreto.table.table import Table
from discreto.testing import simulate as ledger_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
from silos import LINEAR, columns, parts

SEEDS = 20


def speed() -> None:
    several = parts(0, [400] * 7)
    for rounds, seeds in ((1000, 1), (1000, 10), (200, 50)):
        learner = FederatedAveraging(epsilon=1, rounds=rounds)
        simulate(learner, several, LINEAR, seeds=range(seeds))
        start, busy = time.perf_counter(), time.process_time()
        simulate(learner, several, LINEAR, seeds=range(seeds))
        wall, busy = time.perf_counter() - start, time.process_time() - busy
        count = 7 * rounds * seeds
        print(
            f"{rounds} rounds, {seeds:2} seeds: {count / wall:9,.0f} client-rounds/s "
            f"({count / busy:,.0f} per second of this process)"
        )


def errors(learner: object) -> list[float]:
    return [
        simulate(learner, parts(seed), LINEAR, seeds=[seed]).error
        for seed in range(SEEDS)
    ]


def one_shot(epsilon: float) -> list[float]:
    found = []
    for seed in range(SEEDS):
        several = parts(seed)
        silos = {
            f"{k}": Silo(Table(columns(p, LINEAR), LINEAR, ledger_of(f"{seed} {k}")))
            for k, p in enumerate(several)
        }
        model = LinearRegression(epsilon=epsilon, delta="1e-5")
        model.fit(FederatedTable(Federation(silos)), "balance")
        rows = np.vstack([np.column_stack([p[n] for n in LINEAR]) for p in several])
        rows = np.column_stack([np.ones(len(rows)), np.clip(rows, -4, 4)])
        x, y = rows[:, :-1], rows[:, -1]
        best = np.linalg.lstsq(x, y, rcond=None)[0]
        ours = np.append(model.intercept_, model.coef_)
        loss = [((x @ w - y) ** 2).mean() for w in (ours, best)]
        found.append(loss[0] / loss[1] - 1)
    return found


def quality() -> None:
    graph = {"graph": "seven"}
    methods = {
        "averaging": lambda e: FederatedAveraging(epsilon=e),
        "averaging, 20 rounds x 5 steps, samples of 1/10": lambda e: FederatedAveraging(
            epsilon=e, rounds=20, local_steps=5, sample_rate="1/10"
        ),
        "proximal": lambda e: ProximalPoint(epsilon=e),
        "graph, 1 mix": lambda e: GraphLearning(epsilon=e, mixes=1, **graph),
        "graph, 5 mixes": lambda e: GraphLearning(epsilon=e, **graph),
        "averaging, shared noise": lambda e: FederatedAveraging(
            epsilon=e, noise="shared"
        ),
    }
    levels = (None, 0.5, 1, 2, 5, 10)
    print(
        f"\n{'median of ' + str(SEEDS):50}", *(f"{e or 'exact'!s:>8}" for e in levels)
    )
    for name, make in methods.items():
        exact = "samples" in name
        line = [
            f"{np.median(errors(make(e))):8.5f}" if e or not exact else f"{'-':>8}"
            for e in levels
        ]
        print(f"{name:50}", *line, flush=True)
    line = [f"{np.median(one_shot(e)):8.4f}" for e in levels if e]
    print(f"{'one-shot moments, LinearRegression':50} {'-':>8}", *line)


if __name__ == "__main__":
    speed()
    quality()
