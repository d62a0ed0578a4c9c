"""Means that a hostile silo cannot move far."""

from __future__ import annotations

import numpy as np
import pytest
from silos import LINEAR, parts

from discreto.errors import ParameterError
from discreto.federated import FederatedAveraging, GraphLearning, simulate
from discreto.federated.robust import (
    RULES,
    counted,
    moment_mean,
    neighbour_mean,
    silo_mean,
)

HONEST = np.random.default_rng(0).normal(1, 0.1, (2, 6, 3))
ROWS = np.array([100.0, 200, 300, 150, 250, 120, 1e9])
SHARES = [0.25, 0.15, 0.15, 0.15, 0.15, 0.15]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("lie", [1e9, -1e9, np.array([1e6, -1e6, 0])], ids=str)
def test_one_liar_moves_a_mean_by_the_spread_of_honest_values(rule, lie):
    points = np.concatenate([HONEST, np.broadcast_to(lie, (2, 1, 3))], axis=1)
    start = np.zeros((2, 3))
    told = neighbour_mean(points[:, -6:], SHARES, 0, rule, 1)
    for found in (silo_mean(points, ROWS, start, rule, 1), told):
        far = np.abs(found - 1).max()
        assert (far > 1e3) if rule == "none" else (far < 1.5)
    if rule != "none":
        assert np.abs(moment_mean(points, rule, 1) - 1).max() < 0.5


@pytest.mark.parametrize("rule", RULES)
def test_equal_values_stay_what_they_are(rule):
    same = np.full((1, 5, 2), 0.5)
    assert np.allclose(silo_mean(same, np.ones(5), np.zeros((1, 2)), rule, 2), 0.5)
    assert np.allclose(neighbour_mean(same, [0.2] * 5, 3, rule, 2), 0.5)


def test_nobody_counts_for_more_than_four_times_the_middle():
    assert counted(ROWS, "trimmed").max() == 4 * np.median(ROWS)
    assert counted(ROWS, "none").max() == 1e9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", [FederatedAveraging, GraphLearning])
def test_honest_silos_still_learn(kind, rule):
    more = {"graph": "seven"} if kind is GraphLearning else {}
    learner = kind(epsilon=2, rounds=30, robust=rule, **more)
    assert simulate(learner, parts(1), LINEAR).error < 0.03


def test_rules_have_names():
    with pytest.raises(ParameterError, match="robust"):
        FederatedAveraging(epsilon=1, robust="mean")
    with pytest.raises(ParameterError, match="hostile"):
        GraphLearning(epsilon=1, hostile=0)
