"""How well sums over a table stand out of noise: rows times epsilon, about."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core.cost import Cost
from discreto.core.maps import Categories
from discreto.core.query import Block, Ones, Sum
from discreto.models._features import Space
from discreto.session import Ask

FEW = 50  # below it a model says what it can know: class shares, or a mean
_PER_NUMBER = 100  # for each Number, before its counts stand out of noise
_COUNT = Fraction(1, 10)  # of the cost, to learn whether there are so few


def unit_strength(cost: Cost) -> float:
    """What one row adds to the strength of a sum: epsilon, or its Gaussian kin."""
    return float(cost.epsilon) or math.sqrt(float(2 * cost.rho))


class SizeUp(NamedTuple):
    """What a first look at the size of a table leads to.

    ``counts``: class counts, if rows are so few that nothing else can be known.
    ``enough``: whether there are rows enough to find out where they are. ``spent``: the
    part of the cost that is gone.
    """

    counts: NDArray[Any] | None
    enough: bool
    spent: Fraction


def size_up(ask: Ask, space: Space) -> SizeUp:
    """How many rows there are, about, and what follows from it.

    Declared rows decide at once. Otherwise a noisy count does, for a small part of the
    cost, among three ways; with few rows what is left is spent on counts again.
    """
    rows, unit = space.domain.rows, unit_strength(ask.cost)
    if rows is not None:
        way = _way(rows * unit, space)
        if way:
            return SizeUp(None, way == 2, Fraction(0))
        counts, noise = _class_counts(ask, space, Fraction(1))
        return SizeUp(_possible(counts, noise), False, Fraction(1))
    counts, noise = _class_counts(ask, space, _COUNT)
    way = ask.fork(3, _way(counts.sum() * unit, space))
    if way:
        return SizeUp(None, way == 2, _COUNT)
    again, less = _class_counts(ask, space, 1 - _COUNT)
    weight = less / max(noise + less, 1e-300)
    both = weight * counts + (1 - weight) * again
    return SizeUp(_possible(both, weight * noise), False, Fraction(1))


def _way(strength: float, space: Space) -> int:
    """0: class shares alone. 1: without looking where rows are. 2: with that."""
    if strength < FEW:
        return 0
    return 2 if strength >= _PER_NUMBER * max(len(space.numbers), 5) else 1


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


__all__ = ["FEW", "SizeUp", "size_up", "unit_strength"]
