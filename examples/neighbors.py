"""Three private neighbour classifiers on the breast cancer data of scikit-learn.

Votes are paid for every row that is predicted; cells are counted once.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import discreto as dp
from discreto.models import (
    CellNeighborsClassifier,
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)
from discreto.testing import simulate

COLUMNS = {
    "mean radius": dp.Number(5, 30),
    "mean texture": dp.Number(5, 40),
    "mean smoothness": dp.Number(0, 0.2),
    "mean concavity": dp.Number(0, 0.5),
    "mean concave points": dp.Number(0, 0.25),
    "worst area": dp.Number(0, 4500),
}


def main() -> None:
    """Ask for a few patients, then for a whole test set."""
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data[list(COLUMNS)], bunch.target.to_numpy()
    domain = dp.Domain(COLUMNS | {"benign": dp.Category([0, 1])}, target="benign")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    print("Three patients, epsilon 1:")
    for kind in (KNeighborsClassifier, RadiusNeighborsClassifier):
        ledger = simulate(0)  # a real fit takes a dp.Ledger instead
        model = kind(epsilon=1, domain=domain, ledger=ledger).fit(X_train, y_train)
        print(f"  {kind.__name__}: {model.predict(X_test[:3])}, spent {ledger.spent()}")
    print(f"  truth: {y_test[:3]}")

    print(f"All {len(X_test)} patients of the test set, epsilon 1, ten runs:")
    for kind in (
        KNeighborsClassifier,
        RadiusNeighborsClassifier,
        CellNeighborsClassifier,
    ):
        scores = []
        for seed in range(10):
            model = kind(epsilon=1, domain=domain, ledger=simulate(seed))
            scores.append(model.fit(X_train, y_train).score(X_test, y_test))
        print(f"  {kind.__name__}: {np.mean(scores):.3f} ± {np.std(scores):.3f}")

    print(KNeighborsClassifier(15, epsilon=1).plan(domain, queries=len(X_test)))
    print(CellNeighborsClassifier(epsilon=1).plan(domain))


if __name__ == "__main__":
    main()
