"""Databases as engines: against SQL by hand, against memory, on a billion rows.

    python benchmarks/sql.py hand [--rows 50000000]     DuckDB over Parquet
    python benchmarks/sql.py billion [--rows 1000000000] rows made by range()
    python benchmarks/sql.py boosting [--rows 1000000]  50 trees, DuckDB against memory
    python benchmarks/sql.py fuzz [--examples 10000]    what generated SQL holds

Times are CPU seconds of this process (DuckDB runs inside of it), the median of three
interleaved runs and their range.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import string
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

import discreto as dp
from discreto.core.expressions import (
    Col,
    IsIn,
    Named,
    Recode,
    Where,
    WithColumns,
)
from discreto.core.maps import (
    Bins,
    Block,
    Categories,
    Cross,
    Everyone,
    Ones,
    Partition,
    Scaled,
    Values,
)
from discreto.core.query import Sum, bind
from discreto.data.engines import DatabaseEngine, LocalEngine
from discreto.data.frames import open_frame
from discreto.models import GradientBoostingRegressor
from discreto.testing import simulate

NUMBERS = tuple(f"x{i}" for i in range(8))
DOMAIN = dp.Domain(
    {name: dp.Number(-4, 4) for name in NUMBERS}
    | {"y": dp.Number(-10, 10), "c": dp.Category(["a", "b", "d"])}
)
ONE = float(1 << 30)


def rows_sql(rows: int) -> str:
    """Made-up rows that depend on their number alone: no file, no state."""
    columns = [
        f"((range * {7919 + 2 * i} + {i}) % 1000003) / 125000.0 - 4.0 AS x{i}"
        for i in range(8)
    ]
    return (
        f"SELECT {', '.join(columns)}, ((range * 104729) % 1000003) / 50000.0 - 10.0 "
        f"AS y, CASE range % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'd' END AS c "
        f"FROM range({rows})"
    )


def step(name: str, low: float, high: float) -> str:
    """A number in grid steps as somebody would write it by hand."""
    centre, half = (low + high) / 2, (high - low) / 2
    return (
        f"CASE WHEN {name} IS NULL OR isnan({name}) THEN 0 WHEN {name} <= {low} THEN "
        f"{-ONE:.0f} WHEN {name} >= {high} THEN {ONE:.0f} ELSE "
        f"CAST(floor(({name} - {centre}) * {ONE / half!r} + 0.5) AS BIGINT) END"
    )


def products_by_hand(source: str) -> str:
    """All sums of products that least squares needs."""
    parts = [f"{step(n, -4, 4)} // 32768 AS {n}" for n in NUMBERS]
    parts.append(f"{step('y', -10, 10)} // 32768 AS y")
    names = [*NUMBERS, "y"]
    sums = [f"sum({a} * {b})" for i, a in enumerate(names) for b in names[i:]]
    sums += [f"sum({a})" for a in names]
    inner = f"SELECT {', '.join(parts)} FROM {source}"
    return f"SELECT count(*), {', '.join(sums)} FROM ({inner})"


def moments_by_hand(source: str) -> str:
    """Counts and two moments of every number by class, as naive Bayes needs."""
    parts = [
        f"CASE WHEN {n} IS NULL OR isnan({n}) THEN 0.5 ELSE "
        f"least(greatest(({n} + 4) / 8.0, 0), 1) END AS {n}"
        for n in NUMBERS
    ]
    sums = []
    for n in NUMBERS:
        sums += [
            f"sum(CAST(floor((1 - {n}) * (1 - {n}) * {ONE}) AS BIGINT))",
            f"sum(CAST(floor((1 - {n}) * {n} * {2 * ONE}) AS BIGINT))",
            f"sum(CAST(floor({n} * {n} * {ONE}) AS BIGINT))",
        ]
    return (
        f"SELECT c, count(*), {', '.join(sums)} FROM "
        f"(SELECT c, {', '.join(parts)} FROM {source}) GROUP BY c"
    )


def questions() -> dict[str, Any]:
    both = Fraction(1, 2)
    names = (*NUMBERS, "y")
    zeros, ones = (0.0,) * 9, (1.0,) * 9
    return {
        "mean": Sum(
            Everyone(), (Block(Ones(), share=both), Block(Values(("y",)), share=both))
        ),
        "linear": Sum(Everyone(), (Block(Values(names, 15, "centre", True), "gram"),)),
        "linear, norms bounded": Sum(
            Everyone(),
            (Block(Scaled(names, zeros, ones, 1.0, 4.0, bits=15), "gram"),),
        ),
        "naive Bayes": Sum(Categories(("c",)), (Block(Partition(NUMBERS)),)),
    }


def by_hand(source: str) -> dict[str, str]:
    return {
        "mean": f"SELECT count(*), sum({step('y', -10, 10)}) FROM {source}",
        "linear": products_by_hand(source),
        "naive Bayes": moments_by_hand(source),
    }


def timed(*works: Callable[[], Any], runs: int = 3) -> list[tuple[float, ...]]:
    """CPU seconds of each work: median, least, most, over interleaved runs."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for own, work in zip(found, works, strict=True):
            start = time.process_time()
            work()
            own.append(time.process_time() - start)
    return [(statistics.median(one), min(one), max(one)) for one in found]


