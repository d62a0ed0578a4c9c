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
from discreto.models.base.features import Space
from discreto.models.linear.encoding import Encoding as Columns

ONE = 0.3  # the intercept's column: about the size of a column on [-1, 1]
_SQUARE = 0.12  # the squared norm up to which a row counts whole, for each column


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
        """What the features become: numbers, and an indicator for each category."""
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
        """Questions as they will be asked, at made-up weights."""
        return [self.moments(), Sum(Everyone(), (Block(self.gradient()),))]

    def gradient(self) -> ClippedGradient:
        """A gradient as it will be asked for, at made-up weights."""
        line = (0.0,) * self.scaled.width()
        return ClippedGradient(
            self.scaled, self.target, line, 1.0, self.loss, (line,) * len(line)
        )

    @property
    def silos(self) -> int:
        """How many silos there are."""
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
        """How many rows' bounds a whole silo may weigh, where silos are protected."""
        if self.protect == "row":
            return Fraction(1)
        return max(Fraction(sum(self.rows), 4 * self.silos), Fraction(1))

    @cached_property
    def scaled(self) -> Scaled:
        """Rows for gradients: the intercept's column and the features on [-1, 1]."""
        return self._scaled(self.columns.names, len(self.features))

    def _scaled(self, names: tuple[Term, ...], columns: int) -> Scaled:
        count = len(names)
        reach = math.sqrt(_SQUARE * (columns + 1))
        zeros, ones = (0.0,) * count, (1.0,) * count
        return Scaled(names, zeros, ones, ONE, reach, "l2", bits=PRODUCT_BITS)

    def moments(self) -> Sum:
        """The question for second moments; with the target, if it is a number.

        Of rows that gradients are of: those with a target and all numbers.
        """
        target = (self.target,) if self.loss == "squared" else ()
        columns = len(self.features) + len(target)
        rows = self._scaled((*self.columns.names, *target), columns)
        numbers = tuple(n for n in self.columns.names if isinstance(n, str))
        cells = present_in((self.target, *numbers), self.domain)
        return Sum(cells, (Block(rows, "gram"),))


@dataclass(frozen=True)
class MomentsRequest:
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
        """The nodes of the path that were there to the end."""
        return self.alive if self.path.shape[2] == len(self.alive) > 1 else slice(None)


RunProtocol = Generator[Request, Reply, RoundsResult]


def runs_at_once(method: Callable[..., Any]) -> bool:
    """Whether a call runs a method; that of a generator only makes it ready to run."""
    later = (
        inspect.isgeneratorfunction,
        inspect.iscoroutinefunction,
        inspect.isasyncgenfunction,
    )
    return not any(test(method) for test in later)


def for_all(weights: Floats, silos: int) -> Floats:
    """The same weights for every silo."""
    seeds, width = weights.shape
    return np.broadcast_to(weights[:, None, :], (seeds, silos, width))


def running(mean: Floats, weights: Floats, number: int, setting: Setting) -> Floats:
    """The mean of all answers so far, late ones counting more; noise cancels in it."""
    if not setting.noise:
        return weights
    return mean + (weights - mean) * (2 / (number + 2))
