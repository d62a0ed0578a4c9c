"""Draws that floating point could not decide, decided with decimal arithmetic.

A uniform number is known by its first bits, ``word``. Where they do not settle the
matter it gets more bits, from a stream of its own, and more digits are worked out.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from discreto.core.noise.entropy import more_bits

ONE = Fraction(1)


def _context(digits: int) -> decimal.Context:
    return decimal.Context(
        prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[]
    )


def floor_of_log(word: int, scale: Fraction, tag: bytes, index: int) -> int:
    """floor(-scale * log U) for the uniform U whose first 64 bits are ``word``."""
    bits, digits = 64, 40
    while True:
        if word:
            ctx, slip = _context(digits), Decimal(10) ** (28 - digits)
            log = ctx.subtract(
                ctx.multiply(Decimal(bits), _log_of_two(digits)), ctx.ln(Decimal(word))
            )
            top, bottom = Decimal(scale.numerator), Decimal(scale.denominator)
            high = ctx.divide(ctx.multiply(top, log), bottom)
            # -log falls by less than 1 / word on the way from word to word + 1.
            low = ctx.subtract(high, ctx.divide(top, ctx.multiply(bottom, word)))
            least = ctx.subtract(low, slip).to_integral_value(decimal.ROUND_FLOOR)
            most = ctx.add(high, slip).to_integral_value(decimal.ROUND_FLOOR)
            if least == most and least >= 0:
                return int(least)
        word = (word << 64) | more_bits(tag, index, bits // 64)
        bits, digits = bits + 64, digits + 25


@lru_cache(maxsize=64)
def _log_of_two(digits: int) -> Decimal:
    return _context(digits).ln(Decimal(2))


def below_exp(
    word: int, rate: Fraction, tag: bytes, index: int, factor: Fraction = ONE
) -> bool:
    """Whether the uniform U that starts with ``word`` is below factor * exp(-rate)."""
    bits, digits = 64, 60
    while True:
        ctx = _context(digits)
        ratio = ctx.divide(Decimal(rate.numerator), Decimal(rate.denominator))
        edge = ctx.multiply(
            ctx.exp(ctx.minus(ratio)), Decimal(factor.numerator << bits)
        )
        edge = ctx.divide(edge, Decimal(factor.denominator))
        slip = Decimal(10) ** (int(math.log10(2) * bits) + 30 - digits)
        if Decimal(word + 1) <= ctx.subtract(edge, slip):
            return True
        if Decimal(word) >= ctx.add(edge, slip):
            return False
        word = (word << 64) | more_bits(tag, index, bits // 64)
        bits, digits = bits + 64, digits + 25


def below_ratio(word: int, top: int, bottom: int, tag: bytes, index: int) -> bool:
    """Whether the uniform U that starts with ``word`` is below top / bottom."""
    bits = 64
    while True:
        if (word + 1) * bottom <= top << bits:
            return True
        if word * bottom >= top << bits:
            return False
        word = (word << 64) | more_bits(tag, index, bits // 64)
        bits += 64


def times(word: int, limit: int, tag: bytes, index: int) -> int:
    """floor(U * limit) for the uniform U whose first 64 bits are ``word``."""
    bits = 64
    while True:
        low, high = word * limit >> bits, ((word + 1) * limit - 1) >> bits
        if low == high:
            return low
        word = (word << 64) | more_bits(tag, index, bits // 64)
        bits += 64


def first(racers: list[tuple[int, Fraction]], tag: bytes, places: list[int]) -> int:
    """Who comes first, if a (word, delay) comes at exp(delay) * -log(1 - U)."""
    bits, digits = 64, 70
    while True:
        ctx, slip = _context(digits), Decimal(10) ** (45 - digits)
        early = [ctx.subtract(_time(ctx, bits, *one), slip) for one in racers]
        late = [ctx.add(_time(ctx, bits, w + 1, delay), slip) for w, delay in racers]
        best = late.index(min(late))
        if all(t > late[best] for i, t in enumerate(early) if i != best):
            return best
        racers = [
            ((word << 64) | more_bits(tag, place, bits // 64), delay)
            for (word, delay), place in zip(racers, places, strict=True)
        ]
        bits, digits = bits + 64, digits + 25


def _time(ctx: decimal.Context, bits: int, word: int, delay: Fraction) -> Decimal:
    """delay + log(-log(1 - word / 2^bits)), the logarithm of a racer's time."""
    whole = Decimal(1 << bits)
    wait = ctx.subtract(ctx.ln(whole), ctx.ln(ctx.subtract(whole, Decimal(word))))
    late = ctx.divide(Decimal(delay.numerator), Decimal(delay.denominator))
    return ctx.add(ctx.ln(wait), late)
