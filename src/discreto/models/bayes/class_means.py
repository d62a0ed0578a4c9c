"""Naive Bayes from class means alone: for rows too few to tell variances apart.

All columns have the spread that columns usually have, the same in every class, so a
row's scores are linear in it. The means come from the question of the linear
discriminant, whose noise is far below that of tables of every column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.maps import present_in
from discreto.core.maps.unit_columns import Indicator
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import PER_TERM, ask_shares, only_shares
from discreto.models.bayes.queries import Tables
from discreto.models.bayes.shrinkage import ClassHistogram, Counts, Normals
from discreto.models.linear.encoding import Encoding, affordable
from discreto.models.linear.expanded_loss import Task, by_wide_means
from discreto.session.session import Ask

Array = NDArray[Any]


@dataclass(frozen=True)
class MeanLaws:
    """Class sizes, normal distributions on [-1, 1], and logs for each Category."""

    sizes: Array
    means: Array  # (classes, numbers)
    variances: Array
    logs: list[Array]  # (classes, values)

    def tables(self, space: Space) -> Tables:
        """Return the same distributions as tables of all columns."""
        zeros, many = np.zeros_like(self.means), len(self.sizes)
        there = np.repeat(self.sizes[:, None], self.means.shape[1], axis=1)
        middle, wide = self.means.mean(axis=0), self.variances.mean(axis=0)
        laws = Normals(self.means, self.variances, zeros, middle, wide, zeros)
        histograms = {}
        for name, logs in zip(space.categories, self.logs, strict=True):
            chance = np.exp(logs)
            histograms[name] = ClassHistogram(
                chance, chance.sum(axis=0) / many, np.zeros_like(chance)
            )
        return Tables(Counts(self.sizes, self.sizes, 0.0), there, laws, histograms)


def ask_means(ask: Ask, space: Space, strength: float) -> MeanLaws:
    """Return class means for all of the cost, as distributions of columns."""
    if only_shares(strength, ask.cost, space):
        return _shares(ask, space)
    gaussian = bool(ask.cost.rho)
    room = strength if gaussian else strength / math.sqrt(2)
    terms = Encoding(affordable(space, room, PER_TERM))
    known = present_in((space.goal, *space.numbers), space.domain)
    whole = present_in(space.numbers, space.domain)
    many = len(space.classes)
    # Bounded rows, and no ridge: means are shrunk by their own noise.
    facts = (terms.columns, gaussian, True, known, whole, space.goal, many, None)
    start = by_wide_means(ask, Task(terms.names, terms.numbers, *facts), room)
    place = {term: i for i, term in enumerate(terms.names)}
    found = start.mean + start.apart
    numbers = [place[name] for name in space.numbers]
    means = found[:, numbers]
    sure = start.sure * start.trust
    variances = np.tile(start.typical[numbers] ** 2 / sure, (many, 1))
    logs = []
    for name in space.categories:
        values = range(len(space.domain.category(name).categories))
        lines = [place.get(Indicator(name, v), -1) for v in values]
        weights = sure * found[:, lines] * (np.array(lines) >= 0)
        logs.append(weights - np.log(np.exp(weights).sum(axis=1, keepdims=True)))
    return MeanLaws(start.sizes, means, variances, logs)


def _shares(ask: Ask, space: Space) -> MeanLaws:
    """Return class shares alone: the columns say nothing."""
    shape = (len(space.classes), len(space.numbers))
    sizes = [len(space.domain.category(n).categories) for n in space.categories]
    logs = [np.full((shape[0], k), -math.log(k)) for k in sizes]
    return MeanLaws(ask_shares(ask, space), np.zeros(shape), np.ones(shape), logs)


__all__ = ["MeanLaws", "ask_means"]
