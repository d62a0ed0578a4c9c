"""How well sums over a table stand out of noise: rows times epsilon, about."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.cost import Cost
from discreto.core.maps import Categories
from discreto.core.query import Block, Ones, Sum
from discreto.models._features import Space
from discreto.session import Ask

FEW = 50  # below it a model says what it can know: class shares, or a mean
_COUNT = Fraction(1, 20)  # of the cost, to learn whether there are so few


def unit_strength(cost: Cost) -> float:
    """What one row adds to the strength of a sum: epsilon, or its Gaussian kin."""
    return float(cost.epsilon) or math.sqrt(float(2 * cost.rho))


def only_shares(ask: Ask, space: Space) -> tuple[NDArray[Any] | None, Fraction]:
    """Class counts, if rows are so few that nothing else can be known; and the cost.

    Declared rows decide at once. Otherwise a noisy count does, for a small part of the
    cost; what is left is spent on the counts, or it is the model's.
    """
    rows, unit = space.domain.rows, unit_strength(ask.cost)
    if rows is not None:
        if rows * unit >= FEW:
            return None, Fraction(0)
        counts, noise = _class_counts(ask, space, Fraction(1))
        return _possible(counts, noise), Fraction(1)
    counts, noise = _class_counts(ask, space, _COUNT)
    if not ask.fork(2, int(counts.sum() * unit < FEW)):
        return None, _COUNT
    again, less = _class_counts(ask, space, 1 - _COUNT)
    weight = less / max(noise + less, 1e-300)
    both = weight * counts + (1 - weight) * again
    return _possible(both, weight * noise), Fraction(1)


def _class_counts(
    ask: Ask, space: Space, share: Fraction
) -> tuple[NDArray[Any], float]:
    query = Sum(Categories((space.goal,), declared=True), (Block(Ones()),))
    answer = ask.measure(query, "class counts", share)
    counts = answer.tables[0][:, 0].astype(float)
    return counts, answer.noises[0].variance


def _possible(counts: NDArray[Any], noise: float) -> NDArray[Any]:
    """Counts none of which is below what noise could make of nobody."""
    return np.maximum(counts, 0.0) + math.sqrt(noise) + 1.0


__all__ = ["FEW", "only_shares", "unit_strength"]
