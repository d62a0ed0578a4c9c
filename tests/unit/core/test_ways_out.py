"""Every way out of the gate works out its noise from (cost, bound question) itself.

The tests walk all public methods of the gate: a method that is new must be listed here,
either with a call that draws noise or as one that draws none.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import typing
from fractions import Fraction

import numpy as np
import pytest

from discreto import Category, Domain, Ledger, Number, Table
from discreto.core.cost import Cost
from discreto.core.gate import Gate
from discreto.core.maps import Categories, Largest, Values
from discreto.core.noise.calibration import Noise
from discreto.core.noise.sampler import Sampler
from discreto.core.query import (
    Block,
    Bound,
    Choice,
    Everyone,
    Ones,
    Randomise,
    Sum,
    bind,
)
from discreto.core.steps import Steps, steps_for
from discreto.core.unknown_keys import Keys, OpenText
from discreto.errors import UnsafeError
from discreto.testing import simulate

COLUMNS = {"x": Number(-1, 1), "c": Category(["a", "b"]), "town": OpenText()}
DATA = {"x": np.ones(40), "c": ["a", "b"] * 20, "town": ["here"] * 40}
TOTAL = Sum(Everyone(), (Block(Values(("x",))),))
COUNT = Sum(Everyone(), (Block(Ones()),))
CHOICE = Choice(Sum(Categories(("c",)), (Block(Ones()),)), Largest())
WORD = Fraction(1, 10**5)

# How each way out is called at a cost. The payer of steps says how many there are.
DRAWING = {
    "measure": lambda gate, cost: gate.measure(TOTAL, cost, "x"),
    "select": lambda gate, cost: gate.select(CHOICE, cost, "x"),
    "discover": lambda gate, cost: gate.discover(
        Keys("town"), Cost(block_epsilon=cost.epsilon, delta=WORD), "x"
    ),
    "randomise": lambda gate, cost: gate.randomise(
        Randomise("c", "response"), cost, "x"
    ),
    "step": lambda gate, cost: gate.step(TOTAL, "x"),
}
SILENT = {
    "check",
    "check_rows",
    "finish",
    "folded_ahead",
    "paid_by",
    "parts",
    "rehearsed",
    "seen",
}
# What a caller hands to a way out: a question, what it costs, and names.
ALLOWED = {"query": "question", "cost": "Cost", "label": "str", "key": "str"}


def public_methods() -> set[str]:
    return {n for n, m in inspect.getmembers(Gate, callable) if not n.startswith("_")}


def test_every_public_method_is_listed() -> None:
    assert public_methods() == set(DRAWING) | SILENT


@pytest.mark.parametrize("name", DRAWING)
def test_a_caller_hands_over_a_question_a_cost_and_names_only(name: str) -> None:
    parameters = set(inspect.signature(getattr(Gate, name)).parameters) - {"self"}
    assert parameters <= set(ALLOWED)
    kinds = typing.get_type_hints(getattr(Gate, name))
    for parameter in parameters - {"query"}:
        kind = kinds[parameter]
        assert kind in (Cost, str, str | None), parameter


def test_no_field_of_a_cost_or_of_steps_is_noise() -> None:
    assert {f.name for f in dataclasses.fields(Cost)} == {
        *("epsilon", "rho", "block_epsilon", "delta", "infinite")
    }
    assert {f.name for f in dataclasses.fields(Steps)} == {
        *("epsilon", "delta", "count", "rate")
    }


def spread(monkeypatch: pytest.MonkeyPatch, name: str, epsilon: int) -> float:
    """Return what the sampler is handed: the scale, or the deviation, of the noise."""
    seen: list[float] = []

    def spy(method: str) -> None:
        original = getattr(Sampler, method)

        def drawn(self: Sampler, *args: typing.Any, **named: typing.Any) -> typing.Any:
            amounts = [a for a in args if isinstance(a, Fraction)]
            seen.extend(math.sqrt(a) if "gauss" in method else a for a in amounts)
            return original(self, *args, **named)

        monkeypatch.setattr(Sampler, method, drawn)

    for method in ("laplace", "gaussian", "noisy_max", "gumbel_max", "cube"):
        spy(method)
    relation = {"neighbours": "replace", "rows": 40} if name == "randomise" else {}
    people = Table(DATA, Domain(COLUMNS, **relation), simulate(1))
    gate = people.gate()
    if name == "step":
        gate = people.train(steps_for(epsilon, WORD, 2), "two")._gate
    before = len(seen)
    DRAWING[name](gate, Cost(epsilon=Fraction(epsilon)))
    found = seen[before:]
    monkeypatch.undo()
    return float(max(found)) if found else math.nan


@pytest.mark.parametrize("name", [n for n in DRAWING if n != "randomise"])
def test_less_is_paid_more_is_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    little, much = (spread(monkeypatch, name, epsilon) for epsilon in (4, 1))
    assert 2 < much / little < 8


def test_randomised_rows_keep_the_truth_as_often_as_epsilon_allows() -> None:
    kept = []
    for epsilon in (1, 3):
        domain = Domain(COLUMNS, neighbours="replace", rows=4000)
        data = {"x": np.ones(4000), "c": ["a"] * 4000, "town": ["t"] * 4000}
        gate = Table(data, domain, simulate(1)).gate()
        drawn = DRAWING["randomise"](gate, Cost(epsilon=Fraction(epsilon)))
        kept.append(np.mean(drawn == 0))
        codes = 3  # a, b and missing
        truth = math.exp(epsilon) / (math.exp(epsilon) + codes - 1)
        assert abs(kept[-1] - truth) < 5 * math.sqrt(truth * (1 - truth) / 4000)
    assert kept[0] < kept[1]


# A question that is bound already


def people() -> Table:
    return Table(DATA, Domain(COLUMNS), Ledger(epsilon=5, delta=WORD))


def test_only_the_core_binds() -> None:
    bound = bind(COUNT, people().domain)
    small = dataclasses.replace(bound.blocks[0], sensitivity=0, square=0, reach=0)
    facts = (bound.query, bound.domain, True, bound.columns, 1, (small,))
    with pytest.raises(UnsafeError):
        Bound(*facts)
    with pytest.raises((UnsafeError, TypeError, ValueError)):
        dataclasses.replace(bound, blocks=(small,))


def test_what_a_caller_keeps_with_a_question_is_not_its_noise() -> None:
    table, cost = people(), Cost(epsilon=Fraction(1, 1000))
    gate = table.gate()
    bound = gate.check(COUNT, "count")
    quiet = (Noise("laplace", Fraction(1, 10**6)),)
    for name in (cost, (cost, True), True, False, ("moves", True)):
        bound.kept[name] = quiet
    assert gate.measure(bound, cost, "count").noises[0].amount == 1000
