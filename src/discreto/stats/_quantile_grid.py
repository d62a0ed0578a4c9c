"""The public places that a quantile of a column may have, and cuts around one.

A column of few whole numbers has a place for each. Any other column has places evenly
over its range, and more and more of them towards 0 (or the bound next to it), so that
a median of 5 in a column that may reach 200,000 is not lost between two places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain, Number
from discreto.core.maps import Bins, Edges
from discreto.core.maps.cells import whole_numbers
from discreto.core.query import Cells
from discreto.stats._intervals import Floats

FAN = 16  # how many parts a cell of a cumulative count has on the level below
GRID = 4096  # places of a column that is not of few whole numbers
_EVEN = 2048  # of them, evenly over the range; the others are near 0
_OCTAVES = 24  # how often the range is halved towards 0
# Distances of cuts from a place, in places. Closer cuts give shorter intervals until
# the noise of their number outweighs that. A compromise, not an optimum: factors of 2
# were shorter than factors of 4 and 1.5 in most cases; fewer far cuts add less noise.
_AWAY = np.array([0, 1, 2, 4, 8, 20, 50, 125, 320, 800])


@dataclass(frozen=True)
class Places:
    """Cells of a column in order; a quantile is in one of them."""

    name: str
    column: Number
    edges: Floats

    @property
    def bins(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    def cells(self, stride: int = 1) -> Cells:
        """Return the places, or ``stride`` of them at a time, as a map of rows."""
        return _cells(self.name, self.column, stride)

    def centres(self) -> Floats:
        """Return a value of each place: its middle, a whole number where values are."""
        first, last = self.ends()
        middles: Floats = (first + last) / 2
        if self.column.integer:
            middles = np.where(first <= last, np.floor(middles), last)
        return np.clip(middles, self.column.lower, self.column.upper)

    def value(self, place: int, *, noiseless: bool = False) -> float:
        """Return a value of one place: its middle.

        Without noise it is the number with the fewest digits in the place, which is
        the exact value if values have few digits.
        """
        if noiseless and not self.column.integer:
            return roundest(float(self.edges[place]), float(self.edges[place + 1]))
        return float(self.centres()[place])

    def ends(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value that each place can hold."""
        first, last = self.edges[:-1], self.edges[1:]
        if self.column.integer:  # a value that equals a cut is in the place below it
            first, last = np.floor(first) + 1, np.floor(last)
            first[0] = math.ceil(self.column.lower)
        return first, last

    def may_hold_rows(self, cuts: Floats) -> NDArray[np.bool_]:
        """Return, for each cell between cuts, False if no row can be in it."""
        # A value that equals a cut is in the cell below it.
        first, last = cuts[0] >= self.column.lower, cuts[-1] < self.column.upper
        return np.concatenate([[first], np.diff(cuts) > 0, [last]])

    def around(self, place: int) -> Floats:
        """Return cuts around a place, further apart with every step outward.

        Their number does not depend on the place. Cuts beyond the range pile up at its
        ends, and no row is between two of them.
        """
        away = np.append(_AWAY[self.bins > _AWAY], self.bins)  # up to both ends
        left = np.maximum(place - away, 0)[::-1]
        right = np.minimum(place + 1 + away, self.bins)
        cuts: Floats = self.edges[np.concatenate([left, right])]
        return cuts


def roundest(low: float, high: float) -> float:
    """Return the number above ``low``, up to ``high``, with the fewest digits.

    >>> roundest(0.9961, 1.001), roundest(2851.6, 2861.3), roundest(-0.2, 0.3)
    (1.0, 2860.0, 0.0)
    """
    for digits in range(-math.ceil(math.log10(high - low)) - 1, 300):
        found = round(math.floor(high * 10.0**digits) / 10.0**digits, digits)
        if low < found <= high:
            return found
    return high


def place_grid(name: str, domain: Domain) -> Places:
    """Return the public places that a quantile of this column may take."""
    column = domain.number(name)
    return Places(name, column, _edges(column))


@lru_cache(maxsize=64)
def _cells(name: str, column: Number, stride: int) -> Cells:
    edges = _edges(column)
    if whole_numbers(column) == edges.size - 1 and stride == 1:
        return Bins(name, edges.size - 1)
    return Edges(name, tuple(edges[stride:-1:stride].tolist()))


@lru_cache(maxsize=64)
def _edges(column: Number) -> Floats:
    each = whole_numbers(column)
    if 2 <= each <= GRID:
        return np.arange(each + 1, dtype=float) + (math.ceil(column.lower) - 0.5)
    low, high = float(column.lower), float(column.upper)
    anchor, span = min(max(0.0, low), high), high - low
    dense = [
        anchor + sign * far * 2.0 ** -np.linspace(0, _OCTAVES, GRID)
        for sign, far in ((1.0, high - anchor), (-1.0, anchor - low))
        if far > 0
    ]
    cuts = _thinned(np.concatenate(dense), GRID - _EVEN)
    even = low + span * np.arange(1, _EVEN) / _EVEN
    cuts = np.unique(np.concatenate([even, cuts[(cuts > low) & (cuts < high)]]))
    if column.integer:
        cuts = np.unique(np.floor(cuts) + 0.5)
        cuts = cuts[(cuts > low) & (cuts < high)]
    # Exactly GRID places: what is missing lies evenly, where it parts nothing new.
    while cuts.size > GRID - 1:
        cuts = np.delete(cuts, np.argmin(np.diff(cuts, 2)) + 1)
    widest = np.concatenate([[low], cuts, [high]])
    while widest.size < GRID + 1:
        gaps = np.diff(widest)
        some = np.argsort(-gaps, kind="stable")[: GRID + 1 - widest.size]
        widest = np.sort(np.append(widest, widest[some] + gaps[some] / 2))
    return widest


def _thinned(values: Floats, count: int) -> Floats:
    """Return so many of these values, evenly by rank."""
    ordered = np.unique(values)
    keep = np.linspace(0, ordered.size - 1, min(count, ordered.size)).round()
    out: Floats = ordered[keep.astype(int)]
    return out
