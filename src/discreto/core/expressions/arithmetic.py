"""Sums, products, powers and a few functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreto.core import exponentials
from discreto.core.domain.domain import Domain
from discreto.core.expressions.kinds import (
    LARGEST,
    Expression,
    Operation,
    Real,
    real,
    tidy,
    tidy_ends,
)
from discreto.core.query import Batch, Floats
from discreto.errors import ParameterError

HIGHEST_POWER = 8
_LEAST_LOG = float(exponentials.log1p(np.array(2.0**-53 - 1)))  # of all that have one


@dataclass(frozen=True, slots=True)
class Arithmetic(Operation):
    """Two numbers added, subtracted, multiplied or divided.

    Whatever is divided by 0 is missing; what would be too large is cut to 1e150.
    """

    op: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression

    def kind(self, domain: Domain) -> Real:
        a, b = real(self.left, domain, self.op), real(self.right, domain, self.op)
        missing, whole = a.missing or b.missing, a.integer and b.integer
        if self.op == "+":
            return Real(
                *tidy_ends(a.lower + b.lower, a.upper + b.upper), whole, missing
            )
        if self.op == "-":
            return Real(
                *tidy_ends(a.lower - b.upper, a.upper - b.lower), whole, missing
            )
        if self.op == "*":
            ends = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
            return Real(*tidy_ends(*ends), whole, missing)
        if b.lower <= 0 <= b.upper:
            return Real(*_through_zero(a, b), missing=True)
        ends = [x / y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
        return Real(*tidy_ends(*ends), missing=missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        a, b = self.left.rows(batch, domain), self.right.rows(batch, domain)
        if self.op == "+":
            return tidy(a + b)
        if self.op == "-":
            return tidy(a - b)
        if self.op == "*":
            return tidy(a * b)
        return tidy(a / np.where(b == 0, np.nan, b))

    def __str__(self) -> str:
        return f"({self.left} {self.op} {self.right})"


def _through_zero(a: Real, b: Real) -> tuple[float, float]:
    """The range of a quotient whose divisor may be 0, which makes it missing."""
    low, high = -LARGEST, LARGEST
    if b.lower == 0 and b.upper > 0:  # no divisor changes a sign
        low = a.lower / b.upper if a.lower >= 0 else low
        high = a.upper / b.upper if a.upper <= 0 else high
    return tidy_ends(low, high)


@dataclass(frozen=True, slots=True)
class Power(Operation):
    """A number multiplied by itself, some times."""

    base: Expression
    exponent: int

    def __post_init__(self) -> None:
        if type(self.exponent) is not int or not 2 <= self.exponent <= HIGHEST_POWER:
            raise ParameterError(
                f"an exponent is a whole number from 2 to {HIGHEST_POWER}."
            )

    def kind(self, domain: Domain) -> Real:
        base = real(self.base, domain, "**")
        low, high = self._raise(np.array([base.lower, base.upper])).tolist()
        least = 0.0 if base.lower < 0 < base.upper else min(low, high)
        if self.exponent % 2:
            least = low
        return Real(least, max(low, high), base.integer, base.missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        return self._raise(self.base.rows(batch, domain))

    def _raise(self, numbers: Floats) -> Floats:
        out = numbers
        for _ in range(self.exponent - 1):
            out = tidy(out * numbers)
        return out

    def __str__(self) -> str:
        return f"({self.base} ** {self.exponent})"


@dataclass(frozen=True, slots=True)
class Clip(Operation):
    """A number cut to a range."""

    inside: Expression
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not -LARGEST <= self.lower < self.upper <= LARGEST:
            raise ParameterError("clip needs lower < upper, at most 1e150.")

    def kind(self, domain: Domain) -> Real:
        kind = real(self.inside, domain, "clip")
        low, high = tidy_ends(*[self._cut(end) for end in (kind.lower, kind.upper)])
        whole = float(self.lower).is_integer() and float(self.upper).is_integer()
        return Real(low, high, kind.integer and whole, kind.missing)

    def _cut(self, number: float) -> float:
        return min(max(number, self.lower), self.upper)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        return tidy(np.clip(self.inside.rows(batch, domain), self.lower, self.upper))

    def __str__(self) -> str:
        return f"clip({self.inside}, {self.lower!r}, {self.upper!r})"


@dataclass(frozen=True, slots=True)
class Apply(Operation):
    """A function of a number; outside of its range the value is missing."""

    function: Literal["abs", "ceil", "floor", "log1p", "sqrt"]
    inside: Expression

    def kind(self, domain: Domain) -> Real:
        kind = real(self.inside, domain, self.function)
        least = {"log1p": -1.0, "sqrt": 0.0}.get(self.function, -math.inf)
        strict = self.function == "log1p"  # it has no value at -1
        outside = kind.lower <= least if strict else kind.lower < least
        ends = np.array([kind.lower, kind.upper])
        if self.function == "abs":
            low, high = sorted(np.abs(ends).tolist())
            low = 0.0 if kind.lower <= 0 <= kind.upper else low
            return Real(low, high, kind.integer, kind.missing)
        with np.errstate(all="ignore"):
            low, high = tidy(_FUNCTIONS[self.function](ends)).tolist()
        if outside:
            low = _LEAST_LOG if strict else 0.0
        if math.isnan(high):  # no value at all has one
            low, high = 0.0, 0.0
        whole = self.function in ("ceil", "floor")
        return Real(low, max(low, high), whole, kind.missing or outside)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        numbers = self.inside.rows(batch, domain)
        kind = self.kind(domain)
        out = tidy(_FUNCTIONS[self.function](numbers))
        if self.function == "log1p":
            out = np.where(numbers <= -1, np.nan, out)
        return np.clip(out, kind.lower, kind.upper)

    def __str__(self) -> str:
        return f"{self.function}({self.inside})"


def _log1p(numbers: Floats) -> Floats:
    outside = np.where(numbers == -1, -np.inf, np.nan)
    return np.where(numbers > -1, exponentials.log1p(numbers), outside)


_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "log1p": _log1p,
    "sqrt": np.sqrt,
}
