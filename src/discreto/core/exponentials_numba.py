"""The exponentials and logarithms of ``exponentials``, compiled: the same bits.

Each loop does one thing and divides without asking whether it can, so that several
numbers are worked on at once; nothing is fused or put in another order.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from discreto.core.exponentials import (
    EXP,
    FARTHEST,
    LEAST,
    LOG,
    LOG_HIGH,
    LOG_LOW,
    MOST,
    ROOT,
    TWO_LOG,
)

_E1, _E2, _E3, _E4, _E5 = EXP
_L1, _L2, _L3, _L4, _L5, _L6, _L7 = LOG
_EXPONENT = float((1 << 52) + 1023)
_ONE, _FRACTION = 1023 << 52, (1 << 52) - 1
_NEAR = 1 << 10  # numbers that are worked on together


@njit(cache=True, nogil=True, error_model="numpy")
def _cut(x, low, high):
    x = x if x > low else low
    return x if x < high else high


@njit(cache=True, nogil=True, error_model="numpy")
def exp(numbers, out):
    """e to the power of each number."""
    powers = np.empty(_NEAR)
    bits = powers.view(np.int64)
    for start in range(0, numbers.size, _NEAR):
        own = numbers[start : start + _NEAR]
        place = out[start : start + _NEAR]
        for i in range(own.size):
            x = _cut(own[i], -FARTHEST, FARTHEST)
            k = np.floor(x * TWO_LOG + 0.5)
            high, low = x - k * LOG_HIGH, k * LOG_LOW
            r = high - low
            t = r * r
            c = r - t * (_E1 + t * (_E2 + t * (_E3 + t * (_E4 + t * _E5))))
            place[i] = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
            powers[i] = k + _EXPONENT
        for i in range(own.size):
            bits[i] = bits[i] << 52
        for i in range(own.size):
            place[i] *= powers[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _log_of(k, m, more):
    large = m > ROOT
    f = (m * 0.5 if large else m) - 1.0
    k = k + 1.0 if large else k
    s, half = f / (2.0 + f), 0.5 * f * f
    t = s * s
    even = t * (_L4 + t * (_L5 + t * (_L6 + t * _L7)))
    rest = s * (half + t * (_L1 + t * (_L2 + t * (_L3 + even))))
    return k * LOG_HIGH - ((half - (rest + (k * LOG_LOW + more))) - f)


@njit(cache=True, nogil=True, error_model="numpy")
def _logs(wide, more, place):
    """Logarithms of some numbers, which are written over."""
    bits = wide.view(np.int64)
    for i in range(place.size):
        place[i] = (bits[i] >> 52) - 1023
        bits[i] = (bits[i] & _FRACTION) | _ONE
    for i in range(place.size):
        place[i] = _log_of(place[i], wide[i], more[i])


@njit(cache=True, nogil=True, error_model="numpy")
def log(numbers, out):
    """The logarithm of each number."""
    wide, more = np.empty(_NEAR), np.zeros(_NEAR)
    for start in range(0, numbers.size, _NEAR):
        own = numbers[start : start + _NEAR]
        for i in range(own.size):
            wide[i] = _cut(own[i], LEAST, MOST)
        _logs(wide, more, out[start : start + _NEAR])


@njit(cache=True, nogil=True, error_model="numpy")
def log1p(numbers, out):
    """The logarithm of 1 + each number."""
    wide, more = np.empty(_NEAR), np.empty(_NEAR)
    for start in range(0, numbers.size, _NEAR):
        own = numbers[start : start + _NEAR]
        for i in range(own.size):
            x = _cut(own[i], LEAST - 1.0, MOST)
            u = max(1.0 + x, LEAST)
            wide[i] = u
            more[i] = (x - (u - 1.0)) / u
        _logs(wide, more, out[start : start + _NEAR])
