"""What a run finds out first: coordinates, a rough answer, a clip, a length of steps.

A tenth of the rounds asks for second moments of the columns. Three things follow:
coordinates in which columns are of the same size and unrelated (so that noise harms all
directions alike and steps of length 1 fit), a rough first answer, and the size of
residuals, to which gradients are clipped. All rules here use public facts and these
releases, never a row.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.aggregate import add_up
from discreto.core.query import Floats, Ints
from discreto.errors import ParameterError
from discreto.federated.robust import counted, moment_mean
from discreto.federated.rounds import ONE, MomentsRequest, Reply, Request, Setting

_EXACT = 50.0  # without noise rows are clipped at so many residuals: hardly ever


@dataclass(frozen=True)
class Preconditioner:
    """What the second moments say: coordinates, a first answer, a clip."""

    basis: Floats  # (seeds, width, width), symmetric
    start: Floats  # (seeds, width), in these coordinates
    clip: Floats  # (seeds,)
    alive: NDArray[np.bool_]
    middle: Floats  # (seeds, width less 1), the mean row on [-1, 1]

    def home(self, weights: Floats) -> Floats:
        """Weights on [-1, 1] columns from weights in these coordinates."""
        out = np.zeros(weights.shape)
        for j in range(weights.shape[-1]):
            column = self.basis[:, :, j]
            column = column.reshape(len(column), *[1] * (weights.ndim - 2), -1)
            out = out + column * weights[..., j : j + 1]
        return out


def orient(
    setting: Setting, rounds: int, clip: float | None
) -> Generator[Request, Reply, Preconditioner]:
    """Ask for second moments in so many rounds, and make a preconditioner of them."""
    query, total = setting.moments(), None
    for _ in range(rounds):
        reply = yield MomentsRequest(query)
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
    features: Any = setting.moments().blocks[0].features
    rows = counted(np.array(setting.rows, dtype=float)[alive], setting.robust)
    count = max(1.0, float(rows.sum()))
    unit = asked * setting.rate * features.steps() ** 2
    found = total[:, alive]
    if setting.robust == "none":
        sums = found.sum(axis=1) / (unit * count)
    else:
        each = found / (unit * np.maximum(rows, 1.0))[None, :, None]
        sums = moment_mean(each, setting.robust, setting.hostile)
    spread = setting.noise * features.reach**2 * math.sqrt(float(alive.sum()))
    return _preconditioner(
        setting,
        _square(sums, features.width()),
        spread / (math.sqrt(asked) * setting.rate * count),
        _clip_rule(setting, asked) if clip is None else clip,
        alive,
    )


def _clip_rule(setting: Setting, asked: int) -> float:
    """The clip in typical gradients: the less noise, the more is let through.

    A small clip means little noise but uses large residuals less; what a step's noise
    does to the mean of all steps, against one row's pull, decides.
    """
    if not setting.noise:
        return _EXACT
    steps = setting.rounds * setting.steps - asked
    left = setting.noise * math.sqrt(setting.silos / max(steps, 1)) / setting.rate
    width = len(setting.columns.names) + 1
    # A clipped logistic loss forgives large errors, which makes it too sure of itself.
    least = 0.6 if setting.loss == "squared" else 1.4
    rows = counted(np.array(setting.rows, dtype=float), setting.robust).sum()
    return float(np.clip(rows / (left * width * 120), least, 5.0))


def _preconditioner(
    setting: Setting, square: Floats, spread: float, clip: float, alive: Any
) -> Preconditioner:
    width = len(setting.columns.names) + 1
    inner = square[:, :width, :width]
    values, vectors = np.linalg.eigh(inner)
    top = np.maximum(values[:, -1:], 1e-6)
    # Noise makes small eigenvalues smaller; they are not to be trusted below its size.
    safe = np.maximum(values, 0) + spread * math.sqrt(width) + 1e-9 * top
    basis = np.zeros_like(inner)
    for k in range(width):
        part = vectors[:, :, k]
        basis += part[:, :, None] * part[:, None, :] / np.sqrt(safe[:, k, None, None])
    start, size = np.zeros(inner.shape[:2]), np.full(len(inner), 0.5)
    ones = np.maximum(inner[:, :1, 0], np.maximum(spread, 1e-9))
    middle = np.clip(ONE * inner[:, 0, 1:] / ones, -1, 1)
    if setting.loss == "squared":
        cross = square[:, :width, width]
        start = Preconditioner(basis, start, size, alive, middle).home(cross)
        # In these coordinates: the target's square, less what the start explains.
        rest = square[:, width, width] - add_up((start * start).T)
        size = np.sqrt(np.maximum(rest, 2 * spread + 1e-9))
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
    """The length of a whole step in these coordinates, for each seed.

    Clipped rows add no curvature to the loss, so steps may be longer by their share.
    Where the noise of all steps would lead out of the range of the target, they are
    shorter.
    """
    typical = _clip_rule(setting, first * setting.steps) if clip is None else clip
    length = min(1 / math.erf(typical / math.sqrt(2)), 1.5) / setting.curvature
    rounds = setting.rounds - first
    astray = step_noise(setting, preconditioner) * math.sqrt(
        rounds * preconditioner.start.shape[1] / setting.steps
    )
    return np.minimum(length, 0.5 / (setting.curvature * np.maximum(astray, 1e-9)))


def step_noise(setting: Setting, preconditioner: Preconditioner) -> Floats:
    """What noise does to one number of the mean gradient, for each seed."""
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


def moment_rounds(rounds: int, share: Fraction) -> int:
    """How many rounds ask for second moments: at least one, and not all."""
    if rounds < 2:
        raise ParameterError(f"a run has at least 2 rounds. Got {rounds}.")
    return min(max(1, round(rounds * share)), rounds - 1)
