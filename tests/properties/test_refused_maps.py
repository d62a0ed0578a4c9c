"""Maps that do not fit the domain are refused before a row could make them fail."""

from __future__ import annotations

import numpy as np
import pytest
from brute import ADD

from discreto import Category, Domain, Ledger, Opaque, Table
from discreto.core.cost import Cost
from discreto.core.maps import (
    Categories,
    Deviations,
    FuzzyPulls,
    FuzzyWeights,
    HashParts,
    Indicator,
    Largest,
    Memberships,
    Nearest,
    Present,
    Rings,
    Scaled,
    Sides,
    Values,
    Within,
)
from discreto.core.query import Block, Choice, Everyone, Ones, Randomise, Sum, bind
from discreto.errors import DomainError, ParameterError

ONES = (Block(Ones()),)

SHORT = Sides(("y",), ("c",), ((0.5,),), (((-1.0,),),), (0.25,))
LONG = Sides(("y",), ("c",), ((0.5,),), (((-1.0, 1.0, 0.5),),), (0.25,))


@pytest.mark.parametrize("sides", [SHORT, LONG], ids=["short", "long"])
def test_sides_need_a_weight_for_each_category(sides):
    for query in (
        Sum(sides, (Block(Ones()),)),
        Sum(Everyone(), (Block(Memberships((sides,))),)),
    ):
        with pytest.raises(ParameterError):
            bind(query, ADD)


POINT = ((0.0,),)
WRONG = {
    "nearest": Sum(Nearest(("c",), POINT), (Block(Ones()),)),
    "rings": Sum(Rings(("c",), POINT, 4), (Block(Ones()),)),
    "deviations": Sum(Everyone(), (Block(Deviations(("c",), POINT, 0.5)),)),
    "weights": Sum(Everyone(), (Block(FuzzyWeights(("c",), POINT, 2.0)),)),
    "pulls": Sum(Everyone(), (Block(FuzzyPulls(("c",), POINT, 2.0, 0.5)),)),
}


@pytest.mark.parametrize("query", WRONG.values(), ids=WRONG)
def test_distances_need_numbers_with_or_without_rows(query):
    """An empty table has nothing to fold: what it refuses must be what others do."""
    domain = Domain({"c": Category(("u", "v"))})
    for rows in (0, 1):
        ledger = Ledger(epsilon=1)
        data = {"c": np.array(["u"] * rows, dtype=object)}
        with pytest.raises(DomainError):
            Table(data, domain, ledger).gate().measure(query, Cost.of(1), "q")
        assert not ledger.entries()


ID = Domain({"c": Category(("u", "v")), "id": Opaque()})
OPAQUE = {
    "present": Sum(Present(("id",)), ONES),
    "parts": Sum(HashParts(("id",), (1, 1)), ONES),
    "within": Sum(Within(HashParts(("c", "id"), (1, 1)), 0, Everyone()), ONES),
    "categories": Sum(Categories(("id",)), ONES),
    "values": Sum(Everyone(), (Block(Values(("id",))),)),
    "choice": Choice(Sum(HashParts(("id",), (1, 1)), ONES), Largest()),
    "row": Randomise("id", "response"),
}


@pytest.mark.parametrize("query", OPAQUE.values(), ids=OPAQUE)
def test_nothing_is_asked_about_an_opaque_column(query):
    """Whose rows they are could be found out by a hash of the identifier."""
    domain = ID.with_(neighbours="replace", rows=1)
    ledger, data = Ledger(epsilon=1), {"c": ["u"], "id": ["somebody"]}
    gate = Table(data, domain, ledger).gate()
    doors = {Sum: gate.measure, Choice: gate.select, Randomise: gate.randomise}
    with pytest.raises((DomainError, ParameterError)):
        doors[type(query)](query, Cost.of(1), "q")
    assert not ledger.entries()


OTHER = {
    "a number": Indicator("x", 0),
    "no such category": Indicator("c", 3),
    "below the first": Indicator("d", -1),
    "beyond missing": Indicator("d", 3),
}


@pytest.mark.parametrize("mark", OTHER.values(), ids=OTHER)
def test_an_indicator_is_of_a_category_that_is_there(mark):
    rows = Scaled(("y", mark), (0.0, 0.0), (1.0, 1.0), 1.0, 3.0)
    for features in (Values((mark,)), rows, Deviations((mark,), POINT, 0.5)):
        with pytest.raises((ParameterError, DomainError)):
            bind(Sum(Everyone(), (Block(features),)), ADD)
    with pytest.raises((ParameterError, DomainError)):
        bind(Sum(Nearest((mark,), POINT), (Block(Ones()),)), ADD)


def test_bounds_of_products_do_not_follow_from_answers():
    """Origins and scales may be releases: then they must not set the noise."""
    told = set()
    for origin, scale in ((0.0, 1.0), (0.9, 0.01), (-0.5, 7.0)):
        rows = Scaled(("y",), (origin,), (scale,), 1.0, 3.0, bits=15)
        bound = bind(Sum(Everyone(), (Block(rows, "gram"),)), ADD)
        told.add(bound.blocks[0].sensitivity)
    assert told == {1 << 30}
