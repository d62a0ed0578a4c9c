"""A release: its numbers, its JSON form, its text."""

from __future__ import annotations

import json

import numpy as np
import pytest

import discreto as dp
from discreto.release import Release, show_key
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 120, unit="years"),
        "sex": dp.Category(("f", "m"), missing=False),
        "flag": dp.Boolean(),
    }
)
DATA = {"age": [40, 50, 60, 20], "sex": ["f", "m", "f", "m"], "flag": [1, 0, 0, 1]}


@pytest.fixture
def table() -> dp.Table:
    return dp.Table(DATA, DOMAIN, dp.Ledger(epsilon=100))


def everything(table: dp.Table) -> list[Release]:
    ask, stats = {"epsilon": 1}, dp.stats
    return [
        stats.count(table, **ask),
        stats.count(table, by=["sex", "flag"], **ask),
        stats.sum(table, "age", **ask),
        stats.mean(table, "age", by="sex", **ask),
        stats.std(table, "age", **ask),
        stats.histogram(table, ["sex", "age"], bins=2, **ask),
        stats.mode(table, "sex", **ask),
        stats.mode(table, "flag", **ask),
        stats.quantile(table, "age", ["0.25", "0.5"], **ask),
        stats.max(table, "age", **ask),
        stats.bounds(table, "age", **ask),
    ]


def test_json_round_trip(table: dp.Table) -> None:
    for release in everything(table):
        back = Release.from_dict(json.loads(release.to_json()))
        assert (back.label, back.keys, back.unit) == (
            release.label,
            release.keys,
            release.unit,
        )
        for name in ("value", "low", "high"):
            assert np.array_equal(getattr(back, name), getattr(release, name))
        assert back.cost == release.cost
        assert back.neighbours == "add-remove"
        assert release.to_dict()["receipt"]["seq"] == release.receipt.seq
        assert str(back) == str(release)


def test_numbers(table: dp.Table) -> None:
    release = dp.stats.mean(table, "age", epsilon="0.5")
    assert float(release) == release.value
    assert release.error == pytest.approx((release.high - release.low) / 2)
    assert release.epsilon == 0.5
    assert not release.simulated
    several = dp.stats.count(table, by="sex", epsilon=1)
    assert np.asarray(several).shape == (2,)
    assert [key for key, _ in several.items()] == ["f", "m"]


def test_printing() -> None:
    even = Release("mean of age", 38.62, 38.2, 39.04, unit="years", cost=dp.Cost.of(1))
    assert str(even) == "38.62 ± 0.42 years (95 %), ε 1"
    uneven = Release("mean", 0.5, 0.0, 3.0, cost=dp.Cost.of("0.1"))
    assert str(uneven) == "0.5 [0.0, 3.0] (95 %), ε 0.1"
    whole = Release("count", 100, 97, 103, cost=dp.Cost.of(1))
    assert str(whole) == "100 ± 3 (95 %), ε 1"
    mode = Release("mode", "red", 0, 4, note="at most 4 rows short", cost=dp.Cost.of(1))
    assert str(mode) == "red (95 %), ε 1; at most 4 rows short"
    many = Release("h", np.arange(50), np.arange(50), np.arange(50), tuple(range(50)))
    assert str(many).splitlines()[-1] == "  ... 10 more"
    assert show_key(("a", 0.25)) == "a × 0.25"
    assert repr(whole) == "Release(count: 100 ± 3 (95 %), ε 1)"


def test_simulations_say_so() -> None:
    table = dp.Table(DATA, DOMAIN, simulate(1))
    release = dp.stats.count(table, epsilon=1)
    assert release.simulated
    assert str(release).startswith("SIMULATED ")
    assert release.to_dict()["receipt"]["simulated"] is True


def test_everything_prints(table: dp.Table) -> None:
    for release in everything(table):
        assert "ε 1" in str(release)
        assert release.label in repr(release)
