"""Questions as JSON: what goes out comes back, and strangers cannot break anything."""

from __future__ import annotations

import contextlib
import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreto.core import aggregate
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.fold import made_up
from discreto.core.gate import Gate
from discreto.core.maps import (
    KINDS,
    Bernstein,
    Bins,
    Categories,
    CentredRanks,
    Completeness,
    Cross,
    Edges,
    Extreme,
    Largest,
    Magnitudes,
    MarginalCounts,
    MarginalErrors,
    Memberships,
    Nearest,
    NearestRows,
    NearestVotes,
    Partition,
    Presence,
    Present,
    Ranks,
    ReachVotes,
    RowsInReach,
    Sides,
    SoftVotes,
    Unfit,
    Values,
    Weighted,
    WholeGroups,
    from_json,
    to_json,
)
from discreto.core.maps.clusters import (
    Deviations,
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    Rings,
)
from discreto.core.maps.code_counts import CodeCounts
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.margins import Margins
from discreto.core.maps.regression import LogisticGradient, Scaled, SquaredGradient
from discreto.core.maps.row_partition import HashParts, Within
from discreto.core.maps.tree_gradients import Gradients, LeafShifts, Residuals
from discreto.core.maps.tree_splits import SplitHistogram, SplitScore
from discreto.core.maps.trees import Grid, Leaves, Tree
from discreto.core.maps.unit_columns import Indicator
from discreto.core.people import bound_of_nobody
from discreto.core.query import Block, Choice, Everyone, Ones, Randomise, Sum, bind
from discreto.core.query_json import digest
from discreto.errors import DiscretoError, DomainError, KernelFault, ParameterError
from discreto.testing import simulate

DOMAIN = Domain(
    {
        "x": Number(-2, 6),
        "y": Number(0, 1),
        "c": Category(("u", "v")),
        "d": Category(("p", "q"), missing=True),
    }
)
COUNT = (Block(Ones()),)
POINTS = ((0.5, -0.25), (-1.0, 1.0))
SIDES = Sides(("x",), ("c",), ((0.5,),), (((-1.0, 1.0),),), (0.25,))
SCALED = Scaled(("x", "y"), (0.0, 0.5), (1.0, 2.0), 1.0, 3.0)
LINE = Scaled(("x",), (0.5,), (2.0,), 1.0, 3.0)
GRID = Grid(("x", "d"), ((0.0,), ()))
TREE = Tree((0,), ((0, 1),), ((0.5,), (-1.0,)))
GRADIENTS = Gradients(GRID, "c", "logistic", (0.0,), (TREE,), bits=12)
PARTS = HashParts(("x", "d"), (1, 2), 7)
VALID = [
    Sum(Leaves(GRID, Tree((0,), ((0, 1),)), "c"), (Block(GRADIENTS),)),
    Sum(Residuals(Gradients(GRID, "y", "squared", (0.5,))), COUNT),
    Sum(LeafShifts(Gradients(GRID, "y", "quantile", (0.5,)), TREE, 3), COUNT),
    Sum(Everyone(), (Block(Gradients(GRID, "y", "poisson", (0.5,), (TREE,))),)),
    Sum(Margins(Gradients(GRID, "c", "softmax", (0.5, 0.0))), COUNT),
    Sum(Everyone(), (Block(CodeCounts(GRID)),)),
    Sum(Within(PARTS, 1, Everyone()), COUNT),
    Choice(SplitHistogram(GRADIENTS, Tree()), SplitScore(GRID, 1, "gain")),
    Choice(MarginalCounts(("c",), ((0,),)), MarginalErrors((0, 1), (2,), (3,))),
    Sum(Everyone(), COUNT),
    Sum(Present(("x", "c")), (Block(Values(("x", "y")), "pair"),)),
    Sum(Categories(("c", "d")), (Block(Values(("x",), 15, "zero", True), "gram"),)),
    Sum(Bins("x", 4), (Block(Bernstein(("x", "y"), 2)),)),
    Sum(WholeGroups("x"), (Block(Bernstein(("x", "y"), 2)),)),
    Sum(
        Cross(Edges("x", (0.0, 1), gaps=True), Magnitudes("y", -3, 3)),
        (
            Block(Ones(), share=Fraction(1, 3)),
            Block(Values(("y",)), share=Fraction(2, 3)),
        ),
    ),
    Sum(Nearest(("x", "y"), POINTS), COUNT),
    Sum(SIDES, COUNT),
    Sum(Rings(("x", "y"), POINTS, 4), (Block(SCALED),)),
    Sum(Everyone(), (Block(LogisticGradient(SCALED, "c", ((1.0, 2.0, 3.0),))),)),
    Sum(Everyone(), (Block(SquaredGradient(LINE, "y", 0.5, 0.2, (1.0, 2.0), 0.25)),)),
    Sum(Everyone(), (Block(Values(("x", Indicator("d", 2, 0.5)))),)),
    Sum(Everyone(), (Block(ClippedGradient(LINE, "y", (0.5, 1.0), 0.25)),)),
    Sum(Everyone(), (Block(Deviations(("x", "y"), POINTS, 0.5)),)),
    Sum(Everyone(), (Block(FuzzyWeights(("x", "y"), POINTS, 2.0)),)),
    Sum(Everyone(), (Block(FuzzyPresence(("x", "y"), POINTS, 2.0, ("y",))),)),
    Sum(Completeness(("x", "c")), (Block(Presence(("x", "y"))),)),
    Sum(Everyone(), (Block(FuzzyPulls(("x", "y"), POINTS, 2.0, 0.5)),)),
    Sum(Everyone(), (Block(Partition(("x", "d"))),)),
    Sum(Categories(("c",), declared=True), (Block(Unfit(("x", "c"))),)),
    Sum(Everyone(), (Block(Memberships((SIDES, SIDES))),)),
    Sum(Everyone(), (Block(Weighted(Ones(), "x")),)),
    Sum(Everyone(), (Block(Weighted(Values(("y",)), "x", "pair")),)),
    Sum(Everyone(), (Block(SoftVotes(("y",), ((1.0, -2.0), (0.0, 3.0)))),)),
    Choice(Sum(Bins("x", 4), COUNT), Largest()),
    Choice(Sum(Cross(Categories(("c",)), Bins("x", 3)), COUNT), Ranks((1, 2), 4)),
    Choice(Sum(Bins("x", 3), COUNT), CentredRanks(Ranks((1,), 4), 7)),
    Choice(Sum(Edges("x", (1.0,)), COUNT), Extreme("low", 3)),
    Choice(NearestRows(("x", "y"), "c", POINTS, 3), NearestVotes(2, 2)),
    Choice(RowsInReach(("x", "y"), "c", POINTS, 0.5), ReachVotes(2, 2)),
    Randomise("x", "laplace"),
    Randomise("c", "response"),
]
FAST = settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck)
)


