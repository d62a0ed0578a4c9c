"""Exact losses against laws that are written out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from discreto.audit.losses import (
    PrivacyLoss,
    log_probabilities,
    loss_of_choice,
    loss_of_sum,
    movement,
    rho_of,
)
from discreto.core.gate import Noise


def permute_and_flip(scores, scale):
    best, count = max(scores), len(scores)
    probabilities = np.zeros(count)
    for order in itertools.permutations(range(count)):
        left = 1.0
        for i in order:
            heads = math.exp(-(best - scores[i]) / scale)
            probabilities[i] += left * heads
            left *= 1 - heads
    return probabilities / math.factorial(count)


@pytest.mark.parametrize(
    "scores", [[0], [3, 5, 5, 0, -40], [7] * 6, [1, 2, 3, 4, 5, 6], [0, -1000]]
)
@pytest.mark.parametrize("scale", [0.5, 2.0, 50.0])
def test_chances_of_a_choice(scores, scale):
    found = log_probabilities(np.array(scores), scale)
    expected = permute_and_flip(scores, scale)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-9, atol=1e-300)


def test_chances_of_many_candidates_add_up_to_one():
    for scores in (np.zeros(5000, int), -np.abs(np.arange(4000) - 300)):
        for scale in (0.3, 3.0, 1000.0):
            total = np.exp(log_probabilities(scores, scale)).sum()
            assert total == pytest.approx(1, abs=1e-9)


def test_a_choice_never_loses_more_than_the_range_of_its_moves():
    coins = np.random.default_rng(0)
    for _ in range(200):
        scores = coins.integers(-5, 6, (1, 4))
        moves = coins.integers(-1, 2, (1, 4))
        scale = Fraction(3, 2)
        loss = loss_of_choice(scores, scores + moves, scale)
        assert loss <= np.ptp(moves) / 1.5 + 1e-9


def test_movement_is_in_the_norm_of_the_noise():
    first, second = np.array([[0, 0], [5, 5]]), np.array([[3, -4], [5, 6]])
    assert movement("laplace", first, second) == 8
    assert movement("gaussian", first, second) == 9 + 16 + 1
    assert movement("cube", first, second) == 4 + 1
    huge = np.array([[2**62]]), np.array([[-(2**62)]])
    assert movement("gaussian", *huge) == 2**126


def test_losses_of_sums():
    assert loss_of_sum(Noise("laplace", Fraction(4)), 2) == PrivacyLoss(epsilon=0.5)
    assert loss_of_sum(Noise("cube", Fraction(4), 3), 2) == PrivacyLoss(epsilon=0.5)
    assert loss_of_sum(Noise("gaussian", Fraction(8)), 4) == PrivacyLoss(rho=0.25)


def test_rho_of_a_pure_loss_is_that_of_randomised_response():
    mu = math.sqrt(2 * rho_of(1.5))
    assert ndtr(mu / 2) == pytest.approx(math.exp(1.5) / (1 + math.exp(1.5)))
