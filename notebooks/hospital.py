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
# # A hospital with a messy file
#
# A CSV file as a laboratory writes it: semicolons, decimal commas, Latin-1, gaps, and three spellings of one
# sex. The question: what is the mean of a blood value, for women and men?

# %%
from pathlib import Path

import numpy as np

import discreto as dp

coins = np.random.default_rng(7)
n = 4000
sex = coins.choice(["F", "M", "Female", " f"], n, p=[0.3, 0.5, 0.1, 0.1])
crp = np.where(sex == "M", 14, 10) + coins.exponential(6, n)
lines = ["age;sex;town;crp"]
for i in range(n):
    value = "" if coins.random() < 0.08 else f"{crp[i]:.1f}".replace(".", ",")
    town = coins.choice(["Köln", "Ulm"])
    lines.append(f"{coins.integers(18, 95)};{sex[i]};{town};{value}")
Path("patients.csv").write_text("\n".join(lines), encoding="latin-1")

# %% [markdown]
# ## What everybody may know
#
# The domain comes from the laboratory's manual. It also says how the file is written and how words are spelt. Nothing is read off
# the rows.

# %%
domain = dp.Domain(
    {
        "age": dp.Number(0, 120, unit="years"),
        "sex": dp.Category(["F", "M"], aliases={"Female": "F"}, case=False, strip=True),
        "town": dp.Category(["Köln", "Ulm"]),
        "crp": dp.Number(0, 300, unit="mg/l"),
    },
    dialect=dp.Dialect(separator=";", decimal=",", encoding="latin-1"),
)
ledger = dp.Ledger(
    epsilon=1
)  # for rows of real people: Ledger("patients.ledger", epsilon=1)
table = dp.Table("patients.csv", domain, ledger)

# %% [markdown]
# ## How much would it cost?

# %%
for error in (0.5, 1, 2):
    price = dp.plan.epsilon_for(domain, dp.stats.Mean("crp"), error=error, rows=n)
    print(f"an error of {error} mg/l costs about ε {float(price):.3f}")

# %% [markdown]
# ## Ask

# %%
answer = dp.stats.mean(table, "crp", by="sex", epsilon="0.3")
print(answer)

# %% [markdown]
# These people are made up, so the truth can be printed beside it. The interval holds it in 95 of 100 cases.

# %%
known = [float(x.split(";")[3].replace(",", ".") or "nan") for x in lines[1:]]
men = np.array(sex) == "M"
print(
    "true means:", np.nanmean(np.array(known)[~men]), np.nanmean(np.array(known)[men])
)

# %% [markdown]
# ## Does the file fit the domain?
#
# Shares of missing, clipped and undeclared values, for a price.

# %%
print(dp.stats.domain_fit(table, columns=["sex", "crp"], epsilon="0.3"))
print(ledger)
