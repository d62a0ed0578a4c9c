"""Stages take expressions about one row; files of translations can write no others."""

from __future__ import annotations

import ast
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.data.frames import open_frame
from discreto.data.sql import Untranslated
from discreto.data.sql.columns import Columns
from discreto.data.sql.stages import MOST_STAGES, Stages
from discreto.errors import UnsafeError

nw = pytest.importorskip("narwhals")
pl = pytest.importorskip("polars")
ROOT = Path(__file__).resolve().parents[4]
SQL = ROOT / "src" / "discreto" / "data" / "sql"
# What a translation may take from narwhals. None of it looks at another row.
FUNCTIONS = {"coalesce", "col", "lit", "max_horizontal", "min_horizontal", "when"}
# Methods of expressions and frames that look at other rows, or change which there are.
FORBIDDEN = {
    *("agg", "all", "any", "collect", "count", "cum_count", "cum_max", "cum_min"),
    *("cum_prod", "cum_sum", "diff", "drop_nulls", "ewm_mean", "explode", "filter"),
    *("first", "group_by", "head", "implode", "is_duplicated", "is_first_distinct"),
    *("is_last_distinct", "is_unique", "join", "join_asof", "kurtosis", "last", "len"),
    *("map_batches", "max", "mean", "median", "min", "mode", "n_unique", "null_count"),
    *("over", "quantile", "query", "rank", "rolling_mean", "rolling_sum", "sample"),
    *("select", "shift", "skew", "sort", "sql", "std", "sum", "tail", "total"),
    *("to_native", "top_k", "unique", "var", "with_columns", "with_row_index"),
}


def left_out() -> list[str]:
    """Files of translations, which are not counted with what must be trusted."""
    spec = spec_from_file_location("trusted", ROOT / "scripts" / "trusted_lines.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    counted = {
        path.name
        for part in module.PARTS
        for path in part.paths()
        if path.parent == SQL
    }
    return sorted({path.name for path in SQL.glob("*.py")} - counted)


def looks(text: str) -> list[str]:
    """Return what a file of translations uses that looks at more than one row."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Attribute):
            continue
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        base = root.id if isinstance(root, ast.Name) else ""
        if base == "nw":
            if node.attr[0].islower() and node.attr not in FUNCTIONS:
                found.append(f"nw.{node.attr}")
        elif base not in ("np", "cells") and (
            node.attr in FORBIDDEN or node.attr == "_frame"
        ):
            found.append(node.attr)
    return found


def test_the_translations_are_the_files_that_are_not_counted() -> None:
    assert left_out() == [
        *("cell_maps.py", "columns.py", "dates.py", "expressions.py", "maps.py")
    ]


@pytest.mark.parametrize(
    "name", ["cell_maps", "columns", "dates", "expressions", "maps"]
)
def test_a_file_of_translations_looks_at_one_row(name: str) -> None:
    assert looks((SQL / f"{name}.py").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "x.sum()",
        "x.cum_count().over('id')",
        "nw.len()",
        "nw.sum('x')",
        "rows.frame.select(x)",
        "rows._frame",
        "rows.total('id', x)",
        "rows.backend.frame.to_native()",
    ],
)
def test_the_rule_can_fail(line: str) -> None:
    assert looks(line)


def stages(column: str = "x") -> Stages:
    return Stages(backend(), backend().frame)


def backend() -> Any:
    frame = open_frame(
        pl.DataFrame({"x": [0.5, None, 3.0]}).lazy(), dp.Domain({"x": dp.Number(0, 5)})
    )
    return frame.backend


def test_windows_are_refused_in_every_way_into_a_stage() -> None:
    rows = stages()
    for take in (rows.let, rows.named):
        with pytest.raises(UnsafeError, match="one row"):
            take([nw.col("x").sum()])
    with pytest.raises(UnsafeError, match="one row"):
        rows.read("x", lambda: nw.col("x").max())
    with pytest.raises(UnsafeError, match="one row"):
        rows.keep(nw.col("x") > nw.col("x").mean())


def test_rows_that_do_not_count_stay() -> None:
    rows = stages()
    rows.keep(nw.col("x") > 1)
    rows.keep(nw.col("x") < 9)
    found = rows.frame.with_columns(inside=rows.inside).collect().to_native()
    assert found["inside"].to_list() == [False, False, True]


def test_equal_parts_share_a_stage_and_many_are_refused() -> None:
    rows = stages()
    rows.beside(*[lambda: rows.let([nw.col("x") + 1])] * 9)
    assert len(rows._stages) == 1
    for _ in range(MOST_STAGES - 1):
        rows.let([nw.col("x") + 1])
    with pytest.raises(Untranslated, match="stages"):
        rows.let([nw.col("x") + 1])


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
@pytest.mark.parametrize("count", [1, 65, 100, 4095])
def test_places_among_cuts_are_those_of_numpy(kind: str, count: int) -> None:
    coins = np.random.default_rng(count)
    cuts = np.sort(coins.normal(0, 10, count))
    cuts[count // 2 :: 7] = cuts[count // 2]  # some are equal
    cuts = np.sort(cuts)
    values = np.concatenate(
        [cuts, np.nextafter(cuts, 99), np.nextafter(cuts, -99), [0.0, -0.0, -99, 99]]
    )
    data = pl.DataFrame({"x": values})
    place: Any = data.lazy()
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        place = duckdb.connect().from_arrow(data.to_arrow())
    domain = dp.Domain({"x": dp.Number(-100, 100)})
    frame = open_frame(place, domain)
    rows = Columns(frame.backend, frame._frame, domain, ["x"])
    (value,) = rows.let([rows.tight("x")])
    (name,) = rows.named([rows.place(value, cuts.tolist())])
    (given,) = rows.named([value])
    found = rows.frame.select(given, name).collect("polars").to_native()
    wanted = np.searchsorted(cuts, found[given].to_numpy(), side="left")
    assert np.array_equal(found[name].to_numpy(), wanted)
