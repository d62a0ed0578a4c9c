"""Costs are exact fractions; conversions never promise more than there is."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreto.core import cost as module
from discreto.core.cost import (
    Cost,
    epsilon_for,
    read_amount,
    read_delta,
    rho_for,
    total_of,
)
from discreto.core.noise.gaussian import range_of
from discreto.errors import ParameterError

AMOUNTS = st.fractions(min_value=Fraction(1, 10**9), max_value=1000)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (2, Fraction(2)),
        (" 2.50 ", Fraction(5, 2)),
        ("1e-3", Fraction(1, 1000)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int64(3), Fraction(3)),
        (10**6, Fraction(10**6)),
    ],
)
def test_amounts_are_read_as_they_print(value, wanted):
    assert read_amount(value, "epsilon") == wanted


@pytest.mark.parametrize(
    "value",
    [
        0, -1, -0.5, "-1", math.nan, math.inf, -math.inf, "nan", "inf", "", "a", "1/0",
        None, True, False, [], [1], {}, b"1", 1j, "1e999999999", 10**6 + 1, "1//2",
        np.nan, np.array([1.0, 2.0]), object(),
    ],
    ids=lambda value: repr(value)[:12],
)  # fmt: skip
def test_other_amounts_are_refused(value):
    with pytest.raises(ParameterError, match="epsilon must be"):
        read_amount(value, "epsilon")


def test_tiny_amounts_round_up_so_that_nothing_is_free():
    assert read_amount("1e-999999999", "epsilon") == Fraction(1, 10**18)
    assert read_amount(5e-324, "epsilon") == Fraction(1, 10**18)
    third = Fraction(10**30, 3 * 10**30 + 1)
    assert read_amount(third, "epsilon") >= third


class Careful(Fraction):
    """A fraction that refuses to write out a power of millions."""

    def __new__(cls, value=0, denominator=None):
        if isinstance(value, Decimal):
            assert abs(value.adjusted()) < 10**4, "this would fill the memory"
        return Fraction(value, denominator)


@pytest.mark.parametrize("text", ["-1e999999999", "-1e-999999999"])
def test_huge_negative_amounts_are_refused_at_once(text, monkeypatch):
    monkeypatch.setattr(module, "Fraction", Careful)
    with pytest.raises(ParameterError):
        read_amount(text, "epsilon")


def test_delta():
    assert read_delta(0) == 0
    assert read_delta("1e-6") == Fraction(1, 10**6)
    for bad in (1, 2, -1, "nan", None):
        with pytest.raises(ParameterError):
            read_delta(bad)


def test_a_tiny_delta_is_not_made_larger():
    try:
        delta = read_delta("1e-30")
    except ParameterError:
        return
    assert delta <= Fraction(1, 10**30)


# Adding up

PARTS = st.tuples(*[st.fractions(0, 10)] * 4)


@settings(max_examples=40, deadline=None)
@given(PARTS, PARTS, PARTS)
def test_addition_is_exact(a, b, c):
    a, b, c = Cost(*a), Cost(*b), Cost(*c)
    assert a + b == b + a
    assert (a + b) + c == a + (b + c) == total_of([a, b, c])
    assert (a + b).covers(a)
    assert (a + b).epsilon == a.epsilon + b.epsilon
    assert a + Cost() == a


@settings(max_examples=40, deadline=None)
@given(PARTS, st.integers(1, 60))
def test_shares_add_up_to_the_whole(parts, pieces):
    whole = Cost(*parts)
    assert total_of([whole * Fraction(1, pieces)] * pieces) == whole


def test_many_tiny_costs_lose_nothing():
    tiny = Cost(epsilon=Fraction(1, 10**18))
    total = Cost()
    for _ in range(2000):
        total += tiny
    assert total.epsilon == Fraction(2000, 10**18)


def test_totals_with_long_denominators_round_up():
    total, exact = Cost(), Fraction(0)
    for prime in (10**19 + 51, 10**21 + 117, 10**23 + 117):
        total += Cost(epsilon=Fraction(1, prime))
        exact += Fraction(1, prime)
    assert exact <= total.epsilon <= exact + Fraction(3, 10**18)


@pytest.mark.parametrize("share", [0, -1, Fraction(-1, 2)])
def test_a_share_is_positive(share):
    with pytest.raises(ParameterError):
        Cost.of(1) * share


def test_covers_and_leaks():
    assert Cost.of(1).covers(Cost.of("0.5"))
    assert not Cost.of(1).covers(Cost(rho=Fraction(1, 10)))
    assert not Cost.of(1).covers(Cost.leak())
    assert Cost.leak().covers(Cost.of(5))
    assert (Cost.of(1) + Cost.leak()).infinite
    assert Cost.leak().total(Fraction(1, 2)) == math.inf
    assert bool(Cost.leak())
    assert not Cost()


@given(PARTS, st.booleans())
def test_json_round_trip(parts, infinite):
    cost = Cost(*parts, infinite=infinite)
    assert Cost.from_dict(cost.to_dict()) == cost


@pytest.mark.parametrize("part", ["epsilon", "rho", "block_epsilon", "delta"])
def test_a_cost_is_never_negative(part):
    with pytest.raises(ParameterError):
        Cost(**{part: Fraction(-1)})


# Rho and (epsilon, delta)

DELTAS = [Fraction(1, 10**k) for k in (1, 3, 6, 10, 18)]
RHOS = [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10), 1, 20, 1000]


def _gaussian_delta(epsilon: float, rho: float) -> float:
    """The exact delta of a Gaussian mechanism with this rho (Balle and Wang 2018)."""
    mu = math.sqrt(2 * rho)
    first = stats.norm.cdf(mu / 2 - epsilon / mu)
    return first - math.exp(epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("delta", DELTAS[1:4], ids=str)
@pytest.mark.parametrize("rho", RHOS[1:5], ids=str)
def test_epsilon_for_rho_is_the_truth_and_a_hair_more(rho, delta):
    ours = epsilon_for(Fraction(rho), delta)
    assert _gaussian_delta(ours, float(rho)) <= float(delta)
    less = ours - float(rho) / 900 - 1e-3 * ours
    assert _gaussian_delta(less, float(rho)) > float(delta)
    # And a planted bug, rho + sqrt(rho log(1/delta)) without its 2, is caught.
    wrong = float(rho) + math.sqrt(float(rho) * -math.log(delta))
    assert _gaussian_delta(0.8 * wrong, float(rho)) > float(delta)


def test_dp_accounting_agrees():
    pld = pytest.importorskip("dp_accounting.pld", reason="dp-accounting is absent")
    from dp_accounting import dp_event

    for rho, delta in ((0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9)):
        gauss = dp_event.GaussianDpEvent(1 / math.sqrt(2 * rho))
        theirs = pld.PLDAccountant().compose(gauss).get_epsilon(delta)
        ours = epsilon_for(Fraction(rho), Fraction(delta))
        assert ours == pytest.approx(theirs, rel=2e-3)


@pytest.mark.parametrize("rho", [1e-13, 1e-9, 1e-4, 0.03, 1.0, 9.0])
def test_a_choice_is_worth_its_rho(rho):
    """Two answers with log-ratios t and t - r are the worst of a bounded range r."""
    mu, r = math.sqrt(2 * rho), range_of(rho)
    gaps = []
    for t in np.linspace(r / 1000, r * 0.999, 999):
        q = -math.expm1(t - r) / (math.exp(t) - math.exp(t - r))
        p = q * math.exp(t)
        gaps.append(stats.norm.ppf(p) - stats.norm.ppf(q))
    slip = 1e-9  # of the quantiles
    assert max(gaps) <= mu * (1 + 1e-6) + slip
    assert max(gaps) >= mu * (1 - 1e-3) - slip


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(Fraction(1, 1000), 50),
    st.fractions(Fraction(1, 10**12), Fraction(1, 2)),
)
def test_rho_for_epsilon_keeps_the_promise(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert rho > 0
    # The last digits are within the 1e-9 by which epsilon_for rounds up.
    assert epsilon_for(rho, delta) <= float(epsilon) * (1 + 1e-12)
    # And is nearly the largest that does.
    if float(epsilon_for(rho, delta)) > 0.99 * float(epsilon):
        assert epsilon_for(rho * Fraction(101, 100), delta) > epsilon


def test_of_is_pure_or_concentrated():
    assert Cost.of("0.5") == Cost(epsilon=Fraction(1, 2))
    assert Cost.of(1, "1e-6").epsilon == 0
    cost = Cost.of(1, "1e-6")
    assert cost.total(Fraction(1, 10**6)) <= 1
    assert cost.total(Fraction(0)) == math.inf


def test_totals_of_all_parts():
    delta = Fraction(1, 10**6)
    cost = Cost.of(1) + Cost(block_epsilon=Fraction(2), delta=Fraction(1, 10**7))
    assert cost.total(delta) == 3
    assert cost.total(Fraction(1, 10**8)) == math.inf
    more = cost + Cost(rho=Fraction(1, 10))
    spare = delta - Fraction(1, 10**7)
    assert more.total(delta) == pytest.approx(3 + epsilon_for(Fraction(1, 10), spare))


@given(AMOUNTS)
def test_more_rho_never_costs_less(rho):
    delta = Fraction(1, 10**6)
    assert epsilon_for(rho * 2, delta) >= epsilon_for(rho, delta)
