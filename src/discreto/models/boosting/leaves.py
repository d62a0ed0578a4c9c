"""Leaf sums from the gate, and the values that leaves get from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import Leaves, Tree
from discreto.core.query import Block, Sum
from discreto.models.boosting.settings import ResolvedSettings
from discreto.session.session import Ask

Floats = NDArray[np.float64]
_LEAST = -0.63  # of a step of means: about 1 of their logarithms


@dataclass(frozen=True)
class LeafSums:
    """Noisy sums by leaf: gradients (a column for each score), and weights.

    A weight is a curvature, or a number of rows where the curvature is constant.
    """

    gradients: Floats
    weights: Floats
    gradient_noise: float  # its variance


def measure(
    ask: Ask,
    gradients: Gradients,
    tree: Tree,
    settings: ResolvedSettings,
    label: str,
    share: Fraction,
) -> LeafSums:
    """Ask for the sums of a tree's leaves: pairs, or gradients and curvatures."""
    cells = Leaves(gradients.grid, tree, gradients.target)
    if settings.leaf == "pair":
        return _pairs(ask, cells, gradients, label, share)
    weighted = replace(gradients, weight=settings.weight)
    answer = ask.measure(Sum(cells, (Block(weighted),)), label, share)
    unit, w = 1 / weighted.steps(), settings.weight
    table = answer.tables[0].astype(np.float64) * unit
    variance = answer.noises[0].variance * unit**2
    return LeafSums(table[:, 1:], table[:, 0] / w, variance)


def _pairs(
    ask: Ask, cells: Leaves, gradients: Gradients, label: str, share: Fraction
) -> LeafSums:
    block = Block(gradients, "pair")
    answer = ask.measure(Sum(cells, (block,)), label, share)
    upper, lower = answer.tables[0].T.astype(np.float64)
    unit, limit = 1 / gradients.steps(), float(1 << gradients.bits)
    variance = answer.noises[0].variance / 2
    # Rows stand for their curvature: at most 1/4 for two classes.
    per_row = 0.25 if gradients.loss == "logistic" else 1.0
    rows = (upper + lower) / (2 * limit)
    gradient = ((upper - lower) / 2 * unit)[:, None]
    return LeafSums(gradient, rows * per_row, variance * unit**2)


def values_of(sums: LeafSums, settings: ResolvedSettings) -> Floats:
    """What each leaf should add to the scores, before the learning rate.

    -sum / (weight + ridge), and with ``shrink`` less where the noise is large: the best
    linear guess if values have the variance of ``prior``.
    """
    weights = np.maximum(sums.weights, 0.0)[:, None]
    square = weights**2 + settings.ridge * weights
    if settings.shrink:
        square += sums.gradient_noise / settings.prior
    values = -sums.gradients * weights / np.maximum(square, 1e-9)
    if settings.loss == "poisson":  # a mean grows by this part: its logarithm's step
        return np.log1p(np.maximum(values, _LEAST))
    return values
