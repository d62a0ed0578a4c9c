"""Scores that may only rise or fall along a column, whatever noise did to leaves."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto.core.maps.trees import Tree
from discreto.errors import ParameterError
from discreto.models import (
    BoostingSettings,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.boosting.monotone import in_order
from discreto.models.interop.json import dumps, loads
from discreto.testing import simulate


def facts(target, missing=False):
    columns = {n: dp.Number(0, 1, missing=missing) for n in ("up", "free", "down")}
    return dp.Domain({**columns, "y": target}, target="y")


def worst(model, name, way):
    """The largest step in the wrong direction, over many other places."""
    coins = np.random.default_rng(0)
    rows, place = coins.random((200, 3)), list("ufd").index(name[0])
    grid = np.linspace(0, 1, 65)
    scores = []
    for value in grid:
        rows[:, place] = value
        scores.append(model._scores(rows)[:, 0])
    return float((-way * np.diff(np.array(scores), axis=0)).max())


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("splits", ["greedy", "random"])
@pytest.mark.parametrize("number", [True, False])
def test_scores_keep_to_the_order(missing, splits, number):
    coins = np.random.default_rng(1)
    X = coins.random((400, 3))
    y = X[:, 0] - X[:, 2] + coins.normal(0, 0.3, 400)
    kind = GradientBoostingRegressor if number else GradientBoostingClassifier
    target = dp.Number(-2, 2) if number else dp.Category([0, 1])
    y = y if number else (y > 0).astype(int)
    free, bound = (
        kind(
            n_estimators=12,
            max_depth=3,
            epsilon=2,
            settings=BoostingSettings(splits=splits, monotone=ways),
            domain=facts(target, missing),
            ledger=simulate(3),
            random_state=5,
        ).fit(X, y)
        for ways in (None, {"up": 1, "down": -1})
    )
    assert worst(free, "up", 1) > 1e-3  # noise alone would break it
    assert worst(bound, "up", 1) <= 1e-12
    assert worst(bound, "down", -1) <= 1e-12
    again = loads(dumps(bound))
    np.testing.assert_array_equal(again._scores(X), bound._scores(X))


def test_values_in_order_are_left_alone_and_others_meet_halfway():
    tree = Tree((0, 1, 0), ((0, 1, 1), (0, 1, 0), (0, 0, 1)))
    fine = np.array([[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(in_order(tree, fine, (1, 0), [False, False]), fine)
    turned = in_order(tree, fine, (-1, 0), [False, False])
    np.testing.assert_array_equal(turned[:, 0], [1.5] * 4)


def test_what_has_no_order_is_refused_before_anything_is_paid():
    for settings in ({"up": 1}, {"up": 2}, {"nobody": 1}, [1, 0, 0]):
        classes = ["a", "b", "c"] if settings == {"up": 1} else ["a", "b"]
        model = GradientBoostingClassifier(
            epsilon=1, settings=BoostingSettings(monotone=settings)
        )
        with pytest.raises(ParameterError, match="monotone"):
            model.plan(facts(dp.Category(classes)))
