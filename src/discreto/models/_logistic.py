"""The three ways to a private logistic model, as conversations.

Coefficients are on [-1, 1] here: one row for each class, the intercept in front.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.maps import Categories, Cross, LogisticGradient, Scaled, Values
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS
from discreto.core.query import Block, Cells, Everyone, Sum
from discreto.models._least_squares import (
    Floats,
    Moments,
    centred,
    least_squares,
    part_signal,
    toward_mean,
    unfold,
)
from discreto.session import Ask

TYPICAL = 0.4  # how far columns are from the middle of their range, where unknown


@dataclass(frozen=True)
class Task:
    """What is public about a fit."""

    names: tuple[str, ...]
    target: str
    classes: int
    gaussian: bool
    ridge: float | None  # None: shrink by the noise instead
    bounded: bool  # whether rows of a large norm are scaled down
    present: Cells  # the rows without gaps

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def by_class(self) -> Cells:
        """The rows without gaps, by class."""
        classes = Categories((self.target,), declared=True)
        return (
            classes
            if isinstance(self.present, Everyone)
            else Cross(classes, self.present)
        )

    @property
    def norm(self) -> Any:
        return "l2" if self.gaussian else "l1"

    def rows(self, origins: Any, scales: Any, constant: float, part: float) -> Scaled:
        """Rows around ``origins``, of at most a part of a typical row's norm."""
        if not self.bounded:
            far = (1 + np.abs(origins)) / scales
            reach = (
                math.hypot(constant, *far) if self.gaussian else constant + far.sum()
            )
        elif self.gaussian:
            reach = math.sqrt(constant**2 + part * self.width)
        else:
            reach = constant + part * self.width
        return Scaled(
            self.names, plain(origins), plain(scales), constant, reach, self.norm
        )


@dataclass(frozen=True)
class Sums:
    """Noisy sums of rows, in their own units, and the variance of their noise."""

    values: Floats
    variance: float


def by_means(ask: Ask, task: Task, share: Fraction) -> tuple[Floats, Floats, float]:
    """Discriminant scores from noisy class sums; the overall means; row weights."""
    # A larger constant measures class sizes better and class means worse.
    constant = 1 + 0.15 * (math.sqrt(task.width) if task.gaussian else task.width)
    rows = task.rows(np.zeros(task.width), np.full(task.width, TYPICAL), constant, 0.1)
    rows = replace(rows, rotate=not task.gaussian)
    query = Sum(task.by_class, (Block(rows),))
    sums = _ask(ask, query, "class sums", share, rows)
    values, variance = sums.values, sums.variance
    sizes = toward_mean(values[:, 0] / constant, variance / constant**2)
    total = max(float(sizes.sum()), 1.0)
    sizes = np.maximum(sizes, 0.02 * total / task.classes)
    total = float(sizes.sum())
    turned = values[:, 1:]
    if rows.rotate:
        turned = turned @ _cosines(task.width)
    overall = turned.sum(axis=0) / total
    overall = overall * part_signal(overall, task.classes * variance / total**2)
    apart = turned / sizes[:, None] - overall
    for k in range(task.classes):
        apart[k] *= part_signal(apart[k], variance / sizes[k] ** 2)
    means = overall + apart
    starts = np.log(sizes / total) - (means**2).sum(axis=1) / 2
    weights = np.column_stack([starts, means / TYPICAL])
    return weights, np.clip(overall * TYPICAL, -1, 1), total


def spreads(ask: Ask, task: Task, middle: Floats, share: Fraction) -> Floats:
    """Standard deviations around ``middle``, drawn together by the noise."""
    rows = task.rows(middle, np.full(task.width, TYPICAL), 1.0, 0.05)
    rows = replace(rows, power=2)
    sums = _ask(ask, Sum(task.present, (Block(rows),)), "spreads", share, rows)
    values = sums.values[0]
    total = max(values[0], 1.0)
    squares = values[1:] / total
    noise = sums.variance * (1 + squares**2) / total**2
    middle_square = float(np.clip(squares.mean(), 0.02, TYPICAL**-2))
    apart = squares - middle_square
    signal = max(float(np.mean(apart**2 - noise)), 0.0)
    drawn = middle_square + apart * signal / np.maximum(signal + noise, 1e-300)
    return TYPICAL * np.sqrt(np.clip(drawn, 0.05 * middle_square, 4.0))


