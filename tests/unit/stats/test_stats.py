"""Asking: keys, bad input, and tables with nothing in them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.core import compiled
from discreto.errors import DomainError, LedgerError, ParameterError
from discreto.stats import Quantile
from discreto.testing import simulate

stats = dp.stats
DOMAIN = dp.Domain(
    {
        "x": dp.Number(0, 10),
        "y": dp.Number(0, 10),
        "k": dp.Number(0, 5, integer=True),
        "c": dp.Category(("a", "b")),
        "id": dp.Opaque(),
    }
)


def rows(count: int) -> dict[str, Any]:
    return {
        "x": np.linspace(0, 10, count),
        "y": np.linspace(5, 10, count),
        "k": np.arange(count) % 6,
        "c": np.resize(["a", "b"], count),
        "id": np.arange(count),
    }


@pytest.fixture
def ledger() -> dp.Ledger:
    return dp.Ledger(epsilon=10)


@pytest.fixture
def table(ledger: dp.Ledger) -> dp.Table:
    return dp.Table(rows(40), DOMAIN, ledger)


EVERY: dict[str, Callable[..., dp.Release]] = {
    "count": lambda t, **k: stats.count(t, **k),
    "count by": lambda t, **k: stats.count(t, by="c", **k),
    "sum": lambda t, **k: stats.sum(t, "x", **k),
    "sum by": lambda t, **k: stats.sum(t, "x", by=["c"], **k),
    "mean": lambda t, **k: stats.mean(t, "x", **k),
    "mean by": lambda t, **k: stats.mean(t, "x", by="c", **k),
    "variance": lambda t, **k: stats.variance(t, "x", **k),
    "std": lambda t, **k: stats.std(t, "x", **k),
    "covariance": lambda t, **k: stats.covariance(t, ["x", "y"], **k),
    "covariance 3": lambda t, **k: stats.covariance(t, ["x", "y", "k"], **k),
    "correlation": lambda t, **k: stats.correlation(t, ["x", "y"], **k),
    "correlation 3": lambda t, **k: stats.correlation(t, ["x", "y", "k"], **k),
    "histogram": lambda t, **k: stats.histogram(t, "x", bins=4, **k),
    "contingency": lambda t, **k: stats.histogram(t, ["c", "k"], **k),
    "mode": lambda t, **k: stats.mode(t, "c", **k),
    "mode of k": lambda t, **k: stats.mode(t, "k", **k),
    "median": lambda t, **k: stats.median(t, "x", **k),
    "quantile": lambda t, **k: stats.quantile(t, "k", "0.25", **k),
    "quantiles": lambda t, **k: stats.quantile(t, "x", ["0.25", "0.5"], **k),
    "min": lambda t, **k: stats.min(t, "x", **k),
    "max": lambda t, **k: stats.max(t, "k", **k),
    "bounds": lambda t, **k: stats.bounds(t, "x", **k),
}


@pytest.mark.parametrize("place", ["file", "memory"])
@pytest.mark.parametrize("name", EVERY)
def test_a_key_repeats_the_answer(name: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "people.ledger" if place == "file" else None
    ledger = dp.Ledger(path, epsilon=3)
    table = dp.Table(rows(40), DOMAIN, ledger, name="people")
    first = EVERY[name](table, epsilon="0.2", key="monday")
    for again in (table, dp.Table(rows(7), DOMAIN, ledger, name="people")):
        second = EVERY[name](again, epsilon="0.2", key="monday")
        for part in ("value", "low", "high"):
            assert np.array_equal(getattr(first, part), getattr(second, part))
        assert second.receipt.seq == first.receipt.seq == 1
        assert str(second) == str(first)
    assert ledger.spent() == dp.Cost.of("0.2")
    if path:
        kept = dp.Table(rows(7), DOMAIN, dp.Ledger(path), name="people")
        stored = EVERY[name](kept, epsilon="0.2", key="monday")
        assert np.array_equal(stored.value, first.value)
    with pytest.raises(LedgerError, match="another question"):
        EVERY[name](table, epsilon="0.3", key="monday")
    EVERY[name](table, epsilon="0.2", key="tuesday")
    assert ledger.spent() == dp.Cost.of("0.4")


def test_a_key_stands_for_one_question_about_one_table() -> None:
    ledger = dp.Ledger(epsilon=3)
    table = dp.Table(rows(40), DOMAIN, ledger, name="people")
    stats.histogram(table, "x", bins=[0, 1, 2], epsilon="0.2", key="h")
    wider = DOMAIN.with_(target=None)
    others = [
        (table, {"bins": [0, 1, 3]}),
        (dp.Table(rows(40), DOMAIN, ledger, name="others"), {"bins": [0, 1, 2]}),
    ]
    if wider.fingerprint != DOMAIN.fingerprint:
        same = dp.Table(rows(40), wider, ledger, name="people")
        others.append((same, {"bins": [0, 1, 2]}))
    for other, bins in others:
        with pytest.raises(LedgerError, match="another question"):
            stats.histogram(other, "x", **bins, epsilon="0.2", key="h")
    with pytest.raises(ParameterError, match="needs a name"):
        stats.count(dp.Table(rows(4), DOMAIN, ledger), epsilon="0.2", key="c")
    assert ledger.spent() == dp.Cost.of("0.2")


BAD_AMOUNTS = [0, -1, math.nan, math.inf, -math.inf, "1e999", "abc", None, True, "nan"]


@pytest.mark.parametrize("epsilon", BAD_AMOUNTS)
@pytest.mark.parametrize("name", ["count", "quantile", "mode"])
def test_bad_epsilon(name: str, epsilon: Any, table: dp.Table) -> None:
    with pytest.raises(ParameterError, match="epsilon must be"):
        EVERY[name](table, epsilon=epsilon)
    assert not table.ledger.spent()  # type: ignore[attr-defined]


@pytest.mark.parametrize("delta", [-1, 1, 2, math.nan, "x"])
def test_bad_delta(delta: Any, table: dp.Table) -> None:
    with pytest.raises(ParameterError, match="delta must be"):
        stats.count(table, epsilon=1, delta=delta)
    assert not table.ledger.spent()  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", ["0.1", 0.1, Fraction(1, 10), Decimal("0.1")])
def test_amounts_are_exact(epsilon: Any, table: dp.Table) -> None:
    assert stats.count(table, epsilon=epsilon).cost.epsilon == Fraction(1, 10)


REFUSED: dict[str, tuple[Callable[[dp.Table], Any], type, str]] = {
    "unknown column": (
        lambda t: stats.mean(t, "z", epsilon=1),
        DomainError,
        "'z' is not in the domain",
    ),
    "opaque": (lambda t: stats.count(t, by="id", epsilon=1), DomainError, "'id'"),
    "opaque mean": (lambda t: stats.mean(t, "id", epsilon=1), DomainError, "'id'"),
    "opaque mode": (lambda t: stats.mode(t, "id", epsilon=1), DomainError, "'id'"),
    "mean of a category": (
        lambda t: stats.mean(t, "c", epsilon=1),
        DomainError,
        "not a Number",
    ),
    "median of a category": (
        lambda t: stats.median(t, "c", epsilon=1),
        DomainError,
        "not a Number",
    ),
    "by a number": (
        lambda t: stats.mean(t, "x", by="y", epsilon=1),
        DomainError,
        "would be too many",
    ),
    "by twice": (
        lambda t: stats.count(t, by=["c", "c"], epsilon=1),
        ParameterError,
        "different names",
    ),
    "bins 0": (
        lambda t: stats.histogram(t, "x", bins=0, epsilon=1),
        ParameterError,
        "bins must be",
    ),
    "bins -1": (
        lambda t: stats.histogram(t, "x", bins=-1, epsilon=1),
        ParameterError,
        "bins must be",
    ),
    "bins huge": (
        lambda t: stats.histogram(t, "x", bins=10**12, epsilon=1),
        ParameterError,
        "bins must be",
    ),
    "bins text": (
        lambda t: stats.histogram(t, "x", bins="many", epsilon=1),  # type: ignore[arg-type]
        ParameterError,
        "bins must be",
    ),
    "bins unsorted": (
        lambda t: stats.histogram(t, "x", bins=[5, 1], epsilon=1),
        ParameterError,
        "sorted",
    ),
    "bins of texts": (
        lambda t: stats.histogram(t, "x", bins=["a", "b"], epsilon=1),  # type: ignore[list-item]
        ParameterError,
        "cuts must be",
    ),
    "bins with NaN": (
        lambda t: stats.histogram(t, "x", bins=[1, math.nan], epsilon=1),
        ParameterError,
        "cuts must be",
    ),
    "too many cells": (
        lambda t: stats.histogram(t, ["x", "y"], bins=2**20, epsilon=1),
        ParameterError,
        "too many cells",
    ),
    "probability 2": (
        lambda t: stats.quantile(t, "x", 2, epsilon=1),
        ParameterError,
        "probability must be",
    ),
    "probability -1": (
        lambda t: stats.quantile(t, "x", -1, epsilon=1),
        ParameterError,
        "probability must be",
    ),
    "no probability": (
        lambda t: stats.quantile(t, "x", [], epsilon=1),
        ParameterError,
        "at least one",
    ),
    "no columns": (
        lambda t: stats.histogram(t, [], epsilon=1),
        ParameterError,
        "needs a column",
    ),
    "one column": (
        lambda t: stats.covariance(t, "x", epsilon=1),
        ParameterError,
        "at least two",
    ),
    "a column twice": (
        lambda t: stats.correlation(t, ["x", "x"], epsilon=1),
        ParameterError,
        "different names",
    ),
    "mode of many": (
        lambda t: stats.mode(t, "x", epsilon=1),
        ParameterError,
        "histogram",
    ),
    "no table": (lambda t: stats.count(rows(3), epsilon=1), ParameterError, "Table"),  # type: ignore[arg-type]
}


@pytest.mark.slow
@pytest.mark.parametrize("what", REFUSED)
def test_bad_questions_cost_nothing(what: str, table: dp.Table) -> None:
    ask, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        ask(table)
    assert not table.ledger.spent()  # type: ignore[attr-defined]
    assert not table.ledger.entries()  # type: ignore[attr-defined]


def test_count_under_replace(ledger: dp.Ledger) -> None:
    domain = DOMAIN.with_(neighbours="replace", rows=40)
    table = dp.Table(rows(40), domain, ledger)
    with pytest.raises(ParameterError, match=r"domain\.rows"):
        stats.count(table, epsilon=1)
    assert not ledger.spent()
    with pytest.raises(DomainError, match="another number"):
        dp.Table(rows(39), domain, ledger)


def test_bad_tables(ledger: dp.Ledger) -> None:
    days = np.array(["2020-01-01"], dtype="datetime64[D]")
    with pytest.raises(DomainError, match="'x' is a Number in the domain but holds"):
        dp.Table(rows(1) | {"x": days}, DOMAIN, ledger)
    with pytest.raises(DomainError, match="'c' is a Category in the domain but holds"):
        dp.Table(rows(1) | {"c": days}, DOMAIN, ledger)
    less = {name: part for name, part in rows(3).items() if name != "y"}
    with pytest.raises(DomainError, match="lacks the column 'y'"):
        dp.Table(less, DOMAIN, ledger)
    with pytest.raises(DomainError, match="same length"):
        dp.Table(rows(3) | {"x": [1.0]}, DOMAIN, ledger)
    with pytest.raises(DomainError, match="must be an array"):
        dp.Table(rows(3) | {"x": 7}, DOMAIN, ledger)
    with pytest.raises(DomainError, match="Domain"):
        dp.Table(rows(3), {"x": (0, 10)}, ledger)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="ledger"):
        dp.Table(rows(3), DOMAIN, 3)  # type: ignore[arg-type]


def nothing() -> dict[str, dict[str, Any]]:
    none = np.array([None] * 5, dtype=object)
    numbers = np.full(5, np.nan)
    outside = np.array([-1e300, 1e300, math.inf, -math.inf, 11])
    foreign = np.array(["?", "", "ü", "NaN", "a "], dtype=object)
    names = ("x", "y", "k", "c")
    return {
        "empty": rows(0),
        "one row": rows(1),
        "all missing": dict.fromkeys(names[:3], numbers) | {"c": none, "id": none},
        "all None": dict.fromkeys(names, none) | {"id": none},
        "all outside": dict.fromkeys(names, outside)
        | {"c": outside.astype(object), "id": none},
        "all foreign": dict.fromkeys(names, foreign) | {"id": none},
        "empty lists": {n: [] for n in (*names, "id")},
    }


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("kind", nothing())
def test_tables_with_nothing_in_them(
    name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = dp.Domain(
        {
            "x": dp.Number(0, 10, missing=True),
            "y": dp.Number(0, 10, missing=True),
            "k": dp.Number(0, 5, integer=True, missing=True),
            "c": dp.Category(("a", "b"), missing=True),
            "id": dp.Opaque(),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for domain in (DOMAIN, missing):
            for noise in (True, False):
                table = dp.Table(nothing()[kind], domain, simulate(4, noise=noise))
                for delta in (0, "1e-6") if noise else (0,):
                    release = EVERY[name](table, epsilon="0.5", delta=delta)
                    for part in (release.low, release.high):
                        if not isinstance(part, str):  # of a mode of texts
                            assert np.all(np.isfinite(part))
                    assert str(release)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", EVERY)
def test_intervals_hold_their_value(name: str) -> None:
    table = dp.Table(rows(40), DOMAIN, simulate(8))
    for epsilon in ("0.05", "1", "20"):
        for _ in range(20):
            release = EVERY[name](table, epsilon=epsilon)
            if isinstance(release.value, str):
                assert release.low == release.value == release.high
                continue
            assert np.all(np.asarray(release.low) <= release.value)
            assert np.all(np.asarray(release.value) <= release.high)


def test_a_quantile_reads_its_probability_as_people_write_it() -> None:
    assert Quantile("age", 0.5) == Quantile("age") == Quantile("age", "1/2")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="probability must be"):
        Quantile("age", 1.5)  # type: ignore[arg-type]


def test_whoever_looks_for_statistics_on_a_table_is_told() -> None:
    table = dp.Table(
        {"x": [1.0, 2.0]}, dp.Domain({"x": dp.Number(0, 3)}), dp.Ledger(epsilon=1)
    )
    with pytest.raises(AttributeError, match=r"dp\.stats\.mean\(table"):
        table.mean("x", epsilon=1)
    assert not hasattr(table, "__array__")


@pytest.mark.parametrize("bounds", [(0, 100), (10, 100), (-20, 100), (-100, -10)])
@pytest.mark.parametrize("fast", [True, False])
def test_sums_and_ratios_clip_to_both_bounds(
    bounds: tuple[float, float], fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of Number(0, 100) a -999 is 0, not -100; a gap adds nothing."""
    copies, own = 300, "discreto.core.loops_numba"
    monkeypatch.setattr(
        compiled, "loops", lambda _, name=own: compiled.load(name) if fast else None
    )
    pa, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    cells = np.array([-999.0, 50.0, np.nan, -np.inf, 1e300, 20.0])
    rows = pa.table({"x": np.tile(cells, copies), "y": np.ones(6 * copies)})
    wanted = np.clip(cells[~np.isnan(cells)], *bounds).sum() * copies
    domain = dp.Domain({"x": dp.Number(*bounds), "y": dp.Number(0, 2)})
    connection = duckdb.connect()
    for source in (rows, connection.from_arrow(rows)):
        table = dp.Table(source, domain, simulate(noise=False))
        found = dp.stats.sum(table, "x", epsilon=1).value
        assert found == pytest.approx(wanted, rel=1e-6)
        ratio = dp.stats.ratio(table, "x", "y", epsilon=100)
        assert ratio.value == pytest.approx(wanted / (5 * copies), rel=1e-5)
