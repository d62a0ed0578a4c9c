"""The gate charges first, touches rows second, and says nothing about them."""

from __future__ import annotations

import traceback
from fractions import Fraction

import numpy as np
import pytest

from discreto.core import aggregate
from discreto.core.charge import Receipt, Reservation
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number, Opaque
from discreto.core.fold import made_up
from discreto.core.gate import Gate, Noise, noises_for
from discreto.core.ledger import Ledger
from discreto.core.maps import (
    Bernstein,
    Bins,
    Categories,
    Cross,
    Largest,
    Ranks,
    Values,
)
from discreto.core.maps.row_partition import HashParts, Parts
from discreto.core.people import bound_of_nobody
from discreto.core.query import Block, Choice, Everyone, Ones, Randomise, Sum, bind
from discreto.core.unknown_keys import Keys, OpenText
from discreto.errors import (
    BudgetError,
    ChangedError,
    DomainError,
    KernelFault,
    ParameterError,
)
from discreto.table.table import Table
from discreto.testing import simulate

COLUMNS = {"x": Number(0, 1), "c": Category(("u", "v")), "id": Opaque()}
ADD = Domain(COLUMNS)
REPLACE = Domain(COLUMNS, neighbours="replace", rows=3)
COUNT = Sum(Everyone(), (Block(Ones()),))
MODE = Choice(Sum(Categories(("c",)), (Block(Ones()),)), Largest())
ONE = Cost.of(1)
SECRET = "row 17 holds 424242"


class Log:
    """Everything that happens, in order."""

    def __init__(self):
        self.events = []


class Book:
    """A ledger that writes to the log, and may refuse."""

    simulation = None

    def __init__(self, log, *, refuse=False):
        self.log, self.refuse = log, refuse

    def charge(self, cost, label, event=None, key=None):
        if self.refuse:
            raise BudgetError("nothing left")
        self.log.events.append(("charge", cost, event))
        return Receipt(1, label, cost, "hash")

    def keep(self, receipt, answer):
        return answer

    def fault(self, label):
        self.log.events.append(("shut",))


class Rows:
    """A source that writes to the log, and may fail with a secret on its lips."""

    def __init__(self, log, *, fail=False):
        self.log, self.fail = log, fail

    def _touch(self):
        self.log.events.append(("touch",))
        if self.fail:
            raise ValueError(SECRET)

    def refusal(self, asked, sampled=False):
        return ""

    def unready(self):
        return ""

    def unchanged(self):
        return True

    def fold(self, asked, keep=None):
        self._touch()
        return made_up(aggregate.empty(asked))

    def places(self):
        return ()

    def person_bound(self):
        return bound_of_nobody()

    def column(self, name):
        self._touch()
        return np.zeros(3, dtype=np.int64 if name == "c" else float)


def _gate(domain=ADD, **options):
    log = Log()
    refuse = options.pop("refuse", False)
    return Gate(domain, Book(log, refuse=refuse), Rows(log, **options)), log


def _doors(domain=REPLACE, **options):
    gate, log = _gate(domain, **options)
    return log, [
        lambda: gate.measure(COUNT, ONE, "q"),
        lambda: gate.select(MODE, ONE, "q"),
        lambda: gate.randomise(Randomise("c", "response"), ONE, "q"),
        lambda: gate.randomise(Randomise("x", "laplace"), ONE, "q"),
        lambda: gate.randomise(Randomise("x", "staircase"), ONE, "q"),
    ]


def test_the_charge_comes_first():
    log, doors = _doors()
    for door in doors:
        log.events.clear()
        door()
        assert [event[0] for event in log.events] == ["charge", "touch"]
        assert log.events[0][1] == ONE


def test_what_cannot_be_paid_touches_nothing():
    log, doors = _doors(refuse=True)
    for door in doors:
        with pytest.raises(BudgetError):
            door()
    assert log.events == []


def test_rows_that_are_not_ready_are_refused_unpaid(monkeypatch):
    """Every way out of the gate asks its source before the charge."""
    monkeypatch.setattr(Rows, "unready", lambda self: "they were changed")
    log, doors = _doors()
    domain = Domain(COLUMNS | {"word": OpenText()})
    gate = Gate(domain, Book(log), Rows(log))
    block = Cost(block_epsilon=Fraction(1), delta=Fraction(1, 10**6))
    doors += [
        lambda: gate.parts(Parts(Categories(("c",))), ONE, "q"),
        lambda: gate.discover(Keys("word"), block, "q"),
    ]
    for door in doors:
        with pytest.raises(ParameterError, match="they were changed"):
            door()
    assert log.events == []


