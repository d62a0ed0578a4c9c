"""Choices among marginals lose no more than they cost: all small tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from brute import (
    ADD,
    REPLACE,
    TWICE,
    check_tally,
    neighbours,
    tables,
    to_batch,
    universe,
)

from discreto.core import aggregate
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.maps import Categories, MarginalCounts, MarginalErrors
from discreto.core.query import Block, Choice, Ones, Sum, bind, inside
from discreto.core.validation import check_parts
from discreto.errors import DomainError, ParameterError

SETS = ((0,), (0, 1), (1,))
COUNTS = MarginalCounts(("c", "d"), SETS)


def _choice(domain, guess=1, allowance=0, weights=()):
    sizes = tuple(COUNTS.sizes(domain))
    guesses = tuple((guess * k) % 3 for k in range(sum(sizes)))
    allowances = (allowance,) * len(sizes)
    return Choice(COUNTS, MarginalErrors(guesses, sizes, allowances, weights))


def _scores(choice, domain, largest):
    names = choice.columns()
    rows = universe(names)
    out = []
    for table in tables(len(rows), largest):
        batch = to_batch([rows[i] for i in table], names)
        (sums,) = aggregate.fold(inside(choice.tally, domain), batch, len(table))
        out.append(choice.score.scores(sums, domain)[0])
    pairs = neighbours(len(rows), largest, domain.neighbours, domain.rows_per_person)
    return np.array(out), pairs


@pytest.mark.parametrize("guess", [0, 1, 2])
@pytest.mark.parametrize("domain", [ADD, REPLACE, TWICE], ids=["add", "replace", "two"])
def test_choices_of_marginals_lose_no_more_than_epsilon(domain, guess):
    check_tally(_choice(domain, guess), domain, largest=3 if domain is ADD else 2)


WEIGHTS = [(1000, 700, 1), (0, 1000, 999), (500, 500, 500), (333, 1000, 0)]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("domain", [ADD, REPLACE, TWICE], ids=["add", "replace", "two"])
def test_weights_cost_nothing_more(domain, weights):
    choice = _choice(domain, weights=weights)
    assert choice.score.sensitivity(domain.neighbours) == _choice(
        domain
    ).score.sensitivity(domain.neighbours)
    check_tally(choice, domain, largest=2)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("domain", [ADD, REPLACE], ids=["add", "replace"])
def test_weighed_distances_move_no_further(domain, weights):
    """Every weight and every small table: a floor of a part moves at most as far."""
    choice = _choice(domain, weights=weights)
    scores, pairs = _scores(choice, domain, 3)
    plain, _ = _scores(_choice(domain), domain, 3)
    assert np.array_equal(scores, plain * np.array(weights) // 1000)
    far = max(np.abs(scores[i] - scores[j]).max() for i, j in pairs.tolist())
    assert far <= choice.score.sensitivity(domain.neighbours)
    assert far == choice.score.sensitivity(domain.neighbours) or 1000 not in weights


def test_a_weighed_distance_never_wraps():
    """The largest guess: without a cut, its product would leave 64 bits."""
    score = MarginalErrors((-(1 << 60),), (1,), (0,), (1000,))
    near, far = (score.scores(np.array([[n]]), ADD)[0, 0] for n in (0, 1))
    assert 0 <= far - near <= 1
    assert near == 1 << 50


@pytest.mark.parametrize("domain", [ADD, REPLACE], ids=["add", "replace"])
def test_the_sensitivity_of_a_distance_is_exact(domain):
    choice = _choice(domain)
    scores, pairs = _scores(choice, domain, 3)
    far = max(np.abs(scores[i] - scores[j]).max() for i, j in pairs.tolist())
    assert far == choice.score.sensitivity(domain.neighbours)


def test_distances_rise_and_fall_together_with_none():
    scores, pairs = _scores(_choice(ADD), ADD, 3)
    moves = np.array([scores[i] - scores[j] for i, j in pairs.tolist()])
    assert ((moves > 0).any(axis=1) & (moves < 0).any(axis=1)).any()
    assert not MarginalErrors.monotone


class HalfTheNoise(MarginalErrors):
    monotone = True


class OneForReplace(MarginalErrors):
    def sensitivity(self, neighbours):
        return 1


def test_planted_bugs_are_caught():
    good = _choice(ADD).score
    parts = (good.guesses, good.sizes, good.allowances)
    with pytest.raises(AssertionError, match="loses"):
        check_tally(Choice(COUNTS, HalfTheNoise(*parts)), ADD, ratio=Fraction(1, 9))
    wrong = Choice(COUNTS, OneForReplace(*parts))
    with pytest.raises(AssertionError, match="loses"):
        # What a replaced row that stays in the group moves is all that is claimed.
        check_tally(wrong, REPLACE, largest=2, ratio=Fraction(1, 9))


def test_counts_are_those_of_single_questions():
    domain = Domain(
        {"c": Category(["a", "b"]), "d": Category([1, 2, 3], missing=False)}
    )
    rng = np.random.default_rng(0)
    batch = {"c": rng.integers(-1, 3, 500), "d": rng.integers(-1, 4, 500)}
    (found,) = aggregate.fold(inside(COUNTS, domain), batch, 500)
    single = []
    for places in SETS:
        names = tuple(COUNTS.names[p] for p in places)
        asked = bind(Sum(Categories(names), (Block(Ones()),)), domain)
        single.append(aggregate.fold(asked, batch, 500)[0][:, 0])
    assert found[:, 0].tolist() == np.concatenate(single).tolist()


def test_what_does_not_fit_is_refused_before_it_is_paid():
    sizes = tuple(COUNTS.sizes(ADD))
    with pytest.raises(ParameterError, match="guess"):
        check_parts(MarginalErrors((1,), sizes, (0, 0, 0)), ADD)
    with pytest.raises(ParameterError, match="guesses"):
        check_parts(MarginalErrors((1.5, 1), (2,), (0,)), ADD)
    large = (1 << 59,) * 4  # their distances would wrap
    with pytest.raises(ParameterError, match="guess"):
        check_parts(MarginalErrors(large, (4,), (0,)), ADD)
    with pytest.raises(ParameterError, match="guess"):  # distances would wrap
        check_parts(MarginalErrors((1 << 60, 1), (2,), (0,)), ADD)
    for weights in ((1001,), (-1,), (1, 1), (0.5,)):
        with pytest.raises(ParameterError, match=r"weights|guess"):
            check_parts(MarginalErrors((1, 1), (2,), (0,), weights), ADD)
    with pytest.raises(ParameterError, match="sets"):
        check_parts(MarginalCounts(("c", "d"), ((0, 2),)), ADD)
    with pytest.raises(ParameterError, match="sets"):
        check_parts(MarginalCounts(("c", "d"), ((0, 0),)), ADD)
    with pytest.raises(ParameterError, match="not those"):
        bind(Choice(COUNTS, MarginalErrors((0, 0), (1, 1), (0, 0))), ADD)
    score = MarginalErrors((0, 0), (1, 1), (0, 0))
    with pytest.raises(ParameterError, match="not about"):
        bind(Choice(Sum(Categories(("c",)), (Block(Ones()),)), score), ADD)
    with pytest.raises(DomainError):
        bind(MarginalCounts(("x",), ((0,),)), Domain({"x": Number(0, 1)}))
