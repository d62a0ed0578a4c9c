"""The start of a run: coordinates, a rough answer, a clip, and a length of steps.

A tenth of the rounds asks for second moments of the columns. Three things follow:
coordinates in which columns are of the same size and unrelated (so that noise harms all
directions alike and steps of length 1 fit), a rough first answer, and the size of
residuals, to which gradients are clipped. All rules here use public facts and these
releases, never a row.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.aggregate import add_up
from discreto.core.query import Floats, Ints
from discreto.errors import ParameterError
from discreto.federated.robust import counted, moment_mean
from discreto.federated.rounds import (
    CURVED,
    ONE,
    TARGET,
    MomentsRequest,
    Reply,
    Request,
    Setting,
)

_EXACT = (
    8.0  # without noise, residuals of the row with the most leverage are let through
)
_LONGEST = 1.9 / CURVED  # steps of 2 over the largest curvature do not converge
_WIDE = 3.0  # up to this clip, in typical gradients, it grows with the signal
_DOUBT = 0.6  # of the noise in a matrix of moments, added to its eigenvalues


@dataclass(frozen=True)
class Preconditioner:
    """Coordinates, a first answer and a clip, made of the second moments."""

    basis: Floats  # (seeds, width, width), symmetric
    start: Floats  # (seeds, width), in these coordinates
    clip: Floats  # (seeds,)
    alive: NDArray[np.bool_]
    middle: Floats  # (seeds, width less 1), the mean row on [-1, 1]

    def home(self, weights: Floats) -> Floats:
        """Return weights on [-1, 1] columns, from weights in these coordinates."""
        return turned(self.basis, weights)

    def capped(self, most: float) -> tuple[Preconditioner, Floats]:
        """Return coordinates that stretch no direction more, and the matrix back.

        Parameters
        ----------
        most
            The largest factor, for all seeds.
        """
        values, vectors = np.linalg.eigh(self.basis)
        less = np.minimum(values, most)
        basis, back, there = (
            np.einsum("sik,sk,sjk->sij", vectors, part, vectors)
            for part in (less, less / values, values / less)
        )
        start = turned(there, self.start)
        return replace(self, basis=basis, start=start), back


def turned(matrices: Floats, weights: Floats) -> Floats:
    """Return each seed's matrix times its weights (seeds, ..., width), without BLAS."""
    out = np.zeros(weights.shape)
    for j in range(weights.shape[-1]):
        column = matrices[:, :, j]
        column = column.reshape(len(column), *[1] * (weights.ndim - 2), -1)
        out = out + column * weights[..., j : j + 1]
    return out


def orient(
    setting: Setting, rounds: int, clip: float | None
) -> Generator[Request, Reply, Preconditioner]:
    """Ask for second moments in so many rounds, and make a preconditioner of them."""
    total = None
    for _ in range(rounds):
        reply = yield MomentsRequest(setting)
        found = reply.sums.sum(axis=2)
        total = found if total is None else total + found
    if total is None:
        raise ParameterError("moments need at least one round.")
    return from_moments(setting, total, reply.alive, rounds, clip)


def from_moments(
    setting: Setting,
    total: Ints,
    alive: NDArray[np.bool_],
    rounds: int,
    clip: float | None,
) -> Preconditioner:
    """A preconditioner from silos' moments (seeds, silos, width) of so many rounds."""
    asked = rounds * setting.steps
    features: list[Any] = [
        setting.moments(int(silo)).blocks[0].features for silo in np.flatnonzero(alive)
    ]
    rows = counted(np.array(setting.rows, dtype=float)[alive], setting.robust)
    count = max(1.0, float(rows.sum()))
    unit = asked * setting.rate
    steps = np.array([one.steps() ** 2 for one in features])
    found = total[:, alive] / steps[None, :, None]
    if setting.robust == "none":
        sums = found.sum(axis=1) / (unit * count)
    else:
        each = found / (unit * np.maximum(rows, 1.0))[None, :, None]
        sums = moment_mean(each, setting.robust, setting.hostile)
    spread = setting.noise * math.sqrt(math.fsum(one.reach**4 for one in features))
    return _preconditioner(
        setting,
        _square(sums, features[0].width()),
        spread / (math.sqrt(asked) * setting.rate * count),
        1 / float(steps.min()),
        _clip_rule(setting, asked) if clip is None else clip,
        alive,
    )


def _exact(setting: Setting) -> float:
    """Return a clip, in typical gradients, that lets every gradient through."""
    return _EXACT * math.sqrt(max(sum(setting.rows), 1))


