"""The course of a training run: what is asked of silos, round by round, and why.

A course is a generator. It yields requests and is sent the silos' noisy sums; it never
knows whether they come from a wire, from silos in this process, or from a simulation of
many seeds at once. All arrays have a line for each seed and then for each silo.

First a tenth of the rounds asks for second moments of the columns. Nothing else could
be known of them, and three things follow: coordinates in which columns are of the same
size and unrelated (so that noise harms all directions alike and steps of length 1 fit),
a rough first answer, and the size of residuals, to which gradients are clipped. All
rules below use public facts and these releases, never a row.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.accounting import steps_for
from discreto.errors import DomainError, ParameterError
from discreto.federated.messages import Terms
from discreto.kernel.clamp import add_up
from discreto.kernel.domain import Category, Domain
from discreto.kernel.query import Block, Everyone, Floats, Ints, Sum
from discreto.queries.features import PRODUCT_BITS
from discreto.queries.gradients import TOP, ClippedGradient, Loss
from discreto.queries.regression import Scaled

ONE = 0.3  # the intercept's column: about the size of a column on [-1, 1]
_SQUARE = 0.12  # the squared norm up to which a row counts whole, for each column
_EXACT = 50.0  # without noise rows are clipped at so many residuals: hardly ever


@dataclass(frozen=True)
class Setting:
    """The public facts of a run. ``terms`` is None without privacy."""

    domain: Domain
    target: str
    rows: tuple[int, ...]
    terms: Terms | None
    rounds: int
    steps: int = 1
    seeds: int = 1
    shared: int = 0  # noise is shared among so many silos; 0: each adds all of it

    def __post_init__(self) -> None:
        if not self.features:
            raise DomainError("learning across silos needs at least one Number column.")
        _ = self.loss
        if sum(self.rows) < 1:
            raise ParameterError("there are no rows: every silo declares 0 of them.")

    @cached_property
    def loss(self) -> Loss:
        """Squares for a Number, the logistic loss for two classes."""
        column = self.domain[self.target]
        if not isinstance(column, Category):
            self.domain.number(self.target)
            return "squared"
        if len(column.categories) != 2:
            raise DomainError(
                f"learning across silos takes two classes; {self.target!r} has "
                f"{len(column.categories)}. FederatedTable has models for more."
            )
        return "logistic"

    @property
    def bend(self) -> float:
        """The most that the loss bends for columns of size 1."""
        return 1.0 if self.loss == "squared" else 0.25

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The Number columns, without the target."""
        names = self.domain.with_(target=self.target).features()
        return tuple(n for n in names if not isinstance(self.domain[n], Category))

    @property
    def silos(self) -> int:
        """How many silos there are."""
        return len(self.rows)

    @cached_property
    def rate(self) -> float:
        """The chance of a row to be in a sample."""
        return 1.0 if self.terms is None else float(self.terms.rate)

    @cached_property
    def noise(self) -> float:
        """A silo's noise in multiples of what a row can do; 0 without privacy."""
        return math.sqrt(self.variance)

    @cached_property
    def variance(self) -> Fraction:
        """The square of ``noise``, exactly."""
        if self.terms is None:
            return Fraction(0)
        t = self.terms
        whole = steps_for(t.epsilon, t.delta, t.rounds * t.steps, t.rate).noise
        return whole**2 / (self.shared or 1)

    @cached_property
    def scaled(self) -> Scaled:
        """Rows for gradients: the intercept's column and the features on [-1, 1]."""
        return self._scaled(self.features)

    def _scaled(self, names: tuple[str, ...]) -> Scaled:
        count = len(names)
        reach = math.sqrt(_SQUARE * (count + 1))
        zeros, ones = (0.0,) * count, (1.0,) * count
        return Scaled(names, zeros, ones, ONE, reach, "l2", bits=PRODUCT_BITS)

    def moments(self) -> Sum:
        """The question for second moments; with the target, if it is a number."""
        goal = (self.target,) if self.loss == "squared" else ()
        rows = self._scaled((*self.features, *goal))
        return Sum(Everyone(), (Block(rows, "gram"),))


@dataclass(frozen=True)
class Moments:
    """Ask every silo for this sum, once for each step of a round."""

    query: Sum


@dataclass(frozen=True)
class Descent:
    """Ask every silo for steps down its gradient.

    ``weights`` (seeds, silos, width) is where each starts, ``rates`` (seeds, silos) the
    length of steps over its rows, ``basis`` and ``clip`` those of each seed.
    """

    setting: Setting
    basis: Floats
    clip: Floats
    weights: Floats
    rates: Floats

    def gradient(self, seed: int, silo: int) -> ClippedGradient:
        """The question for one silo."""
        return ClippedGradient(
            self.setting.scaled,
            self.setting.target,
            tuple(self.weights[seed, silo].tolist()),
            float(self.clip[seed]),
            self.setting.loss,
            tuple(map(tuple, self.basis[seed].tolist())),
        )

    @property
    def units(self) -> Floats:
        """The size of a grid step of each seed's sums."""
        units: Floats = self.clip / (TOP - self.weights.shape[-1] - 1)
        return units


