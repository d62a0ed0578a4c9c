"""Naive Bayes on the breast cancer data that scikit-learn carries.

The bounds are what a pathologist would write down; here, for a public set and under a
simulation ledger, they are round numbers around it.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import discreto as dp
from discreto.models import GaussianNB
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
    """Fit at several epsilons and compare with the model without noise."""
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data[list(COLUMNS)], bunch.target.to_numpy()
    domain = dp.Domain(COLUMNS | {"benign": dp.Category([0, 1])}, target="benign")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    print(GaussianNB(epsilon=1).plan(domain))
    for epsilon in (0.1, 1, 10):
        scores = []
        for seed in range(10):
            ledger = simulate(seed)  # a real fit takes a dp.Ledger instead
            model = GaussianNB(epsilon=epsilon, domain=domain, ledger=ledger)
            scores.append(model.fit(X_train, y_train).score(X_test, y_test))
        print(f"ε {epsilon:>4}: {np.mean(scores):.3f} ± {np.std(scores):.3f}")
    plain = GaussianNB(epsilon=1).reference().fit(X_train, y_train)
    print(f"no noise: {plain.score(X_test, y_test):.3f}")

    # A missing value drops its column out.
    half = X_test.copy()
    half["worst area"] = np.nan
    print(f"without worst area, ε 10: {model.score(half, y_test):.3f}")


if __name__ == "__main__":
    main()
