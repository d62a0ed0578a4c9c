"""R² of private linear regression against diffprivlib 0.6.6.

    python benchmarks/utility/linear.py [seeds]

70/30 split, one seed for the split and the noise, simulated noise. The synthetic sets
are made again so that the model without privacy has the R² of the published figures
(.726, .487, .599): even features on [-1, 1], or Gaussian ones that fill a third of
their range. Sets that scikit-learn does not carry are read from the folder in
DISCRETO_DATA (default: ``../shared/data`` beside the repository), if it is there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

import discreto as dp
from discreto.models import LinearRegression
from discreto.testing import simulate

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("DISCRETO_DATA", ROOT.parent / "shared" / "data"))
EPSILONS = (0.1, 0.5, 1, 3, 10)
SYNTHETIC = {
    "10,000x5": (10_000, 5, 0.726),
    "10,000x10": (10_000, 10, 0.487),
    "100,000x10": (100_000, 10, 0.599),
}
# diffprivlib 0.6.6 LinearRegression, median of 20 seeds at EPSILONS.
PEER = {
    "diabetes 442x10": (-2.9e7, -2.0e7, -6.0e6, -2.6e6, -9.3e5),
    "10,000x5": (-267, 0.629, 0.703, 0.723, 0.726),
    "10,000x10": (-5.9e7, -26.7, -0.89, 0.363, 0.474),
    "100,000x10": (-0.43, 0.568, 0.590, 0.598, 0.599),
}
Data = tuple[Any, Any, tuple[Any, Any], tuple[float, float]]


def made_up(name: str, *, gaussian: bool) -> Data:
    """A linear set on [-1, 1] with a given R²."""
    rows, width, goal = SYNTHETIC[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, width))
    if gaussian:
        X = np.clip(rng.normal(0, 1 / 3, (rows, width)), -1, 1)
    signal = X @ rng.normal(size=width)
    noise = rng.normal(size=rows) * np.sqrt(1 - goal)
    y = signal / signal.std() * np.sqrt(goal) + noise
    return X, np.clip(y / 3, -1, 1), (-1, 1), (-1, 1)


def stored(name: str) -> Data:
    """The Number columns of a set of the data folder."""
    import pandas as pd

    frame = pd.read_parquet(DATA / f"{name}.parquet")
    text = (DATA / f"{name}.domain.json").read_text(encoding="utf-8")
    sheet = json.loads(text)
    columns = sheet["columns"]
    names = [
        c
        for c in frame
        if columns[c]["type"] == "numeric" and columns[c]["lower"] < columns[c]["upper"]
    ]
    names.remove(sheet["target"])
    ends = [[columns[c][end] for c in names] for end in ("lower", "upper")]
    goal = columns[sheet["target"]]
    X = frame[names].to_numpy(float)
    y = frame[sheet["target"]].to_numpy(float)
    return X, y, (ends[0], ends[1]), (goal["lower"], goal["upper"])


def tables() -> Iterator[tuple[str, Data]]:
    """Every set that can be had here."""
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes 442x10", (X, y, (-0.2, 0.2), (0, 350))
    for name in SYNTHETIC:
        yield name, made_up(name, gaussian=False)
        yield f"{name}, Gaussian", made_up(name, gaussian=True)
    if not DATA.is_dir():
        print("no data folder: set DISCRETO_DATA for abalone, fuel and steel")
        return
    for name in ("abalone", "fuel_consumption_2000", "steel_energy"):
        yield name, stored(name)


def score(data: Data, seed: int, epsilon: Any, **params: Any) -> float:
    """R² on 30 % of the rows after a fit on the others."""
    X, y, bounds, target_bounds = data
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    model = LinearRegression(
        epsilon=epsilon,
        bounds=bounds,
        target_bounds=target_bounds,
        ledger=simulate(seed),
        **params,
    )
    return float(model.fit(X[train], y[train]).score(X[test], y[test]))


def rows(seeds: int) -> list[dict[str, Any]]:
    """One row for each set, way and epsilon."""
    ways = {
        "residuals": {},
        "weighted": {"method": "weighted"},
        "functional": {"method": "functional"},
        "weighted, δ 1e-5": {"delta": "1e-5"},
    }
    out = []
    for name, data in tables():
        for way, params in ways.items():
            for i, epsilon in enumerate(EPSILONS):
                scores = [score(data, s, epsilon, **params) for s in range(seeds)]
                peer = PEER.get(name.removesuffix(", Gaussian"))
                out.append(
                    {
                        "data": name,
                        "model": way,
                        "epsilon": epsilon,
                        "mean": float(np.mean(scores)),
                        "spread": float(np.std(scores)),
                        "median": float(np.median(scores)),
                        "peer": peer[i] if peer else None,
                    }
                )
    return out


def main() -> None:
    """Print a table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"discreto {dp.__version__}, {seeds} seeds, R²: mean (spread) / diffprivlib")
    found = rows(seeds)
    for name, way in dict.fromkeys((row["data"], row["model"]) for row in found):
        cells = []
        for row in found:
            if (row["data"], row["model"]) == (name, way):
                peer = "" if row["peer"] is None else f" / {row['peer']:.3g}"
                cells.append(f"{row['mean']:.3f} ({row['spread']:.2f}){peer}")
        print(f"| {name} | {way} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
