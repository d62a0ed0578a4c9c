"""Many random expressions on hostile rows: against a plain interpreter, and engines.

    python benchmarks/expressions.py 100000 --duckdb 3000 --polars 10000
    python benchmarks/expressions.py 1000 --postgresql 200 --seed 1

Each expression meets rows with NaN, infinities, unknown codes and dates out of range.
Checked are: no exception; every value is the one that a plain interpreter finds, and
inside of its declared bounds; a row alone has the value that it has among others; sums
(or counts of groups) move by no more than declared when a row comes, goes or changes;
DuckDB, Polars and PostgreSQL, for as many as is asked, find the same bits in every row.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "properties"), str(ROOT / "tests")]

import test_expressions as model  # noqa: E402
from test_expressions import DOMAIN, HOSTILE, core, plain, row_of, run, same  # noqa: E402

import discreto as dp  # noqa: E402
from discreto.core import aggregate  # noqa: E402
from discreto.core.expressions.kinds import Real  # noqa: E402
from discreto.core.maps import Categories, Values  # noqa: E402
from discreto.core.query import (  # noqa: E402
    Block,
    Everyone,
    Ones,
    Sum,
    bind,
)
from discreto.data.frames import open_frame  # noqa: E402
from discreto.data.sql import Untranslated  # noqa: E402
from discreto.data.sql.columns import Columns  # noqa: E402
from discreto.data.sql.expressions import apply_step  # noqa: E402
from discreto.errors import DomainError  # noqa: E402

TOGETHER = 20  # expressions with the same rows
IN_A_QUERY = {"polars": 20, "duckdb": 4, "postgresql": 1}
ROWS = 24
PLACED = dp.Domain({**DOMAIN.columns, "place": dp.Number(0, 1000, integer=True)})
NUMBERS = (0.0, 1.0, -1.0, 0.5, 3.0, 1e6, -2.25, 1e-200, 1e150, 1e-140, 7.0)


class Maker:
    """Random expressions of every kind."""

    def __init__(self, toss: random.Random) -> None:
        self._toss = toss

    def any(self) -> Any:
        make = self._toss.choice([self.number, self.number, self.text, self.truth])
        return make(self._toss.randint(1, 4))

    def _pick(self, *makes: Callable[[], Any]) -> Any:
        return self._toss.choice(makes)()

    def _day(self) -> Any:
        return core.Col(self._toss.choice("dm"))

    def _date(self) -> Any:
        toss, then = self._toss, core.Const("1999-02-28")
        parts = ["year", "quarter", "month", "day", "weekday"]
        return self._pick(
            lambda: core.DatePart(toss.choice(parts), self._day()),
            lambda: core.DatePart(toss.choice(["hour", "minute"]), core.Col("m")),
            lambda: core.DaysBetween(self._day(), self._day()),
            lambda: core.AgeAt(self._day(), self._day()),
            lambda: core.AgeAt(self._day(), then),
        )

    def number(self, depth: int) -> Any:
        toss = self._toss
        if depth == 0 or toss.random() < 0.15:
            if toss.random() < 0.7:
                return core.Col(toss.choice("xyn"))
            return core.Const(toss.choice(NUMBERS))
        inner = lambda: self.number(depth - 1)  # noqa: E731
        functions = ["abs", "ceil", "floor", "log1p", "sqrt"]
        return self._pick(
            lambda: core.Arithmetic(toss.choice("+-*/"), inner(), inner()),
            lambda: core.Arithmetic(toss.choice("+-*/"), inner(), inner()),
            lambda: core.Power(inner(), toss.randint(2, 8)),
            lambda: core.Clip(inner(), -3.0, 7.5),
            lambda: core.Apply(toss.choice(functions), inner()),
            lambda: core.IfElse(self.truth(depth - 1), inner(), inner()),
            lambda: core.Fill(inner(), 4.0),
            self._date,
            lambda: core.ToNumber(self.label(depth - 1, "s"), ("a", "b"), (1.0, -5.0)),
        )

    def label(self, depth: int, name: str) -> Any:
        if depth == 0 or self._toss.random() < 0.5:
            return core.Col(name)
        yes, no = self.label(depth - 1, name), self.label(depth - 1, name)
        return core.IfElse(self.truth(depth - 1), yes, no)

    def text(self, depth: int) -> Any:
        toss, units = self._toss, ["year", "quarter", "month", "week", "day"]
        inner = lambda: self.label(depth - 1, "s")  # noqa: E731
        return self._pick(
            inner,
            lambda: core.Text(toss.choice(["lower", "strip", "upper"]), inner()),
            lambda: core.Recode(inner(), ("a",), ("b",)),
            lambda: core.Fill(inner(), "none"),
            lambda: core.Period(self._day(), toss.choice(units[:4])),
            lambda: core.Period(core.Col("m"), toss.choice(units)),
            lambda: core.Cut(self.number(depth - 1), (0.0, 3.0), ("u", "v", "w")),
        )

    def truth(self, depth: int) -> Any:
        toss = self._toss
        if depth == 0 or toss.random() < 0.15:
            return core.Col("b")
        order, equal = ["<", "<=", ">", ">=", "==", "!="], ["==", "!="]
        number = lambda: self.number(depth - 1)  # noqa: E731
        label = lambda name: self.label(depth - 1, name)  # noqa: E731
        inner = lambda: self.truth(depth - 1)  # noqa: E731
        then = core.Const("1971-05-01")
        return self._pick(
            lambda: core.Compare(toss.choice(order), number(), number()),
            lambda: core.Compare(toss.choice(order), self._day(), then),
            lambda: core.Compare(toss.choice(equal), label("s"), core.Const("b")),
            lambda: core.Logic(toss.choice(["and", "or"]), (inner(), inner())),
            lambda: core.Not(inner()),
            lambda: core.IsMissing(self._pick(number, inner, lambda: label("t"))),
            lambda: core.IsIn(number(), (0.0, 5.0)),
            lambda: core.IsIn(label("t"), (1, "2")),
        )


def made_rows(toss: random.Random) -> list[tuple[Any, ...]]:
    """Rows in the terms of a batch, with everything odd among them."""

    def odd(ordinary: float) -> float:
        return toss.choice(HOSTILE) if toss.random() < 0.35 else ordinary

    return [
        (
            odd(toss.uniform(-12, 12)),
            odd(toss.uniform(-1, 6)),
            odd(float(toss.randint(-5, 300_000))),
            toss.randint(-2, 5),
            toss.randint(-2, 5),
            toss.randint(-2, 3),
            odd(float(toss.randint(-4000, 23_000))),
            odd(float(toss.randint(-200, 1_200_000))),
        )
        for _ in range(ROWS)
    ]


def check_values(e: Any, rows: list[Any], toss: random.Random) -> None:
    """The plain interpreter agrees, bounds hold, rows stay to themselves."""
    kind, found = e.kind(DOMAIN), run(e, rows)
    for value, row in zip(found.tolist(), rows, strict=True):
        wanted = plain(e, row_of(row))
        if isinstance(kind, Real):
            assert math.isnan(value) == (wanted is None)
            assert wanted is None or value == wanted
            assert wanted is None or kind.lower <= value <= kind.upper
        else:
            assert (value == -1) == (wanted is None)
            assert wanted is None or same(kind.values[value], wanted)
            assert -1 <= value < len(kind.values)
        if kind.missing is False:
            assert wanted is not None or not _promised(e)
    for place in toss.sample(range(len(rows)), 4):
        (alone,) = run(e, [rows[place]])
        assert np.array_equal(alone, found[place], equal_nan=True)
    assert np.array_equal(run(e, rows[::-1])[::-1], found, equal_nan=True)


def _promised(e: Any) -> bool:
    """Whether none of its columns has a gap that the domain does not declare."""
    return all(DOMAIN[name].missing for name in e.columns())


def check_neighbours(e: Any, rows: list[Any], toss: random.Random) -> bool:
    """Sums of the column, or counts of its groups, with a row less or another."""
    for neighbours in ("add-remove", "replace"):
        size = {"rows": len(rows)} if neighbours == "replace" else {}
        domain = DOMAIN.with_(neighbours=neighbours, **size)
        step = core.WithColumns((core.Named("new", e),))
        try:
            made = core.view_domain(step, domain)
        except DomainError:  # it has no bounds, or one value only
            return False
        query = Sum(Categories(("new",)), (Block(Ones()),))
        if isinstance(made["new"], dp.Number):
            query = Sum(Everyone(), (Block(Values(("new",)), "pair"),))
        asked = bind(query, made)

        whole = sums_of(step, domain, asked, rows)
        for place in toss.sample(range(len(rows)), 3):
            near = [*rows[:place], *rows[place + 1 :]]
            if neighbours == "replace":
                near.append(rows[toss.randrange(len(rows))])
            moved = np.abs(whole - sums_of(step, domain, asked, near))
            assert moved.sum() <= asked.blocks[0].sensitivity
            assert (moved.astype(float) ** 2).sum() <= asked.blocks[0].square
    return True


def sums_of(step: Any, domain: dp.Domain, asked: Any, rows: list[Any]) -> Any:
    """The exact sums of a question about a derived column."""
    with np.errstate(all="ignore"):
        batch, count = step.apply(model.batch_of(rows), len(rows), ("new",), domain)
    return aggregate.fold(asked, batch, count)[0]


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    """The same rows as a database holds them."""
    columns: dict[str, Any] = {}
    start = dt.datetime(1970, 1, 1)
    for i, (name, column) in enumerate(DOMAIN.columns.items()):
        values: list[Any] = [row[i] for row in rows]
        if isinstance(column, dp.DateTime):
            step = dt.timedelta(**{f"{column.resolution}s": 1})
            values = [
                None if math.isnan(v) else start + step * int(np.clip(v, -5e5, 2e6))
                for v in values
            ]
            day = column.resolution == "day"
            columns[name] = pa.array(values, pa.date32() if day else pa.timestamp("us"))
        elif isinstance(column, dp.Category):
            listed = column.categories
            values = [listed[v] if 0 <= v < len(listed) else None for v in values]
            if name == "t":
                values = [v if isinstance(v, int) else 2.5 for v in values]
            columns[name] = pa.array(values)
        else:
            columns[name] = pa.array(values, pa.float64())
    columns["place"] = pa.array(range(len(rows)), pa.int64())
    return pa.table(columns)


def columns_of(source: Any, several: list[Any]) -> list[list[Any]]:
    """The values of expressions as an engine finds them, in the order of rows."""
    frame = open_frame(source, PLACED)
    rows = Columns(frame.backend, frame._frame, PLACED, tuple(PLACED))
    rows.open(tuple(PLACED))
    named = tuple(core.Named(f"new{i}", e) for i, e in enumerate(several))
    views = [n for n in named if _has_bounds(n.expression)]
    apply_step(core.WithColumns(tuple(views)), rows, [one.name for one in views])
    picked = {"place": rows.value("place")}
    for one in views:
        value, absent = rows._made[one.name]
        picked |= {one.name: value, f"{one.name}_absent": absent}
    plan = frame.backend.prepare(rows.frame.select(**picked))
    found = frame.backend.collect(plan)
    order = np.argsort(found["place"])
    out = []
    for one in views:
        pairs = zip(found[one.name], found[f"{one.name}_absent"], strict=True)
        column = [None if absent else value for value, absent in pairs]
        out.append([column[i] for i in order])
    return out


def _has_bounds(e: Any) -> bool:
    try:
        core.view_domain(core.WithColumns((core.Named("new", e),)), DOMAIN)
    except DomainError:
        return False
    return bool(e.columns())


def check_engine(source: Any, several: list[Any], table: pa.Table) -> int:
    """The bits of an engine against those of numpy."""
    frame = open_frame(table, PLACED)
    ((batch, count),) = frame.batches(tuple(PLACED), 10**6)
    views = [e for e in several if _has_bounds(e)]
    if not views:
        return 0
    for e, found in zip(views, columns_of(source, several), strict=True):
        with np.errstate(all="ignore"):
            wanted = np.broadcast_to(e.rows(batch, PLACED), (count,)).tolist()
        number = isinstance(e.kind(PLACED), Real)
        for mine, there in zip(wanted, found, strict=True):
            if there is None:
                assert math.isnan(mine) if number else mine == -1, (str(e), mine)
            else:
                assert there == mine, (str(e), mine, there)
    return len(views)


def groups(several: list[Any], many: int) -> list[list[Any]]:
    """Expressions that engines are asked for, so many at once."""
    kept = [e for e in several if _has_bounds(e)]
    return [kept[i : i + many] for i in range(0, len(kept), many)]


def makers(postgres: str | None) -> dict[str, Callable[[pa.Table], Any]]:
    """How a table gets into each engine."""
    import duckdb
    import polars as pl

    connection = duckdb.connect()
    connection.execute("SET threads = 1")

    def to_duckdb(table: pa.Table) -> Any:
        connection.register("given", table)
        connection.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM given")
        return connection.table("people")

    out: dict[str, Callable[[pa.Table], Any]] = {
        "duckdb": to_duckdb,
        "polars": lambda table: pl.from_arrow(table).lazy(),
    }
    if postgres:
        import ibis
        import psycopg

        with psycopg.connect(postgres, autocommit=True) as owner:
            owner.execute("CREATE DATABASE asked ENCODING 'UTF8' TEMPLATE template0")
        there = psycopg.connect(postgres, dbname="asked")
        client = ibis.postgres.from_connection(there)
        kinds = dict.fromkeys("xynt", "float8") | {"s": "text", "b": "boolean"}
        kinds |= {"d": "date", "m": "timestamp", "place": "bigint"}
        form = ", ".join(f"{name} {kind}" for name, kind in kinds.items())

        def to_postgresql(table: pa.Table) -> Any:
            cursor = client.con.cursor()
            cursor.execute(f"DROP TABLE IF EXISTS people; CREATE TABLE people ({form})")
            with cursor.copy(f"COPY people ({', '.join(kinds)}) FROM STDIN") as copy:
                for row in table.select(list(kinds)).to_pylist():
                    copy.write_row(tuple(row.values()))
            return client.table("people")

        out["postgresql"] = to_postgresql
    return out


def chunks(count: int, seed: int) -> Iterator[tuple[list[Any], list[Any]]]:
    toss = random.Random(seed)
    maker = Maker(toss)
    for first in range(0, count, TOGETHER):
        many = min(TOGETHER, count - first)
        yield [maker.any() for _ in range(many)], made_rows(toss)


def main() -> int:
    """Check as many expressions as are asked for; 1 if any check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    for name in IN_A_QUERY:
        parser.add_argument(f"--{name}", type=int, default=0)
    given = parser.parse_args()
    server = None
    if given.postgresql:
        from postgres import Postgres

        server = Postgres()
    puts = makers(server.url if server else None)
    toss, seen, faults = random.Random(given.seed), Counter[str](), 0
    begun = time.process_time()
    for number, (several, rows) in enumerate(chunks(given.count, given.seed)):
        if number % 5 == 4:
            print(f"so far: {dict(seen)}, {faults} faults", flush=True)
        for e in several:
            try:
                e.kind(DOMAIN)
            except DomainError:  # refused from public facts
                seen["refused"] += 1
                continue
            try:
                check_values(e, rows, toss)
                seen["values"] += 1
                if e.columns():
                    seen["sums"] += check_neighbours(e, rows, toss)
            except Exception as fault:
                faults += 1
                print(f"FAULT {e}: {type(fault).__name__} {fault}", flush=True)
        table = table_of(rows)
        for name, many in IN_A_QUERY.items():
            if seen[name] >= getattr(given, name):
                continue
            source = puts[name](table)
            for group in groups(several, many):
                try:
                    seen[name] += check_engine(source, group, table)
                except Untranslated as lacking:
                    seen[f"{name}: {lacking.what}"] += len(group)
                except Exception as fault:
                    faults += 1
                    print(f"FAULT {name}: {type(fault).__name__} {fault}", flush=True)
    spent = time.process_time() - begun
    print(f"{dict(seen)}; {faults} faults; {spent:.0f} s CPU")
    if server:
        server.stop()
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
