"""Boosted trees: plan, fit, look at them, compare with the algorithms of the papers."""

from __future__ import annotations

import numpy as np

import discreto as dp
from discreto.lab.boosting_presets import DPBoost, PrivCatBoost, PrivRandBoost
from discreto.models import (
    GradientBoostingRegressor,
)
from discreto.testing import simulate

ROWS = 6000
coins = np.random.default_rng(0)
rooms, size = coins.integers(1, 7, ROWS), coins.uniform(20, 200, ROWS)
town = coins.choice(["A", "B", "C", "D"], ROWS)
rent = 300 + 8 * size + 60 * rooms + np.where(town == "B", 500, 0)
rent = rent + np.where((town == "C") & (size > 100), -400, 0)
homes = {
    "rooms": rooms,
    "size": size,
    "town": town,
    "rent": rent + coins.normal(0, 80, ROWS),
}
domain = dp.Domain(
    {
        "rooms": dp.Number(1, 10, integer=True),
        "size": dp.Number(10, 300, unit="m²"),
        "town": dp.Category(["A", "B", "C", "D"]),
        "rent": dp.Number(0, 4000, unit="EUR"),
    },
    target="rent",
    rows=ROWS,
)

table = dp.Table(homes, domain, dp.Ledger(epsilon=1))
model = GradientBoostingRegressor(epsilon=1, random_state=0)
print(model.plan(domain))
model.fit(table)
print(model.tree_text(0))
importances = model.feature_importances_.round(2)
print(dict(zip(domain.features(), importances.tolist(), strict=True)))

X = {name: homes[name] for name in domain.features()}
X = np.column_stack([np.asarray(values, dtype=object) for values in X.values()])
print("error:", np.sqrt(np.mean((model.predict(X) - homes["rent"]) ** 2)).round(1))

for make in (DPBoost, PrivCatBoost, PrivRandBoost):
    paper = make(GradientBoostingRegressor, epsilon=1, random_state=0)
    paper.fit(dp.Table(homes, domain, simulate(1)))
    error = np.sqrt(np.mean((paper.predict(X) - homes["rent"]) ** 2))
    print(f"{make.__name__:14} error: {error:.1f}")
