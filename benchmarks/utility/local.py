"""Accuracy of a classifier that is trained on locally perturbed rows.

    python benchmarks/utility/local.py [seeds]

The contest of the source: scikit-learn's naive Bayes after staircase (or Laplace) noise
on every row, against naive Bayes with noise on sums only, at the same epsilon. 70/30
split, one seed for the split and the noise, simulated noise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from naive_bayes import tables
from sklearn.naive_bayes import GaussianNB as PlainNB

from discreto.local import LocalLearner
from discreto.models import GaussianNB
from discreto.testing import simulate

EPSILONS = (1, 3, 10, 30, 100)
SETS = ("breast cancer", "pima")


def make(title: str, epsilon: float, domain: Any, seed: int) -> Any:
    """A candidate."""
    options = {"epsilon": epsilon, "domain": domain, "ledger": simulate(seed)}
    if title == "noise on sums":
        return GaussianNB(**options)
    return LocalLearner(PlainNB(), mechanism=title.split()[0], **options)


def rows(seeds: int = 20) -> list[dict[str, Any]]:
    """One dict for each set, candidate and epsilon."""
    return list(each(seeds))


def each(seeds: int) -> Iterator[dict[str, Any]]:
    """The rows, as they come."""
    for name, (X, y, domain) in tables():
        if name not in SETS:
            continue
        for title in ("staircase rows", "laplace rows", "noise on sums"):
            for epsilon in EPSILONS:
                got = []
                for seed in range(seeds):
                    order = np.random.default_rng(seed).permutation(len(y))
                    train, test = np.split(order, [int(0.7 * len(y))])
                    model = make(title, epsilon, domain, seed)
                    model.fit(X.iloc[train], y[train])
                    got.append(np.mean(model.predict(X.iloc[test]) == y[test]))
                yield {
                    "data": name,
                    "model": title,
                    "epsilon": epsilon,
                    "mean": float(np.mean(got)),
                    "spread": float(np.std(got)),
                    "peer": None,
                }


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for row in each(seeds):
        print(
            f"{row['data']:<20} {row['model']:<16} {row['epsilon']:>5g}"
            f"  {row['mean']:.3f} ({row['spread']:.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
