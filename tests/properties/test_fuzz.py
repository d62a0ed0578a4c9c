"""Rows must not decide whether there is an answer: messages from outside.

Some thousand nearly right messages of every kind; ``benchmarks/fuzz.py`` sends as many
as one likes. Nothing here draws noise, so nothing fails by chance.
"""

from __future__ import annotations

import copy
import random
from concurrent.futures import ThreadPoolExecutor

import asked
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trials import KINDS, Trials

import discreto as dp
from discreto import models
from discreto.core import aggregate
from discreto.core.cost import Cost
from discreto.core.maps import (
    Block,
    Gradients,
    Nearest,
    Tree,
    from_json,
    predictions,
    to_json,
    trees_numpy,
)
from discreto.core.maps.clusters import Deviations, FuzzyPulls, FuzzyWeights, Rings
from discreto.core.query import Choice, Everyone, Randomise, Shape, Sum, inside
from discreto.core.query_json import encode
from discreto.core.validation import check_parts
from discreto.data.frames import memory
from discreto.errors import DiscretoError, DomainError, ParameterError
from discreto.federated import messages
from discreto.models.interop import json as persist
from discreto.models.scoring.selection import select
from discreto.testing import simulate

SCHEMA = messages.schema_of(asked.DOMAIN)
PLAIN_TREE = Tree((2,), ((0, 1, 1, 0),), ((0.0,), (1.0,)))


def test_messages_of_every_kind():
    sent, wrong, answered = Trials(11), [], 0
    # Each kind in its turn, the more telling ones more often; proximal rounds are slow.
    for kind, share in KINDS.items():
        for _ in range(15 * share):
            said, found = sent.run(kind)
            wrong += [(kind, said, found)] if found else []
            answered += said in ("release", "accepted")
    assert not wrong
    assert answered > 200  # the messages are near enough to what is right


def test_messages_under_a_real_ledger():
    sent = Trials(12, lambda: dp.Ledger(epsilon=10**5, delta="1e-5"))
    for kind in ("measure", "sums_round", "steps_round"):
        for _ in range(20):
            assert sent.run(kind)[1] == []


TRIALS = Trials(13)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(sorted(asked.COLUMNS)),
)
JUNK = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=5)


def _places(data, path=()):
    yield path
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in items:
            yield from _places(value, (*path, key))


@st.composite
def nearly_right(draw):
    sums = [query for query in asked.WRITTEN if isinstance(query, Sum)]
    query = draw(st.sampled_from(sums))
    message = messages.measure(query, Cost.of(1), "x", "name", SCHEMA)
    message = copy.deepcopy(message)
    places = [path for path in _places(message) if path]
    path = draw(st.sampled_from(places))
    spot = message
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = draw(JUNK)
    return message


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(nearly_right())
def test_one_place_of_a_message_is_replaced(message):
    TRIALS._silos.clear()  # the same name is used again and again
    assert TRIALS.judge_message(message)[1] == []


# What was possible once


def _measure(features, cells=None):
    cells = Everyone() if cells is None else cells
    query = to_json(Sum(Everyone(), asked.COUNT))
    query |= {"cells": to_json_part(cells)}
    query["blocks"][0]["features"] = to_json_part(features)
    message = messages.measure(asked.WRITTEN[0], Cost.of(1), "x", "name", SCHEMA)
    return message | {"question": query}


def to_json_part(part):
    return part if isinstance(part, dict) else encode(part)


BAD_TREES = {
    "too few codes": {"features": [2], "routes": [[0, 1, 1]]},
    "too many codes": {"features": [2], "routes": [[0, 1, 1, 0, 0]]},
    "no such column": {"features": [4], "routes": [[0, 1]]},
    "a column far away": {"features": [1 << 40], "routes": [[0, 1]]},
    "a column before the first": {"features": [-1], "routes": [[0, 1]]},
    "two scores": {"values": [[0.0, 1.0], [0.0, 1.0]]},
    "no values": {"values": []},
    "too few leaves": {"values": [[0.0]]},
    "texts": {"values": [["a"], ["b"]]},
    "not a number": {"values": [[float("nan")], [0.0]]},
}


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("bad", BAD_TREES)
def test_every_tree_of_an_ensemble_is_checked(bad, place):
    gradients = Gradients(asked.GRID, "amount", "squared", (0.5,), (PLAIN_TREE,) * 3)
    data = to_json_part(gradients)
    data["trees"][place] = data["trees"][place] | BAD_TREES[bad]
    said, wrong = Trials(0).judge_message(_measure(data))
    assert (said, wrong) == ("ParameterError", [])


def test_the_trials_can_fail(monkeypatch):
    """The first leak of this kind: only the last tree was looked at."""
    monkeypatch.setattr(Gradients, "_check_trees", lambda self, domain: None)
    monkeypatch.setattr(trees_numpy, "_compiled", lambda name, size: None)
    gradients = Gradients(asked.GRID, "amount", "squared", (0.5,), (PLAIN_TREE,) * 3)
    data = to_json_part(gradients)
    data["trees"][0] |= BAD_TREES["too few codes"]
    wrong = Trials(0).judge_message(_measure(data))[1]
    assert any(line.startswith("difference") for line in wrong)


def test_a_tree_after_the_checked_ones_is_checked():
    """Ensembles that grow are checked where they are new, and only there."""
    first = Gradients(asked.GRID, "amount", "squared", (0.5,), (PLAIN_TREE,) * 2)
    first.check(asked.DOMAIN)
    wrong = Tree((2,), ((0, 1),), ((0.0,), (1.0,)))
    for trees in ((*first.trees, wrong), (wrong, *first.trees), (PLAIN_TREE, wrong)):
        grown = Gradients(asked.GRID, "amount", "squared", (0.5,), trees)
        with pytest.raises(ParameterError):
            grown.check(asked.DOMAIN)
    first.check(asked.DOMAIN)


