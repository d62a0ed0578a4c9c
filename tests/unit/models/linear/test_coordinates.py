"""Linear models get no worse with more budget; without noise they are the plain ones.

Three tables: correlated columns with six classes, digits, and a mix with categories.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LinearRegression as PlainLine
from sklearn.linear_model import LogisticRegression as PlainLogistic

import discreto as dp
from discreto.models import KMeans, LinearRegression, LogisticRegression
from discreto.models.linear.encoding import Encoding
from discreto.testing import simulate

SEEDS = 4


def _correlated():
    """36 columns that hardly differ from nine, as in pictures of fields from above."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, 3000)
    base = rng.normal(0, 0.15, (6, 4))[y] + rng.normal(0, 0.1, (3000, 4))
    X = np.repeat(base, 9, axis=1) + rng.normal(0, 0.05, (3000, 36))
    return np.clip(X, -1, 1), y


def _table(name):
    if name == "mixed":
        rng = np.random.default_rng(1)
        city, age = rng.choice(["a", "b", "c", "d"], 3000), rng.uniform(18, 90, 3000)
        score = (age - 50) / 15 + np.select([city == "a", city == "b"], [2, -2], 0)
        y = (rng.random(3000) < 1 / (1 + np.exp(-score))).astype(int)
        frame = pd.DataFrame({"city": city, "age": age, "y": y})
        cities = dp.Category(["a", "b", "c", "d"], missing=False)
        kinds = {"city": cities, "age": dp.Number(0, 120)}
    else:
        X, y = _correlated() if name == "correlated" else load_digits(return_X_y=True)
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
        low, high = (-1, 1) if name == "correlated" else (0, 16)
        kinds = dict.fromkeys(frame, dp.Number(low, high))
        frame["y"] = y
    classes = dp.Category(sorted(set(frame["y"].tolist())))
    return frame, dp.Domain(kinds | {"y": classes}, target="y")


def _scores(name, epsilon, delta=0):
    frame, domain = _table(name)
    half = len(frame) // 2
    out = []
    for seed in range(SEEDS):
        rows = frame.sample(frac=1, random_state=seed)
        model = LogisticRegression(epsilon=epsilon, delta=delta)
        model.fit(dp.Table(rows[:half], domain.with_(rows=half), simulate(seed)), "y")
        out.append(np.mean(model.predict(rows[half:]) == rows["y"].to_numpy()[half:]))
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["correlated", "digits", "mixed"])
def test_logistic_regression_is_no_worse_with_more_budget(name):
    one, eight, delta = _scores(name, 1), _scores(name, 8), _scores(name, 1, "1e-5")
    spread = max(one.std(), eight.std(), delta.std(), 0.01)
    assert eight.mean() > one.mean() - spread
    assert delta.mean() > one.mean() - spread


@pytest.mark.slow
@pytest.mark.parametrize("name", ["correlated", "digits", "mixed"])
def test_without_noise_logistic_regression_is_scikit_learns(name):
    frame, domain = _table(name)
    table = dp.Table(frame, domain, simulate(noise=False))
    model = LogisticRegression(epsilon=10**6, max_iter=40).fit(table, "y")
    terms = Encoding(model.space_).matrix(frame)
    plain = PlainLogistic(C=1.0, max_iter=2000).fit(terms, frame["y"])
    ours, theirs = model.predict_proba(frame), plain.predict_proba(terms)
    assert np.mean(ours.argmax(axis=1) == theirs.argmax(axis=1)) > 0.98
    assert np.abs(ours - theirs).mean() < 0.02


def _line(epsilon, delta=0, wide=1, seeds=SEEDS):
    X, y = load_diabetes(return_X_y=True)
    X, y = np.tile(X, (5, 1)), np.tile(y, 5)
    half, out = 175 * wide, []
    for seed in range(seeds):
        model = LinearRegression(
            epsilon=epsilon,
            delta=delta,
            bounds=(-0.2, 0.2),
            target_bounds=(175 - half, 175 + half),
            ledger=simulate(seed),
        )
        out.append(model.fit(X, y).score(X, y))
    return np.array(out)


@pytest.mark.slow
def test_linear_regression_is_no_worse_with_more_budget():
    one, eight, delta = _line(1), _line(8), _line(1, "1e-5")
    spread = max(one.std(), eight.std(), delta.std(), 0.01)
    assert eight.mean() > one.mean() - spread
    assert delta.mean() > one.mean() - spread
    assert one.mean() > 0.2


@pytest.mark.slow
def test_a_target_range_ten_times_too_wide_costs_little():
    assert _line(1, wide=10).min() > 0.1
    assert _line(1, "1e-5", wide=10).min() > 0.3


def test_few_declared_rows_give_a_constant():
    X, y = load_diabetes(return_X_y=True)
    frame = pd.DataFrame(X[:100], columns=[f"x{i}" for i in range(10)])
    frame["y"] = y[:100]
    kinds = dict.fromkeys(frame, dp.Number(-0.2, 0.2)) | {"y": dp.Number(0, 350)}
    domain = dp.Domain(kinds, target="y", rows=100)
    model = LinearRegression(epsilon="0.1").fit(dp.Table(frame, domain, simulate(0)))
    assert not model.coef_.any()
    assert len(model.privacy_.plan) == 3


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_without_noise_linear_regression_is_least_squares(delta):
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression(
        epsilon=10**6,
        delta=delta,
        bounds=(-0.2, 0.2),
        target_bounds=(0, 350),
        ledger=simulate(noise=False),
    ).fit(X, y)
    plain = PlainLine().fit(X, y)
    off = model.predict(X) - plain.predict(X)
    assert np.sqrt(np.mean(off**2)) < 0.02 * y.std()


@pytest.mark.slow
def test_clusters_are_no_worse_with_more_budget():
    X, _ = _correlated()
    costs = {}
    for epsilon, delta in ((1, 0), (8, 0), (1, "1e-5")):
        far = []
        for seed in range(SEEDS):
            model = KMeans(
                6,
                epsilon=epsilon,
                delta=delta,
                bounds=(-1, 1),
                ledger=simulate(seed),
                random_state=seed,
            )
            far.append(np.mean(model.fit(X).transform(X).min(axis=1) ** 2))
        costs[epsilon, delta] = np.array(far)
    spread = max(found.std() for found in costs.values())
    assert costs[8, 0].mean() < costs[1, 0].mean() + spread
    assert costs[1, "1e-5"].mean() < costs[1, 0].mean() + spread
