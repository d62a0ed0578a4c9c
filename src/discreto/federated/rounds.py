"""The protocol of a training run: what is asked of silos, round by round.

A protocol is a generator. It yields requests and is sent the silos' noisy sums; it
never knows whether they come from a wire, from silos in this process, or from a
simulation of many seeds at once. All arrays have a line for each seed and then for each
silo.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Domain
from discreto.core.maps import present_in
from discreto.core.maps.features import PRODUCT_BITS
from discreto.core.maps.gradients import TOP, ClippedGradient, Loss
from discreto.core.maps.regression import Scaled
from discreto.core.maps.unit_columns import Term
from discreto.core.query import Block, Everyone, Floats, Ints, Sum, bind
from discreto.core.sampled_steps import check_sampling
from discreto.core.steps import steps_for
from discreto.errors import DomainError, ParameterError
from discreto.federated.messages import Terms
from discreto.federated.silo import Scale, descend
from discreto.models.base.features import Space
from discreto.models.linear.encoding import Encoding as Columns

ONE = 0.3  # the intercept's column: about the size of a column on [-1, 1]
TARGET = 0.5  # the target's column in second moments: it lengthens rows by this only
MOMENTS = Fraction(1, 10)  # the share of rounds that ask for second moments
# The squared norm, for each column, up to which a row counts whole however large the
# noise is, and the noise in a mean of products up to which more rows count whole.
_SQUARE, _NOISE = 0.12, 0.002
CURVED = 1.5  # the most by which a row counts more in gradients than in moments


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
    protect: Literal["row", "silo"] = "row"
    declared: bool = True  # whether every silo says how many rows it has
    own: tuple[Domain, ...] = ()  # each silo's, if they count rows differently
    robust: str = "none"  # how silos' numbers are put together
    hostile: int = 1  # how many of them may lie, for ``trimmed``

    def __post_init__(self) -> None:
        if not self.features:
            raise DomainError("learning across silos needs at least one feature.")
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
    def curvature(self) -> float:
        """The largest curvature of the loss for columns of size 1."""
        return 1.0 if self.loss == "squared" else 0.25

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns to predict from."""
        return tuple(self.domain.with_(target=self.target).features())

    @cached_property
    def columns(self) -> Columns:
        """The terms of the features: numbers, and an indicator for each category."""
        return Columns(Space(self.domain, self.features, self.target))

    def check(self) -> None:
        """Refuse what some silo would refuse: it is known before any is asked."""
        if self.terms is None:
            return
        t = self.terms
        steps = steps_for(t.epsilon, t.delta, t.rounds * t.steps, t.rate)
        for query in self.asked():
            for domain in self.own or (self.domain,):
                check_sampling(t.rate, domain)
                steps.noises(bind(query, domain))

    def asked(self) -> list[Sum]:
        """Return the questions as they will be asked, at weights of 0."""
        return [self.moments(0), Sum(Everyone(), (Block(self.gradient()),))]

    def gradient(self) -> ClippedGradient:
        """Return a gradient as it will be asked for, at weights of 0."""
        line = (0.0,) * self.width
        return ClippedGradient(
            self.scaled(0), self.target, line, 1.0, self.loss, (line,) * len(line)
        )

    @property
    def silos(self) -> int:
        """The number of silos."""
        return len(self.rows)

    @cached_property
    def rate(self) -> float:
        """The probability of a row to be in a sample."""
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
        return (whole * self.most) ** 2 / (self.shared or 1)

    @cached_property
    def most(self) -> Fraction:
        """The bound of a silo's sums in rows, where whole silos are protected."""
        if self.protect == "row":
            return Fraction(1)
        return max(Fraction(sum(self.rows), 4 * self.silos), Fraction(1))

    @property
    def width(self) -> int:
        """The number of weights: the intercept's, and one for each term."""
        return len(self.columns.names) + 1

    @cached_property
    def moment_rounds(self) -> int:
        """The number of rounds that ask for second moments."""
        return moment_rounds(self.rounds)

    @cached_property
    def squares(self) -> tuple[float, ...]:
        """For each silo, the squared norm of features up to which a row counts whole.

        Rows beyond it count less, in moments and gradients alike, which makes moments
        less noisy. With more rows or a larger epsilon more of them count whole, and in
        the end all: no row has a larger norm than ``ONE^2`` and 1 for each feature.
        Only public facts decide, and of the rows only the silo's own number.
        """
        every = ONE**2 + len(self.features) + 1e-9
        least = min(_SQUARE * (len(self.features) + 1), every)
        asked = self.moment_rounds * self.steps
        noise = self.noise / (math.sqrt(asked * self.silos) * self.rate)
        if not noise:
            return (every,) * self.silos
        spare = TARGET**2 if self.loss == "squared" else 0.0
        return tuple(
            min(max(_NOISE * max(rows, 1) / noise - spare, least), every)
            for rows in self.rows
        )

    def scaled(self, silo: int) -> Scaled:
        """Return a silo's rows for gradients: the intercept and features on [-1, 1].

        Parameters
        ----------
        silo
            The silo's place.
        """
        return self._every_scaled[self.squares[silo]]

    @cached_property
    def _every_scaled(self) -> dict[float, Scaled]:
        names = self.columns.names
        return {square: self._scaled(names, (), square) for square in self.squares}

    def _scaled(self, names: tuple[Term, ...], target: Any, square: float) -> Scaled:
        scales = (1.0,) * len(names) + (1 / TARGET,) * len(target)
        zeros, reach = (0.0,) * len(scales), math.sqrt(square)
        terms = (*names, *target)
        return Scaled(terms, zeros, scales, ONE, reach, "l2", bits=PRODUCT_BITS)

    def moments(self, silo: int) -> Sum:
        """Return a silo's question for second moments, with a Number target's.

        They are moments of the rows that gradients use: those with a target and all
        numbers. The target makes a row longer by TARGET at most. So in gradients a row
        counts at most CURVED times as much, and no direction is more than CURVED times
        as steep as these moments say. That bounds the length of steps, for any table.

        Parameters
        ----------
        silo
            The silo's place.
        """
        target = (self.target,) if self.loss == "squared" else ()
        square = self.squares[silo] + len(target) * TARGET**2
        if self.noise:
            square /= CURVED
        rows = self._scaled(self.columns.names, target, square)
        numbers = tuple(n for n in self.columns.names if isinstance(n, str))
        cells = present_in((self.target, *numbers), self.domain)
        return Sum(cells, (Block(rows, "gram"),))


