"""Choices lose no more than they cost: exact laws on all small neighbouring tables."""

from __future__ import annotations

import math
from fractions import Fraction

import brute
import numpy as np
import pytest
from brute import (
    ADD,
    GAPS,
    GAPS_REPLACE,
    REPLACE,
    TWICE,
    check_choice,
    check_tally,
    counts_of,
    near_counts,
)
from scipy import integrate, special

from discreto.core.cost import Cost
from discreto.core.gate import scale_for
from discreto.core.maps import (
    KINDS,
    Bins,
    Categories,
    CentredRanks,
    Cross,
    Extreme,
    Largest,
    NearestRows,
    NearestVotes,
    Ranks,
    ReachVotes,
    RowsInReach,
    Values,
)
from discreto.core.query import Block, Choice, Everyone, Ones, Sum, bind
from discreto.core.validation import check_parts
from discreto.errors import ParameterError

COUNT = (Block(Ones()),)
SCORES = {
    "largest": Largest(),
    "median": Ranks((1,), 2),
    "quartile": Ranks((1,), 4),
    "minimum": Ranks((0,), 1),
    "two groups": Ranks((1, 3), 4),
    "centred": CentredRanks(Ranks((1,), 4), 2),
    "centred groups": CentredRanks(Ranks((1, 3), 4), 1),
    "low": Extreme("low", 2),
    "high": Extreme("high", 1),
}


def _choice(score) -> Choice:
    three = Bins("x", 3)
    cells = Cross(Categories(("c",)), three) if score.groups() > 1 else three
    return Choice(Sum(cells, COUNT), score)


def _moves(score, relation, rows=4):
    """Every change of scores over neighbouring tables, as one array of lines."""
    cells = 3 * score.groups()
    rows = rows if cells < 6 else 3

    def scores(counts):
        return score.scores(np.array(counts, dtype=np.int64)[:, None], ADD).ravel()

    return np.array(
        [
            scores(other) - scores(counts)
            for counts in counts_of(cells, rows)
            for other in near_counts(counts, relation)
        ]
    )


def test_every_score_is_here():
    here = {type(score).__name__ for score in SCORES.values()}
    votes = {"NearestVotes", "ReachVotes"}  # below
    votes |= {"SplitScore"}  # in test_boosting_splits
    votes |= {"MarginalErrors"}  # in test_marginals
    scores = {name for name, kind in KINDS.items() if "scores" in dir(kind)}
    assert scores <= here | votes


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_sensitivity_is_exact(score, relation):
    assert np.abs(_moves(score, relation)).max() == score.sensitivity(relation)


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_monotone_is_true_and_only_claimed_where_it_is(score):
    moves = _moves(score, "add-remove")
    mixed = (moves > 0).any(axis=1) & (moves < 0).any(axis=1)
    if score == SCORES["minimum"]:
        # Monotone (a row only lowers scores) but not claimed: twice the noise it needs.
        assert not score.monotone
        assert not mixed.any()
    else:
        assert bool(mixed.any()) == (not score.monotone)


@pytest.mark.parametrize("domain", [ADD, REPLACE, TWICE], ids=["add", "replace", "two"])
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_choices_lose_no_more_than_epsilon(score, domain):
    check_choice(_choice(score), domain, rows=2 if score.groups() > 1 else 3)


def test_the_mode_needs_its_noise():
    """Row 8: with scale 1/epsilon the mode loses epsilon, and 2 epsilon on replace."""
    ratio = Fraction(1, 50)  # in the limit of a large epsilon the bound is attained
    loss = check_choice(_choice(Largest()), ADD, rows=4, ratio=ratio)
    assert loss > ratio**-1 * Fraction(3, 10)
    loss = check_choice(_choice(Largest()), REPLACE, rows=4, ratio=ratio)
    assert ratio**-2 * Fraction(3, 10) < loss <= ratio**-2


@pytest.mark.parametrize("domain", [ADD, REPLACE, TWICE])
def test_the_scale_is_the_width_over_epsilon(domain):
    for score in SCORES.values():
        choice = _choice(score)
        scale = scale_for(bind(choice, domain), Cost.of("0.1"), whole=True)
        assert scale == choice.width(domain) * 10
        # Under rho a range r of log-ratios costs mu^2 / 2 for Phi(mu / 2) = expit(r/2),
        # and what several groups cost adds up.
        scale = float(
            scale_for(bind(choice, domain), Cost(rho=Fraction(1, 50)), whole=True)
        )
        costs = [
            move.groups * 2 * special.ndtri(special.expit(move.width / scale / 2)) ** 2
            for move in choice.moves(domain, whole=True)
        ]
        assert 0.0199 < max(costs) <= 0.02


# Votes of neighbours: calibrations, rows 1 and 1d

POINTS = ((-1.0,), (0.5,))
NEAREST = Choice(NearestRows(("x",), "c", POINTS, 2), NearestVotes(2, 2))
REACH = Choice(RowsInReach(("x",), "c", POINTS, 0.6), ReachVotes(2, 2))


