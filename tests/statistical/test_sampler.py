"""Every sampler has the law that it names, at every scale, and a test that can tell."""

from __future__ import annotations

import itertools
from fractions import Fraction

import laws
import numpy as np
import pytest
from laws import WRONG, chi_square, same_law, smooth
from scipy import special, stats

from discreto.core.noise import sampler as module
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler

DRAWS = 200_000
LONG = 1 / Fraction(0.1 + 0.2)  # a numerator of 54 digits: rounded up at the last
SMALL = [Fraction(1, 3), Fraction(1), Fraction(10, 7), Fraction(2), LONG, 10, 100]
LARGE = [1 << 22, 1 << 30, 3 * 10**11]
VARIANCES = [Fraction(1, 4), Fraction(1), 4, 25, 1600]


@pytest.fixture
def noise() -> Sampler:
    """A sampler with a fresh secret key, as the gate has."""
    return Sampler(Entropy())


@pytest.mark.parametrize("scale", SMALL, ids=str)
def test_geometric(noise, scale):
    draws = noise.geometric(Fraction(scale), DRAWS)
    right, wrong = (laws.geometric(float(scale) * f) for f in (1, WRONG))
    same_law(chi_square(draws, right), chi_square(draws, wrong))


@pytest.mark.parametrize("scale", SMALL, ids=str)
def test_laplace(noise, scale):
    draws = noise.laplace(Fraction(scale), DRAWS)
    right, wrong = (laws.laplace(float(scale) * f) for f in (1, WRONG))
    same_law(chi_square(draws, right), chi_square(draws, wrong))


@pytest.mark.parametrize("scale", LARGE)
@pytest.mark.parametrize("denominator", [1, 7])
def test_laplace_of_a_large_scale(noise, scale, denominator):
    # Over 7 the sampler takes another way: it divides a geometric of 7 times the scale.
    scale = Fraction(7 * scale + denominator - 1, denominator * 7)
    draws = noise.laplace(scale, DRAWS)
    right, wrong = (laws.laplace_cdf(float(scale) * f) for f in (1, WRONG))
    same_law(smooth(draws, right), smooth(draws, wrong))


@pytest.mark.parametrize("scale", LARGE)
def test_geometric_of_a_large_scale(noise, scale):
    draws = noise.geometric(Fraction(scale), DRAWS)
    right, wrong = (stats.expon(scale=float(scale) * f).cdf for f in (1, WRONG))
    same_law(smooth(draws, right), smooth(draws, wrong))


@pytest.mark.parametrize("scale", LARGE)
@pytest.mark.parametrize("shift", [0, 5])
def test_low_digits_are_uniform(noise, scale, shift):
    draws = noise.laplace(Fraction(scale), DRAWS)
    uniform = (0, np.full(256, 1 / 256))
    right = chi_square((draws >> shift) & 255, uniform)
    # The wrong law: a sampler that loses its last binary digit.
    same_law(right, chi_square((draws >> shift) & 254, uniform))


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_gaussian(noise, variance):
    draws = noise.gaussian(Fraction(variance), DRAWS)
    right, wrong = (laws.gaussian(float(variance) * f) for f in (1, WRONG**2))
    same_law(chi_square(draws, right), chi_square(draws, wrong))


def test_gaussian_of_a_large_variance(noise):
    draws = noise.gaussian(Fraction(1 << 60), DRAWS)
    right, wrong = (stats.norm(scale=2.0**30 * f).cdf for f in (1, WRONG))
    same_law(smooth(draws, right), smooth(draws, wrong))
    uniform = (0, np.full(256, 1 / 256))
    same_law(chi_square(draws & 255, uniform), chi_square(draws & 254, uniform))


