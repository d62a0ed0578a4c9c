"""Exponentials and logarithms whose last bit is the same everywhere.

What a library's ``exp`` gives in its last bit depends on the library, and numpy's on
the processor. Here they are made of sums, products, quotients and floors alone, each
rounded as IEEE 754 says, and of powers of two: numpy, compiled loops and databases
(``discreto.data.sql.row_language``) take the same steps in the same order. The
formulas are those of Sun's fdlibm; errors stay below 1 unit in the last place
(``tests/unit/core/test_exponentials.py``).

All of them are total: numbers are cut to a range, and NaN counts as its lower end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreto.core import compiled
from discreto.core.query import Floats

FARTHEST = 64.0  # exp: beyond it, sums of chances do not change in any bit
TWO_LOG = 1.4426950408889634  # 1 / ln 2
LOG_HIGH, LOG_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # of 2
EXP = (
    *(1.66666666666666019037e-01, -2.77777777770155933842e-03),
    *(6.61375632143793436117e-05, -1.65339022054652515390e-06),
    4.13813679705723846039e-08,
)
LEAST, MOST = 2.0**-64, 2.0**512  # log: what it is taken of
ROOT = 1.4142135623730951  # of 2
LOG = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01),
    *(2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01),
    1.479819860511658591e-01,
)
# Added to a whole number k, this leaves k + 1023 in the last bits: the exponent of 2^k.
_EXPONENT = float((1 << 52) + 1023)
_ONE, _FRACTION = 1023 << 52, (1 << 52) - 1
_LOOPS = "discreto.core.exponentials_numba"
_HELD = 1 << 12  # numbers whose steps stay in the cache


def exp(numbers: Floats) -> Floats:
    """e to the power of each number, which is cut to 64 on both sides."""
    return _each(numbers, "exp", _exp)


def log(numbers: Floats) -> Floats:
    """Natural logarithms of numbers from 2^-64 to 2^512."""
    return _each(numbers, "log", _log)


def log1p(numbers: Floats) -> Floats:
    """Logarithms of 1 + x, exact to the last places near 0, for x above -1."""
    return _each(numbers, "log1p", _log1p)


def _each(numbers: Floats, name: str, plain: Callable[[Floats], Floats]) -> Floats:
    values = np.asarray(numbers, dtype=np.float64, order="C")
    flat, out = values.reshape(-1), np.empty(values.shape)
    fast, place = compiled.loops(values.size, _LOOPS), out.reshape(-1)
    if fast is not None:
        getattr(fast, name)(compiled.plain(flat, flat.size), place)
        return out
    for start in range(0, flat.size, _HELD):
        part = slice(start, start + _HELD)
        place[part] = plain(flat[part])
    return out


def _exp(x: Floats) -> Floats:
    x = np.fmin(np.fmax(x, -FARTHEST), FARTHEST)
    k = np.floor(x * TWO_LOG + 0.5)
    high, low = x - k * LOG_HIGH, k * LOG_LOW
    r = high - low
    c = r - _polynomial(r * r, EXP)
    out = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    k += _EXPONENT
    bits = k.view(np.int64)
    bits <<= 52
    out *= k
    return out


def _log(x: Floats) -> Floats:
    x = np.fmin(np.fmax(x, LEAST), MOST)
    return _log_of(x, np.zeros(x.shape))


def _log1p(x: Floats) -> Floats:
    x = np.fmin(np.fmax(x, LEAST - 1), MOST)
    u = np.fmax(1.0 + x, LEAST)
    return _log_of(u, (x - (u - 1.0)) / u)


def _log_of(u: Floats, more: Floats) -> Floats:
    """The logarithm of u, plus a little more."""
    bits = u.view(np.int64)
    k = ((bits >> 52) - 1023).astype(np.float64)
    m = ((bits & _FRACTION) | _ONE).view(np.float64)
    large = m > ROOT
    f = np.where(large, m * 0.5, m) - 1.0
    k = np.where(large, k + 1.0, k)
    s, half = f / (2.0 + f), 0.5 * f * f
    rest = s * (half + _polynomial(s * s, LOG)) + (k * LOG_LOW + more)
    return k * LOG_HIGH - ((half - rest) - f)


def _polynomial(t: Floats, factors: tuple[float, ...]) -> Floats:
    """t (a + t (b + t (c + ...)))."""
    out = t * factors[-1]
    for factor in reversed(factors[:-1]):
        out += factor
        out *= t
    return out
