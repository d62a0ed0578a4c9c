"""No order of charges gets more out of a budget; a shut ledger stays shut."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreto import Ledger
from discreto.core.cost import Budget, Cost, epsilon_for
from discreto.errors import KernelFault, ParameterError

ONE, DELTA = Fraction(1), Fraction(1, 10**5)
PURE = Cost.of("0.3")
GAUSS = Cost.of("0.3", "1e-5")
BLOCK = Cost(block_epsilon=Fraction(3, 10), delta=DELTA / 2)
BUDGETS = {
    "nothing set aside": Budget(ONE, DELTA),
    "some set aside": Budget(ONE, DELTA, Fraction(2, 5), DELTA / 2),
    "no delta": Budget(ONE),
}


def accepted(budget, order):
    """The charges of an order that fit, and what is spent."""
    spent, taken = Cost(), []
    for cost in order:
        after = budget.charge(spent, cost)
        if after is not None:
            spent, taken = after, [*taken, cost]
    return spent, taken


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_both_accounts_together_stay_within_the_budget(budget):
    """Whatever was taken: what adds up, and Gaussian privacy at the delta that is left.

    The part for what adds up is fixed before the first Gaussian charge.
    """
    kinds = (PURE, GAUSS, BLOCK)
    for code in range(3**5):
        order = [kinds[code // 3**k % 3] for k in range(5)]
        spent, taken = accepted(budget, order)
        adding = spent.epsilon + spent.block_epsilon
        assert spent.delta == sum(cost.delta for cost in taken) <= budget.delta
        gaussian = [k for k, cost in enumerate(taken) if cost.rho]
        kept = adding if budget.pure is None else budget.pure
        chance = spent.delta if budget.pure is None else budget.block_delta
        assert adding <= kept
        if spent.rho:
            assert Fraction(epsilon_for(spent.rho, DELTA - chance)) + kept <= ONE
        else:
            assert adding <= ONE
        if budget.pure is None and gaussian:  # nothing adds up after it
            before = taken[: gaussian[0]]
            assert adding == sum(c.epsilon + c.block_epsilon for c in before)


def test_a_shut_ledger_answers_nothing_until_its_owner_has_looked():
    ledger = Ledger(epsilon=1)
    ledger.charge(Cost.of("0.1"), "first")
    ledger.fault("first")
    for _ in range(2):
        with pytest.raises(KernelFault, match="shut"):
            ledger.charge(Cost.of("0.1"), "second")
    ledger.reopen("a full disk")
    ledger.charge(Cost.of("0.1"), "third")
    ledger.fault("third")
    with pytest.raises(KernelFault, match="shut"):
        ledger.charge(Cost.of("0.1"), "fourth")


@pytest.mark.parametrize("key", ["discreto reopened 1", "discreto fault 1"])
def test_nobody_else_writes_the_entries_of_the_ledger_itself(key):
    ledger = Ledger(epsilon=1)
    with pytest.raises(ParameterError):
        ledger.charge(Cost.of("0.1"), "q", key=key)
    with pytest.raises(ParameterError):
        ledger.note("q", {}, key)
    assert not ledger.entries()