@pytest.mark.parametrize(
    "domain",
    [ADD, REPLACE, TWICE, GAPS, GAPS_REPLACE],
    ids=["add", "replace", "two", "gaps", "gaps replaced"],
)
@pytest.mark.parametrize("choice", [NEAREST, REACH], ids=["nearest", "reach"])
def test_votes_lose_no_more_than_epsilon(choice, domain):
    check_tally(choice, domain, largest=3 if domain in (ADD, GAPS) else 2)


# Planted bugs


class ClaimsMonotone(Ranks):
    """Half the noise for a score that is not monotone."""

    monotone = True


class Doubtful(NearestVotes):
    """The nearest neighbours' votes with half the noise (row 1)."""

    monotone = True


def test_monotone_ranks_are_caught():
    with pytest.raises(AssertionError, match="loses"):
        check_choice(_choice(ClaimsMonotone((1,), 2)), ADD, ratio=Fraction(1, 9))


def test_monotone_nearest_votes_are_caught():
    choice = Choice(NearestRows(("x",), "c", POINTS[:1], 1), Doubtful(1, 2))
    with pytest.raises(AssertionError, match="loses"):
        check_tally(choice, ADD, ratio=Fraction(1, 9))


def test_a_mode_that_forgets_replace_is_caught():
    class Forgets(Choice):
        def width(self, domain):
            return super().width(ADD)

    choice = Forgets(_choice(Largest()).tally, Largest())
    with pytest.raises(AssertionError, match="loses"):
        check_choice(choice, REPLACE, ratio=Fraction(1, 9))


def test_groups_that_forget_the_second_group_are_caught():
    class Forgets(Choice):
        def width(self, domain):
            return _choice(Ranks((1,), 2)).width(domain) // 2

    choice = Forgets(_choice(Ranks((1, 1), 2)).tally, Ranks((1, 1), 2))
    with pytest.raises(AssertionError, match="loses"):
        check_choice(choice, REPLACE, rows=2, ratio=Fraction(1, 9))


# A score is a theorem about one kind of tally: any other pairing voids it.

PAIRINGS = {
    "values": lambda: Choice(
        Sum(Categories(("c",)), (Block(Values(("x",))),)), Largest()
    ),
    "pair": lambda: Choice(
        Sum(Categories(("c",)), (Block(Ones(), "pair"),)), Ranks((1,), 2)
    ),
    "keys as counts": lambda: Choice(NEAREST.tally, Largest()),
    "keys as votes": lambda: Choice(NEAREST.tally, ReachVotes(2, 2)),
    "values as votes": lambda: Choice(
        Sum(Everyone(), (Block(Values(("x",))),)), ReachVotes(1, 1)
    ),
}


@pytest.mark.parametrize("make", PAIRINGS.values(), ids=PAIRINGS)
def test_a_score_refuses_a_tally_it_is_not_about(make):
    with pytest.raises(ParameterError, match="not about"):
        check_parts(make(), ADD)


def test_the_checker_sees_what_such_a_choice_loses():
    choice = Choice(NEAREST.tally, NearestVotes(2, 2))
    assert check_tally(choice, ADD, largest=2) > 1

    class Unchecked(Choice):
        def __post_init__(self):
            pass

    values = Sum(Categories(("c",)), (Block(brute.Raw(("x",), 5)),))
    wrong = Unchecked(values, Largest())
    with pytest.raises(AssertionError, match="loses"):
        check_tally(wrong, ADD, largest=2)


def test_an_extreme_needs_all_of_its_noise():
    """Many empty cells rise by one while one falls: nearly all of epsilon is lost."""
    choice = Choice(Sum(Bins("x", 4096), (Block(Ones()),)), Extreme("low", 3))
    scale = float(scale_for(bind(choice, ADD), Cost.of(1), whole=True))
    counts = np.zeros((4096, 1), dtype=np.int64)
    counts[0], counts[4094] = 1, 2
    more = counts.copy()
    more[0] += 1
    low, high = (Extreme("low", 3).scores(c, ADD)[0] for c in (counts, more))
    assert (high[:4094] - low[:4094] == 1).all()
    assert high[4095] - low[4095] == -1
    lost = [_flip(scores / scale, 4095) for scores in (low, high)]
    assert 0.99 < math.log(lost[0] / lost[1]) <= 1


def _flip(scores, chosen):
    """The exact chance of permute-and-flip to choose one candidate."""
    weights = np.exp(scores - scores.max())
    kinds, numbers = np.unique(np.delete(weights, chosen), return_counts=True)
    x = np.linspace(0, 0.05, 100_001)  # past it the product is below 1e-50
    product = np.exp(
        sum(n * np.log1p(-x * w) for w, n in zip(kinds, numbers, strict=True))
    )
    return float(weights[chosen] * integrate.trapezoid(product, x))
