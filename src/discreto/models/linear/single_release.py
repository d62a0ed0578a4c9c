"""Least squares from one look at the rows, where they are so many that it says all."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.maps import Scaled
from discreto.core.maps.features import PRODUCT_BITS
from discreto.core.query import Block, Sum
from discreto.models.linear.coordinates import WIDE, Design, plain
from discreto.models.linear.least_squares import (
    Moments,
    centred,
    least_squares,
    moments_of,
)
from discreto.models.linear.residuals import Line, by_residuals

PLENTY = (
    25 * 4**10
)  # rows over their noise; an eighth of it is nearer to it than to less
_FIRST = Fraction(1, 10)  # of the cost, to see whether one look is enough
_NOTHING = 1e-5  # of what no line explains: noise that costs so little is none


def by_looks(ask: Any, design: Design, target: str, strength: float) -> Line:
    """A line through the rows, from as few looks at them as are needed.

    Each look is a pass over a table. Where rows are very many, a first look at products
    of whole rows tells whether the noise of a second one will hardly move the line. It
    does where a column fills little of its range: then residuals say more.
    """
    if strength < PLENTY / 8 or design.width > WIDE:
        return by_residuals(ask, design, target)
    rough = _products(ask, design, target, _FIRST)
    ask = ask.sharing(1 - _FIRST)
    if ask.fork(2, int(_spoiled(rough, design) > _NOTHING)):
        return by_residuals(ask, design, target)
    means, around = centred(_products(ask, design, target), shrink=True)
    slopes = least_squares(around, shrink=True)
    return Line(means[-1] - float(slopes @ means[:-1]), slopes, means[:-1])


def _products(
    ask: Any, design: Design, target: str, share: Fraction = Fraction(1)
) -> Moments:
    """Sums of products of ones, all terms and the target, none of them clipped."""
    names = (*design.names, target)
    longest = design.columns + 2.0  # each column has at most one 1
    rows = Scaled(
        names,
        plain(np.zeros(len(names))),
        plain(np.ones(len(names))),
        1.0,
        math.sqrt(longest) if design.gaussian else longest,
        design.norm,
        bits=PRODUCT_BITS,
    )
    query = Sum(design.known, (Block(rows, "gram"),))
    answer = ask.measure(query, "products of whole rows", share)
    upper, variance = answer.tables[0][0], answer.noises[0].variance
    return moments_of(upper, variance, rows.steps() ** 2, np.ones(len(names) + 1))


def _spoiled(rough: Moments, design: Design) -> float:
    """What the noise of the second look will add to the squares that are left, about.

    As a part of them. The indicators of a Category add up to 1, and mostly one of them
    (for what is not declared) has no rows: there is nothing in two directions.
    """
    _, around = centred(rough, shrink=True)
    slopes = least_squares(around, shrink=True)
    gram, square = around.sums[:-1, :-1], max(float(around.sums[-1, -1]), 1e-300)
    doubt = float(around.noise.max())
    less = float(_FIRST / (1 - _FIRST)) ** (1 if design.gaussian else 2)
    rough_size, size = (math.sqrt(v * len(gram)) for v in (doubt, doubt * less))
    values, vectors = np.linalg.eigh(gram)
    values, sure = (np.maximum(values - far, 0) for far in (0, 2 * rough_size))
    # Noise moves the line, and the ridge against it draws the line to a constant.
    moved = doubt * less * (1 + float(slopes @ slopes))
    drawn = (2 * size * (vectors.T @ slopes)) ** 2
    added = (moved + drawn) * values / (sure + size) ** 2
    empty = 2 * (design.columns - int(np.sum(design.numbers)))
    added[:empty] *= sure[:empty] > 0
    left = square - float(slopes @ around.sums[:-1, -1])
    return float(added.sum()) / max(left, 1e-3 * square)
