"""Constants and choices: the smallest parts of every expression."""

from __future__ import annotations

import narwhals as nw

Expr = nw.Expr


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


def added(terms: list[Expr]) -> Expr:
    """Terms added up in their order."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
