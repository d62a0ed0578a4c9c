"""Seeded noise for the algorithms as printed, in simulations only.

The sources draw real numbers from Laplace and Gaussian distributions, so this does,
too. Float noise is not private (its last bits show the true value), which is one more
reason why nothing in this package may ever be paid by a real ledger.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreto.core.cost import Amount, Cost, read_amount
from discreto.errors import UnsafeError

Floats = NDArray[np.floating[Any]]
Size = int | tuple[int, ...] | None

_LEAK = Cost.leak()


def amount(epsilon: Amount) -> float:
    """An epsilon as a float, if it is a finite number above 0."""
    return float(read_amount(epsilon, "epsilon"))


class FloatNoise:
    """The random numbers of one run, derived from a simulation ledger.

    Making one charges the ledger an infinite cost, which a real ledger refuses.
    ``random`` is for random numbers that are not noise (starting points, batches,
    subsets); they are tossed also where the simulation has its noise turned off.
    """

    def __init__(self, ledger: Any, label: str) -> None:
        simulation = getattr(ledger, "simulation", None)
        if simulation is None:
            raise UnsafeError(
                f"{label} as printed does not keep the promise that it prints, so it "
                "runs in simulations only. Pass ledger=discreto.testing.simulate(seed)."
            )
        ledger.charge(_LEAK, f"as printed: {label}")
        seed = int.from_bytes(simulation.sampler.entropy.bytes(16), "little")
        self.random = np.random.Generator(np.random.PCG64(seed))
        self._on = simulation.noise

    def laplace(self, scale: float | Floats, size: Size = None) -> Any:
        """Draws with density exp(-|x| / scale) / (2 scale)."""
        if self._on:
            return self.random.laplace(0.0, scale, size)
        return np.zeros(np.shape(scale) if size is None else size)[()]

    def gaussian(self, deviation: float, size: Size = None) -> Any:
        """Draws from the normal distribution with this standard deviation."""
        if self._on:
            return self.random.normal(0.0, deviation, size)
        return np.zeros(() if size is None else size)[()]

    def choose(self, log_weights: ArrayLike) -> int:
        """An index with probability proportional to exp(log_weights).

        The largest of log-weight + Gumbel noise has exactly that distribution, and
        nothing can overflow.
        """
        weights = np.asarray(log_weights, dtype=np.float64)
        if self._on:
            weights = weights + self.random.gumbel(size=weights.shape)
        return int(np.argmax(weights))

    def staircase(self, epsilon: float, size: tuple[int, ...]) -> Floats:
        """Staircase noise for a sensitivity of 1 (Geng, Viswanath 2014).

        Steps have width 1 and fall by e^-ε; each has a high part of width γ, with γ =
        1/(1 + e^(ε/2)), which has the smallest expected size.
        """
        if not self._on:
            return np.zeros(size)
        gamma = 1 / (1 + math.exp(min(epsilon / 2, 700.0)))
        probability = gamma / (gamma + (1 - gamma) * math.exp(-epsilon))
        sign = np.where(self.random.random(size) < 0.5, -1.0, 1.0)
        step = self.random.geometric(-math.expm1(-epsilon), size) - 1
        high = self.random.random(size) < probability
        place = self.random.random(size)
        within = np.where(high, gamma * place, gamma + (1 - gamma) * place)
        return sign * (step + within)

    def flips(self, probability: float, size: int) -> NDArray[np.bool_]:
        """True with this probability, or always where the noise is off."""
        if self._on:
            return self.random.random(size) < probability
        return np.ones(size, dtype=bool)
