"""Shares of a cost: weighed ones add up, expect less error, and come before paying."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreto as dp
from discreto.errors import BudgetError, ParameterError
from discreto.stats import Count, Histogram, Mean, Mode, sentence
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 120, missing=False),
        "pay": dp.Number(0, 100_000, missing=False),
        "town": dp.Category([f"t{i}" for i in range(40)], missing=False),
    }
)
COINS = np.random.default_rng(2)
DATA = {
    "age": COINS.uniform(0, 120, 3000),
    "pay": COINS.uniform(0, 100_000, 3000),
    "town": COINS.choice([f"t{i}" for i in range(40)], 3000),
}
ASKED = [Count(), Mean("age"), Histogram(("town",)), sentence("median(pay)")]


def errors(split, **more):
    plan = dp.plan.statistics(DOMAIN, ASKED, epsilon=1, rows=3000, split=split, **more)
    return plan, [
        float(np.sqrt(np.mean(np.square(r.error))))
        / float(np.sqrt(np.mean(np.square(r.value))))
        for r in plan.expected
    ]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_weighed_shares_expect_less_error(delta):
    equal, weighed = (
        sum(errors(split, delta=delta)[1]) for split in ("equal", "weighed")
    )
    assert weighed < 0.9 * equal


def test_no_other_shares_are_much_better():
    """Moving a hundredth from one to another gains next to nothing (grids count)."""
    plan, best = errors("weighed")
    table = dp.Table(DATA, DOMAIN, simulate(0))
    found = table.answers(ASKED, epsilon=1, split="weighed", rows=3000)
    shares = [release.cost.epsilon for release in found]
    assert sum(shares) == 1
    assert plan.total.epsilon == 1
    for i in range(4):
        for j in range(4):
            moved = list(shares)
            moved[i] -= Fraction(1, 100)
            moved[j] += Fraction(1, 100)
            if i != j and moved[i] > 0:
                # Errors of ranks fall in steps: one place fewer is 9 % of the sum.
                assert sum(errors(moved)[1]) > 0.9 * sum(best)


def test_wanted_precision_moves_shares():
    table = dp.Table(DATA, DOMAIN, simulate(0))
    asked = [Mean("age"), Mean("pay")]

    def shares(precision):
        found = table.answers(
            asked, epsilon=1, split="weighed", precision=precision, rows=3000
        )
        return [float(release.cost.epsilon) for release in found]

    even, fine = shares([1, 1000 / 1.2]), shares(["0.1", 1000 / 1.2])
    assert even[0] == pytest.approx(0.5, abs=0.01)
    assert fine[0] == pytest.approx(np.sqrt(10) / (1 + np.sqrt(10)), abs=0.02)


def test_numbers_are_proportions():
    table = dp.Table(DATA, DOMAIN, simulate(0))
    found = table.answers([Count(), Mean("age")], epsilon=1, split=[3, 1])
    assert [release.cost.epsilon for release in found] == [
        Fraction(3, 4),
        Fraction(1, 4),
    ]
    with pytest.raises(ParameterError, match="2 numbers"):
        table.answers([Count(), Mean("age")], epsilon=1, split=[3])


def test_a_statistic_without_an_error_bar_gets_its_share():
    table = dp.Table(DATA, DOMAIN, simulate(0))
    found = table.answers([Mode("town"), Count()], epsilon=1, split="weighed")
    assert all(release.cost.epsilon > Fraction(1, 100) for release in found)


@pytest.mark.parametrize(
    "wrong",
    [
        {"split": "fair"},
        {"split": [0, 1, 1, 1]},
        {"precision": [1, 1, 1, 1]},
        {"split": "weighed", "precision": [1]},
        {"split": "weighed", "precision": [-1, 1, 1, 1]},
    ],
)
def test_what_is_wrong_is_refused_before_the_charge(wrong):
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(DATA, DOMAIN, ledger)
    with pytest.raises(ParameterError):
        table.answers(ASKED, epsilon=1, **wrong)
    with pytest.raises(BudgetError):
        table.answers(ASKED, epsilon=2, split="weighed")
    assert ledger.total() == 0