def _kinds(data) -> set[str]:
    if isinstance(data, dict):
        inner = set().union(*map(_kinds, data.values())) if data else set()
        return inner | {data.get("kind")} - {None}
    return set().union(*map(_kinds, data)) if isinstance(data, list) and data else set()


def test_every_kind_is_here():
    used = set().union(*(_kinds(to_json(query)) for query in VALID))
    assert set(KINDS) <= used


@pytest.mark.parametrize("query", VALID, ids=lambda q: type(q).__name__)
def test_round_trip(query):
    text = json.dumps(to_json(query))
    again = from_json(json.loads(text))
    assert again == query
    assert digest(again) == digest(query)
    assert to_json(again) == to_json(query)


def test_different_questions_have_different_names():
    assert len({digest(query) for query in VALID}) == len(VALID)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        "Sum",
        3,
        {"kind": "Sum"},
        {"kind": "Block"},
        {"kind": "os.system", "value": "true"},
        {"kind": ["Sum"]},
        {"kind": {"kind": "Sum"}},
        {"kind": "Fraction", "value": "1/2"},
        {"kind": "Everyone"},
        to_json(VALID[0]) | {"extra": 1},
        to_json(VALID[0]) | {"blocks": []},
        to_json(VALID[0]) | {"cells": None},
    ],
)
def test_what_is_not_a_question_is_refused(data):
    with pytest.raises((ParameterError, DomainError)):
        from_json(data)


def test_deep_nesting_is_refused():
    data = to_json(Everyone())
    for _ in range(200):
        data = {"kind": "Cross", "first": data, "second": to_json(Everyone())}
    with pytest.raises(ParameterError, match="deep"):
        from_json({"kind": "Sum", "cells": data, "blocks": [to_json(COUNT[0])]})
    nested = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(ParameterError, match="deep"):
        from_json(nested)


# Fuzzing: valid questions with parts replaced by something else

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 2, 5, 10**400, -(10**400), 1e308, 0.5, 2.0, 1 << 40]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=4),
    st.sampled_from(
        ["x", "y", "c", "gram", "pair", "zero", "1/0", "\ud800", "Fraction"]
    ),
    st.sampled_from([to_json(part) for query in VALID for part in (query,)]),
    st.sampled_from(
        [to_json(p) for p in (Everyone(), Ones(), Largest(), Bins("x", 2), COUNT[0])]
    ),
)
JUNK = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "names", "first", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def _places(data, path=()):
    yield path
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in items:
            yield from _places(value, (*path, key))


