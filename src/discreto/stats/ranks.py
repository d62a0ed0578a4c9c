"""Medians, quantiles, smallest and largest values.

One quantile is a noisy choice among the places of a public grid, followed by a noisy
count around the chosen place that gives its error bar. Several quantiles are read off
one noisy cumulative count, so ten cost no more than two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreto.errors import ParameterError
from discreto.kernel.domain import Domain, Number
from discreto.kernel.gate import Noise, scale_for
from discreto.kernel.query import Block, Choice, Sum
from discreto.planning import Ask
from discreto.queries import Bins, Edges, Extreme, Ones, Ranks
from discreto.queries.cells import whole_numbers
from discreto.release import Release
from discreto.stats._intervals import Floats, combined_reach

GRID = 4096  # places a quantile may have
FAN = 16  # how many parts a cell of the cumulative count has on the level below
POINT_SHARE = Fraction(2, 3)  # the rest pays for the error bar


def place_grid(name: str, domain: Domain) -> Bins:
    """The public places that a quantile of this column may take."""
    each = whole_numbers(domain.number(name))
    return Bins(name, each if 2 <= each <= GRID else GRID)


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column, with the interval that its rank noise allows."""

    column: str
    probability: Fraction = Fraction(1, 2)

    @property
    def label(self) -> str:
        if self.probability == Fraction(1, 2):
            return f"median of {self.column}"
        return f"{float(self.probability):g}-quantile of {self.column}"

    def learn(self, ask: Ask) -> Release:
        domain, chance = ask.domain, self.probability
        column, places = domain.number(self.column), place_grid(self.column, domain)
        score = Ranks((chance.numerator,), chance.denominator)
        tally = Sum(places, (Block(Ones()),))
        chosen = ask.select(Choice(tally, score), self.label, POINT_SHARE)
        place = int(chosen.indices[0])
        value = float(places.centres(domain)[place])
        cuts = ladder(places.edges(domain), place)
        query = Sum(Edges(self.column, tuple(cuts.tolist())), (Block(Ones()),))
        answer = ask.measure(query, f"rows around the {self.label}", 1 - POINT_SHARE)
        counts = answer.tables[0][:, 0].astype(float)
        low, high = _rank_interval(
            counts, cuts, float(chance), answer.noises[0], column
        )
        return Release(
            self.label, value, min(low, value), max(high, value), (), column.unit
        )


def ladder(edges: Floats, place: int) -> Floats:
    """Cuts around a place that double their distance outward, always as many.

    Cuts beyond the range pile up at its ends, where they part nothing.
    """
    step = edges[1] - edges[0]
    reach = max(1, math.ceil(math.log2(max(2, edges.size - 1))))
    away = step * (2.0 ** np.arange(reach + 1) - 1)
    cuts = np.concatenate([(edges[place] - away)[::-1], edges[place + 1] + away])
    clipped: Floats = np.clip(cuts, edges[0], edges[-1])
    return clipped


def _rank_interval(
    counts: Floats, cuts: Floats, chance: float, noise: Noise, column: Number
) -> tuple[float, float]:
    """Values whose rank may be the wanted one, given noisy counts between cuts."""
    below, above = np.cumsum(counts)[:-1], counts[::-1].cumsum()[::-1][1:]
    surplus = (1 - chance) * below - chance * above
    lefts = np.arange(1, counts.size)
    far = np.array(
        [
            combined_reach([1 - chance] * left + [chance] * (counts.size - left), noise)
            for left in lefts.tolist()
        ]
    )
    low = _crossing(surplus + far, cuts, column.lower)
    # The same from the other side.
    high = -_crossing((far - surplus)[::-1], -cuts[::-1], -column.upper)
    return min(low, high), max(low, high)


def _crossing(height: Floats, cuts: Floats, end: float) -> float:
    """Where ``height`` reaches 0 first, interpolated; ``end`` if it starts there."""
    first = int(np.argmax(height >= 0)) if (height >= 0).any() else height.size
    if first == 0:
        return end
    if first == height.size:
        return float(cuts[-1])
    before, after = height[first - 1], height[first]
    part = -before / (after - before) if after > before else 1.0
    return float(cuts[first - 1] + part * (cuts[first] - cuts[first - 1]))


