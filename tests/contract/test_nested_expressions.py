"""Nested expressions: equal parts are one column of a query, stages are limited."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from engine_tables import to_duckdb, to_polars

import discreto as dp
from discreto import stats
from discreto.core.expressions import Named, WithColumns
from discreto.data.engines import DatabaseEngine
from discreto.data.sql.backends import backend_of
from discreto.data.sql.columns import Columns
from discreto.data.sql.expressions import apply_step
from discreto.data.sql.stages import MOST_STAGES
from discreto.errors import ParameterError
from discreto.table.expression_text import parse
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 100, missing=True), "y": dp.Number(0, 100)})
ROWS = pa.table(
    {
        "x": [0.1 * i if i % 7 else None for i in range(400)],
        "y": [(7.3 * i) % 100 for i in range(400)],
    }
)
ONCE, TWICE = "sqrt({0}+y)", "sqrt({0}*{0}+y)"


def nested(depth: int, inner: str) -> str:
    """Return an expression of so many levels."""
    text = "x"
    for _ in range(depth):
        text = inner.format(text)
    return text


def count_columns(text: str) -> int:
    """Return how many columns the query of a derived column has."""
    backend = backend_of(to_duckdb(ROWS), list(DOMAIN))
    assert backend is not None
    rows = Columns(backend, backend.frame, DOMAIN, ["x", "y"])
    rows.open(["x", "y"])
    apply_step(WithColumns((Named("z", parse(text)),)), rows, ["z"])
    return len(rows.frame.collect_schema())


def answers(make: Callable[[Any], Any]) -> list[Any]:
    """Return what rows in memory and each engine answer, without fetching rows."""
    engine = DatabaseEngine(fetch=False)
    found = []
    for table in (
        dp.Table(ROWS, DOMAIN, simulate(2)),
        dp.Table(to_duckdb(ROWS), DOMAIN, simulate(2), engine=engine),
        dp.Table(to_polars(ROWS), DOMAIN, simulate(2), engine=engine),
    ):
        found.append([json.loads(a.to_json())["value"] for a in make(table)])
    return found


def test_a_query_grows_with_the_levels_and_not_with_the_letters() -> None:
    sizes = [count_columns(nested(depth, TWICE)) for depth in range(2, 6)]
    steps = {after - before for before, after in pairwise(sizes)}
    assert len(steps) == 1
    assert steps.pop() < 10


def test_nested_expressions_give_the_integers_of_numpy() -> None:
    def ask(table: Any) -> list[Any]:
        view = table.with_columns(z=f"clip({nested(5, TWICE)}, 0, 100)")
        return [stats.mean(view, "z", epsilon=1)]

    memory, *engines = answers(ask)
    assert engines == [memory, memory]


def test_postgresql_gives_them_too(postgresql: Callable[[Any], Any]) -> None:
    asked = stats.sentence(f"mean(clip({nested(6, TWICE)}, 0, 100))")
    engine = DatabaseEngine(fetch=False)
    there = dp.Table(postgresql(ROWS), DOMAIN, simulate(3), engine=engine)
    here = dp.Table(ROWS, DOMAIN, simulate(3))
    found = [table.answer(asked, epsilon=1).value for table in (there, here)]
    assert found[0] == found[1]


def test_a_name_that_a_view_gives_to_another_column() -> None:
    """The same text means another column after each step."""

    def ask(table: Any) -> list[Any]:
        view = table.with_columns(x="sqrt(x + y)").with_columns(x="sqrt(x + y)")
        return [stats.mean(view.with_columns(z="sqrt(x + y)"), "z", epsilon=1)]

    memory, *engines = answers(ask)
    assert engines == [memory, memory]


def test_numbers_and_truths_are_not_the_same_part() -> None:
    """1 and True are equal in Python; gaps of a Number are null, of a truth -1."""

    def ask(table: Any) -> list[Any]:
        view = table.with_columns(
            truth="if_else(x > 20, True, False)", number="if_else(x > 20, 1, 0)"
        )
        return [stats.mean(view, "number", by="truth", epsilon=9)]

    memory, *engines = answers(ask)
    assert engines == [memory, memory]


def test_too_many_stages_are_refused_before_the_charge() -> None:
    ledger, asked = dp.Ledger(epsilon=1), f"mean(clip({nested(30, ONCE)}, 0, 100))"
    engine = DatabaseEngine(fetch=False)
    table = dp.Table(to_duckdb(ROWS), DOMAIN, ledger, engine=engine)
    with pytest.raises(ParameterError, match=f"more than {MOST_STAGES} stages"):
        table.answer(stats.sentence(asked), epsilon=1)
    assert not ledger.entries()


def test_too_many_stages_are_answered_from_rows_that_may_be_read() -> None:
    asked = stats.sentence(f"mean(clip({nested(30, ONCE)}, 0, 100))")
    there, here = (
        dp.Table(put(ROWS), DOMAIN, simulate(5)).answer(asked, epsilon=1)
        for put in (to_duckdb, lambda rows: rows)
    )
    assert there.value == here.value
