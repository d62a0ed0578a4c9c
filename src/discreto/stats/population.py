"""Means and shares with intervals of any level, for the table or for its population.

An interval for the population covers what a mean or a share is among those whom the
rows were drawn from, independently and at random: noise and sampling together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreto.core.expressions import Expression
from discreto.core.gate import Noise
from discreto.core.maps import Bernstein, Categories, Ones
from discreto.core.query import Block, Ints, Sum
from discreto.release.release import Release
from discreto.session.parameters import read_level
from discreto.session.session import Ask
from discreto.stats._base import (
    by_text,
    complete_in,
    group_keys,
    grouped,
    notes_of,
    parted,
    spread,
    wide_note,
)
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import (
    STEP,
    Floats,
    combined_reach,
    fewest_rows,
    share_interval,
)
from discreto.stats.ratios import MADE, truths_of


@documented_statistic
@dataclass(frozen=True)
class LeveledMean:
    """The mean of a column, with an interval of a given level.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         three sums of Bernstein polynomials of degree 2 for each group, which
                 give the mean and the spread of the values.
    Bound        1: a row gives the three of its group 1 together.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(1), LeveledMean("x0"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    """

    column: str
    by: tuple[str, ...] = ()
    level: float = 0.95
    population: bool = True

    @property
    def label(self) -> str:
        return f"mean of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        level = read_level(self.level)
        column = ask.domain.number(self.column)
        inner, gaps = complete_in((self.column,), ask.domain)
        block = Block(Bernstein((self.column,), 2))
        query = Sum(grouped(self.by, inner, ask.domain), (block,))
        answer = ask.measure(query, self.label)
        sums, about = parted(answer.tables[0], answer.noises[0], gaps=gaps)
        parts = [self._one(row, answer.noises[0], level) for row in sums]
        values, lows, highs = (column.centre + column.half * np.array(parts)).T
        keys = group_keys(self.by, ask.domain)
        note = notes_of(about, wide_note(lows, highs, column))
        made = spread(self.label, values, lows, highs, keys, column.unit, note)
        return _at(made, level, population=self.population)

    def _one(self, table: Ints, noise: Noise, level: float) -> Floats:
        """Return mean and ends on [-1, 1] from three noisy sums."""
        b = table / STEP
        rows = float(b.sum())
        if rows < max(fewest_rows(3, noise) / STEP, 1.0):
            return np.array([0.0, -1.0, 1.0])
        mean = float(np.clip((b[2] - b[0]) / rows, -1, 1))
        square = float(b[0] + b[2] - b[1]) / rows
        variance = min(max(square - mean**2, 0.0), 1 - mean**2)
        weights = np.array([-1 - mean, -mean, 1 - mean]) / rows / STEP
        sampling = math.sqrt(variance / rows) if self.population else 0.0
        far = combined_reach(weights, noise, level, sampling)
        return np.clip([mean, mean - far, mean + far], -1, 1)


@documented_statistic
@dataclass(frozen=True)
class LeveledShare:
    """The share of rows for which a condition is true, with an interval of a level.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts for each group: of rows where it is false, true, and unknown.
    Bound        1: a row is in one of the counts.
    """

    condition: Expression
    by: tuple[str, ...] = ()
    level: float = 0.95
    population: bool = True

    @property
    def label(self) -> str:
        return f"share of {self.condition}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        level = read_level(self.level)
        ask = truths_of(ask, self.condition)
        cells = Categories((*self.by, MADE))
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        noise, keys = answer.noises[0], group_keys(self.by, ask.domain)
        sums = answer.tables[0][:, 0].reshape(max(len(keys), 1), -1).astype(float)
        parts = [
            share_interval(
                row[1], row[0], (1, 1), noise, level, population=self.population
            )
            for row in sums
        ]
        values, lows, highs = np.array(parts).T
        made = spread(self.label, values, lows, highs, keys)
        return _at(made, level, population=self.population)


def _at(release: Release, level: float, *, population: bool) -> Release:
    return replace(release, level=level, population=population)
