"""Statistics of rows in memory, next to numpy, pandas and polars."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl

import discreto as dp
from __main__ import Line
from discreto.data.engines import LocalEngine


def lines(rows: int) -> Iterator[Line]:
    """The lines."""
    rng = np.random.default_rng(0)
    x = rng.normal(50, 10, rows)
    few, many = rng.integers(0, 1000, rows), rng.integers(0, 10**5, rows)
    first, second = rng.integers(0, 100, rows), rng.integers(0, 100, rows)
    data = {"x": x, "few": few, "many": many, "first": first, "second": second}
    domain = dp.Domain(
        {
            "x": dp.Number(0, 100, missing=False),
            "few": dp.Category(range(1000), missing=False),
            "many": dp.Category(range(10**5), missing=False),
            "first": dp.Category(range(100), missing=False),
            "second": dp.Category(range(100), missing=False),
        }
    )
    ledger = dp.testing.simulate(0)
    table = dp.Table(data, domain, ledger, engine=LocalEngine(1))
    frame, series = pd.DataFrame(data), pl.DataFrame(data)
    column = series["x"]
    wanted = {"epsilon": 1}
    words = [f"code {i}" for i in range(10**5)]

    yield Line(
        "declaring 10^5 categories",
        lambda: dp.Category(words),
        {},
        0.1,
    )
    yield Line(
        "sum",
        lambda: dp.stats.sum(table, "x", **wanted),
        {"numpy": x.sum, "polars": column.sum},
        3,
    )
    yield Line(
        "mean",
        lambda: dp.stats.mean(table, "x", **wanted),
        {"numpy": x.mean, "polars": column.mean},
        3,
    )
    yield Line(
        "variance",
        lambda: dp.stats.variance(table, "x", **wanted),
        {"numpy": x.var, "polars": column.var},
        3,
    )
    yield Line(
        "median",
        lambda: dp.stats.median(table, "x", **wanted),
        {"numpy": lambda: np.median(x), "polars": column.median},
        3,
    )
    yield Line(
        "histogram of 20 bins",
        lambda: dp.stats.histogram(table, "x", bins=20, **wanted),
        {"numpy": lambda: np.histogram(x, 20, (0, 100))},
        3,
    )
    yield Line(
        "contingency table 100 x 100",
        lambda: dp.stats.count(table, by=["first", "second"], **wanted),
        {
            "numpy": lambda: np.bincount(first * 100 + second, minlength=10**4),
            "polars": lambda: series.group_by("first", "second").len(),
        },
        3,
    )
    yield Line(
        "mean by 1,000 groups",
        lambda: dp.stats.mean(table, "x", by="few", **wanted),
        {
            "pandas": lambda: frame.groupby("few")["x"].mean(),
            "polars": lambda: series.group_by("few").agg(pl.col("x").mean()),
        },
        2,
    )
    yield Line(
        "mean by 100,000 groups",
        lambda: dp.stats.mean(table, "x", by="many", **wanted),
        {"pandas": lambda: frame.groupby("many")["x"].mean()},
        2,
    )
    yield from _fifty(rows, rng)


def _fifty(rows: int, rng: np.random.Generator) -> Iterator[Line]:
    """Mean, variance, three quantiles, a histogram... of ten columns in one call."""
    names = [f"x{i}" for i in range(10)]
    data = {name: rng.normal(50, 10, rows) for name in names}
    domain = dp.Domain({name: dp.Number(0, 100, missing=False) for name in names})
    table = dp.Table(data, domain, dp.testing.simulate(0), engine=LocalEngine(1))
    frame = pl.DataFrame(data)
    wanted = [
        kind
        for name in names
        for kind in (
            dp.stats.Mean(name),
            dp.stats.Variance(name),
            dp.stats.Quantiles(name, (0.25, 0.5, 0.75)),
            dp.stats.Histogram((name,), 20),
            dp.stats.Total(name),
        )
    ]
    theirs = [
        expression
        for name in names
        for expression in (
            pl.col(name).mean().alias(f"{name} mean"),
            pl.col(name).var().alias(f"{name} variance"),
            pl.col(name).sum().alias(f"{name} sum"),
            *(pl.col(name).quantile(q).alias(f"{name} {q}") for q in (0.25, 0.5, 0.75)),
            (pl.col(name) / 5)
            .cast(pl.Int8)
            .value_counts()
            .implode()
            .alias(f"{name} h"),
        )
    ]
    yield Line(
        "50 statistics in one call",
        lambda: table.answers(wanted, epsilon=1),
        {"polars": lambda: frame.lazy().select(theirs).collect()},
        3,
    )
