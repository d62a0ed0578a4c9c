"""Losses of boosting on public tables: ``python benchmarks/utility/losses.py``.

Pinball loss for quantiles (half the absolute error for the median and Huber's loss),
Poisson deviance for counts; each divided by that of the best constant of the training
rows, so that below 1 something was learned. The last column is scikit-learn's
histogram boosting with the same loss and its own defaults. The first of five folds,
mean and spread over the seeds of the noise. Needs DISCRETO_DATA.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance
from sklearn.model_selection import KFold

from discreto import Category, Domain, models
from discreto.data.datasets import load
from discreto.testing import simulate

TABLES = {
    "abalone": ("abalone", "rings"),
    "fuel": ("fuel_consumption_2000", "co2_emissions"),
    "flights": ("nycflights13", "arr_delay"),
    "days of illness": ("diabetes_brfss2015", "phys_hlth"),
}
LOSSES: dict[str, dict[str, Any]] = {
    "quantile .1": {"loss": "quantile", "quantile": 0.1},
    "median": {"loss": "absolute_error"},
    "huber": {"loss": "huber"},
    "squared_error": {},
    "quantile .9": {"loss": "quantile", "quantile": 0.9},
    "poisson": {"loss": "poisson"},
}
COUNTS = ("abalone", "days of illness")


def read(name: str, most: int) -> tuple[Any, Any, Domain]:
    """Features, target and domain of a table, at most so many of its rows."""
    source, target = TABLES[name]
    found = load(source)
    frame = found.frame.dropna(subset=[target])
    if len(frame) > most:
        frame = frame.sample(most, random_state=0)
    domain = replace(found.domain, target=target)
    return frame[list(domain.features())], frame[target].to_numpy(float), domain


def lost(kind: str, truth: Any, found: Any) -> float:
    """How far predictions are off, in the terms of their loss."""
    if kind == "poisson":
        return float(mean_poisson_deviance(truth, np.maximum(found, 1e-6)))
    return float(mean_pinball_loss(truth, found, alpha=level(kind)))


def level(kind: str) -> float:
    """Which quantile a loss is about."""
    return float(LOSSES[kind].get("quantile", 0.5))


def constant(kind: str, y: Any, many: int) -> Any:
    """The best constant."""
    best = y.mean() if kind == "poisson" else np.quantile(y, level(kind))
    return np.full(many, best)


def coded(X: Any, domain: Domain) -> Any:
    """Features as numbers, for scikit-learn."""
    columns = []
    for name in X.columns:
        column = domain[name]
        if isinstance(column, Category):
            places = {value: i for i, value in enumerate(column.categories)}
            columns.append(X[name].map(places).to_numpy(float))
        else:
            columns.append(X[name].to_numpy(float, na_value=np.nan))
    return np.column_stack(columns)


def plain(kind: str, X: Any, y: Any, train: Any, test: Any, domain: Domain) -> float:
    """The loss of scikit-learn's model on the test rows."""
    model = models.GradientBoostingRegressor(epsilon=1, **LOSSES[kind]).reference()
    numbers = np.nan_to_num(coded(X, domain), nan=-1.0)  # Huber's takes no gaps
    return lost(
        kind, y[test], model.fit(numbers[train], y[train]).predict(numbers[test])
    )


def fits(
    kind: str, X: Any, y: Any, train: Any, test: Any, domain: Domain, options: Any
) -> Any:
    """Losses of our model for each epsilon and seed; the last without noise."""
    out = []
    for epsilon in (*options.epsilons, None):
        losses = []
        for seed in range(options.seeds if epsilon else 1):
            model = models.GradientBoostingRegressor(
                epsilon=epsilon or 1000,
                delta=options.delta if epsilon else 0,
                domain=replace(domain, rows=len(train)),
                ledger=simulate(seed, noise=epsilon is not None),
                **LOSSES[kind],
            )
            model.fit(X.iloc[train], y[train])
            losses.append(lost(kind, y[test], model.predict(X.iloc[test])))
        out.append(losses)
    return out


def main() -> None:
    """Print a line for each table and loss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--epsilons", type=float, nargs="+", default=(0.5, 1.0, 4.0))
    parser.add_argument("--delta", default="0")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    words = [f"ε {epsilon:g}" for epsilon in options.epsilons]
    head = ["data", "loss", *words, "no noise", "scikit-learn"]
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for name in options.data:
        X, y, domain = read(name, options.rows)
        split = KFold(5, shuffle=True, random_state=0).split(X)
        train, test = next(iter(split))
        for kind in options.loss:
            if kind == "poisson" and name not in COUNTS:
                continue
            base = lost(kind, y[test], constant(kind, y[train], len(test)))
            ours = fits(kind, X, y, train, test, domain, options)
            cells = [
                f"{np.mean(one) / base:.3f}"
                + (f" ({np.std(one) / base:.3f})" if len(one) > 1 else "")
                for one in ours
            ]
            cells.append(f"{plain(kind, X, y, train, test, domain) / base:.3f}")
            print(f"| {' | '.join([name, kind, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