@dataclass(frozen=True)
class Nearby(Descent):
    """Ask every silo for its proximal point; ``rates`` are its rows (silos)."""

    mu: float = 1.0


Request = Moments | Descent


@dataclass(frozen=True)
class Reply:
    """Noisy sums (seeds, silos, steps, width), and which silos are still there."""

    sums: Ints
    alive: NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """Weights after every round, (seeds, rounds, nodes, width), on [-1, 1] columns."""

    path: Floats
    alive: NDArray[np.bool_]

    def alive_nodes(self) -> Any:
        """The nodes of the path that were there to the end."""
        return self.alive if self.path.shape[2] == len(self.alive) > 1 else slice(None)


Course = Generator[Request, Reply, Outcome]


@dataclass(frozen=True)
class Compass:
    """What the second moments say: coordinates, a first answer, a clip."""

    basis: Floats  # (seeds, width, width), symmetric
    start: Floats  # (seeds, width), in these coordinates
    clip: Floats  # (seeds,)
    alive: NDArray[np.bool_]

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
) -> Generator[Request, Reply, Compass]:
    """Ask for second moments in so many rounds, and make a compass of them."""
    query, total = setting.moments(), None
    for _ in range(rounds):
        reply = yield Moments(query)
        found = reply.sums.sum(axis=2)
        total = found if total is None else total + found
    if total is None:
        raise ParameterError("moments need at least one round.")
    asked = rounds * setting.steps
    rows: Any = query.blocks[0].features
    count = max(1.0, float(np.array(setting.rows)[reply.alive].sum()))
    unit = asked * setting.rate * rows.steps() ** 2 * count
    sums = total[:, reply.alive].sum(axis=1) / unit
    spread = setting.noise * rows.reach**2 * math.sqrt(float(reply.alive.sum()))
    return _compass(
        setting,
        _square(sums, rows.width()),
        spread / (math.sqrt(asked) * setting.rate * count),
        _clip_rule(setting, asked) if clip is None else clip,
        reply.alive,
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
    width = len(setting.features) + 1
    # A clipped logistic loss forgives large errors, which makes it too sure of itself.
    least = 0.6 if setting.loss == "squared" else 1.4
    return float(np.clip(sum(setting.rows) / (left * width * 120), least, 5.0))


def _compass(
    setting: Setting, square: Floats, spread: float, clip: float, alive: Any
) -> Compass:
    width = len(setting.features) + 1
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
    if setting.loss == "squared":
        cross = square[:, :width, width]
        start = Compass(basis, start, size, alive).home(cross)
        # In these coordinates: the target's square, less what the start explains.
        rest = square[:, width, width] - add_up((start * start).T)
        size = np.sqrt(np.maximum(rest, 2 * spread + 1e-9))
    return Compass(basis, start, clip * size * math.sqrt(width), alive)


def _square(upper: Floats, width: int) -> Floats:
    out = np.empty((len(upper), width, width))
    rows, columns = np.triu_indices(width)
    out[:, rows, columns] = out[:, columns, rows] = upper
    return out


def pace(setting: Setting, compass: Compass, clip: float | None, first: int) -> Floats:
    """The length of a whole step in these coordinates, for each seed.

    Clipped rows do not bend the loss, so steps may be longer by their share. Where the
    noise of all steps would lead out of the range of the target, they are shorter.
    """
    typical = _clip_rule(setting, first * setting.steps) if clip is None else clip
    length = min(1 / math.erf(typical / math.sqrt(2)), 1.5) / setting.bend
    rounds = setting.rounds - first
    astray = step_noise(setting, compass) * math.sqrt(
        rounds * compass.start.shape[1] / setting.steps
    )
    return np.minimum(length, 0.5 / (setting.bend * np.maximum(astray, 1e-9)))


def step_noise(setting: Setting, compass: Compass) -> Floats:
    """What noise does to one number of the mean gradient, for each seed."""
    rows = max(1.0, float(np.array(setting.rows)[compass.alive].sum()))
    noise = setting.noise * math.sqrt(float(compass.alive.sum()))
    out: Floats = compass.clip * (noise / (rows * setting.rate))
    return out


def shrunk(setting: Setting, compass: Compass, pace: Floats, path: Floats) -> Floats:
    """Weights after each round (seeds, rounds, ...), less what may well be noise.

    James and Stein's rule: where the noise is as large as the weights, nothing is left.
    """
    turns = np.arange(1, path.shape[1] + 1)
    noise = step_noise(setting, compass)[:, None] ** 2
    settled = noise * 4 / 3 / (setting.bend**2 * turns * setting.steps)
    wandered = noise * pace[:, None] ** 2 * turns / setting.steps
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
