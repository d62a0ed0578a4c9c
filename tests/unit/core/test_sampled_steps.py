"""Gaussian steps on samples: enough noise, secret samples, no step too many."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from discreto import Domain, Ledger, Number, Opaque, Table
from discreto.core import accounting
from discreto.core.accounting import gaussian_mu
from discreto.core.cost import Cost
from discreto.core.maps import Scaled, Values, proximal
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.noise.gaussian import delta_of
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.core.steps import PaidSteps, Steps, steps_for
from discreto.core.unknown_keys import Keys, OpenText
from discreto.errors import (
    BudgetError,
    DomainError,
    LedgerError,
    ParameterError,
)
from discreto.testing import simulate

DOMAIN = Domain({"x": Number(-1, 1)})
TOTAL = Sum(Everyone(), (Block(Values(("x",))),))
DELTA = Fraction(1, 10**5)


def table(ledger=None, rows=400, domain=DOMAIN, name=None):
    data = {"x": np.ones(rows), "who": np.arange(rows)}
    return Table(data, domain, ledger or Ledger(epsilon=5, delta=DELTA), name=name)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.5, 0.1422), (1, 0.2681), (2, 0.5016), (5, 1.1212)]
)
def test_the_closed_form(epsilon, mu):
    assert gaussian_mu(epsilon, 1e-5) == pytest.approx(mu, abs=1e-4)
    assert delta_of(epsilon, gaussian_mu(epsilon, 1e-5)) <= 1e-5


@pytest.mark.parametrize(
    ("epsilon", "count", "rate"),
    [(1, 50, "1/20"), (1, 50, "1/2"), (1, 50, "1"), (8, 100, "1/100"), (4, 9, "2/3")],
)
def test_the_noise_is_what_the_proof_needs_and_hardly_more(epsilon, count, rate):
    """The proof: e^(loss / 2000) delta(0.999 epsilon) and a thousandth for tails."""
    pld = pytest.importorskip("dp_accounting.pld", reason="dp-accounting is absent")
    steps = steps_for(epsilon, DELTA, count, rate)

    loss = epsilon if steps.rate < 1 else float(steps.cost.rho)

    def delta(noise):
        if steps.rate == 1:
            found = delta_of(epsilon - loss / 1000, count**0.5 / noise)
        else:
            accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
            accountant.compose(accounting._event(noise, count, float(steps.rate)))
            found = accountant.get_delta(epsilon - loss / 1000)
        return found * np.exp(loss / 2000) + float(DELTA) / 1000

    assert delta(float(steps.noise)) <= float(DELTA) * 1.0000001
    assert delta(float(steps.noise) * 0.99) > float(DELTA)


def test_the_accountants_search_is_not_believed(monkeypatch):
    pytest.importorskip("dp_accounting", reason="dp-accounting is absent")
    asked = (Fraction(2), DELTA, 11, Fraction(1, 3))
    enough = accounting.noise_multiplier.__wrapped__(*asked)
    found = accounting._calibrated_noise
    monkeypatch.setattr(
        accounting, "_calibrated_noise", lambda *facts: 0.98 * found(*facts)
    )
    again = accounting.noise_multiplier.__wrapped__(*asked)
    assert again >= enough * Fraction(999, 1000)


@pytest.mark.parametrize("asked", [(300, DELTA, 5, "1/10"), (10**6, DELTA, 3, "1/2")])
def test_steps_that_cannot_be_accounted_for_are_refused_in_words(asked):
    pytest.importorskip("dp_accounting", reason="dp-accounting is absent")
    with pytest.raises(ParameterError, match="Use rate=1"):
        steps_for(*asked)


def test_sampling_saves_noise_and_more_steps_need_more():
    few, many = steps_for(1, DELTA, 10), steps_for(1, DELTA, 1000)
    assert many.noise == pytest.approx(float(few.noise) * 10, rel=1e-3)
    assert steps_for(1, DELTA, 10, "1/10").noise < few.noise / 4


def test_the_accountants_agree_without_sampling():
    pld = pytest.importorskip("dp_accounting.pld", reason="dp-accounting is absent")
    from dp_accounting import dp_event

    steps = steps_for(1, DELTA, 30)
    event = dp_event.SelfComposedDpEvent(
        dp_event.GaussianDpEvent(float(steps.noise)), steps.count
    )
    spent = pld.PLDAccountant().compose(event).get_epsilon(float(DELTA))
    assert 0.99 < spent <= 1.0001


def test_the_whole_block_is_charged_up_front_and_steps_run_out():
    people = table()
    training = people.train(steps_for(1, DELTA, 3), "three steps")
    assert people.ledger.spent() == Cost.of(1, DELTA)  # all rows: as any Gaussian
    for _ in range(3):
        training.measure(TOTAL, "step")
    with pytest.raises(BudgetError, match="all 3 steps"):
        training.measure(TOTAL, "one too many")
    assert len(people.ledger.entries()) == 1


def test_steps_on_samples_are_a_block():
    people = table()
    people.train(steps_for(1, DELTA, 3, "1/2"), "three steps")
    assert people.ledger.spent() == Cost(block_epsilon=Fraction(1), delta=DELTA)


def test_a_block_that_is_opened_again_gives_the_same_answers():
    people, steps = table(name="people"), steps_for(1, DELTA, 3)
    half = Sum(Everyone(), (Block(Ones()),))
    first = people.train(steps, "steps", key="run 7")
    told = [first.measure(TOTAL, "step").tables[0] for _ in range(2)]
    for _ in range(5):
        again = people.train(steps, "steps", key="run 7")
        for old in told:
            assert np.array_equal(again.measure(TOTAL, "step").tables[0], old)
    with pytest.raises(LedgerError, match="another question"):
        people.train(steps, "steps", key="run 7", first=1).measure(half, "step")
    last = people.train(steps, "steps", key="run 7", first=2)
    last.measure(half, "step")
    with pytest.raises(BudgetError):
        last.measure(TOTAL, "one too many")
    with pytest.raises(ParameterError):
        people.train(steps, "steps", key="run 7", first=3)
    assert people.ledger.spent() == Cost.of(1, DELTA)  # paid once
    assert len(people.ledger.entries()) == 4


def test_a_key_needs_to_know_the_table():
    with pytest.raises(ParameterError, match="name"):
        table().train(steps_for(1, DELTA, 3), "steps", key="run 7")


def test_nothing_is_spent_on_a_refusal():
    people = table()
    with pytest.raises(TypeError):  # there is no such field to fill
        dataclasses.replace(steps_for(1, DELTA, 3), noise=Fraction(1))
    with pytest.raises(BudgetError):
        people.train(steps_for(6, DELTA, 3), "too much")
    assert not people.ledger.entries()


def test_counts_get_noise_on_a_finer_grid():
    steps = steps_for(1, DELTA, 3)
    (noise,) = steps.noises(bind(Sum(Everyone(), (Block(Ones()),)), DOMAIN))
    spread = float(steps.noise) * 2**noise.bits
    assert 13 * steps.count / spread <= 1 / 1000
    (noise,) = steps.noises(bind(TOTAL, DOMAIN))
    assert noise.bits == 0  # a grid of 2^30 steps is fine enough


@pytest.mark.parametrize(
    "domain",
    [
        Domain({"x": Number(-1, 1)}, neighbours="replace", rows=400),
        Domain({"x": Number(-1, 1), "who": Opaque()}, person="who", rows_per_person=2),
    ],
)
def test_samples_need_the_neighbours_of_the_theorem(domain):
    people = table(domain=domain)
    with pytest.raises(DomainError, match="add-remove"):
        people.train(steps_for(1, DELTA, 3, "1/2"), "sampled")
    people.train(steps_for(1, DELTA, 3), "all rows").measure(TOTAL, "step")


def test_a_receipt_must_cover_the_steps():
    people = table()
    small = people.ledger.charge(steps_for("1/2", DELTA, 3).cost, "half")
    with pytest.raises(BudgetError, match="does not pay"):
        PaidSteps(people.ledger, small, steps_for(1, DELTA, 3))


def test_steps_of_another_class_cannot_say_how_much_noise_there_is():
    class Quiet(Steps):
        noise = Fraction(1, 10**6)

    quiet = Quiet(Fraction(1), DELTA, 3, Fraction(1))
    people = table()
    receipt = people.ledger.charge(quiet.cost, "quiet")
    with pytest.raises(ParameterError):
        PaidSteps(people.ledger, receipt, quiet)


def test_what_pays_for_steps_pays_for_nothing_else():
    domain = Domain({"x": Number(-1, 1), "town": OpenText()})
    data = {"x": np.ones(400), "town": ["a"] * 400}
    people = Table(data, domain, Ledger(epsilon=5, delta=DELTA))
    training = people.train(steps_for(1, DELTA, 2, "999/1000"), "two steps")
    training.measure(TOTAL, "one step")
    gate, rest = training._gate, Cost(block_epsilon=Fraction(1, 2), delta=DELTA / 2)
    with pytest.raises(BudgetError, match="nothing else"):
        gate.discover(Keys("town"), rest, "towns")
    with pytest.raises(BudgetError, match="nothing else"):
        gate.measure(TOTAL, Cost(epsilon=Fraction(1, 10)), "sum")
    training.measure(TOTAL, "the other step")


def test_a_payer_of_steps_counts_them():
    people, steps = table(), steps_for(1, DELTA, 2)
    payer = PaidSteps(people.ledger, people.ledger.charge(steps.cost, "two"), steps)
    for _ in range(2):
        people.gate(payer).step(TOTAL, "step")
    with pytest.raises(BudgetError, match="all 2 steps"):
        people.gate(payer).step(TOTAL, "step")


def test_a_reservation_pays_for_no_step():
    people = table(Ledger(epsilon=9, delta=4 * DELTA))
    steps = steps_for(1, DELTA, 2, "1/2")
    for cost in (steps.each, steps.cost, steps.cost + steps.cost):
        with pytest.raises(ParameterError, match="paid as one"):
            people.gate(people.reserve(cost, "steps")).step(TOTAL, "step")
    with pytest.raises(ParameterError, match="paid as one"):
        people.gate().step(TOTAL, "step")


def test_one_sampled_step_is_one_sample():
    domain = Domain({n: Number(-1, 1, missing=False) for n in ("x", "y")})
    people = Table({"x": np.ones(9), "y": np.ones(9)}, domain, simulate(1))
    rows = Scaled(("x",), (0.0,), (1.0,), 1.0, 2**0.5, "l2", bits=15)
    gradient = ClippedGradient(rows, "y", (0.0, 0.0), 1.0, "squared")
    point = proximal.question(gradient, 1.0, 9.0, 9)
    with pytest.raises(ParameterError, match="rate=1"):
        people.train(steps_for(1, DELTA, 1, "1/20"), "s").measure(point, "point")
    people.train(steps_for(1, DELTA, 1), "all rows").measure(point, "point")


def test_a_sample_takes_each_row_with_its_chance_and_anew():
    people = table(simulate(1, noise=False), rows=10_000)
    training = people.train(steps_for(1, DELTA, 40, "3/10"), "sampled")
    taken = [training.measure(TOTAL, "s").tables[0][0, 0] / 2**30 for _ in range(40)]
    # Binomial(10,000, 0.3): standard deviation 46, of the mean of 40 about 7.
    assert abs(np.mean(taken) - 3000) < 45
    assert 25 < np.std(taken) < 75


@pytest.mark.parametrize("rate", ["1", "1/2"])
def test_the_noise_has_the_size_of_the_claim(rate):
    people = table(simulate(2), rows=0)
    steps = steps_for(1, DELTA, 2000, rate)
    training = people.train(steps, "noise alone")
    draws = [training.measure(TOTAL, "s").tables[0][0, 0] / 2**30 for _ in range(2000)]
    spread = np.std(draws) / float(steps.noise)
    assert 0.93 < spread < 1.07


def test_real_samples_are_secret():
    first, second = (
        table(rows=2000).train(steps_for(1, DELTA, 1, "1/2"), "s").measure(TOTAL, "s")
        for _ in range(2)
    )
    assert first.tables[0] != second.tables[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": 0},
        {"count": 0},
        {"count": 1.5},
        {"rate": 0},
        {"rate": 2},
        {"epsilon": -1},
    ],
)
def test_bad_steps_are_refused(wrong):
    asked = {"epsilon": 1, "delta": DELTA, "count": 3, "rate": 1} | wrong
    with pytest.raises(ParameterError):
        steps_for(**asked)
    exact = {name: Fraction(value) for name, value in asked.items()}
    exact["count"] = asked["count"]
    with pytest.raises(ParameterError):
        Steps(**exact)


def test_steps_are_made_of_exact_numbers():
    with pytest.raises(ParameterError, match="exact"):
        Steps(1.0, DELTA, 3, Fraction(1))


def test_a_forked_child_cannot_take_steps(monkeypatch):
    training = table().train(steps_for(1, DELTA, 3), "steps")
    monkeypatch.setattr("discreto.core.charge.os.getpid", lambda: -1)
    with pytest.raises(LedgerError, match="process"):
        training.measure(TOTAL, "step")
