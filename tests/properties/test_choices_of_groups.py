"""Choices in several groups: a row that changes its group, or votes in many.

The law of permute-and-flip is worked out exactly for any number of candidates: in a
random order, candidate i is reached at a time u that is uniform on [0, 1], and taken if
its coin shows heads (h_i) and no earlier one was, so
P[i] = h_i * integral of prod_{j != i} (1 - u h_j) over u.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from brute import ADD, GAPS, REPLACE, TWICE, permute_and_flip
from scipy import special

from discreto.core.cost import Cost
from discreto.core.maps import (
    Bins,
    Categories,
    Cross,
    NearestRows,
    NearestVotes,
    Ranks,
    ReachVotes,
    RowsInReach,
)
from discreto.core.noise.calibration import scale_for
from discreto.core.query import Block, Choice, Ones, Sum, bind

ONES = (Block(Ones()),)

RATIO = Fraction(999, 1000)  # exp(-1 / scale): many candidates are nearly as good


@cache
def law(scores, ratio=RATIO):
    """The exact chances of all candidates."""
    heads = [ratio ** int(max(scores) - score) for score in scores]
    out = []
    for i, mine in enumerate(heads):
        poly = [Fraction(1)]  # of u, lowest power first
        for h in heads[:i] + heads[i + 1 :]:
            longer = [*poly, Fraction(0)]
            for k, part in enumerate(poly):
                longer[k + 1] -= h * part
            poly = longer
        out.append(mine * sum(part / (k + 1) for k, part in enumerate(poly)))
    return out


def test_the_law_is_that_of_all_orders():
    for scores in ((3, 1, 0), (0, 0, -2, -5), (-1, -1)):
        assert law(scores, Fraction(2, 3)) == permute_and_flip(scores, Fraction(2, 3))
        assert sum(law(scores)) == 1


def loss(score, one, two):
    """The largest ratio of chances between two tables of cell counts."""
    laws = []
    for counts in (one, two):
        sums = np.array(counts, dtype=np.int64)[:, None]
        groups = score.scores(sums, ADD).tolist()
        laws.append([law(tuple(group)) for group in groups])
    ratios = (
        math.prod(
            max(a / b for a, b in zip(p, q, strict=True))
            for p, q in zip(x, y, strict=True)
        )
        for x, y in (laws, laws[::-1])
    )
    return max(ratios)


CANDIDATES = 7
GROUPS = [  # cell counts of a group, and the cells in which a row may come or go
    ((4, 4, 0, 0, 0, 0, 1), (0, 1, 6)),
    ((0, 0, 0, 0, 4, 4, 1), (4, 5, 6)),
    ((1, 0, 0, 4, 4, 0, 1), (0, 3, 6)),
]


def worst(score):
    """A row leaves the group on the left and enters the one on the right."""
    most = Fraction(0)
    for (left, out), (right, into) in itertools.product(GROUPS, repeat=2):
        for gone, come in itertools.product(out, into):
            one, two = [*left, *right], [*left, *right]
            two[gone] -= 1
            one[CANDIDATES + come] -= 1
            most = max(most, loss(score, one, two))
    return most


@pytest.mark.parametrize(
    "score",
    [Ranks((9, 9), 10), Ranks((1, 1), 10), Ranks((1, 1), 2), Ranks((19, 10), 20)],
    ids=str,
)
def test_a_row_that_changes_its_group_is_paid_for(score):
    cells = Cross(Categories(("c",)), Bins("x", CANDIDATES))
    told = Choice(Sum(cells, (Block(Ones()),)), score).width(REPLACE)
    assert worst(score) <= RATIO**-told


def test_two_groups_lose_more_than_a_row_within_one():
    """What a single group needs under replace would not do: the test can fail."""
    score = Ranks((9, 9), 10)
    assert worst(score) > RATIO ** (-2 * score.sensitivity("replace"))


@pytest.mark.parametrize("part", [9, 1, 5])
def test_a_row_that_changes_its_part_is_paid_for(part):
    """Two parts of a table, asked for one choice each, are two groups to a row."""
    choice = Choice(Sum(Bins("x", CANDIDATES), (Block(Ones()),)), Ranks((part,), 10))
    told = choice.width(REPLACE, whole=False)
    assert worst(Ranks((part, part), 10)) <= RATIO**-told
    assert scale_for(bind(choice, REPLACE), Cost.of("0.1")) == 10 * told


@pytest.mark.parametrize("cost", [Cost.of("0.1"), Cost(rho=Fraction(1, 50))], ids=str)
def test_what_a_whole_table_needs_is_not_kept_for_a_part(cost):
    """The same bound question, asked of both, in either order."""
    choice = Choice(Sum(Bins("x", CANDIDATES), (Block(Ones()),)), Ranks((9,), 10))
    needed = {w: scale_for(bind(choice, REPLACE), cost, whole=w) for w in (True, False)}
    assert needed[False] > needed[True]
    for order in ((True, False), (False, True)):
        once = bind(choice, REPLACE)
        assert {w: scale_for(once, cost, whole=w) for w in order} == needed


@pytest.mark.parametrize("domain", [ADD, REPLACE, TWICE], ids=["add", "replace", "two"])
def test_votes_under_rho_cost_rho_together(domain):
    """Choices at m points, each worth mu^2 / 2 by its range, add up to rho at most."""
    cost = Cost(rho=Fraction(1, 50))
    points = tuple((0.1 * k,) for k in range(-9, 10))
    for choice in (
        Choice(NearestRows(("x",), "c", points, 2), NearestVotes(19, 2)),
        Choice(RowsInReach(("x",), "c", points, 0.15), ReachVotes(19, 2)),
        Choice(Sum(Cross(Categories(("c",)), Bins("x", 3)), ONES), Ranks((1, 3), 4)),
    ):
        scale = scale_for(bind(choice, domain), cost)
        for move in choice.moves(domain):
            # Phi(mu / 2) = expit(range / 2)
            half = special.ndtri(special.expit(move.width / float(scale) / 2))
            assert move.groups * 2 * half**2 <= 0.02


@pytest.mark.parametrize("parts", [(2, 3), (3, 2), (2, 0), (0, 2), (4, 2)], ids=str)
def test_the_sensitivity_is_that_of_the_worst_group(parts):
    """Whichever group it is: of two unlike quantiles the harder one counts."""
    score, most = Ranks(parts, 4), {"add-remove": 0, "replace": 0}

    def scores(counts):
        return score.scores(np.array(counts, dtype=np.int64)[:, None], ADD)

    for counts in itertools.product(range(2), repeat=6):
        here = scores(counts)
        for come, gone in itertools.product(range(6), range(-1, 6)):
            other = np.array(counts)
            other[come] += 1
            if gone >= 0:
                other[gone] -= 1
            relation = "replace" if gone >= 0 else "add-remove"
            if other.min() >= 0:
                far = int(np.abs(scores(other) - here).max())
                most[relation] = max(most[relation], far)
    assert most["add-remove"] == score.sensitivity("add-remove")
    assert most["replace"] <= score.sensitivity("replace")


# Votes: a row is in reach of no more points than are counted.


def touched(tally, rows):
    """At how many points each of these rows votes."""
    out = []
    for row in rows:
        batch = {
            name: np.array([1.0 + value]) * column.half + column.lower
            for name, column, value in (
                ("x", ADD["x"], row[0]),
                ("y", ADD["y"], row[1]),
            )
        }
        batch["c"] = np.array([0])
        out.append(int((tally.fold(batch, 1, GAPS).sum(axis=1) > 0).sum()))
    return out


def ring(count, far):
    turns = np.arange(count) * 2 * math.pi / count
    return tuple((far * math.cos(t), far * math.sin(t)) for t in turns.tolist())


@pytest.mark.parametrize("radius", [0.1, 0.3, 0.7])
def test_no_row_votes_at_more_points_than_are_counted(radius):
    coins = np.random.default_rng(7)
    cloud = tuple(map(tuple, coins.uniform(-1, 1, (60, 2)).tolist()))
    for points in (
        ring(12, radius * 0.999),  # all of them in reach of the middle
        ring(3, radius * 1.9),  # none in reach of it, nor near each other
        cloud,
        cloud[:5] * 3,
    ):
        tally = RowsInReach(("x", "y"), "c", points, radius)
        choice = Choice(tally, ReachVotes(len(points), 2))
        rows = [(0.0, 0.0), *points, *coins.uniform(-1, 1, (60, 2)).tolist()]
        # A row that lacks a number could be near points that are far apart.
        rows += [(math.nan, y) for _, y in points] + [(x, math.nan) for x, _ in points]
        rows.append((math.nan, math.nan))
        most = max(touched(tally, rows))
        assert most <= tally.overlap()
        assert choice.width(ADD) >= most
    assert max(touched(RowsInReach(("x", "y"), "c", ring(12, 0.3), 0.31), rows)) == 12
