"""What the exactness of the samplers rests on: margins, decimals, and a second opinion.

``DISCRETO_MARGIN_POINTS`` sets how many points numpy is compared at (default 100,000).
"""

from __future__ import annotations

import decimal
import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from laws import ALPHA, two_samples

from discreto.core.noise import sampler_exact as module
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler

POINTS = int(os.environ.get("DISCRETO_MARGIN_POINTS", "100000"))
BOUND = 2.0**-48
EXACT = decimal.Context(prec=40, Emin=-(10**6), Emax=10**6)


def _worst(values, truths) -> float:
    """The largest relative distance of floats from decimals."""
    worst = Decimal(0)
    for value, truth in zip(values.tolist(), truths, strict=True):
        if truth:
            gap = EXACT.divide(EXACT.subtract(Decimal(value), truth), truth)
            worst = max(worst, abs(gap))
    return float(worst)


def _points() -> int:
    # Both the vector code and the scalar code at the end of an array are reached.
    return POINTS // 2 * 2 + 1


@pytest.mark.real_noise(0)  # other points every time: only numpy can make it fail
def test_numpy_log_keeps_its_margin():
    coins = np.random.default_rng()
    n = _points()
    words = coins.integers(0, 1 << 64, size=n, dtype=np.uint64, endpoint=False)
    words[: n // 2] >>= coins.integers(0, 64, size=n // 2).astype(np.uint64)
    words[:4] = 2, 3, (1 << 64) - 1, (1 << 63) + 1
    points = np.maximum(words.astype(np.float64), 0.5)
    truths = (EXACT.ln(Decimal(x)) for x in points.tolist())
    assert _worst(np.log(points), truths) < BOUND


@pytest.mark.real_noise(0)
def test_numpy_exp_keeps_its_margin():
    coins = np.random.default_rng()
    n = _points()
    rates = coins.uniform(0, 60, size=n)
    rates[: n // 2] = np.exp(coins.uniform(math.log(1e-12), math.log(700), size=n // 2))
    truths = (EXACT.exp(Decimal(-x)) for x in rates.tolist())
    assert _worst(np.exp(-rates), truths) < BOUND


def test_a_wrong_log_is_caught():
    # The planted bug: logarithms in single precision.
    points = np.arange(2.0, 200.0)
    truths = [EXACT.ln(Decimal(x)) for x in points.tolist()]
    rough = np.log(points.astype(np.float32)).astype(np.float64)
    assert _worst(rough, truths) > BOUND


def _edge(rate: Fraction, bits: int) -> int:
    """The first ``bits`` binary digits of exp(-rate)."""
    ctx = decimal.Context(prec=120)
    ratio = ctx.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    return int(ctx.multiply(ctx.exp(ctx.minus(ratio)), Decimal(1 << bits)))


def test_log_fallback_decides_to_the_last_bit(monkeypatch):
    # U runs along the 192 digits of exp(-7/scale): the value is next to the integer 7.
    scale = Fraction(10)
    edge = _edge(7 / scale, 192)
    for shift, floor in ((-2, 7), (2, 6)):
        text = edge + shift
        monkeypatch.setattr(
            module,
            "more_bits",
            lambda tag, index, block, text=text: (
                text >> (128 - 64 * block) & (2**64 - 1)
            ),
        )
        assert module.floor_of_log(text >> 128, scale, b"", 0) == floor


def test_exp_fallback_decides_to_the_last_bit(monkeypatch):
    rate = Fraction(1, 3)
    edge = _edge(rate, 192)
    for shift, below in ((-2, True), (2, False)):
        text = edge + shift
        monkeypatch.setattr(
            module,
            "more_bits",
            lambda tag, index, block, text=text: (
                text >> (128 - 64 * block) & (2**64 - 1)
            ),
        )
        assert module.below_exp(text >> 128, rate, b"", 0) is below


@pytest.mark.parametrize(
    "draw",
    [
        lambda s: s.geometric(Fraction(10), 200),
        lambda s: s.bernoulli_exp(np.full(900, 1 / 3), lambda _: Fraction(1, 3)),
    ],
)
def test_fallback_ignores_the_callers_decimal_context(draw):
    plain = draw(Sampler(Entropy(b"context"), exact_always=True))
    with decimal.localcontext(prec=1):
        rough = draw(Sampler(Entropy(b"context"), exact_always=True))
    assert np.array_equal(plain, rough)


# opendp as a second opinion

SECOND = 60_000


def _vector(kind: str, scale: float):
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64"))
    if kind == "laplace":
        metric = opendp.l1_distance(T="i64")
        return opendp.m.make_laplace(space, metric, scale=scale)
    return opendp.m.make_gaussian(space, opendp.l2_distance(T=float), scale=scale)


# opendp draws real noise: the size is a tenth of ALPHA; 10 % off (noncentrality 400
# in about 60 cells) goes unnoticed in fewer than 1e-15 of all runs.
@pytest.mark.real_noise(1.1 * ALPHA / 10)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_opendp_agrees(kind):
    noise = Sampler(Entropy())
    ours = (
        noise.laplace(Fraction(5), 500_000)
        if kind == "laplace"
        else noise.gaussian(Fraction(25), 500_000)
    )
    theirs = np.array(_vector(kind, 5.0)(np.zeros(SECOND, dtype=np.int64)))
    assert two_samples(ours, theirs) > ALPHA / 10
    # Power: the same comparison sees a scale that is 10 % off.
    wrong = (
        noise.laplace(Fraction(11, 2), 500_000)
        if kind == "laplace"
        else noise.gaussian(Fraction(121, 4), 500_000)
    )
    assert two_samples(wrong, theirs) < ALPHA