def _clip_rule(setting: Setting, asked: int) -> float:
    """Return the clip in typical gradients: the less noise, the more is let through.

    A small clip means little noise but uses large residuals less; what a step's noise
    does to the mean of all steps, against one row's pull, decides.
    """
    if not setting.noise:
        return _exact(setting)
    steps = setting.rounds * setting.steps - asked
    left = setting.noise * math.sqrt(setting.silos / max(steps, 1)) / setting.rate
    width = len(setting.columns.names) + 1
    # A clipped logistic loss forgives large errors, which makes it too sure of itself.
    least = 0.6 if setting.loss == "squared" else 1.4
    rows = counted(np.array(setting.rows, dtype=float), setting.robust).sum()
    wide = float(rows / (left * width * 120))
    if wide > _WIDE:  # more slowly from here: both noise and what is clipped vanish
        wide = _WIDE * math.cbrt(wide / _WIDE)
    return min(max(wide, least), _exact(setting))


def _preconditioner(
    setting: Setting,
    square: Floats,
    spread: float,
    grid: float,
    clip: float,
    alive: Any,
) -> Preconditioner:
    width = len(setting.columns.names) + 1
    inner = square[:, :width, :width]
    values, vectors = np.linalg.eigh(inner)
    # Noise and rounding make small eigenvalues smaller: below their size they are not
    # to be trusted, or steps along a constant column would be too long.
    doubt = _DOUBT * spread * math.sqrt(width) + 2 * width * grid
    safe = np.maximum(values, 0) + doubt
    basis = np.zeros_like(inner)
    for k in range(width):
        part = vectors[:, :, k]
        basis += part[:, :, None] * part[:, None, :] / np.sqrt(safe[:, k, None, None])
    start, size = np.zeros(inner.shape[:2]), np.full(len(inner), 0.5)
    ones = np.maximum(inner[:, :1, 0], np.maximum(spread, 1e-9))
    middle = np.clip(ONE * inner[:, 0, 1:] / ones, -1, 1)
    if setting.loss == "squared":
        cross = square[:, :width, width] / TARGET
        explained = np.zeros(len(inner))
        for k in range(width):
            part = vectors[:, :, k]
            along = add_up((cross * part).T) / np.sqrt(safe[:, k])
            # A part within twice its noise does not count, a larger one nearly whole.
            noise = (2 * spread / TARGET) ** 2 / safe[:, k]
            kept = np.maximum(0.0, 1 - noise / np.maximum(along * along, 1e-300))
            start += (along * kept)[:, None] * part
            explained += along * along * kept * (2 - kept)
        rest = square[:, width, width] / TARGET**2 - explained
        size = np.sqrt(np.clip(rest, min(2 * spread, 1.0) + 1e-9, 1.0 + 1e-9))
    clips = clip * size * math.sqrt(width)
    return Preconditioner(basis, start, clips, alive, middle)


def _square(upper: Floats, width: int) -> Floats:
    out = np.empty((len(upper), width, width))
    rows, columns = np.triu_indices(width)
    out[:, rows, columns] = out[:, columns, rows] = upper
    return out


def step_size(
    setting: Setting, preconditioner: Preconditioner, clip: float | None, first: int
) -> Floats:
    """Return the length of a whole step in these coordinates, for each seed.

    Clipped rows add no curvature to the loss, so steps may be longer by their share, up
    to the public bound at which no table makes them diverge. They are shorter where the
    noise of all steps would lead out of the range of the target.
    """
    typical = _clip_rule(setting, first * setting.steps) if clip is None else clip
    length = min(1 / math.erf(typical / math.sqrt(2)), _LONGEST) / setting.curvature
    rounds = setting.rounds - first
    astray = step_noise(setting, preconditioner) * math.sqrt(
        rounds * preconditioner.start.shape[1] / setting.steps
    )
    return np.minimum(length, 0.5 / (setting.curvature * np.maximum(astray, 1e-9)))


def step_noise(setting: Setting, preconditioner: Preconditioner) -> Floats:
    """Return the noise's standard deviation in a mean gradient, for each seed."""
    some = np.array(setting.rows, dtype=float)[preconditioner.alive]
    rows = max(1.0, float(counted(some, setting.robust).sum()))
    noise = setting.noise * math.sqrt(float(preconditioner.alive.sum()))
    out: Floats = preconditioner.clip * (noise / (rows * setting.rate))
    return out


def shrunk(
    setting: Setting, preconditioner: Preconditioner, step_size: Floats, path: Floats
) -> Floats:
    """Weights after each round (seeds, rounds, ...), less what may well be noise.

    James and Stein's rule: where the noise is as large as the weights, nothing is left.
    """
    rounds = np.arange(1, path.shape[1] + 1)
    noise = step_noise(setting, preconditioner)[:, None] ** 2
    settled = noise * 4 / 3 / (setting.curvature**2 * rounds * setting.steps)
    wandered = noise * step_size[:, None] ** 2 * rounds / setting.steps
    spread = np.minimum(settled, wandered)[:, :, None] * path.shape[-1]
    squares = path[..., 0] * path[..., 0]
    for j in range(1, path.shape[-1]):
        squares += path[..., j] * path[..., j]
    kept = np.maximum(0.0, 1 - spread / np.maximum(squares, 1e-300))
    out: Floats = path * kept[..., None]
    return out
