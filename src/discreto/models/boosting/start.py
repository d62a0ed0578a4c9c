"""Scores to start from: class shares, the mean of a target, or a fitted line.

The first question is for class counts, or sums of the target. Both are asked for in a
form in which a row moves all numbers by one together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.maps import Categories, Completeness, Values
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.tree_gradients import NUMBER_LOSSES
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Block, Ones, Sum
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import likely_counts
from discreto.models.boosting.settings import ResolvedSettings
from discreto.session.session import Ask
from discreto.stats._base import complete_note

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FirstLook:
    """Noisy parts of all rows, the variance of their noise, and what they say.

    ``parts`` are class counts, or for a Number y on [-1, 1] the sums of (1 + y) / 2 and
    (1 - y) / 2.
    """

    parts: Floats
    noise: float
    space: Space
    loss: str

    @property
    def rows(self) -> float:
        """About how many rows there are."""
        return max(float(self.parts.sum()), 0.0)

    @property
    def fewest(self) -> float:
        """So many rows there are, but for one noise in six."""
        return max(self.rows - math.sqrt(self.noise * len(self.parts)), 0.0)

    def with_(self, other: FirstLook) -> FirstLook:
        """Return the mean of both estimates, each weighted by its precision."""
        # Each is weighted by its precision, the inverse of its variance.
        weight = other.noise / max(self.noise + other.noise, 1e-300)
        parts = weight * self.parts + (1 - weight) * other.parts
        return FirstLook(parts, weight * self.noise, self.space, self.loss)

    @property
    def start(self) -> tuple[float, ...]:
        """Scores to start from."""
        doubt = math.sqrt(self.noise)
        if self.loss in NUMBER_LOSSES:
            column = self.space.domain.number(self.space.goal)
        if self.loss == "poisson":
            sure = max(float(self.parts[0]), doubt) / max(self.rows, 1.0)
            mean = column.lower + 2 * column.half * min(max(sure, 1e-9), 1.0)
            return (math.log(mean),)
        if self.loss in NUMBER_LOSSES:
            # A row count that may be too small would push the mean outward.
            sure = max(self.rows + 2 * doubt, 1e-9)
            mean = float(self.parts[0] - self.parts[1]) / sure
            return (column.centre + column.half * min(max(mean, -1.0), 1.0),)
        counts = likely_counts(self.parts, self.noise)
        logs = np.log(counts / counts.sum())
        if self.loss == "logistic":
            return (float(logs[1] - logs[0]),)
        return tuple((logs - logs.mean()).tolist())


def look(
    ask: Ask,
    space: Space,
    settings: ResolvedSettings,
    share: Fraction,
    label: str = "start",
) -> FirstLook:
    """Ask the first question."""
    goal = space.goal
    if settings.loss in NUMBER_LOSSES:
        query = Sum(Completeness((goal,)), (Block(Values((goal,)), "pair"),))
        unit = 2.0 * (1 << SUM_BITS)
    else:
        query, unit = Sum(Categories((goal,)), (Block(Ones()),)), 1.0
    answer = ask.measure(query, label, share)
    table = answer.tables[0].astype(np.float64) / unit
    noise = answer.noises[0].variance / unit**2
    known = 1 if settings.loss in NUMBER_LOSSES else len(space.classes)
    ask.remark(complete_note((goal,), table[:known], table[known:], noise))
    parts = table[0] if settings.loss in NUMBER_LOSSES else table[:known, 0]
    return FirstLook(parts, noise, space, settings.loss)


def middle_of(space: Space, settings: ResolvedSettings) -> tuple[float, ...]:
    """Return the scores without any release."""
    if settings.loss in NUMBER_LOSSES:
        centre = space.domain.number(space.goal).centre
        return (math.log(centre) if settings.loss == "poisson" else centre,)
    return (0.0,) * (len(space.classes) if settings.loss == "softmax" else 1)


_FAR = 1e9


def line_scores(
    line: Any, space: Space, grid: Grid
) -> tuple[tuple[float, ...], tuple[Tree, ...]]:
    """Return where scores start, and a tree for each column of a fitted linear model.

    A Number adds its slope times the middle of its cell, a gap what the mean adds.
    """
    slopes = dict(zip(line.coef_names_, line.coef_.tolist(), strict=True))
    fills = dict(zip(line.coef_names_, line.fill_.tolist(), strict=True))
    start, trees, domain = float(line.intercept_), [], space.domain
    sizes = grid.sizes(domain)
    for j, name in enumerate(grid.names):
        if name not in line.space_.features:
            continue
        values = np.zeros(sizes[j])
        if name in space.numbers:
            column = domain.number(name)
            edges = np.array([column.lower, *grid.cuts[j], column.upper])
            middles = (edges[1:] + edges[:-1]) / 2
            values[:] = slopes[name] * (column.centre + column.half * fills[name])
            values[: len(middles)] = slopes[name] * middles
        else:
            categories = domain.category(name).categories
            for code, value in enumerate((*categories, "(missing or other)")):
                values[code : code + 1] = slopes.get(f"{name}={value}", 0.0)
        if not values.any():
            continue
        # Each tree is about 0 in the middle; what is left is where scores start.
        start, values = (
            start + values.mean(),
            np.clip(values - values.mean(), -_FAR, _FAR),
        )
        route = tuple(range(len(values)))
        trees.append(Tree((j,), (route,), tuple((float(v),) for v in values)))
    return (float(start),), tuple(trees)


__all__ = ["FirstLook", "line_scores", "look", "middle_of"]
