"""A question is bound to a domain once; nobody asks its maps again."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.maps import Bins, Cross, Extreme, Values
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.tree_splits import SplitHistogram, SplitScore
from discreto.core.maps.trees import Leaves
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
from discreto.errors import DomainError, ParameterError
from discreto.session.session import Session
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 10, missing=False)})
ONE = Cost.of(1)
MEAN = Sum(Everyone(), (Block(Values(("x",)), "pair"),))
CHOICE = Choice(Sum(Bins("x", 4), (Block(Ones()),)), Extreme("low", 1))


def table(domain=DOMAIN, ledger=None):
    data = {"x": np.arange(5.0), "y": np.arange(5) % 2}
    ledger = ledger or simulate(noise=False)
    return dp.Table({name: data[name] for name in domain}, domain, ledger)


def spied(monkeypatch, methods):
    """Counts how often each map is asked."""
    asked, kept = Counter(), []

    def spy_on(kind, name):
        real = getattr(kind, name)

        def spy(self, *args):
            kept.append(self)  # an id stands for one map as long as it lives
            asked[kind.__name__, name, id(self)] += 1
            return real(self, *args)

        monkeypatch.setattr(kind, name, spy)

    for kind, name in methods:
        spy_on(kind, name)
    return asked


def test_maps_are_asked_once_for_a_mean(monkeypatch):
    methods = [(Values, "shape"), (Values, "check"), (Everyone, "count")]
    methods += [(Values, "columns"), (Everyone, "columns"), (Sum, "columns")]
    asked = spied(monkeypatch, methods)
    dp.stats.mean(table(), "x", epsilon=1)
    assert {where[:2] for where in asked} == {(k.__name__, n) for k, n in methods}
    assert set(asked.values()) == {1}


def test_a_mean_that_is_asked_again_asks_no_map(monkeypatch):
    rows = table()
    first = dp.stats.mean(rows, "x", epsilon=1)
    asked = spied(monkeypatch, [(Values, "shape"), (Values, "check")])
    assert dp.stats.mean(rows, "x", epsilon=1).value == first.value
    assert not asked


def test_another_question_than_the_known_one_is_bound_for_itself():
    rows, known = table(), bind(MEAN, DOMAIN)
    count = Sum(Everyone(), (Block(Ones()),))
    session = Session(rows.gate(), ONE, known=[known])
    assert session.measure(count, "count").tables[0].tolist() == [[5]]
    # A question that was bound to other bounds is bound again.
    wide = dp.Domain({"x": dp.Number(0, 1000, missing=False)})
    session = Session(rows.gate(), ONE, known=[bind(MEAN, wide)])
    tables = session.measure(MEAN, "mean").tables
    assert (
        tables[0].tolist() == rows.gate().measure(MEAN, ONE, "mean").tables[0].tolist()
    )


def test_maps_are_asked_once_for_trees(monkeypatch):
    methods = [(Gradients, "check"), (Leaves, "count"), (Leaves, "check")]
    methods += [(SplitHistogram, "check"), (SplitHistogram, "size")]
    methods += [(SplitScore, "check"), (SplitScore, "sensitivity")]
    methods += [(SplitHistogram, "overlap"), (SplitHistogram, "columns")]
    asked = spied(monkeypatch, methods)
    domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Category([0, 1])}, target="y")
    model = dp.models.GradientBoostingClassifier(epsilon=9, n_estimators=3)
    model.fit(table(domain))
    assert {where[:2] for where in asked} == {(k.__name__, n) for k, n in methods}
    # Gradients serve the splits of several levels, each a question of its own.
    levels = {where: n for where, n in asked.items() if where[0] != "Gradients"}
    assert set(levels.values()) == {1}


def test_a_question_bound_to_another_domain_is_bound_again():
    wide = DOMAIN.with_(neighbours="replace", rows=5)
    gate = table(wide).gate()
    noise = gate.measure(bind(MEAN, DOMAIN), ONE, "m").noises
    assert noise == gate.measure(MEAN, ONE, "m").noises
    assert noise != table().gate().measure(MEAN, ONE, "m").noises


def test_a_bound_question_stays_as_it_is():
    bound = bind(MEAN, DOMAIN)
    assert bind(bound, DOMAIN) is bound
    assert table().gate().check(bound, "m") is bound


def test_what_was_not_checked_is_checked():
    """Facts for a fold are not a licence to ask."""
    text = DOMAIN.with_(columns={"x": dp.Category(["a"])})
    ledger = simulate(noise=False)
    gate = dp.Table({"x": ["a"]}, text, ledger).gate()
    with pytest.raises(DomainError, match="not a Number"):
        gate.measure(inside(MEAN, text), ONE, "m")
    assert not ledger.entries()


WRONG = [("measure", CHOICE), ("select", MEAN), ("select", CHOICE.tally)]
WRONG += [("measure", Randomise("x", "laplace")), ("randomise", MEAN)]


@pytest.mark.parametrize(("door", "query"), WRONG)
def test_a_question_goes_to_its_own_door(door, query):
    ledger = simulate(noise=False)
    gate = table(ledger=ledger).gate()
    for asked in (query, bind(query, DOMAIN)):
        with pytest.raises(ParameterError, match="in this way"):
            getattr(gate, door)(asked, ONE, "q")
    assert not ledger.entries()


def test_the_cells_of_all_blocks_count():
    """Each of two blocks would fit by itself."""
    domain = dp.Domain.cube(40)
    names = tuple(f"x{i}" for i in range(40))
    half = [Block(Values(names), share=Fraction(1, 2))] * 2
    cells = Cross(Bins("x0", 1024), Bins("x1", 1024))
    with pytest.raises(ParameterError, match="too many cells"):
        bind(Sum(cells, tuple(half)), domain)
    bind(Sum(cells, (Block(Values(names)),)), domain)
