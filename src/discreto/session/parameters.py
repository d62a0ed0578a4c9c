"""Parameters as people write them, each read once into what it means.

A model keeps what it was given, unchanged: that is scikit-learn's rule. So ``"0"``, 0
and ``Fraction(0)`` are three deltas until they are read, and a test of the first one
is true. Whatever needs a parameter reads it here, before anything else, and works with
what comes back; what cannot be read is refused in one form of words.

>>> whole(0, "m", of="KMeans")
Traceback (most recent call last):
...
discreto.errors.ParameterError: KMeans: m must be a whole number from 1 up. Got 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.cost import Amount, Cost, read_amount, read_delta
from discreto.errors import ParameterError

_WHOLE = (int, np.integer)
_NUMBER = (*_WHOLE, float, np.floating, Fraction, Decimal)
_SEEDS = (np.random.Generator, np.random.RandomState)
FEW = 1 << 16  # more clusters, rounds or columns than this are a slip
MANY = 1 << 53  # more rows than this nobody has


def refuse(value: Any, name: str, wanted: str, of: str = "") -> ParameterError:
    """The error that says what a parameter must be."""
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return ParameterError(
        f"{of}{': ' if of else ''}{name} must be {wanted}. Got {text}."
    )


def read_epsilon(value: Amount) -> Fraction:
    """An epsilon: a finite number above 0.

    >>> {read_epsilon(text) for text in (0.5, "1/2", "0.50", Decimal("5e-1"))}
    {Fraction(1, 2)}
    """
    return read_amount(value, "epsilon")


def whole(
    value: Any,
    name: str,
    *,
    least: int = 1,
    most: int = FEW,
    of: str = "",
    wanted: str = "",
) -> int:
    """A whole number within these ends; a truth value is none."""
    if (
        isinstance(value, bool)
        or not isinstance(value, _WHOLE)
        or not least <= value <= most
    ):
        up = f"from {least} up" if most in (FEW, MANY) else f"from {least} to {most}"
        raise refuse(value, name, wanted or f"a whole number {up}", of)
    return int(value)


def number(
    value: Any, name: str, low: float, high: float, *, of: str = "", wanted: str = ""
) -> float:
    """A finite number within these ends."""
    try:
        if isinstance(value, bool) or not isinstance(value, _NUMBER):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, ArithmeticError):
        found = math.nan
    if not low <= found <= high or math.isinf(found):
        wanted = wanted or f"a number from {low:g} to {high:g}"
        raise refuse(value, name, wanted, of)
    return found


def truth(value: Any, name: str, *, of: str = "") -> bool:
    """True or False: the text "False" would be true."""
    if not isinstance(value, bool | np.bool_):
        raise refuse(value, name, "True or False", of)
    return bool(value)


def choice(value: Any, name: str, known: Iterable[str], *, of: str = "") -> str:
    """One of these words."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise refuse(value, name, f"one of {', '.join(words)}", of)
    return str(value)


def seed(value: Any, name: str = "random_state", *, of: str = "") -> Any:
    """A seed of public coins: nothing, a whole number, or a generator of numpy."""
    if value is None or isinstance(value, _SEEDS):
        return value
    wanted = "None, a whole number from 0 up or a numpy generator"
    return whole(value, name, least=0, most=1 << 128, of=of, wanted=wanted)


def read_level(level: float) -> float:
    """With what probability an interval covers: a number between 0 and 1."""
    number = isinstance(level, int | float) and not isinstance(level, bool)
    if not number or not 0.5 <= level <= 0.9999:
        raise ParameterError(f"level must be from 0.5 to 0.9999. Got {level!r}.")
    return float(level)


class Reader:
    """The parameters of one model or learner, by name.

    ``unset`` is what a parameter means that was left at None; without it None is
    refused like any other value that does not fit.
    """

    def __init__(self, owner: Any) -> None:
        self._owner, self._of = owner, type(owner).__name__

    def given(self, name: str) -> Any:
        """The parameter as it was given."""
        return getattr(self._owner, name)

    def cost(self) -> Cost:
        """What a request costs: ``epsilon`` and ``delta`` together."""
        return Cost.of(self.given("epsilon"), self.given("delta"))

    def whole(
        self, name: str, *, least: int = 1, most: int = FEW, unset: int | None = None
    ) -> int:
        """A whole number."""
        value = self._or(name, unset)
        return whole(value, name, least=least, most=most, of=self._of)

    def number(
        self,
        name: str,
        low: float,
        high: float,
        *,
        unset: float | None = None,
        wanted: str = "",
    ) -> float:
        """A finite number."""
        return number(
            self._or(name, unset), name, low, high, of=self._of, wanted=wanted
        )

    def truth(self, name: str, *, unset: bool | None = None) -> bool:
        """True or False."""
        return truth(self._or(name, unset), name, of=self._of)

    def choice(
        self, name: str, known: Iterable[str], *, unset: str | None = None
    ) -> str:
        """One of some words."""
        return choice(self._or(name, unset), name, known, of=self._of)

    def seed(self) -> Any:
        """The seed of public coins."""
        return seed(self.given("random_state"), of=self._of)

    def is_auto(self, name: str, word: str = "auto") -> bool:
        """Whether a parameter is this word; arrays and numbers are not."""
        value = self.given(name)
        return isinstance(value, str) and value == word

    def bad(self, name: str, wanted: str) -> ParameterError:
        """The error for a parameter that fits no rule above."""
        return refuse(self.given(name), name, wanted, self._of)

    def _or(self, name: str, unset: Any) -> Any:
        value = self.given(name)
        return unset if value is None else value


__all__ = [
    "FEW",
    "Reader",
    "choice",
    "number",
    "read_delta",
    "read_epsilon",
    "read_level",
    "refuse",
    "seed",
    "truth",
    "whole",
]
