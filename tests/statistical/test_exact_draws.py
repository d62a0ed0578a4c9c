"""Draws that 64 bits cannot decide: the bits after them do, and nothing else.

Every case here takes the one word in which the answer changes. Deciding it by the
word alone, or by floating point, would be wrong for about every second case.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreto.core.noise import sampler_exact
from discreto.core.noise.entropy import Entropy, more_bits
from discreto.core.noise.sampler import SCALE_LIMIT, Sampler, check_scale

WORD = 1 << 64
DIGITS = Context(prec=150, Emax=10**6, Emin=-(10**6))
TAG = bytes(range(32))
CASES = 40


def uniform(word, index=0, tag=TAG):
    """The draw that starts with a word, to 320 bits."""
    for block in range(1, 5):
        word = (word << 64) | more_bits(tag, index, block)
    return Fraction(2 * word + 1, 1 << 321)


def decimal(value):
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp(value):
    """e^-value, exact to 150 digits."""
    return Fraction(DIGITS.exp(-decimal(Fraction(value))))


def log(value):
    return Fraction(DIGITS.ln(decimal(value)))


def both(found):
    """The cases must not all fall the same way, or the test could not fail."""
    assert len(set(found)) > 1
    return found


class Given(Entropy):
    """Entropy whose words are given, with a known tag; afterwards it is seeded."""

    def __init__(self, *words):
        super().__init__(b"given")
        self.given = [np.array(part, dtype=np.uint64) for part in words]

    def words(self, count):
        if not self.given:
            return super().words(count)
        out = self.given.pop(0)
        assert out.size == count
        return out

    def bytes(self, count):
        return TAG if count == 32 else super().bytes(count)


RATES = [Fraction(k, 7) for k in range(1, CASES + 1)]


def test_coins_are_decided_by_all_bits():
    factor = Fraction(3, 4)
    words = [math.floor(exp(rate) * factor * WORD) for rate in RATES]
    cases = [(w, r, i) for i, (w, r) in enumerate(zip(words, RATES, strict=True))]
    wanted = both([uniform(w, i) < factor * exp(r) for w, r, i in cases])
    assert [
        sampler_exact.below_exp(w, r, TAG, i, factor) for w, r, i in cases
    ] == wanted


@pytest.mark.parametrize("shift", [-300, -1, 0, 1, 300])
def test_floats_do_not_decide_coins_that_are_close(shift):
    rates = RATES[:14]  # chances above 1/8: a float sees no shift of 300
    words = [math.floor(exp(rate) * WORD) + shift for rate in rates]
    found = Sampler(Given(words)).bernoulli_exp(
        np.array([float(r) for r in rates]), lambda i: rates[i]
    )
    pairs = enumerate(zip(words, rates, strict=True))
    assert found.tolist() == [uniform(w, i) < exp(r) for i, (w, r) in pairs]


def test_ratios_are_decided_by_all_bits():
    parts = [(3**k, 3**k + 2**k + 1) for k in range(2, CASES)]
    cases = [(t * WORD // b, t, b, i) for i, (t, b) in enumerate(parts)]
    wanted = both([uniform(w, i) < Fraction(t, b) for w, t, b, i in cases])
    assert [
        sampler_exact.below_ratio(w, t, b, TAG, i) for w, t, b, i in cases
    ] == wanted


def edges(limit, count=CASES):
    """Words in which floor(U * limit) goes from k - 1 to k."""
    places = [(limit * (i + 1)) // (count + 2) + 1 for i in range(count)]
    return [k * WORD // limit for k in places]


@pytest.mark.parametrize("limit", [3, 1001, (1 << 40) + 7, (1 << 62) + 3])
def test_even_numbers_are_decided_by_all_bits(limit):
    words = [w for w in edges(limit) if w * limit % WORD]
    wanted = [math.floor(uniform(w, i) * limit) for i, w in enumerate(words)]
    both([w * limit // WORD == k for w, k in zip(words, wanted, strict=True)])
    assert [
        sampler_exact.times(w, limit, TAG, i) for i, w in enumerate(words)
    ] == wanted
    limits = np.full(len(words), limit, dtype=np.uint64)
    assert Sampler(Given(words))._below(limits).tolist() == wanted


@pytest.mark.parametrize("scale", [Fraction(10), Fraction(7, 3)], ids=str)
def test_logarithms_are_decided_by_all_bits(scale):
    words = [math.floor(exp(Fraction(k) / scale) * WORD) for k in range(1, CASES)]
    wanted = [math.floor(-scale * log(uniform(w, i))) for i, w in enumerate(words)]
    both([k - i for i, k in enumerate(wanted)])
    found = [sampler_exact.floor_of_log(w, scale, TAG, i) for i, w in enumerate(words)]
    assert found == wanted
    assert Sampler(Given(words)).geometric(scale, len(words)).tolist() == wanted


def test_races_are_decided_by_all_bits():
    """Two racers whose words alone leave open who is first."""
    delay = Fraction(1, 3)
    seen = []
    for k in range(1, CASES):
        one = k * WORD // (CASES + 1)
        ahead = exp(delay) * -log(1 - Fraction(one, WORD))
        two = math.floor((1 - exp(ahead)) * WORD)
        racers, places = [(one, Fraction(0)), (two, delay)], [2 * k, 2 * k + 1]
        times = [
            DIGITS.exp(decimal(late)) * -DIGITS.ln(decimal(1 - uniform(word, place)))
            for (word, late), place in zip(racers, places, strict=True)
        ]
        wanted = int(times[1] < times[0])
        assert sampler_exact.first(racers, TAG, places) == wanted
        seen.append(wanted)
    both(seen)


def test_low_digits_fall_off():
    """The largest digits are given up where a coin says so, and drawn again."""
    bits, top = 20, 1 << 40
    largest, next_draw = WORD - 1, 5 << (64 - bits)
    tails, heads = [WORD - 1], [0]
    sampler = Sampler(Given([largest], tails, [next_draw], heads))
    assert sampler._low_digits(top, bits, 1).tolist() == [5]
    chance = exp(Fraction((1 << bits) - 1, top))
    edge = math.floor(chance * WORD)
    for word, kept in ((edge - 2**14, True), (edge + 2**14, False)):
        sampler = Sampler(Given([largest], [word], [next_draw], heads))
        wanted = (1 << bits) - 1 if kept else 5
        assert sampler._low_digits(top, bits, 1).tolist() == [wanted]


def test_floats_do_not_decide_logarithms_that_are_close():
    """Next to a whole number the last bits of a float logarithm are wrong."""
    scale = Fraction(10**6 + 3)
    edges = [math.floor(exp(k / scale) * WORD) for k in range(1000, 1000 + CASES)]
    words = [edge + step for edge in edges for step in (-1, 0, 1, 2)]
    drawn = Sampler(Given(words))._short_geometric(scale, len(words)).tolist()
    truth = [sampler_exact.floor_of_log(w, scale, TAG, i) for i, w in enumerate(words)]
    assert drawn == truth
    guesses = [
        math.floor(float(scale) * (64 * math.log(2) - math.log(w))) for w in words
    ]
    assert guesses != truth  # or the test could not fail


def test_words_of_few_bits_get_more():
    """A small word says little about its logarithm: further bits decide."""
    scale, changed = Fraction(10), 0
    for word in range(1, 60):
        drawn = Sampler(Given([word]))._short_geometric(scale, 1).tolist()
        assert drawn == [sampler_exact.floor_of_log(word, scale, TAG, 0)]
        changed += drawn != [math.floor(10 * -math.log(word / WORD))]
    assert changed > 5


@pytest.mark.parametrize(
    "scale",
    [
        Fraction((1 << 60) - 1, 1 << 59),
        Fraction((1 << 70) + 1, (1 << 20) + 1),
        Fraction((1 << 54) - 1),
        Fraction((1 << 60) - 1, (1 << 120) - 1),
        Fraction(1) / Fraction(0.1 + 0.2),
        (Fraction((1 << 54) - 2)) + Fraction(1, 3),
        Fraction(1, 1 << 80),
        Fraction(5, 3),
    ],
    ids=str,
)
def test_no_scale_is_rounded_down(scale):
    assert check_scale(scale) >= scale
    assert check_scale(scale) <= scale + max(1, math.ceil(scale)) / Fraction(1 << 51)
    assert check_scale(scale).numerator < SCALE_LIMIT


def test_the_second_tread_of_a_staircase_is_thinned():
    """A place past the first tread stays only if its coin shows heads."""
    edge, past, none = [WORD - 1], [((1 << 40) + 5) << 22], [0]
    for coin, wanted in ((0, 1), (WORD - 1, 0)):
        first_try, second_try = (edge, past, [coin], none), (edge, none, none, none)
        sampler = Sampler(Given(*first_try, *second_try))
        assert sampler.staircase(Fraction(1), 4, 1, 1).tolist() == [wanted]
