"""Many runs for the price of a few: only the best of a secret random part is shown.

A list of runs is fixed before anything is read, and every one of them is made, each
with noise of its own and a noisy score. Then a secret number of them is drawn at
random, and what the best of those found is all that leaves. How many there are to
draw from does not matter; how their number is distributed does. If the chance of
k + 1 runs is at most (k + ODDS) / (k + 1) times that of k runs, runs of pure epsilon
cost (2 + ODDS) epsilon together (docs/proofs/selection.md has the proof, and what it
comes to with a delta).

Neither the number of drawn runs, nor which they are, nor their scores may be seen: so
all runs are made whatever was drawn, and the time it takes says nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

from discreto.core.charge import Reservation
from discreto.core.cost import Cost, epsilon_for
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.gaussian import GRID_PART, log_tail
from discreto.errors import ParameterError

T = TypeVar("T")
Work = Callable[[int, tuple[Reservation, ...]], tuple[int, T]]

ODDS = Fraction(7, 10)
MOST_RUNS = 4096
_FIRST = 1 << 48  # the weight of a single run


@dataclass(frozen=True, slots=True)
class HiddenRuns:
    """So many runs, the best of a secret random part of which is shown.

    >>> runs = HiddenRuns(32)
    >>> runs.each(Fraction(27, 10)), runs.total(Cost(epsilon=Fraction(1)))
    (Cost(ε 1), Cost(ε 2.7))
    """

    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or not 1 <= self.count <= MOST_RUNS:
            raise ParameterError(
                f"runs must be a whole number from 1 to {MOST_RUNS}. "
                f"Got {self.count!r}."
            )

    def weights(self) -> list[int]:
        """How likely one run is to be drawn, two, ..., up to all of them."""
        out = [_FIRST]
        for k in range(1, self.count):  # rounded down: the proof needs "at most"
            out.append(math.floor(out[-1] * (k + ODDS) / (k + 1)))
        return out

    def mean(self) -> Fraction:
        """How many runs are drawn on average."""
        weights = self.weights()
        drawn = sum(k * w for k, w in enumerate(weights, start=1))
        return Fraction(drawn, sum(weights))

    def each(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Cost:
        """What a run may cost where all of them may cost (epsilon, delta) together."""
        if not delta:
            return Cost(epsilon=epsilon / (2 + ODDS))
        return Cost(rho=_rho_of_each(self, epsilon, delta))

    def total(self, each: Cost, delta: Fraction = Fraction(0)) -> Cost:
        """What runs of this cost come to together: pure epsilon, or a block."""
        if each.infinite or bool(each.rho) == bool(each.epsilon) or each.block_epsilon:
            raise ParameterError(f"hidden runs need a cost of one kind. Got {each}.")
        if each.epsilon:
            return Cost(epsilon=each.epsilon * (2 + ODDS))
        return Cost(block_epsilon=self._epsilon(each.rho, delta), delta=delta)

    def _epsilon(self, rho: Fraction, delta: Fraction) -> Fraction:
        """The epsilon of Gaussian runs, at a delta.

        Each run by itself at delta over the mean number of runs, the largest change of
        how likely an outcome is to be the best, and a thousandth of rho for noise that
        is drawn on a grid, for each time that a run's chances enter.
        """
        spare = delta / math.ceil(self.mean())
        if spare <= 0:
            raise ParameterError("hidden runs of rho need a delta above 0.")
        alone = epsilon_for(rho, spare)
        grid = float(rho * GRID_PART * (1 + ODDS))
        rank = math.sqrt(2 * float(rho)) * _rank_slope(self.count)
        found = (alone + grid + rank) * (1 + 1e-9) + 1e-12
        if not math.isfinite(found):
            raise ParameterError("this delta is too small for hidden runs.")
        return Fraction(found)

    def best(
        self,
        paid: Sequence[Reservation],
        each: Sequence[Cost],
        work: Work[T],
    ) -> T:
        """Make all runs; what the best of those that are drawn found.

        ``paid`` are reservations, one for each table that runs ask. What all runs cost
        together is drawn on them, so nothing else can spend it, nor a second call. A
        run gets payers that hold what ``each`` says, one run's cost.
        ``work`` makes run number i with them and returns its noisy score and what it
        found; it must not show anything to anybody else.
        """
        for reservation, cost in zip(paid, each, strict=True):
            whole = reservation.receipt.cost
            if whole.delta and reservation.shared:
                # h grows with the root of two parts: docs/proofs/selection.md.
                raise ParameterError(
                    "hidden runs with a delta cannot be made in a part of a table "
                    "whose rows may be replaced."
                )
            if not whole.covers(self.total(cost, whole.delta)):
                raise ParameterError(f"{cost} for each run is more than was paid for.")
        for reservation, cost in zip(paid, each, strict=True):
            # Drawn at once: what is left would pay for the same runs again.
            total = self.total(cost, reservation.receipt.cost.delta)
            reservation.charge(total, f"{self.count} hidden runs")
        drawn = self._draw(paid[0])
        found = []
        for number in range(self.count):
            payers = tuple(
                Reservation(p.ledger, replace(p.receipt, cost=cost))
                for p, cost in zip(paid, each, strict=True)
            )
            found.append(work(number, payers))
        scores = [
            score if i in drawn else -math.inf for i, (score, _) in enumerate(found)
        ]
        return found[scores.index(max(scores))][1]

    def _draw(self, payer: Reservation) -> frozenset[int]:
        """A secret part of the runs; all of them in a simulation without noise."""
        simulation = payer.simulation
        if simulation is not None and not simulation.noise:
            return frozenset(range(self.count))
        entropy = Entropy() if simulation is None else simulation.sampler.entropy
        bounds = list(accumulate(self.weights()))
        place = int(entropy.below(bounds[-1], 1)[0])
        size = 1 + sum(place >= bound for bound in bounds)
        return frozenset(entropy.order(self.count)[:size].tolist())


@lru_cache(maxsize=256)
def _rank_slope(count: int) -> float:
    """How fast, in mu, the chance that others are worse can change its logarithm.

    The least of (1 + ODDS) z + (count + ODDS) c(z) over z, where c(z) is the height of
    the tangent at z of the Gaussian profile phi(inverse of Phi) over its right end.
    """
    tries = [step / 64 for step in range(0, 64 * 8)]
    slopes = [float(1 + ODDS) * z + float(count + ODDS) * _height(z) for z in tries]
    return min(slopes)


def _height(z: float) -> float:
    """phi(z) - z (1 - Phi(z)), rounded up."""
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return density - z * math.exp(log_tail(z)) + 1e-12


@lru_cache(maxsize=256)
def _rho_of_each(runs: HiddenRuns, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho of a run (to 9 digits, rounded down)."""
    low, high = 0.0, 2 * float(epsilon) + 100
    for _ in range(60):
        middle = (low + high) / 2
        if runs._epsilon(Fraction(middle), delta) <= epsilon:
            low = middle
        else:
            high = middle
    if low <= 1e-12:
        raise ParameterError("this epsilon is too small for hidden runs.")
    scale = 10 ** max(0, 9 - math.floor(math.log10(low)))
    rho = Fraction(math.floor(Fraction(low) * scale), scale)
    while runs._epsilon(rho, delta) > epsilon:
        rho = Fraction(math.floor(rho * (1 - Fraction(1, 10**6)) * scale), scale)
    return rho