def test_rows_that_changed_give_no_answer_and_shut_nothing(monkeypatch):
    """Whether the fold failed or not: that rows were changed is public."""
    monkeypatch.setattr(Rows, "unchanged", lambda self: False)
    for fail in (False, True):
        log, doors = _doors(fail=fail)
        for door in doors:
            log.events.clear()
            with pytest.raises(ChangedError) as caught:
                door()
            assert [event[0] for event in log.events] == ["charge", "touch"]
            assert caught.value.__context__ is None


def test_a_source_cannot_forget_to_say_whether_it_changed():
    """A source without these words is not asked, and nothing is charged."""
    log = Log()

    class Careless(Rows):
        unready = unchanged = None

    gate = Gate(ADD, Book(log), Careless(log))
    with pytest.raises(TypeError):
        gate.measure(COUNT, ONE, "q")
    assert log.events == []


def test_a_failing_fold_keeps_the_charge_and_its_mouth_shut():
    log, doors = _doors(fail=True)
    for door in doors:
        log.events.clear()
        with pytest.raises(KernelFault) as caught:
            door()
        assert [event[0] for event in log.events] == ["charge", "touch", "shut"]
        fault = caught.value
        assert fault.__cause__ is None
        assert fault.__suppress_context__ or fault.__context__ is None
        shown = "".join(traceback.format_exception(fault))
        assert "424242" not in str(fault) + repr(fault) + shown


def test_a_failing_part_keeps_its_mouth_shut_as_well():
    gate, log = _gate(fail=True)
    inner = gate.parts(Parts(HashParts(("c",), (1, 1))), ONE, "parts")[0]
    with pytest.raises(KernelFault) as caught:
        inner.measure(COUNT, ONE, "q")
    assert [event[0] for event in log.events] == ["charge", "touch", "shut"]
    assert caught.value.__context__ is None
    assert "424242" not in "".join(traceback.format_exception(caught.value))


def test_values_that_cannot_be_perturbed_are_a_fault_too(monkeypatch):
    def broken(*_):
        raise ValueError(SECRET)

    monkeypatch.setattr("discreto.core.gate.perturbed", broken)
    gate, log = _gate(REPLACE)
    with pytest.raises(KernelFault):
        gate.randomise(Randomise("c", "response"), ONE, "q")
    assert log.events[-1] == ("shut",)


def test_a_fault_does_not_carry_the_cause_along():
    # Error trackers and debuggers walk __context__ and the frames behind it.
    _, doors = _doors(fail=True)
    for door in doors:
        with pytest.raises(KernelFault) as caught:
            door()
        assert caught.value.__context__ is None


def test_a_score_that_fails_is_a_fault_too():
    class Broken(Largest):
        def scores(self, sums, domain):
            raise ValueError(SECRET)

    gate, _ = _gate()
    with pytest.raises(KernelFault, match="charge stands"):
        gate.select(Choice(MODE.tally, Broken()), ONE, "q")


def test_a_failure_shuts_the_ledger_until_its_owner_has_looked(tmp_path):
    path = tmp_path / "people.ledger"
    ledger = Ledger(path, epsilon=3, analysts={"ana": 2})
    log = Log()
    broken = Gate(Domain(COLUMNS), ledger.analyst("ana"), Rows(log, fail=True))
    whole = Gate(Domain(COLUMNS), Ledger(path), Rows(log))
    kept = whole.measure(COUNT, ONE, "kept", "k").tables[0]
    with pytest.raises(KernelFault):
        broken.measure(COUNT, ONE, "fails")
    for gate in (broken, whole):
        with pytest.raises(KernelFault, match="is shut"):
            gate.measure(COUNT, ONE, "more")
    # What was answered before is known already.
    assert np.array_equal(whole.measure(COUNT, ONE, "kept", "k").tables[0], kept)
    again = Ledger(path)
    assert (again.shut, again.faults, len(again.entries())) == (True, 1, 3)
    again.reopen("a worker died")
    whole.measure(COUNT, ONE, "more")
    assert not again.shut
    again.reopen("nothing to do")
    assert again.verify() == 5
    with pytest.raises(ParameterError, match="may not begin"):
        whole.measure(COUNT, ONE, "forged", "discreto reopened 2")


# Refusals are free

REFUSED = {
    "unknown column": Sum(Everyone(), (Block(Values(("nothing",))),)),
    "opaque column": Sum(Everyone(), (Block(Values(("id",))),)),
    "category as number": Sum(Everyone(), (Block(Values(("c",))),)),
    "number as category": Sum(Categories(("x",)), (Block(Ones()),)),
    "long products": Sum(Everyone(), (Block(Values(("x",), bits=16), "gram"),)),
    "long products of parts": Sum(Everyone(), (Block(Bernstein(("x",), 1), "gram"),)),
    "too many cells": Sum(
        Cross(Bins("x", 1 << 20), Bins("x", 1 << 20)), (Block(Ones()),)
    ),
}


