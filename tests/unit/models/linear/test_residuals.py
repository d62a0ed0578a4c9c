"""A line from one look at very many rows; from residuals where that is not enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Plain

import discreto as dp
from discreto import models
from discreto.core.query import Everyone
from discreto.models.linear import residuals as _one_look
from discreto.models.linear.coordinates import Design
from discreto.models.linear.moments import Moments, centred, least_squares
from discreto.models.linear.residuals import PLENTY, _spoiled, by_residuals
from discreto.testing import simulate

ONCE = "products of whole rows"
MUCH = 10**6  # an epsilon that makes few rows as clear as many


def domain(rows: int | None = 3000) -> dp.Domain:
    columns = {"a": dp.Number(-2, 3), "b": dp.Number(0, 10), "y": dp.Number(-50, 50)}
    town = dp.Category(["x", "y", "z"])
    return dp.Domain(columns | {"town": town}, target="y", rows=rows)


def data(count: int = 3000) -> dict[str, Any]:
    coins = np.random.default_rng(0)
    a, b = coins.uniform(-2, 3, count), coins.uniform(0, 10, count)
    town = coins.integers(0, 3, count)
    y = 4 * a - b + 5 * (town == 2) + coins.normal(0, 2, count)
    return {"a": a, "b": b, "y": y, "town": np.array(["x", "y", "z"])[town]}


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was foreseen, in dry runs and last for real."""
    found: list[float] = []

    def noted(*given: Any) -> float:
        found.append(_spoiled(*given))
        return found[-1]

    monkeypatch.setattr(_one_look, "_spoiled", noted)
    return found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The lines that residuals gave, in dry runs and last for real."""
    found: list[Any] = []

    def noted(*given: Any) -> Any:
        found.append(by_residuals(*given))
        return found[-1]

    monkeypatch.setattr(_one_look, "by_residuals", noted)
    return found


@pytest.mark.parametrize("delta", [0, "1e-5"])
def test_many_rows_are_looked_at_once(
    delta: Any, spoiled: list[float], looks: list[Any]
) -> None:
    table = dp.Table(data(), domain(), simulate(0))
    model = models.LinearRegression(epsilon=MUCH, delta=delta).fit(table)
    assert 0 < spoiled[-1] < 1e-5
    assert not any(
        np.any(line.slopes) for line in looks
    )  # of empty tables, all of them
    rows = data()
    town = np.eye(3)[np.searchsorted(["x", "y", "z"], rows["town"])]
    X = np.column_stack([rows["a"], rows["b"], town])
    plain = Plain().fit(X, rows["y"])
    ours = model.predict(pd.DataFrame(rows).drop(columns="y"))
    np.testing.assert_allclose(ours, plain.predict(X), atol=0.05)


def test_noise_that_is_heard_leads_to_residuals(
    spoiled: list[float], looks: list[Any]
) -> None:
    """Rows that are not as many as was said."""
    table = dp.Table(data(), domain(10**9), simulate(0))
    models.LinearRegression(epsilon=1).fit(table)
    assert spoiled[-1] > 1e-5
    assert np.any(looks[-1].slopes)


@pytest.mark.parametrize(("more", "first"), [(1, ONCE), (-1, "median of the target")])
def test_rows_decide(more: int, first: str) -> None:
    plan = models.LinearRegression(epsilon=1).plan(domain(PLENTY // 8 + more))
    assert {form[0].label for form in plan.forms} == {first}


def test_a_noisy_count_may_say_that_rows_are_many() -> None:
    plan = models.LinearRegression(epsilon=1).plan(domain(None))
    once = ["rows", ONCE, ONCE]
    assert once in [[question.label for question in form] for form in plan.forms]


@pytest.mark.parametrize("gaussian", [False, True])
def test_what_noise_adds_is_foreseen(gaussian: bool) -> None:
    """As much as lines from noisy products are worse than the best, on average."""
    coins = np.random.default_rng(1)
    x = coins.normal(0, (0.5, 0.4, 0.05), (2000, 3))
    y = x @ [1, -2, 0.5] + coins.normal(0, 0.3, 2000)
    full = np.column_stack([np.ones(2000), x, y])
    true = full.T @ full
    left = float(np.linalg.lstsq(full[:, :-1], y, rcond=None)[1][0])
    first, names = 0.1, ("a", "b", "c")
    second = first / (9 if not gaussian else 3)
    numbers = np.ones(3, dtype=bool)
    design = Design(names, numbers, 3, gaussian, True, Everyone(), Everyone())

    def noisy(noise: float) -> Any:
        drawn = np.triu(coins.normal(0, noise, (5, 5)))
        sums = true + drawn + np.triu(drawn, 1).T
        return Moments(sums, np.full((5, 5), noise**2))

    added, foreseen = [], []
    for _ in range(300):
        foreseen.append(_spoiled(noisy(first), design))
        means, around = centred(noisy(second), shrink=True)
        slopes = least_squares(around, shrink=True)
        found = means[-1] + (x - means[:-1]) @ slopes
        added.append(np.sum((y - found) ** 2) / left - 1)
    assert np.mean(foreseen) == pytest.approx(np.mean(added), rel=0.2)
