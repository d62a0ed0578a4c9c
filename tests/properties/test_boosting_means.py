"""No neighbour moves the mean of a leaf further than declared, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from brute import ADD, REPLACE, TWICE, check_sum

from discreto.core import aggregate
from discreto.core.maps import KINDS
from discreto.core.maps.leaf_means import LeafMean
from discreto.core.maps.row_partition import HashParts, Parts
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import Grid, Leaves, Tree
from discreto.core.query import Derived, inside
from discreto.core.query_json import decode, encode
from discreto.core.validation import check_parts
from discreto.errors import ParameterError

GRID = Grid(("y", "d"), ((0.5,), ()))
# Gradients of 1, 0 and -1: scores far up where y is low, far down where it is not.
FAR = Tree((0,), ((0, 1),), ((60.0,), (-60.0,)))
BY_D = Tree((1,), ((0, 1, 1),))
EXTREME = Gradients(GRID, "c", "logistic", (0.0,), (FAR,))
RIDGES = [0.0, 0.1, 1.0, 7.5]
CUTS = [1.0, 0.9, 0.45, 0.25, 0.1, 0.0]


def steps_of(mean, rows, sums):
    """The value of a leaf with so many rows and such a gradient sum, in steps."""
    rows, sums = np.asarray(rows) * mean.top, np.asarray(sums)
    return mean.of(np.stack([rows + sums, rows - sums], axis=-1).reshape(-1, 2))[:, 0]


def furthest(mean, most_rows=4):
    """How far a row that comes, two that come, and a replaced one move a leaf.

    Every whole gradient sum of every leaf of a few rows is tried.
    """
    top, values = mean.top, []
    for rows in range(most_rows + 3):
        sums = np.arange(-rows * top, rows * top + 1)
        values.append(steps_of(mean, np.full(sums.size, rows), sums))
    one = two = other = 0
    for rows in range(most_rows + 1):
        for come in range(-2 * top, 2 * top + 1):
            places = np.arange(values[rows].size) + come  # without the rows' own shift
            here = values[rows]
            if abs(come) <= top:
                gap = values[rows + 1][places + top] - here
                one = max(one, np.abs(gap).max())
            two = max(two, np.abs(values[rows + 2][places + 2 * top] - here).max())
            inside = (places >= 0) & (places < here.size)
            if rows and inside.any():
                gap = here[places[inside]] - here[inside]
                other = max(other, np.abs(gap).max())
    return one, two, other


def mean_of(ridge, cut, bits=4):
    return LeafMean(Gradients(GRID, "c", "logistic", (0.0,), bits=bits), ridge, cut)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("ridge", RIDGES)
def test_no_row_moves_a_mean_beyond_its_reach(ridge, cut):
    mean = mean_of(ridge, cut)
    one, two, other = furthest(mean)
    assert one <= mean.reach()
    assert two <= 2 * mean.reach()
    assert other <= 2 * mean.reach()
    assert one >= mean.reach() - 1  # as small as the rounding of sums allows


def test_a_reach_that_is_too_small_is_found_out(monkeypatch):
    right = LeafMean.reach
    monkeypatch.setattr(LeafMean, "reach", lambda self: right(self) * 4 // 5)
    for ridge, cut in ((0.0, 1.0), (0.1, 0.45), (1.0, 0.25)):
        mean = mean_of(ridge, cut)
        assert furthest(mean)[0] > mean.reach()


def test_the_reach_is_attained_on_the_fine_grid():
    for ridge, cut, far in ((0.1, 1.0, 1 / 1.1), (0.1, 0.45, 1.45 / 2.1)):
        mean = mean_of(ridge, cut, 20)
        alone = min(round(cut * (1 + ridge) * mean.top), mean.top)
        here, there = steps_of(mean, [1, 2], [alone, alone - mean.top])
        assert abs(there - here) == pytest.approx(far * mean.top, abs=2)
        assert abs(there - here) <= mean.reach() == pytest.approx(far * mean.top, abs=2)
    # The printed bound is valid, and larger: min(1 / (1 + ridge), 2 cut).
    assert mean.reach() < min(1 / 1.1, 0.9) * mean.top


# Whole tables, through the fold that a fit takes.


class Rows:
    """A source of the rows of one batch."""

    def __init__(self, batch, length, domain):
        self.facts, self.domain = (batch, length), domain

    def refusal(self, asked, sampled=False):
        return ""

    def unready(self):
        return ""

    def unchanged(self):
        return True

    def fold(self, query, keep=None):
        return aggregate.fold(inside(query, self.domain), *self.facts)


def fold(query, batch, length, domain):
    rows = Rows(batch, length, domain)
    return [query.function.compute(rows.fold, query.cells, domain)]


def fold_part(query, batch, length, domain):
    rows, parts = Rows(batch, length, domain), Parts(HashParts(("y", "c"), (1, 1)))
    return [
        query.function.compute(
            lambda sums: rows.fold(parts.restrict(sums, 0)), query.cells, domain
        )
    ]


def question(ridge=0.1, cut=1.0):
    return Derived(Leaves(GRID, BY_D, "c"), LeafMean(EXTREME, ridge, cut))


@pytest.mark.parametrize("how", [fold, fold_part])
@pytest.mark.parametrize(("ridge", "cut"), [(0.0, 1.0), (0.1, 1.0), (0.1, 0.4)])
def test_neighbours_move_means_no_further_than_declared(ridge, cut, how):
    largest = 3 if how is fold else 2
    check_sum(question(ridge, cut), ADD, REPLACE, TWICE, largest=largest, fold=how)


def test_replaced_rows_reach_the_bound():
    moved = check_sum(question(0.0, 1.0), REPLACE, largest=2, fold=fold)[0]
    # From 1 to -1 in a leaf of a single row.
    assert (moved.l1, moved.l2) == (2 << 20, 4 << 40)


def test_too_small_a_bound_of_a_table_is_found_out(monkeypatch):
    right = LeafMean.reach
    monkeypatch.setattr(LeafMean, "reach", lambda self: right(self) * 9 // 10)
    with pytest.raises(AssertionError, match="moved"):
        check_sum(question(), ADD, largest=2, fold=fold)


def test_strangers_cannot_send_it():
    sent = encode(question())
    with pytest.raises(ParameterError, match="unknown kind"):
        decode(sent, KINDS)


@pytest.mark.parametrize(
    ("gradients", "ridge", "cut"),
    [
        (EXTREME, -0.5, 1.0),
        (EXTREME, 0.1, 1.5),
        (EXTREME, float("nan"), 1.0),
        (Gradients(GRID, "c", "softmax", (0.0, 0.0)), 0.1, 1.0),
        (Gradients(GRID, "c", "logistic", (0.0,), weight=1.0), 0.1, 1.0),
    ],
)
def test_what_voids_the_bound_is_refused(gradients, ridge, cut):
    with pytest.raises(ParameterError):
        check_parts(LeafMean(gradients, ridge, cut), ADD)


def test_the_value_is_that_of_the_formula():
    coins = np.random.default_rng(0)
    for ridge, cut in ((0.0, 1.0), (0.3, 0.5), (5.0, 0.02)):
        mean = mean_of(ridge, cut, 20)
        rows = coins.integers(0, 1 << 30, 50) * (coins.random(50) < 0.9)
        sums = np.rint(coins.uniform(-1, 1, 50) * rows * mean.top).astype(np.int64)
        plain = -sums / mean.top / np.maximum(rows + ridge, 1e-300)
        found = steps_of(mean, rows, sums) / mean.top
        np.testing.assert_allclose(found, np.clip(plain, -cut, cut), atol=2**-20)
