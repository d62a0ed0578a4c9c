"""Silos without a coordinator against silos with one, at the same epsilon.

    python benchmarks/peers.py errors     medians of 20 data sets, by simulation
    python benchmarks/peers.py processes  seven processes, error by round

Peers do what a simulation of ``GraphLearning`` does, number by number (the tests say
so), so errors are taken from simulations, with data as in benchmarks/federated.py. The
second part starts real processes over HTTPS on loopback, once undisturbed and once with
a node that is killed and comes back and a link that is cut.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from discreto.federated import FederatedAveraging, GraphLearning, simulate

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS / "unit"), str(TESTS / "integration")]
SEEDS = 20
ROUNDS = (5, 10, 20, 30, 50)


def errors() -> None:
    from silos import LINEAR, parts

    graph = {"graph": "seven"}
    methods = {
        "coordinator, averaging": lambda e: FederatedAveraging(epsilon=e),
        "peers, metropolis": lambda e: GraphLearning(epsilon=e, **graph),
        "peers, constant": lambda e: GraphLearning(
            epsilon=e, **graph, mixing="constant"
        ),
        "peers, optimal": lambda e: GraphLearning(epsilon=e, **graph, mixing="optimal"),
    }
    for epsilon in (0.5, 1, 2, 5):
        base = 0.0
        for name, make in methods.items():
            runs = [
                simulate(make(epsilon), parts(s), LINEAR, seeds=[s])
                for s in range(SEEDS)
            ]
            excess = float(np.median([run.error for run in runs]))
            base = base or excess
            curve = np.median([run.curve for run in runs], axis=0)
            steps = " ".join(f"{curve[k - 1]:.4f}" for k in ROUNDS)
            print(
                f"ε {epsilon:<4} {name:24} excess {excess:.5f} "
                f"({excess / base:.2f} of the coordinator's; error "
                f"{(1 + excess) / (1 + base):.4f}); by round {steps}",
                flush=True,
            )


def processes() -> None:
    import test_peer_processes as tested

    tested.EPSILON, tested.ROUNDS = 1, 50
    for disturbed in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            nodes = tested.whole_run(Path(folder), disturbed=disturbed)
            models = [node.ended() for node in nodes.values()]
        worst = [max(tested.loss(m, k - 1) for m in models) for k in ROUNDS]
        print(
            "killed and cut" if disturbed else "undisturbed   ",
            " ".join(f"{one:.4f}" for one in worst),
            flush=True,
        )


if __name__ == "__main__":
    for part in (errors, processes):
        if part.__name__ in (sys.argv[1:] or part.__name__):
            part()
