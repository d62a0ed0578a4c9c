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
# # A statistics office
#
# A census in a folder of Parquet files, one for each year, and a table of figures to publish: many questions, one
# price, and margins that agree.

# %%
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreto as dp

coins = np.random.default_rng(3)
for year in (2022, 2023, 2024):
    rows = 20_000
    table = {
        "income": np.clip(coins.lognormal(10.2, 0.6, rows), 0, 200_000),
        "region": coins.choice(["north", "south", "west"], rows, p=[0.5, 0.3, 0.2]),
        "works": coins.random(rows) < 0.7,
    }
    folder = Path("census") / f"year={year}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), folder / "part.parquet")

# %%
domain = dp.Domain(
    {
        "year": dp.Category([2022, 2023, 2024]),
        "income": dp.Number(0, 200_000, unit="EUR"),
        "region": dp.Category(["north", "south", "west"]),
        "works": dp.Boolean(),
    }
)
ledger = dp.Ledger(epsilon=1)
census = dp.Table.scan("census", domain, ledger)

# %% [markdown]
# ## Many figures for one price
#
# `answers` shares ε so that the expected errors are least, and charges once.

# %%
figures = census.answers(
    [
        dp.stats.Count(by=("year",)),
        dp.stats.Mean("income", by=("region",)),
        dp.stats.Quantile("income", 0.5),
    ],
    epsilon="0.5",
    split="weighed",
)
for figure in figures:
    print(figure)

# %% [markdown]
# ## A table with margins that agree

# %%
print(dp.stats.crosstab(census, ["region", "works"], epsilon="0.2"))

# %% [markdown]
# ## Inequality

# %%
print(dp.stats.gini(census, "income", epsilon="0.2"))
print(ledger)
