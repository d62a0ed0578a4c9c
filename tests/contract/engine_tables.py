"""One table of all that a row may hold, in every place where a table can lie."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreto as dp
from discreto.core.maps import (
    Bernstein,
    Bins,
    Block,
    Categories,
    ClippedGradient,
    CodeCounts,
    Completeness,
    Cross,
    Deviations,
    Edges,
    Everyone,
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    Gradients,
    Grid,
    HashParts,
    Indicator,
    LogisticGradient,
    Magnitudes,
    Margins,
    Nearest,
    NearestRows,
    Ones,
    Partition,
    Presence,
    Present,
    Rings,
    Scaled,
    Sides,
    SoftVotes,
    SplitHistogram,
    SquaredGradient,
    Tree,
    Values,
    WholeGroups,
    Within,
)
from discreto.core.query import Sum
from discreto.core.query_fold import by_query


def found_by_query(frame: Any, bound: Any) -> Any:
    """The sums that one query gives, after the core has compared its counts."""
    return by_query([bound], frame.query(bound), frame)[0]


WORDS = ["it's", 'a "b"', "é\n;--", "", "%s {}"]
DOMAIN = dp.Domain(
    {
        "a": dp.Number(0, 10, missing=True),
        "b": dp.Number(-1, 1),
        "n": dp.Number(0, 5, integer=True),
        "q": dp.Number(0, 1),
        "big": dp.Number(-1e150, 1e150),
        "far": dp.Number(100, 101.1),
        "s": dp.Category(["x", "y", "z"]),
        'odd "name"; --': dp.Category(WORDS, missing=True),
        "c": dp.Category([0, 1, 2.5, "7"]),
        "label": dp.Category(["no", "yes"]),
    }
)
ODD = 'odd "name"; --'
TYPES = {
    "int64": "BIGINT",
    "bool": "BOOLEAN",
    "string": "TEXT",
    "large_string": "TEXT",
    "float": "FLOAT4",
    "date32[day]": "DATE",
    "timestamp[us]": "TIMESTAMP",
}


def hostile(rows: int, seed: int = 0) -> pa.Table:
    """Ordinary rows with everything odd among them."""
    coins = np.random.default_rng(seed)

    def numbers(low: float, high: float) -> Any:
        values = coins.uniform(1.2 * low - 0.2 * high, 1.2 * high - 0.2 * low, rows)
        odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0, 5e-324, -1e-310]
        odd += [low, high, np.nextafter(high, low), (low + high) / 2, 1e-200, 1e-150]
        picked = coins.random(rows) < 0.3
        values[picked] = coins.choice(odd, int(picked.sum()))
        lacking = coins.random(rows) < 0.05
        return pa.array(values.tolist(), pa.float64(), mask=lacking)

    def pick(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in coins.integers(0, len(values), rows)], kind)

    return pa.table(
        {
            "a": numbers(0, 10),
            "b": numbers(-1, 1),
            "n": pick([0, 1, 2, 3, 4, 5, 7, -(2**62), 2**62 + 1, None], pa.int64()),
            "q": pick([True, False, None], pa.bool_()),
            "big": numbers(-1e150, 1e150),
            "far": numbers(100, 101.1),
            "s": pick(["x", "y", "z", "X", " x", "?", None], pa.string()),
            ODD: pick([*WORDS, "it", None], pa.string()),
            "c": pick([0.0, 1.0, 2.5, 7.0, 3.0, np.nan, np.inf, None], pa.float64()),
            "label": pick(["no", "yes"], pa.string()),
        }
    )


XY = ("a", "b")
POINTS = ((0.5, -0.25), (-1.0, 1.0), (0.0, 0.0), (0.0, 0.0))
SCALED = Scaled(XY, (0.0, 0.5), (1.0, 2.0), 1.0, 1.5)
MARKS = (Indicator("s", 0, 0.5), Indicator(ODD, len(WORDS), 0.5))
TURNED = Scaled(
    ("a", *MARKS),
    (0.1, 0.2, 0.0),
    (0.3, 0.5, 0.2),
    1.0,
    2.5,
    basis=((0.3, -1.0, 2.0, 0.7), (1.1, 0.0, 0.5, -0.9)),
)
SCALED_2 = replace(SCALED, norm="l2", constant=0.7)
SCORES = ((1.0, 2.0, 3.0), (-5.0, 0.3, 0.1), (0.2, 0.0, -70.0))
TURN = ((0.3, -1.0, 2.0), (1.1, 0.0, 0.5), (0.1, 1e-310, -0.3))
TINY = (0.1, -1.0, 5e-324)
_LISTS = ((0.5, -1.0, 0.25), tuple(-1 + 2 * i / len(WORDS) for i in range(len(WORDS))))
SIDES = Sides(
    ("a", "far", "q"),
    ("s", ODD),
    ((0.3, -1.0, 1e-9),) * 3 + ((1 / 3, 0.1, -0.7),),
    (_LISTS,) * 3 + (((0.0, 1.0, -0.1), (0.0,) * len(WORDS)),),
    (-0.4, 0.0, 1 / 3, 0.05),
    (0.2, -1.0, 0.0),
)
VOTES = (
    (0.1, 2.0, -0.7, 1e-300, 0.3, 1.0, -2.0, 0.0, 0.5),
    (0.0, -3.0, 40.0, -40.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    (0.3, 0.3, 0.1, 0.0, 90.0, 0.0, 0.0, -3.0, 7.0),
)
GRID = Grid(("a", "s"), ((2.0, 5.0), ()))
CODES = Grid(("a", "far", ODD), ((0.0, 2.0, 5.0), (100.5,), ()))
STUMPS = (
    Tree(
        (0,), ((0, 1, 2, 1, 0),), ((0.5, 0.1, 0.3), (-1.0, 0.1, 0.2), (0.0, 0.7, 0.7))
    ),
    Tree((2,), ((0, 1, 1, 0, 1, 1),), ((0.3, 0.3, 0.1), (0.1, -0.2, 1e-310))),
)
TREE = Tree((0,), ((0, 0, 1, 1),), ((0.5,), (-1.0,)))


def several(*blocks: Block) -> tuple[Block, ...]:
    share = Fraction(1, len(blocks))
    return tuple(Block(b.features, b.form, share, b.noise) for b in blocks)


SOME = several(Block(Ones()), Block(Values(("b", "far")), "pair"))
TRANSLATED = {
    "count": Sum(Everyone(), (Block(Ones()),)),
    "numbers": Sum(
        Everyone(),
        several(
            Block(Values(("a", "b", "n", "q", "big"))),
            Block(Values(("a", "n", "far"), 15, "zero", True), "gram"),
            Block(Values(("far", "big"), 20, "zero")),
            Block(Bernstein(XY, 2)),
            Block(Bernstein(("big",), 1)),
            Block(Partition(("a", ODD, "s", "c", "q", "far"))),
        ),
    ),
    "norms": Sum(
        Categories(("label",)),
        several(
            Block(SCALED),
            Block(Scaled(XY, (0.0, 0.5), (1.0, 0.1), 1.0, 3.0, "l2", True, 1, 15)),
            Block(
                Scaled(XY, (0.0, 0.0), (0.5, 2.0), 0.5, 1.0, "l1", False, 2, 15),
                "gram",
            ),
            Block(Deviations(XY, POINTS, 0.5, 1)),
            Block(Deviations((*XY, "big"), ((0.1, 0.0, 0.0),), 0.25, 2)),
        ),
    ),
    "indicators": Sum(
        Nearest(("a", *MARKS), ((0.1, 0.5, 0.0), (-0.2, 0.0, 0.5))),
        several(
            Block(Values(("b", *MARKS))),
            Block(replace(TURNED, bits=15), "gram"),
            Block(SquaredGradient(TURNED, "b", 0.1, 0.4, (0.5, -1.0), 0.3)),
        ),
    ),
    "present": Sum(Present(("a", "s", ODD)), SOME),
    "gaps": Sum(
        Cross(Completeness(("a", "b", "q")), Rings(("a",), ((0.3,),), 5)),
        several(
            Block(Presence(("a", "far", "n"))),
            Block(Deviations(("a",), ((0.3,), (-0.4,)), 0.5, 2)),
            Block(Deviations(("a", "big"), ((0.3, 0.1), (-0.4, 0.2)), 0.5, 1)),
        ),
    ),
    "nearest of what is there": Sum(
        Nearest(("a", "far", "q"), ((0.5, -0.25, 0.9), (-1.0, 1.0, 0.1))), SOME
    ),
    "categories": Sum(Categories(("s", ODD, "c")), SOME),
    "whole bins": Sum(Bins("n", 6), SOME),
    "whole groups": Sum(Cross(WholeGroups("n"), Categories(("s",))), SOME),
    "bins": Sum(Bins("a", 7), SOME),
    "edges with gaps": Sum(Edges("a", (0.0, 1, 2.5), gaps=True), SOME),
    "edges": Sum(Cross(Edges("a", (0.0, 1, 1, 2.5, 99)), Bins("big", 3)), SOME),
    "magnitudes": Sum(Cross(Magnitudes("big", -9, 60), Magnitudes("b", -3, 3)), SOME),
    "nearest": Sum(Cross(Nearest(XY, POINTS), Rings(XY, POINTS, 5, 2)), SOME),
    "logistic": Sum(
        Everyone(),
        several(
            Block(LogisticGradient(SCALED, "label", ((1.0, 2.0, 3.0),))),
            Block(LogisticGradient(TURNED, "label", ((40.0, -90.0),), 0.3, (0.2, 1.0))),
            Block(ClippedGradient(SCALED, "label", TINY, 0.7, "logistic")),
            Block(ClippedGradient(SCALED, "far", TINY, 0.5, "squared", TURN)),
        ),
    ),
    "codes": Sum(
        Margins(Gradients(CODES, "s", "softmax", (0.1, 0.2, 0.3), STUMPS), 12),
        several(Block(Ones()), Block(CodeCounts(CODES))),
    ),
    "several classes": Sum(
        Everyone(),
        several(
            Block(LogisticGradient(SCALED, "s", SCORES, 0.9, (1.0, 0.5, 1e-300))),
            Block(LogisticGradient(SCALED_2, "s", SCORES)),
            Block(SoftVotes(("a", "far", ODD), VOTES)),
        ),
    ),
    "fuzzy": Sum(
        Everyone(),
        several(
            Block(FuzzyWeights(XY, POINTS[:3], 2.0)),
            Block(FuzzyPresence(XY, POINTS[:3], 2.0, ("a",))),
            Block(FuzzyPulls(XY, POINTS[:3], 2.0, 0.5)),
        ),
    ),
    "fuzzier": Sum(
        Everyone(), (Block(FuzzyPulls(("a", "far"), POINTS[:3], 1.3, 0.5, 2)),)
    ),
    "rings": Sum(Within(Categories(("label",)), 1, Rings(XY, POINTS, 9, 1)), SOME),
    "sides": Sum(Cross(Categories(("label",)), SIDES), SOME),
    "sides of categories": Sum(
        replace(SIDES, numbers=(), weights=((),) * 4, fill=()), SOME
    ),
}
READ = {
    "splits": SplitHistogram(
        Gradients(GRID, "label", "logistic", (0.0,), (TREE,), bits=12), Tree()
    ),
    "neighbours": NearestRows(XY, "s", POINTS[:2], 3),
    "hashed": Sum(Within(HashParts(("a", "s"), (1, 2), 7), 1, Bins("a", 3)), SOME),
}
QUESTIONS: dict[str, Any] = TRANSLATED | READ


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_duckdb(table: pa.Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return connection.table("people")


def to_polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table).lazy()


def to_ibis(table: pa.Table) -> Any:
    import ibis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ibis calls DuckDB by old names
        client = ibis.duckdb.connect()
        client.con.register("given", table)
        client.con.execute("CREATE TABLE people AS SELECT * FROM given")
        return client.table("people")


def fill(connection: Any, name: str, table: pa.Table) -> None:
    """Write a table to PostgreSQL."""
    columns = [
        f"{_quoted(n)} {TYPES.get(str(k), 'FLOAT8')}"
        for n, k in zip(table.column_names, table.schema.types, strict=True)
    ]
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
        for row in table.to_pylist():
            copy.write_row(tuple(row.values()))


def to_spark(session: Any, table: pa.Table) -> Any:
    kinds = {"double": "double", "int64": "bigint", "bool": "boolean"}
    form = ", ".join(
        f"`{field.name}` {kinds.get(str(field.type), 'string')}"
        for field in table.schema
    )
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return session.createDataFrame(rows, form)


def to_dask(table: pa.Table) -> Any:
    import dask.dataframe as dd
    import pandas as pd

    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return dd.from_pandas(frame, npartitions=2)


def to_dataset(folder: Any, table: pa.Table) -> Any:
    import pyarrow.dataset as ds

    half = table.num_rows // 2
    for number, part in enumerate((table[:half], table[half:])):
        pq.write_table(part, os.path.join(folder, f"{number}.parquet"))
    return ds.dataset(folder, schema=table.schema)


Maker = Callable[[pa.Table], Any]
MAKERS: dict[str, Maker] = {
    "duckdb": to_duckdb,
    "polars": to_polars,
    "ibis": to_ibis,
    "dask frame": to_dask,
}
