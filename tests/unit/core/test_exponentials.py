"""Exponentials and logarithms: right to the last place, total, the same everywhere."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreto as dp
from discreto.core import compiled, exponentials
from discreto.data.frames import open_frame
from discreto.data.sql import row_language as in_databases
from discreto.data.sql.columns import Columns

COINS = np.random.default_rng(5)
WIDE = np.exp(COINS.uniform(-300, 300, 700))
ODD = [0.0, -0.0, 5e-324, -1e-310, 1e-20, -1.0, 2.0**-53 - 1, 64.0, -64.0, 1e9, -1e9]
ODD += [math.nextafter(edge, way) for edge in (-1.0, 0.5, 1.0, 2.0) for way in (-9, 9)]
HARD = np.array([*ODD, *WIDE, *-WIDE, *COINS.uniform(-70, 70, 700)])
ENDLESS = np.array([math.nan, math.inf, -math.inf, 1e308, -1e308])
TESTED = {
    "exp": (COINS.uniform(-64, 64, 1500), lambda x: x.exp()),
    "log": (np.exp(COINS.uniform(-44, 354, 1500)), lambda x: x.ln()),
    "log near 1": (COINS.uniform(0.5, 2, 1500), lambda x: x.ln()),
    "log1p": (COINS.uniform(-0.999, 3, 1500), lambda x: (1 + x).ln()),
    "log1p near 0": (np.exp(COINS.uniform(-300, 0, 800)), lambda x: (1 + x).ln()),
    "log1p below 0": (-np.exp(COINS.uniform(-90, 0, 800)), lambda x: (1 + x).ln()),
}


@pytest.mark.parametrize("name", TESTED)
def test_the_error_is_below_one_unit_in_the_last_place(name: str) -> None:
    numbers, exact = TESTED[name]
    found = getattr(exponentials, name.split()[0])(numbers)
    context = decimal.Context(prec=160)
    with decimal.localcontext(context):
        for x, y in zip(numbers.tolist(), found.tolist(), strict=True):
            wanted = exact(decimal.Decimal(x))
            unit = decimal.Decimal(math.ulp(float(wanted)))
            assert abs(decimal.Decimal(y) - wanted) < unit, x


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_every_number_has_an_answer(name: str) -> None:
    function = getattr(exponentials, name)
    with np.errstate(all="raise", under="ignore"):
        found = function(np.array([*HARD, *ENDLESS]))
    assert np.isfinite(found).all()
    assert found[-5] == found[-1]  # NaN counts as the lower end
    assert function(np.array(1.5)).shape == ()
    assert function(np.zeros((2, 0, 3))).shape == (2, 0, 3)


def test_whole_results_are_whole() -> None:
    zero, one = np.zeros(1), np.ones(1)
    assert exponentials.exp(zero) == 1
    assert exponentials.log(one) == 0
    assert exponentials.log1p(zero) == 0


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_compiled_loops_give_the_same_bits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba", reason="numba is not installed")
    numbers = np.array([*HARD, *ENDLESS])
    function = getattr(exponentials, name)
    monkeypatch.setattr(compiled, "WORTH", 0)
    fast = function(numbers)
    monkeypatch.setattr(compiled, "loops", lambda *_: None)
    assert np.array_equal(fast.view(np.int64), function(numbers).view(np.int64))
    for size in (1, 2, 1023, 1025):  # a number's bits do not depend on its place
        assert np.array_equal(function(numbers[:size]), fast[:size])


def _duckdb(table: pa.Table) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return connection.table("people")


def _polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(table).lazy()


def _ibis(table: pa.Table) -> Any:
    import ibis

    client = ibis.duckdb.connect()
    client.con.register("given", table)
    client.con.execute("CREATE TABLE people AS SELECT * FROM given")
    return client.table("people")


@pytest.mark.parametrize("put", [_duckdb, _polars, _ibis])
@pytest.mark.filterwarnings("ignore")  # Ibis calls DuckDB by old names
def test_databases_give_the_same_bits(put: Callable[[pa.Table], Any]) -> None:
    domain = dp.Domain({"x": dp.Number(-1e150, 1e150)})
    frame = open_frame(put(pa.table({"x": HARD})), domain)
    rows = Columns(frame.backend, frame._frame, domain, ["x"])
    x = rows.tight("x")
    above = in_databases.either(x > -1.0, x, in_databases.real(0.0))
    positive = in_databases.clip(x, exponentials.LEAST, 1e150)
    given = rows.let([x, above, positive])
    made = rows.beside(
        lambda: in_databases.exps([given[0]], rows)[0],
        lambda: in_databases.log1p(given[1], 1e150, rows),
        lambda: in_databases.logs([given[2]], exponentials.LEAST, 1e150, rows)[0],
    )
    names = rows.named([*given, *made])
    plan = rows.backend.prepare(rows.frame.select(*names))
    found = [np.array(part) for part in rows.backend.collect(plan).values()]
    wanted = [
        exponentials.exp(found[0]),
        exponentials.log1p(found[1]),
        exponentials.log(found[2]),
    ]
    for mine, there in zip(wanted, found[3:], strict=True):
        assert np.array_equal(mine, there)