AROUND = [
    lambda names, points: Sum(Nearest(names, points), asked.COUNT),
    lambda names, points: Sum(Rings(names, points, 4), asked.COUNT),
    lambda names, points: asked._all(Deviations(names, points, 0.5)),
    lambda names, points: asked._all(FuzzyWeights(names, points, 2.0)),
    lambda names, points: asked._all(FuzzyPulls(names, points, 2.0, 0.5)),
]


@pytest.mark.parametrize("make", AROUND)
@pytest.mark.parametrize("name", ["s", "id", "unknown"])
def test_points_lie_among_numbers(make, name):
    message = messages.measure(
        make((name,), ((0.0,), (0.5,))), Cost.of(1), "x", "name", SCHEMA
    )
    assert Trials(0).judge_message(message) == ("DomainError", [])


@pytest.mark.parametrize("make", AROUND)
def test_whole_numbers_may_stand_for_numbers(make):
    table = dp.Table(asked.PLAIN, asked.DOMAIN, simulate(0, noise=False))
    sums = []
    for points in (((0, 1), (1, 0)), ((0.0, 1.0), (1.0, 0.0))):
        query = make(("a", "b"), points)
        sums.append(table.gate().measure(query, Cost.of(1), "x").tables[0])
        again = from_json(to_json(query))
        assert all(type(v) is float for v in _numbers(to_json(again)["cells"]))
    np.testing.assert_array_equal(*sums)


def _numbers(data):
    found = data.get("centres", []) if isinstance(data, dict) else []
    return [number for point in found for number in point]


# Row maps are total


@pytest.mark.parametrize("query", asked.WRITTEN, ids=lambda q: type(q).__name__)
def test_codes_of_no_category_do_no_harm(query):
    """Codes outside of the domain cannot come from a frame; they would be clipped."""
    tally = query.tally if isinstance(query, Choice) else query
    if isinstance(tally, Randomise):
        return
    coins, batch = np.random.default_rng(3), {}
    for name, column in asked.COLUMNS.items():
        if isinstance(column, dp.Category):
            batch[name] = coins.choice(
                [-(1 << 40), -7, -1, 0, 1, 2, 3, 99, 1 << 40], 50
            )
        else:
            odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0, 1, 7]
            batch[name] = coins.choice(odd, 50)
    used = {name: batch[name] for name in tally.columns()}
    bound = inside(tally, asked.DOMAIN)
    whole, total = aggregate.fold(bound, used, 50), aggregate.empty(bound)
    for start in range(0, 50, 3):
        part = {name: values[start : start + 3] for name, values in used.items()}
        sums = aggregate.fold(bound, part, min(3, 50 - start))
        total = aggregate.merge(bound, total, sums)
    for one, two in zip(whole, total, strict=True):
        np.testing.assert_array_equal(np.sort(one, axis=-1), np.sort(two, axis=-1))


def test_a_map_without_a_check_is_refused():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Loud:
        def shape(self, domain):
            return Shape(1, 1)

        def rows(self, batch, domain):
            return np.ones((1, 1))

        def columns(self):
            return ()

    ledger = simulate(0)
    gate = dp.Table(asked.PLAIN, asked.DOMAIN, ledger).gate()
    with pytest.raises(ParameterError, match="no check"):
        gate.measure(Sum(Everyone(), (Block(Loud()),)), Cost.of(1), "x")
    assert not ledger.entries()


def test_every_question_of_the_package_is_valid():
    for query in asked.questions():
        check_parts(query, asked.DOMAIN)


def test_mutations_leave_what_they_are_given():
    sent = Trials(5)
    data = to_json(asked.WRITTEN[0])
    kept = copy.deepcopy(data)
    for _ in range(300):
        try:
            sent.changed(data)
        except (ValueError, OverflowError):
            continue
    assert data == kept


def test_trials_repeat():
    one, two = Trials(7), Trials(7)
    assert isinstance(one.coins, random.Random)
    for kind in ("measure", "choice", "domain"):
        assert one.run(kind) == two.run(kind)


def test_every_failure_is_ours():
    with pytest.raises(DiscretoError):
        from_json({"kind": "Sum", "cells": 10**5000})


def test_a_model_is_evaluated_on_workers_as_it_is_here(monkeypatch):
    """What workers cannot read is folded here, however many rows there are."""
    monkeypatch.setattr(memory, "_ALONE_BELOW", 4)
    model = next(m for m in asked.fitted() if type(m).__name__ == "NaiveBayes")
    query = asked._all(predictions.RowLoss(persist.dumps(model)))
    with ThreadPoolExecutor(2) as pool:
        for engine in (None, dp.engines.ExecutorEngine(pool)):
            table = dp.Table(asked.PLAIN, asked.DOMAIN, simulate(0), engine=engine)
            table.gate().measure(query, Cost.of(1), "x")


def test_another_domain_is_refused_before_candidates_are_paid():
    names = ["a", "s", "label"]
    one = asked.DOMAIN.select(names).with_(target="label")
    other = one.with_(columns={**one.columns, "s": dp.Category(["x", "w"])})
    data = {name: asked.PLAIN[name] for name in names}
    ledgers = simulate(0), simulate(0)
    tables = dp.Table(data, one, ledgers[0]), dp.Table(data, other, ledgers[1])
    with pytest.raises(DomainError, match="another way"):
        select(
            [models.NaiveBayes(epsilon=1)], tables[0], epsilon=1, validation=tables[1]
        )
    assert not ledgers[0].entries()
    assert not ledgers[1].entries()
