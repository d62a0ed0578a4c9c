"""Logistic regression on the digits that scikit-learn carries: ten classes."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from discreto.models import LogisticRegression
from discreto.testing import simulate


def main() -> None:
    """Accuracy at several epsilons, with and without a delta."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    public = {"bounds": (0, 16), "classes": list(range(10))}
    for delta in (0, "1e-5"):
        for epsilon in (0.5, 1, 3):
            scores = []
            for seed in range(5):
                ledger = simulate(seed)  # a real fit takes a dp.Ledger instead
                model = LogisticRegression(
                    epsilon=epsilon, delta=delta, ledger=ledger, **public
                )
                scores.append(model.fit(X_train, y_train).score(X_test, y_test))
            print(f"ε {epsilon:<4} δ {delta!s:<5} accuracy {np.mean(scores):.2f}")
    print(f"chance            accuracy {np.mean(y_test == 0):.2f}")


if __name__ == "__main__":
    main()
