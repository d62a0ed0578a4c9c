"""Costs of releases in exact fractions, and what fits into a budget.

A cost has three parts, which a ledger adds up separately: pure ``epsilon``, Gaussian
``rho`` (mu^2 / 2), and ``(block_epsilon, delta)`` for work that was accounted as one
block elsewhere (subsampled training). ``Cost.leak()`` is infinite: a real ledger
refuses it, a simulation ledger records it.

A ``Budget`` (epsilon, delta) has two accounts. In the *basic* one epsilons and deltas
add up (pure questions and blocks). In the *Gaussian* one rho adds up. How much of
epsilon and delta belongs to the basic account is fixed before the first Gaussian
charge: it is the amount set aside when the ledger was made, or else all that had been
spent by then. From that moment a pure question that does not fit into the basic account
is counted as the Gaussian privacy that it implies. ``docs/proofs/composition.md``
proves that an analyst who chooses among all these, and sees every answer, stays within
(epsilon, delta). With a delta of 0 there is only the basic account.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreto.core.documents import read_fraction, short
from discreto.core.noise.gaussian import (
    GRID_PART,
    SMALLEST,
    epsilon_of,
    is_private,
    kept_delta,
    range_of,
)
from discreto.errors import ParameterError
from discreto.text.language import plain_number

Amount = int | float | str | Fraction | Decimal

_LARGEST = 10**6
_FINEST = 10**18  # amounts are kept to this denominator, rounded up
# "ln 3", "ln(3)", "ln 3/2", "ln 1.5"
_NUMBER = r"(\d{1,9}(?:[./]\d{1,9})?)"
_LOGARITHM = re.compile(rf"ln\s*(?:{_NUMBER}|\(\s*{_NUMBER}\s*\))", re.ASCII)
_NONE = Fraction(0)
_RHO_DIGITS = 10**15
FINEST_TOTAL = 10**60  # totals whose denominator grows past this are rounded up


def read_amount(value: Amount, name: str, *, zero: bool = False) -> Fraction:
    """A positive finite number as an exact fraction; a float is read as it prints.

    ``"ln 3"`` is the largest multiple of 10^-18 below the logarithm: what is charged
    is that fraction, and the noise is for that fraction, so the guarantee is exact.

    >>> read_amount(0.1, "epsilon"), read_amount("1/3", "epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    >>> float(read_amount("ln 3", "epsilon"))
    1.0986122886681098
    """
    wanted = "a finite number from 0 up" if zero else "a finite number above 0"
    try:
        amount = _exact(value)
    except (ValueError, ArithmeticError, TypeError):
        text = str(value).strip() if isinstance(value, str) else ""
        comma = re.fullmatch(r"(\d{0,6}),((?!\d{3}$)\d{1,12})", text, re.ASCII)
        remedy = f" Write {comma[1] or 0}.{comma[2]}." if comma else ""
        raise ParameterError(
            f"{name} must be {wanted}. Got {short(value)}.{remedy}"
        ) from None
    if amount < 0 or (amount == 0 and not zero) or amount > _LARGEST:
        what = f"at most {_LARGEST}" if amount > 0 else wanted
        raise ParameterError(f"{name} must be {what}. Got {short(value)}.")
    if amount.denominator > _FINEST:
        amount = Fraction(math.ceil(amount * _FINEST), _FINEST)
    return amount


def _exact(value: Amount) -> Fraction:
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, str) and (log := _LOGARITHM.fullmatch(value.strip())):
        return _logarithm(Fraction(log[1] or log[2]))
    if isinstance(value, int | Fraction) or (isinstance(value, str) and "/" in value):
        return Fraction(value)
    number = Decimal(plain_number(str(value)).strip())
    if not number.is_finite():
        raise ValueError
    # A Fraction of 1e999999999 would fill the memory; the limits settle it before.
    if number > _LARGEST:
        return Fraction(_LARGEST + 1)
    if number < 0:
        return Fraction(-1)
    if 0 < number < Decimal(1) / _FINEST:
        return Fraction(1, _FINEST)
    return Fraction(number)


def _logarithm(of: Fraction) -> Fraction:
    """ln, rounded down to 18 decimals.

    Decimal's ln is right to half a unit of its last digit, and the quotient to as much:
    together they err by less than 1e-40 for arguments of up to 20 digits. The logarithm
    of a fraction other than 1 is irrational, so it is never on the grid itself.
    """
    if of <= 1:
        raise ValueError
    context = Context(prec=50)
    quotient = context.divide(Decimal(of.numerator), Decimal(of.denominator))
    below = context.subtract(context.ln(quotient), Decimal("1e-40"))
    return Fraction(below.quantize(Decimal(1) / _FINEST, ROUND_FLOOR, context))


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of privacy: pure epsilon, rho, and an (epsilon, delta) block.

    Parameters
    ----------
    epsilon
        Pure ε, an exact number.
    rho
        Zero-concentrated privacy: what Gaussian noise costs.
    block_epsilon, delta
        An (ε, δ) block: a training run on samples.
    infinite
        Whether something leaves that no noise covers.

    Examples
    --------
    >>> Cost.of("1/2") + Cost.of("1/4")
    Cost(ε 0.75)
    """

    epsilon: Fraction = _NONE
    rho: Fraction = _NONE
    block_epsilon: Fraction = _NONE
    delta: Fraction = _NONE
    infinite: bool = False

    def __post_init__(self) -> None:
        for part in (self.epsilon, self.rho, self.block_epsilon, self.delta):
            if part is _NONE:
                continue
            if not isinstance(part, int | Fraction) or part < 0:
                raise ParameterError("a cost is made of exact numbers from 0 up.")

    @classmethod
    def of(cls, epsilon: Amount, delta: Amount = 0) -> Cost:
        """The cost of a request: pure epsilon, or the rho that fits (epsilon, delta).

        Parameters
        ----------
        epsilon : int, float, str or Fraction
            The ε; ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the same.
        delta : int, float, str or Fraction
            0 for pure ε.

        Examples
        --------
        >>> Cost.of("0.5")
        Cost(ε 0.5)
        """
        amount = read_amount(epsilon, "epsilon")
        chance = read_delta(delta)
        return cls(rho=rho_for(amount, chance)) if chance else cls(epsilon=amount)

    @classmethod
    def leak(cls) -> Cost:
        """Return the cost of something that no noise covers."""
        return cls(infinite=True)

    def __add__(self, other: Cost) -> Cost:
        if self._is_pure() and other._is_pure():  # most are
            return Cost(_add(self.epsilon, other.epsilon))
        return Cost(
            _add(self.epsilon, other.epsilon),
            _add(self.rho, other.rho),
            _add(self.block_epsilon, other.block_epsilon),
            _add(self.delta, other.delta),
            self.infinite or other.infinite,
        )

    def _is_pure(self) -> bool:
        rest = self.rho or self.block_epsilon or self.delta
        return not rest and not self.infinite

    def __mul__(self, share: Fraction | int) -> Cost:
        """Return a share of this cost."""
        if share == 1:
            return self
        share = Fraction(share)
        if share <= 0:
            raise ParameterError(f"a share must be above 0. Got {share}.")
        return Cost(
            self.epsilon * share,
            self.rho * share,
            self.block_epsilon * share,
            self.delta * share,
            self.infinite,
        )

    def __bool__(self) -> bool:
        return bool(
            self.infinite
            or self.epsilon
            or self.rho
            or self.block_epsilon
            or self.delta
        )

    def parts(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Return the four amounts."""
        return (self.epsilon, self.rho, self.block_epsilon, self.delta)

    def covers(self, other: Cost) -> bool:
        """Return True if ``other`` is at most this cost in every component.

        Parameters
        ----------
        other
            Another cost.
        """
        return self.infinite or (
            not other.infinite
            and self.epsilon >= other.epsilon
            and self.rho >= other.rho
            and self.block_epsilon >= other.block_epsilon
            and self.delta >= other.delta
        )

    def total(self, delta: Fraction) -> float | Fraction:
        """Return the epsilon that all parts amount to at ``delta`` in all.

        Parameters
        ----------
        delta
            What may be used of δ, in all.
        """
        spare = delta - self.delta
        if self.infinite or spare < 0:
            return math.inf
        pure = self.epsilon + self.block_epsilon
        if not self.rho:
            return pure
        return math.inf if spare == 0 else pure + Fraction(epsilon_for(self.rho, spare))

    def to_dict(self) -> dict[str, str | bool]:
        """Return the parts that are not zero, fractions as text."""
        parts = {
            "epsilon": self.epsilon,
            "rho": self.rho,
            "block_epsilon": self.block_epsilon,
            "delta": self.delta,
        }
        out: dict[str, str | bool] = {n: str(part) for n, part in parts.items() if part}
        return out | ({"infinite": True} if self.infinite else {})

    @classmethod
    def from_dict(cls, data: dict[str, str | bool]) -> Cost:
        """Return the cost of which ``to_dict`` returned the data.

        Parameters
        ----------
        data
            What ``to_dict`` returned.
        """
        names = [name for name in data if name != "infinite"]
        # Whole numbers only: Fraction("1e999999999") would fill the memory.
        parts = {name: read_fraction(data[name], 10**3) for name in names}
        return cls(**parts, infinite=bool(data.get("infinite", False)))

    def __str__(self) -> str:
        if self.infinite:
            return "ε ∞"
        texts = []
        if self.epsilon or not self:
            texts.append(f"ε {show(self.epsilon)}")
        if self.rho:
            texts.append(f"ρ {show(self.rho)}")
        if self.block_epsilon or self.delta:
            texts.append(f"(ε {show(self.block_epsilon)}, δ {show(self.delta)})")
        return " + ".join(texts)

    def __repr__(self) -> str:
        return f"Cost({self})"


def total_of(costs: Iterable[Cost]) -> Cost:
    """Return all costs added up by basic composition."""
    return sum(costs, Cost())


def show(amount: Fraction | float) -> str:
    """Return an amount as a person writes it."""
    return f"{float(amount):.6g}"


def read_delta(value: Amount) -> Fraction:
    """Return a delta: 0, or a probability below 1."""
    if type(value) is int and not value:  # most are
        return _NONE
    chance = read_amount(value, "delta", zero=True)
    if chance and chance <= Fraction(1, _FINEST):
        raise ParameterError(f"delta must be 0 or above 1e-18. Got {short(value)}.")
    if chance >= 1:
        raise ParameterError(f"delta must be below 1. Got {value!r}.")
    return chance


def _add(first: Fraction, second: Fraction) -> Fraction:
    if first is _NONE or second is _NONE:
        total = second if first is _NONE else first
    else:
        total = first + second
    if total.denominator <= FINEST_TOTAL:
        return total
    return Fraction(math.ceil(total * _FINEST), _FINEST)


@lru_cache(maxsize=1024)
def epsilon_for(rho: Fraction, delta: Fraction) -> float:
    """Return the epsilon that rho amounts to at ``delta``, rounded up.

    A thousandth of rho is for noise being drawn on a grid.
    """
    if rho == 0:
        return 0.0
    mu = math.sqrt(2 * float(rho))
    kept = kept_delta(delta, rho)
    if kept < 1e-300:
        return math.inf
    best = epsilon_of(mu, kept)
    # 1e-9 covers the rounding of a few dozen float operations many times over.
    return (best + float(rho * GRID_PART)) * (1 + 1e-9) + 1e-12


@lru_cache(maxsize=256)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho (to 12 digits, rounded down) that implies (epsilon, delta)-DP."""
    target = float(epsilon)
    low, high = 0.0, 2 * target + 100  # more would not fit any delta
    for _ in range(80):
        middle = (low + high) / 2
        if epsilon_for(Fraction(middle), delta) <= target:
            low = middle
        else:
            high = middle
    # A unit of 2^-80 below is far finer than 12 digits of any rho used in practice.
    scale = 10 ** max(0, 12 - math.floor(math.log10(low or 1e-300)))
    if low <= 0:
        raise ParameterError(f"delta {show(delta)} is too small for Gaussian noise.")
    rho = Fraction(math.floor(Fraction(low) * scale), scale)
    while epsilon_for(rho, delta) > target:  # last digits of floats do not only grow
        rho = Fraction(math.floor(rho * (1 - Fraction(1, 10**9)) * scale), scale)
    return rho


@lru_cache(maxsize=1024)
def rho_within(epsilon: float, delta: Fraction) -> float:
    """Return about the largest rho with ``epsilon_for(rho, delta) <= epsilon``.

    It bisects over "is delta kept at this epsilon", which needs no epsilon of its own.
    ``rho_for`` bisects over ``epsilon_for``, which bisects itself: it takes 20 times as
    long, and its last digits are in the ledgers of users.
    """
    low, high = 0.0, 2 * epsilon + 100  # more would not fit any delta
    for _ in range(80):
        middle = (low + high) / 2
        if _is_within(middle, epsilon, delta):
            low = middle
        else:
            high = middle
    return low


def _is_within(rho: float, epsilon: float, delta: Fraction) -> bool:
    mu = math.sqrt(2 * rho)
    if mu < SMALLEST:
        return epsilon_for(Fraction(rho), delta) <= epsilon
    loss = Fraction(rho)
    kept = kept_delta(delta, loss)
    rest = (epsilon - 1e-12) / (1 + 1e-9) - float(loss * GRID_PART)
    return kept >= 1e-300 and rest > 0 and is_private(rest, kept, mu)


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta), and what of it was set aside for costs that add up."""

    epsilon: Fraction
    delta: Fraction = _NONE
    pure: Fraction | None = None
    block_delta: Fraction = _NONE

    def charge(self, spent: Cost, cost: Cost) -> Cost | None:
        """Return what is spent after one more charge, or None if it does not fit."""
        after = self.after(spent, cost)
        return after if self.has_delta_for(spent, cost) and self.fits(after) else None

    def after(self, spent: Cost, cost: Cost) -> Cost:
        """Return what would be spent after one more charge, if it fits or not."""
        return spent + self.counted(spent, cost)

    def counted(self, spent: Cost, cost: Cost) -> Cost:
        """Return what a charge counts as: the account that each part of it falls on."""
        if not self.delta or self._open(spent):
            return cost
        left = _NONE if self.pure is None else self.pure - _adding(spent)
        if _adding(cost) <= left:
            return cost
        # Each part is counted by itself: rho adds up, whatever the answers were.
        gauss = rho_of_pure(cost.epsilon) + rho_of_pure(cost.block_epsilon)
        return Cost(rho=cost.rho + gauss, delta=cost.delta, infinite=cost.infinite)

    def has_delta_for(self, spent: Cost, cost: Cost) -> bool:
        """Return True if the basic account has the delta of a block."""
        if not self._open(spent):
            # Without an amount set aside, the Gaussian account has the rest of delta.
            kept = spent.delta if self.pure is None else self.block_delta
            return not cost.delta or spent.delta + cost.delta <= kept
        return spent.delta + cost.delta <= self.delta

    def fits(self, spent: Cost) -> bool:
        """Return True if a total is within the budget."""
        if spent.infinite:
            return False
        if not self.delta or self._open(spent):  # only the basic account is in use
            within = _adding(spent) <= self.epsilon and spent.delta <= self.delta
            return within and not spent.rho
        if self.pure is not None and not (
            _adding(spent) <= self.pure <= self.epsilon
            and spent.delta <= self.block_delta <= self.delta
        ):
            return False
        return self._gaussian(spent) <= self.epsilon - self._basic(spent)

    def total(self, spent: Cost) -> Fraction | float:
        """Return the epsilon that is spent, at this budget's delta."""
        if spent.infinite or spent.delta > self.delta:
            return math.inf
        gaussian = self._gaussian(spent)
        return gaussian if math.isinf(gaussian) else _adding(spent) + Fraction(gaussian)

    def remaining(self, spent: Cost) -> Fraction:
        """Return the largest pure epsilon that still fits, rounded down."""
        if self.fits(spent) and (not self.delta or self._open(spent)):
            return self.epsilon - _adding(spent)
        inside = _NONE if self.pure is None else self.pure - _adding(spent)
        return max(inside, self._largest(spent, lambda e: Cost(epsilon=e)), _NONE)

    def remaining_gaussian(self, spent: Cost) -> Fraction:
        """Return the largest epsilon at this budget's delta that fits, rounded down."""
        rho = self._largest_rho(spent)
        return Fraction(epsilon_for(rho, self.delta)) if rho else _NONE

    def _largest_rho(self, spent: Cost) -> Fraction:
        left = self.epsilon - self._basic(spent)
        spare = self._spare_delta(spent)
        if left <= 0 or spare <= 0:
            return _NONE
        whole = Fraction(rho_within(float(left), spare)) - spent.rho
        for digits in range(52, 0, -1):  # the rule of charges decides what fits
            part = whole * (1 - Fraction(1, 1 << digits))
            if part > 0 and self.charge(spent, Cost(rho=part)) is not None:
                return part
        return _NONE

    def _largest(self, spent: Cost, cost_of: Callable[[Fraction], Cost]) -> Fraction:
        low, high = _NONE, 4 * self.epsilon + 100
        for _ in range(60):
            middle = (low + high) / 2
            if self.charge(spent, cost_of(middle)) is not None:
                low = middle
            else:
                high = middle
        return low

    def _open(self, spent: Cost) -> bool:
        """Return True if the split between the two accounts is not fixed yet."""
        return self.pure is None and not spent.rho

    def _basic(self, spent: Cost) -> Fraction:
        return _adding(spent) if self.pure is None else self.pure

    def _gaussian(self, spent: Cost) -> float:
        if not spent.rho:
            return 0.0
        spare = self._spare_delta(spent)
        return epsilon_for(spent.rho, spare) if spare > 0 else math.inf

    def _spare_delta(self, spent: Cost) -> Fraction:
        """Return the delta of the Gaussian account."""
        return self.delta - (spent.delta if self.pure is None else self.block_delta)


def _adding(cost: Cost) -> Fraction:
    return cost.epsilon + cost.block_epsilon


@lru_cache(maxsize=1024)
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """The Gaussian privacy that pure epsilon implies, rounded up.

    Telling neighbours apart is never easier than from randomised response with odds
    e^epsilon, and that is as hard as N(0, 1) against N(mu, 1) at the one point where
    it matters: Phi(mu / 2) = e^epsilon / (1 + e^epsilon). It is the formula for a
    choice whose log-ratios have a range of 2 epsilon.

    >>> f"{float(rho_of_pure(Fraction(1, 10))):.12f}"
    '0.007851174286'
    """
    if not epsilon:
        return _NONE
    wanted = 2 * float(epsilon) * (1 + 1e-12)
    low, high = 0.0, 4 * wanted + 1e-9  # rho is below both 0.8 epsilon^2 and 4 epsilon
    for _ in range(200):
        middle = (low + high) / 2
        if range_of(middle) >= wanted:
            high = middle
        else:
            low = middle
    scale = _RHO_DIGITS * 10 ** max(0, -math.floor(math.log10(high)))
    return Fraction(math.ceil(Fraction(high) * scale), scale)
