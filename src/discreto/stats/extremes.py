"""The smallest and the largest value of a column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreto.core.domain.domain import Number
from discreto.core.gate import Noise, bind, scale_for
from discreto.core.maps import Edges, Extreme, Ones
from discreto.core.query import Block, Choice, Sum
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._base import both_notes
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import Floats
from discreto.stats._quantile_grid import place_grid
from discreto.stats.quantiles import far_from, values_of, within

# A smaller share for the choice would leave more rows beyond the place.
POINT_SHARE = Fraction(2, 3)


@documented_statistic
@dataclass(frozen=True)
class Extremum:
    """The smallest or largest value, a few rows inside so that noise cannot miss it.

    A simulation without noise takes the outermost row itself.

    Parameters
    ----------
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
        return f"{'min' if self.side == 'low' else 'max'} of {self.column}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column, places = domain.number(self.column), place_grid(self.column, domain)
        tally = Sum(places.cells(), (Block(Ones()),))
        trial = bind(Choice(tally, Extreme(self.side, 1)), domain)
        scale = float(scale_for(trial, ask.cost * POINT_SHARE, whole=True))
        # All empty places together win with less than 5 % when they miss by this much.
        depth = math.ceil(scale * math.log(20 * places.bins))
        depth = 1 if ask.noiseless else depth
        choice = Choice(tally, Extreme(self.side, depth))
        place = int(ask.select(choice, self.label, POINT_SHARE).indices[0])
        value = places.value(place, noiseless=ask.noiseless)
        edges, cuts = places.edges, places.around(place)
        cells = Edges(self.column, tuple(cuts.tolist()), gaps=column.missing)
        query = Sum(cells, (Block(Ones()),))
        text = f"rows around the {self.label}"
        answer = ask.measure(query, text, 1 - POINT_SHARE)
        counts, about = values_of(answer, column)
        inner = _inner_end(counts, cuts, self.side, answer.noises[0], column)
        low, high = min(inner, edges[place]), max(inner, edges[place + 1])
        if self.side == "low":
            low, high = within(column.lower, high, column)
        else:
            low, high = within(low, column.upper, column)
        beyond = "" if ask.noiseless else f"about {depth} rows lie beyond it"
        note = both_notes(about, beyond)
        return Release(self.label, value, low, high, (), column.unit, note)


def _inner_end(
    counts: Floats, cuts: Floats, side: str, noise: Noise, column: Number
) -> float:
    """Return the furthest cut that surely has rows beyond it, coming from inside."""
    if side == "high":
        flipped = Number(-column.upper, -column.lower)
        return -_inner_end(counts[::-1], -cuts[::-1], "low", noise, flipped)
    below = np.cumsum(counts)[:-1]
    best = column.upper
    for i in range(cuts.size - 1, -1, -1):
        if cuts[i] >= column.upper:
            continue  # all rows are below it
        if below[i] <= far_from(i + 1, 0, 0.0, noise):
            break
        best = float(cuts[i])
    return best
