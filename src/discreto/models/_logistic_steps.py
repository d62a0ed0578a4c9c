"""Steps down the true logistic loss, none of which can overshoot.

Rows are centred and scaled by released means and spreads, and turned by a released
matrix of products so that they are about as wide in every direction. There the loss is
nowhere steeper than a known multiple of the identity (Böhning 1992), so a step of that
length never climbs, however columns are correlated. Differences of the gradients that
were released say how much flatter the loss really is, as far as they are larger than
their noise (Anderson's acceleration, regularised by the known noise).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreto.core.maps import LogisticGradient
from discreto.core.maps.features import PRODUCT_BITS, SUM_BITS
from discreto.core.query import Block, Everyone, Sum
from discreto.models._least_squares import Floats, part_signal, unfold
from discreto.models._logistic import Start, Task, ask_sums, rows_of
from discreto.session import Ask

WIDE = 400  # above so many terms no matrix of products is asked for
_FLOOR = 1e-4  # of an eigenvalue


@dataclass(frozen=True)
class Frame:
    """Coordinates for steps: rows (1, (u - middle) / scales), turned by ``basis``."""

    middle: Floats
    scales: Floats
    products: Floats  # of such rows, on average, before they are turned
    basis: Floats
    doubt: float  # how large the noise makes an eigenvalue of the products
    size: float  # the mean of the eigenvalues
    dimension: float  # in how many directions rows really lie

    def unit(self, local: Floats) -> Floats:
        """Coefficients of such rows as coefficients of rows on [-1, 1]."""
        slopes = local[:, 1:] / self.scales
        return np.column_stack([local[:, 0] - slopes @ self.middle, slopes])


def spreads(ask: Ask, task: Task, middle: Floats, share: Fraction) -> Floats:
    """Standard deviations around ``middle``, drawn together by the noise."""
    typical = task.typical
    rows = replace(task.rows(middle, typical, 1.0, 0.05), power=2)
    sums = ask_sums(ask, Sum(Everyone(), (Block(rows),)), "spreads", share, rows)
    values = sums.values[0]
    total = max(values[0], 1.0)
    squares = values[1:] / total
    noise = sums.variance * (1 + squares**2) / total**2
    centre = float(np.clip(squares.mean(), 0.02, typical.min() ** -2))
    apart = squares - centre
    signal = max(float(np.mean(apart**2 - noise)), 0.0)
    drawn = centre + apart * signal / np.maximum(signal + noise, 1e-300)
    return np.asarray(typical * np.sqrt(np.clip(drawn, 0.05 * centre, 4.0)))


def frame(ask: Ask, task: Task, start: Start, scales: Floats, share: Fraction) -> Frame:
    """Coordinates in which rows are about as wide in every direction."""
    width = task.width + 1
    if not share:  # too many terms: no direction is wider than all columns together
        basis = np.eye(width) / math.sqrt(1 + task.columns)
        size = float(1 + task.columns)
        return Frame(start.mean, scales, np.eye(width), basis, size, 1.0, size)
    room = start.total / task.noise(ask, share)
    usual = _usual(task, task.columns + 1.0, task.columns + 1.0)
    reach = max(0.5 * usual, min(0.1 * math.sqrt(room), 50 * usual))
    rows = task.rows(start.mean, scales, 1.0, 1.0)
    if task.bounded:
        rows = replace(rows, reach=reach)
    rows = replace(rows, bits=PRODUCT_BITS)
    query = Sum(Everyone(), (Block(rows, "gram"),))
    answer = ask.measure(query, "products of the columns", share)
    step = rows.steps() ** 2
    sums = unfold(answer.tables[0][0] / step, width)
    noise = math.sqrt(answer.noises[0].variance) / step
    heard = max(float(sums[0, 0]), 2 * noise, 1.0)
    products, doubt = sums / heard, 2 * math.sqrt(width) * noise / heard
    size = max(float(np.trace(products)) / width, 0.3)
    values, vectors = np.linalg.eigh(products)
    trimmed = trim(values, doubt, size)
    basis = (vectors / np.sqrt(trimmed)).T
    dimension = max(float((np.maximum(values, 0) / trimmed).sum()), 1.0)
    return Frame(start.mean, scales, products, basis, doubt, size, dimension)


def trim(values: Floats, doubt: float, size: float) -> Floats:
    """Eigenvalues as far as they are known: what noise can explain is their mean."""
    values = np.maximum(values, 0)
    low = np.maximum(values, min(size, doubt) + _FLOOR)
    middle = np.full_like(values, size) if doubt > 0.5 * size else values
    return np.where(values > size + doubt, values, np.where(values < size, low, middle))


def discriminant(task: Task, start: Start, frame: Frame) -> Floats:
    """A linear discriminant with the noisy products, as far as these are known.

    Where noise rules them it is the discriminant of the class sums alone.
    """
    # Columns wider than was thought would make the simple one too sure of itself.
    wide = np.maximum(frame.scales, task.typical)
    ways = start.apart / frame.scales
    simple = ways * (frame.scales / wide) ** 2
    products = frame.products
    first = products[0, 1:]
    within = products[1:, 1:] - np.outer(first, first) / max(products[0, 0], 0.3)
    values, vectors = np.linalg.eigh(within)
    trimmed = np.maximum(trim(values, frame.doubt, frame.size), 0.02)
    along = ways @ vectors
    noise = (vectors**2 * ((task.typical / frame.scales) ** 2)[:, None]).sum(axis=0)
    noise = noise * start.variance * float(np.mean(1 / start.sizes**2))
    heard = 1 - noise / np.maximum((along**2).mean(axis=0), 1e-300)
    slopes = (along * np.maximum(heard, 0) / trimmed) @ vectors.T
    slopes *= _length(slopes, ways, within, start.shares, frame)
    known = 1 / (1 + (frame.doubt / frame.size) ** 2)
    slopes = known * slopes + (1 - known) * simple
    sizes = start.sizes * task.weights
    starts = np.log(sizes / sizes.sum()) - (slopes * ways).sum(axis=1) / 2
    return np.column_stack([starts, slopes])


def _length(
    slopes: Floats, ways: Floats, within: Floats, shares: Floats, frame: Frame
) -> float:
    """How much of the discriminant the quadratic that was paid for wants."""
    squares = float(shares @ (slopes**2).sum(axis=1))
    gain = float(shares @ (slopes * ways).sum(axis=1))
    noise = frame.doubt / (2 * math.sqrt(len(frame.products)))
    cost = float(shares @ ((slopes @ within) * slopes).sum(axis=1)) + noise * squares
    return min(max(gain, 0.0) / max(cost, 0.2 * frame.size * squares, 1e-12), 1.0)


def by_gradients(
    ask: Ask, task: Task, start: Start, frame: Frame, shares: list[Fraction]
) -> Floats:
    """Steps from the discriminant, each as long as the loss and its noise allow."""
    local = discriminant(task, start, frame)
    local -= local.mean(axis=0)
    if task.classes == 2:
        local = local[1:] - local[:1]
    turned = local @ np.linalg.pinv(frame.basis)
    usual = _usual(task, frame.dimension, float(len(frame.basis)))
    room = start.total / task.noise(ask, shares[0])
    rows = task.rows(start.mean, frame.scales, 1.0, 1.0)
    clip = 1.0
    if task.bounded:
        reach = max(0.3 * usual, min(0.01 * room, 50 * usual))
        clip = float(np.clip(0.01 * room / usual, 0.5, 1.0))
    else:  # no row is longer than the longest one, turned
        tallest = float(np.abs(frame.basis).sum(axis=0).max())
        reach = rows.reach * tallest
    rows = replace(rows, reach=reach)
    kept = min(reach / usual, 1.0)
    curve = start.total * kept * (0.25 if task.classes == 2 else 0.5)
    curve *= min(2 * float(start.shares @ task.weights), 1.0)
    ridge = 1.0 if task.ridge is None else task.ridge
    penalty = kept * np.append(0.0, ridge / frame.scales**2)
    basis = rows_of(frame.basis)
    path: list[tuple[Floats, Floats]] = []
    for number, share in enumerate(shares, start=1):
        query = LogisticGradient(
            rows, task.target, rows_of(turned), clip, basis, task.importance
        )
        answer = ask.measure(
            Sum(Everyone(), (Block(query),)), f"gradient {number}", share
        )
        unit = query.bound() / ((1 << SUM_BITS) - turned.size)
        slope = answer.tables[0][0].reshape(turned.shape) * unit
        variance = answer.noises[0].variance * unit**2
        slope = slope + ((turned @ frame.basis) * penalty) @ frame.basis.T
        path.append((turned, slope))
        moved = _next(path, variance, curve, shrink=task.ridge is None)
        turned = np.clip(moved, -1e6, 1e6)
    local = turned @ frame.basis
    if task.classes == 2:
        local = np.vstack([-local / 2, local / 2])
    return frame.unit(local)


def _next(
    path: list[tuple[Floats, Floats]], variance: float, curve: float, *, shrink: bool
) -> Floats:
    """Where to go from the last point, from all points and gradients so far."""
    point, slope = path[-1]
    left, ahead = slope.ravel(), point.ravel()
    if len(path) > 1:
        moves = np.stack([(b[0] - a[0]).ravel() for a, b in _pairs(path)], axis=1)
        turns = np.stack([(b[1] - a[1]).ravel() for a, b in _pairs(path)], axis=1)
        square = turns.T @ turns
        doubt = 2 * variance * slope.size if shrink else 0.0
        doubt += 1e-9 * float(np.trace(square)) + 1e-300
        part = np.linalg.solve(square + doubt * np.eye(len(square)), turns.T @ left)
        left, ahead = left - turns @ part, ahead - moves @ part
    sure = part_signal(left, variance, doubt=1.0) if shrink else 1.0
    return np.asarray((ahead - sure * left / curve).reshape(point.shape))


def _pairs(
    path: list[tuple[Floats, Floats]],
) -> zip[tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
    return zip(path[:-1], path[1:], strict=True)


def _usual(task: Task, dimension: float, width: float) -> float:
    """The norm of a usual row that lies in so many directions."""
    if task.gaussian:
        return math.sqrt(dimension)
    return 0.8 * math.sqrt(dimension * width)
