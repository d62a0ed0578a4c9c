"""Exponentials and logarithms as expressions: the steps of ``core.exponentials``.

Powers of two are looked up by comparisons, so no function of a database is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from discreto.core.exponentials import (
    EXP,
    FARTHEST,
    LOG,
    LOG_HIGH,
    LOG_LOW,
    ROOT,
    TWO_LOG,
)
from discreto.data.sql.columns import Columns, Expr, search
from discreto.data.sql.sql_terms import clip, either, real

_TINY = 2.0**-60  # e to it is 1; squares of much smaller numbers would underflow
_DIGIT = 16  # a power of two is a product of two that are looked up
_LEAST_SUM = 2.0**-53  # the smallest 1 + x that is above 0


def exps(numbers: Sequence[Expr], rows: Columns) -> list[Expr]:
    """e to the power of each of some numbers, none of which is missing."""
    return rows.beside(*[partial(_exp, x, rows) for x in numbers])


def logs(numbers: Sequence[Expr], low: float, high: float, rows: Columns) -> list[Expr]:
    """Logarithms of numbers that are known to be from ``low`` to ``high``."""
    make = partial(_log, more=real(0.0), low=low, high=high, rows=rows)
    return rows.beside(*[partial(make, x) for x in numbers])


def log1p(x: Expr, high: float, rows: Columns) -> Expr:
    """The logarithm of 1 + x, for x above -1 and up to ``high``; null stays null."""
    (x,) = rows.let([x])
    (u,) = rows.let([real(1.0) + x])
    (more,) = rows.let([(x - (u - real(1.0))) / u])
    return _log(u, more=more, low=_LEAST_SUM, high=1.0 + max(high, 0.0), rows=rows)


def _exp(x: Expr, rows: Columns) -> Expr:
    (x,) = rows.let([clip(x, -FARTHEST, FARTHEST)])
    (x,) = rows.let([either(x.abs() < real(_TINY), real(0.0), x)])
    (k,) = rows.let([(x * real(TWO_LOG) + real(0.5)).floor()])
    digit = k - (k * real(1 / _DIGIT)).floor() * real(_DIGIT)
    high, low, digit = rows.let([x - k * real(LOG_HIGH), k * real(LOG_LOW), digit])
    r = high - low
    r, t, power = rows.let([r, r * r, _power(k, digit)])
    (c,) = rows.let([r - _polynomial(t, EXP)])
    out = real(1.0) - ((low - (r * c) / (real(2.0) - c)) - high)
    (out,) = rows.let([out * power])
    return out


def _power(k: Expr, digit: Expr) -> Expr:
    """2^k; ``digit`` is what k has more than a multiple of 16."""
    most = math.ceil(FARTHEST * TWO_LOG / _DIGIT)
    steps = range(-most, most + 1)
    coarse = _chosen(k, [(float(_DIGIT * j), 2.0 ** (_DIGIT * j)) for j in steps])
    return coarse * _chosen(digit, [(float(j), 2.0**j) for j in range(_DIGIT)])


def _chosen(x: Expr, pairs: Sequence[tuple[float, float]]) -> Expr:
    """The second of the last pair whose first is not above x."""
    cuts = [first for first, _ in pairs[1:]]
    return search(x, cuts, lambda place: real(pairs[place][1]), right=True)


def _log(x: Expr, *, more: Expr, low: float, high: float, rows: Columns) -> Expr:
    """The logarithm of x, plus a little more."""
    (m,) = rows.let([x])
    first, last = (math.floor(math.log2(end) / 64) for end in (low, high))
    m, k = _halved(m, 64, first, last, rows)
    m, tens = _halved(m, 8, 0, 7, rows)
    m, ones = _halved(m, 1, 0, 7, rows)
    large = m > real(ROOT)
    f = either(large, m * real(0.5), m) - real(1.0)
    k = k + tens + ones + either(large, real(1.0), real(0.0))
    f, k = rows.let([f, k])
    s, half = rows.let([f / (real(2.0) + f), real(0.5) * f * f])
    (t,) = rows.let([s * s])
    rest = s * (half + _polynomial(t, LOG)) + (k * real(LOG_LOW) + more)
    (rest,) = rows.let([rest])
    (out,) = rows.let([k * real(LOG_HIGH) - ((half - rest) - f)])
    return out


def _halved(
    m: Expr, step: int, first: int, last: int, rows: Columns
) -> tuple[Expr, Expr]:
    """A number below 2^step, and how often it was halved; exact."""
    steps = range(first, last + 1)
    by = _chosen(m, [(2.0 ** (step * j), 2.0 ** (-step * j)) for j in steps])
    times = _chosen(m, [(2.0 ** (step * j), float(step * j)) for j in steps])
    m, k = rows.let([m * by, times])
    return m, k


def _polynomial(t: Expr, factors: tuple[float, ...]) -> Expr:
    """t (a + t (b + t (c + ...)))."""
    out = t * real(factors[-1])
    for factor in reversed(factors[:-1]):
        out = (out + real(factor)) * t
    return out
