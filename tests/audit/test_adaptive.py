"""Adaptive analysts: exact where the truth is known, and the worst is found."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreto as dp
from discreto.audit.adaptive import SLACK, accepts, conversation, worst_delta
from discreto.core.cost import Cost, epsilon_for, rho_for
from discreto.core.noise.gaussian import delta_of
from discreto.lab.known_bugs.filters import added_up, two_accounts

QUICK = {"ratio": 1.06, "pure_first": 2, "points": 1201}


def gaussian_only(charges):
    if any(cost.epsilon or cost.delta for cost in charges):
        return False
    rho = sum(cost.rho for cost in charges)
    return epsilon_for(rho, Fraction(1, 10**5)) <= 1


def pure_only(charges):
    return not any(c.rho or c.delta for c in charges) and (
        sum(cost.epsilon for cost in charges) <= 1
    )


def test_gaussian_questions_alone_are_worth_what_the_formula_says():
    found = worst_delta(gaussian_only, 1, "1e-5", **QUICK)
    rho = float(rho_for(Fraction(1), Fraction(1, 10**5)))
    assert found == pytest.approx(delta_of(1, (2 * rho) ** 0.5), rel=SLACK)


def test_pure_questions_alone_have_no_delta():
    assert worst_delta(pure_only, 1, "1e-5", **QUICK) == 0


def test_a_budget_that_adds_two_currencies_is_broken():
    found = conversation(added_up, 1, "1e-5", **QUICK)
    assert found.violation
    assert found.shown > 6e-5  # smaller questions: 11 to 13 times the budget
    assert "times" in str(found)


def test_two_accounts_hold():
    found = conversation(two_accounts, 1, "1e-5", **QUICK)
    assert not found.violation, found
    assert found.shown > 0.99e-5  # all of the budget can be used


def test_a_block_beside_rho_is_found():
    """A filter that lets a block and rho use the same delta twice."""

    def twice(charges):
        told = sum(cost.delta for cost in charges)
        rho = sum(cost.rho for cost in charges)
        small = Fraction(1, 10**5)
        fits = not rho or epsilon_for(rho, small) <= 1
        return told <= small and fits and not any(c.epsilon for c in charges)

    assert worst_delta(twice, 1, "1e-5", **QUICK) > 1.4e-5


def test_the_filter_of_a_ledger():
    fits = accepts(lambda: dp.Ledger(epsilon=1, delta="1e-5"))
    half = Cost.of("0.5")
    assert fits([half, half])
    assert not fits([half, half, half])
    assert not fits([Cost(rho=Fraction(10))])
