"""Expressions of counts move by what they say, and by no less, on all small tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreto.core.lipschitz import Larger, Negative, Shifted, Weighed
from discreto.core.maps import CentredRanks, Extreme, Largest, Ranks

CELLS = 4
FACTORS = st.integers(-5, 5).map(lambda factor: (factor,))
WEIGHED = st.builds(Weighed, FACTORS, FACTORS, FACTORS)
EXPRESSIONS = st.recursive(
    WEIGHED,
    lambda inner: st.one_of(
        st.builds(Negative, inner),
        st.builds(Shifted, inner, st.integers(-9, 9), st.integers(0, 3)),
        st.builds(Larger, st.tuples(inner, inner), st.booleans()),
    ),
    max_leaves=4,
)


def counts(rows) -> np.ndarray:
    return np.bincount(rows, minlength=CELLS)[None, :].astype(np.int64)


TABLES = [
    t
    for n in range(4)
    for t in itertools.combinations_with_replacement(range(CELLS), n)
]


def changes(expression) -> tuple[list[int], list[int]]:
    """Return what adding a row changes, and what replacing one changes."""
    added, replaced = [], []
    for table in TABLES:
        found = []
        for row in range(CELLS):
            with_it = expression.values(counts(np.array([*table, row], dtype=int)))
            added.append(
                with_it - expression.values(counts(np.array(table, dtype=int)))
            )
            found.append(with_it)
        replaced += [a - b for a, b in itertools.permutations(found, 2)]
    return np.array(added), np.array(replaced)


@given(EXPRESSIONS)
def test_no_row_moves_an_expression_further_than_it_says(expression) -> None:
    moved = expression.moved()
    added, replaced = changes(expression)
    assert moved.least <= added.min()
    assert added.max() <= moved.most
    assert np.abs(replaced).max() <= moved.replaced


@given(WEIGHED)
def test_sums_move_exactly_so_far(expression) -> None:
    moved = expression.moved()
    added, replaced = changes(expression)
    assert (moved.least, moved.most) == (added.min(), added.max())
    assert np.abs(replaced).max() == moved.replaced


@pytest.mark.parametrize(
    ("score", "monotone", "adding", "replacing"),
    [
        (Largest(), True, 1, 1),
        (Ranks((1,), 2), False, 1, 2),
        (Ranks((1, 9), 10), False, 9, 10),
        (CentredRanks(Ranks((3,), 10), 4), False, 7, 10),
        (Extreme("low", 3), False, 1, 1),
        (Extreme("high", 3), False, 1, 1),
    ],
)
def test_what_follows_for_the_scores_in_use(score, monotone, adding, replacing) -> None:
    assert score.monotone is monotone
    assert score.sensitivity("add-remove") == adding
    assert score.sensitivity("replace") == replacing


@given(st.lists(st.integers(0, 30), min_size=3, max_size=9), st.integers(0, 10))
def test_ranks_are_minus_the_rows_by_which_a_cell_misses(cells, part) -> None:
    column = np.array(cells, dtype=np.int64)[:, None]
    found = Ranks((part,), 10).scores(column, None)[0]
    for i, score in enumerate(found):
        below, reached = sum(cells[:i]), sum(cells[: i + 1])
        wanted = part * sum(cells)
        assert score == -max(wanted - 10 * reached, 10 * below - wanted, 0)


@given(st.lists(st.integers(0, 30), min_size=3, max_size=9), st.integers(1, 20))
def test_extremes_are_minus_the_rows_by_which_a_cell_misses(cells, depth) -> None:
    for side, ordered in (("low", cells), ("high", cells[::-1])):
        column = np.array(cells, dtype=np.int64)[:, None]
        found = Extreme(side, depth).scores(column, None)[0]
        found = found if side == "low" else found[::-1]
        for i, score in enumerate(found):
            before, reached = sum(ordered[:i]), sum(ordered[: i + 1])
            assert score == -max(depth - reached, before - (depth - 1), 0)