def shown(times: tuple[float, ...]) -> str:
    return "{:.2f} ({:.2f} to {:.2f})".format(*times)


def hand(rows: int, runs: int, only: str) -> None:
    """The same aggregates by discreto, by hand, and by numpy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        connection.execute(f"COPY ({rows_sql(rows)}) TO '{path}' (FORMAT parquet)")
        source = f"read_parquet('{path}')"
        frame = open_frame(connection.sql(f"SELECT * FROM {source}"), DOMAIN)
        files, local = open_frame(str(path), DOMAIN), LocalEngine(1)
        texts = by_hand(source)
        print("| question | discreto in DuckDB, CPU s | by hand | ratio | numpy |")
        print("| --- | --- | --- | --- | --- |")
        for name, question in questions().items():
            if not name.startswith(only):
                continue
            bound = bind(question, DOMAIN)
            works = [lambda b=bound: DatabaseEngine().fold(b, frame)]
            if name in texts:
                works.append(lambda t=texts[name]: connection.execute(t).fetchall())
            ours, *other = timed(*works, runs=runs)
            start = time.process_time()
            wanted = local.fold(bound, files)
            own = time.process_time() - start
            found = DatabaseEngine().fold(bound, frame)
            assert all((a == b).all() for a, b in zip(found, wanted, strict=True))
            more = (
                [shown(other[0]), f"{ours[0] / other[0][0]:.2f}"] if other else ["", ""]
            )
            line = f"| {name} | {shown(ours)} | {more[0]} | {more[1]} | {own:.2f} |"
            print(line, flush=True)


def billion(rows: int, only: str) -> None:
    """Questions over rows that range() makes while they are asked."""
    domain = DOMAIN.select([*NUMBERS[:4], "y", "c"])
    asked = {
        "count": Sum(Everyone(), (Block(Ones()),)),
        "mean": questions()["mean"],
        "histogram": Sum(Bins("x0", 20), (Block(Ones()),)),
        "naive Bayes, 5 columns": Sum(
            Categories(("c",)), (Block(Partition((*NUMBERS[:4], "y"))),)
        ),
    }
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '1GB'")
    print("| question | rows | wall s | CPU s | largest memory, MB |")
    print("| --- | --- | --- | --- | --- |")
    for name, question in asked.items():
        if not name.startswith(only):
            continue
        for many in (rows // 10, rows):
            frame = open_frame(connection.sql(rows_sql(many)), domain)
            begun = time.perf_counter(), time.process_time()
            found = DatabaseEngine(fetch=False).fold(bind(question, domain), frame)
            wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            assert found[0].size
            line = f"| {name} | {many:.0e} | {wall:.1f} | {cpu:.1f} | {most:.0f} |"
            print(line, flush=True)


def boosting(rows: int) -> None:
    """Fifty trees: rows in DuckDB against the same rows in memory."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(f"CREATE TABLE made AS {rows_sql(rows)}")
    memory = connection.table("made").to_arrow_table()

    def fit(source: Any) -> None:
        table = dp.Table(source, DOMAIN, simulate(1))
        GradientBoostingRegressor(epsilon=1, n_estimators=50, random_state=0).fit(
            table, "y"
        )

    ours, own = timed(lambda: fit(connection.table("made")), lambda: fit(memory))
    print(f"{rows} rows, 50 trees: DuckDB {shown(ours)} CPU s, in memory {shown(own)}")
    print(f"ratio {ours[0] / own[0]:.2f}")


