"""Least squares on noisy products, refined with noisy residuals.

The target is measured from its noisy median in units of its noisy spread, so bounds
that are too wide cost little. Products of turned rows and the target give a first line;
each further question sums the residual times the row, both clipped. Answers are
averaged by their precision, direction by direction, and what noise explains is left
out, so the line is a constant where nothing else stands out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreto.core.maps import (
    Bins,
    Cross,
    Edges,
    Ranks,
    Rings,
    Scaled,
    SquaredGradient,
    Values,
)
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS
from discreto.core.query import Block, Cells, Choice, Everyone, Ones, Sum
from discreto.models.linear.coordinates import (
    WIDE,
    Coordinates,
    Design,
    ask_sums,
    frame,
    plain,
    rows_of,
    spreads,
)
from discreto.models.linear.moments import (
    Floats,
    Moments,
    centred,
    least_squares,
    moments_of,
    part_signal,
    unfold,
)
from discreto.session.session import Ask

LOOKS = 4
_COUNT = (Block(Ones()),)
_PLACES = 256  # of the median, over the range of the target
_RINGS = 26  # of its spread, down to a 6,000th of the range
_REACH = 3.0  # what is left of the target counts whole up to so many median distances
_TARGET = 1.5  # the weight of the target beside a row
# Shares by measurement (docs/models/linear.md); residuals have the rest.
_PLACE, _SPREAD = Fraction(8, 100), Fraction(10, 100)
_MEANS, _WIDTHS, _PRODUCTS = Fraction(5, 100), Fraction(7, 100), Fraction(10, 100)
_LINE = Fraction(27, 100)
_OUTSIDE = Fraction(2, 5)  # of the share for the spread, to see whether it holds
_MANY = 0.05  # of the rows; no distribution of one piece has so many so far out
_HIDDEN = 0.07  # the noise on a mean on [-1, 1], above which a median is noise
_USUAL_MEAN = 0.4  # of a target on [-1, 1]
_CENTRE = Fraction(12, 100)  # for the median, where residuals are not asked for


class Line(NamedTuple):
    """A line on [-1, 1], and the mean row."""

    start: float
    slopes: Floats
    middle: Floats


@dataclass
class _Estimate:
    """Coordinates of the line, their precision, and both weighted by it."""

    sums: Floats
    precision: Floats

    def add(self, values: Floats, variance: Floats) -> None:
        self.sums = self.sums + values / variance
        self.precision = self.precision + 1 / variance

    def line(self) -> Floats:
        """Return the mean, without what noise explains of each coordinate."""
        values = self.sums / self.precision
        return np.asarray(values * (1 - 1 / np.maximum(self.precision * values**2, 1)))


def by_residuals(ask: Ask, design: Design, target: str) -> Line:
    """Return a line through the rows; it asks for all of the cost."""
    middle, unit, many = _checked_place(ask, design.known, target, _PLACE, _SPREAD)
    if ask.fork(2, int(many)):
        return _by_products(ask, design, target, None, 1 - _PLACE - _SPREAD)
    if many:  # a hidden run takes this way in any case, then with the whole range
        middle, unit = 0.0, 1.0
    mean, total = _means(ask, design)
    room = total / design.noise(ask, Fraction(1))
    # The whole range, where rows and budget allow it.
    unit = float(min(unit * max(1.0, math.sqrt(room / 1000)), 2.0))
    scales = spreads(ask, design, mean, _WIDTHS)
    seen = frame(ask, design, mean, scales, total, _PRODUCTS, cautious=True)
    first = _first(ask, design, seen, target, (middle, unit), total)
    turned = _look(ask, design, seen, target, (middle, unit), total, first)
    local = turned @ seen.basis
    slopes = unit * local[1:] / scales
    return Line(middle + unit * local[0] - float(slopes @ mean), slopes, mean)


def by_products(ask: Ask, design: Design, target: str) -> Line:
    """Return a line from one release of products, for all of the cost."""
    middle, unit, many = _checked_place(ask, design.known, target, _CENTRE, _PLACE)
    way = ask.fork(2, int(many))
    # A hidden run has its way fixed, with as many questions; its place is still unsure.
    place = None if way or many else (middle, unit)
    return _by_products(ask, design, target, place, 1 - _CENTRE - _PLACE)


def _by_products(
    ask: Ask,
    design: Design,
    target: str,
    place: tuple[float, float] | None,
    share: Fraction,
) -> Line:
    """Return a line from one release of products, for a share of the cost.

    Without, its whole range counts, and its mean is that of the products.
    """
    middle, unit = place or (0.0, 1.0)
    width, one = design.columns + 2, 0.7
    rows = Scaled(
        (*design.names, target),
        plain((*np.zeros(design.width), middle)),
        plain((*np.ones(design.width), unit / _TARGET)),
        one,
        math.sqrt(0.12 * width) if design.gaussian else 0.3 * width,
        design.norm,
        bits=PRODUCT_BITS,
    )
    query = Sum(design.known, (Block(rows, "gram"),))
    answer = ask.measure(query, "products of the columns", share)
    weights = np.array([one, *np.ones(design.width), _TARGET])
    upper, variance = answer.tables[0][0], answer.noises[0].variance
    moments = moments_of(upper, variance, rows.steps() ** 2, weights)
    means, around = centred(moments, shrink=True)
    slopes = least_squares(around, shrink=True)
    # Noise in the means moves the whole line: less of it where that eats its gain.
    there = max(moments.sums[0, 0], 2 * math.sqrt(moments.noise[0, 0]), 1e-9)
    gain = max(float(slopes @ around.sums[:-1, -1]) / there, 0.0)
    moved = float(slopes**2 @ moments.noise[0, 1:-1]) / there**2
    slopes = slopes * (unit * gain / max(gain + 2 * moved, 1e-300))
    # The mean of the products would be off by more than it is from the median.
    middle = middle if place else float(np.clip(means[-1], -1, 1))
    start = middle - float(slopes @ means[:-1])
    return Line(start, slopes, np.clip(means[:-1], -1, 1))


def constant(ask: Ask, known: Cells, target: str) -> float:
    """Return about the mean of the target on [-1, 1], for all of the cost.

    The plain mean is right on average. Where the range is so wide that its noise hides
    all of the target, the median is better, unless both differ by more than noise, or
    rows are so few that the median is noise as well.
    """
    mean, doubt = _plain_mean(ask, known, target, Fraction(6, 10))
    middle, unit = _place(ask, known, target, Fraction(25, 100), Fraction(15, 100))
    wide = 0.5 * unit < doubt < _HIDDEN and abs(middle - mean) < 3 * doubt
    return middle if wide else mean


def _plain_mean(
    ask: Ask, known: Cells, target: str, share: Fraction
) -> tuple[float, float]:
    """Return the mean on [-1, 1], shrunk by its noise, and its standard error."""
    query = Sum(known, (Block(Values((target,)), "pair"),))
    answer = ask.measure(query, "sums of the target", share)
    high, low = answer.tables[0][0] / (2.0 * (1 << SUM_BITS))
    noise = math.sqrt(answer.noises[0].variance) / (2.0 * (1 << SUM_BITS))
    rows = max(float(high + low), noise, 1.0)
    # Means are seldom at an end of their range: 0.4 of the way is usual.
    mean = float((high - low) * rows / (rows**2 + 2 * (noise / _USUAL_MEAN) ** 2))
    return float(np.clip(mean, -1, 1)), math.sqrt(2) * noise / rows


def _checked_place(
    ask: Ask, known: Cells, target: str, first: Fraction, second: Fraction
) -> tuple[float, float, bool]:
    """Return the place of the target, and True if much of it is far from there."""
    part = second * _OUTSIDE
    middle, unit = _place(ask, known, target, first, second - part)
    return middle, unit, _part_outside(ask, known, target, (middle, 4 * unit), part)


def _place(
    ask: Ask, known: Cells, target: str, first: Fraction, second: Fraction
) -> tuple[float, float]:
    """Return about where the target is, and how far half of it is from there."""
    tally = Sum(Bins(target, _PLACES), _COUNT)  # a missing target is in no bin
    chosen = ask.select(Choice(tally, Ranks((1,), 2)), "median of the target", first)
    middle = (2 * int(chosen.indices[0]) + 1) / _PLACES - 1
    rings = Rings((target,), ((middle,),), _RINGS)
    tally = Sum(rings if isinstance(known, Everyone) else Cross(known, rings), _COUNT)
    # Half of the rows, not more: that choice moves the least with one row.
    chosen = ask.select(Choice(tally, Ranks((1,), 2)), "spread of the target", second)
    return middle, min(_REACH * rings.edge(int(chosen.indices[0])), 2.0)


def _part_outside(
    ask: Ask, known: Cells, target: str, near: tuple[float, float], share: Fraction
) -> bool:
    """Return True if many rows are far from the median: then most have one value.

    Amounts that are mostly 0 and marks of 0 and 1 have no spread by their median
    distance, and all that a line could say is in the other rows.
    """
    column, (middle, reach) = ask.domain.number(target), near
    cuts = plain(
        column.centre + column.half * np.array([middle - reach, middle + reach])
    )
    cells: Cells = Edges(target, cuts)
    cells = cells if isinstance(known, Everyone) else Cross(known, cells)
    answer = ask.measure(Sum(cells, _COUNT), "rows far from the median", share)
    below, inside, above = answer.tables[0][:, 0].astype(float)
    doubt = 2 * math.sqrt(2 * answer.noises[0].variance)
    return bool(below + above - doubt > _MANY * (below + inside + above))


def _means(ask: Ask, design: Design) -> tuple[Floats, float]:
    """Return the mean row and about how many rows there are."""
    typical = design.typical
    rows = design.rows(np.zeros(design.width), typical, 1.0, 0.3)
    query = Sum(design.known, (Block(rows),))
    sums = ask_sums(ask, query, "means", _MEANS, rows)
    total = max(float(sums.values[0, 0]), 2 * math.sqrt(sums.variance), 1.0)
    means = sums.values[0, 1:] / total
    means = means * part_signal(means, sums.variance / total**2)
    return np.clip(means * typical, -1, 1), total


class _First(NamedTuple):
    """The first line, and the quadratic that it is the lowest point of."""

    vectors: Floats
    values: Floats
    estimate: _Estimate
    matrix: Floats
    slope: Floats
    square: float  # the mean square of the target
    doubt: float  # the noise on a mean product


def _first(
    ask: Ask,
    design: Design,
    seen: Coordinates,
    target: str,
    goal: tuple[float, float],
    total: float,
) -> _First:
    """Return a line from the products of turned rows and the target."""
    width = len(seen.basis)
    room = total / design.noise(ask, _LINE)
    usual = design.usual(seen.dimension, width)
    usual = math.hypot(usual, _TARGET) if design.gaussian else usual + 0.8 * _TARGET
    basis = np.zeros((width + 1, width + 1))
    basis[:-1, :-1], basis[-1, -1] = seen.basis, 1.0
    rows = Scaled(
        (*design.names, target),
        plain((*seen.middle, goal[0])),
        plain((*seen.scales, goal[1] / _TARGET)),
        1.0,
        max(0.5 * usual, min(0.1 * math.sqrt(room), 50 * usual)),
        design.norm,
        bits=PRODUCT_BITS,
        basis=rows_of(basis),
    )
    query = Sum(design.known, (Block(rows, "gram"),))
    answer = ask.measure(query, "products with the target", _LINE)
    step = rows.steps() ** 2
    sums = unfold(answer.tables[0][0] / step, width + 1)
    noise = math.sqrt(answer.noises[0].variance) / step
    heard = float(np.trace(sums[:-1, :-1]))
    heard = max(heard, 2 * noise * math.sqrt(width), 1.0) / seen.dimension
    matrix, slope = sums[:-1, :-1] / heard, sums[:-1, -1] / (heard * _TARGET)
    doubt = noise / heard
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0) + doubt * math.sqrt(width) + 1e-6
    along = (vectors.T @ slope) / values
    variance = doubt**2 * (1 / _TARGET**2 + float(along @ along)) / values**2
    estimate = _Estimate(along / variance, 1 / variance)
    square = max(float(sums[-1, -1]) / (heard * _TARGET**2), 1e-4)
    return _First(vectors, values, estimate, matrix, slope, square, doubt)


def _look(
    ask: Ask,
    design: Design,
    seen: Coordinates,
    target: str,
    goal: tuple[float, float],
    total: float,
    first: _First,
) -> Floats:
    """Return the line after some questions about residuals."""
    asked = _PLACE + _SPREAD + _MEANS + _WIDTHS + _PRODUCTS + _LINE
    share = (1 - asked) / LOOKS
    room = total / design.noise(ask, share)
    usual = design.usual(seen.dimension, len(seen.basis))
    rows = design.rows(seen.middle, seen.scales, 1.0, 1.0)
    # Bounds grow where that adds little noise: rows and residuals alike.
    growth = math.sqrt(max(1.0, 0.004 * room / usual))
    reach = min(0.5 * growth, 50.0) * usual
    rows = replace(rows, reach=reach, basis=rows_of(seen.basis))
    kept = min(reach / usual, 1.0) ** 2
    line = first.vectors @ first.estimate.line()
    for number in range(1, LOOKS + 1):
        left = first.square - float(2 * first.slope @ line - line @ first.matrix @ line)
        spread = math.sqrt(max(left, 0.02 * first.square))
        clip = max(2.5 * spread, 0.02) * growth
        clip = float(np.clip(clip, 1e-6, 1e6))
        query = SquaredGradient(rows, target, *goal, plain(line), clip)
        answer = ask.measure(
            Sum(design.whole, (Block(query),)), f"look {number}", share
        )
        ahead = first.vectors.T @ (answer.tables[0][0] * query.unit())
        curve = total * kept * first.values
        noise = answer.noises[0].variance * query.unit() ** 2 / curve**2
        step = ahead / curve
        bend = (first.doubt / first.values) ** 2 * float(step @ step)
        first.estimate.add(first.vectors.T @ line + step, noise + bend)
        line = np.clip(first.vectors @ first.estimate.line(), -1e6, 1e6)
    return np.asarray(line)


PLENTY = (
    25 * 4**10
)  # rows over their noise; an eighth of it is nearer to it than to less
_FIRST = Fraction(1, 10)  # of the cost, to see whether one release is enough
_NOTHING = 1e-5  # of what no line explains: noise that costs so little is none


def by_looks(ask: Ask, design: Design, target: str, strength: float) -> Line:
    """Return a line through the rows, from as few passes as are needed.

    Where rows are very many, a first release of products of whole rows tells whether
    the noise of a second one will hardly move the line. It does where a column fills
    little of its range: then residuals say more.
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
    ask: Ask, design: Design, target: str, share: Fraction = Fraction(1)
) -> Moments:
    """Ask for sums of products of ones, all terms and the target, unclipped."""
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
    """Return about how much the noise of a second query adds to the squares left.

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
