"""Intervals of differences of medians hold the population's, also where values repeat.

Whole numbers that are not declared ``integer``, prices in steps of 2.5, answers of
which half are one value: many rows share a value, and the quantile is exactly there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import discreto as dp
from discreto.testing import simulate

RUNS = 200
LEAST = 0.92  # of 200 at 95 % fewer than 184 are seen with a chance of .02
DOMAIN = dp.Domain(
    {
        "x": dp.Number(0, 100, missing=False),
        "g": dp.Category(["a", "b"], missing=False),
    }
)
Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(middle: float) -> Draw:
    return lambda draw, n: np.clip(draw.normal(middle, 15, n), 0, 100)


def rounded(middle: float, step: float) -> Draw:
    return lambda draw, n: np.round(normal(middle)(draw, n) / step) * step


def heaped(middle: float, share: float) -> Draw:
    return lambda draw, n: np.where(
        draw.random(n) < share, 50.0, normal(middle)(draw, n)
    )


# Two groups, the true difference of their medians, and rows.
CASES: dict[str, tuple[Draw, Draw, float, int]] = {
    "continuous": (normal(45), normal(48), 3.0, 3000),
    "whole numbers": (rounded(45, 1), rounded(48, 1), 3.0, 20_000),
    "steps of 2.5": (rounded(45, 2.5), rounded(48, 2.5), 2.5, 20_000),
    "one value": (heaped(45, 0.6), heaped(48, 0.3), 0.0, 600),
}


@pytest.mark.parametrize("name", CASES)
def test_they_cover(name):
    first, second, truth, rows = CASES[name]
    group, held = np.repeat(["a", "b"], rows // 2), 0
    for seed in range(RUNS):
        draw = np.random.default_rng(seed)
        x = np.concatenate([first(draw, rows // 2), second(draw, rows // 2)])
        table = dp.Table({"x": x, "g": group}, DOMAIN, simulate(seed))
        found = dp.stats.quantile_difference(table, "x", "g", epsilon=1)
        held += bool(found.low[0] <= truth + 1e-9 and truth - 1e-9 <= found.high[0])
    assert held >= LEAST * RUNS


def test_a_shared_value_gives_a_narrow_interval():
    x = np.repeat([40.0, 50.0], [5000, 5000])
    table = dp.Table({"x": x, "g": np.repeat(["a", "b"], 5000)}, DOMAIN, simulate(1))
    found = dp.stats.quantile_difference(table, "x", "g", epsilon=1)
    assert found.low[0] <= 10 <= found.high[0]
    assert found.high[0] - found.low[0] < 0.25  # four places of 4,096
