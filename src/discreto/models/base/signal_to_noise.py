"""Signal-to-noise ratio of sums over a table, roughly ``rows * epsilon``."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core.cost import Cost
from discreto.core.domain.domain import Category
from discreto.core.maps import Categories, Completeness, Present, present_in
from discreto.core.query import Block, Cells, Ones, Sum
from discreto.models.base.features import Space
from discreto.session.session import Ask
from discreto.stats._base import complete_note

FEW = 50  # below it a model says what it can know, if there are two classes
# Where the domain does not say how many rows there are, a noisy count chooses among
# these; with the first, the model is a constant.
STRENGTHS = (0, *(25 * 4**i for i in range(8)))
# Closer together where what is best changes; each is one more form of a plan.
CLOSE_STRENGTHS = (0, *(25 * 2**i for i in range(8)), *STRENGTHS[5:])
PER_TERM = 10  # rows over their noise, before another category can be told apart
CLEAR = 12.0  # so many standard deviations of noise a class needs in such tables
_PER_NUMBER = 100  # for each Number, before its counts stand out of noise
COUNT = Fraction(1, 20)  # of the cost, to learn how many rows there are
_MEANS_HEARD = 0.25  # such standard deviations of a class: its means are noise
_UNEVEN = 0.1  # (spread of class sizes / mean class size)^2, before they are known


def unit_strength(cost: Cost) -> float:
    """Return what one row adds to the strength of a sum: epsilon, or sqrt(2 rho)."""
    return float(cost.epsilon) or math.sqrt(float(2 * cost.rho))


def too_few(strength: float, cost: Cost, space: Space) -> bool:
    """Return True if rows are so few that a constant is all that can be known.

    Each class needs its own rows; a mean is known from fewer than what differs from it.
    Gaussian noise on all columns grows with the root of their number only.
    """
    column = space.domain[space.goal]
    if cost.rho:
        strength *= 1.5 * math.sqrt(2 * max(len(space.features), 1))
    if isinstance(column, Category):
        return strength < FEW * max(len(column.categories), 2) / 2
    return strength < 3 * FEW


def only_shares(strength: float, cost: Cost, space: Space) -> bool:
    """Return True if rows are so few that only class shares can be known.

    Means of more than two classes are useful before that: the most frequent of many
    classes is mostly wrong. Those of many columns are noise alone.
    """
    if len(space.classes) == 2:
        return strength < FEW * (0.4 if cost.rho else 0.8)
    most = max(strength, STRENGTHS[1] / 2)  # where rows were too few to be counted
    return clear_classes(most, cost, space) < _MEANS_HEARD


def clear_classes(strength: float, cost: Cost, space: Space) -> float:
    """Return the rows of a class over the noise on tables of all columns."""
    columns = max(len(space.features), 1)
    noise = math.sqrt(2) * columns if cost.epsilon else math.sqrt(columns)
    return strength / max(len(space.classes), 1) / noise


def way_of(rows: float, cost: Cost, strengths: tuple[int, ...] = STRENGTHS) -> int:
    """Return which of these strengths is nearest to that of so many rows."""
    strength = rows * unit_strength(cost)
    if strength < strengths[1] / 2:
        return 0
    return 1 + int(np.argmin(np.abs(np.log(np.array(strengths[1:]) / strength))))


def hear_strength(
    ask: Ask,
    rows: int | None,
    known: Cells,
    share: Fraction,
    strengths: tuple[int, ...] = STRENGTHS,
) -> tuple[Ask, float]:
    """Return a session for the rest, and how far sums over ``known`` rows stand out.

    Public ``rows`` decide at once; otherwise a noisy count does, for a share of it,
    among ``strengths``: each of them is a form of the plan.
    """
    if rows is not None:
        return ask, rows * unit_strength(ask.cost)
    # Rows without a value have a cell of their own: a row is in one of both.
    cells = Completeness(known.names) if isinstance(known, Present) else known
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "rows", share)
    counts, noise = answer.tables[0][:, 0], answer.noises[0]
    if isinstance(cells, Completeness):
        ask.remark(complete_note(cells.names, counts[:1], counts[1:], noise.variance))
    # Too few rows are taken for many by one noise in six, not by half of them.
    doubt = math.sqrt(answer.noises[0].variance)
    way = way_of(float(answer.tables[0][0, 0]) - doubt, ask.cost, strengths)
    way = ask.fork(len(strengths), way)
    return ask.sharing(1 - share), float(strengths[way])


def row_counts(cost: Cost, strengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many rows have each of some strengths, for fits of this cost."""
    unit = unit_strength(cost)
    return tuple(max(math.ceil(strength / unit), 1) for strength in strengths)


