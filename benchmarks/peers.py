"""Silos without a coordinator against silos with one, at the same epsilon.

    python benchmarks/peers.py errors     means of 200 data sets, by simulation
    python benchmarks/peers.py processes  seven processes, error by round

Peers do what a simulation of ``GraphLearning`` does, number by number (the tests say
so), so errors are taken from simulations, with data as in benchmarks/federated.py. The
second part starts real processes over HTTPS on loopback at epsilon 1, RUNS times
undisturbed and once with a node that is killed and comes back and a link that is cut,
beside 200 simulated runs of the same peers and of a coordinator who averages the same
rows.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from discreto.federated import FederatedAveraging, GraphLearning, simulate

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS / "unit"), str(TESTS / "integration")]
SEEDS, RUNS = 200, 6
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
        base = np.empty(0)
        for name, make in methods.items():
            runs = [
                simulate(make(epsilon), parts(s), LINEAR, seeds=[s])
                for s in range(SEEDS)
            ]
            excess = np.array([run.error for run in runs])
            base = base if len(base) else excess
            curve = np.mean([run.curve for run in runs], axis=0)
            steps = " ".join(f"{curve[k - 1]:.4f}" for k in ROUNDS)
            low, high = interval(excess, base)
            print(
                f"ε {epsilon:<4} {name:24} excess {excess.mean():.5f} "
                f"({excess.mean() / base.mean():.3f} of the coordinator's, 95 % "
                f"{low:.3f} to {high:.3f}; error "
                f"{(1 + excess.mean()) / (1 + base.mean()):.4f}); by round {steps}",
                flush=True,
            )


def interval(excess: np.ndarray, base: np.ndarray) -> tuple[float, float]:
    """Where the ratio of two means over the same data sets lies, by bootstrap."""
    picks = np.random.default_rng(0).integers(0, len(base), (2000, len(base)))
    found = [excess[pick].mean() / base[pick].mean() for pick in picks]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def processes() -> None:
    import test_peer_processes as tested

    tested.EPSILON, tested.ROUNDS = 1, 50
    rows = [tested.rows_of(k) for k in range(7)]

    def simulated(name: str, learner: object) -> np.ndarray:
        runs = simulate(learner, rows, tested.DOMAIN, seeds=range(SEEDS))
        paths = [model.path_ for model in runs.models]
        found = np.array([[worst(path[k - 1]) for k in ROUNDS] for path in paths])
        show(name, found.mean(axis=0))
        return found[:, -1]

    def worst(nodes: np.ndarray) -> float:
        return max(tested.excess(weights) for weights in nodes)

    peers = GraphLearning(epsilon=1, rounds=50, graph="seven", mixes=2)
    base = simulated("coordinator", FederatedAveraging(epsilon=1, rounds=50))
    drawn = simulated("simulated", peers)
    ends = []
    for disturbed in (*[False] * RUNS, True):
        with tempfile.TemporaryDirectory() as folder:
            nodes = tested.whole_run(Path(folder), disturbed=disturbed)
            models = [node.ended() for node in nodes.values()]
        path = np.concatenate([model.path_ for model in models], axis=1)
        curve = np.array([worst(path[k - 1]) for k in ROUNDS])
        show("killed and cut" if disturbed else "undisturbed", curve)
        ends += [] if disturbed else [curve[-1]]
    print(
        f"excess: {RUNS} runs {np.mean(ends):.5f} ({min(ends):.5f} to "
        f"{max(ends):.5f}), simulated {drawn.mean():.5f} (sd {drawn.std():.5f}), "
        f"coordinator {base.mean():.5f}; error "
        f"{(1 + np.mean(ends)) / (1 + base.mean()):.4f} of the coordinator's",
        flush=True,
    )


def show(name: str, curve: np.ndarray) -> None:
    print(f"{name:14}", " ".join(f"{one:.4f}" for one in curve), flush=True)


if __name__ == "__main__":
    for part in (errors, processes):
        if part.__name__ in (sys.argv[1:] or part.__name__):
            part()
