"""The smallest and the largest value: exact without noise, further inside with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 10, integer=True), "y": dp.Number(-5, 20)})


def ends(rows: dict[str, Any], name: str, ledger: Any, **more: Any) -> list[Any]:
    table = dp.Table(rows, DOMAIN, ledger)
    both = (dp.stats.min, dp.stats.max)
    return [ask(table, name, **({"epsilon": 1} | more)) for ask in both]


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("epsilon", ["0.01", 1, 100])
@pytest.mark.parametrize("several", [1, 3])
def test_without_noise_they_are_exact(several: int, epsilon: Any, delta: Any) -> None:
    values = np.array([4, 2, 7, 1] * several)
    quiet, cost = simulate(noise=False), {"epsilon": epsilon, "delta": delta}
    rows = {"x": values, "y": values + 0.25}
    low, high = ends(rows, "x", quiet, **cost)
    assert (low.value, high.value, low.note, high.note) == (1, 7, "", "")
    assert low.low <= 1 <= low.high
    assert high.low <= 7 <= high.high
    low, high = ends(rows, "y", quiet, **cost)
    step = 25 / 2048  # the widest place of the public grid
    assert low.value == pytest.approx(1.25, abs=step)
    assert high.value == pytest.approx(7.25, abs=step)


def test_without_noise_values_with_few_digits_are_exact() -> None:
    values = [4, 2, 7, 1]
    low, high = ends({"x": values, "y": values}, "y", simulate(noise=False))
    assert (low.value, high.value) == (1, 7)
    table = dp.Table({"x": values, "y": values}, DOMAIN, simulate(noise=False))
    assert dp.stats.quantile(table, "y", 0.5, epsilon=1).value == 2
    assert dp.stats.quantile(table, "y", [0.25, 1], epsilon=1).value.tolist() == [1, 7]


@pytest.mark.parametrize("value", [0, 5, 10])
def test_one_row_is_both_ends(value: int) -> None:
    low, high = ends({"x": [value], "y": [value]}, "x", simulate(noise=False))
    assert (low.value, high.value) == (value, value)


@pytest.mark.slow
def test_with_noise_some_rows_lie_beyond_them() -> None:
    rng = np.random.default_rng(0)
    rows = {"x": rng.integers(0, 11, 5000), "y": rng.uniform(2, 3, 5000)}
    held = near = 0
    for seed in range(50):
        low, high = ends(rows, "y", simulate(seed))
        assert "rows lie beyond it" in low.note
        near += 1.99 < low.value < 2.1
        near += 2.9 < high.value < 3.01
        held += low.low <= rows["y"].min() <= low.high
        held += high.low <= rows["y"].max() <= high.high
    # At least 95 are expected of both; 86 or fewer have a chance of 0.1 %.
    assert near > 86
    assert held > 86


def test_what_cannot_be_asked_is_refused_before_the_charge() -> None:
    """A rehearsal has no noise, and yet refuses an epsilon that is too small."""
    for ledger in (dp.Ledger(epsilon=1), simulate(0), simulate(noise=False)):
        table = dp.Table({"x": [1], "y": [1]}, DOMAIN, ledger)
        with pytest.raises(dp.errors.ParameterError, match="depth"):
            dp.stats.min(table, "x", epsilon=1e-12)
        assert not ledger.spent().epsilon


def test_a_ledger_never_leaves_out_the_rows_beyond() -> None:
    rows = {"x": [4, 2, 7, 1], "y": [4, 2, 7, 1]}
    for found in ends(rows, "x", dp.Ledger(epsilon=3)):
        assert "rows lie beyond it" in found.note