class SizeUp(NamedTuple):
    """The result of a first question about the size of a table.

    ``way``: 0 if rows are too few for the model's own tables, 2 if there are enough to
    find out where they are, else 1. ``strength``: how well a sum over them stands out.
    """

    way: int
    strength: float


def size_up(ask: Ask, space: Space, clear: float = 0.0) -> tuple[Ask, SizeUp]:
    """Return a session for the rest of the cost, and about how many rows there are.

    Below ``clear`` standard deviations of a class in tables of all columns these tables
    would be noise. Declared rows decide at once, otherwise a noisy count does.
    """
    known = present_in((space.goal,), space.domain)
    ask, strength = hear_strength(ask, space.domain.rows, known, COUNT)
    way = 2 if strength >= _PER_NUMBER * max(len(space.numbers), 5) else 1
    cost = ask.cost
    if too_few(strength, cost, space) or clear_classes(strength, cost, space) < clear:
        way = 0
    return ask, SizeUp(way, strength)


def ask_shares(ask: Ask, space: Space) -> NDArray[Any]:
    """Return class shares, for all of the cost: none is 0."""
    query = Sum(Categories((space.goal,), declared=True), (Block(Ones()),))
    answer = ask.measure(query, "class counts")
    counts = answer.tables[0][:, 0].astype(float)
    counts = likely_counts(counts, answer.noises[0].variance)
    return np.asarray(counts / counts.sum())


def usual_temper(columns: int) -> float:
    """Return the default temper: with more columns, more of them say the same."""
    return max(columns, 1) ** -0.25


def means_temper(columns: int, classes: int) -> float:
    """Return the default temper of class means: two classes are too sure."""
    return math.sqrt(usual_temper(columns)) if classes == 2 else 1.0


def likely_counts(raw: NDArray[Any], noise: float, total: float = 0.0) -> NDArray[Any]:
    """Return likely class counts for noisy ones: all above 0.

    They are drawn together as far as the noise can explain how they differ; what is
    left of it is known not to be below 0. ``total`` is their sum, where that is public.
    """
    many = len(raw)
    whole = total or max(float(raw.sum()), math.sqrt(many * noise), float(many))
    mean, doubt = whole / many, noise
    size = raw + (total - raw.sum()) / many if total else raw
    spread = max(float(((size - mean) ** 2).mean()) - doubt, 0.0) + _UNEVEN * mean**2
    trust = spread / max(spread + doubt, 1e-300)
    size = mean + trust * (size - mean)
    return _above_zero(size, math.sqrt(trust * doubt / 2) + 0.5)


def _above_zero(values: NDArray[Any], scale: float) -> NDArray[Any]:
    """Return the mean of what is above 0 and within Laplace noise of each value."""
    far = np.exp(-np.maximum(values, 0.0) / scale)
    inside = (2 * np.maximum(values, 0.0) + scale * far) / (2 - far)
    return np.asarray(np.where(values > 0, inside, scale))


__all__ = [
    "CLEAR",
    "CLOSE_STRENGTHS",
    "COUNT",
    "FEW",
    "PER_TERM",
    "STRENGTHS",
    "SizeUp",
    "ask_shares",
    "clear_classes",
    "hear_strength",
    "likely_counts",
    "means_temper",
    "only_shares",
    "row_counts",
    "size_up",
    "too_few",
    "unit_strength",
    "usual_temper",
    "way_of",
]
