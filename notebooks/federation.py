# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Three hospitals that share no rows
#
# Each keeps its rows, its ledger and its rules. Together they know more than each alone.

# %%
import numpy as np

import discreto as dp
from discreto.federated import (
    FederatedAveraging,
    FederatedTable,
    Federation,
    Policy,
    Silo,
)

domain = dp.Domain(
    {"age": dp.Number(0, 100), "dose": dp.Number(0, 10), "days": dp.Number(0, 30)},
    target="days",
)
coins = np.random.default_rng(0)


def patients(n):
    age, dose = coins.normal(50, 15, n), coins.normal(5, 2, n)
    return {
        "age": age,
        "dose": dose,
        "days": 8 + 0.12 * age - 0.6 * dose + coins.normal(0, 3, n),
    }


parts = {"north": patients(600), "south": patients(900), "east": patients(700)}

# %% [markdown]
# ## Silos
#
# A silo declares its number of rows public here, and lets the partner "registry" spend at most ε 2.

# %%
ledgers = {name: dp.Ledger(f"{name}.ledger", epsilon=3, delta="1e-5") for name in parts}
silos = {
    name: Silo(
        dp.Table(rows, domain, ledgers[name], name=name),
        Policy(partners={"registry": 2}),
        rows=len(rows["age"]),
    )
    for name, rows in parts.items()
}
federation = Federation(silos, partner="registry")

# %% [markdown]
# ## One statistic of all

# %%
print(dp.stats.mean(FederatedTable(federation), "days", epsilon="0.2", delta="1e-6"))

# %% [markdown]
# ## One model of all

# %%
model = federation.fit(FederatedAveraging(epsilon=1))
print(dict(zip(["age", "dose"], model.coef_.round(2), strict=True)))
print(model.guarantee)

# %% [markdown]
# ## Every owner's book

# %%
for name, ledger in ledgers.items():
    print(name, ledger)
