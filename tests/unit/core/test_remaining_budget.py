"""What is said to be left of a budget fits, and hardly more would."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreto.core.cost import Budget, Cost, epsilon_for

EPSILONS = st.fractions("1/100", 20, max_denominator=100)
DELTAS = st.integers(3, 12).map(lambda digits: Fraction(1, 10**digits))


@given(EPSILONS, DELTAS, st.fractions(0, "1/2", max_denominator=50), st.booleans())
def test_the_remaining_gaussian_budget_fits_and_hardly_more(
    epsilon: Fraction, delta: Fraction, share: Fraction, split: bool
) -> None:
    aside = (epsilon / 4, delta / 4) if split else (None, Fraction(0))
    budget = Budget(epsilon, delta, *aside)
    spent = Cost(rho=epsilon**2 * share / 40)
    if not budget.fits(spent):
        assert budget.remaining_gaussian(spent) == 0
        return
    rho = budget._largest_rho(spent)
    assert rho >= 0
    if rho:
        assert budget.charge(spent, Cost(rho=rho)) is not None
        assert budget.remaining_gaussian(spent) == Fraction(epsilon_for(rho, delta))
    more = Cost(rho=rho * (1 + Fraction(1, 10**6)) + Fraction(1, 10**9))
    assert budget.charge(spent, more) is None
