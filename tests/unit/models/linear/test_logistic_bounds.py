"""LogisticRegression in wide bounds, with many terms, and with a delta."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.models import LinearRegression, LogisticRegression
from discreto.models.interop.json import dumps, loads
from discreto.testing import simulate

SEEDS = 4


def corner(width, count, seed=0):
    """Four columns that fill the lower end of their bounds, and two classes."""
    coins = np.random.default_rng(seed)
    y = coins.integers(0, 2, count)
    X = coins.normal(np.where(y[:, None] == 1, 4.0, 6.0), 1.5, (count, 4))
    bounds = (np.zeros(4), np.full(4, 10.0 * width))
    return np.clip(X, 0, 10), y, bounds


def in_corner(width, epsilon, delta=0):
    """Scores and log losses on other rows."""
    new, truth, _ = corner(width, 2000, seed=99)
    right, lost, models = [], [], []
    for seed in range(SEEDS):
        X, y, bounds = corner(width, 600, seed)
        model = LogisticRegression(
            epsilon=epsilon,
            delta=delta,
            bounds=bounds,
            classes=[0, 1],
            ledger=simulate(seed),
        ).fit(X, y)
        right.append(model.score(new, truth))
        chance = model.predict_proba(new)[np.arange(len(truth)), truth]
        lost.append(-np.log(chance).mean())
        models.append(model)
    return np.mean(right), np.mean(lost), models


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, 1e-5])
@pytest.mark.parametrize("width", [10, 100])
def test_rows_in_a_corner_of_wide_bounds_are_found(width, delta):
    tight, _, _ = in_corner(1, 4, delta)
    right, lost, models = in_corner(width, 4, delta)
    assert right > tight - 0.05
    assert lost < 0.4  # by chance: 0.69
    views = [model.view_ for model in models]
    ends = [view.domain.number(n).upper for view in views for n in view.numbers]
    assert np.median(ends) < 5 * width  # noise hides one column in six
    model = models[-1]
    again = loads(dumps(model))
    X, _, _ = corner(width, 50, seed=7)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("epsilon", [0.5, 1])
def test_what_cannot_be_found_is_not_made_up(epsilon):
    """Rows in a corner, too few to be found there: class shares, not noise."""
    _, lost, _ = in_corner(100, epsilon)
    assert lost < 0.75


def test_a_ridge_on_narrow_columns_is_no_overshoot():
    """Columns of a 30th of their bounds, where the ridge is steeper than the loss."""
    coins = np.random.default_rng(3)
    X = coins.uniform(-1, 1, (500, 3)) / 30
    y = (coins.random(500) < 1 / (1 + np.exp(-60 * X[:, 0]))).astype(int)
    model = LogisticRegression(
        epsilon=10**6,
        method="gradient",
        max_iter=4,
        C=1.0,
        clipping=False,
        bounds=(-1, 1),
        classes=[0, 1],
        ledger=simulate(noise=False),
    ).fit(X, y)
    plain = model.reference().fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), plain.predict_proba(X), atol=0.01
    )


def codes(count, seed):
    """Forty columns that say the same, and one that knows better."""
    coins = np.random.default_rng(seed)
    first = coins.integers(0, 4, count)
    y = np.isin(first, [0, 1]).astype(int)
    same = np.where(coins.random(count) < 0.75, y, 1 - y)
    columns = {"first": first}
    for i in range(40):
        columns[f"c{i}"] = np.where(coins.random(count) < 0.9, same, 2)
    return pd.DataFrame(columns | {"y": y})


@pytest.mark.slow
def test_more_budget_helps_a_table_of_categories():
    """What columns say twice is told from what they say once, if it can be heard."""
    four = dp.Category(range(4), missing=False)
    three = dp.Category(range(3), missing=False)
    kinds = {"first": four} | {f"c{i}": three for i in range(40)}
    kinds |= {"y": dp.Category([0, 1], missing=False)}
    domain = dp.Domain(kinds, target="y", rows=3000)
    right = {}
    for epsilon in (1, 8):
        found = []
        for seed in range(SEEDS):
            table = dp.Table(codes(3000, seed), domain, simulate(seed))
            model = LogisticRegression(epsilon=epsilon).fit(table)
            new = codes(1000, 50 + seed)
            found.append(np.mean(model.predict(new) == new["y"]))
        right[epsilon] = np.mean(found)
    assert right[8] > right[1] + 0.1
    assert right[8] > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, 1e-5])
def test_a_constant_of_hardly_any_rows_is_not_at_an_end(delta):
    """120 rows at epsilon 1/10: the mean is drawn to the middle, not to an end."""
    coins = np.random.default_rng(0)
    X, y = coins.uniform(0, 1, (120, 3)), coins.normal(45, 12, 120)
    off = []
    for seed in range(20):
        model = LinearRegression(
            epsilon="0.1",
            delta=delta,
            bounds=(0, 1),
            target_bounds=(0, 100),
            ledger=simulate(seed),
        ).fit(X, y)
        off.append(model.predict(X[:1])[0] - y.mean())
    assert np.sqrt(np.mean(np.square(off))) < 15
    assert np.abs(off).max() < 40
