"""Parts of a table: a row is in one of them, whatever is asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreto import Category, Domain, Number, Table
from discreto.core.cost import Cost
from discreto.core.maps import Bins, Categories, ReachVotes, RowsInReach, Values
from discreto.core.maps.row_partition import HashParts, Parts
from discreto.core.query import (
    Block,
    Choice,
    Everyone,
    Ones,
    Randomise,
    Sum,
    bind,
    inside,
)
from discreto.core.validation import check_parts
from discreto.errors import DomainError, ParameterError
from discreto.testing import simulate

COLUMNS = {"x": Number(0, 1), "c": Category(("u", "v"))}
ROWS = 200
ADD = Domain(COLUMNS)
REPLACE = Domain(COLUMNS, neighbours="replace", rows=ROWS)
COINS = np.random.default_rng(3)
DATA = {"x": COINS.random(ROWS), "c": COINS.choice(["u", "v", "?"], ROWS)}
PARTS = Parts(HashParts(("x", "c"), (3, 1, 2)))
QUESTIONS = {
    "count": Sum(Everyone(), (Block(Ones()),)),
    "cells": Sum(Bins("x", 3), (Block(Values(("x",))),)),
    "pair": Sum(Categories(("c",)), (Block(Values(("x",)), "pair"),)),
    "votes": RowsInReach(("x",), "c", ((0.0,), (0.5,)), 0.4),
}


def gate(domain=ADD, ledger=None):
    ledger = ledger or simulate(noise=False)
    return Table(DATA, domain, ledger).gate()


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_row_is_in_exactly_one_part(question):
    query, source = QUESTIONS[question], gate()._source
    (whole,) = source.fold(inside(query, ADD))
    parts = [source.fold(inside(PARTS.restrict(query, n), ADD))[0] for n in range(3)]
    assert np.array_equal(sum(parts), whole)
    assert all(part.any() and not np.array_equal(part, whole) for part in parts)


def test_a_gate_to_a_part_leads_to_its_rows_only():
    ledger = simulate(noise=False)
    inner = gate(ledger=ledger).parts(PARTS, Cost.of(1), "parts")
    counts = [
        int(one.measure(QUESTIONS["count"], Cost.of("0.5"), "n").tables[0][0, 0])
        for one in inner
    ]
    assert sum(counts) == ROWS
    assert max(counts) < ROWS
    votes = bind(Choice(QUESTIONS["votes"], ReachVotes(2, 2)), ADD)
    scores = [one._scores(votes, "v") for one in inner]
    assert np.array_equal(sum(scores), gate()._scores(votes, "v"))
    assert not np.array_equal(scores[0], sum(scores))
    assert ledger.spent() == Cost.of(1)


def test_a_part_gives_neither_products_nor_rows_under_replace():
    """Their bounds take for granted that a replaced row stays in the part."""
    inner = gate(REPLACE).parts(PARTS, Cost.of(1), "parts")[0]
    products = Sum(Everyone(), (Block(Values(("x",), bits=15), "gram"),))
    with pytest.raises(ParameterError):
        inner.measure(products, Cost.of("0.5"), "products")
    with pytest.raises(ParameterError):
        inner.randomise(Randomise("x", "laplace"), Cost.of("0.5"), "rows")
    # Of the whole table both are answered: the test can fail.
    bind(products, REPLACE)
    gate(REPLACE).measure(products, Cost.of("0.5"), "products")
    gate(REPLACE).randomise(Randomise("x", "laplace"), Cost.of("0.5"), "rows")


def test_a_part_has_no_parts():
    inner = gate().parts(PARTS, Cost.of(1), "parts")[0]
    other = Parts(HashParts(("x",), (1, 1), 5))
    with pytest.raises(ParameterError):
        inner.parts(other, Cost(epsilon=Fraction(1, 2)), "more parts")


def test_parts_are_checked_before_they_are_paid():
    ledger = simulate(noise=False)
    unknown = Parts(HashParts(("nowhere",), (1, 1)))
    with pytest.raises((ParameterError, DomainError)):
        gate(ledger=ledger).parts(unknown, Cost.of(1), "parts")
    assert not ledger.entries()


@pytest.mark.parametrize(
    "weights", [(), (0,), (1, -1), (1, 2.0), (True, 1), (1 << 41,), [1, 1], "11"]
)
def test_weights_of_parts_are_whole_numbers(weights):
    with pytest.raises(ParameterError, match="weights must be"):
        check_parts(HashParts(("x",), weights), ADD)
