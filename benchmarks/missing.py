"""What it costs that a value may be missing, which is the default of a column.

The same complete rows under two domains: one that allows gaps and one that promises
``missing=False``. For statistics: the mean width of the released intervals, gaps
allowed over gaps excluded. For models: accuracy or R^2 on held-out rows.

    python benchmarks/missing.py [--runs 100]
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

import discreto as dp
from discreto import models
from discreto.stats import sentence
from discreto.testing import simulate

ROWS = 5000
ASKED = (
    "mean(x)",
    "mean(x) by g",
    "sum(x)",
    "variance(x)",
    "median(x)",
    "count() by g",
    "correlation(x, y)",
)


def rows_of() -> dict[str, np.ndarray]:
    """Complete rows, so that both domains have the same truth."""
    coins = np.random.default_rng(0)
    x = np.clip(coins.normal(40, 15, ROWS), 0, 100)
    y = np.clip(x + coins.normal(0, 10, ROWS), 0, 100)
    return {"x": x, "y": y, "g": coins.choice(["a", "b", "c"], ROWS)}


def domain_of(missing: bool, neighbours: str) -> dp.Domain:
    """The domain, with gaps or without."""
    columns = {
        "x": dp.Number(0, 100, missing=missing),
        "y": dp.Number(0, 100, missing=missing),
        "g": dp.Category(["a", "b", "c"], missing=missing),
    }
    rows = ROWS if neighbours == "replace" else None
    return dp.Domain(columns, neighbours=neighbours, rows=rows)


def statistics(runs: int) -> None:
    """Widths of intervals with gaps allowed, over those without."""
    rows = rows_of()
    for neighbours in ("add-remove", "replace"):
        for text in ASKED:
            widths = []
            for missing in (False, True):
                domain = domain_of(missing, neighbours)
                found = []
                for seed in range(runs):
                    table = dp.Table(rows, domain, simulate(seed))
                    release = table.answer(sentence(text), epsilon=1)
                    error = np.ravel(release.error)
                    found.append(error[: 3 if "by g" in text else None].mean())
                widths.append((np.mean(found), np.std(found) / np.sqrt(runs)))
            (plain, off), (gaps, more) = widths
            spread = gaps / plain * np.hypot(off / plain, more / gaps)
            print(f"{neighbours:11} {text:20} {gaps / plain:6.3f} ± {2 * spread:.3f}")


def scores(runs: int) -> None:
    """Scores of models on held-out rows, without and with gaps allowed."""
    tasks = {
        "NaiveBayes": (models.NaiveBayes, load_breast_cancer),
        "LogisticRegression": (models.LogisticRegression, load_breast_cancer),
        "GradientBoostingClassifier": (
            models.GradientBoostingClassifier,
            load_breast_cancer,
        ),
        "LinearRegression": (models.LinearRegression, load_diabetes),
    }
    for name, (kind, load) in tasks.items():
        X, y = load(return_X_y=True)
        line = []
        for missing in (False, True):
            columns: dict[str, dp.Number | dp.Category] = {
                f"x{i}": dp.Number(float(a), float(b), missing=missing)
                for i, (a, b) in enumerate(zip(X.min(0), X.max(0), strict=True))
            }
            goal = (
                dp.Category([0, 1], missing=missing)
                if load is load_breast_cancer
                else dp.Number(0, 400, missing=missing)
            )
            domain = dp.Domain(columns | {"y": goal}, target="y")
            found = []
            for seed in range(runs):
                train, test, known, truth = train_test_split(X, y, random_state=seed)
                model = kind(epsilon=2, domain=domain, ledger=simulate(seed))
                found.append(model.fit(train, known).score(test, truth))
            line.append(f"{np.mean(found):.3f} ± {2 * np.std(found) / runs**0.5:.3f}")
        print(f"{name:28} without gaps {line[0]}   gaps allowed {line[1]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    asked = parser.parse_args()
    statistics(asked.runs)
    scores(max(asked.runs // 2, 2))
