"""Private logistic models from class sums, and from the expanded loss.

Coefficients are on [-1, 1] here: one row for each class, the intercept in front.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreto.core.maps import Categories, Cross, LogisticGradient, Values
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS
from discreto.core.maps.regression import cosines
from discreto.core.query import Block, Cells, Everyone, Sum
from discreto.models.base.signal_to_noise import (
    likely_counts,
    means_temper,
    usual_temper,
)
from discreto.models.linear.calibration import SHARE as SURE
from discreto.models.linear.calibration import ScoreLine, ask_trust, worth_asking
from discreto.models.linear.coordinates import (
    TYPICAL,
    Design,
    Sums,
    ask_sums,
    rows_of,
    spreads,
)
from discreto.models.linear.moments import (
    Floats,
    Moments,
    centred,
    least_squares,
    part_signal,
    unfold,
)
from discreto.session.session import Ask

_WIDTHS = Fraction(1, 10)  # of the cost, to learn how wide columns are


@dataclass(frozen=True)
class Task(Design):
    """Public facts of a fit."""

    target: str
    classes: int
    ridge: float | None  # None: shrink by the noise as well
    importance: tuple[float, ...] = ()  # of a row of each class, at most 1

    @property
    def weights(self) -> Floats:
        """The importance of each class."""
        return np.array(self.importance or (1.0,) * self.classes)

    @property
    def by_class(self) -> Cells:
        """A cell for each class, with the rows that have all numbers."""
        classes = Categories((self.target,), declared=True)
        if isinstance(self.whole, Everyone):
            return classes
        return Cross(classes, self.whole)


@dataclass(frozen=True)
class Start:
    """A discriminant from class sums, and the sums that it was made of."""

    weights: Floats
    mean: Floats  # of all rows
    apart: Floats  # of each class from there
    sizes: Floats  # of the classes, in weighted rows
    variance: float  # of a class sum, in units of typical
    typical: Floats  # how wide terms were taken to be
    sure: float  # what noise leaves of the scores
    trust: float = 1.0  # what correlated columns leave of them

    @property
    def total(self) -> float:
        return float(self.sizes.sum())

    @property
    def shares(self) -> Floats:
        return np.asarray(self.sizes / self.sizes.sum())


def by_means(ask: Ask, task: Task, share: Fraction) -> Start:
    """Return discriminant scores from noisy class sums."""
    # A larger constant measures class sizes better and class means worse.
    size = math.sqrt(task.columns) if task.gaussian else task.columns
    constant, typical = 1 + 0.15 * size, task.typical
    rows = task.rows(np.zeros(task.width), typical, constant, 0.1)
    turn = not task.gaussian and bool(task.numbers.any())
    rows = replace(rows, rotate=turn)
    query = Sum(task.by_class, (Block(rows),))
    sums = ask_sums(ask, query, "class sums", share, rows)
    values, variance = sums.values, sums.variance
    sizes = likely_counts(values[:, 0] / constant, variance / constant**2)
    total = float(sizes.sum())
    turned = values[:, 1:]
    if turn:
        numbers = turned[:, task.numbers] @ cosines(int(task.numbers.sum()))
        turned[:, task.numbers] = numbers
    overall = turned.sum(axis=0) / total
    overall = overall * part_signal(overall, task.classes * variance / total**2)
    apart, left = _signal(turned, sizes, overall, variance, constant)
    unsure = left * task.columns  # the variance of scores that is left to noise
    means = overall + apart
    # As sure of itself as a logistic score with that noise on it can be (MacKay 1992).
    sure = 1 / math.sqrt(1 + math.pi / 2 * unsure)
    counted = sizes * task.weights
    starts = np.log(counted / counted.sum()) - sure * (means**2).sum(axis=1) / 2
    weights = np.column_stack([starts, sure * means / typical])
    middle = np.clip(overall * typical, -1, 1)
    return Start(weights, middle, apart * typical, sizes, variance, typical, sure)


def by_wide_means(ask: Ask, task: Task, room: float) -> Start:
    """Return discriminant scores for all of the cost, no surer than columns are wide.

    ``room`` is the row count over its noise; below some the widths would be
    noise, too.
    """
    heard = room * float(_WIDTHS) >= 10 * (1 + 0.05 * task.columns)
    widths = _WIDTHS if heard else Fraction(0)
    clear = worth_asking(room, task.columns, gaussian=task.gaussian)
    asked = task.classes == 2 and clear
    start = by_means(ask, task, 1 - widths - (SURE if asked else 0))
    if widths:
        wide = np.maximum(spreads(ask, task, start.mean, widths), start.typical)
        start = replace(start, typical=wide)
    start = replace(start, weights=_discriminant(task, start))
    return _as_sure_as_rows(ask, task, start) if asked else start


def _as_sure_as_rows(ask: Ask, task: Task, start: Start) -> Start:
    """Return the scores of two classes, calibrated by a question of their own."""
    weights = start.weights[1] - start.weights[0]
    line = ScoreLine(float(weights[0]), weights[1:])
    each = line.slopes * np.where(task.numbers, start.typical, TYPICAL)
    width = 0.7 * math.sqrt(float(each @ each))
    facts = (task.names, task.by_class, start.mean, max(width, 0.1), task.weights)
    slope, moved = ask_trust(ask, line, *facts)
    counted = start.sizes * task.weights
    odds = slope * math.log(counted[1] / counted[0]) + moved
    share = 1 / (1 + math.exp(-float(np.clip(odds, -30, 30))))
    half = np.append(slope * line.start + moved, slope * line.slopes) / 2
    return replace(
        start,
        weights=np.vstack([-half, half]),
        sizes=start.total * np.array([1 - share, share]),
        trust=slope,
    )


def _discriminant(task: Task, start: Start) -> Floats:
    """Return scores by normal distributions of Numbers and by category frequencies.

    The more columns there are, the more of them say the same.
    """
    means, numbers = start.mean + start.apart, task.numbers
    temper = means_temper(task.columns, task.classes)
    slopes = temper * means / start.typical**2
    starts = -(slopes * means)[:, numbers].sum(axis=1) / 2
    # Probabilities are no surer than their noise.
    least = math.sqrt(start.variance) / start.sizes[:, None] + 1 / start.total
    shares = np.clip(means, 0, 1)[:, ~numbers] + least
    usual = np.clip(start.mean, 0, 1)[~numbers] + least
    slopes[:, ~numbers] = usual_temper(task.columns) * np.log(shares / usual)
    counted = start.sizes * task.weights
    starts = np.log(counted / counted.sum()) + start.sure * starts
    return np.column_stack([starts, start.sure * slopes])


def _signal(
    sums: Floats, sizes: Floats, overall: Floats, variance: float, constant: float
) -> tuple[Floats, float]:
    """Return the differences of class means without noise, and the variance left.

    Where all rows are far from the origin, noise in the size of a class moves its mean
    along the mean row. That direction has a noise, and a signal, of its own.
    """
    apart = sums / sizes[:, None] - overall
    noise, far = variance / sizes**2, float(overall @ overall)
    way = overall / max(math.sqrt(far), 1e-12)
    along = (apart @ way)[:, None]
    apart = apart - along * way
    heard = _heard(apart, noise)
    # Sizes were drawn together: about half of their noise is left.
    more = noise * (1 + far / (2 * constant**2))
    clear = _heard(along, more, doubt=1.0)  # few numbers vary by so much of it
    left = heard * noise + clear * (more - noise) / apart.shape[1]
    return apart * heard[:, None] + along * clear[:, None] * way, float(left.mean())


def _heard(apart: Floats, variances: Floats, doubt: float = 0.0) -> Floats:
    """Return which part of each class's distance from the mean row is signal, 0 to 1.

    All classes have one signal: a class that noise alone makes stand out would win or
    lose every row.
    """
    squares = (apart**2).mean(axis=1)
    sure = 1 / variances
    signal = float(((squares - (1 + doubt) * variances) * sure).sum() / sure.sum())
    signal = min(max(signal, 0.0), 1.0)
    return np.asarray(signal / (signal + variances))


def by_taylor(ask: Ask, task: Task) -> tuple[Floats, Floats]:
    """Return the minimiser of the second-order loss at 0, each class against the rest.

    And the mean row.
    """
    size = task.width + 1
    first = Fraction(size, size + 4)
    values = Values(task.names, bits=PRODUCT_BITS, constant=True)
    query = Sum(task.known, (Block(values, "gram", noise="cube"),))
    answer = ask.measure(query, "curvature", first)
    step = float(1 << (2 * PRODUCT_BITS))
    gram = unfold(answer.tables[0][0] / step, size)
    gram_noise = answer.noises[0].variance / step**2
    slopes = _class_slopes(ask, task, 1 - first)
    out = np.zeros((task.classes, size))
    for k, slope in enumerate(slopes.values):
        sums, noise = np.zeros((2, size + 1, size + 1))
        sums[:size, :size], noise[:size, :size] = gram, gram_noise
        sums[-1, :size] = sums[:size, -1] = slope
        noise[-1, :size] = noise[:size, -1] = slopes.variance
        shrink = task.ridge is None
        means, around = centred(Moments(sums, noise), shrink=shrink)
        ridge = 4 * (task.ridge or 0.0)
        found = least_squares(around, ridge=ridge, shrink=shrink)
        out[k] = 2 * np.append(means[-1] - means[:-1] @ found, found)
    middle = np.clip(means[:-1], -1, 1)
    out = np.vstack([-out[1] / 2, out[1] / 2]) if task.classes == 2 else out
    return out, middle


def _class_slopes(ask: Ask, task: Task, share: Fraction) -> Sums:
    """Return for each class the sum of rows in it minus those outside of it."""
    flat = replace(task, gaussian=False, bounded=False)
    rows = flat.rows(np.zeros(task.width), np.ones(task.width), 1.0, 0.0)
    rows = replace(rows, reach=1.0 + task.columns)  # one category of a column is 1
    if task.gaussian:
        rows = replace(rows, norm="l2", reach=math.sqrt(task.columns + 1))
    if task.classes != 2:
        query = Sum(task.by_class, (Block(rows),))
        sums = ask_sums(ask, query, "slopes", share, rows)
        values = sums.values
        return Sums(2 * values - values.sum(axis=0), 4 * sums.variance)
    weights = rows_of(np.zeros((1, task.width + 1)))
    gradient = LogisticGradient(rows, task.target, weights, 0.5)
    answer = ask.measure(Sum(task.whole, (Block(gradient),)), "slopes", share)
    unit = gradient.bound() / ((1 << SUM_BITS) - task.width - 1)
    slope = np.asarray(-2.0 * unit * answer.tables[0], dtype=np.float64)
    return Sums(np.vstack([-slope, slope]), 4 * answer.noises[0].variance * unit**2)
