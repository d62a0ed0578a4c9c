"""Learning on a graph: silos that mix weights with their neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.query import Floats
from discreto.errors import ParameterError
from discreto.federated.graph import (
    TOPOLOGIES,
    Graph,
    Mixing,
    chebyshev,
    mixing_by_rule,
    topology,
)
from discreto.federated.learners import RATES, Learner
from discreto.federated.preconditioner import Preconditioner
from discreto.federated.robust import counted, neighbour_mean
from discreto.federated.rounds import (
    Descent,
    Setting,
    follow,
    for_all,
    running,
)
from discreto.federated.silo import FARTHEST


@dataclass(frozen=True, kw_only=True)
class GraphLearning(Learner):
    """Learning on a graph: silos step on their own and mix weights with neighbours.

    A ``Federation`` lets one coordinator carry the messages and do the mixing; with a
    ``Peer`` in each silo there is none, and neighbours talk to neighbours.

    Second moments are passed on along the graph until every silo has all of them: they
    are releases like any other. Mixing makes nothing more private: the guarantee holds
    against readers of all messages.

    Parameters
    ----------
    graph
        A name of ``TOPOLOGIES`` or a networkx graph with a node for each silo.
    mixing
        ``"metropolis"``, ``"constant"`` (with ``alpha``, by default the best one),
        ``"optimal"`` (the fastest of all, by Xiao and Boyd), or a ``Mixing`` of your
        own, which then needs no graph.
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
    robust
        ``"none"``, ``"median"``, ``"trimmed"`` or ``"bounded"``: how a node mixes if
        some neighbour may be hostile.
    hostile
        How many neighbours of a node may be, for ``"trimmed"``.
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

    def __post_init__(self) -> None:
        super().__post_init__()
        named = isinstance(self.graph, str)
        if named and self.graph not in TOPOLOGIES:
            raise ParameterError(
                f"graph must be one of {', '.join(TOPOLOGIES)}, or a networkx graph. "
                f"Got {self.graph!r}."
            )
        if not named and not isinstance(self.graph, Graph):
            raise ParameterError(
                "graph must be one networkx graph, or a name: a graph stays the same "
                f"through a run. Got a {type(self.graph).__name__}. For graphs that "
                "change, make a run for each of them."
            )

    def mixing_for(self, nodes: int) -> Mixing:
        """Return the checked mixing matrix of so many silos.

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
            found = mixing_by_rule(graph, self.mixing, self.alpha)
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
            mixing.steps(mixes)

    def rates(self, setting: Setting, step_size: Floats, alive: Any) -> Floats:
        """Return the length of each silo's steps over its rows: (seeds, silos).

        Parameters
        ----------
        setting
            The public facts of the run.
        step_size
            The length of a whole step, for each seed.
        alive
            For each silo whether it was there when the moments were asked for.
        """
        rows = np.array(setting.rows, dtype=float)
        some = counted(rows[alive], setting.robust)
        if self.learning_rate is None:
            # The largest silo must not overshoot before its neighbours hold it back.
            step_size = step_size * min(1.0, some.mean() / max(some.max(), 1.0))
        else:
            step_size = np.full_like(step_size, self.learning_rate)
        # All silos' steps have one length: their mean is then a step downhill.
        rates = step_size * (len(some) / max(some.sum(), 1.0))
        out = np.repeat(rates[:, None], setting.silos, axis=1)
        if setting.robust != "none":  # who has more rows than it counts for
            out = np.minimum(out, step_size[:, None] / np.maximum(rows, 1.0))
        return out.clip(*RATES)

    def schedule(self, second: float, mixes: int) -> list[tuple[float, float]]:
        """Return the coefficients of so many mixes, for this second eigenvalue.

        Parameters
        ----------
        second
            The second largest eigenvalue of the mixing matrix, in absolute value.
        mixes
            How often.
        """
        # Chebyshev's steps go beyond what they are told: only for those who are honest.
        return chebyshev(second if self.robust == "none" else 0.0, mixes)

    def _walk(
        self,
        setting: Setting,
        preconditioner: Preconditioner,
        step_size: Floats,
        rounds: int,
    ) -> Any:
        mixing = self.mixing_for(setting.silos)
        rates = self.rates(setting, step_size, preconditioner.alive)
        weights = for_all(preconditioner.start, setting.silos)
        mean, path, alive = weights, [], preconditioner.alive
        for number in range(rounds):
            request = Descent(
                setting, preconditioner.basis, preconditioner.clip, weights, rates
            )
            reply = yield request
            alive = reply.alive
            units = request.units[:, None, None]
            ends = follow(weights, reply.sums, units, rates[:, :, None])
            weights = self._mixed(ends, mixing, self.mixes, alive)
            mean = running(mean, weights, number, setting)
            path.append(mean)
        path[-1] = self._mixed(mean, mixing, self.final_mixes, alive)
        return path, alive

    def _mixed(self, points: Floats, mixing: Mixing, mixes: int, alive: Any) -> Floats:
        """Return the silos' points after so many mixes; dropped silos keep theirs."""
        there = np.flatnonzero(alive).tolist()
        lines = {place: mixing.line(place, alive) for place in there}
        before = now = points
        for ahead, back in self.schedule(mixing.second, mixes):
            after = now.copy()
            for place, line in lines.items():
                told = self.told(now[:, list(line)], line, place)
                after[:, place] = onward(ahead, told, back, before[:, place])
            before, now = now, after
        return now

    def told(self, points: Floats, line: dict[Any, float], own: Any) -> Floats:
        """Return the mean of a node's own and its neighbours' points, by the rule.

        Parameters
        ----------
        points
            Theirs, in the order of ``line``: (seeds, nodes, width).
        line
            How much each counts.
        own
            The node itself, in ``line``.
        """
        place = list(line).index(own)
        shares = list(line.values())
        return neighbour_mean(points, shares, place, self.robust, self.hostile)


def onward(ahead: float, told: Floats, back: float, before: Floats) -> Floats:
    """Return one step of mixing; weights stay where a question can hold them."""
    out: Floats = ahead * told - back * before
    return out.clip(-FARTHEST, FARTHEST)
