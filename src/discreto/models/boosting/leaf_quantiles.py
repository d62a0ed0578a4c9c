"""Quantiles by noisy choices: of the target to start from, and in each leaf."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreto.core.maps.cells import Edges
from discreto.core.maps.choice_scores import CentredRanks, Ranks
from discreto.core.maps.tree_gradients import Gradients, LeafShifts
from discreto.core.maps.trees import Tree
from discreto.core.query import Block, Choice, Floats, Ones, Sum
from discreto.models.base.binning import cuts_of
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import unit_strength
from discreto.models.boosting.settings import ResolvedSettings
from discreto.session.session import Ask

COUNT = (Block(Ones()),)
START_BINS = 128
LEAN = 0.25  # for each cell away from a leaf's present scores, in units of the noise


def ask_quantile(
    ask: Ask, space: Space, settings: ResolvedSettings, label: str, share: Fraction
) -> float:
    """About the quantile of the target, in its units: the middle of a chosen cell."""
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
    """What each leaf should add to the scores, in units of the clip.

    The quantile of what scores lack there. Where there are few rows it is near 0: each
    cell further away has a handicap that only rows make up for.
    """
    cells, part = LeafShifts(gradients, tree), settings.quantile
    ranks = Ranks((part.numerator,) * tree.leaves, part.denominator)
    noise = 2 * max(part, 1 - part) / max(unit_strength(ask.cost * share), 1e-6)
    step = math.ceil(LEAN * noise * part.denominator)
    query = Choice(Sum(cells, COUNT), CentredRanks(ranks, step))
    picked = ask.select(query, label, share).indices
    return cells.shifts()[np.asarray(picked, dtype=np.int64)][:, None] / gradients.clip


__all__ = ["ask_quantile", "measure_quantiles"]
