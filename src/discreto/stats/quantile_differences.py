"""How much larger a quantile of the population is in the second of two groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreto.core.domain.dates import difference_unit
from discreto.core.gate import Noise
from discreto.core.query import Ints
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._cumulative_counts import (
    crossing,
    cumulative,
    possible_edges,
    surplus_powers,
)
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import CLEAR, Floats, Z, two_sided, with_p_value
from discreto.stats.comparisons import two_groups


@documented_statistic
@dataclass(frozen=True)
class QuantileDifference:
    """How much larger a quantile is in the second of two groups, and a p-value.

    Parameters
    ----------
    probability
        Between 0 and 1; 1/2 is the median.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts by group and place, on levels of finer and finer cells.
    Bound        1 on each level: a row is in one cell of it.
    Composition  the levels have equal shares, so it costs exactly ``epsilon``.

    >>> from discreto import Category, Domain, Number, plan
    >>> domain = Domain({"age": Number(0, 120), "sex": Category(["f", "m"])})
    >>> found = plan.statistics(domain, QuantileDifference("age", "sex"), epsilon=1)
    >>> {ask.sensitivity for ask in found}, found.total
    ({(1,)}, Cost(ε 1))
    """

    column: str
    group: str
    probability: Fraction = Fraction(1, 2)

    @property
    def label(self) -> str:
        half = self.probability == Fraction(1, 2)
        kind = "median" if half else f"{float(self.probability):g}-quantile"
        return f"difference of the {kind} of {self.column} by {self.group}"

    def learn(self, ask: Ask) -> Release:
        if not 0 < self.probability < 1:
            raise ParameterError(f"{self.label!r} needs a probability from 0 to 1.")
        domain, chance = ask.domain, float(self.probability)
        two_groups(self.group, domain)
        unit = difference_unit(domain.number(self.column).unit)
        about: list[str] = []
        places, ranks, noise = cumulative(
            ask, self.column, (self.group,), self.label, about, used=2
        )
        note = "".join(about)
        edges = places.edges
        if ranks[:2, -1].min() < CLEAR * math.sqrt(3 * noise.variance):
            ends = np.array([0.0, edges[0] - edges[-1], edges[-1] - edges[0]])
            ends = ends[:, None]
            return with_p_value(self.label, ("difference",), 1.0, ends, unit, note)
        first, second = (_possible(chance, part, noise) for part in ranks[:2])
        centres, (least, most) = places.centres(), places.ends()
        value = float(centres[second[0]] - centres[first[0]])
        # Noises and samples of the two groups are independent. A value may lie anywhere
        # in its place: many rows may share one value, which is seldom the middle.
        one, two = first[1:][::-1], second[1:]
        low = np.quantile(least[two] - most[one], 0.025, method="lower")
        high = np.quantile(most[two] - least[one], 0.975, method="higher")
        ends = np.array([value, min(low, value), max(high, value)])
        error = max(value - low if value > 0 else high - value, 1e-300) / Z
        p = two_sided(value / error)
        return with_p_value(self.label, ("difference",), p, ends[:, None], unit, note)


def _possible(chance: float, ranks: Floats, noise: Noise) -> Ints:
    """Return the place of a quantile, and those where the population's may be."""
    last = ranks.size - 1
    squares, _ = surplus_powers(last, chance)
    sampling = math.sqrt(max(float(ranks[-1]), 1.0) * chance * (1 - chance))
    far = 5 * math.hypot(math.sqrt(noise.variance * np.median(squares)), sampling)
    surplus = ranks - chance * ranks[-1]
    # From the first edge that is not surely too low to the last not surely too high.
    # Where many rows share a value, the first may lie beyond the last.
    start = int(np.argmax(surplus >= -far))
    stop = last - int(np.argmax(surplus[::-1] <= far))
    window = (min(start, stop), max(start, stop))
    middle = window[0] + int(crossing(surplus[window[0] : window[1] + 1]))
    found = possible_edges(chance, ranks, noise, window, sampling)
    return np.clip(np.append(middle, found), 1, last) - 1  # the place below an edge
