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
from discreto.core.bound import bind, inside
from discreto.core.domain import Category, Domain, Number
from discreto.core.maps import Categories, MarginalCounts, MarginalErrors
from discreto.core.query import Block, Choice, Ones, Sum
from discreto.errors import DomainError, ParameterError

SETS = ((0,), (0, 1), (1,))
COUNTS = MarginalCounts(("c", "d"), SETS)


def _choice(domain, guess=1, allowance=0):
    sizes = tuple(COUNTS.sizes(domain))
    guesses = tuple((guess * k) % 3 for k in range(sum(sizes)))
    return Choice(COUNTS, MarginalErrors(guesses, sizes, (allowance,) * len(sizes)))


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
        MarginalErrors((1,), sizes, (0, 0, 0))
    with pytest.raises(ParameterError, match="guess"):
        MarginalErrors((1.5, 1), (2,), (0,))
    large = (1 << 59,) * 4  # their distances would wrap
    with pytest.raises(ParameterError, match="guess"):
        MarginalErrors(large, (4,), (0,))
    with pytest.raises(ParameterError, match="guess"):  # distances would wrap
        MarginalErrors((1 << 60, 1), (2,), (0,))
    with pytest.raises(ParameterError, match="sets"):
        MarginalCounts(("c", "d"), ((0, 2),))
    with pytest.raises(ParameterError, match="sets"):
        MarginalCounts(("c", "d"), ((0, 0),))
    with pytest.raises(ParameterError, match="not those"):
        bind(Choice(COUNTS, MarginalErrors((0, 0), (1, 1), (0, 0))), ADD)
    score = MarginalErrors((0, 0), (1, 1), (0, 0))
    with pytest.raises(ParameterError, match="not about"):
        Choice(Sum(Categories(("c",)), (Block(Ones()),)), score)
    with pytest.raises(DomainError):
        bind(MarginalCounts(("x",), ((0,),)), Domain({"x": Number(0, 1)}))
