"""Questions about the leaves of a tree, and the values that leaves get from answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreto.core.maps.cells import Edges
from discreto.core.maps.choice_scores import CentredRanks, Ranks
from discreto.core.maps.leaf_means import LeafMean
from discreto.core.maps.tree_gradients import Gradients, LeafShifts
from discreto.core.maps.trees import Leaves, Tree
from discreto.core.query import Block, Choice, Derived, Floats, Ones, Sum
from discreto.models.base.binning import cuts_of
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import unit_strength
from discreto.models.boosting.settings import ResolvedSettings
from discreto.session.session import Ask

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
    # Column 0 is the weighted curvature, the others are gradients.
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
    """Return what each leaf should add to the scores, before the learning rate.

    -sum / (weight + ridge), and with ``shrink`` less where the noise is large: the best
    linear guess if values have the variance of ``prior``.
    """
    # A noisy curvature below 0 is noise: such a leaf adds nothing.
    weights = np.maximum(sums.weights, 0.0)[:, None]
    square = weights**2 + settings.ridge * weights
    if settings.shrink:
        square += sums.gradient_noise / settings.prior
    values = -sums.gradients * weights / np.maximum(square, 1e-9)
    if settings.loss == "poisson":  # a mean grows by this part: its logarithm's step
        return np.log1p(np.maximum(values, _LEAST))
    return values


def measure_means(
    ask: Ask,
    gradients: Gradients,
    tree: Tree,
    settings: ResolvedSettings,
    most: float,
    label: str,
    share: Fraction,
) -> Floats:
    """Ask for the values of a tree's leaves themselves."""
    mean = LeafMean(gradients, settings.ridge, min(most, 1.0))
    cells = Leaves(gradients.grid, tree, gradients.target)
    answer = ask.measure(Derived(cells, mean), label, share)
    values = answer.tables[0].astype(np.float64) / mean.top
    if settings.shrink:  # as in ``values_of``
        values /= 1 + answer.noises[0].variance / mean.top**2 / settings.prior
    return values


COUNT = (Block(Ones()),)
START_BINS = 128
LEAN = 0.25  # for each cell away from a leaf's present scores, in units of the noise


def ask_quantile(
    ask: Ask, space: Space, settings: ResolvedSettings, label: str, share: Fraction
) -> float:
    """Return about the quantile of the target: the middle of a chosen cell."""
    column = space.domain.number(space.goal)
    cuts, part = cuts_of(column, START_BINS), settings.quantile
    ends = (column.lower, *cuts, column.upper)
    query = Choice(
        Sum(Edges(space.goal, cuts), COUNT),
        Ranks((part.numerator,), part.denominator),
    )
    cell = int(ask.select(query, label, share).indices[0])
    return (ends[cell] + ends[cell + 1]) / 2


def measure_quantiles(
    ask: Ask,
    gradients: Gradients,
    tree: Tree,
    settings: ResolvedSettings,
    label: str,
    share: Fraction,
) -> Floats:
    """Return what each leaf should add to the scores, in units of the clip.

    The quantile of what scores lack there. Where there are few rows it is near 0: each
    cell further away has a handicap that only rows make up for.
    """
    cells, part = LeafShifts(gradients, tree), settings.quantile
    ranks = Ranks((part.numerator,) * tree.leaves, part.denominator)
    noise = 2 * max(part, 1 - part) / max(unit_strength(ask.cost * share), 1e-6)
    # Ranks are multiplied by the denominator, and so is the handicap of a cell.
    step = math.ceil(LEAN * noise * part.denominator)
    query = Choice(Sum(cells, COUNT), CentredRanks(ranks, step))
    picked = ask.select(query, label, share).indices
    return cells.shifts()[np.asarray(picked, dtype=np.int64)][:, None] / gradients.clip
