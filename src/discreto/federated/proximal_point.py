"""Learning from silos that each send their best answer near the common one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.maps import proximal
from discreto.core.query import Floats
from discreto.errors import ParameterError
from discreto.federated.learners import Learner
from discreto.federated.preconditioner import Preconditioner, turned
from discreto.federated.robust import silo_mean
from discreto.federated.rounds import Descent, Nearby, Setting, for_all, running
from discreto.session.parameters import Reader

_MOST_GROWTH = 100.0  # of mu


@dataclass(frozen=True, kw_only=True)
class ProximalPoint(Learner):
    """Proximal point clients: each silo sends its best answer near the common one.

    Parameters
    ----------
    mu
        How strongly a silo is held to the common weights in the first round, in
        multiples of the curvature of the loss in the run's coordinates. It grows with
        the rounds (mu, 2 mu, 3 mu, ...), so that the silos' drift vanishes.
    learning_rate
        How far the common weights follow the silos' mean; by default 1 + the round's
        mu, which makes up for their being held back.
    epsilon, delta : int, float, str or Fraction
        What a run costs *each silo*; ``epsilon=None`` is learning without privacy, for
        simulations only.
    rounds
        How often the silos are asked; a tenth of the rounds asks for second moments.
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
        Reader(self).number("mu", 0.01, 1e3)

    def check(self, setting: Setting) -> None:
        """Refuse silos that are too large, or do not say how large they are.

        Parameters
        ----------
        setting
            The public facts of the run.
        """
        super().check(setting)
        largest = max(setting.rows) if setting.declared else None
        proximal.check_rows(setting.gradient(), largest)

    def _walk(
        self,
        setting: Setting,
        preconditioner: Preconditioner,
        step_size: Floats,
        rounds: int,
    ) -> Any:
        rows = np.maximum(np.array(setting.rows, dtype=float), 1)
        counts = np.array(setting.rows, dtype=float)
        first, far, found, back = self._reachable(setting, preconditioner, rows)
        length = np.minimum(1.0, step_size * setting.curvature)
        weights, mean, path = found.start.clip(-far, far), found.start, []
        for number in range(rounds):
            mu = first * _growth(number)
            # Steps of averaging, made longer by what holds the silos back.
            ahead = length * (1 + mu / setting.curvature)
            if self.learning_rate is not None:
                ahead = np.full_like(length, self.learning_rate)
            starts = for_all(weights, setting.silos)
            request = Nearby(setting, found.basis, found.clip, starts, rows, mu)
            reply = yield request
            shifts = _units(request)[:, :, None] * reply.sums[:, :, 0, :]
            weights = weights + ahead[:, None] * silo_mean(
                shifts,
                counts * reply.alive,
                np.zeros_like(weights),
                setting.robust,
                setting.hostile,
            )
            weights = weights.clip(-far, far)
            mean = running(mean, weights, number, setting)
            plain = mean if back is None else turned(back, mean)
            path.append(plain[:, None, :])
        return path, reply.alive

    def _reachable(
        self, setting: Setting, preconditioner: Preconditioner, rows: Floats
    ) -> tuple[float, float, Preconditioner, Floats | None]:
        """Return a mu, how far out weights may be, coordinates, and the matrix back.

        Silos that are paid must not refuse. So the coordinates, which are releases,
        decide how small a mu can be, and are less stretched where no mu would do.
        """
        found, back = preconditioner, None
        most = float(np.linalg.norm(preconditioner.basis, axis=(1, 2)).max())
        for _ in range(60):
            held = self._held(setting, found, rows)
            if held is not None:
                return *held, found, back
            most /= 2
            found, back = preconditioner.capped(most)
        raise ParameterError("no proximal point can be found in these coordinates.")

    def _held(
        self, setting: Setting, preconditioner: Preconditioner, rows: Floats
    ) -> tuple[float, float] | None:
        """Return the first mu and the farthest weights, if points can be found."""
        starts = np.zeros((setting.seeds, setting.silos, setting.width))
        request = Descent(
            setting, preconditioner.basis, preconditioner.clip, starts, rows
        )
        mu, far = float(self.mu) * setting.curvature, math.inf
        try:
            for seed in range(setting.seeds):
                for silo, n in enumerate(rows.tolist()):
                    gradient = request.gradient(seed, silo)
                    declared = int(setting.rows[silo])
                    mu, most = proximal.solvable(gradient, mu, n, declared)
                    last = mu * _growth(self.rounds)
                    _, more = proximal.solvable(gradient, last, n, declared)
                    far = min(far, most, more)
        except ParameterError:
            return None
        return mu, far


def _growth(number: int) -> float:
    """Return by how much more silos are held back in a round than in the first."""
    return min(1.0 + number, _MOST_GROWTH)


def _units(request: Nearby) -> Floats:
    """Return the grid steps of each seed's and silo's shift."""
    units = [
        [
            proximal.shift_unit(request.gradient(seed, silo), request.mu, float(n))
            for silo, n in enumerate(request.rates)
        ]
        for seed in range(len(request.weights))
    ]
    return np.array(units)
