"""Linear regression on the diabetes data that scikit-learn carries."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from discreto.models import LinearRegression
from discreto.testing import simulate


def main() -> None:
    """Compare the two methods with least squares without noise."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    public = {"bounds": (-0.2, 0.2), "target_bounds": (0, 350)}
    for method in ("weighted", "functional"):
        for epsilon in (0.5, 1, 10):
            scores = []
            for seed in range(10):
                ledger = simulate(seed)  # a real fit takes a dp.Ledger instead
                model = LinearRegression(
                    epsilon=epsilon, method=method, ledger=ledger, **public
                )
                scores.append(model.fit(X_train, y_train).score(X_test, y_test))
            print(f"{method:<11} ε {epsilon:<4} R² {np.mean(scores):.2f}")
    plain = model.reference().fit(X_train, y_train)
    print(f"without privacy    R² {plain.score(X_test, y_test):.2f}")


if __name__ == "__main__":
    main()
