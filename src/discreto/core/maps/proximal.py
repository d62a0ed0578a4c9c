"""Proximal points: how far a silo's best answer near the common weights lies from them.

A silo minimises ``sum of losses / rows + mu / 2 |w - start|^2``. Losses are convex and
pull with a force of at most ``c`` (the gradient's bound), so a row added or removed
moves the minimiser by at most ``c / (rows mu)``, whatever the other rows are: the
minimum is ``mu``-strongly convex. ``docs/federated.md`` has the proof. The minimiser is
not a sum of rows, so no clamp can enforce this; what is enforced is that a point leaves
only if the exact integer gradient there is small enough, which the bound pays for.

No row can keep a point from being found: ``Limits`` refuses, from public facts, every
question for which short steps would not lead to it within a known number of turns, or
for which float errors could matter on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreto.core.aggregate import add_up
from discreto.core.domain.domain import Domain
from discreto.core.maps.gradients import TOP, ClippedGradient
from discreto.core.query import (
    Block,
    Cells,
    Derived,
    Everyone,
    Floats,
    Fold,
    Ints,
    Shape,
    Sum,
)
from discreto.core.rounding import whole
from discreto.errors import ParameterError

LOOSE = 1e-3  # of c / rows: the gradient that may be left, grid and floats included
MOST_TURNS = 10**5
_PROBE = 1e-4  # how far the second derivative is looked for
_FARTHEST = 1e9  # no search leaves these weights, at which a probe is still exact
_KEPT = 5  # steps for which second derivatives serve
_TRIES = 60  # turns in which Newton's steps are tried


@dataclass(frozen=True, slots=True)
class Shift:
    """The way from the start to the minimiser; its bound is 2^30 grid steps.

    ``rows_`` is what the sum of losses is divided by; ``declared`` is how many rows the
    silo says that it has.
    """

    proof = "docs/proofs/index.md#maps-to-numbers"

    gradient: ClippedGradient
    mu: float
    rows_: float
    declared: int

    def check(self, domain: Domain) -> None:
        if not all(1e-12 <= number <= 1e9 for number in (self.mu, self.rows_)):
            raise ParameterError("a proximal point has mu and rows from 1e-12 to 1e9.")
        check_rows(self.gradient, self.declared)
        limits_for(self.gradient, self.mu, self.rows_, self.declared)

    def shape(self, domain: Domain) -> Shape:
        return self.gradient.shape(domain)

    def columns(self) -> tuple[str, ...]:
        return self.gradient.columns()

    def bound(self) -> float:
        """How far a row moves the minimiser, with what is left of the gradient."""
        return (1 + 2 * LOOSE) * self.gradient.clip / (self.rows_ * self.mu)

    def compute(self, fold: Fold, cells: Cells, domain: Domain) -> Ints:
        unit = self.gradient.unit

        def sums(weights: Floats) -> Floats:
            there = Block(self.gradient.at(weights[0]))
            exact = fold(Sum(cells, (there,)))[0]
            return (exact * unit).astype(np.float64)

        start, rows = np.array([self.gradient.weights]), np.array([self.rows_])
        limits = [limits_for(self.gradient, self.mu, self.rows_, self.declared)]
        found = shifts(sums, start, self.gradient, self.mu, rows, limits)
        return found.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Limits:
    """Public facts of a search: where the minimiser is, and how soon it is found."""

    radius: float  # no coordinate of the minimiser is farther from the start
    steep: float  # nowhere has the sum a larger second derivative
    turns: int  # so many short steps lead to it


def question(
    gradient: ClippedGradient, mu: float, rows: float, declared: int | None
) -> Derived:
    """What the gate is asked: the shift, with noise for its bound."""
    check_rows(gradient, declared)
    known = 0 if declared is None else declared
    limits_for(gradient, mu, rows, known)
    return Derived(Everyone(), Shift(gradient, mu, rows, known))


def check_rows(gradient: ClippedGradient, rows: int | None) -> None:
    """Refuse silos that are too large, or do not say how large they are.

    Three eighths of what is loose are for rows that were rounded to the grid, each by
    half a step in every coordinate.
    """
    most = 0.75 * LOOSE * TOP / math.sqrt(gradient.width)
    if rows is None or most_rows(rows) > most:
        raise ParameterError(
            "proximal points are exact enough for silos that declare at most "
            f"{most / 1.25:.0f} rows. Take averaging."
        )


def most_rows(declared: int) -> int:
    """How many rows a silo may have that declares so many."""
    return declared + max(declared // 4, 8)


def limits_for(
    gradient: ClippedGradient, mu: float, rows: float, declared: int
) -> Limits:
    """Refuse what could not be found, whatever the rows are.

    Short steps of ``1 / steep`` bring every point nearer to the minimiser by a factor
    of ``1 - mu / steep``, up to what gradients are off by. That is what rounding to the
    grid loses (``check_rows``), and what floats lose in a row's score at weights no
    larger than ``reach``, times all rows.
    """
    most, clip, width = most_rows(declared), gradient.clip, gradient.width
    row = steepness(gradient)
    bend = 1.0 if gradient.loss == "squared" else 0.25
    steep = bend * row * most / rows + mu
    radius = 1.01 * most * clip / (rows * mu)
    reach = max(map(abs, gradient.weights)) + radius
    lost = 2.0**-52 * (bend * row * (width + 8) * math.sqrt(width) * reach + 16 * clip)
    floats = most * lost / rows + 2.0**-50 * mu * math.sqrt(width) * reach
    # From everywhere in the box to a sixteenth of the distance that may be left.
    far = 33 * most * math.sqrt(width) / LOOSE
    turns = steep / mu * math.log(far)
    exact = floats <= LOOSE / 16 * clip / rows
    if not (exact and turns <= MOST_TURNS and reach <= _FARTHEST):
        raise ParameterError(
            f"a proximal point with mu {mu:.3g}, {rows:.4g} rows and these weights "
            "cannot be found exactly enough. Take a larger mu, or averaging."
        )
    return Limits(radius, steep, math.ceil(turns))


def solvable(
    gradient: ClippedGradient, mu: float, rows: float, declared: int
) -> tuple[float, float]:
    """A mu from the wanted one up with which points are found, and from how far out."""
    for _ in range(100):
        for far in (1e4, 1e3, 1e2, 1e1):
            try:
                limits_for(gradient.at((far,) * gradient.width), mu, rows, declared)
            except ParameterError:
                continue
            return mu, far
        mu *= 1.5
    raise ParameterError("no proximal point can be found in these coordinates.")


def shift_unit(gradient: ClippedGradient, mu: float, rows: float) -> float:
    """The size of one grid step of a shift."""
    return Shift(gradient, mu, rows, 0).bound() / (TOP - gradient.width - 1)


def shifts(
    sums: Callable[[Floats], Floats],
    starts: Floats,
    gradient: ClippedGradient,
    mu: float,
    rows: Floats,
    limits: list[Limits],
) -> Floats:
    """Shifts of several silos at once, in whole grid steps; one silo per line.

    A line never depends on the others, so a simulation of many silos finds bit for bit
    what each would find alone.
    """

    def slope(points: Floats) -> Floats:
        return sums(points) / rows[:, None] + mu * (points - starts)

    allowed = LOOSE / 2 * gradient.clip / rows
    points = minimise(slope, starts, allowed, limits)
    units = np.array([shift_unit(gradient, mu, float(r)) for r in rows])
    return whole((points - starts) / units[:, None])


def minimise(
    slope: Callable[[Floats], Floats],
    starts: Floats,
    allowed: Floats,
    limits: list[Limits],
) -> Floats:
    """Points whose slope is at most ``allowed``: Newton's steps, halved if need be.

    Where they do not help, short steps downhill lead to every minimum within the turns
    that ``limits`` know: after them a point is near enough, whatever slope floats show.
    Points stay in the box in which the minimum is.
    """
    steep = np.array([[limit.steep] for limit in limits])
    radius = np.array([[limit.radius] for limit in limits])
    low, high = starts - radius, starts + radius
    points, slopes = starts.copy(), slope(starts)
    for turn in range(_TRIES + max(limit.turns for limit in limits)):
        sizes = _sizes(slopes)
        todo = sizes > allowed
        if not todo.any():
            break
        ahead = np.clip(points - slopes / steep, low, high)
        if turn < _TRIES:
            if turn % _KEPT == 0:
                bends = _bends(slope, points, slopes)
            ways = _newton(bends, slopes, ahead - points)
            ahead = _nearer(slope, points, ways, sizes, todo, (low, high, ahead))
        points = np.where(todo[:, None], ahead, points)
        slopes = np.where(todo[:, None], slope(points), slopes)
    return points


def _nearer(
    slope: Callable[[Floats], Floats],
    points: Floats,
    ways: Floats,
    sizes: Floats,
    todo: NDArray[np.bool_],
    box: tuple[Floats, Floats, Floats],
) -> Floats:
    """Where a step along ``ways`` is less steep, halved as often as it takes."""
    low, high, short = box
    length = np.ones((len(points), 1))
    for _ in range(12):
        ahead = np.clip(points + length * ways, low, high)
        worse = todo & ~(_sizes(slope(ahead)) < sizes)
        if not worse.any():
            return ahead
        length[worse] /= 2
    return np.where(worse[:, None], short, ahead)


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
        return np.nan_to_num(-ways)
    except np.linalg.LinAlgError:
        return short


def steepness(gradient: ClippedGradient) -> float:
    """No row's squared norm is larger."""
    of = gradient.of
    reach = (1 + np.abs(of.origins)) / np.array(of.scales)
    if of.constant:
        reach = np.append(of.constant, reach)
    whole = float((reach * reach).sum())
    if not gradient.basis:
        return whole  # a rotation changes no norm
    basis = np.array(gradient.basis)
    # The largest singular value, with room for its rounding.
    top = float(np.linalg.norm(basis, 2)) * (1 + 1e-6)
    if of.rotate:
        return top**2 * whole
    lines = (np.abs(basis) * reach).sum(axis=1)
    return min(top**2 * whole, float((lines * lines).sum()) * (1 + 1e-9))


def _sizes(lines: Floats) -> Floats:
    squares: Floats = np.sqrt(add_up((lines * lines).T))
    return squares
