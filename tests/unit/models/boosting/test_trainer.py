"""Without noise the trees equal a plain implementation, written here from scratch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreto as dp
from discreto.models import (
    BoostingSettings,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.base.binning import cuts_of
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "a": dp.Number(0, 10, missing=True),
        "b": dp.Number(-1, 1),
        "s": dp.Category(["x", "y", "z"]),
        "amount": dp.Number(0, 100),
        "label": dp.Category(["no", "yes"]),
    }
)
BINS = 8


def data(rows=400, seed=3):
    coins = np.random.default_rng(seed)
    a = coins.uniform(0, 10, rows)
    b, s = coins.uniform(-1, 1, rows), coins.integers(0, 3, rows)
    score = 4 * (a > 5) + 2 * b * (s == 1) - 3 * (s == 2)
    a[coins.random(rows) < 0.1] = np.nan
    yes = coins.random(rows) < 1 / (1 + np.exp(-score))
    return {
        "a": a,
        "b": b,
        "s": np.array(["x", "y", "z"])[s],
        "amount": np.clip(50 + 8 * score + coins.normal(0, 3, rows), 0, 100),
        "label": np.where(yes, "yes", "no"),
    }


def codes_of(rows):
    """Codes by hand: a number's cuts below it, the place of a category."""
    out, kinds = [], []
    for name in ("a", "b"):
        cuts = cuts_of(DOMAIN[name], BINS)
        column = []
        for value in rows[name]:
            missing = len(cuts) + 1 if DOMAIN[name].missing else len(cuts) // 2
            below = sum(cut < value for cut in cuts)
            column.append(missing if math.isnan(value) else below)
        out.append(column)
        kinds.append(("number", len(cuts) + 1, DOMAIN[name].missing))
    out.append(["xyz".index(value) for value in rows["s"]])
    kinds.append(("category", 3, False))
    return np.array(out).T, kinds


def splits_of(kinds):
    """Every split, in the order of the candidates: a column and a child by code."""
    for j, (kind, size, missing) in enumerate(kinds):
        if kind == "category":
            yield j, {code: code for code in range(size)}
            continue
        last = size if missing else size - 1
        for cut in range(last):
            yield j, {code: int(code > cut) for code in range(last + 1)}
        for cut in range(size - 1 if missing else 0):
            sides = {code: int(code > cut) for code in range(size)}
            yield j, sides | {size: 0}


class Plain:
    """Boosting with complete trees, one noiseless greedy choice after another."""

    def __init__(self, rows, trees, depth, rate, ridge, gain, loss, leaf="newton"):
        self.codes, self.kinds = codes_of(rows)
        self.rate, self.ridge, self.gain, self.loss = rate, ridge, gain, loss
        self.leaf = leaf
        if loss == "logistic":
            self.y = (rows["label"] == "yes").astype(float)
            self.clip, self.scores = 1.0, np.zeros(len(self.y))
        else:
            self.y, self.clip = rows["amount"], 50.0
            self.scores = np.full(len(self.y), 50.0)
        for _ in range(trees):
            self.grow(depth)

    def gradients(self):
        if self.loss == "logistic":
            p = 1 / (1 + np.exp(-self.scores))
            return p - self.y, p * (1 - p)
        g = np.clip((self.scores - self.y) / self.clip, -1, 1)
        return g, np.ones(len(g))

    def worth(self, g, children):
        total = 0
        for child in set(children.tolist()):
            inside = children == child
            # Whole grid steps, as in the histogram.
            s = np.rint(g[inside] * 4096).sum()
            if self.gain:
                total += s * s / (inside.sum() + self.ridge)
            else:
                total += abs(s)
        return total

    def grow(self, depth):
        g, h = self.gradients()
        h = np.ones(len(g)) if self.leaf == "mean" else h
        nodes = np.zeros(len(g), dtype=int)
        for _ in range(depth):
            below = np.zeros(len(g), dtype=int)
            first = 0
            for node in range(nodes.max() + 1):
                inside = nodes == node
                best, worth = None, -1.0
                for column, route in splits_of(self.kinds):
                    children = np.array([route[c] for c in self.codes[inside, column]])
                    found = self.worth(g[inside], children)
                    if found > worth + 1e-3:
                        best, worth = (children, max(route.values()) + 1), found
                below[inside] = first + best[0]
                first += best[1]
            nodes = below
        for leaf in range(nodes.max() + 1):
            inside = nodes == leaf
            value = -g[inside].sum() / (h[inside].sum() + self.ridge)
            value = min(max(value, -4), 4)
            self.scores[inside] += self.rate * self.clip * value


@pytest.mark.parametrize("leaf", ["newton", "mean"])
@pytest.mark.parametrize("gain", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_trees_equal_the_plain_ones(loss, gain, leaf):
    rows = data()
    target = "label" if loss == "logistic" else "amount"
    kind = GradientBoostingRegressor
    options = {"residual_bound": "range"}
    if loss == "logistic":
        kind, options = GradientBoostingClassifier, {}
    names = ["a", "b", "s", target]
    model = kind(
        3,
        epsilon=1000,
        max_depth=2,
        learning_rate=0.5,
        max_bins=BINS,
        settings=BoostingSettings(
            reg_lambda=1.5,
            split_score="gain" if gain else "l1",
            leaf=leaf,
            multiway=False,
            staged=False,
            start=False,
            shrink=False,
            **options,
        ),
    )
    domain = DOMAIN.select(names).with_(target=target)
    table = dp.Table({n: rows[n] for n in names}, domain, simulate(noise=False))
    model.fit(table)
    plain = Plain(rows, 3, 2, 0.5, 1.5, gain, loss, leaf)
    X = np.column_stack([np.asarray(rows[n], dtype=object) for n in ("a", "b", "s")])
    if loss == "logistic":
        found = model.decision_function(X)
    else:
        found = model.predict(X)
        plain.scores = np.clip(plain.scores, 0, 100)
    np.testing.assert_allclose(found, plain.scores, atol=2e-3 * plain.clip)
