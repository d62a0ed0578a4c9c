"""Accuracy of private naive Bayes against diffprivlib 0.6.6 on public data.

    python benchmarks/utility/naive_bayes.py [seeds]

70/30 split, one seed for the split and one for the noise, simulated noise. Data that
scikit-learn does not carry is read from the folder in DISCRETO_DATA (default:
``../shared/data`` beside the repository) and left out if it is not there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

import discreto as dp
from discreto.models import NaiveBayes
from discreto.testing import simulate

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("DISCRETO_DATA", ROOT.parent / "shared" / "data"))
EPSILONS = (0.1, 0.5, 1, 3, 10)

# Round bounds, written down once; nothing below reads them from the data.
BOUNDS = {
    "iris": [(4, 8), (2, 5), (1, 7), (0, 3)],
    "wine": [
        *[(11, 15), (0.5, 6), (1, 3.5), (10, 30), (70, 170), (0.5, 4), (0, 5.5)],
        *[(0, 0.7), (0, 4), (1, 13), (0.4, 1.8), (1, 4), (250, 1700)],
    ],
    "breast cancer": [
        *[(6, 29), (9, 40), (40, 190), (100, 2600), (0.05, 0.17), (0, 0.35)],
        *[(0, 0.45), (0, 0.21), (0.1, 0.31), (0.045, 0.1)],
        *[(0, 3), (0, 5), (0, 22), (0, 550), (0, 0.032), (0, 0.14)],
        *[(0, 0.4), (0, 0.055), (0, 0.08), (0, 0.03)],
        *[(7, 37), (12, 50), (50, 255), (150, 4300), (0.07, 0.23), (0, 1.1)],
        *[(0, 1.3), (0, 0.3), (0.15, 0.67), (0.05, 0.21)],
    ],
    "digits": [(0, 16)] * 64,
}
LOADERS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
# diffprivlib 0.6.6 GaussianNB, mean of 20 seeds at EPSILONS; its own splits and bounds.
PEER = {
    "iris": (0.361, 0.444, 0.613, 0.809, 0.870),
    "wine": (0.425, 0.412, 0.433, 0.519, 0.765),
    "breast cancer": (0.488, 0.497, 0.626, 0.696, 0.858),
    "pima": (0.556, 0.616, 0.639, 0.660, 0.705),
    "digits": (0.101, 0.128, 0.130, 0.269, 0.546),
    "adult, 5 numbers": (0.759, 0.784, 0.789, 0.792, 0.791),
}
ADULT = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]


def carried(name: str) -> tuple[pd.DataFrame, Any, dp.Domain]:
    """A set of scikit-learn with its bounds."""
    X, y = LOADERS[name](return_X_y=True)
    names = [f"x{i}" for i in range(X.shape[1])]
    pairs = zip(names, BOUNDS[name], strict=True)
    columns: dict[str, Any] = {n: dp.Number(low, high) for n, (low, high) in pairs}
    columns["y"] = dp.Category(range(int(y.max()) + 1))
    return pd.DataFrame(X, columns=names), y, dp.Domain(columns, target="y")


def stored(name: str, target: str) -> tuple[pd.DataFrame, Any, dp.Domain]:
    """A set of the data folder with its domain."""
    frame = pd.read_parquet(DATA / f"{name}.parquet")
    domain = dp.Domain.load(DATA / f"{name}.domain.json").with_(target=target)
    return frame.drop(columns=target), frame[target].to_numpy(), domain


def adult_numbers() -> tuple[pd.DataFrame, Any, dp.Domain]:
    """Five Number columns of the training part of Adult, complete rows only."""
    X, y, domain = stored("adult", "income")
    X, y = X.iloc[:32_561], y[:32_561]
    whole = ~(X == "?").any(axis=1).to_numpy()
    return X.loc[whole, ADULT], y[whole], domain.select([*ADULT, "income"])


def log_gains() -> tuple[pd.DataFrame, Any, dp.Domain]:
    """The same with the two heavy-tailed columns on a log scale: a public map."""
    X, y, domain = adult_numbers()
    columns = dict(domain.columns)
    X = X.copy()
    for name in ("capital_gain", "capital_loss"):
        X[name] = np.log1p(X[name])
        columns[name] = dp.Number(0, float(np.log1p(domain.number(name).upper)))
    return X, y, domain.with_(columns=columns)


def tables() -> Iterator[tuple[str, tuple[pd.DataFrame, Any, dp.Domain]]]:
    """Every set that can be had here."""
    for name in LOADERS:
        yield name, carried(name)
    if not DATA.is_dir():
        print("no data folder: set DISCRETO_DATA for pima, adult and mushroom")
        return
    yield "pima", stored("pima", "outcome")
    yield "adult, 5 numbers", adult_numbers()
    yield "adult, 5 numbers, log gains", log_gains()
    yield "adult, 14 mixed", stored("adult", "income")
    yield "mushroom, 22 categories", stored("mushroom", "class")


def accuracy(data: Any, seed: int, epsilon: Any, **params: Any) -> float:
    """Accuracy on 30 % of the rows after a fit on the others."""
    X, y, domain = data
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    params = {"ledger": simulate(seed)} | params
    model = NaiveBayes(epsilon=epsilon, domain=domain, **params)
    model.fit(X.iloc[train], y[train])
    return float((model.predict(X.iloc[test]) == y[test]).mean())


def rows(seeds: int = 20) -> list[dict[str, Any]]:
    """One dict for each set and epsilon; epsilon None is without noise."""
    out = []
    for name, data in tables():
        for epsilon in (*EPSILONS, None):
            off = {"shrink": False, "ledger": simulate(noise=False)}
            params = off if epsilon is None else {}
            got = [
                accuracy(data, s, 1 if epsilon is None else epsilon, **params)
                for s in range(seeds)
            ]
            peer = PEER.get(name, ()) if epsilon is not None else ()
            out.append(
                {
                    "data": name,
                    "model": "NaiveBayes",
                    "epsilon": epsilon,
                    "mean": float(np.mean(got)),
                    "spread": float(np.std(got)),
                    "peer": peer[EPSILONS.index(epsilon)] if peer else None,
                }
            )
    return out


def main(seeds: int = 20) -> None:
    """Print the table of docs/models/naive_bayes.md."""
    found = rows(seeds)
    heads = [*(f"ε={epsilon}" for epsilon in EPSILONS), "no noise"]
    print("| data | " + " | ".join(heads) + " |")
    print("| --- " * (len(heads) + 1) + "|")
    for name in dict.fromkeys(row["data"] for row in found):
        mine = [row for row in found if row["data"] == name]
        cells = [f"{row['mean']:.3f} ({row['spread']:.3f})" for row in mine]
        print(f"| {name} | " + " | ".join(cells) + " |")
        if name in PEER:
            print(
                "| diffprivlib | " + " | ".join(f"{p:.3f}" for p in PEER[name]) + " | |"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
