"""Inertia of private clusterings over the inertia without privacy.

Run ``python benchmarks/utility/kmeans.py [seeds]``. Features are scaled by the round
bounds below, which everybody gets; inertia is measured on the scaled rows. The peer is
diffprivlib 0.6.6 with the same bounds (see docs/models/kmeans.md).
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans as PlainKMeans

from discreto.models import FuzzyCMeans, KMeans
from discreto.testing import simulate

EPSILONS = (0.1, 0.5, 1, 3, 10)
BOUNDS = {
    "iris": ([4, 2, 1, 0], [8, 4.5, 7, 2.5]),
    "wine": (
        [11, 0.5, 1, 10, 70, 0.5, 0, 0, 0, 1, 0.4, 1, 200],
        [15, 6, 3.5, 30, 170, 4, 6, 0.7, 4, 13, 1.8, 4, 1700],
    ),
    "breast_cancer": (
        [
            *[5, 8, 40, 100, 0.05, 0, 0, 0, 0.1, 0.05],
            *[0] * 10,
            *[5, 10, 50, 150, 0.05, 0, 0, 0, 0.1, 0.05],
        ],
        [
            *[30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1],
            *[3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.1, 0.03],
            *[40, 50, 260, 4500, 0.25, 1.2, 1.4, 0.3, 0.7, 0.25],
        ],
    ),
    "digits": ([0] * 64, [16] * 64),
}
CLUSTERS = {"iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10}
# diffprivlib 0.6.6 KMeans on these rows and bounds, mean of 20 seeds.
PEER = {
    "iris": (7.78, 7.80, 5.78, 2.72, 1.46),
    "wine": (5.65, 5.00, 5.02, 2.90, 1.84),
    "breast_cancer": (12.83, 7.31, 4.40, 1.99, 1.57),
    "digits": (4.66, 2.96, 2.19, 1.83, 1.56),
}


def scaled(name: str) -> np.ndarray:
    """A data set of scikit-learn on [-1, 1]."""
    low, high = (np.array(end, float) for end in BOUNDS[name])
    values = getattr(datasets, f"load_{name}")().data
    return np.clip((values - low) / (high - low) * 2 - 1, -1, 1)


def rows(seeds: int) -> list[dict]:
    """One line for each data set, model and epsilon."""
    out = []
    for name, clusters in CLUSTERS.items():
        values = scaled(name)
        best = PlainKMeans(clusters, n_init=20, random_state=0).fit(values).inertia_
        for place, epsilon in enumerate(EPSILONS):
            ratios = [
                inertia(values, clusters, KMeans, epsilon, seed) / best
                for seed in range(seeds)
            ]
            out.append(_line(name, "KMeans", epsilon, ratios, PEER[name][place]))
    for name in ("iris", "wine", "breast_cancer"):
        values, clusters = scaled(name), CLUSTERS[name]
        best = fuzzy_best(values, clusters)
        for epsilon in EPSILONS:
            ratios = [
                inertia(values, clusters, FuzzyCMeans, epsilon, seed) / best
                for seed in range(seeds)
            ]
            out.append(_line(name, "FuzzyCMeans", epsilon, ratios, None))
    return out


def inertia(values, clusters, model, epsilon, seed) -> float:
    """The (fuzzy) inertia of one private fit."""
    fitted = model(
        clusters,
        epsilon=epsilon,
        bounds=(-1, 1),
        ledger=simulate(seed),
        random_state=seed,
    ).fit(values)
    return -fitted.score(values)


def fuzzy_best(values, clusters) -> float:
    """The lowest fuzzy inertia of a few non-private fits."""
    found = []
    for seed in range(5):
        plain = FuzzyCMeans(clusters, epsilon=1).reference()
        plain.max_iter, plain.random_state = 100, seed
        plain.fit(values)
        gaps = ((values[:, None] - plain.cluster_centers_[None]) ** 2).sum(axis=2)
        found.append(float((plain.memberships(values) ** plain.m * gaps).sum()))
    return min(found)


def _line(data, model, epsilon, ratios, peer) -> dict:
    return {
        "data": data,
        "model": model,
        "epsilon": epsilon,
        "mean": float(np.mean(ratios)),
        "spread": float(np.std(ratios)),
        "peer": peer,
    }


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| data | model | epsilon | inertia ratio (spread) | diffprivlib |")
    print("| --- | --- | --- | --- | --- |")
    for line in rows(count):
        peer = "-" if line["peer"] is None else f"{line['peer']:.2f}"
        print(
            f"| {line['data']} | {line['model']} | {line['epsilon']:g} | "
            f"{line['mean']:.2f} ({line['spread']:.2f}) | {peer} |"
        )
