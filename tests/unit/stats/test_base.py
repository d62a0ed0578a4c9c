"""Answers about columns with gaps state how many rows have a value, at no cost."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import stats
from discreto.release.labels import label_in_words
from discreto.session import plan
from discreto.text.language import speaking

DOMAIN = dp.Domain(
    {
        "x": dp.Number(0, 10),
        "z": dp.Number(0, 10),
        "w": dp.Number(0, 100, integer=True),
        "loss": dp.Number(-10, 0),
        "signed": dp.Number(-10, 10),
        "high": dp.Number(5, 20),
        "full": dp.Number(0, 10, missing=False),
        "g": dp.Category(["a", "b"]),
        "h": dp.Category(["a", "b"]),
    }
)
HALF = Fraction(1, 2)
ASKED = {
    "mean": stats.Mean("x"),
    "mean by group": stats.Mean("x", ("g",)),
    "variance": stats.Variance("x"),
    "std by group": stats.Variance("x", root=True, by=("g",)),
    "median": stats.Quantile("x"),
    "median of whole numbers": stats.Quantile("w"),
    "quartiles": stats.Quantiles("x", (Fraction(1, 4), HALF)),
    "quartiles of whole numbers": stats.Quantiles("w", (Fraction(1, 4), HALF)),
    "medians by group": stats.Quantiles("x", (HALF,), ("g",)),
    "covariance": stats.Covariance(("x", "z")),
    "correlation": stats.Covariance(("x", "z"), correlation=True),
    "matrix": stats.Covariance(("x", "z", "w")),
    "correlation matrix": stats.Covariance(("x", "full", "z"), correlation=True),
    "sum": stats.Total("x"),
    "sum by group": stats.Total("x", ("g",)),
    "sum of losses": stats.Total("loss"),
    "sum of signed values": stats.Total("signed"),
    "sum of high values by group": stats.Total("high", ("g",)),
    "min": stats.Extremum("x", "low"),
    "max": stats.Extremum("w", "high"),
    "ratio": stats.RatioOfSums("x", "z"),
    "ratio of high values": stats.RatioOfSums("signed", "high"),
    "ratio to a full column": stats.RatioOfSums("signed", "full"),
    "ratio of losses": stats.RatioOfSums("loss", "x"),
    "weighted mean": stats.WeightedMean("x", "z"),
    "distribution": stats.Distribution("x", (3.0, 5.0)),
    "gini": stats.Inequality("x"),
    "lorenz": stats.Inequality("x", curve=True),
    "proportion": stats.Proportion((dp.col("x") > 5).node),
    "proportion by group": stats.Proportion((dp.col("x") > 5).node, ("g",)),
    "difference of means": stats.MeanDifference("x", "g"),
    "difference of means of groups with gaps": stats.MeanDifference("full", "h"),
    "difference of medians": stats.QuantileDifference("x", "g"),
    "difference of medians of whole numbers": stats.QuantileDifference("w", "g"),
    "difference of shares": stats.ProportionDifference((dp.col("x") > 5).node, "g"),
    "independence": stats.Independence("g", "h"),
    "trend": stats.Trend("x", "z"),
    "test of a correlation": stats.CorrelationTest("x", "full"),
}
POPULATION = "for the population behind the table: noise and sampling"


def rows(count: int, missing: float, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    gone = np.arange(count) < missing * count
    found = {name: rng.uniform(2, 8, count) for name in ("x", "z", "full")}
    found["w"] = rng.integers(20, 80, count).astype(float)
    found["loss"], found["signed"] = -found["x"], found["x"] - 5
    found["high"] = found["x"] + 7
    for name in ("x", "z", "w", "loss", "signed", "high"):
        found[name] = np.where(gone, np.nan, found[name])
    found["h"] = np.where(gone, "", np.array(["a", "b"])[rng.integers(0, 2, count)])
    order = rng.permutation(count)
    found = {name: part[order] for name, part in found.items()}
    return found | {"g": np.array(["a", "b"])[rng.integers(0, 2, count)]}


def remarks(release: dp.Release) -> str:
    """The note without what tests about populations and extremes always say."""
    parts = release.note.split("; ")
    others = [part for part in parts if not part.endswith(("beyond it", POPULATION))]
    return "; ".join(others)


def ask(name: str, missing: float, **more: Any) -> dp.Release:
    count = more.pop("count", 20_000)
    table = dp.Table(rows(count, missing), DOMAIN, dp.testing.simulate(1))
    return table.answer(ASKED[name], **({"epsilon": 1} | more))


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("name", ASKED)
class TestEach:
    def test_many_gaps_are_warned_of(self, name: str, delta: Any) -> None:
        note = ask(name, 0.96, delta=delta).note
        few = ("only about 3 %", "only about 4 %", "only about 5 %")
        assert note.startswith(few)

    def test_some_gaps_are_stated(self, name: str, delta: Any) -> None:
        note = remarks(ask(name, 0.15, delta=delta))
        assert note == "about 85 % of rows have a value"

    def test_without_gaps_nothing_is_said(self, name: str, delta: Any) -> None:
        assert remarks(ask(name, 0.0, delta=delta)) == ""

    def test_nothing_is_said_of_few_rows(self, name: str, delta: Any) -> None:
        found = ask(name, 0.5, delta=delta, count=5, epsilon="0.01")
        assert "of rows have a value" not in found.note


def with_and_without_gaps(neighbours: str) -> tuple[dp.Domain, dp.Domain]:
    rows = 1000 if neighbours == "replace" else None
    gaps = DOMAIN.with_(neighbours=neighbours, rows=rows)
    columns = {n: replace(c, missing=False) for n, c in DOMAIN.columns.items()}
    return gaps, gaps.with_(columns=columns)


def pairs_sums(name: str) -> bool:
    """Whether rows are counted by pairs of sums, which are in half steps."""
    return isinstance(ASKED[name], stats.Total | stats.RatioOfSums | stats.WeightedMean)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("name", [name for name in ASKED if not pairs_sums(name)])
def test_counting_rows_without_a_value_moves_no_bound_and_adds_no_noise(
    name: str, delta: Any, neighbours: str
) -> None:
    if name == "mean" and neighbours == "replace":
        return  # with a public number of rows, all of them present, it asks less
    found = [
        [(q.door, q.cost, q.sensitivity, q.noise) for q in one]
        for one in (
            plan.statistics(domain, ASKED[name], epsilon=1, delta=delta)
            for domain in with_and_without_gaps(neighbours)
        )
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("name", [*filter(pairs_sums, ASKED)])
def test_counting_rows_beside_sums_widens_intervals_by_a_twentieth_at_most(
    name: str, delta: Any, neighbours: str
) -> None:
    free = "signed values" not in name and "high values" not in name
    if name in ("sum", "sum of losses") and neighbours == "replace":
        return  # with a public number of rows, all of them present, it asks less
    data, found = rows(1000, 0.0), []
    for domain in with_and_without_gaps(neighbours):
        table = dp.Table(data, domain, dp.testing.simulate(noise=False))
        found.append(table.answer(ASKED[name], epsilon=3, delta=delta))
    gaps, full = found
    values = [np.ravel(one.value)[:2] for one in (gaps, full)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
    widths = [np.ravel(np.subtract(one.high, one.low))[:2] for one in found]
    assert np.all(widths[0] <= widths[1] * (1 + 1e-6 if free else 1.06))
    if neighbours == "add-remove" and free:
        np.testing.assert_allclose(widths[0], widths[1], rtol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("column", ["x", "loss", "signed", "w", "high"])
def test_sums_without_noise_are_exact(column: str, missing: float) -> None:
    data = rows(3000, missing)
    table = dp.Table(data, DOMAIN, dp.testing.simulate(noise=False))
    found = stats.sum(table, column, epsilon=1).value
    assert found == pytest.approx(np.nansum(data[column]), rel=1e-7)
    by = stats.sum(table, column, by="g", epsilon=1)
    each = [np.nansum(data[column][data["g"] == g]) for g in ("a", "b")]
    np.testing.assert_allclose(by.value[:2], each, rtol=1e-6, atol=1e-5)
    for below in {"x", "z", "full"} - {column}:
        both = ~np.isnan(data[column]) & ~np.isnan(data[below])
        exact = data[column][both].sum() / data[below][both].sum()
        found = stats.ratio(table, column, below, epsilon=1).value
        assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("asked", ["sum", "ratio", "weighted mean"])
def test_intervals_of_sums_with_gaps_hold(asked: str, delta: Any) -> None:
    data = rows(3000, 0.4)
    there = ~np.isnan(data["x"]) & ~np.isnan(data["z"])
    x, z = data["x"][there], data["z"][there]
    exact = {"sum": np.nansum(data["x"]), "ratio": x.sum() / z.sum()}
    exact["weighted mean"] = np.average(x, weights=z)
    found = [
        dp.Table(data, DOMAIN, dp.testing.simulate(seed)).answer(
            ASKED[asked], epsilon="0.3", delta=delta
        )
        for seed in range(100)
    ]
    held = sum(bool(one.covers(exact[asked])) for one in found)
    assert held >= 88  # 95 are expected; 88 or fewer have a chance of 0.2 %


@pytest.mark.slow
def test_the_interval_is_about_the_rows_with_a_value() -> None:
    held = 0
    data = rows(3000, 0.4)
    exact = np.nanmean(data["x"])
    for seed in range(100):
        table = dp.Table(data, DOMAIN, dp.testing.simulate(seed))
        held += bool(stats.mean(table, "x", epsilon="0.3").covers(exact))
    assert held >= 88  # 95 are expected; 88 or fewer have a chance of 0.2 %


def test_a_column_without_gaps_is_asked_as_before() -> None:
    found = plan.statistics(DOMAIN, stats.Mean("full"), epsilon=1)
    assert [question.sensitivity for question in found] == [(2**31,)]
    table = dp.Table(rows(500, 0.5), DOMAIN, dp.testing.simulate(0))
    assert stats.mean(table, "full", epsilon=1).note == ""


def test_leveled_means_and_views_say_it() -> None:
    table = dp.Table(rows(9000, 0.5), DOMAIN, dp.testing.simulate(0))
    leveled = stats.mean(table, "x", epsilon=1, level=0.9)
    assert leveled.note.startswith("only about 50 % of rows")
    seen = table.with_columns(double="x * 2")
    assert stats.mean(seen, "double", epsilon=1).note.startswith("only about 50 %")


def test_the_note_is_translated() -> None:
    note = ask("mean", 0.15).note
    for language in ("pt", "es", "fr"):
        with speaking(language):
            assert "85 %" in label_in_words(note)
            assert label_in_words(note) != note
