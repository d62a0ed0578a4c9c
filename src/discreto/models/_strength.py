"""How well sums over a table stand out of noise: rows times epsilon, about."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core.cost import Cost
from discreto.core.domain import Category
from discreto.core.maps import Categories
from discreto.core.query import Block, Cells, Ones, Sum
from discreto.models._features import Space
from discreto.session import Ask

FEW = 50  # below it a model says what it can know, if there are two classes
# Where the domain does not say how many rows there are, a noisy count chooses among
# these; with the first, the model is a constant.
STRENGTHS = (0, *(25 * 4**i for i in range(8)))
_PER_NUMBER = 100  # for each Number, before its counts stand out of noise
_COUNT = Fraction(1, 10)  # of the cost, to learn whether there are so few


def unit_strength(cost: Cost) -> float:
    """What one row adds to the strength of a sum: epsilon, or its Gaussian kin."""
    return float(cost.epsilon) or math.sqrt(float(2 * cost.rho))


def too_few(strength: float, cost: Cost, space: Space) -> bool:
    """Whether rows are so few that a constant is all that can be known.

    Each class needs its own rows; a mean is known from fewer than what differs from it.
    Gaussian noise on all columns grows with the root of their number only.
    """
    column = space.domain[space.goal]
    if cost.rho:
        strength *= 1.5 * math.sqrt(2 * max(len(space.features), 1))
    if isinstance(column, Category):
        return strength < FEW * max(len(column.categories), 2) / 2
    return strength < 3 * FEW


def clear_classes(strength: float, cost: Cost, space: Space) -> float:
    """Rows of a class, in standard deviations of the noise of tables of all columns."""
    columns = max(len(space.features), 1)
    noise = math.sqrt(2) * columns if cost.epsilon else math.sqrt(columns)
    return strength / max(len(space.classes), 1) / noise


def way_of(rows: float, cost: Cost) -> int:
    """Which of ``STRENGTHS`` is nearest to that of so many rows."""
    strength = rows * unit_strength(cost)
    if strength < STRENGTHS[1] / 2:
        return 0
    return 1 + int(np.argmin(np.abs(np.log(np.array(STRENGTHS[1:]) / strength))))


def hear_strength(
    ask: Any, rows: int | None, known: Cells, share: Fraction
) -> tuple[Any, float]:
    """How well a sum over the ``known`` rows stands out, and a session for the rest.

    Public ``rows`` decide at once; otherwise a noisy count does, for a share of it,
    among ``STRENGTHS``: each of them is a form of the plan.
    """
    if rows is not None:
        return ask, rows * unit_strength(ask.cost)
    answer = ask.measure(Sum(known, (Block(Ones()),)), "rows", share)
    # Too few rows are taken for many by one noise in six, not by half of them.
    doubt = math.sqrt(answer.noises[0].variance)
    way = way_of(float(answer.tables[0][0, 0]) - doubt, ask.cost)
    way = ask.fork(len(STRENGTHS), way)
    return ask.sharing(1 - share), float(STRENGTHS[way])


def ask_shares(ask: Ask, space: Space) -> NDArray[Any]:
    """Class shares, for all of the cost: none is 0."""
    counts = _possible(*_class_counts(ask, space, Fraction(1)))
    return np.asarray(counts / counts.sum())


class SizeUp(NamedTuple):
    """What a first look at the size of a table leads to.

    ``counts``: class counts, if rows are so few that nothing else can be known.
    ``enough``: whether there are rows enough to find out where they are. ``spent``: the
    part of the cost that is gone.
    """

    counts: NDArray[Any] | None
    enough: bool
    spent: Fraction


def size_up(ask: Ask, space: Space, clear: float = 0.0) -> SizeUp:
    """How many rows there are, about, and what follows from it.

    Below ``clear`` standard deviations of a class in tables of all columns these tables
    would be noise.

    Declared rows decide at once. Otherwise a noisy count does, for a small part of the
    cost, among three ways; with few rows what is left is spent on counts again.
    """
    rows, unit = space.domain.rows, unit_strength(ask.cost)
    if rows is not None:
        way = _way(rows * unit, ask.cost, space, clear)
        if way:
            return SizeUp(None, way == 2, Fraction(0))
        counts, noise = _class_counts(ask, space, Fraction(1))
        return SizeUp(_possible(counts, noise), False, Fraction(1))
    counts, noise = _class_counts(ask, space, _COUNT)
    doubt = math.sqrt(noise * len(counts))
    way = ask.fork(3, _way((counts.sum() - doubt) * unit, ask.cost, space, clear))
    if way:
        return SizeUp(None, way == 2, _COUNT)
    again, less = _class_counts(ask, space, 1 - _COUNT)
    weight = less / max(noise + less, 1e-300)
    both = weight * counts + (1 - weight) * again
    return SizeUp(_possible(both, weight * noise), False, Fraction(1))


def _way(strength: float, cost: Cost, space: Space, clear: float) -> int:
    """0: class shares alone. 1: without looking where rows are. 2: with that."""
    if too_few(strength, cost, space) or clear_classes(strength, cost, space) < clear:
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
    """Counts none of which is below what noise could make of nobody.

    Shares are drawn together by twice the noise: to be too sure of one costs more.
    """
    return np.maximum(counts, 0.0) + 2 * math.sqrt(noise) + 1.0


__all__ = [
    "FEW",
    "STRENGTHS",
    "SizeUp",
    "ask_shares",
    "clear_classes",
    "hear_strength",
    "size_up",
    "too_few",
    "unit_strength",
    "way_of",
]
