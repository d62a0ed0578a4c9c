"""Medians and other quantiles.

One quantile is a noisy choice among the places of a public grid, followed by a noisy
count around the chosen place that gives its error bar. Several quantiles are read off
one noisy cumulative count, so ten cost no more than two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Number
from discreto.core.gate import Measurement, Noise
from discreto.core.maps import Edges, Ones, Ranks
from discreto.core.query import Block, Choice, Ints, Sum
from discreto.errors import ParameterError
from discreto.release.release import LEVEL, Release
from discreto.session.session import Ask
from discreto.stats._base import (
    by_text,
    group_keys,
    notes_of,
    present_note,
    read_probability,
    wide_note,
)
from discreto.stats._cumulative_counts import cumulative, strides_of, surplus_powers
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import NO_ROWS, Floats, combined_reach, sum_reach
from discreto.stats._quantile_grid import Places, place_grid

# How often an end of an interval may be wrong on each level, from fine to coarse.
_TAILS = (0.034, 0.033, 0.012)
# The counts for the interval are noisier than the choice: with 2/3 for the choice, the
# interval was about 30 times as wide as the mean error. Half costs the value accuracy.
POINT_SHARE = Fraction(1, 2)


@documented_statistic
@dataclass(frozen=True)
class Quantile:
    """A quantile of a column, with the interval that its rank noise allows.

    Parameters
    ----------
    probability
        From 0 to 1; 1/2 is the median.
    population
        Whether the interval is for those whom the rows were drawn from.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         a noisy choice of a place (1/2 of the cost), then counts of the rows
                 between cuts around it (1/2), for the error bar.
    Bound        1 for the counts: a row is between two cuts. For the choice, how far a
                 row moves the rank of a place, in multiples of the denominator.
    Composition  shares add up to one, so it costs exactly ``epsilon``.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(1), Quantile("x0"), epsilon=1)
    >>> [ask.door for ask in found], found.total
    (['select', 'measure'], Cost(ε 1))
    """

    column: str
    probability: Fraction = Fraction(1, 2)
    population: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", read_probability(self.probability))

    @property
    def label(self) -> str:
        if self.probability == Fraction(1, 2):
            return f"median of {self.column}"
        return f"{float(self.probability):g}-quantile of {self.column}"

    def learn(self, ask: Ask) -> Release:
        domain, chance = ask.domain, self.probability
        column, places = domain.number(self.column), place_grid(self.column, domain)
        score = Ranks((chance.numerator,), chance.denominator)
        tally = Sum(places.cells(), (Block(Ones()),))
        chosen = ask.select(Choice(tally, score), self.label, POINT_SHARE)
        place = int(chosen.indices[0])
        value = places.value(place, noiseless=ask.noiseless)
        edges, cuts = places.edges, places.around(place)
        cells = Edges(self.column, tuple(cuts.tolist()), gaps=column.missing)
        query = Sum(cells, (Block(Ones()),))
        answer = ask.measure(query, f"rows around the {self.label}", 1 - POINT_SHARE)
        counts, about = values_of(answer, column)
        low, high = _rank_interval(
            counts,
            cuts,
            places.may_hold_rows(cuts),
            float(chance),
            answer.noises[0],
            sampled=self.population,
        )
        low, high = min(low, edges[place]), max(high, edges[place + 1])
        low, high = within(low, high, column)
        low, high = min(low, value), max(high, value)
        note = notes_of(about, wide_note(low, high, column))
        made = Release(self.label, value, low, high, (), column.unit, note)
        return replace(made, population=True) if self.population else made


def values_of(answer: Measurement, column: Number) -> tuple[Floats, str]:
    """Return counts of rows between cuts, and a remark on rows without a value."""
    counts = answer.tables[0][:, 0].astype(float)
    if not column.missing:
        return counts, ""
    return counts[:-1], present_note(counts[:-1], counts[-1:], answer.noises[0])


def _rank_interval(
    counts: Floats,
    cuts: Floats,
    held: NDArray[np.bool_],
    chance: float,
    noise: Noise,
    *,
    sampled: bool = False,
) -> tuple[float, float]:
    """Return cuts between which the quantile lies, given noisy counts between cuts.

    The quantile is at or below a cut if the surplus there (rows up to the cut, less the
    wanted rank) is not negative. Coming from the left, cuts whose surplus is surely
    negative are passed. That is wrong only if the first cut at or after the quantile is
    passed, which has a probability of at most 5 %. The same holds from the right. The
    interval is stretched to the chosen place, whose noise is independent, so only one
    side can fail: the interval covers with 95 %, whatever the data.

    ``held`` is False for cells that cannot hold rows. For rows that were ``sampled``,
    the number below the population's quantile is binomial. That varies on top of the
    noise, and both sides can fail.
    """
    counts = np.where(held, counts, 0.0)  # what is known to be empty has no noise
    below, above = np.cumsum(counts)[:-1], counts[::-1].cumsum()[::-1][1:]
    surplus = (1 - chance) * below - chance * above
    left, size = np.cumsum(held)[:-1].tolist(), int(held.sum())
    varies, level = 0.0, 2 * LEVEL - 1
    if sampled:
        rows = max(float(counts.sum()), 1.0) + math.sqrt(size * noise.variance)
        varies, level = math.sqrt(rows * chance * (1 - chance)), LEVEL
    far = np.array([far_from(i, size - i, chance, noise, level, varies) for i in left])
    # Cuts at the ends of the range say nothing: the interval starts there anyway.
    fine = (surplus < -far) | (cuts <= cuts[0])
    low = cuts[int(np.argmin(np.append(fine, False))) - 1]
    fine = (surplus >= far) | (cuts >= cuts[-1])
    high = cuts[-int(np.argmin(np.append(fine[::-1], False)))]
    return float(low), float(high)


@lru_cache(maxsize=1024)
def far_from(
    left: int,
    right: int,
    chance: float,
    noise: Noise,
    level: float = 2 * LEVEL - 1,
    sampling: float = 0.0,
) -> float:
    """Return how far noise lowers a surplus of so many cells, but for 5 % of draws."""
    weights = [1 - chance] * left + [chance] * right
    return combined_reach(weights, noise, level, sampling)


def within(low: float, high: float, column: Number) -> tuple[float, float]:
    """Return the ends of an interval, on whole numbers if the column has only those."""
    if column.integer:
        low, high = math.ceil(low), math.floor(high)
    # Floats: whole numbers past 2^63 do not fit into arrays.
    return float(max(low, column.lower)), float(min(high, column.upper))


@documented_statistic
@dataclass(frozen=True)
class Quantiles:
    """Several quantiles of a column from one noisy cumulative count.

    Parameters
    ----------
    probabilities
        Each from 0 to 1.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts of the rows between places, on levels of finer and finer cells.
    Bound        1 on each level: a row is in one cell of it.
    Composition  the levels have equal shares, so it costs exactly ``epsilon``.

    >>> from discreto import Domain, plan
    >>> several = Quantiles("x0", (Fraction(1, 4), Fraction(3, 4)))
    >>> found = plan.statistics(Domain.cube(1), several, epsilon=1)
    >>> {ask.sensitivity for ask in found}, found.total
    ({(1,)}, Cost(ε 1))
    """

    column: str
    probabilities: tuple[Fraction, ...]
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        kind = "quantiles"
        if self.probabilities == (Fraction(1, 2),):
            kind = "median"
        return f"{kind} of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        if not self.probabilities:
            raise ParameterError("quantiles need at least one probability.")
        groups = group_keys(self.by, ask.domain)
        about: list[str] = []
        places, ranks, noise = cumulative(
            ask, self.column, self.by, self.label, about=about
        )
        chances = [float(p) for p in self.probabilities]
        ends = [[_descend(chance, part, noise) for chance in chances] for part in ranks]
        made = self._release(np.array(ends), places, groups, ask)
        return replace(made, note=notes_of("".join(about), made.note))

    def _release(
        self, ends: Ints, places: Places, groups: tuple[Any, ...], ask: Ask
    ) -> Release:
        # Quantiles rise with their probability.
        column, chances = ask.domain.number(self.column), self.probabilities
        order = np.argsort([float(p) for p in chances], kind="stable")
        ends[:, order] = np.maximum.accumulate(ends[:, order], axis=1)
        ends = ends.reshape(-1, 3)
        edges, centres = places.edges, places.centres()
        value = centres[ends[:, 0]]
        if ask.noiseless:
            chosen = ends[:, 0].tolist()
            value = np.array([places.value(p, noiseless=True) for p in chosen])
        value = np.clip(value, column.lower, column.upper)
        pairs = [within(edges[a], edges[b], column) for _, a, b in ends.tolist()]
        low, high = np.array(pairs, dtype=float).T
        keys: tuple[Any, ...] = tuple(float(p) for p in chances)
        if groups:
            each = [key if isinstance(key, tuple) else (key,) for key in groups]
            several = keys if len(keys) > 1 else ()
            keys = tuple((*g, p) for g in each for p in several) or groups
        note = wide_note(low, high, column)
        return Release(self.label, value, low, high, keys, column.unit, note)


def _descend(chance: float, ranks: Floats, noise: Noise) -> tuple[int, int, int]:
    """Return the cell of a quantile, and the edges between which it lies with 95 %.

    Coming from outside, edges whose rank is surely wrong are passed, first in coarse
    steps, then in finer ones. On each level that goes wrong only at the first edge
    beyond the quantile. The levels are wrong together most of the time, and no table
    brings both ends to their limit (``benchmarks/quantile_tables.py`` looks for one).
    """
    last = ranks.size - 1
    surplus = ranks - chance * ranks[-1]
    squares, fourths = surplus_powers(last, chance)
    strides = strides_of(last)
    low, high = 0, last
    levels = list(zip(strides, _TAILS[len(strides) - 1 :: -1], strict=True))
    if ranks[-1] < _fewest(last, noise):
        levels = []  # there may be no rows: the interval is the whole range
    for stride, tail in levels:
        far = sum_reach(squares, fourths, noise, 1 - 2 * tail)
        while low + stride < last and surplus[low + stride] < -far[low + stride]:
            low += stride
        while (step := (high - 1) // stride * stride) > 0 and surplus[step] >= far[
            step
        ]:
            high = step
    high = max(high, low + 1)
    rising = _rising(surplus[low + 1 : high])
    return low + int(np.searchsorted(rising, 0.0)), low, high


@lru_cache(maxsize=64)
def _fewest(bins: int, noise: Noise) -> float:
    """Return the noisy row count from which there surely are rows."""
    squares, fourths = surplus_powers(bins, 0.0)  # at the last edge: of all rows
    return float(sum_reach(squares[-1:], fourths[-1:], noise, NO_ROWS)[0])


def _rising(heights: Floats) -> Floats:
    """Return the nearest sequence that never falls, as true ranks do."""
    if heights.size < 2:
        return heights
    from scipy.optimize import isotonic_regression  # slow to import

    rising: Floats = isotonic_regression(heights).x
    return rising
