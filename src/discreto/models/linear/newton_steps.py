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
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreto.core.maps import LogisticGradient
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Block, Sum
from discreto.models.linear.coordinates import Coordinates, rows_of, trim
from discreto.models.linear.expanded_loss import Start, Task
from discreto.models.linear.moments import Floats, part_signal
from discreto.session.session import Ask

_NARROW = 0.2  # the least width of a column, for a ridge on [-1, 1]
_WIDEST = 10.0  # the spread of scores of the surest models


def discriminant(task: Task, start: Start, frame: Coordinates) -> Floats:
    """Return a linear discriminant with the noisy products, as far as these are known.

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
    heard = 1 - noise / np.maximum(np.maximum((along**2).mean(axis=0), noise), 1e-300)
    slopes = (along * heard / trimmed) @ vectors.T
    slopes *= _length(slopes, ways, within, start.shares, frame)
    known = 1 / (1 + (frame.doubt / frame.size) ** 2)
    slopes = known * slopes + (1 - known) * simple
    sizes = start.sizes * task.weights
    starts = np.log(sizes / sizes.sum()) - (slopes * ways).sum(axis=1) / 2
    return np.column_stack([starts, slopes])


def _length(
    slopes: Floats, ways: Floats, within: Floats, shares: Floats, frame: Coordinates
) -> float:
    """Return the length of the discriminant at which the paid quadratic is lowest."""
    squares = float(shares @ (slopes**2).sum(axis=1))
    gain = float(shares @ (slopes * ways).sum(axis=1))
    noise = frame.doubt / (2 * math.sqrt(len(frame.products)))
    cost = float(shares @ ((slopes @ within) * slopes).sum(axis=1)) + noise * squares
    return min(max(gain, 0.0) / max(cost, 0.2 * frame.size * squares, 1e-12), 1.0)


def by_gradients(
    ask: Ask, task: Task, start: Start, frame: Coordinates, shares: list[Fraction]
) -> Floats:
    """Steps from the discriminant, each as long as the loss and its noise allow."""
    local = discriminant(task, start, frame)
    local -= local.mean(axis=0)
    if task.classes == 2:
        local = local[1:] - local[:1]
    turned = local @ np.linalg.pinv(frame.basis)
    usual = task.usual(frame.dimension, float(len(frame.basis)))
    room = start.total / task.noise(ask, shares[0])
    rows = task.rows(start.mean, frame.scales, 1.0, 1.0)
    clip = 1.0
    if task.bounded:
        reach = max(0.3 * usual, min(0.002 * room, 50 * usual))
        clip = float(np.clip(0.01 * room / usual, 0.5, 1.0))
    else:  # no row is longer than the longest one, turned
        tallest = float(np.abs(frame.basis).sum(axis=0).max())
        reach = rows.reach * tallest
    rows = replace(rows, reach=reach, basis=rows_of(frame.basis))
    kept = min(reach / usual, 1.0)
    curve = start.total * kept * (0.25 if task.classes == 2 else 0.5)
    curve *= min(2 * float(start.shares @ task.weights), 1.0)
    # Where noise rules the products, directions may be wider than they seem.
    curve *= math.sqrt(max(frame.doubt / frame.size, 1.0))
    ridge = _ridge(task, frame, kept)
    path: list[tuple[Floats, Floats]] = []
    for number, share in enumerate(shares, start=1):
        query = LogisticGradient(
            rows, task.target, rows_of(turned), clip, task.importance
        )
        answer = ask.measure(
            Sum(task.whole, (Block(query),)), f"gradient {number}", share
        )
        unit = query.bound() / ((1 << SUM_BITS) - turned.size)
        slope = answer.tables[0][0].reshape(turned.shape) * unit
        variance = answer.noises[0].variance * unit**2
        path.append((turned, slope + turned @ ridge))
        moved, sure = _next(path, variance, curve, ridge, shrink=task.ridge is None)
        if number == len(shares):
            moved = _no_further(path[-1], moved, curve, ridge)
        turned = np.clip(moved, -1e6, 1e6)
    if task.ridge is None:
        turned = _unsure(turned, sure**2 * variance / curve**2)
    local = turned @ frame.basis
    if task.classes == 2:
        local = np.vstack([-local / 2, local / 2])
    return frame.unit(local)


def _ridge(task: Task, frame: Coordinates, kept: float) -> Floats:
    """Return the curvature of the ridge, for rows of which this much is kept."""
    ridge, scales = task.ridge, frame.scales
    if ridge is None:  # no heavier where bounds are wider than what is there
        ridge, scales = 1.0, np.maximum(scales, _NARROW)
    penalty = kept * np.append(0.0, ridge / scales**2)
    return np.asarray((frame.basis * penalty) @ frame.basis.T)


def _no_further(
    last: tuple[Floats, Floats], moved: Floats, curve: float, ridge: Floats
) -> Floats:
    """Return the last move, no longer than a step that cannot overshoot.

    An accelerated one may, where the loss bends; a later step would make up for it.
    """
    point, slope = last
    step = np.linalg.solve(curve * np.eye(len(ridge)) + ridge, slope.T).T
    far, most = float(np.linalg.norm(moved - point)), float(np.linalg.norm(step))
    return np.asarray(point + (moved - point) * min(most / max(far, 1e-300), 1.0))


def _unsure(turned: Floats, noise: float) -> Floats:
    """Return scores as sure as the noise of the last step lets them be (MacKay 1992).

    Rows are about 1 wide in every direction here, so scores are as wide as their
    coefficients are long; none is wider than rows can ever tell.
    """
    length = float(np.sqrt((turned[:, 1:] ** 2).sum(axis=1).max()))
    sure = 1 / math.sqrt(1 + math.pi / 8 * noise * turned.shape[1])
    return np.asarray(turned * min(sure, _WIDEST / max(length, 1e-12)))


def _next(
    path: list[tuple[Floats, Floats]],
    variance: float,
    curve: float,
    ridge: Floats,
    *,
    shrink: bool,
) -> tuple[Floats, float]:
    """Return the next point, by all points and gradients so far, and how sure it is."""
    point, slope = path[-1]
    left, ahead = slope.ravel(), point.ravel()
    if len(path) > 1:
        moves = np.stack([(b[0] - a[0]).ravel() for a, b in pairwise(path)], axis=1)
        turns = np.stack([(b[1] - a[1]).ravel() for a, b in pairwise(path)], axis=1)
        square = turns.T @ turns
        doubt = 2 * variance * slope.size if shrink else 0.0
        doubt += 1e-9 * float(np.trace(square)) + 1e-300
        part = np.linalg.solve(square + doubt * np.eye(len(square)), turns.T @ left)
        left, ahead = left - turns @ part, ahead - moves @ part
    sure = part_signal(left, variance, doubt=1.0) if shrink else 1.0
    if shrink:  # no step is longer than coefficients ever are
        likely = _WIDEST**2 / slope.size
        sure *= likely / (likely + variance / curve**2)
    steep = curve * np.eye(len(ridge)) + ridge  # of the loss and the ridge together
    step = np.linalg.solve(steep, left.reshape(point.shape).T).T
    moved = ahead.reshape(point.shape) - sure * step
    return np.asarray(moved), sure
