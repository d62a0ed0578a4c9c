"""A minute with discreto: a private mean, a private model, a private evaluation."""

import numpy as np
from sklearn.datasets import load_breast_cancer

import discreto as dp
from discreto.models import NaiveBayes, evaluate

# A pretend table of patients; scikit-learn carries it.
source = load_breast_cancer()
columns = ["radius", "texture", "smoothness", "concavity", "symmetry"]
places = [0, 1, 4, 6, 8]
patients = {name: source.data[:, i] for name, i in zip(columns, places, strict=True)}
patients["diagnosis"] = np.where(source.target == 0, "malignant", "benign")

# What everybody may know: from the instrument's manual, never from the rows.
domain = dp.Domain(
    {
        "radius": dp.Number(5, 30, unit="px"),
        "texture": dp.Number(5, 40),
        "smoothness": dp.Number(0.05, 0.2),
        "concavity": dp.Number(0, 0.5),
        "symmetry": dp.Number(0.1, 0.35),
        "diagnosis": dp.Category(["benign", "malignant"]),
    },
    target="diagnosis",
)
ledger = dp.Ledger(epsilon=3)  # for a try; real rows need a file, see below
first, second = (
    dp.Table({n: v[half::2] for n, v in patients.items()}, domain, ledger)
    for half in (0, 1)
)

print("mean radius:", dp.stats.mean(first, "radius", epsilon="0.25"))
print("by diagnosis:", dp.stats.mean(first, "radius", by="diagnosis", epsilon="0.25"))

model = NaiveBayes(epsilon=1)
print(model.plan(domain))  # what it would ask; nothing is spent
model.fit(first)
print(model.privacy_)
print(model.predict([[18, 20, 0.1, 0.2, 0.2], [11, 15, 0.09, 0.02, 0.17]]))  # free

print("accuracy:", evaluate(model, second, epsilon=1).accuracy)
print(ledger)
try:
    dp.stats.count(first, epsilon=1)
except dp.errors.BudgetError as refusal:
    print("refused:", refusal)
