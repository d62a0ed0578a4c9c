"""Accuracy of private logistic regression against diffprivlib 0.6.6.

    python benchmarks/utility/logistic.py [seeds]

70/30 split, one seed for the split and the noise, simulated noise. Sets that
scikit-learn does not carry are read from the folder in DISCRETO_DATA (default:
``../shared/data`` beside the repository), if it is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

import discreto as dp
from discreto.models import LogisticRegression
from discreto.testing import simulate

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("DISCRETO_DATA", ROOT.parent / "shared" / "data"))
EPSILONS = (0.1, 0.5, 1, 3, 10)
# Round bounds, written down once; nothing below reads them from the data.
BOUNDS = {
    "iris": ([4, 2, 1, 0], [8, 5, 7, 3]),
    "wine": (
        [11, 0, 1, 10, 70, 0, 0, 0, 0, 0, 0, 1, 200],
        [15, 6, 4, 30, 170, 4, 6, 1, 4, 15, 2, 4, 1800],
    ),
    "breast cancer": (
        [0] * 30,
        [
            *[30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1],
            *[3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03],
            *[40, 50, 260, 4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25],
        ],
    ),
    "digits": ([0] * 64, [16] * 64),
}
LOADERS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
# diffprivlib 0.6.6 LogisticRegression(C=1), mean of 20 seeds at EPSILONS.
PEER = {
    "iris": (0.362, 0.397, 0.450, 0.538, 0.839),
    "wine": (0.331, 0.327, 0.330, 0.386, 0.806),
    "breast cancer": (0.592, 0.668, 0.701, 0.895, 0.932),
    "pima": (0.513, 0.614, 0.629, 0.737, 0.760),
    "digits": (0.113, 0.113, 0.111, 0.124, 0.174),
    "adult, 5 numbers": (0.780, 0.799, 0.804, 0.805, 0.805),
}
ADULT = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
Data = tuple[Any, Any, tuple[Any, Any]]


def stored(name: str, rows: int | None = None) -> Data:
    """The Number columns of a set of the data folder."""
    import pandas as pd

    frame = pd.read_parquet(DATA / f"{name}.parquet").iloc[:rows]
    domain = dp.Domain.load(DATA / f"{name}.domain.json")
    if name == "adult":
        frame = frame[~(frame == "?").any(axis=1)]
        names = ADULT
    else:
        kinds = domain.columns
        names = [n for n in domain.features() if isinstance(kinds[n], dp.Number)]
    numbers = [domain.number(n) for n in names]
    ends = ([n.lower for n in numbers], [n.upper for n in numbers])
    y = frame[domain.target].to_numpy()
    return frame[names].to_numpy(float), np.unique(y, return_inverse=True)[1], ends


def tables() -> Iterator[tuple[str, Data]]:
    """Every set that can be had here."""
    for name, load in LOADERS.items():
        X, y = load(return_X_y=True)
        yield name, (X, y, BOUNDS[name])
    if not DATA.is_dir():
        print("no data folder: set DISCRETO_DATA for pima, adult and brfss")
        return
    yield "pima", stored("pima")
    yield "adult, 5 numbers", stored("adult", 32_561)
    yield "brfss 2015, first 40,000", stored("diabetes_brfss2015", 40_000)


def accuracy(data: Data, seed: int, epsilon: Any, **params: Any) -> float:
    """Accuracy on 30 % of the rows after a fit on the others."""
    X, y, bounds = data
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    model = LogisticRegression(
        epsilon=epsilon,
        bounds=bounds,
        classes=list(range(int(y.max()) + 1)),
        ledger=simulate(seed),
        **params,
    )
    return float(model.fit(X[train], y[train]).score(X[test], y[test]))


def rows(seeds: int) -> list[dict[str, Any]]:
    """One row for each set, way and epsilon."""
    ways = {
        "gradient": {},
        "means": {"method": "means"},
        "functional": {"method": "functional"},
        "gradient, δ 1e-5": {"delta": "1e-5"},
    }
    out = []
    for name, data in tables():
        for way, params in ways.items():
            for i, epsilon in enumerate(EPSILONS):
                scores = [accuracy(data, s, epsilon, **params) for s in range(seeds)]
                out.append(
                    {
                        "data": name,
                        "model": way,
                        "epsilon": epsilon,
                        "mean": float(np.mean(scores)),
                        "spread": float(np.std(scores)),
                        "peer": PEER[name][i] if name in PEER else None,
                    }
                )
    return out


def main() -> None:
    """Print a table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"discreto {dp.__version__}, {seeds} seeds: mean (spread) / diffprivlib")
    found = rows(seeds)
    for name, way in dict.fromkeys((row["data"], row["model"]) for row in found):
        cells = []
        for row in found:
            if (row["data"], row["model"]) == (name, way):
                peer = "" if row["peer"] is None else f" / {row['peer']:.3f}"
                cells.append(f"{row['mean']:.3f} ({row['spread']:.2f}){peer}")
        print(f"| {name} | {way} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