def fuzz(examples: int, seed: int) -> None:
    """No name or text in a query that is not ours or the domain's."""
    toss, asked = random.Random(seed), 0
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    letters = "'\"`;-/*%{}\\$?:@\n\t aA1é\u202e\u2028😀()," + string.ascii_letters

    def text(least: int, most: int) -> str:
        return "".join(toss.choices(letters, k=toss.randint(least, most)))

    while asked < examples:
        name, other, made = (text(1, 12) for _ in range(3))
        few = {name.lower(), other.lower(), made.lower()}
        if len(few) < 3 or "*" in few:  # which is refused
            continue
        words = sorted({text(0, 9) for _ in range(4)})
        domain = dp.Domain({name: dp.Number(0, 10), other: dp.Category(words)})
        quoted = [f'"{n.replace(chr(34), chr(34) * 2)}"' for n in (name, other)]
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t ({quoted[0]} DOUBLE, {quoted[1]} VARCHAR)")
        frame = open_frame(connection.table("t"), domain)
        for view, question in fuzzed(name, other, made, words, toss):
            seen = frame.seen(view) if view else frame
            own = view.domain(domain) if view else domain
            query = seen.query(bind(question, own))
            check_names(query.plan.to_native().sql_query(), {name, other}, set(words))
            query.run()
            asked += 1
    print(f"{asked} questions, seed {seed}: every name and text came from the domain")


def fuzzed(
    name: str, other: str, made: str, words: list[str], toss: random.Random
) -> list[tuple[Any, Any]]:
    """Views, or None, and questions about a number and a text of any names."""
    by_text = Cross(Bins(name, 3), Categories((other,)))
    some, texts = toss.choice(words), Col(other)
    recoded = Recode(texts, (some,), (made,))
    values = Sum(Everyone(), (Block(Values((name,))),))
    return [
        (None, Sum(by_text, (Block(Values((name,))),))),
        (None, Sum(Categories((other,)), (Block(Partition((name, other))),))),
        (Where(IsIn(texts, (some,))), values),
        (
            WithColumns((Named(made, recoded),)),
            Sum(Categories((made,)), (Block(Values((name,))),)),
        ),
    ]


def check_names(text: str, ours: set[str], words: set[str]) -> None:
    """Every name is one of ours or plain, every text a category."""
    from sqlglot.dialects import DuckDB
    from sqlglot.tokens import TokenType as Kind

    found = DuckDB().tokenize(text)
    kinds = {token.token_type for token in found}
    names = {token.text for token in found if token.token_type == Kind.IDENTIFIER}
    texts = {token.text for token in found if token.token_type == Kind.STRING}
    odd = names - ours
    assert Kind.SEMICOLON not in kinds, text
    assert all(n.isascii() and n.isidentifier() for n in odd), odd
    assert texts <= words, texts - words
    assert not any(token.comments for token in found), text


def main() -> None:
    """Measure what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["hand", "billion", "boosting", "fuzz"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="fuzz: other questions")
    parser.add_argument("--runs", type=int, default=3, help="hand: interleaved runs")
    parser.add_argument("--only", default="", help="questions that begin like this")
    given = parser.parse_args()
    if given.what == "hand":
        hand(given.rows or 50_000_000, given.runs, given.only)
    elif given.what == "billion":
        billion(given.rows or 1_000_000_000, given.only)
    elif given.what == "boosting":
        boosting(given.rows or 1_000_000)
    else:
        fuzz(given.examples, given.seed)


if __name__ == "__main__":
    main()
