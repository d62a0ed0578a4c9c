"""Constants and choices: the smallest parts of every expression."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import narwhals as nw

Expr = nw.Expr
_LARGEST = sys.float_info.max


def real(number: float) -> Expr:
    """A float64 constant."""
    return nw.lit(float(number), dtype=nw.Float64)


def whole(number: int) -> Expr:
    """A whole constant."""
    return nw.lit(int(number))


def clip(expr: Expr, low: float, high: float) -> Expr:
    """Numbers cut to a range; what is missing stays so."""
    high_cut = either(expr > real(high), real(high), expr)
    return either(expr < real(low), real(low), high_cut)


def either(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """One of two values."""
    return nw.when(condition).then(yes).otherwise(no)


def among(numbers: Expr, words: Sequence[float], absent: Expr) -> Expr:
    """Return an expression: a number is absent, or one of the words for gaps.

    No engine writes an infinite constant: what is beyond all others is infinite.
    """
    finite = [word for word in words if math.isfinite(word)]
    if finite:
        absent = absent | numbers.is_in(finite)
    if math.inf in words:
        absent = absent | (numbers > real(_LARGEST))
    if -math.inf in words:
        absent = absent | (numbers < real(-_LARGEST))
    return absent


def added(terms: list[Expr]) -> Expr:
    """Terms added up in their order."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
