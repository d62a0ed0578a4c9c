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
# # A student with a data frame
#
# A model as in scikit-learn, what privacy costs in accuracy, and what a picture of that looks like.

# %%
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as Plain

import discreto as dp
from discreto.models import LogisticRegression, evaluate
from discreto.testing import simulate

data, target = map(np.asarray, load_breast_cancer(return_X_y=True))
names = ["radius", "texture", "smoothness", "concavity", "symmetry"]
frame = pd.DataFrame(data[:, [0, 1, 4, 6, 8]], columns=names)
frame["diagnosis"] = np.where(target == 0, "malignant", "benign")

# %% [markdown]
# ## Public facts

# %%
domain = dp.Domain(
    {
        "radius": dp.Number(5, 30),
        "texture": dp.Number(5, 40),
        "smoothness": dp.Number(0.05, 0.2),
        "concavity": dp.Number(0, 0.5),
        "symmetry": dp.Number(0.1, 0.35),
        "diagnosis": dp.Category(["benign", "malignant"]),
    },
    target="diagnosis",
)

# %% [markdown]
# ## One private model

# %%
ledger = dp.Ledger(epsilon=2)
first, second = frame[::2], frame[1::2]
model = LogisticRegression(epsilon=1).fit(dp.Table(first, domain, ledger))
print(model.privacy_)
print(evaluate(model, dp.Table(second, domain, ledger), epsilon=1).accuracy)

# %% [markdown]
# ## What does ε cost?
#
# The data are public, so a simulation may look at them as often as it likes. Nothing here is protected.

# %%
X, y = second[names], second["diagnosis"]
prices = (0.1, 0.3, 1, 3, 10)
scores = []
for epsilon in prices:
    runs = []
    for seed in range(5):
        table = dp.Table(first, domain, simulate(seed))
        runs.append(LogisticRegression(epsilon=epsilon).fit(table).score(X, y))
    scores.append(np.mean(runs))
    print(f"ε {epsilon}: accuracy {np.mean(runs):.3f} (spread {np.std(runs):.3f})")
plain = Plain(max_iter=5000).fit(first[names], first["diagnosis"]).score(X, y)
print(f"without privacy: {plain:.3f}")

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5, 3))
axes.semilogx(prices, scores, "o-", label="private")
axes.axhline(plain, linestyle="--", color="grey", label="without privacy")
axes.set(xlabel="ε", ylabel="accuracy on other rows")
axes.legend()
figure.tight_layout()