@dataclass(frozen=True)
class MomentsRequest:
    """A request to every silo for its second moments, once for each step of a round."""

    setting: Setting

    def query(self, silo: int) -> Sum:
        """Return the question for one silo."""
        return self.setting.moments(silo)


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
        """Return the question for one silo."""
        return ClippedGradient(
            self.setting.scaled(silo),
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


Request = MomentsRequest | Descent


@dataclass(frozen=True)
class Reply:
    """Noisy sums (seeds, silos, steps, width), and which silos are still there."""

    sums: Ints
    alive: NDArray[np.bool_]


@dataclass(frozen=True)
class RoundsResult:
    """Weights after every round, (seeds, rounds, nodes, width), on [-1, 1] columns.

    ``middle`` (seeds, width less 1) is the mean row, as the second moments say.
    """

    path: Floats
    alive: NDArray[np.bool_]
    middle: Floats

    def alive_nodes(self) -> Any:
        """Return the nodes of the path that were there to the end."""
        return self.alive if self.path.shape[2] == len(self.alive) > 1 else slice(None)


RunProtocol = Generator[Request, Reply, RoundsResult]


def moment_rounds(rounds: int) -> int:
    """Return how many rounds ask for second moments: at least one, and not all."""
    if rounds < 2:
        raise ParameterError(f"a run has at least 2 rounds. Got {rounds}.")
    return min(max(1, round(rounds * MOMENTS)), rounds - 1)


def runs_at_once(method: Callable[..., Any]) -> bool:
    """Return True if a call runs the method; a generator's only prepares it."""
    later = (
        inspect.isgeneratorfunction,
        inspect.iscoroutinefunction,
        inspect.isasyncgenfunction,
    )
    return not any(test(method) for test in later)


def for_all(weights: Floats, silos: int) -> Floats:
    """Return the same weights for every silo."""
    seeds, width = weights.shape
    return np.broadcast_to(weights[:, None, :], (seeds, silos, width))


def running(mean: Floats, weights: Floats, number: int, setting: Setting) -> Floats:
    """The mean of all answers so far, late ones counting more; noise cancels in it."""
    if not setting.noise:
        return weights
    return mean + (weights - mean) * (2 / (number + 2))


# Steps on released numbers. Element by element, no BLAS: the same numbers give the same
# weights, bit for bit, for silos, coordinators and simulations.


def follow(weights: Floats, taken: Ints, unit: Scale, rate: Scale) -> Floats:
    """Where local steps led, from their sums (seeds, silos, steps, width)."""
    for number in range(taken.shape[2]):
        weights = descend(weights, taken[:, :, number], unit, rate)
    return weights


def average(points: Floats, shares: list[float]) -> Floats:
    """The weighted mean over silos, the second axis, added up in a fixed order."""
    total = points[:, 0] * shares[0]
    for place, share in enumerate(shares[1:], start=1):
        total += points[:, place] * share
    return total
