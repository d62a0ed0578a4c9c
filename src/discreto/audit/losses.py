"""The privacy loss of one answer about one pair of tables.

Given the exact values on both tables and the distribution of the noise, the loss is a
number, not an estimate: the largest log-ratio of the probabilities of any answer
(pure), or rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import expit, ndtri

from discreto.core.gate import Noise
from discreto.core.query import Floats, Ints

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """Pure epsilon and rho that were really lost."""

    epsilon: float = 0.0
    rho: float = 0.0

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon + other.epsilon, self.rho + other.rho)


def movement(distribution: str, first: Ints, second: Ints) -> int:
    """Return the distance of two tables of sums, in the norm of the noise.

    Laplace: l1. Gauss: l2, squared. Cube: the largest move of each cell, added up.
    """
    gap = np.abs(first.astype(object) - second.astype(object))
    if not gap.size:
        return 0
    if distribution == "gaussian":
        return int((gap * gap).sum())
    if distribution == "cube":
        return int(gap.max(axis=-1).sum())
    return int(gap.sum())


def loss_of_sum(noise: Noise, moved: int) -> PrivacyLoss:
    """Return the loss of sums that moved so far under this noise."""
    if noise.law == "gaussian":
        return PrivacyLoss(rho=float(Fraction(moved) / (2 * noise.amount)))
    return PrivacyLoss(epsilon=float(Fraction(moved) / noise.amount))


def rho_of(epsilon: float) -> float:
    """The rho that a pure loss is worth: that of randomised response (Gaussian DP).

    A range of log-ratios is worth as much as a pure loss of half its length.
    """
    return 2 * float(ndtri(expit(epsilon))) ** 2


def loss_of_choice(first: Ints, second: Ints, scale: Fraction) -> float:
    """Return the loss of a noisy maximum in each group, added up over the groups."""
    return sum(
        float(np.abs(log_probabilities(a, scale) - log_probabilities(b, scale)).max())
        for a, b in zip(first, second, strict=True)
    )


def range_of_choice(first: Ints, second: Ints, scale: Fraction) -> Floats:
    """For each group, the range of log-ratios under Gumbel noise."""
    moved = (second - first).astype(np.float64)
    return (moved.max(axis=1) - moved.min(axis=1)) / float(scale)


def log_softmax(scores: Ints, scale: Fraction | float) -> Floats:
    """Return the logs of the probabilities of the largest score with Gumbel noise."""
    rates = (scores - scores.max()).astype(np.float64) / float(scale)
    return rates - np.log(np.exp(rates).sum())


def log_probabilities(scores: Ints, scale: Fraction | float) -> Floats:
    """Return the logs of the probabilities of permute-and-flip.

    With p_j = exp(-(best - score_j) / scale) the probability of i is p_i times the
    integral of the product of (1 - t p_j) over the others j, for t from 0 to 1: t is
    when i has its turn in a random order, and each that came before must have lost its
    flip.
    """
    rates = (scores.max() - scores).astype(np.float64) / float(scale)
    heads = np.exp(-rates)
    # The product falls like exp(-t sum of heads): panels get finer towards 0.
    panels = max(1, math.ceil(math.log2(heads.sum() + 1)) + 4)
    edges = np.r_[0.0, 2.0 ** -np.arange(panels, -1, -1.0)]
    half = np.diff(edges) / 2
    times = (half[:, None] * (_NODES + 1) + edges[:-1, None]).ravel()
    weights = (half[:, None] * _WEIGHTS).ravel()
    # Only the number of candidates with each score matters.
    kinds, place, many = np.unique(heads, return_inverse=True, return_counts=True)
    kept = np.log1p(-times[None, :] * kinds[:, None])
    all_lost = many @ kept
    others = np.exp(all_lost[None, :] - kept) @ weights
    return -rates + np.log(others)[place]
