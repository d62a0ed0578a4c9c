"""Splits by absolute sums: how far one row moves them, from sums of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreto as dp
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.tree_splits import BITS, SplitHistogram, SplitScore
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Choice, bind
from discreto.errors import ParameterError

COLUMN = dp.Domain({"d": dp.Category(["p", "q"], missing=True), "c": dp.Boolean()})
GRID = Grid(("d",), ((),))
TOP = 1 << BITS  # the bound of a gradient


def scores(sums, encoding):
    """Scores of a node whose three codes hold such sums; counts play no role."""
    cells = np.array([[sums], [[0] * 3]], dtype=np.int64)
    return SplitScore(GRID, 1, "l1", 1.0, encoding).scores(cells, COLUMN)[0]


@pytest.mark.parametrize("encoding", ["native", "onehot", "either"])
def test_a_row_moves_absolute_sums_by_its_gradient(encoding):
    score, coins = SplitScore(GRID, 1, "l1", 1.0, encoding), np.random.default_rng(2)
    added = replaced = 0
    for _ in range(400):
        sums = coins.integers(-3, 4, 3) * TOP
        here = scores(sums, encoding)
        more = sums.copy()
        more[coins.integers(3)] += int(coins.choice([-1, 1])) * TOP
        there = scores(more, encoding)
        other = more.copy()
        other[coins.integers(3)] += int(coins.choice([-1, 1])) * TOP
        added = max(added, int(np.abs(there - here).max()))
        replaced = max(replaced, int(np.abs(scores(other, encoding) - here).max()))
    assert added == score.sensitivity("add-remove") == TOP
    assert replaced == score.sensitivity("replace") == 2 * TOP


SOFTMAX = Gradients(GRID, "c", "softmax", (0.0, 0.0), bits=BITS)


@pytest.mark.parametrize("by", ["l1", "gain"])
def test_scores_are_about_gradients_of_their_own_norm(by):
    """Two scores bounded in the l2 norm have an l1 norm of sqrt 2, and back."""
    right, wrong = ("l1", "l2") if by == "l1" else ("l2", "l1")
    score = SplitScore(GRID, 1, by)
    bind(Choice(SplitHistogram(replace(SOFTMAX, norm=right), Tree()), score), COLUMN)
    with pytest.raises(ParameterError, match="not about"):
        bind(
            Choice(SplitHistogram(replace(SOFTMAX, norm=wrong), Tree()), score), COLUMN
        )
