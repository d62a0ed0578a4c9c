"""Ranks from counts on several levels: right without noise, and as sharp as can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreto.core.gate import Noise
from discreto.stats import _cumulative_counts as counts
from discreto.stats._intervals import combined_reach, sum_reach
from discreto.stats.quantiles import _descend

BINS = (1, 2, 7, 32, 33, 100, 513, 600)
CHANCES = (0.1, 0.5, 0.9)


def sizes(bins: int) -> list[int]:
    return [-(-bins // stride) for stride in counts.strides_of(bins)]


def levels_of(rows: np.ndarray) -> list[np.ndarray]:
    return [
        np.add.reduceat(rows, np.arange(0, rows.shape[-1], stride), axis=-1)
        for stride in counts.strides_of(rows.shape[-1])
    ]


def weights(bins: int, chance: float) -> np.ndarray:
    """What each noisy count adds to the surplus of each edge."""
    each = np.eye(sum(sizes(bins)))
    parts = np.split(each, np.cumsum(sizes(bins))[:-1], axis=1)
    ranks = counts._ranks(parts)
    return ranks - chance * ranks[:, -1:]


@pytest.mark.parametrize("bins", BINS)
def test_without_noise_ranks_are_exact(bins: int) -> None:
    rows = np.random.default_rng(bins).integers(0, 9, (3, bins)).astype(float)
    ranks = counts._ranks(levels_of(rows))
    np.testing.assert_allclose(ranks[:, 0], 0)
    np.testing.assert_allclose(ranks[:, 1:], rows.cumsum(axis=1), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("bins", BINS)
def test_the_variance_is_known_and_the_least_there_is(bins: int, chance: float) -> None:
    squares, _ = counts.surplus_powers(bins, chance)
    np.testing.assert_allclose(squares, (weights(bins, chance) ** 2).sum(axis=0))
    # Gauss and Markov: no linear estimate without bias has less.
    design = np.concatenate([level.T for level in levels_of(np.eye(bins))])
    covariance = np.linalg.inv(design.T @ design)
    left = np.tri(bins + 1, bins, -1) - chance
    least = np.einsum("ei,ij,ej->e", left, covariance, left)
    np.testing.assert_allclose(squares, least)


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("bins", BINS)
def test_reaches_are_those_of_the_weights(bins: int, chance: float) -> None:
    noise, level = Noise("laplace", Fraction(3)), 0.95
    squares, fourths = counts.surplus_powers(bins, chance)
    reaches = sum_reach(squares, fourths, noise, level)
    for edge in {1, bins // 3, bins // 2, bins - 1} - {0, bins}:
        exact = combined_reach(weights(bins, chance)[:, edge], noise, level)
        assert reaches[edge] == pytest.approx(exact, rel=0.06)


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_intervals_hold_for_two_crowds(law: str, chance: float) -> None:
    """Tables of the least favourable kind; the mean over them is 95 to 96 %."""
    coins, bins = np.random.default_rng(5), 4096
    noise = Noise(law, Fraction(9 if law == "gaussian" else 3))  # type: ignore[arg-type]
    draw = coins.laplace if law == "laplace" else coins.normal
    noises = counts._ranks([draw(0, 3, (300, size)) for size in sizes(bins)])
    missed = []
    for place in (1143, 2260, 3072):
        rows = np.zeros(bins)
        rows[place], rows[place + 600] = 9e5 * chance, 9e5 * (1 - chance)
        true = np.concatenate([[0.0], rows.cumsum()])
        found = [_descend(chance, true + one, noise) for one in noises]
        missed += [not low <= place < high for _, low, high in found]
    # 900 tables, of which 300 at a time share their noise.
    assert 0.01 < np.mean(missed) < 0.09