@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED)
def test_refused_questions_cost_nothing(query):
    gate, log = _gate()
    with pytest.raises((DomainError, ParameterError)):
        gate.measure(query, ONE, "q")
    with pytest.raises((DomainError, ParameterError)):
        gate.select(Choice(query, Ranks((1,), 2)), ONE, "q")
    assert log.events == []


COSTS = {
    "nothing": Cost(),
    "leak": Cost.leak(),
    "two kinds": Cost(Fraction(1), Fraction(1)),
    "block": Cost(block_epsilon=Fraction(1), delta=Fraction(1, 100)),
    "too small": Cost(epsilon=Fraction(1, 10**18)),
}


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_refused_costs_cost_nothing(cost):
    gate, log = _gate()
    query = Sum(Everyone(), (Block(Values(("x",))),))
    with pytest.raises(ParameterError):
        gate.measure(query, cost, "q")
    assert log.events == []


def test_a_negative_rho_costs_nothing_and_gives_nothing():
    gate, log = _gate()
    with pytest.raises(ParameterError):
        gate.measure(COUNT, Cost(rho=Fraction(-1)), "q")
    assert log.events == []


@pytest.mark.parametrize(
    ("query", "epsilon"),
    [
        (Randomise("c", "response"), 1000),
        (Randomise("x", "staircase"), 1000),
        (Randomise("x", "staircase"), 10**5),
        (Randomise("x", "laplace"), Fraction(1, 10**12)),
    ],
    ids=str,
)
def test_refused_rows_cost_nothing(query, epsilon):
    gate, log = _gate(REPLACE)
    with pytest.raises(ParameterError):
        gate.randomise(query, Cost.of(epsilon), "q")
    assert log.events == []


def test_rows_are_randomised_only_where_their_number_is_public():
    gate, log = _gate(ADD)
    with pytest.raises(DomainError, match="replace"):
        gate.randomise(Randomise("c", "response"), ONE, "q")
    gate, log = _gate(REPLACE)
    for query in (
        Randomise("x", "response"),
        Randomise("c", "laplace"),
        Randomise("id", "laplace"),
        Randomise("nothing", "laplace"),
    ):
        with pytest.raises((DomainError, ParameterError)):
            gate.randomise(query, ONE, "q")
    with pytest.raises(ParameterError, match="delta"):
        gate.randomise(Randomise("c", "response"), Cost(rho=Fraction(1)), "q")
    assert log.events == []


# The event that a ledger keeps


def test_the_event_says_what_was_asked_and_nothing_private():
    gate, log = _gate()
    gate.measure(COUNT, ONE, "q")
    (_, _, event), _ = log.events
    assert event["door"] == "measure"
    assert event["domain"] == ADD.fingerprint
    assert event["neighbours"] == "add-remove"
    assert event["noise"] == [{"law": "laplace", "amount": "1"}]


# Noise: seeded or none only under a simulation


def _count(ledger, times=40):
    gate = Table({"x": [0.5] * 9, "c": ["u"] * 9, "id": [0] * 9}, ADD, ledger).gate()
    cost = Cost.of("0.01")
    return [int(gate.measure(COUNT, cost, "q").tables[0][0, 0]) for _ in range(times)]


def test_a_real_ledger_has_fresh_noise():
    assert _count(Ledger(epsilon=1)) != _count(Ledger(epsilon=1))
    assert Ledger(epsilon=1).simulation is None


def test_a_simulation_repeats_and_says_so():
    assert _count(simulate(3)) == _count(simulate(3)) != _count(simulate(4))
    assert _count(simulate(noise=False)) == [9] * 40
    assert _count(simulate(None)) != _count(simulate(None))
    ledger = simulate(1)
    _count(ledger, 1)
    assert all(entry["simulated"] for entry in ledger.entries())
    assert "SIMULATED" in str(ledger)


def test_gates_do_not_share_noise():
    # Two gates of one table, and two reservations, draw from streams of their own.
    table = Table({"x": [0.5], "c": ["u"], "id": [0]}, ADD, Ledger(epsilon=1))
    cost = Cost.of("0.001")
    draws = [
        int(table.gate().measure(COUNT, cost, "q").tables[0][0, 0]) for _ in range(20)
    ]
    assert len(set(draws)) > 10


def test_a_reservation_is_drawn_down_and_never_overdrawn():
    log = Log()
    paid = Reservation(Book(log), Receipt(1, "plan", ONE, "hash"))
    gate = Gate(ADD, paid, Rows(log))
    for _ in range(2):
        gate.measure(COUNT, Cost.of("0.5"), "q")
    touched = len(log.events)
    with pytest.raises(BudgetError):
        gate.measure(COUNT, Cost.of("0.001"), "q")
    assert len(log.events) == touched


