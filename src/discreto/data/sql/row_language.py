"""The language of translations: constants, choices, look-ups, exponentials.

Every function returns an expression about one row: none looks at another row. Powers of
two are looked up by comparisons, so no database is asked for an exponential.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import narwhals as nw

from discreto.core.exponentials import (
    EXP,
    FARTHEST,
    LOG,
    LOG_HIGH,
    LOG_LOW,
    ROOT,
    TWO_LOG,
)
from discreto.data.sql import Untranslated

if TYPE_CHECKING:
    from discreto.data.sql.columns import Columns

Expr = nw.Expr
_LARGEST = sys.float_info.max
MOST_CHOICES = 1 << 12  # categories or cuts of one column that are compared with


def real(number: float) -> Expr:
    """Return a float64 constant."""
    return nw.lit(float(number), dtype=nw.Float64)


def whole(number: int) -> Expr:
    """Return a whole constant."""
    return nw.lit(int(number))


def clip(expr: Expr, low: float, high: float) -> Expr:
    """Return numbers cut to a range; null stays null."""
    high_cut = either(expr > real(high), real(high), expr)
    return either(expr < real(low), real(low), high_cut)


def either(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """Return one of two values."""
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
    """Return terms added up in their order."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def search(
    expr: Expr, cuts: Sequence[float], pick: Callable[[int], Expr], *, right: bool
) -> Expr:
    """Return ``pick`` of how many cuts are below a value, or up to it if ``right``."""
    if len(cuts) > MOST_CHOICES:
        raise Untranslated(f"more than {MOST_CHOICES} cuts of a column")

    def find(first: int, last: int) -> Expr:
        if first == last:
            return pick(first)
        middle = (first + last + 1) // 2
        cut = real(cuts[middle - 1])
        below = expr < cut if right else expr <= cut
        return either(below, find(first, middle - 1), find(middle, last))

    return find(0, len(cuts))


def table(code: Expr, values: Sequence[Expr], default: Expr) -> Expr:
    """Return the entry of a list that a code names."""

    def find(first: int, last: int) -> Expr:
        if last - first == 1:
            return values[first]
        middle = (first + last) // 2
        return either(code < middle, find(first, middle), find(middle, last))

    inside = (code >= 0) & (code < len(values))
    return either(inside, find(0, len(values)), default)


_TINY = 2.0**-60  # e to it is 1; squares of much smaller numbers would underflow
_DIGIT = 16  # a power of two is a product of two that are looked up
_LEAST_SUM = 2.0**-53  # the smallest 1 + x that is above 0


def exps(numbers: Sequence[Expr], rows: Columns) -> list[Expr]:
    """Return e to the power of each number; none of them is missing."""
    return rows.beside(*[partial(_exp, x, rows) for x in numbers])


def logs(numbers: Sequence[Expr], low: float, high: float, rows: Columns) -> list[Expr]:
    """Return logarithms of numbers that are known to be from ``low`` to ``high``."""
    make = partial(_log, more=real(0.0), low=low, high=high, rows=rows)
    return rows.beside(*[partial(make, x) for x in numbers])


def log1p(x: Expr, high: float, rows: Columns) -> Expr:
    """Return the logarithm of 1 + x for x above -1, up to ``high``; null stays null."""
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
    """Return 2^k; ``digit`` is k modulo 16."""
    most = math.ceil(FARTHEST * TWO_LOG / _DIGIT)
    steps = range(-most, most + 1)
    coarse = _chosen(k, [(float(_DIGIT * j), 2.0 ** (_DIGIT * j)) for j in steps])
    return coarse * _chosen(digit, [(float(j), 2.0**j) for j in range(_DIGIT)])


def _chosen(x: Expr, pairs: Sequence[tuple[float, float]]) -> Expr:
    """Return the second of the last pair whose first is not above x."""
    cuts = [first for first, _ in pairs[1:]]
    return search(x, cuts, lambda place: real(pairs[place][1]), right=True)


def _log(x: Expr, *, more: Expr, low: float, high: float, rows: Columns) -> Expr:
    """Return the logarithm of x plus ``more``, which is small."""
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
    """Return a number below 2^step, and how often it was halved; exact."""
    steps = range(first, last + 1)
    by = _chosen(m, [(2.0 ** (step * j), 2.0 ** (-step * j)) for j in steps])
    times = _chosen(m, [(2.0 ** (step * j), float(step * j)) for j in steps])
    m, k = rows.let([m * by, times])
    return m, k


def _polynomial(t: Expr, factors: tuple[float, ...]) -> Expr:
    """Return t (a + t (b + t (c + ...)))."""
    out = t * real(factors[-1])
    for factor in reversed(factors[:-1]):
        out = (out + real(factor)) * t
    return out