def by_gradients(
    ask: Ask,
    task: Task,
    start: tuple[Floats, Floats, float],
    scales: Floats,
    shares: list[Fraction],
    clip: float,
) -> Floats:
    """Steps down the true loss from ``start``, each as long as its noise allows."""
    weights, middle, total = start
    rows = task.rows(middle, scales, 1.0, 0.3)
    part = _kept(task, rows)
    local = _to_rows(weights, middle, scales)
    if task.classes == 2:
        local = local[1:] - local[:1]
    penalty = np.append(0.0, (task.ridge or 0.0) / scales**2)
    curve = total * part * (0.25 if task.classes == 2 else 2 / task.classes / 2)
    steep, last = 1.0, None
    for number, share in enumerate(shares, start=1):
        query = LogisticGradient(rows, task.target, _rows_of(local), clip)
        label = f"gradient {number}"
        answer = ask.measure(Sum(task.present, (Block(query),)), label, share)
        unit = query.bound() / ((1 << SUM_BITS) - local.size)
        slope = answer.tables[0][0].reshape(local.shape) * unit
        variance = answer.noises[0].variance * unit**2
        sure = 1.0
        if task.ridge is None:
            sure = part_signal(slope, variance, doubt=2.0)
        slope = slope + penalty * local
        base = curve + penalty
        if last is not None:
            steep = max(steep, min(_secant(slope - last[1], last[0], base), 4 * steep))
        step = -sure * slope / (base * steep)
        last = (step, slope)
        local = np.clip(local + step, -1e6, 1e6)
    if task.classes == 2:
        local = np.vstack([-local / 2, local / 2])
    return _from_rows(local, middle, scales)


def by_taylor(ask: Ask, task: Task) -> Floats:
    """The minimiser of the second-order loss at 0, each class against all others."""
    size = task.width + 1
    first = Fraction(size, size + 4)
    values = Values(task.names, bits=PRODUCT_BITS, constant=True)
    query = Sum(task.present, (Block(values, "gram", noise="cube"),))
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
    return np.vstack([-out[1] / 2, out[1] / 2]) if task.classes == 2 else out


def _class_slopes(ask: Ask, task: Task, share: Fraction) -> Sums:
    """For each class the sum of rows in it minus those outside of it."""
    flat = replace(task, gaussian=False, bounded=False)
    rows = flat.rows(np.zeros(task.width), np.ones(task.width), 1.0, 0.0)
    if task.gaussian:
        rows = replace(rows, norm="l2", reach=math.sqrt(task.width + 1))
    if task.classes != 2:
        query = Sum(task.by_class, (Block(rows),))
        sums = _ask(ask, query, "slopes", share, rows)
        values = sums.values
        return Sums(2 * values - values.sum(axis=0), 4 * sums.variance)
    weights = _rows_of(np.zeros((1, task.width + 1)))
    gradient = LogisticGradient(rows, task.target, weights, 0.5)
    answer = ask.measure(Sum(task.present, (Block(gradient),)), "slopes", share)
    unit = gradient.bound() / ((1 << SUM_BITS) - task.width - 1)
    slope = np.asarray(-2.0 * unit * answer.tables[0], dtype=np.float64)
    return Sums(np.vstack([-slope, slope]), 4 * answer.noises[0].variance * unit**2)


def _ask(ask: Ask, query: Sum, label: str, share: Fraction, rows: Scaled) -> Sums:
    answer = ask.measure(query, label, share)
    unit = rows.reach / ((1 << SUM_BITS) - rows.width())
    values = np.asarray(answer.tables[0] * unit, dtype=np.float64)
    return Sums(values, answer.noises[0].variance * unit**2)


def _kept(task: Task, rows: Scaled) -> float:
    """About which part of a typical row (mean 0, variance 1) its bound leaves."""
    if task.gaussian:
        typical = math.hypot(rows.constant, math.sqrt(task.width))
    else:
        typical = rows.constant + 0.8 * task.width
    return min(rows.reach / typical, 1.0)


def _secant(change: Floats, step: Floats, base: Floats) -> float:
    """How much steeper the loss was along the last step than ``base`` says."""
    size = float((step**2 * base).sum())
    return float((change * step).sum()) / size if size > 1e-300 else 0.0


def _to_rows(weights: Floats, middle: Floats, scales: Floats) -> Floats:
    """Coefficients on [-1, 1] as coefficients of (1, (u - middle) / scales)."""
    starts = weights[:, 0] + weights[:, 1:] @ middle
    return np.column_stack([starts, weights[:, 1:] * scales])


def _from_rows(local: Floats, middle: Floats, scales: Floats) -> Floats:
    slopes = local[:, 1:] / scales
    return np.column_stack([local[:, 0] - slopes @ middle, slopes])


def _rows_of(weights: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(plain(row) for row in weights)


def _cosines(width: int) -> Floats:
    from discreto.core.maps.regression import cosines

    return cosines(width)


def plain(values: Any) -> tuple[float, ...]:
    """Numbers as JSON knows them."""
    return tuple(float(value) for value in values)
