"""How often the intervals of ``evaluate`` cover: ``python benchmarks/evaluation.py``.

A fixed model is evaluated on many tables that are drawn from one population. Prints how
often each interval holds the score on its own table, and the score in the population
(known from a million rows), with the mean width of the latter. Options: the number of
tables (1000), rows of each (1000), and costs as ``epsilon`` or ``epsilon,delta``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn import metrics

import discreto as dp
from discreto.models import GaussianNB, LinearRegression, evaluate
from discreto.testing import simulate

NUMBERS = {"a": dp.Number(0, 10), "b": dp.Number(-1, 1)}
CLASSES = dp.Domain(
    {**NUMBERS, "g": dp.Category(["f", "m"]), "ill": dp.Category(["no", "yes"])},
    target="ill",
)
THREE = dp.Domain({**NUMBERS, "kind": dp.Category(["x", "y", "z"])}, target="kind")
AMOUNTS = dp.Domain({**NUMBERS, "amount": dp.Number(-1000, 4000)}, target="amount")
TAILS = dp.Domain({**NUMBERS, "tails": dp.Number(-1000, 4000)}, target="tails")
POPULATION = 1_000_000
SCORES = ("accuracy", "macro_f1", "auc", "log_loss", "brier", "rmse", "r2")


def people(rows: int, seed: int) -> dict[str, Any]:
    """Rows of one population."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    kind = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    a = np.where(ill, 6.0, 4.0) + kind + rng.normal(0, 1.5, rows)
    b = np.where(ill, 0.3, -0.2) + rng.normal(0, 0.4, rows)
    return {
        "a": a,
        "b": b,
        "g": np.where(rng.random(rows) < 0.3, "f", "m"),
        "ill": np.where(ill, "yes", "no"),
        "kind": np.array(["x", "y", "z"])[kind],
        "amount": 40 * np.clip(a, 0, 10) + rng.normal(0, 39, rows),
        "tails": 40 * np.clip(a, 0, 10) + 30 * rng.standard_t(5, rows),
    }


def truth(model: Any, data: dict[str, Any], target: str) -> dict[str, float]:
    """The scores of a model on rows, by scikit-learn."""
    X = np.column_stack([data["a"], data["b"]])
    y, said = data[target], model.predict(X)
    if target in ("amount", "tails"):
        mse = float(np.mean((np.clip(y, -1000, 4000) - said) ** 2))
        return {"rmse": mse**0.5, "r2": 1 - mse / float(np.var(y))}
    chances = model.predict_proba(X)
    score: dict[str, Any] = {"y_score": chances[:, 1]}
    if len(model.classes_) > 2:
        score = {"y_score": chances, "multi_class": "ovr"}
    right = (y[:, None] == model.classes_).astype(float)
    lost = -np.log(np.maximum((chances * right).sum(axis=1), 1e-300))
    squares = ((chances - right) ** 2).sum(axis=1)
    return {
        "accuracy": float(np.mean(said == y)),
        "macro_f1": metrics.f1_score(y, said, average="macro"),
        "auc": metrics.roc_auc_score(y, **score),
        "log_loss": float(np.mean(np.minimum(lost, np.log(1000)))),
        "brier": float(np.mean(squares)) / (2 if len(model.classes_) == 2 else 1),
    }


def coverage(
    domain: dp.Domain, kind: Any, tables: int, rows: int, cost: list[str]
) -> None:
    """One line for each score of a model."""
    target = domain.target or ""
    fit = {name: v for name, v in people(5000, 1).items() if name in domain}
    used = domain.select([n for n in domain if n != "g"]).with_(target=target)
    columns = {name: fit[name] for name in used}
    model = kind(epsilon=5).fit(dp.Table(columns, used, simulate(0)))
    known = truth(model, people(POPULATION, 2), target)
    hits: dict[str, list[Any]] = {}
    for seed in range(tables):
        data = people(rows, 100 + seed)
        here = truth(model, data, target)
        table = dp.Table({n: data[n] for n in used}, used, simulate(seed))
        found = evaluate(model, table, epsilon=cost[0], delta=(cost[1:] or ["0"])[0])
        for name in [name for name in SCORES if name in known]:
            wide, own = getattr(found, name), getattr(found.on_these_rows, name)
            hits.setdefault(name, []).append(
                (own.covers(here[name]), wide.covers(known[name]), wide.error * 2)
            )
    for name, got in hits.items():
        own, wide, width = np.mean(np.array(got, dtype=float), axis=0)
        print(
            f"| {kind.__name__} {target} | {','.join(cost)} | {name} | "
            f"{known[name]:.3f} | {own:.3f} | {wide:.3f} | {width:.3f} |",
            flush=True,
        )


def main(tables: int, rows: int, costs: list[list[str]]) -> None:
    """All models at all costs."""
    print("| model | cost | score | truth | these rows | population | width |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for cost in costs:
        for domain, kind in (
            (CLASSES, GaussianNB),
            (THREE, GaussianNB),
            (AMOUNTS, LinearRegression),
            (TAILS, LinearRegression),
        ):
            coverage(domain, kind, tables, rows, cost)


if __name__ == "__main__":
    options = sys.argv[1:]
    main(
        int(options[0]) if options else 1000,
        int(options[1]) if len(options) > 1 else 1000,
        [one.split(",") for one in options[2:]] or [["1"], ["8"], ["1", "1e-5"]],
    )