def test_a_stored_answer_is_given_again_without_touching_rows():
    log = Log()

    class Stored(Book):
        def charge(self, cost, label, event=None, key=None):
            return Receipt(1, label, cost, "hash", answer="[[[7]]]")

    gate = Gate(ADD, Stored(log), Rows(log))
    assert gate.measure(COUNT, ONE, "q", key="k").tables[0].tolist() == [[7]]
    assert log.events == []


# The noise that is asked for


def test_noise_is_the_sensitivity_over_the_share():
    blocks = (
        Block(Ones(), share=Fraction(1, 4)),
        Block(Values(("x",), 4), share=Fraction(3, 4)),
    )
    query = Sum(Everyone(), blocks)
    first, second = noises_for(bind(query, REPLACE), Cost.of("0.1"))
    assert (first.law, first.amount) == ("laplace", 2 / (Fraction(1, 10) / 4))
    assert second.amount == 2 * 16 / (Fraction(3, 40))
    first, second = noises_for(bind(query, ADD), Cost(rho=Fraction(1, 8)))
    assert (first.law, first.amount) == (
        "gaussian",
        Fraction(1) / (2 * Fraction(1, 32)),
    )


@pytest.mark.parametrize("scale", [Fraction(1, 50), 1, 10, 2**20, 2**40])
def test_variance_of_laplace_noise(scale):
    q = np.exp(-1 / np.longdouble(float(scale)))
    wanted = 2 * q / np.expm1(-1 / np.longdouble(float(scale))) ** 2
    assert Noise("laplace", Fraction(scale)).variance == pytest.approx(
        float(wanted), rel=1e-3
    )


def test_variance_of_the_largest_laplace_noise():
    noise = Noise("laplace", Fraction((1 << 54) - 1))
    assert noise.variance == pytest.approx(2.0**109, rel=1e-6)


class Choosy(Rows):
    """A source that counts how often it is asked what it refuses, and may refuse."""

    asked, reason = 0, ""

    def refusal(self, asked, sampled=False):
        self.asked += 1
        return "" if sampled else self.reason


def _choosy(domain=ADD):
    log = Log()
    rows = Choosy(log)
    return Gate(domain, Book(log), rows), rows, log


def test_a_question_is_checked_once():
    gate, rows, _ = _choosy()
    gate.measure(gate.check(COUNT, "q"), ONE, "q")
    assert rows.asked == 1
    gate.select(gate.check(MODE, "q"), ONE, "q")
    assert rows.asked == 2
    gate.measure(COUNT, ONE, "q")
    assert rows.asked == 3


def test_a_check_is_good_for_one_answer():
    gate, rows, log = _choosy()
    bound = gate.check(COUNT, "q")
    gate.measure(bound, ONE, "q")
    rows.reason = "a reason"
    log.events.clear()
    with pytest.raises(ParameterError, match="a reason"):
        gate.measure(bound, ONE, "q")
    assert log.events == []


def test_a_check_is_worth_nothing_at_another_gate():
    gate, rows, log = _choosy()
    bound = gate.check(COUNT, "q")
    other = gate.paid_by(Book(log))
    rows.reason = "a reason"
    with pytest.raises(ParameterError, match="a reason"):
        other.measure(bound, ONE, "q")
    assert log.events == []


def test_a_check_for_a_sample_is_none_for_all_rows():
    gate, rows, log = _choosy()
    rows.reason = "a reason"
    bound = gate.check(COUNT, "q", sampled=True)
    with pytest.raises(ParameterError, match="a reason"):
        gate.measure(bound, ONE, "q")
    assert log.events == []


def test_a_checked_question_is_asked_in_its_own_way_only():
    gate, _, log = _choosy()
    with pytest.raises(ParameterError, match="in this way"):
        gate.measure(gate.check(MODE, "q"), ONE, "q")
    with pytest.raises(ParameterError, match="in this way"):
        gate.select(gate.check(COUNT, "q"), ONE, "q")
    assert log.events == []


def test_a_question_bound_elsewhere_is_bound_again():
    """Bounds of another domain would bring another sensitivity."""
    people = {"x": Number(0, 1), "p": Opaque()}
    wide = Domain(people, person="p", rows_per_person=50)
    query = Sum(Everyone(), (Block(Values(("x",))),))
    gate, _, _ = _choosy(Domain({"x": Number(0, 1)}, neighbours="replace", rows=3))
    found = gate.measure(bind(query, wide), ONE, "q")
    assert found.noises == noises_for(bind(query, gate.domain), ONE)
    assert found.noises != noises_for(bind(query, wide), ONE)
