"""Without noise every statistic is what numpy says, to the precision of its grid."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.testing import simulate

ROWS = 997
COINS = np.random.default_rng(5)
X = np.clip(COINS.normal(40, 25, ROWS), -10, 90)
Y = np.clip(X * 0.4 + COINS.normal(0, 9, ROWS), -30, 60)
Z = COINS.uniform(5, 6, ROWS)
K = COINS.integers(0, 9, ROWS, endpoint=True)
GROUP = COINS.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])
DATA = {"x": X, "y": Y, "z": Z, "k": K, "group": GROUP}
DOMAIN = dp.Domain(
    {
        "x": dp.Number(-10, 90, missing=False),
        "y": dp.Number(-30, 60),
        "z": dp.Number(5, 6),
        "k": dp.Number(0, 9, integer=True),
        "group": dp.Category(("a", "b", "c"), missing=False),
    }
)


def quantile(values: np.ndarray, chance: float) -> float:
    """The smallest value whose rank is at least the wanted one."""
    place = max(math.ceil(chance * values.size - 1e-9), 1) - 1
    return float(np.sort(values)[place])


@pytest.fixture(params=["add-remove", "replace"])
def table(request: pytest.FixtureRequest) -> dp.Table:
    rows = ROWS if request.param == "replace" else None
    domain = DOMAIN.with_(neighbours=request.param, rows=rows)
    return dp.Table(DATA, domain, simulate(noise=False))


def test_moments(table: dp.Table) -> None:
    for delta in (0, "1e-6"):
        ask: dict[str, Any] = {"epsilon": 1, "delta": delta}
        for name in ("x", "k"):
            values = DATA[name]
            assert float(dp.stats.sum(table, name, **ask)) == pytest.approx(
                values.sum()
            )
            assert float(dp.stats.mean(table, name, **ask)) == pytest.approx(
                values.mean()
            )
            variance = dp.stats.variance(table, name, **ask)
            assert float(variance) == pytest.approx(values.var(), rel=1e-6)
            std = dp.stats.std(table, name, **ask)
            assert float(std) == pytest.approx(values.std(), rel=1e-6)
        both = np.array([X, Y])
        pair = dp.stats.covariance(table, ["x", "y"], **ask)
        assert float(pair) == pytest.approx(np.cov(both, ddof=0)[0, 1], rel=1e-6)
        pair = dp.stats.correlation(table, ["x", "y"], **ask)
        assert float(pair) == pytest.approx(np.corrcoef(both)[0, 1], rel=1e-5)
        three = np.array([X, Y, Z])
        matrix = dp.stats.covariance(table, ["x", "y", "z"], **ask)
        np.testing.assert_allclose(matrix.value, np.cov(three, ddof=0), atol=0.02)
        matrix = dp.stats.correlation(table, ["x", "y", "z"], **ask)
        np.testing.assert_allclose(matrix.value, np.corrcoef(three), atol=2e-4)


def test_groups(table: dp.Table) -> None:
    groups = [name == GROUP for name in "abc"]
    counts = dp.stats.count(table, by="group", epsilon=1)
    assert counts.items() == [(n, g.sum()) for n, g in zip("abc", groups, strict=True)]
    means = dp.stats.mean(table, "x", by="group", epsilon=1)
    np.testing.assert_allclose(means.value, [X[g].mean() for g in groups])
    sums = dp.stats.sum(table, "x", by="group", epsilon=1)
    np.testing.assert_allclose(sums.value, [X[g].sum() for g in groups])


def test_tallies(table: dp.Table) -> None:
    bins = dp.stats.histogram(table, "x", bins=7, epsilon=1)
    expected = np.histogram(X, bins=7, range=(-10, 90))[0]
    assert np.array_equal(bins.value, expected)
    whole = dp.stats.histogram(table, "k", epsilon=1)
    assert whole.items() == list(enumerate(np.bincount(K, minlength=10)))
    cuts = dp.stats.histogram(table, "x", bins=[0, 10.5, 50], epsilon=1)
    edges = np.searchsorted([0, 10.5, 50], X, side="left")
    assert np.array_equal(cuts.value, np.bincount(edges, minlength=4))
    crossed = dp.stats.histogram(table, ["group", "k"], epsilon=1)
    assert dict(crossed.items())[("b", 3)] == ((GROUP == "b") & (K == 3)).sum()
    assert dp.stats.mode(table, "group", epsilon=1).value == "a"
    assert dp.stats.mode(table, "k", epsilon=1).value == np.bincount(K).argmax()


def test_ranks(table: dp.Table) -> None:
    step = 100 / 2048  # half of the places are closer to 0
    for chance in (0.01, 0.25, 0.5, 0.75, 0.99):
        found = dp.stats.quantile(table, "x", chance, epsilon=1)
        assert abs(float(found) - quantile(X, chance)) <= step / 2 + 1e-9
        found = dp.stats.quantile(table, "k", chance, epsilon=1)
        assert float(found) == quantile(K, chance)
    several = dp.stats.quantile(table, "x", [0.9, 0.1, 0.5], epsilon=1)
    wanted = [quantile(X, p) for p in (0.9, 0.1, 0.5)]
    assert np.abs(several.value - wanted).max() <= 1.5 * step
    several = dp.stats.quantile(table, "k", [0.1, 0.5], epsilon=1)
    assert several.value.tolist() == [quantile(K, 0.1), quantile(K, 0.5)]
    low = dp.stats.min(table, "x", epsilon=100)
    high = dp.stats.max(table, "x", epsilon=100)
    assert low.low <= X.min() <= low.high <= X.min() + 5
    assert high.high >= X.max() >= high.low >= X.max() - 5


def test_missing_values_are_left_out() -> None:
    absent = np.arange(ROWS) % 5 == 0
    x, k = np.where(absent, np.nan, X), np.where(absent, np.nan, K)
    data = {"x": x, "y": Y, "k": k, "group": np.where(absent, None, GROUP)}
    columns = {
        "x": dp.Number(-10, 90, missing=True),
        "y": dp.Number(-30, 60),
        "k": dp.Number(0, 9, integer=True, missing=True),
        "group": dp.Category(("a", "b", "c"), missing=True),
    }
    table = dp.Table(data, dp.Domain(columns), simulate(noise=False))
    there = X[~absent]
    assert float(dp.stats.count(table, epsilon=1)) == ROWS
    assert float(dp.stats.sum(table, "x", epsilon=1)) == pytest.approx(there.sum())
    assert float(dp.stats.mean(table, "x", epsilon=1)) == pytest.approx(there.mean())
    assert float(dp.stats.mean(table, "k", epsilon=1)) == pytest.approx(
        K[~absent].mean()
    )
    variance = dp.stats.variance(table, "x", epsilon=1)
    assert float(variance) == pytest.approx(there.var(), rel=1e-6)
    pair = dp.stats.correlation(table, ["x", "y"], epsilon=1)
    expected = np.corrcoef(there, Y[~absent])[0, 1]
    assert float(pair) == pytest.approx(expected, rel=1e-5)
    median = float(dp.stats.median(table, "x", epsilon=1))
    # One place: without noise it is the roundest number of the place, not its middle.
    assert abs(median - quantile(there, 0.5)) <= 100 / 2048 + 1e-9
    assert np.sum(dp.stats.histogram(table, "x", epsilon=1).value) == there.size
    counts = dict(dp.stats.count(table, by="group", epsilon=1).items())
    assert counts["(missing or other)"] == absent.sum()
    assert counts["a"] == (GROUP[~absent] == "a").sum()


def test_adult() -> None:
    root = Path(__file__).parents[2]
    folder = Path(os.environ.get("DISCRETO_DATA", root.parent / "shared" / "data"))
    if not (folder / "adult.parquet").is_file():
        pytest.skip(f"the adult data set is not in {folder}; set DISCRETO_DATA.")
    import pyarrow.parquet as pq

    adult = pq.read_table(folder / "adult.parquet")
    domain = dp.Domain.load(folder / "adult.domain.json")
    assert domain.target is not None
    table = dp.Table(folder / "adult.parquet", domain, simulate(noise=False))
    names = [n for n, c in domain.columns.items() if isinstance(c, dp.Category)]
    for name in names:
        column = domain.category(name)
        values = adult[name].to_pylist()
        counts = [values.count(kind) for kind in column.categories]
        shown = dict(dp.stats.count(table, by=name, epsilon=1).items())
        assert [shown[kind] for kind in column.categories] == counts
        absent = len(values) - sum(counts)
        assert shown.get("(missing or other)", 0) == (absent if column.missing else 0)
        most = column.categories[int(np.argmax(counts))]
        assert dp.stats.mode(table, name, epsilon=1).value == most
    ages, target = adult["age"].to_numpy(), np.array(adult[domain.target].to_pylist())
    bounds = domain.number("age")
    ages = np.clip(ages.astype(float), bounds.lower, bounds.upper)
    means = dp.stats.mean(table, "age", by=domain.target, epsilon=1)
    for kind, value in means.items():
        assert value == pytest.approx(ages[target == kind].mean(), abs=1e-6)
