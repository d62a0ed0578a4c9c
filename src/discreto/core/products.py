"""Sums of products over the rows of one cell, compiled: a few columns at a time.

For many columns a product of matrices is quicker, and for several cells rows have to be
sorted; :mod:`discreto.core.aggregate` does both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.core import compiled
from discreto.core.domain import Domain
from discreto.core.query import Batch, Floats, Ints

WIDEST = 16  # factors for which loops are quicker
_ROWS = 1 << 12  # whose factors stay in the cache
_LOOPS = "discreto.core.products_numba"


def sums_of_products(rows: Floats, place: Ints) -> Ints | None:
    """All sums of products i <= j of clamped rows; None where there is no loop."""
    loops = compiled.load(_LOOPS) if len(rows) <= WIDEST else None
    if loops is None:
        return None
    out = _empty(len(rows))
    loops.add_products(rows, place, out)
    return out[None, :]


def factors_of(features: Any, domain: Domain) -> tuple[Any, ...]:
    """The column, origin and scale of each factor; none if loops do not take them."""
    found: tuple[Any, ...] = ()
    if hasattr(features, "factors"):
        found = features.factors(domain)
    return found if len(found) <= WIDEST else ()


def products_of_columns(
    features: Any,
    batch: Batch,
    length: int,
    domain: Domain,
    bounds: tuple[float, float, float, float],
    place: Ints,
) -> Ints | None:
    """The same, straight from columns whose factors are clamped one by one."""
    factors = factors_of(features, domain) if max(bounds[2:]) < 0 else ()
    loops = compiled.load(_LOOPS) if factors else None
    if loops is None:
        return None
    out, rows = _empty(len(factors)), np.empty((len(factors), min(length, _ROWS)))
    columns = [
        None if name is None else compiled.plain(batch[name], length)
        for name, _, _ in factors
    ]
    for start in range(0, length, _ROWS):
        stop = min(start + _ROWS, length)
        some = rows[:, : stop - start]
        for line, values, (_, origin, scale) in zip(
            some, columns, factors, strict=True
        ):
            if values is None:
                line[:] = min(scale, bounds[1])
            else:
                loops.fill(values[start:stop], origin, scale, *bounds[:2], line)
        loops.add_products(some, place[start:stop], out)
    return out[None, :]


def _empty(width: int) -> Ints:
    return np.zeros(width * (width + 1) // 2, dtype=np.int64)
