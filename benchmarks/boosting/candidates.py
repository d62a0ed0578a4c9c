"""Who takes part: ours, the papers' modes, and what privacy costs.

Each candidate is a function (table, train, test, epsilon, seed) -> predictions for the
test rows: numbers, or the probability of the second class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tables import Table

import discreto.models as models
from discreto.lab import boosting_presets
from discreto.testing import simulate

DELTA = 1e-5
Candidate = Callable[[Table, Any, Any, float, int], Any]


def _answer(model: Any, table: Table, X: Any) -> Any:
    return model.predict(X) if table.regression else model.predict_proba(X)[:, 1]


def ours(
    table: Table,
    train: Any,
    test: Any,
    epsilon: float,
    seed: int,
    *,
    maker: str = "",
    **settings: Any,
) -> Any:
    """Our estimator, or a paper's settings of it, with nothing tuned."""
    kind = "Regressor" if table.regression else "Classifier"
    make = getattr(models, f"GradientBoosting{kind}")
    if maker:
        make = partial(getattr(boosting_presets, maker), make)
    model = make(
        epsilon=epsilon,
        domain=table.domain,
        ledger=simulate(seed),
        random_state=seed,
        **settings,
    )
    model.fit(table.X.iloc[train], table.y[train])
    return _answer(model, table, table.X.iloc[test])


def lightgbm(table: Table, train: Any, test: Any, epsilon: float, seed: int) -> Any:
    """LightGBM without privacy."""
    import lightgbm

    kind = lightgbm.LGBMRegressor if table.regression else lightgbm.LGBMClassifier
    model = kind(n_estimators=100, num_threads=1, verbose=-1)
    X, y = table.codes(), table.numbers()
    model.fit(X[train], y[train], categorical_feature=_categories(table))
    return _answer(model, table, X[test])


def histogram(table: Table, train: Any, test: Any, epsilon: float, seed: int) -> Any:
    """scikit-learn's histogram boosting without privacy."""
    from sklearn import ensemble

    kind = "Regressor" if table.regression else "Classifier"
    make = getattr(ensemble, f"HistGradientBoosting{kind}")
    model = make(categorical_features=_categories(table), random_state=0)
    X, y = table.codes(), table.numbers()
    model.fit(X[train], y[train])
    return _answer(model, table, X[test])


def constant(table: Table, train: Any, test: Any, epsilon: float, seed: int) -> Any:
    """The mean of the training rows for everybody."""
    return [float(table.numbers()[train].mean())] * len(test)


def _categories(table: Table) -> list[int]:
    names = enumerate(table.X.columns)
    return [i for i, name in names if hasattr(table.domain[name], "categories")]


PRIVATE: dict[str, Candidate] = {
    "ours": ours,
    "ours, δ": partial(ours, delta=DELTA),
    "DPBoost": partial(ours, maker="DPBoost"),
    "PrivCatBoost": partial(ours, maker="PrivCatBoost"),
    "PrivRandBoost": partial(ours, maker="PrivRandBoost"),
    "PrivRandBoost, one-hot": partial(ours, maker="PrivRandBoost", encoding="onehot"),
    "DPBoost, mean leaf": partial(ours, maker="DPBoost", leaf="mean"),
    "PrivCatBoost, mean leaf": partial(ours, maker="PrivCatBoost", leaf="mean"),
    "PrivRandBoost, mean leaf": partial(ours, maker="PrivRandBoost", leaf="mean"),
}
PLAIN: dict[str, Candidate] = {
    "LightGBM": lightgbm,
    "scikit-learn": histogram,
    "constant": constant,
}
