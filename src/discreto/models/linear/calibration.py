"""Calibration of the scores of two classes, from one small question.

Class means know nothing of columns that say the same thing twice, so a line through
them is often too sure of itself, and the more so the better the means are known. Rows
of each class are counted between parallel cuts across the line; how the counts change
from one class to the other is what a score is worth (Platt 1999).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps import Cross
from discreto.core.maps.hyperplanes import Sides
from discreto.core.maps.unit_columns import Term
from discreto.core.query import Block, Cells, Ones, Sum
from discreto.models.linear.moments import Floats
from discreto.session.session import Ask

SHARE = Fraction(1, 8)  # of the cost
_HEARD = 25.0  # rows over the noise on a count, before it is asked
_FEW = 400.0  # over the number of columns: few of them repeat each other less
# Between such scores rows are counted, and taken to be at such places; further out
# there are often none, and the noise on none would count most.
_CUTS = np.array([-3.0, -1.5, -0.7, -0.2, 0.2, 0.7, 1.5, 3.0])
_PLACES = np.array([-4.0, -2.2, -1.05, -0.45, 0.0, 0.45, 1.05, 2.2, 4.0])
_SLOPES = np.geomspace(0.02, 2, 40)
_SHIFTS = np.linspace(-3, 3, 49)
_CAUTION = 1.0  # standard deviations of noise that another line must gain


class ScoreLine(NamedTuple):
    """A score on rows of terms on [-1, 1]: the log odds of the second class."""

    start: float
    slopes: Floats


def worth_asking(room: float, columns: int, *, gaussian: bool) -> bool:
    """Return True if counts for a share stand out, and means for the rest do, too.

    ``room`` is the row count over its noise for all of the cost.
    """
    heard = room * float(SHARE) ** (0.5 if gaussian else 1.0)
    return heard >= max(_HEARD, columns, _FEW / max(columns, 1))


def ask_trust(
    ask: Ask,
    line: ScoreLine,
    terms: tuple[Term, ...],
    by_class: Cells,
    middle: Floats,
    width: float,
    importance: Floats,
) -> tuple[float, float]:
    """By how much to multiply a line, and what to add to it then.

    ``middle`` is a usual row, ``width`` how far the scores of others are from its own.
    """
    centre = line.start + float(line.slopes @ middle)
    largest = 2 * max(float(np.abs(line.slopes).max()), 1e-9)
    offsets = (centre - line.start + width * _CUTS) / largest
    sides = _sides(terms, line.slopes / largest, offsets, ask.domain)
    query = Sum(Cross(by_class, sides), (Block(Ones()),))
    answer = ask.measure(query, "how sure to be", SHARE)
    counts = answer.tables[0][:, 0].astype(float).reshape(2, -1)
    many = len(_CUTS)  # parallel cuts have so few of the cells between them
    counts = counts[:, [((1 << k) - 1) << (many - k) for k in range(many + 1)]]
    weights = importance[:, None]
    noise = answer.noises[0].variance * weights**2
    slope, score = _fitted(counts * weights, noise, width * _PLACES, centre)
    return slope, score - slope * centre


def _sides(
    terms: tuple[Term, ...], slopes: Floats, offsets: Floats, domain: Domain
) -> Sides:
    """Return parallel cuts: a weight of at most 1/2 for each Number and category."""
    numbers: dict[str, float] = {}
    marks: dict[str, Floats] = {}
    for term, weight in zip(terms, slopes.tolist(), strict=True):
        if isinstance(term, str):
            numbers[term] = weight
        else:
            size = len(domain.category(term.column).categories)
            marks.setdefault(term.column, np.zeros(size + 1))[term.code] = weight
    # A row of no category has no mark there, so those of the others are less by it.
    none = sum(float(line[-1]) for line in marks.values())
    lists = tuple(tuple((line[:-1] - line[-1]).tolist()) for line in marks.values())
    many = len(offsets)
    return Sides(
        tuple(numbers),
        tuple(marks),
        (tuple(numbers.values()),) * many,
        (lists,) * many,
        tuple(np.clip(offsets - none, -1e6, 1e6).tolist()),
    )


def _fitted(
    counts: Floats, noise: Floats, away: Floats, centre: float
) -> tuple[float, float]:
    """Return the likeliest slope and middle score, if they are more than noise."""
    scores = _SLOPES[:, None, None] * away + (centre + _SHIFTS)[None, :, None]
    gains, doubts = np.zeros((2, *scores.shape[:2]))
    for sign, number, variance in zip((-1.0, 1.0), counts, noise, strict=True):
        before = np.logaddexp(0, -sign * (away + centre))
        gain = before - np.logaddexp(0, -sign * scores)
        gains += gain @ number
        doubts += (gain**2).sum(axis=2) * variance
    sure = gains - _CAUTION * np.sqrt(doubts)
    i, j = np.unravel_index(int(np.argmax(sure)), sure.shape)
    if sure[i, j] <= 0:
        return 1.0, centre
    return float(_SLOPES[i]), float(centre + _SHIFTS[j])


__all__ = ["SHARE", "ScoreLine", "ask_trust", "worth_asking"]
