"""Accuracy of the three private neighbour classifiers on public data.

    python benchmarks/utility/neighbors.py [seeds]

70/30 split, one seed for the split, the cuts and the noise, simulated noise. Epsilon is
what the *whole test set* costs: cells are measured once, votes are paid for every
point. The last rows are the setting of the source (noise of scale 1 / epsilon on every
vote), at what it really costs: 2 m epsilon for m points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from naive_bayes import EPSILONS, tables

from discreto.models import (
    CellNeighborsClassifier,
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)
from discreto.testing import simulate

# The best of diffprivlib 0.6.6 (naive Bayes, logistic regression, forest) at EPSILONS,
# mean of 20 seeds; its own splits and bounds.
PEER = {
    "iris": (0.444, 0.761, 0.812, 0.864, 0.870),
    "wine": (0.425, 0.597, 0.696, 0.746, 0.806),
    "breast cancer": (0.750, 0.816, 0.828, 0.895, 0.932),
    "pima": (0.652, 0.660, 0.657, 0.737, 0.760),
    "digits": (0.154, 0.375, 0.440, 0.500, 0.546),
    "adult, 5 numbers": (0.780, 0.799, 0.804, 0.805, 0.805),
}
LARGE = 2000  # rows from which votes for a whole test set take too long here


def accuracy(data: Any, seed: int, make: Callable[..., Any]) -> float:
    """Accuracy on 30 % of the rows after a fit on the others."""
    X, y, domain = data
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    model = make(len(test), seed, domain=domain, ledger=simulate(seed))
    model.fit(X.iloc[train], y[train])
    return float((model.predict(X.iloc[test]) == y[test]).mean())


def cells(epsilon: float) -> Callable[..., Any]:
    return lambda points, seed, **options: CellNeighborsClassifier(
        epsilon=epsilon, random_state=seed, **options
    )


def votes(kind: Any, epsilon: float) -> Callable[..., Any]:
    return lambda points, seed, **options: kind(epsilon=epsilon, **options)


def source(epsilon: float) -> Callable[..., Any]:
    return lambda points, seed, **options: KNeighborsClassifier(
        15, epsilon=2 * points * epsilon, **options
    )


def rows(seeds: int = 20) -> list[dict[str, Any]]:
    """One dict for each set, model and epsilon."""
    return list(each(seeds))


def each(seeds: int) -> Iterator[dict[str, Any]]:
    """The rows, as they come."""
    for name, data in tables():
        if "log" in name:
            continue
        small = len(data[1]) < LARGE
        contests: list[tuple[str, Any, Any]] = []
        for epsilon in EPSILONS:
            contests.append(("CellNeighbors", epsilon, cells(epsilon)))
            if small:
                for kind in (KNeighborsClassifier, RadiusNeighborsClassifier):
                    title = kind.__name__.removesuffix("Classifier")
                    contests.append((title, epsilon, votes(kind, epsilon)))
        if small:
            real = 2 * (len(data[1]) - int(0.7 * len(data[1])))
            for epsilon in (0.5, 1, 3):
                title = f"source: epsilon {epsilon} a vote"
                contests.append((title, real * epsilon, source(epsilon)))
        for title, epsilon, make in contests:
            got = [accuracy(data, seed, make) for seed in range(seeds)]
            peers = PEER.get(name, ()) if title == "CellNeighbors" else ()
            yield {
                "data": name,
                "model": title,
                "epsilon": epsilon,
                "mean": float(np.mean(got)),
                "spread": float(np.std(got)),
                "peer": peers[EPSILONS.index(epsilon)] if peers else None,
            }


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for row in each(seeds):
        peer = "" if row["peer"] is None else f"{row['peer']:.3f}"
        print(
            f"{row['data']:<28} {row['model']:<28} {row['epsilon']:>7g}"
            f"  {row['mean']:.3f} ({row['spread']:.3f})  {peer}",
            flush=True,
        )


if __name__ == "__main__":
    main()
