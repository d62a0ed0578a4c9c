"""Learning from silos that each send their best answer near the common one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.maps import proximal
from discreto.core.query import Floats
from discreto.federated.learners import Learner
from discreto.federated.preconditioner import Preconditioner
from discreto.federated.robust import silo_mean
from discreto.federated.rounds import Descent, Nearby, Setting, for_all, running
from discreto.session.parameters import Reader


@dataclass(frozen=True, kw_only=True)
class ProximalPoint(Learner):
    """Proximal point clients: each silo sends its best answer near the common one.

    Parameters
    ----------
    mu
        How strongly a silo is held to the common weights, in multiples of how much the
        loss curves in the run's coordinates. Large: small steps, little drift.
    learning_rate
        How far the common weights follow the silos' mean; by default ``1 + mu``, which
        makes up for their being held back.
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
        # Steps of averaging, made longer by what holds the silos back.
        step_size = np.minimum(1.0, step_size * setting.curvature) * (1 + self.mu)
        if self.learning_rate is not None:
            step_size = np.full_like(step_size, self.learning_rate)
        mu, far, units = self._held(setting, preconditioner, rows)
        weights, mean, path = (
            preconditioner.start.clip(-far, far),
            preconditioner.start,
            [],
        )
        for number in range(rounds):
            starts = for_all(weights, setting.silos)
            reply = yield Nearby(
                setting, preconditioner.basis, preconditioner.clip, starts, rows, mu
            )
            shifts = units[:, :, None] * reply.sums[:, :, 0, :]
            weights = weights + step_size[:, None] * silo_mean(
                shifts,
                counts * reply.alive,
                np.zeros_like(weights),
                setting.robust,
                setting.hostile,
            )
            weights = weights.clip(-far, far)
            mean = running(mean, weights, number, setting)
            path.append(mean[:, None, :])
        return path, reply.alive

    def _held(
        self, setting: Setting, preconditioner: Preconditioner, rows: Floats
    ) -> tuple[float, float, Floats]:
        """How strongly silos are held back, how far out, and their grid steps."""
        starts = np.zeros((setting.seeds, 1, preconditioner.start.shape[1]))
        request = Descent(
            setting, preconditioner.basis, preconditioner.clip, starts, rows
        )
        asked = [request.gradient(s, 0) for s in range(setting.seeds)]
        # Silos that are paid must not refuse: the coordinates, which are releases,
        # decide how small a mu can be solved for.
        mu, far = float(self.mu) * setting.curvature, math.inf
        for gradient in asked:
            for silo, n in enumerate(rows.tolist()):
                mu, most = proximal.solvable(gradient, mu, n, int(setting.rows[silo]))
                far = min(far, most)
        units = [[proximal.shift_unit(g, mu, float(n)) for n in rows] for g in asked]
        return mu, far, np.array(units)
