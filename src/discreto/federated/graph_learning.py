"""Learning on a graph: silos that mix weights with their neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.query import Floats
from discreto.errors import ParameterError
from discreto.federated.graph import Mixing, topology
from discreto.federated.learners import RATES, Learner
from discreto.federated.preconditioner import Preconditioner
from discreto.federated.rounds import Descent, Setting, for_all, running
from discreto.federated.updates import average, follow


@dataclass(frozen=True, kw_only=True)
class GraphLearning(Learner):
    """Learning on a graph: silos step on their own and mix weights with neighbours.

    Second moments are passed on along the graph until every silo has all of them: they
    are releases like any other. Mixing makes nothing more private: the guarantee holds
    against whoever sees all messages.

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
    alpha
        The weight of an edge for ``mixing="constant"``.

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
        """The checked mixing matrix of so many silos.

        Parameters
        ----------
        nodes
            How many silos.
        """
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

    def check(self, setting: Setting) -> None:
        """Refuse a graph that does not fit the silos.

        Parameters
        ----------
        setting
            The public facts of the run.
        """
        super().check(setting)
        mixing = self.mixing_for(setting.silos)
        for mixes in (self.mixes, self.final_mixes):
            mixing.power(mixes)

    def _walk(
        self,
        setting: Setting,
        preconditioner: Preconditioner,
        step_size: Floats,
        rounds: int,
    ) -> Any:
        mixing, rows = self.mixing_for(setting.silos), np.array(setting.rows)
        if self.learning_rate is None:
            # The largest silo must not overshoot before its neighbours hold it back.
            step_size = step_size * min(1.0, rows.mean() / rows.max())
        else:
            step_size = np.full_like(step_size, self.learning_rate)
        weights = for_all(preconditioner.start, setting.silos)
        mean, path, alive = weights, [], np.ones(setting.silos, dtype=bool)
        matrix = mixing.power(self.mixes)
        for number in range(rounds):
            # All silos' steps have one length: their mean is then a step downhill.
            rates = step_size * (alive.sum() / max(rows[alive].sum(), 1))
            rates = np.repeat(rates[:, None], setting.silos, axis=1).clip(*RATES)
            request = Descent(
                setting, preconditioner.basis, preconditioner.clip, weights, rates
            )
            reply = yield request
            if (reply.alive != alive).any():
                alive = reply.alive
                matrix = mixing.among(alive).power(self.mixes)
            units = request.units[:, None, None]
            ends = follow(weights, reply.sums, units, rates[:, :, None])
            weights = _mixed(ends, matrix, alive)
            mean = running(mean, weights, number, setting)
            path.append(mean)
        last = mixing.among(alive).power(self.final_mixes)
        path[-1] = _mixed(mean, last, alive)
        return path, alive


def _mixed(points: Floats, matrix: Floats, alive: Any) -> Floats:
    """Each living silo's weighted mean of its neighbours; others stay as they are."""
    out = points.copy()
    parts = points[:, alive]
    for place, line in zip(np.flatnonzero(alive), matrix.tolist(), strict=True):
        out[:, place] = average(parts, line)
    return out
