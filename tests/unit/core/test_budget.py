"""The rule of a budget: what it counts how, and that no strategy gets around it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import discreto as dp
from discreto.core.cost import Budget, Cost, epsilon_for, rho_for, rho_of_pure
from discreto.core.noise.gaussian import delta_of
from discreto.errors import BudgetError, LedgerError, ParameterError

ONE, DELTA = Fraction(1), Fraction(1, 10**5)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-4", "0.1", "1", "3", "20"])
def test_pure_epsilon_never_beats_the_gaussian_privacy_it_is_counted_as(
    epsilon,
) -> None:
    amount = Fraction(epsilon)
    mu = math.sqrt(2 * float(rho_of_pure(amount)))
    e = float(amount)
    # Randomised response: the trade-off of two answers with odds e^epsilon.
    for level in np.linspace(0, 1, 401)[1:-1]:
        miss = max(1 - math.exp(e) * level, math.exp(-e) * (1 - level), 0)
        assert norm.cdf(norm.isf(level) - mu) <= miss + 1e-12
    # And it is tight: 1 % less would not do.
    corner = 1 / (1 + math.exp(e))
    if e < 20:
        assert norm.cdf(norm.isf(corner) - 0.99 * mu) > corner


def test_without_a_delta_epsilon_adds_up_and_nothing_else_fits() -> None:
    budget = Budget(ONE)
    spent = budget.charge(Cost(), Cost.of("0.4"))
    assert budget.charge(spent, Cost.of("0.6")) == Cost.of(1)
    assert budget.charge(spent, Cost.of("0.61")) is None
    assert budget.charge(spent, Cost(rho=Fraction(1, 10**9))) is None
    block = Cost(block_epsilon=Fraction(1, 10), delta=Fraction(1, 10**9))
    assert budget.charge(spent, block) is None


def test_the_first_question_of_a_new_ledger_may_take_all_of_it() -> None:
    for cost in (
        Cost.of(1),
        Cost.of(1, "1e-5"),
        Cost(ONE * 0, block_epsilon=ONE, delta=DELTA),
    ):
        assert Budget(ONE, DELTA).charge(Cost(), cost) is not None


def test_gaussians_compose_without_loss() -> None:
    budget, spent = Budget(ONE, DELTA), Cost()
    part = rho_for(ONE, DELTA) / 100
    for _ in range(100):
        spent = budget.charge(spent, Cost(rho=part))
    assert budget.charge(spent, Cost(rho=part / 100)) is None
    assert budget.total(spent) == pytest.approx(1)


def test_a_pure_question_after_a_gaussian_one_counts_as_gaussian() -> None:
    budget = Budget(ONE, DELTA)
    spent = budget.charge(Cost(), Cost.of("0.5", "1e-5"))
    after = budget.charge(spent, Cost.of("0.1"))
    assert after.epsilon == 0
    assert after.rho == spent.rho + rho_of_pure(Fraction(1, 10))
    assert budget.charge(spent, Cost.of("0.4999")) is None  # what version 0.1 took
    assert budget.charge(spent, Cost.of(budget.remaining(spent))) is not None
    assert (
        budget.charge(spent, Cost.of(budget.remaining(spent) * Fraction(101, 100)))
        is None
    )


def test_a_block_after_a_gaussian_question_needs_a_delta_set_aside() -> None:
    block = Cost(block_epsilon=Fraction(1, 10), delta=DELTA / 10)
    gauss = Cost.of("0.5", "1e-6")
    open_ = Budget(ONE, DELTA)
    assert open_.charge(open_.charge(Cost(), gauss), block) is None
    aside = Budget(ONE, DELTA, Fraction(1, 5), DELTA / 2)
    spent = aside.charge(aside.charge(Cost(), gauss), block)
    assert spent.block_epsilon == Fraction(1, 10)
    assert spent.delta == DELTA / 10
    assert aside.charge(spent, Cost(delta=DELTA / 2)) is None


def test_what_is_set_aside_is_not_for_gaussians() -> None:
    aside = Budget(Fraction(3), DELTA, ONE, DELTA / 2)
    most = rho_for(Fraction(2), DELTA / 2)
    assert aside.charge(Cost(), Cost(rho=most)) is not None
    assert aside.charge(Cost(), Cost(rho=most * Fraction(1001, 1000))) is None
    spent = aside.charge(Cost(rho=most), Cost.of(1))
    assert spent == Cost(epsilon=ONE, rho=most)
    assert aside.charge(spent, Cost.of("0.001")) is None
    # More than was set aside is counted as Gaussian from the first on.
    small = Budget(Fraction(3), DELTA, Fraction(1, 10))
    assert small.charge(Cost(), Cost.of("0.2")).rho == rho_of_pure(Fraction(1, 5))


def test_many_small_pure_questions_gain() -> None:
    budget, spent = Budget(ONE, DELTA, Fraction(0)), Cost()
    for _ in range(300):
        spent = budget.charge(spent, Cost.of("0.01"))
    assert budget.total(spent) == pytest.approx(0.794, abs=0.001)


def test_the_better_of_two_kinds_chosen_after_a_look_stays_within_delta() -> None:
    """Exact integrals of the strategy that reached 1.7 delta under sums of both."""
    budget = Budget(ONE, DELTA)
    x = np.linspace(-9, 9, 40001)
    weights = norm.pdf(x) / norm.pdf(x).sum()
    for first in ("0.1", "0.3", "0.5", "0.7"):
        spent = budget.charge(Cost(), Cost.of(first, "1e-5"))
        rho = float(spent.rho)
        loss = rho + math.sqrt(2 * rho) * x
        pure = float(budget.remaining(spent))
        odds = 1 / (1 + math.exp(-pure))
        up, down = (
            np.maximum(-np.expm1(np.minimum(1 - loss - s * pure, 0)), 0)
            for s in (1, -1)
        )
        rest = math.sqrt(2 * (float(rho_for(ONE, DELTA)) - rho))
        gauss = np.array([delta_of(v, rest) if v > -30 else 1.0 for v in 1 - loss])
        best = np.maximum(odds * up + (1 - odds) * down, gauss)
        assert (best * weights).sum() <= float(DELTA)


def test_a_ledger_says_what_a_late_pure_question_costs() -> None:
    ledger = dp.Ledger(epsilon=1, delta="1e-5")
    ledger.charge(Cost.of("0.5", "1e-5"), "gauss")
    with pytest.raises(BudgetError, match=r"ε 5\.58.*delta=1e-05 up to epsilon=0\.83"):
        ledger.charge(Cost.of("1"), "late")
    assert len(ledger.entries()) == 1
    ledger.charge(Cost.of(ledger.room()), "what fits")


def test_parts_are_set_aside_once(tmp_path) -> None:
    path = tmp_path / "people.ledger"
    dp.Ledger(path, epsilon=3, delta="1e-5", pure=1)
    assert dp.Ledger(path, pure=1).room() == 1
    for other in ({"pure": 2}, {"block_delta": "1e-6"}):
        with pytest.raises(LedgerError, match="Leave"):
            dp.Ledger(path, **other)
    with pytest.raises(ParameterError, match="larger"):
        dp.Ledger(epsilon=1, delta="1e-5", pure=2)
    with pytest.raises(ParameterError, match="larger"):
        dp.Ledger(epsilon=1, block_delta="1e-5")


def test_epsilon_of_a_total_is_never_below_the_exact_one() -> None:
    for rho in ("0.01", "0.5", "2", "8", "40"):
        amount = Fraction(rho)
        mu = math.sqrt(2 * float(amount))
        # A grid may cost rho / 1000 of epsilon, and a factor e^(rho / 2000) on delta.
        grid = float(amount) / 1000
        told = epsilon_for(amount, DELTA)
        worst = math.exp(grid / 2) * delta_of(told - grid, mu)
        assert 0.99 * float(DELTA) <= worst <= 0.99901 * float(DELTA)
