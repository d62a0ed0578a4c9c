"""A product of tables that fits noisy marginals, by mirror descent on a junction tree.

Minimises the sum of (rows x probability - noisy count)^2 / variance over all tables
that are products of a factor for each measured set. Post-processing of releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreto.synthesis._junction_tree import Floats, JunctionTree, Places

_STALL = 10  # steps within which the fit must get better
_LEAST = 1e-300
_WHOLE = 0.01  # of counts that noise of this variance hardly ever changes


@dataclass(frozen=True, slots=True)
class NoisyMarginal:
    """A noisy marginal: its columns, its counts and the variance of each."""

    places: Places
    counts: Floats
    variance: Floats | float


class Model:
    """Probabilities of all combinations of codes, as a product of small tables.

    Parameters
    ----------
    sizes
        How many codes each column has.
    factors
        The logarithm of the factor of each set of columns.
    """

    def __init__(
        self, sizes: Sequence[int], factors: Mapping[Places, Floats] | None = None
    ) -> None:
        self.sizes = tuple(sizes)
        self.factors = dict(factors or {})
        self._prepare()

    def _prepare(self) -> None:
        self.tree = JunctionTree(self.sizes, self.factors)
        self.homes = {places: self.tree.home(places) for places in self.factors}
        self.beliefs = self._beliefs(self.factors)

    def _beliefs(self, factors: Mapping[Places, Floats]) -> list[Floats]:
        logs = [np.zeros(self.tree.lengths(clique)) for clique in self.tree.cliques]
        for places, factor in factors.items():
            home = self.homes[places]
            logs[home] = logs[home] + self.tree.spread(factor, places, home)
        return self.tree.beliefs(logs)

    def marginal(self, places: Places) -> Floats:
        """Return the probabilities of a set of columns that lies in a clique."""
        home = self.tree.home(places)
        return self.tree.summed(self.beliefs[home], home, places)

    def pairs(self) -> dict[Places, Floats]:
        """Return the probabilities of every pair of columns."""
        return self.tree.pairs(self.beliefs)

    def fit(self, measured: Sequence[NoisyMarginal], rows: float, steps: int) -> None:
        """Move the factors towards what was measured."""
        goals = _goals(measured)
        new = [places for places in goals if places not in self.factors]
        if new:
            for places in new:
                self.factors[places] = np.zeros(self.tree.lengths(places))
            self._prepare()
        # A step that is too long may end in 0 / 0; the search then halves it.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            _descend(self, goals, rows, steps)

    def _moments(self, beliefs: Sequence[Floats]) -> dict[Places, Floats]:
        return {
            places: self.tree.summed(beliefs[home], home, places)
            for places, home in self.homes.items()
        }


Goals = dict[Places, tuple[Floats, Floats]]  # weight and mean of what was measured


def _goals(measured: Sequence[NoisyMarginal]) -> Goals:
    """Return one goal for each set: what several measurements say together."""
    out: Goals = {}
    for one in measured:
        variance = np.maximum(one.variance, _WHOLE)
        weight = np.broadcast_to(1 / variance, one.counts.shape)
        before, total = out.get(one.places, (np.zeros(()), np.zeros(())))
        out[one.places] = (before + weight, total + weight * one.counts)
    return {places: (w, total / w) for places, (w, total) in out.items()}


def _descend(model: Model, goals: Goals, rows: float, steps: int) -> None:
    moments = model._moments(model.beliefs)
    loss = _loss(moments, goals, rows)
    size = 4 / (rows**2 * max(float(w.max()) for w, _ in goals.values()))
    past = [loss]
    for _ in range(steps):
        slopes = {
            places: weight * rows * (rows * moments[places] - mean)
            for places, (weight, mean) in goals.items()
        }
        size *= 2
        while True:
            factors = {
                places: factor - size * slopes[places] if places in slopes else factor
                for places, factor in model.factors.items()
            }
            beliefs = model._beliefs(factors)
            found = model._moments(beliefs)
            lower = _loss(found, goals, rows)
            promised = sum(
                float((slope * (moments[places] - found[places])).sum())
                for places, slope in slopes.items()
            )
            if loss - lower >= 0.45 * promised or size < _LEAST:
                break
            size /= 2
        if not lower <= loss:  # nothing is left to gain
            return
        model.factors, model.beliefs = factors, beliefs
        moments, loss = found, lower
        past.append(loss)
        if len(past) > _STALL and past[-_STALL] - loss < 1e-6 * max(loss, 1.0):
            return


def _loss(moments: Mapping[Places, Floats], goals: Goals, rows: float) -> float:
    return sum(
        float((weight * (rows * moments[places] - mean) ** 2).sum()) / 2
        for places, (weight, mean) in goals.items()
    )


def all_pairs(count: int) -> list[Places]:
    """Return every pair of ``count`` columns."""
    return list(combinations(range(count), 2))