@pytest.mark.parametrize("rate", [0.001, 0.1, 1.0, 3.0, 5.0])
def test_bernoulli_exp(noise, rate):
    draws = noise.bernoulli_exp(np.full(4 * DRAWS, rate), lambda _: Fraction(rate))
    draws = draws.astype(np.int64)

    def law(rate):
        return 0, np.array([-np.expm1(-rate), np.exp(-rate)])

    # A rare event needs more draws than this for 10 %: there the power is for twice.
    wrong = law(rate * WRONG) if rate > 0.01 else law(rate * 2)
    same_law(chi_square(draws, law(rate)), chi_square(draws, wrong))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("choices", [2, 3, 10])
def test_respond(noise, epsilon, choices):
    truth = choices // 2
    draws = noise.respond(np.full(2 * DRAWS, truth), choices, epsilon)

    def law(epsilon):
        odds = np.ones(choices)
        odds[truth] = np.exp(epsilon)
        return 0, odds / odds.sum()

    wrong = law(float(epsilon) * WRONG)
    same_law(chi_square(draws, law(float(epsilon))), chi_square(draws, wrong))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize(("width", "step"), [(1, 1), (5, 1), (5, 2), (5, 5), (12, 7)])
def test_staircase(noise, epsilon, width, step):
    draws = noise.staircase(epsilon, width, step, DRAWS)
    reach = 50 * width

    def law(epsilon):
        ratio = Fraction(np.exp(-epsilon))
        return -reach, np.array(laws.staircase(ratio, width, step, reach), float)

    wrong = law(float(epsilon) / WRONG)
    same_law(chi_square(draws, law(float(epsilon))), chi_square(draws, wrong))


@pytest.mark.parametrize("limit", [2, 3, 5, 7, 10, 64, 100, 1000])
def test_below(limit):
    draws = Entropy().below(limit, 3 * DRAWS)
    # The wrong law: the remainder of a byte, or of 11 digits, which is not uniform.
    digits = np.bincount(np.arange(1 << 11) % limit, minlength=limit) / (1 << 11)
    if limit in (2, 64):
        digits = np.arange(1, limit + 1) / (limit * (limit + 1) / 2)
    if limit in (3, 5, 7, 10):
        digits = np.bincount(np.arange(16) % limit, minlength=limit) / 16
    uniform = (0, np.full(limit, 1 / limit))
    same_law(chi_square(draws, uniform), chi_square(draws, (0, digits)))
    assert draws.min() == 0
    assert draws.max() == limit - 1


# Noisy maximum


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ((0, 1), Fraction(1)),
        ((0, 2, 3, 5), Fraction(4)),
        ((3, 3, 3, 2), Fraction(10, 7)),
        ((0, 200, 300, 500), Fraction(400)),
        ((-7, 0, -1), Fraction(1, 3)),
    ],
)
def test_noisy_max_is_permute_and_flip(noise, scores, scale):
    draws = noise.noisy_max(np.tile(scores, (2 * DRAWS, 1)), scale)

    def law(scale):
        ratio = Fraction(np.exp(-1 / scale))
        return 0, np.array(laws.permute_and_flip(scores, ratio), float)

    wrong = law(float(scale) * WRONG)
    same_law(chi_square(draws, law(float(scale))), chi_square(draws, wrong))


def test_noisy_max_law_is_permute_and_flip_exactly():
    for ratio in (Fraction(1, 5), Fraction(3, 4)):
        for scores in itertools.product(range(4), repeat=3):
            flips = laws.permute_and_flip(scores, ratio)
            assert flips == laws.noisy_maximum(scores, ratio)
            assert sum(flips) == 1


@pytest.mark.parametrize("draw", ["noisy_max", "gumbel_max"])
def test_a_maximum_takes_each_row_on_its_own(noise, draw):
    scores = np.zeros((1000, 50), dtype=np.int64)
    best = np.arange(1000) % 50
    scores[np.arange(1000), best] = 10**6
    assert np.array_equal(getattr(noise, draw)(scores, Fraction(3)), best)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(40)])
