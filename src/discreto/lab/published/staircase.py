"""S4: staircase noise on every value of a table before a plain model learns from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreto.core.cost import Amount
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed


@printed(
    "S4",
    "staircase cleaning, before GNB and LR",
    "21",
    claim="ε for the whole table",
    add_remove="∞: there are as many noisy rows as rows",
    replace="ε, if ε is shared by all d + 1 attributes and ranges are public; ∞ for "
    "ranges read from the data",
    holds=("replace",),
    ours="discreto.local.LocalSanitizer",
)
def staircase_clean(
    values: ArrayLike,
    ranges: ArrayLike | None = None,
    *,
    epsilon: Amount,
    ledger: Any,
) -> Floats:
    """A table with staircase noise on every value, ε shared by all its columns.

    The slides do not say how ε is shared; they call it global, so each of the columns
    (the target is one of them) gets an equal part.

    Parameters
    ----------
    values
        Rows and columns, the target included.
    ranges
        The width of each column's public range. None: largest minus smallest value.
    """
    noise = FloatNoise(ledger, "staircase_clean")
    table = np.asarray(values, dtype=np.float64)
    widths = (
        np.ptp(table, axis=0) if ranges is None else np.asarray(ranges, dtype=float)
    )
    part = amount(epsilon) / table.shape[1]
    return table + widths * noise.staircase(part, table.shape)
