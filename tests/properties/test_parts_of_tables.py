"""Parts of a table: a row is in one of them, whatever is asked."""

from __future__ import annotations

import numpy as np
import pytest

from discreto import Category, Domain, Number, Table
from discreto.errors import ParameterError
from discreto.kernel import clamp
from discreto.kernel.cost import Cost
from discreto.kernel.query import Block, Everyone, Ones, Sum
from discreto.parts import Part, split
from discreto.planning import Conversation
from discreto.queries import Bins, Categories, RowsInReach, Values
from discreto.queries.parts import HashParts
from discreto.testing import simulate

DOMAIN = Domain({"x": Number(0, 1), "c": Category(("u", "v"))})
ROWS = 200
COINS = np.random.default_rng(3)
DATA = {"x": COINS.random(ROWS), "c": COINS.choice(["u", "v", "?"], ROWS)}
PARTS = HashParts(("x", "c"), (3, 1, 2))
QUESTIONS = {
    "count": Sum(Everyone(), (Block(Ones()),)),
    "cells": Sum(Bins("x", 3), (Block(Values(("x",))),)),
    "pair": Sum(Categories(("c",)), (Block(Values(("x",)), "pair"),)),
    "votes": RowsInReach(("x",), "c", ((0.0,), (0.5,)), 0.4),
}


def source():
    return Table(DATA, DOMAIN, simulate(noise=False)).gate()._source


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_row_is_in_exactly_one_part(question):
    query, rows = QUESTIONS[question], source()
    (whole,) = rows.fold(query)
    parts = [Part(rows, PARTS, number).fold(query)[0] for number in range(3)]
    assert np.array_equal(sum(parts), whole)
    assert all(part.any() and not np.array_equal(part, whole) for part in parts)


def test_parts_give_neither_products_nor_rows():
    part = Part(source(), PARTS, 0)
    products = Sum(Everyone(), (Block(Values(("x",), bits=15), "gram"),))
    with pytest.raises(ParameterError):
        part.fold(products)
    with pytest.raises(ParameterError):
        part.column("x")
    # Without the refusal it would have been answered: the test can fail.
    clamp.check(products, DOMAIN)
    assert source().fold(products)[0].any()


def test_a_conversation_with_a_part_is_about_its_rows_only():
    ledger = simulate(noise=False)
    ask = Conversation(Table(DATA, DOMAIN, ledger).gate(), Cost.of(1))
    several = split(ask, PARTS, "parts")
    counts = [
        int(one.measure(QUESTIONS["count"], "count").tables[0][0, 0]) for one in several
    ]
    assert sum(counts) == ROWS
    assert max(counts) < ROWS
    assert ledger.spent() == Cost.of(1)
