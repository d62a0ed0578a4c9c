"""Medians, quantiles, smallest and largest values.

One quantile is a noisy choice among the places of a public grid, followed by a noisy
count around the chosen place that gives its error bar. Several quantiles are read off
one noisy cumulative count, so ten cost no more than two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from discreto.core.domain import Domain, Number
from discreto.core.gate import Noise, bind, scale_for
from discreto.core.maps import Edges, Extreme, Ones, Ranks
from discreto.core.query import Block, Choice, Ints, Sum
from discreto.errors import ParameterError
from discreto.release import LEVEL, Release
from discreto.rng import generator
from discreto.session import Ask
from discreto.stats._base import by_text, group_keys, grouped, read_probability
from discreto.stats._intervals import Floats, combined_reach, sum_reach
from discreto.stats._places import FAN, Places, place_grid

_TAILS = 0.06  # what both ends of the interval of one of several quantiles may miss
_DRAWS = 400  # possible noises behind an interval
POINT_SHARE = Fraction(2, 3)  # the rest pays for the error bar


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column, with the interval that its rank noise allows.

    Parameters
    ----------
    column
        The name of a Number column.
    probability
        From 0 to 1; 1/2 is the median.
    population
        Whether the interval is for those whom the rows were drawn from.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         a noisy choice of a place (2/3 of the cost), then counts of the rows
                 between cuts around it (1/3), for the error bar.
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
        """What is asked, as a ledger and a release name it."""
        if self.probability == Fraction(1, 2):
            return f"median of {self.column}"
        return f"{float(self.probability):g}-quantile of {self.column}"

    def learn(self, ask: Ask) -> Release:
        """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.

        Returns
        -------
        Release
            The answer with its error bar.
        """
        domain, chance = ask.domain, self.probability
        column, places = domain.number(self.column), place_grid(self.column, domain)
        score = Ranks((chance.numerator,), chance.denominator)
        tally = Sum(places.cells(), (Block(Ones()),))
        chosen = ask.select(Choice(tally, score), self.label, POINT_SHARE)
        place = int(chosen.indices[0])
        value = float(places.centres()[place])
        edges, cuts = places.edges, places.around(place)
        query = Sum(Edges(self.column, tuple(cuts.tolist())), (Block(Ones()),))
        answer = ask.measure(query, f"rows around the {self.label}", 1 - POINT_SHARE)
        counts = answer.tables[0][:, 0].astype(float)
        low, high = _rank_interval(
            counts, cuts, float(chance), answer.noises[0], sampled=self.population
        )
        low, high = min(low, edges[place]), max(high, edges[place + 1])
        low, high = _within(low, high, column)
        made = Release(
            self.label, value, min(low, value), max(high, value), (), column.unit
        )
        return replace(made, population=True) if self.population else made


def _rank_interval(
    counts: Floats, cuts: Floats, chance: float, noise: Noise, *, sampled: bool = False
) -> tuple[float, float]:
    """Cuts between which the quantile lies, given noisy counts between cuts.

    The quantile is at or below a cut when the surplus there (rows up to the cut, less
    the wanted rank) is not negative. Coming from the left, cuts whose surplus is
    surely negative are passed. That goes wrong only if the first cut at or after the
    quantile is passed, which has a chance of at most 5 %; so it is from the right. As
    the interval is stretched to the chosen place, whose noise is another one, only one
    side can fail: the interval covers with 95 %, whatever the data.

    Of rows that were ``sampled``, the number below the population's quantile varies as
    that of heads does, which comes on top of the noise; both sides can fail then.
    """
    below, above = np.cumsum(counts)[:-1], counts[::-1].cumsum()[::-1][1:]
    surplus = (1 - chance) * below - chance * above
    size = counts.size
    varies, level = 0.0, 2 * LEVEL - 1
    if sampled:
        rows = max(float(counts.sum()), 1.0) + math.sqrt(size * noise.variance)
        varies, level = math.sqrt(rows * chance * (1 - chance)), LEVEL
    far = np.array(
        [_far(i, size - i, chance, noise, level, varies) for i in range(1, size)]
    )
    # Cuts at the ends of the range say nothing: the interval starts there anyway.
    fine = (surplus < -far) | (cuts <= cuts[0])
    low = cuts[int(np.argmin(np.append(fine, False))) - 1]
    fine = (surplus >= far) | (cuts >= cuts[-1])
    high = cuts[-int(np.argmin(np.append(fine[::-1], False)))]
    return float(low), float(high)


@lru_cache(maxsize=1024)
def _far(
    left: int,
    right: int,
    chance: float,
    noise: Noise,
    level: float = 2 * LEVEL - 1,
    sampling: float = 0.0,
) -> float:
    """How far noise lowers a surplus of so many cells, but for a chance of 5 %."""
    weights = [1 - chance] * left + [chance] * right
    return combined_reach(weights, noise, level, sampling)


def _within(low: float, high: float, column: Number) -> tuple[float, float]:
    """The ends of an interval, on whole numbers if the column has only those."""
    if column.integer:
        low, high = math.ceil(low), math.floor(high)
    return max(low, column.lower), min(high, column.upper)


@dataclass(frozen=True)
class Quantiles:
    """Several quantiles of a column from one noisy cumulative count.

    Parameters
    ----------
    column
        The name of a Number column.
    probabilities
        Each from 0 to 1.
    by
        Names of Category columns; without them all rows are one group.

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
        """What is asked, as a ledger and a release name it."""
        kind = "quantiles"
        if self.probabilities == (Fraction(1, 2),):
            kind = "median"
        return f"{kind} of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.

        Returns
        -------
        Release
            The answer with its error bar.
        """
        if not self.probabilities:
            raise ParameterError("quantiles need at least one probability.")
        domain, groups = ask.domain, group_keys(self.by, ask.domain)
        places, strides, sums, noise = cumulative(ask, self.column, self.by, self.label)
        chances = [float(p) for p in self.probabilities]
        ends = [
            [_descend(chance, part, strides, noise) for chance in chances]
            for part in sums
        ]
        return self._release(np.array(ends), places, groups, domain)

    def _release(
        self, ends: Ints, places: Places, groups: tuple[Any, ...], domain: Domain
    ) -> Release:
        # Quantiles rise with their probability.
        column, chances = domain.number(self.column), self.probabilities
        order = np.argsort([float(p) for p in chances], kind="stable")
        ends[:, order] = np.maximum.accumulate(ends[:, order], axis=1)
        ends = ends.reshape(-1, 3)
        edges, centres = places.edges, places.centres()
        value = np.clip(centres[ends[:, 0]], column.lower, column.upper)
        pairs = [_within(edges[a], edges[b], column) for _, a, b in ends.tolist()]
        low, high = np.array(pairs, dtype=float).T
        keys: tuple[Any, ...] = tuple(float(p) for p in chances)
        if groups:
            each = [key if isinstance(key, tuple) else (key,) for key in groups]
            several = keys if len(keys) > 1 else ()
            keys = tuple((*g, p) for g in each for p in several) or groups
        return Release(self.label, value, low, high, keys, column.unit)


def cumulative(
    ask: Ask, column: str, by: tuple[str, ...], label: str
) -> tuple[Places, list[int], Floats, Noise]:
    """Noisy cumulative counts of a column, by group, on levels of finer cells.

    For each group and edge: the counts left and right of it, and how many noisy cells
    either adds up; before that the places between edges and the strides of the levels.
    """
    domain = ask.domain
    places = place_grid(column, domain)
    strides, groups = _strides(places.bins), group_keys(by, domain)
    sums = np.zeros((max(len(groups), 1), 4, places.bins + 1))
    above = places.bins + FAN * strides[0]  # the whole range is one cell above
    for level, stride in enumerate(strides):
        cells = grouped(by, places.cells(stride), domain)
        query = Sum(cells, (Block(Ones()),))
        text = f"{label}, level {level + 1}"
        answer = ask.measure(query, text, Fraction(1, len(strides)))
        counts = answer.tables[0].reshape(len(sums), -1).astype(float)
        parts = _level_sums(counts, stride, above, places.bins)
        for which, part in enumerate(parts):
            sums[:, which] += np.asarray(part, dtype=float)
        above = stride
    return places, strides, sums, answer.noises[0]


def _descend(
    chance: float, sums: Floats, strides: list[int], noise: Noise
) -> tuple[int, int, int]:
    """The cell of a quantile, and the edges between which it lies with 95 %.

    Coming from outside, edges whose rank is surely wrong are passed, first in coarse
    steps, then in finer ones. On each level that goes wrong only at the first edge
    beyond the quantile. Both sides have 3 % to lose, which their levels share: no
    table brings both to their limit at once.
    """
    left, right, lefts, rights = sums
    surplus = (1 - chance) * left - chance * right
    squares = (1 - chance) ** 2 * lefts + chance**2 * rights
    fourths = (1 - chance) ** 4 * lefts + chance**4 * rights
    low, high, last = 0, surplus.size - 1, surplus.size - 1
    for stride in strides:
        # The finest level decides most of the time, so it gets the most.
        share = 1 - 0.2 * (len(strides) - 1) if stride == 1 else 0.2
        far = sum_reach(squares, fourths, noise, 1 - _TAILS * share)
        while low + stride < last and surplus[low + stride] < -far[low + stride]:
            low += stride
        while (step := (high - 1) // stride * stride) > 0 and surplus[step] >= far[
            step
        ]:
            high = step
    high = max(high, low + 1)
    rising = _rising(surplus[low + 1 : high])
    return low + int(np.searchsorted(rising, 0.0)), low, high


def possible_edges(
    chance: float,
    sums: Floats,
    strides: list[int],
    noise: Noise,
    window: tuple[int, int],
    sampling: float = 0.0,
) -> Ints:
    """Where a quantile may be: its edge for many possible noises.

    The true ranks are the noisy ones less a noise whose distribution is public. With
    ``sampling`` they are those of a population of which the rows are a sample. That
    covers where rows outnumber the noise and lie spread out; ``_descend`` covers
    whatever the rows are.
    """
    law = "laplace" if noise.law == "laplace" else "gaussian"
    size = float(noise.amount) if law == "laplace" else math.sqrt(noise.variance)
    part = slice(window[0], window[1] + 1)
    lefts, rights, shifts = _unit_ranks(law, sums.shape[1] - 1, tuple(strides))
    surplus = (1 - chance) * sums[0, part] - chance * sums[1, part]
    moved = (1 - chance) * lefts[:, part] - chance * rights[:, part]
    below = surplus - size * moved + sampling * shifts[:, None] < 0
    edges: Ints = window[0] + below.sum(axis=1)
    return edges


@lru_cache(maxsize=8)
def _unit_ranks(
    law: str, bins: int, strides: tuple[int, ...]
) -> tuple[Floats, Floats, Floats]:
    """Unit noise on the ranks of edges, left and right, and normal shifts."""
    coins = generator(0)  # public: the same answer gives the same interval
    lefts, rights = np.zeros((2, _DRAWS, bins + 1))
    above = bins + FAN * strides[0]
    for stride in strides:
        shape = (_DRAWS, -(-bins // stride))
        drawn = (
            coins.laplace(size=shape) if law == "laplace" else coins.normal(size=shape)
        )
        left, right, _, _ = _level_sums(drawn, stride, above, bins)
        lefts, rights, above = lefts + left, rights + right, stride
    return lefts, rights, coins.normal(size=_DRAWS)


def _rising(heights: Floats) -> Floats:
    """The nearest sequence that never falls (the truth does not)."""
    if heights.size < 2:
        return heights
    from scipy.optimize import isotonic_regression  # slow to import

    rising: Floats = isotonic_regression(heights).x
    return rising


def _strides(bins: int) -> list[int]:
    """Cell sizes of the levels, from coarse to fine."""
    strides = [1]
    while bins > 2 * FAN * strides[0]:
        strides.insert(0, strides[0] * FAN)
    return strides


def _level_sums(
    counts: Floats, stride: int, above: int, bins: int
) -> tuple[Floats, Floats, Ints, Ints]:
    """For each edge: counts to its left and right within its cell of the level above.

    The first two are the noisy counts, the last two how many noisy cells they add up.
    """
    edge = np.arange(bins + 1)
    # An edge on a boundary of the level above needs nothing from this level.
    first = edge // above * above
    last = np.minimum(first + above, bins)
    inside = edge % above != 0
    inside[-1] = False
    whole = edge // stride * stride  # the last cell boundary at or left of the edge
    zero = np.zeros((*counts.shape[:-1], 1))
    cells = np.concatenate([zero, np.cumsum(counts, axis=-1)], axis=-1)
    start, middle = first // stride, whole // stride
    stop = -(-last // stride)
    # The cell that holds the edge is split by the level below, if there is one.
    beyond = middle + (edge % stride != 0)
    left = np.where(inside, cells[..., middle] - cells[..., start], 0.0)
    right = np.where(inside, cells[..., stop] - cells[..., beyond], 0.0)
    left_count = np.where(inside, middle - start, 0)
    right_count = np.where(inside, stop - beyond, 0)
    return left, right, left_count, right_count


@dataclass(frozen=True)
class Extremum:
    """The smallest or largest value, a few rows inside so that noise cannot miss it.

    Parameters
    ----------
    column
        The name of a Number column.
    side
        ``"low"`` for the smallest value, ``"high"`` for the largest.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         a noisy choice of a place (2/3 of the cost), then counts of the rows
                 between cuts around it (1/3), for the error bar.
    Bound        1 for the counts: a row is between two cuts. For the choice, how far
                 a row moves the score of a place.
    Composition  shares add up to one, so it costs exactly ``epsilon``.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(1), Extremum("x0", "low"), epsilon=1)
    >>> [ask.door for ask in found], found.total
    (['select', 'measure'], Cost(ε 1))
    """

    column: str
    side: Literal["low", "high"]

    @property
    def label(self) -> str:
        """What is asked, as a ledger and a release name it."""
        return f"{'min' if self.side == 'low' else 'max'} of {self.column}"

    def learn(self, ask: Ask) -> Release:
        """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.

        Returns
        -------
        Release
            The answer with its error bar.
        """
        domain = ask.domain
        column, places = domain.number(self.column), place_grid(self.column, domain)
        tally = Sum(places.cells(), (Block(Ones()),))
        trial = bind(Choice(tally, Extreme(self.side, 1)), domain)
        scale = float(scale_for(trial, ask.cost * POINT_SHARE, whole=True))
        # All empty places together win with less than 5 % when they miss by this much.
        depth = math.ceil(scale * math.log(20 * places.bins))
        choice = Choice(tally, Extreme(self.side, depth))
        place = int(ask.select(choice, self.label, POINT_SHARE).indices[0])
        value = float(places.centres()[place])
        edges, cuts = places.edges, places.around(place)
        query = Sum(Edges(self.column, tuple(cuts.tolist())), (Block(Ones()),))
        text = f"rows around the {self.label}"
        answer = ask.measure(query, text, 1 - POINT_SHARE)
        counts = answer.tables[0][:, 0].astype(float)
        inner = _inner_end(counts, cuts, self.side, answer.noises[0], column)
        low, high = min(inner, edges[place]), max(inner, edges[place + 1])
        if self.side == "low":
            low, high = _within(column.lower, high, column)
        else:
            low, high = _within(low, column.upper, column)
        note = f"about {depth} rows lie beyond it"
        return Release(self.label, value, low, high, (), column.unit, note)


def _inner_end(
    counts: Floats, cuts: Floats, side: str, noise: Noise, column: Number
) -> float:
    """The furthest cut that surely has rows beyond it, coming from inside."""
    if side == "high":
        flipped = Number(-column.upper, -column.lower)
        return -_inner_end(counts[::-1], -cuts[::-1], "low", noise, flipped)
    below = np.cumsum(counts)[:-1]
    best = column.upper
    for i in range(cuts.size - 1, -1, -1):
        if cuts[i] >= column.upper:
            continue  # all rows are below it
        if below[i] <= _far(i + 1, 0, 0.0, noise):
            break
        best = float(cuts[i])
    return best