@st.composite
def mutated(draw):
    data = copy.deepcopy(to_json(draw(st.sampled_from(VALID))))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(_places(data), key=repr)))
        if not path:
            continue
        spot = data
        for key in path[:-1]:
            spot = spot[key]
        if draw(st.booleans()):
            spot[path[-1]] = copy.deepcopy(draw(JUNK))
        elif isinstance(spot, dict):
            spot.pop(path[-1])
        else:
            spot.insert(path[-1], copy.deepcopy(draw(JUNK)))
    return data


def _edges(cut):
    return {
        "kind": "Sum",
        "cells": {"kind": "Edges", "name": "x", "cuts": [cut]},
        "blocks": [to_json(COUNT[0])],
    }


@FAST
@given(mutated() | JUNK)
@example(_edges(10**400))
def test_from_json_raises_nothing_but_refusals(data):
    with contextlib.suppress(ParameterError, DomainError):
        from_json(data)


class Recorder:
    """A source of no rows that remembers whether it was touched."""

    def __init__(self):
        self.touched = False

    def refusal(self, asked, sampled=False):
        return ""

    def unready(self):
        return ""

    def unchanged(self):
        return True

    def fold(self, asked, keep=None):
        self.touched = True
        return made_up(aggregate.empty(asked))

    def places(self):
        return ()

    def person_bound(self):
        return bound_of_nobody()

    def column(self, name):
        self.touched = True
        return np.zeros(0)


def ask(query, domain=DOMAIN) -> None:
    """Put any question to the gate: it is answered, or refused before the charge."""
    source, ledger = Recorder(), simulate(1)
    gate = Gate(domain, ledger, source)
    doors = {Sum: gate.measure, Choice: gate.select, Randomise: gate.randomise}
    try:
        doors[type(query)](query, Cost.of(1), "q")
    except KernelFault:
        assert source.touched
    except DiscretoError:
        assert not source.touched
        assert not ledger.spent(), "refused, but paid for"


def _sum(cells, features):
    blocks = [{"kind": "Block", "features": features, "form": "linear"}]
    return {"kind": "Sum", "cells": cells, "blocks": blocks}


ONES, ALL = to_json(Ones()), to_json(Everyone())
HOSTILE = {
    "cross of texts": _sum({"kind": "Cross", "first": "a", "second": "b"}, ONES),
    "cross of features": _sum({"kind": "Cross", "first": ONES, "second": ONES}, ONES),
    "constant text": _sum(ALL, to_json(Values(("x",))) | {"constant": "yes"}),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_known_hostile_questions_are_refused(data):
    try:
        query = from_json(data)
    except ParameterError:
        return
    ask(query)


@FAST
@given(mutated())
@example(HOSTILE["cross of texts"])
def test_hostile_questions_never_break_the_gate(data):
    try:
        query = from_json(data)
    except Exception:
        return  # the test above
    ask(query)


@pytest.mark.parametrize("query", VALID, ids=lambda q: type(q).__name__)
def test_valid_questions_are_answered_on_an_empty_table(query):
    domain = DOMAIN.with_(neighbours="replace", rows=1)
    ask(query, domain)


# Parts that look harmless and are not


@pytest.mark.parametrize("constant", [5, 2, -1, 1.0])
def test_a_constant_is_yes_or_no(constant):
    data = _sum(ALL, to_json(Values(("x",))) | {"constant": constant})
    with pytest.raises(ParameterError):
        from_json(data)


def test_a_degree_is_a_whole_number():
    data = _sum(ALL, to_json(Bernstein(("x",), 2)) | {"degree": 2.0})
    with pytest.raises(ParameterError):
        from_json(data)


def test_a_fraction_cannot_fill_the_memory(monkeypatch):
    from discreto.core import query as module

    def careful(text):
        assert "e" not in str(text).lower(), "10 to the power of anything"
        return Fraction(text)

    monkeypatch.setattr(module, "Fraction", careful)
    with pytest.raises(ParameterError):
        from_json({"kind": "Fraction", "value": "1e99999999"})


def test_a_tally_cannot_fill_the_memory(monkeypatch):
    rows = NearestRows(("x",), "c", ((0.0,),) * (1 << 10), 1 << 20)

    def careful(shape, *args, **kwargs):
        assert np.prod(shape, dtype=float) <= 1 << 26, "2^30 numbers"
        return np.zeros(1, dtype=np.int64)

    monkeypatch.setattr(np, "full", careful)
    with pytest.raises(ParameterError):
        bind(rows, DOMAIN)


def test_groups_that_do_not_fit_are_refused_before_the_charge():
    ledger = simulate(1)
    gate = Gate(DOMAIN, ledger, Recorder())
    with pytest.raises(ParameterError):
        gate.select(Choice(Sum(Bins("x", 5), COUNT), Ranks((1, 1), 2)), Cost.of(1), "q")
    assert not ledger.spent()
