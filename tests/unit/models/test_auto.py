"""The public rules of the automatic models, and the count that they go by."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreto as dp
from discreto.models import AutoClassifier, AutoRegressor
from discreto.models.base.signal_to_noise import STRENGTHS
from discreto.testing import simulate


def domain(columns, classes=2, rows=None):
    features = {f"x{i}": dp.Number(0, 1, missing=False) for i in range(columns)}
    goal = dp.Category(list(range(classes)), missing=False)
    return dp.Domain(features | {"y": goal}, target="y", rows=rows)


def chosen(domain, rows, **cost):
    coins = np.random.default_rng(0)
    data = {n: coins.random(rows) for n in domain}
    goal = domain["y"]
    classes = isinstance(goal, dp.Category)
    data["y"] = coins.integers(0, 2, rows) if classes else data["x0"]
    kind = AutoClassifier if classes else AutoRegressor
    table = dp.Table(data, domain, simulate(1, noise=False))
    return kind(random_state=0, **cost).fit(table).model_


DELTA = {"delta": "1e-5"}


@pytest.mark.parametrize(
    ("rows", "cost", "name"),
    [
        (300, {"epsilon": "0.1"}, "CellNeighborsClassifier"),
        (300, {"epsilon": "0.6"}, "CellNeighborsClassifier"),
        (300, {"epsilon": 1}, "GradientBoostingClassifier"),
        (2000, {"epsilon": 1}, "GradientBoostingClassifier"),
        (300, {"epsilon": "0.5"} | DELTA, "CellNeighborsClassifier"),
        (300, {"epsilon": 1} | DELTA, "GradientBoostingClassifier"),
        (300, {"epsilon": 8} | DELTA, "LogisticRegression"),
        (1200, {"epsilon": 8} | DELTA, "GradientBoostingClassifier"),
    ],
)
def test_two_classes_are_told_apart_in_cells_then_by_trees(rows, cost, name):
    model = chosen(domain(8, rows=rows), rows, **cost)
    assert type(model).__name__ == name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "rows", "cost", "name"),
    [
        (4, 100, {"epsilon": 1}, "LogisticRegression"),  # few rows
        (16, 1000, {"epsilon": "0.2"}, "LogisticRegression"),
        (64, 1000, {"epsilon": "0.5"}, "CellNeighborsClassifier"),  # means are noise
        (64, 1000, {"epsilon": 1}, "LogisticRegression"),
        (8, 1000, {"epsilon": 1}, "CellNeighborsClassifier"),
        (64, 2000, {"epsilon": 2}, "LogisticRegression"),  # of many columns cells
        (8, 2000, {"epsilon": 4}, "GradientBoostingClassifier"),  # need more
        (36, 2000, {"epsilon": "0.1"} | DELTA, "CellNeighborsClassifier"),
        (36, 2000, {"epsilon": "0.5"} | DELTA, "LogisticRegression"),
        (36, 2000, {"epsilon": 2} | DELTA, "GradientBoostingClassifier"),
    ],
)
def test_more_classes_go_by_rows_of_a_class_over_noise(columns, rows, cost, name):
    model = chosen(domain(columns, classes=5, rows=rows), rows, **cost)
    assert type(model).__name__ == name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "epsilon", "name"),
    [
        (1200, "0.1", "CellNeighborsClassifier"),  # means of 64 columns are noise
        (1200, "0.5", "LogisticRegression"),  # cells: .47 of digits, a line .78
        (1200, 4, "GradientBoostingClassifier"),
    ],
)
def test_many_classes_with_a_delta_are_told_apart_by_a_line_early(rows, epsilon, name):
    facts = domain(64, classes=10, rows=rows)
    assert type(chosen(facts, rows, epsilon=epsilon, **DELTA)).__name__ == name


def test_means_of_classes_are_heard_where_rows_are_too_few_to_be_counted():
    y = np.arange(90) % 3
    data = {f"x{i}": 0.2 + 0.3 * y for i in range(4)} | {"y": y}
    table = dp.Table(data, domain(4, classes=3), simulate(1, noise=False))
    model = AutoClassifier(epsilon="0.5", delta="1e-5").fit(table)
    assert np.abs(model.model_.coef_).max() > 0.1


def number(rows=None):
    columns = {f"x{i}": dp.Number(0, 1, missing=False) for i in range(4)}
    goal = {"y": dp.Number(0, 1, missing=False)}
    return dp.Domain(columns | goal, target="y", rows=rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "cost", "trees", "line"),
    [
        (100, {"epsilon": 1}, 0, False),
        (400, {"epsilon": 1}, None, False),
        (700, {"epsilon": 1}, None, True),
        (1500, {"epsilon": 1}, None, True),
        (2000, {"epsilon": 1}, None, False),
    ],
)
def test_a_line_comes_before_trees_and_the_mean_before_both(rows, cost, trees, line):
    model = chosen(number(rows), rows, **cost)
    assert (type(model).__name__ == "LinearRegression") == line
    if not line:
        assert (model.n_trees_ == 0) == (trees == 0)
    if rows == 2000:  # they start from a line: a split of each column
        assert model.n_trees_ > 4


@pytest.mark.slow
@pytest.mark.parametrize("cost", [dp.Cost.of(1), dp.Cost.of(1, "1e-5")])
def test_what_is_left_hears_the_rows_as_well_as_the_count_did(cost):
    """A count costs a twentieth: rules must not fall to the next lower strength."""
    unit = float(cost.epsilon) or math.sqrt(float(2 * cost.rho))
    seen = []

    class Heard(AutoRegressor):
        def _chosen(self, ask, space, strength):
            seen.append(strength)
            return super()._chosen(ask, space, strength)

    delta = "1e-5" if cost.rho else 0
    for strength in STRENGTHS[2:4]:
        rows = round(strength / unit * 1.3)
        data = {n: np.linspace(0, 1, rows) for n in number()}
        table = dp.Table(data, number(), simulate(1, noise=False))
        Heard(epsilon=1, delta=delta, random_state=0).fit(table)
        assert strength <= seen[-1] < 1.1 * strength
