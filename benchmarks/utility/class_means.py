"""Small tables of two classes: log loss and accuracy of models of class means.

    python benchmarks/utility/class_means.py [seeds] [without]

Six pairs of scikit-learn's digits, breast cancer, and pima from the folder in
DISCRETO_DATA (default: ``../shared/data`` beside the repository) if it is there; at
most 450 rows, of which 70 % are fitted. One seed for the split and the noise, which is
simulated; rows are not declared. Log loss is less that of the exact class shares, so
what is below 0 is better than a constant. ``without``: nothing is asked about how sure
to be, as it was before 0.2.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from logistic import DATA
from sklearn.datasets import load_breast_cancer, load_digits

import discreto as dp
from discreto.models import LogisticRegression, NaiveBayes
from discreto.models.linear import expanded_loss as _logistic
from discreto.testing import simulate

PAIRS = ((3, 8), (5, 9), (1, 7), (4, 9), (2, 3), (0, 6))
COSTS = ((1, 0), (2, 0), (4, 0), (8, 0))
COSTS += tuple((epsilon, "1e-5") for epsilon in (0.5, 1, 2, 4))


def framed(name: str, x: Any, y: Any) -> tuple[str, pd.DataFrame, dp.Domain]:
    """Public bounds are those of a public set."""
    columns = {f"x{i}": x[:, i] for i in range(x.shape[1]) if np.ptp(x[:, i])}
    kinds: dict[str, Any] = {
        n: dp.Number(float(v.min()), float(v.max())) for n, v in columns.items()
    }
    kinds["y"] = dp.Category([0, 1])
    return name, pd.DataFrame(columns | {"y": y}), dp.Domain(kinds, target="y")


def tables() -> Iterator[tuple[str, pd.DataFrame, dp.Domain]]:
    """Every set that can be had here."""
    digits = load_digits()
    for first, second in PAIRS:
        kept = np.isin(digits.target, (first, second))
        # Sixteen blocks of four pixels: neighbours repeat each other.
        blocks = digits.images[kept].reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
        x = blocks.reshape(len(blocks), 16)
        yield framed(
            f"digits {first} {second}", x, (digits.target[kept] == second).astype(int)
        )
    cancer = load_breast_cancer()
    yield framed("breast cancer", cancer.data, cancer.target)
    if (DATA / "pima.parquet").is_file():
        domain = dp.Domain.load(DATA / "pima.domain.json").with_(rows=None)
        yield "pima", pd.read_parquet(DATA / "pima.parquet"), domain


def scores(kind: Any, frame: Any, domain: dp.Domain, cost: Any, seed: int) -> Any:
    """Log loss less the constant's, and accuracy, on rows that were not fitted."""
    goal = str(domain.target)
    rows = frame.sample(min(len(frame), 450), random_state=seed)
    many = round(0.7 * len(rows))
    train, test = rows.iloc[:many], rows.iloc[many:]
    epsilon, delta = cost
    model = kind(epsilon=epsilon, delta=delta).fit(
        dp.Table(train, domain, simulate(seed))
    )
    chances = model.predict_proba(test.drop(columns=goal))
    truth = test[goal].to_numpy()[:, None] == model.classes_
    shares = (train[goal].to_numpy()[:, None] == model.classes_).mean(axis=0)
    loss = -np.log(np.clip(chances[truth], 1e-15, 1)).mean()
    constant = -(truth * np.log(shares)).sum(axis=1).mean()
    return loss - constant, truth[np.arange(len(truth)), chances.argmax(axis=1)].mean()


def main() -> None:
    """A line for each model and table, and their means."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    if "without" in sys.argv:
        _logistic.worth_asking = lambda *_, **__: False  # type: ignore[assignment]
    print("costs:", *(f"({e}, {d})" if d else e for e, d in COSTS))
    for kind in (LogisticRegression, NaiveBayes):
        every = []
        for name, frame, domain in tables():
            several = range(seeds)
            found = np.array(
                [[scores(kind, frame, domain, c, s) for c in COSTS] for s in several]
            )
            every.append(found)
            show(f"{kind.__name__}, {name}", found)
        show(f"{kind.__name__}, mean", np.mean(every, axis=0))


def show(label: str, found: Any) -> None:
    """Means over seeds, and the standard errors of the means of all costs."""
    mean, all_costs = found.mean(axis=0), found.mean(axis=1)
    error = all_costs.std(axis=0, ddof=1) / np.sqrt(len(found))
    losses = " ".join(f"{v:+.3f}" for v in mean[:, 0])
    rates = " ".join(f"{v:.3f}" for v in mean[:, 1])
    loss, rate = all_costs.mean(axis=0)
    print(
        f"{label:<36} log loss {losses} all {loss:+.3f} ({error[0]:.3f})  "
        f"accuracy {rates} all {rate:.3f} ({error[1]:.3f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
