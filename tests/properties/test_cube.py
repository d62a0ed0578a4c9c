"""Cube noise: its exact law, and the movement that it has to cover."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreto as dp
from discreto.core import aggregate
from discreto.core.gate import noises_for
from discreto.core.maps import Categories, Values
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.query import Block, Everyone, Sum, bind, inside

ALPHA = 1e-9


def p_value(draws, scale, reach):
    """Chi-square of drawn vectors against exp(-max|z| / scale)."""
    rows, width = draws.shape
    points = list(itertools.product(range(-reach, reach + 1), repeat=width))
    weight = np.array([math.exp(-max(map(abs, p)) / float(scale)) for p in points])
    # Vectors outside of the box are one class; their weight is a geometric-like sum.
    tail = sum(
        ((2 * m + 1) ** width - (2 * m - 1) ** width) * math.exp(-m / float(scale))
        for m in range(reach + 1, reach + 4000)
    )
    total = weight.sum() + tail
    inside = (np.abs(draws) <= reach).all(axis=1)
    codes = np.zeros(rows, dtype=int)
    for column in draws.T:
        codes = codes * (2 * reach + 1) + np.clip(column, -reach, reach) + reach
    seen = np.bincount(codes[inside], minlength=len(points)).astype(float)
    expected = rows * weight / total
    big = expected > 20
    observed = np.append(seen[big], rows - seen[big].sum())
    wanted = np.append(expected[big], rows - expected[big].sum())
    return stats.chisquare(observed, wanted).pvalue


@pytest.mark.parametrize(
    ("scale", "width"),
    [(Fraction(5), 1), (Fraction(1, 2), 2), (Fraction(3, 2), 2), (Fraction(2), 3)],
)
def test_law_with_size_and_power(scale, width):
    draws = Sampler(Entropy()).cube(scale, 300_000, width)
    reach = {1: 40, 2: 12, 3: 8}[width]
    assert p_value(draws, scale, reach) > ALPHA
    assert p_value(draws, scale * Fraction(11, 10), reach) < ALPHA


def test_large_scales_have_the_law_of_gamma_times_uniform():
    scale, width = 2.0**40, 7
    draws = Sampler(Entropy()).cube(Fraction(2**40), 20_000, width)
    largest = np.abs(draws).max(axis=1) / scale
    # The largest of `width` evenly spread coordinates times a Gamma(width + 1) radius
    # is Gamma(width).
    assert stats.kstest(largest, stats.gamma(width).cdf).pvalue > ALPHA
    assert stats.kstest(largest * 1.1, stats.gamma(width).cdf).pvalue < ALPHA
    assert stats.kstest(draws.ravel() % 256 / 256, "uniform").pvalue > ALPHA


def test_exact_path_gives_the_same_numbers():
    fast = Sampler(Entropy(b"k")).cube(Fraction(2**33), 300, 12)
    slow = Sampler(Entropy(b"k"), exact_always=True).cube(Fraction(2**33), 300, 12)
    np.testing.assert_array_equal(fast, slow)


def test_variance_is_what_the_noise_says():
    domain = dp.Domain.cube(9)
    query = Sum(Everyone(), (Block(Values(tuple(domain)), noise="cube"),))
    (noise,) = noises_for(bind(query, domain), dp.Cost.of(1))
    draws = noise.draw(Sampler(Entropy()), 9 * 40_000).astype(float)
    assert draws.var() == pytest.approx(noise.variance, rel=0.03)
    query = Sum(Everyone(), (Block(Values(tuple(domain))),))
    (laplace,) = noises_for(bind(query, domain), dp.Cost.of(1))
    assert noise.variance < 0.25 * laplace.variance


HOSTILE = (-1.0, 1.0, 0.0, 0.3, 1e308, math.inf, math.nan)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("form", ["linear", "pair", "gram"])
@pytest.mark.parametrize("cells", [Everyone(), Categories(("g",))])
def test_reach_covers_every_movement(neighbours, form, cells):
    columns = {"a": dp.Number(-1, 1), "b": dp.Number(-1, 1), "g": dp.Category([0, 1])}
    rows = 1 if neighbours == "replace" else None
    domain = dp.Domain(columns, neighbours=neighbours, rows=rows)
    block = Block(Values(("a", "b"), bits=4), form, noise="cube")
    query = Sum(cells, (block,))

    def answer(row):
        if row is None:
            return aggregate.empty(inside(query, domain))[0]
        batch = {
            "a": np.array([row[0]]),
            "b": np.array([row[1]]),
            "g": np.array([row[2]]),
        }
        return aggregate.fold(inside(query, domain), batch, 1)[0]

    some = list(itertools.product(HOSTILE, HOSTILE, (0, 1, -1)))
    tables = [answer(row) for row in some]
    others = tables if neighbours == "replace" else [answer(None)]
    worst = max(int(np.abs(a - b).max(axis=1).sum()) for a in tables for b in others)
    reach = block.bind(domain, 2).reach
    assert worst <= reach
    # Tight, but for pairs: M + q and M - q cannot cross together within one cell.
    one_cell_pair = form == "pair" and isinstance(cells, Everyone)
    if not (one_cell_pair and neighbours == "replace"):
        assert worst == reach
    # The planted bug: a reach that forgets that neighbours replace.
    if neighbours == "replace" and not one_cell_pair:
        assert worst > reach // 2


def test_loss_of_a_cube_is_at_most_epsilon():
    """The loss is (max|z + v| - max|z|) / scale, at most max|v| / scale."""
    scale, reach = 3.0, 2
    grid = list(itertools.product(range(-4, 5), repeat=2))
    moves = list(itertools.product(range(-reach, reach + 1), repeat=2))
    worst = max(
        (max(abs(z[0] + v[0]), abs(z[1] + v[1])) - max(map(abs, z))) / scale
        for z in grid
        for v in moves
    )
    assert worst == pytest.approx(reach / scale)
