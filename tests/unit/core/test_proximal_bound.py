"""The bound of a proximal point pays for all that is not exact about it.

In units of c / (rows mu): 1 for the row, and for each of two neighbours what is left of
the gradient where the search stops, and what rounding rows to the grid may hide.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from silos import LINEAR, NAMES, parts

import discreto as dp
from discreto.core.maps import ClippedGradient, Scaled, proximal
from discreto.core.maps.gradients import TOP
from discreto.core.query import inside
from discreto.errors import ParameterError
from discreto.testing import simulate

ROWS = Scaled(NAMES, (0.0,) * 4, (1.0,) * 4, 0.3, 1.0, "l2")
GRADIENT = ClippedGradient(ROWS, "balance", (0.3, -0.5, 0.2, 0.0, 0.9), 0.4)


def left_of_gradient(monkeypatch, mu, rows):
    """Where the search for a minimum may stop, as a share of c / rows."""
    asked, real = [], proximal.minimise

    def spy(slope, starts, allowed, *rest):
        asked.append(float(np.max(allowed)))
        return real(slope, starts, allowed, *rest)

    monkeypatch.setattr(proximal, "minimise", spy)
    part = parts(0, [20])[0]
    table = dp.Table({name: part[name] for name in LINEAR}, LINEAR, simulate(0))
    query = proximal.question(GRADIENT, mu, rows, 20)
    source = table.gate()._source
    query.function.compute(
        lambda sums: source.fold(inside(sums, LINEAR)), query.cells, LINEAR
    )
    return max(asked) * rows / GRADIENT.clip


def most_declared():
    """The largest number of rows that a silo may declare."""
    low, high = 1, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        try:
            proximal.check_rows(GRADIENT, middle)
            low = middle
        except ParameterError:
            high = middle
    return low


TURN = ((1.0, 0.0, 0.0, 2.0, 0.0), *np.eye(5)[1:4].tolist(), (0.5, 0.0, 3.0, 0.0, -1.0))


@pytest.mark.parametrize(
    "basis", [(), tuple(map(tuple, TURN))], ids=["plain", "turned"]
)
def test_no_row_is_longer_than_is_said(basis):
    origins, scales = (0.0, -3.0, 5.0, 0.5), (1.0, 0.5, 2.0, 4.0)
    of = Scaled(NAMES, origins, scales, 0.3, 1.0, "l2")
    gradient = ClippedGradient(of, "balance", (0.0,) * 5, 0.4, basis=basis)
    said = proximal.steepness(gradient)
    rows = (np.array(list(product([-1.0, 1.0], repeat=4))) - origins) / scales
    rows = np.hstack([np.full((len(rows), 1), 0.3), rows])
    rows = rows @ np.array(basis).T if basis else rows
    longest = (rows * rows).sum(axis=1).max()
    assert longest <= said <= (4 if basis else 1 + 1e-9) * longest


@pytest.mark.parametrize(("mu", "rows"), [(1.0, 20.0), (0.5, 300.0)])
def test_the_bound_pays_for_what_is_not_exact(monkeypatch, mu, rows):
    left = left_of_gradient(monkeypatch, mu, rows)
    # Every number of a row is rounded by half a step; 2^30 steps are the clip.
    hidden = proximal.most_rows(most_declared()) * math.sqrt(GRADIENT.width) / 2 / TOP
    bound = proximal.Shift(GRADIENT, mu, rows, 20).bound()
    paid = bound * rows * mu / GRADIENT.clip
    assert 0 < left < 0.01
    assert paid >= 1 + 2 * (left + hidden) - 1e-7


@pytest.mark.parametrize(("mu", "rows"), [(0.5, 20.0), (3.0, 40.0)])
def test_a_search_may_go_as_far_as_all_rows_can_push_it(mu, rows):
    """Where all gradients are clipped and point one way, weights move by their sum."""
    pushed = proximal.most_rows(20) * GRADIENT.clip / (rows * mu)
    limits = proximal.limits_for(GRADIENT, mu, rows, 20)
    assert pushed <= limits.radius <= 1.02 * pushed