@dataclass(frozen=True)
class Quantiles:
    """Several quantiles of a column from one noisy cumulative count."""

    column: str
    probabilities: tuple[Fraction, ...]

    @property
    def label(self) -> str:
        return f"quantiles of {self.column}"

    def learn(self, ask: Ask) -> Release:
        if not self.probabilities:
            raise ParameterError("quantiles need at least one probability.")
        domain = ask.domain
        column, places = domain.number(self.column), place_grid(self.column, domain)
        edges = places.edges(domain)
        strides = _strides(places.bins)
        left = np.zeros(places.bins + 1)
        right = np.zeros(places.bins + 1)
        lefts = np.zeros(places.bins + 1)
        rights = np.zeros(places.bins + 1)
        above = places.bins + FAN * strides[0]  # the whole range is one cell above
        for level, stride in enumerate(strides):
            cuts = edges[stride:-1:stride]
            query = Sum(Edges(self.column, tuple(cuts.tolist())), (Block(Ones()),))
            text = f"{self.label}, level {level + 1}"
            answer = ask.measure(query, text, Fraction(1, len(strides)))
            counts = answer.tables[0][:, 0].astype(float)
            sums = _level_sums(counts, stride, above, places.bins)
            left, right = left + sums[0], right + sums[1]
            lefts, rights = lefts + sums[2], rights + sums[3]
            above = stride
        rows = [
            self._one(
                float(p), edges, left, right, lefts, rights, answer.noises[0], column
            )
            for p in self.probabilities
        ]
        order = np.argsort([float(p) for p in self.probabilities], kind="stable")
        parts = np.array(rows).T
        for part in parts:  # quantiles rise with their probability
            part[order] = np.maximum.accumulate(part[order])
        keys = tuple(float(p) for p in self.probabilities)
        value, low, high = parts
        return Release(self.label, value, low, high, keys, column.unit)

    def _one(
        self,
        chance: float,
        edges: Floats,
        left: Floats,
        right: Floats,
        lefts: Floats,
        rights: Floats,
        noise: Noise,
        column: Number,
    ) -> tuple[float, float, float]:
        surplus = (1 - chance) * left - chance * right
        size = np.sqrt((1 - chance) ** 2 * lefts + chance**2 * rights)
        # Dozens of independent draws: their sum is close to normal.
        far = size * math.sqrt(noise.variance) * 1.96
        rising = _rising(surplus)
        at = int(np.clip(np.searchsorted(rising, 0.0), 1, edges.size - 1))
        value = (edges[at - 1] + edges[at]) / 2
        low = _crossing(_rising(surplus + far), edges, edges[0])
        high = -_crossing(_rising((far - surplus)[::-1]), -edges[::-1], -edges[-1])
        low, high = max(low, column.lower), min(high, column.upper)
        value = min(max(value, column.lower), column.upper)
        return value, min(low, value), max(high, value)


def _rising(heights: Floats) -> Floats:
    """The nearest sequence that never falls (the truth does not)."""
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
) -> tuple[Floats, Floats, Floats, Floats]:
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
    cells = np.concatenate([[0.0], np.cumsum(counts)])
    start, middle = first // stride, whole // stride
    stop = -(-last // stride)
    # The cell that holds the edge is split by the level below, if there is one.
    beyond = middle + (edge % stride != 0)
    left = np.where(inside, cells[middle] - cells[start], 0.0)
    right = np.where(inside, cells[stop] - cells[beyond], 0.0)
    left_count = np.where(inside, middle - start, 0)
    right_count = np.where(inside, stop - beyond, 0)
    return left, right, left_count.astype(float), right_count.astype(float)


@dataclass(frozen=True)
class Extremum:
    """The smallest or largest value, a few rows inside so that noise cannot miss it."""

    column: str
    side: Literal["low", "high"]

    @property
    def label(self) -> str:
        return f"{'min' if self.side == 'low' else 'max'} of {self.column}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column, places = domain.number(self.column), place_grid(self.column, domain)
        tally = Sum(places, (Block(Ones()),))
        trial = Choice(tally, Extreme(self.side, 1))
        scale = float(scale_for(trial, ask.cost * POINT_SHARE, domain))
        # All empty places together win with less than 5 % when they miss by this much.
        depth = math.ceil(scale * math.log(20 * places.bins))
        choice = Choice(tally, Extreme(self.side, depth))
        place = int(ask.select(choice, self.label, POINT_SHARE).indices[0])
        value = float(places.centres(domain)[place])
        cuts = ladder(places.edges(domain), place)
        query = Sum(Edges(self.column, tuple(cuts.tolist())), (Block(Ones()),))
        text = f"rows around the {self.label}"
        answer = ask.measure(query, text, 1 - POINT_SHARE)
        counts = answer.tables[0][:, 0].astype(float)
        inner = _inner_end(counts, cuts, self.side, answer.noises[0], column)
        ends = (column.lower, max(inner, value)), (min(inner, value), column.upper)
        low, high = ends[0] if self.side == "low" else ends[1]
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
        if below[i] <= combined_reach([1.0] * (i + 1), noise, level=0.9):
            break
        best = float(cuts[i])
    return best
