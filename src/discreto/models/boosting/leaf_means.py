"""Asking for the values of a tree's leaves themselves, as the papers do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreto.core.maps.leaf_means import LeafMean
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import Leaves, Tree
from discreto.core.query import Derived, Floats
from discreto.models.boosting.settings import ResolvedSettings
from discreto.session.session import Session


def measure_means(
    ask: Session,
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


__all__ = ["measure_means"]
