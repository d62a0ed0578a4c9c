"""Proximal points: how far a silo's best answer near the common weights lies from them.

A silo minimises ``sum of losses / rows + mu / 2 |w - start|^2``. Losses are convex and
pull with a force of at most ``c`` (the gradient's bound), so a row added or removed
moves the minimiser by at most ``c / (rows mu)``, whatever the other rows are: the
minimum is ``mu``-strongly convex. ``docs/federated.md`` has the proof. The minimiser is
not a sum of rows, so no clamp can enforce this; what is enforced is that a point leaves
only if the exact integer gradient there is small enough, which the bound pays for.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.errors import ParameterError
from discreto.kernel.clamp import add_up
from discreto.kernel.domain import Domain
from discreto.kernel.gate import Keep, Source
from discreto.kernel.query import (
    Batch,
    Block,
    Everyone,
    Floats,
    Ints,
    Ones,
    Shape,
    Sum,
    Tally,
)
from discreto.queries.gradients import TOP, ClippedGradient
from discreto.tables import Table

LOOSE = 1e-3  # of c / rows: the gradient that may be left, grid included
_PROBE = 1e-4  # how far the second derivative is looked for
_KEPT = 5  # steps for which second derivatives serve
_TRIES = 60


@dataclass(frozen=True, slots=True)
class Shift:
    """The way from the start to the minimiser; its bound is 2^30 grid steps."""

    gradient: ClippedGradient
    mu: float
    rows_: float

    def check(self, domain: Domain) -> None:
        self.gradient.check(domain)

    def shape(self, domain: Domain) -> Shape:
        return self.gradient.shape(domain)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        raise NotImplementedError  # there is no such thing as a row's share of it

    def columns(self) -> tuple[str, ...]:
        return self.gradient.columns()

    def bound(self) -> float:
        """How far a row moves the minimiser, with what is left of the gradient."""
        return (1 + 2 * LOOSE) * self.gradient.clip / (self.rows_ * self.mu)


def question(gradient: ClippedGradient, mu: float, rows: float) -> Sum:
    """What the gate is asked: the shift, with noise for its bound."""
    if mu < 1e-6 * steepness(gradient):
        raise ParameterError(f"mu {mu:.3g} is too small to find a proximal point.")
    return Sum(Everyone(), (Block(Shift(gradient, mu, rows)),))


def check_rows(gradient: ClippedGradient, rows: int | None) -> None:
    """Refuse silos that are too large, or do not say how large they are.

    Half of what is loose is for rows that were rounded to the grid.
    """
    most = LOOSE * TOP / math.sqrt(gradient.width)
    if rows is None or rows > most:
        raise ParameterError(
            "proximal points are exact enough for silos that declare at most "
            f"{most:.0f} rows. Take averaging."
        )


def shift_unit(gradient: ClippedGradient, mu: float, rows: float) -> float:
    """The size of one grid step of a shift."""
    return Shift(gradient, mu, rows).bound() / (TOP - gradient.width - 1)


def solved(table: Table, gradient: ClippedGradient, mu: float, rows: float) -> Table:
    """The same table behind the same gate, answering with its proximal point."""
    out = copy.copy(table)
    out._rows = _Solved(table._rows, gradient, mu, rows)  # type: ignore[assignment]
    return out


class _Solved:
    """A source of rows whose one answer is the shift to the minimiser."""

    def __init__(
        self, source: Source, gradient: ClippedGradient, mu: float, rows: float
    ) -> None:
        self._source, self._gradient = source, gradient
        self._mu, self._rows = mu, rows

    def fold(self, query: Sum | Tally, keep: Keep | None = None) -> list[Ints]:
        if query != question(self._gradient, self._mu, self._rows):
            raise NotImplementedError
        count = int(self._source.fold(Sum(Everyone(), (Block(Ones()),)))[0][0, 0])
        unit = self._gradient.unit

        def sums(weights: Floats) -> Floats:
            there = Block(self._gradient.at(weights[0]))
            exact = self._source.fold(Sum(Everyone(), (there,)))[0]
            return (exact * unit).astype(np.float64)

        start = np.array([self._gradient.weights])
        rows = np.array([self._rows])
        steep = steepness(self._gradient) * np.array([count]) / rows + self._mu
        return [
            shifts(sums, start, self._gradient, self._mu, rows, steep).astype(np.int64)
        ]

    def column(self, name: str) -> Any:
        raise NotImplementedError


def shifts(
    sums: Callable[[Floats], Floats],
    starts: Floats,
    gradient: ClippedGradient,
    mu: float,
    rows: Floats,
    steep: Floats,
) -> Floats:
    """Shifts of several silos at once, in whole grid steps; one silo per line.

    A line never depends on the others, so a simulation of many silos finds bit for bit
    what each would find alone.
    """

    def slope(points: Floats) -> Floats:
        return sums(points) / rows[:, None] + mu * (points - starts)

    allowed = LOOSE / 2 * gradient.clip / rows
    points = minimise(slope, starts, allowed, steep)
    units = np.array([shift_unit(gradient, mu, float(r)) for r in rows])
    return np.rint((points - starts) / units[:, None])


def minimise(
    slope: Callable[[Floats], Floats], starts: Floats, allowed: Floats, steep: Floats
) -> Floats:
    """Points whose slope is at most ``allowed``: Newton's steps, halved if need be.

    Where they do not help, short steps downhill do, which lead to every minimum.
    """
    points, slopes = starts.copy(), slope(starts)
    for turn in range(10**6):
        sizes = _sizes(slopes)
        todo = sizes > allowed
        if not todo.any():
            break
        short = -slopes / steep[:, None]
        if turn % _KEPT == 0:
            bends = _bends(slope, points, slopes)
        ways = _newton(bends, slopes, short) if turn < _TRIES else short
        length = np.ones((len(points), 1))
        for _ in range(12):
            ahead = slope(points + length * ways)
            worse = todo & ~(_sizes(ahead) < sizes)
            if not worse.any():
                break
            length[worse] /= 2
        else:
            ways = np.where(worse[:, None], short, length * ways)
            ahead, length = slope(points + ways), np.ones_like(length)
        points = np.where(todo[:, None], points + length * ways, points)
        slopes = np.where(todo[:, None], ahead, slopes)
    else:
        raise ArithmeticError  # a point that is not the minimiser must not leave
    return points


def _bends(slope: Callable[[Floats], Floats], points: Floats, slopes: Floats) -> Floats:
    """Second derivatives, from how slopes change nearby."""
    width = points.shape[1]
    bends = np.empty((len(points), width, width))
    for j in range(width):
        probe = points.copy()
        probe[:, j] += _PROBE
        bends[:, :, j] = (slope(probe) - slopes) / _PROBE
    return bends


def _newton(bends: Floats, slopes: Floats, short: Floats) -> Floats:
    try:
        ways = np.linalg.solve(bends, slopes[:, :, None])[:, :, 0]
        return np.negative(ways, dtype=np.float64)
    except np.linalg.LinAlgError:
        return short


def steepness(gradient: ClippedGradient) -> float:
    """No row's loss has a larger second derivative."""
    of = gradient.of
    reach = (1 + np.abs(of.origins)) / np.array(of.scales)
    if of.constant:
        reach = np.append(of.constant, reach)
    if gradient.basis:
        reach = (np.abs(gradient.basis) * reach).sum(axis=1)
    return float((reach * reach).sum())


def _sizes(lines: Floats) -> Floats:
    squares: Floats = np.sqrt(add_up((lines * lines).T))
    return squares
