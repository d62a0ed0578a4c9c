"""Three ways to learn one model from many silos, each as a course of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from discreto.errors import ParameterError
from discreto.federated import compass as rules
from discreto.federated import proximal
from discreto.federated.compass import Compass
from discreto.federated.course import Course, Descent, Nearby, Outcome, Setting
from discreto.federated.graph import Mixing, topology
from discreto.federated.messages import Terms
from discreto.federated.updates import average, follow
from discreto.kernel.query import Floats

MOMENTS = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class Learner:
    """What the three have in common.

    Parameters
    ----------
    epsilon, delta
        What a run costs *each silo* (a block of Gaussian steps). ``epsilon=None`` is
        learning without privacy, for simulations only.
    rounds
        How often the silos are asked. A tenth of the rounds asks for second moments.
    learning_rate
        The length of a step; by default 1 in coordinates made by the second moments,
        a little more where rows are clipped.
    clip
        Where gradients are clipped, in typical gradients (residual times row). By
        default from 0.6 to 5, by the size of the noise.
    noise
        ``"silo"``: every silo adds all the noise, and nobody is trusted. ``"shared"``
        (simulations of secure aggregation only): the silos' noise adds up to it.
    colluders
        With shared noise, how many silos may tell each other theirs, or drop out.
    protect
        ``"row"``, or in simulations ``"silo"``: what a whole silo sends is clipped and
        shared noise hides whether it took part. That takes hundreds of silos.
    """

    epsilon: Any
    delta: Any = "1e-5"
    rounds: int = 50
    learning_rate: float | None = None
    clip: float | None = None
    noise: Literal["silo", "shared"] = "silo"
    colluders: int = 0
    protect: Literal["row", "silo"] = "row"

    local_steps: ClassVar[Any] = 1
    sample_rate: ClassVar[Any] = 1

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 1e-6 <= value <= 1e6):
                raise ParameterError(f"{name} must be a number above 0. Got {value!r}.")
        if self.noise not in ("silo", "shared"):
            raise ParameterError(f"noise is 'silo' or 'shared'. Got {self.noise!r}.")
        if self.protect not in ("row", "silo"):
            raise ParameterError(f"protect is 'row' or 'silo'. Got {self.protect!r}.")
        rules.moment_rounds(self.rounds, MOMENTS)
        _ = self.terms

    @property
    def terms(self) -> Terms | None:
        """What a run costs each silo; nothing without privacy."""
        if self.epsilon is None:
            return None
        terms = Terms.of(
            self.epsilon, self.delta, self.rounds, self.local_steps, self.sample_rate
        )
        if not terms.delta:
            raise ParameterError("gradients need a delta above 0, such as 1e-5.")
        return terms

    def setting(self, domain: Any, target: str, rows: Any, seeds: int = 1) -> Setting:
        """The public facts of a run."""
        shared = 0
        if self.noise == "shared" or self.protect == "silo":
            shared = len(rows) - self.colluders
            if shared < 1:
                raise ParameterError("noise cannot be shared if everybody colludes.")
        return Setting(
            domain,
            target,
            tuple(int(n) for n in rows),
            self.terms,
            self.rounds,
            self.local_steps,
            seeds,
            shared,
            self.protect,
        )

    def course(self, setting: Setting) -> Course:
        """The rounds of a run; see :mod:`discreto.federated.course`."""
        first = rules.moment_rounds(self.rounds, MOMENTS)
        compass = yield from rules.orient(setting, first, self.clip)
        pace = rules.pace(setting, compass, self.clip, first)
        path, alive = yield from self._walk(setting, compass, pace, self.rounds - first)
        walk = rules.shrunk(setting, compass, pace, np.stack(path, axis=1))
        # Until the moments are known the answer is 0, whoever asks.
        shape = (setting.seeds, first, *walk.shape[2:])
        return Outcome(
            np.concatenate([np.zeros(shape), compass.home(walk)], axis=1), alive
        )

    def _walk(
        self, setting: Setting, compass: Compass, pace: Floats, rounds: int
    ) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class FederatedAveraging(Learner):
    """Federated averaging: silos take noisy gradient steps, weights are averaged.

    Parameters
    ----------
    local_steps
        Steps a silo takes on its own in a round.
    sample_rate
        The chance of a row to be in a step's secret sample (Poisson sampling, which
        makes every step cheaper). 1: all rows in every step.

    Privacy
    -------
    Neighbours   as declared in each silo's domain (sampling: one row added or removed).
    Asks         ``rounds * local_steps`` sums of rows clipped to a norm.
    Bound        2^30 grid steps in the l2 norm, for moments and gradients.
    Composition  all steps are one (epsilon, delta) block, charged before the first.
    Free         coordinates, averages over silos and rounds, everything after.
    Not covered  choosing parameters by looking; the number of rows, if declared.
    """

    local_steps: int = 1  # type: ignore[misc]
    sample_rate: Any = 1  # type: ignore[misc]

    def _walk(
        self, setting: Setting, compass: Compass, pace: Floats, rounds: int
    ) -> Any:
        rows = np.array(setting.rows, dtype=float)
        if self.learning_rate is not None:
            pace = np.full_like(pace, self.learning_rate)
        rates = pace[:, None] / setting.steps / (setting.rate * np.maximum(rows, 1))
        weights, mean, path = compass.start, compass.start, []
        for number in range(rounds):
            starts = _for_all(weights, setting.silos)
            request = Descent(setting, compass.basis, compass.clip, starts, rates)
            reply = yield request
            units = request.units[:, None, None]
            ends = follow(starts, reply.sums, units, rates[:, :, None])
            weights = _mean_of(ends, rows * reply.alive)
            mean = _running(mean, weights, number, setting)
            path.append(mean[:, None, :])
        return path, reply.alive


@dataclass(frozen=True, kw_only=True)
class ProximalPoint(Learner):
    """Proximal point clients: each silo sends its best answer near the common one.

    Parameters
    ----------
    mu
        How strongly a silo is held to the common weights, in multiples of how much the
        loss bends in the run's coordinates. Large: small steps, little drift.
    learning_rate
        How far the common weights follow the silos' mean; by default ``1 + mu``, which
        makes up for their being held back.

    Privacy
    -------
    Neighbours   as declared in each silo's domain.
    Asks         a tenth of the rounds second moments, else a minimiser plus noise.
    Bound        a row moves it by clip / (rows * mu) at most (strong convexity; twice
                 that for replaced rows), and by 0.2 % more for what the solver leaves.
    Composition  all rounds are one (epsilon, delta) block, charged before the first.
    Free         coordinates, averages over silos and rounds, everything after.
    Not covered  choosing parameters by looking; the number of rows, which is declared.
    """

    mu: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.mu, int | float) or not 1e-6 <= self.mu <= 1e6:
            raise ParameterError(f"mu must be a number above 0. Got {self.mu!r}.")

    def _walk(
        self, setting: Setting, compass: Compass, pace: Floats, rounds: int
    ) -> Any:
        rows = np.maximum(np.array(setting.rows, dtype=float), 1)
        counts = np.array(setting.rows, dtype=float)
        # Steps of averaging, made longer by what holds the silos back.
        pace = np.minimum(1.0, pace * setting.bend) * (1 + self.mu)
        if self.learning_rate is not None:
            pace = np.full_like(pace, self.learning_rate)
        weights, mean, path = compass.start, compass.start, []
        mu = self.mu * setting.bend
        units = _shift_units(setting, compass, rows, mu)
        for number in range(rounds):
            starts = _for_all(weights, setting.silos)
            reply = yield Nearby(setting, compass.basis, compass.clip, starts, rows, mu)
            shifts = units[:, :, None] * reply.sums[:, :, 0, :]
            weights = weights + pace[:, None] * _mean_of(shifts, counts * reply.alive)
            mean = _running(mean, weights, number, setting)
            path.append(mean[:, None, :])
        return path, reply.alive


@dataclass(frozen=True, kw_only=True)
class GraphLearning(Learner):
    """Learning on a graph: silos step on their own and mix weights with neighbours.

    Parameters
    ----------
    graph
        A name of ``TOPOLOGIES`` or a networkx graph with a node for each silo.
    mixing
        ``"metropolis"``, ``"constant"`` (with ``alpha``, by default the best one), or
        a ``Mixing`` of your own, which then needs no graph.
    mixes
        How often neighbours mix after each step (by Chebyshev's polynomials).
    final_mixes
        How often they mix the answers at the end.

    Second moments are passed on along the graph until every silo has all of them: they
    are releases like any other. Mixing makes nothing more private: the guarantee holds
    against whoever sees all messages.

    Privacy
    -------
    As for :class:`FederatedAveraging` with one local step and no sampling.
    """

    graph: Any = "ring"
    mixing: Any = "metropolis"
    alpha: float | None = None
    mixes: int = 5
    final_mixes: int = 20

    def mixing_for(self, nodes: int) -> Mixing:
        """The checked mixing matrix of so many silos."""
        if isinstance(self.mixing, Mixing):
            found = self.mixing
        else:
            graph = self.graph
            if isinstance(graph, str):
                graph = topology(graph, nodes)
            if self.mixing == "metropolis":
                found = Mixing.metropolis(graph)
            elif self.mixing == "constant":
                found = Mixing.constant(graph, self.alpha)
            else:
                raise ParameterError("mixing is 'metropolis', 'constant' or a Mixing.")
        if len(found.matrix) != nodes:
            raise ParameterError(
                f"this graph has {len(found.matrix)} nodes, but there are {nodes} "
                "silos. It needs a node for each."
            )
        return found

    def course(self, setting: Setting) -> Course:
        """The rounds of a run; a graph that does not fit is refused before them."""
        self.mixing_for(setting.silos)
        return super().course(setting)

    def _walk(
        self, setting: Setting, compass: Compass, pace: Floats, rounds: int
    ) -> Any:
        mixing, rows = self.mixing_for(setting.silos), np.array(setting.rows)
        if self.learning_rate is None:
            # The largest silo must not overshoot before its neighbours hold it back.
            pace = pace * min(1.0, rows.mean() / rows.max())
        else:
            pace = np.full_like(pace, self.learning_rate)
        weights = _for_all(compass.start, setting.silos)
        mean, path, alive = weights, [], np.ones(setting.silos, dtype=bool)
        matrix = mixing.power(self.mixes)
        for number in range(rounds):
            # All silos' steps have one length: their mean is then a step downhill.
            rates = pace * (alive.sum() / max(rows[alive].sum(), 1))
            rates = np.repeat(rates[:, None], setting.silos, axis=1)
            request = Descent(setting, compass.basis, compass.clip, weights, rates)
            reply = yield request
            if (reply.alive != alive).any():
                alive = reply.alive
                matrix = mixing.among(alive).power(self.mixes)
            units = request.units[:, None, None]
            ends = follow(weights, reply.sums, units, rates[:, :, None])
            weights = _mixed(ends, matrix, alive)
            mean = _running(mean, weights, number, setting)
            path.append(mean)
        last = mixing.among(alive).power(self.final_mixes)
        path[-1] = _mixed(mean, last, alive)
        return path, alive


def _for_all(weights: Floats, silos: int) -> Floats:
    """The same weights for every silo."""
    seeds, width = weights.shape
    return np.broadcast_to(weights[:, None, :], (seeds, silos, width))


def _mean_of(points: Floats, rows: Floats) -> Floats:
    """The mean over silos, weighted by rows."""
    return average(points, (rows / max(rows.sum(), 1.0)).tolist())


def _running(mean: Floats, weights: Floats, number: int, setting: Setting) -> Floats:
    """The mean of all answers so far, late ones counting more; noise cancels in it."""
    if not setting.noise:
        return weights
    return mean + (weights - mean) * (2 / (number + 2))


def _mixed(points: Floats, matrix: Floats, alive: Any) -> Floats:
    """Each living silo's weighted mean of its neighbours; others stay as they are."""
    out = points.copy()
    parts = points[:, alive]
    for place, line in zip(np.flatnonzero(alive), matrix.tolist(), strict=True):
        out[:, place] = average(parts, line)
    return out


def _shift_units(setting: Setting, compass: Compass, rows: Floats, mu: float) -> Floats:
    starts = np.zeros((setting.seeds, 1, compass.start.shape[1]))
    request = Descent(setting, compass.basis, compass.clip, starts, rows)
    return np.array(
        [
            [proximal.shift_unit(request.gradient(s, 0), mu, float(n)) for n in rows]
            for s in range(setting.seeds)
        ]
    )
