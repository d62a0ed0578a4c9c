"""Public cut points of Number columns.

A file of its own, short as it is: views, naive Bayes and boosting share it, and none of
them may import another.
"""

from __future__ import annotations

import math

import numpy as np

from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.maps.cells import whole_numbers
from discreto.core.maps.trees import Grid


def grid_of(names: tuple[str, ...], domain: Domain, bins: int) -> Grid:
    """Return about ``bins`` cells of every Number column, from its range alone.

    An integer column with no more than twice as many values has a cell for each.
    """
    cuts: list[tuple[float, ...]] = []
    for name in names:
        column = domain[name]
        known = isinstance(column, Category)
        cuts.append(() if known else cuts_of(domain.number(name), bins))
    return Grid(names, tuple(cuts))


def cuts_of(column: Number, bins: int) -> tuple[float, ...]:
    """Return the inner cut points of a column.

    Half of them are evenly spaced over the range, half get closer toward 0 (or toward
    the bound next to it): many columns hold amounts, of which most are small.
    """
    low, high = column.lower, column.upper
    if 0 < whole_numbers(column) <= 2 * bins:
        return tuple(whole + 0.5 for whole in range(math.ceil(low), math.floor(high)))
    even = np.linspace(low, high, bins // 2 + 1)[1:-1]
    close = np.logspace(-4, 0, bins // 2)[:-1]
    if low < 0 < high:
        close = close[::2]
        steps = [*(high * close), *(low * close), 0.0]
    elif abs(high) < abs(low):
        steps = [*(high + (low - high) * close)]
    else:
        steps = [*(low + (high - low) * close)]
    inner = {float(cut) for cut in (*even, *steps) if low < cut < high}
    return tuple(sorted(inner))
