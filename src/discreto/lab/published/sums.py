"""S1: the SUM query with noise for its local sensitivity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreto.core.cost import Amount
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed


def local_sensitivity(values: ArrayLike) -> float:
    """How far the sum of *these* values moves when one of them is left out.

    >>> local_sensitivity([4, 2, 7, 1])
    7.0
    """
    return float(np.max(np.abs(np.asarray(values, dtype=np.float64)), initial=0.0))


def laplace_density(x: ArrayLike, scale: float, centre: float = 0.0) -> Floats:
    """The density of the Laplace distribution, which the slides give beside each noise.

    >>> 100 * laplace_density([-4.58, 12.15], 7).round(4)
    array([3.71, 1.26])
    """
    distance = np.abs(np.asarray(x, dtype=np.float64) - centre)
    return np.exp(-distance / scale) / (2 * scale)


@printed(
    "S1",
    "the example of the Laplace mechanism",
    "2",
    claim="ε, with b = 7/ε for {4, 2, 7, 1}",
    add_remove="∞: the scale itself depends on the rows; without the 7 the log ratio "
    "at ε = 1 is 1.2 at an output of 14, 6.1 at 60, 21 at 200",
    replace="∞",
    ours="discreto.stats.sum",
)
def local_sum(values: ArrayLike, *, epsilon: Amount, ledger: Any) -> float:
    """The sum plus Laplace noise of scale (local sensitivity) / ε.

    The definition on the slides is the global sensitivity, over all data sets. The
    example then takes the largest change of the one data set at hand.
    """
    noise = FloatNoise(ledger, "local_sum")
    scale = local_sensitivity(values) / amount(epsilon)
    return float(np.sum(np.asarray(values, dtype=np.float64)) + noise.laplace(scale))