def test_gumbel_max(noise, scale):
    scores = np.array([0, 3, 5, 5, -2])
    draws = noise.gumbel_max(np.tile(scores, (DRAWS // 5, 1)), scale)
    right, wrong = (
        (0, weights / weights.sum())
        for weights in (np.exp((scores - 5) / float(scale) / f) for f in (1, 1.2))
    )
    if scale == 40:  # a scale that is 20 % off is too near to see in so few draws
        wrong = (0, np.full(5, 0.2))
    same_law(chi_square(draws, right), chi_square(draws, wrong))


def test_fallback_gives_the_same_gumbel_choices():
    scores = np.random.default_rng(0).integers(-9, 9, (200, 4))
    fast, slow = _pairs(lambda s, n: s.gumbel_max(scores[:n], Fraction(3)), 200)
    assert np.array_equal(fast, slow)


WORDS = [0, 1, (1 << 64) - 1, (1 << 64) - 2, 1 << 63, (1 << 63) - 1, 1 << 20]


@pytest.mark.parametrize("one", WORDS)
@pytest.mark.parametrize("two", WORDS)
def test_races_of_extreme_words_are_decided_alike(one, two):
    scores = np.array([[0, 1]])
    fast, slow = (
        Sampler(_Fixed([one, two]), exact_always=always).gumbel_max(scores, Fraction(2))
        for always in (False, True)
    )
    assert fast == slow


def test_gumbel_max_has_a_bounded_range():
    """All neighbouring scores of 3 candidates: log-ratios within 2 / scale."""
    scale = 1.5
    for one in itertools.product(range(4), repeat=3):
        for move in itertools.product((-1, 0, 1), repeat=3):
            p, q = (
                special.log_softmax(np.array(s) / scale)
                for s in (one, np.add(one, move))
            )
            assert np.ptp(p - q) <= 2 / scale + 1e-12


def _largest_ratio(sensitivity: int, *, monotone: bool, ratio: Fraction) -> Fraction:
    """The largest likelihood ratio over all neighbouring scores of 3 candidates."""
    law = {
        scores: laws.permute_and_flip(scores, ratio)
        for scores in itertools.product(range(5), repeat=3)
    }
    moves = range(0 if monotone else -sensitivity, sensitivity + 1)
    worst = Fraction(0)
    for scores, chances in law.items():
        for move in itertools.product(moves, repeat=3):
            other = law.get(tuple(s + m for s, m in zip(scores, move, strict=True)))
            if other is not None:
                pairs = list(zip(chances, other, strict=True))
                worst = max(worst, *(max(a / b, b / a) for a, b in pairs))
    return worst


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_noisy_max_loses_no_more_than_epsilon(sensitivity):
    ratio = Fraction(2, 3)  # exp(-1 / scale)
    # scale = 2 Δ / ε, so exp(ε) is ratio^(-2 Δ); monotone: scale = Δ / ε.
    general = _largest_ratio(sensitivity, monotone=False, ratio=ratio)
    assert general <= ratio ** (-2 * sensitivity)
    monotone = _largest_ratio(sensitivity, monotone=True, ratio=ratio)
    assert monotone <= ratio**-sensitivity
    # The planted bug: the monotone scale for scores that are not. It is caught.
    assert general > ratio**-sensitivity


# Staircase


@pytest.mark.parametrize(("width", "step"), [(1, 1), (4, 1), (4, 3), (4, 4)])
def test_staircase_is_normalised_and_loses_epsilon_up_to_its_width(width, step):
    ratio = Fraction(2, 5)
    reach = 40 * width + step - 1  # a whole number of blocks on both sides
    law = laws.staircase(ratio, width, step, reach)
    # What is further out: blocks 40, 41, ... of both signs, by the formula.
    a = law[reach]
    beyond = 2 * a * ratio**40 * (step + (width - step) * ratio) / (1 - ratio)
    first = 2 * a * step * ratio**40  # block 40's tread is inside already
    assert sum(law) + beyond - first == 1

    def loss(shift):
        pairs = list(zip(law, law[shift:], strict=False))
        return max(max(p / q, q / p) for p, q in pairs)

    assert all(loss(shift) <= 1 / ratio for shift in range(1, width + 1))
    assert loss(width + 1) > 1 / ratio  # the planted bug: too small a width


# The exact fallback


def _pairs(draw, count, key=b"twice"):
    fast, slow = (
        draw(Sampler(Entropy(key), exact_always=always), count)
        for always in (False, True)
    )
    return fast, slow


@pytest.mark.parametrize("scale", [*SMALL, *LARGE, Fraction(3 * 10**11, 7)], ids=str)
def test_fallback_gives_the_same_geometric_numbers(scale):
    fast, slow = _pairs(lambda s, n: s.geometric(Fraction(scale), n), 700)
    assert np.array_equal(fast, slow)


@pytest.mark.parametrize("variance", [Fraction(1, 4), 25, 1 << 60, (1 << 99) + 1])
def test_fallback_gives_the_same_gaussian_numbers(variance):
    fast, slow = _pairs(lambda s, n: s.gaussian(Fraction(variance), n), 200)
    assert np.array_equal(fast, slow)


def test_fallback_gives_the_same_other_numbers():
    epsilon, codes = Fraction(2, 3), np.arange(400) % 5
    for draw in (
        lambda s, n: s.laplace(Fraction(10, 7), n),
        lambda s, n: s.staircase(epsilon, 12, 5, n),
        lambda s, n: s.respond(codes, 5, epsilon),
        lambda s, n: s.noisy_max(np.tile([3, 1, 0], (n, 1)), Fraction(2)),
    ):
        fast, slow = _pairs(draw, 400)
        assert np.array_equal(fast, slow)


def test_fallback_has_the_right_law():
    draws = Sampler(Entropy(), exact_always=True).geometric(Fraction(10), 24_000)
    right, wrong = (laws.geometric(10 * f) for f in (1, 1.2))
    same_law(chi_square(draws, right), chi_square(draws, wrong))
    coins = Sampler(Entropy(), exact_always=True).bernoulli_exp(
        np.ones(20_000), lambda _: Fraction(1)
    )
    right, wrong = (
        (0, np.array([-np.expm1(-rate), np.exp(-rate)])) for rate in (1, 1.2)
    )
    coins = coins.astype(np.int64)
    same_law(chi_square(coins, right), chi_square(coins, wrong))


def test_fallback_is_rare(monkeypatch):
    calls = []
    exact = module.floor_of_log
    monkeypatch.setattr(module, "floor_of_log", lambda *a: calls.append(1) or exact(*a))
    Sampler(Entropy(b"rare")).geometric(Fraction(10), 10**6)
    assert len(calls) <= 10


class _Fixed(Entropy):
    """Entropy whose words are given; other bytes come from a seeded stream."""

    def __init__(self, words):
        super().__init__(b"fixed")
        self._words = list(words)

    def words(self, count):
        return np.array([self._words.pop(0) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize("word", [0, 1, 2, (1 << 64) - 1, 1 << 63, (1 << 63) - 1])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(1 << 20)])
def test_extreme_words_are_decided_alike(word, scale):
    fast, slow = (
        Sampler(_Fixed([word]), exact_always=always).geometric(scale, 1)[0]
        for always in (False, True)
    )
    assert fast == slow


def test_smallest_word_of_a_tiny_scale_is_decided_exactly(monkeypatch):
    # Only this word can give a 1 at scale 1/100: P[k >= 1] = e^-100 < 2^-64.
    calls = []
    monkeypatch.setattr(module, "floor_of_log", lambda *a: calls.append(a) or 0)
    Sampler(_Fixed([0])).geometric(Fraction(1, 100), 1)
    assert calls, "the first 64 bits alone decided a draw that they cannot decide"
