"""Learning one model from many silos, each way as a protocol of rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.query import Floats
from discreto.errors import ParameterError
from discreto.federated import preconditioner as rules
from discreto.federated.messages import Terms
from discreto.federated.preconditioner import Preconditioner
from discreto.federated.robust import RULES, silo_mean
from discreto.federated.rounds import (
    Descent,
    RoundsResult,
    RunProtocol,
    Setting,
    follow,
    for_all,
    moment_rounds,
    running,
    runs_at_once,
)
from discreto.session.parameters import Reader

RATES = (1e-12, 1e12)  # what a message can hold


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """The common part of the three learners.

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
        ``"silo"``: every silo adds all the noise, without trust in others. ``"shared"``
        (simulations of secure aggregation only): the silos' noise adds up to it.
    colluders
        With shared noise, how many silos may tell each other theirs, or drop out.
    protect
        ``"row"``, or in simulations ``"silo"``: what a whole silo sends is clipped and
        shared noise hides whether it took part. That takes hundreds of silos.
    robust
        ``"none"``, or how silos' numbers are put together if some silo may be hostile:
        ``"median"``, ``"trimmed"`` or ``"bounded"``.
    hostile
        How many silos may be, for ``"trimmed"``.
    """

    epsilon: Any
    delta: Any = "1e-5"
    rounds: int = 50
    learning_rate: float | None = None
    clip: float | None = None
    noise: Literal["silo", "shared"] = "silo"
    colluders: int = 0
    protect: Literal["row", "silo"] = "row"
    robust: Literal["none", "median", "trimmed", "bounded"] = "none"
    hostile: int = 1

    local_steps: ClassVar[Any] = 1
    sample_rate: ClassVar[Any] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse learners whose checks would wait until a silo was charged."""
        super().__init_subclass__(**options)
        if "protocol" in vars(cls) or not runs_at_once(cls.check):
            raise TypeError(
                f"{cls.__name__}: a learner defines check and _walk. Its protocol "
                "is the base's, which calls check at once; a generator checks nothing."
            )

    def __post_init__(self) -> None:
        read = Reader(self)
        for name in ("learning_rate", "clip"):
            # None is our own choice; any number will do in its place here.
            read.number(name, 1e-6, 1e6, unset=1.0, wanted="a number above 0")
        read.choice("noise", ("silo", "shared"))
        read.choice("protect", ("row", "silo"))
        read.choice("robust", RULES)
        read.whole("colluders", least=0)
        read.whole("hostile")
        moment_rounds(read.whole("rounds", most=10**6))
        _ = self.terms

    @abstractmethod
    def check(self, setting: Setting) -> None:
        """Refuse whatever public facts rule out, before a silo is asked.

        Every learner says what it needs. It must not be a generator.

        Parameters
        ----------
        setting
            The public facts of the run.
        """
        setting.check()

    @property
    def terms(self) -> Terms | None:
        """The cost of a run for each silo; None without privacy."""
        if self.epsilon is None:
            return None
        terms = Terms.of(
            self.epsilon, self.delta, self.rounds, self.local_steps, self.sample_rate
        )
        if not terms.delta:
            raise ParameterError("gradients need a delta above 0, such as 1e-5.")
        return terms

    def setting(
        self,
        domain: Domain,
        target: str,
        rows: Collection[int],
        seeds: int = 1,
        *,
        declared: bool = True,
        own: tuple[Domain, ...] = (),
    ) -> Setting:
        """Return the public facts of a run.

        Parameters
        ----------
        domain
            The columns that all silos share.
        target
            The column to predict.
        rows
            The number of rows of each silo.
        seeds
            How many runs are played at once, in a simulation.
        declared
            Whether the numbers of rows are public.
        own
            Each silo's own domain.
        """
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
            declared,
            own,
            self.robust,
            self.hostile,
        )

    def protocol(self, setting: Setting) -> RunProtocol:
        """Return the rounds of a run; see :mod:`discreto.federated.rounds`.

        What can be refused is refused by this call, not by the first round.

        Parameters
        ----------
        setting
            The public facts of the run.
        """
        self.check(setting)
        return self._protocol(setting)

    def _protocol(self, setting: Setting) -> RunProtocol:
        first = setting.moment_rounds
        preconditioner = yield from rules.orient(setting, first, self.clip)
        step_size = rules.step_size(setting, preconditioner, self.clip, first)
        path, alive = yield from self._walk(
            setting, preconditioner, step_size, self.rounds - first
        )
        walk = rules.shrunk(setting, preconditioner, step_size, np.stack(path, axis=1))
        # Until the moments are known the answer is 0.
        shape = (setting.seeds, first, *walk.shape[2:])
        return RoundsResult(
            np.concatenate([np.zeros(shape), preconditioner.home(walk)], axis=1),
            alive,
            preconditioner.middle,
        )

    @abstractmethod
    def _walk(
        self,
        setting: Setting,
        preconditioner: Preconditioner,
        step_size: Floats,
        rounds: int,
    ) -> Any:
        """Return the rounds after the second moments are known."""


@dataclass(frozen=True, kw_only=True)
class FederatedAveraging(Learner):
    """Federated averaging: silos take noisy gradient steps, weights are averaged.

    Parameters
    ----------
    local_steps
        Steps a silo takes on its own in a round.
    sample_rate
        The probability of a row to be in a step's secret sample (Poisson sampling,
        which makes every step cheaper). 1: all rows in every step.
    epsilon, delta : int, float, str or Fraction
        What a run costs *each silo*; ``epsilon=None`` is learning without privacy, for
        simulations only.
    rounds
        How often the silos are asked; a tenth of the rounds asks for second moments.
    learning_rate
        The length of a step; by default 1 in coordinates made by the second moments.
    clip
        Where gradients are clipped, in typical gradients; by default by the size of the
        noise.
    noise
        ``"silo"``: every silo adds all the noise. ``"shared"``: for simulations only.
    colluders
        With shared noise, how many silos may tell each other theirs, or drop out.
    protect
        ``"row"``, or in simulations ``"silo"``.
    robust
        ``"none"``, ``"median"``, ``"trimmed"`` or ``"bounded"``: how silos' numbers
        are put together if some silo may be hostile.
    hostile
        How many silos may be, for ``"trimmed"``.

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

    def check(self, setting: Setting) -> None:
        """Refuse what no silo would answer.

        Parameters
        ----------
        setting
            The public facts of the run.
        """
        super().check(setting)

    def _walk(
        self,
        setting: Setting,
        preconditioner: Preconditioner,
        step_size: Floats,
        rounds: int,
    ) -> Any:
        rows = np.array(setting.rows, dtype=float)
        if self.learning_rate is not None:
            step_size = np.full_like(step_size, self.learning_rate)
        rates = (
            step_size[:, None] / setting.steps / (setting.rate * np.maximum(rows, 1))
        )
        rates = rates.clip(*RATES)
        weights, mean, path = preconditioner.start, preconditioner.start, []
        for number in range(rounds):
            starts = for_all(weights, setting.silos)
            request = Descent(
                setting, preconditioner.basis, preconditioner.clip, starts, rates
            )
            reply = yield request
            units = request.units[:, None, None]
            ends = follow(starts, reply.sums, units, rates[:, :, None])
            weights = silo_mean(
                ends, rows * reply.alive, weights, setting.robust, setting.hostile
            )
            mean = running(mean, weights, number, setting)
            path.append(mean[:, None, :])
        return path, reply.alive
