"""Files read as streams, next to DuckDB and Polars on the same files.

    python benchmarks/streams.py [--rows 50000000] [--only WORD] [--folder DIR]

Writes twenty Parquet files of ten columns (to a temporary folder unless one is given,
which is then kept). Every line is one process of its own: its CPU seconds, and the most
memory that it had, imports and all. The others compute the same sums without noise, in
one pass; a fit of ours may ask several questions, each with a pass of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

FILES, GROUP = 20, 1 << 17
NUMBERS = tuple(f"x{i}" for i in range(6))
WORDS = ("north", "south", "east", "west", "centre")
WHOS = ("ours", "duckdb", "polars")


def write(folder: Path, rows: int) -> None:
    """Numbers of all digits, of three, whole ones, a text and a class."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, words = np.random.default_rng(0), pa.array(WORDS)
    for file in range(FILES):
        many = rows // FILES
        y = rng.integers(0, 2, many)
        x = [np.clip(rng.normal(y / 2, 1, many), -4, 4) for _ in NUMBERS]
        x[3:] = [np.round(one, 3) for one in x[3:]]
        columns = dict(zip(NUMBERS, x, strict=True))
        columns["t"] = np.clip(x[0] - x[3] + rng.normal(size=many), -10, 10)
        columns["age"] = rng.integers(0, 100, many, dtype=np.int32)
        codes = pa.array(rng.integers(0, len(WORDS), many, dtype=np.int8))
        columns["c"] = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
        columns["y"] = y
        path = folder / f"part-{file:02}.parquet"
        pq.write_table(
            pa.table(columns), path, row_group_size=GROUP, compression="none"
        )


def domain(target: str = "") -> Any:
    """The ten columns, as their owner would describe them."""
    import discreto as dp

    columns: dict[str, Any] = {name: dp.Number(-4, 4) for name in NUMBERS}
    columns |= {"t": dp.Number(-10, 10), "age": dp.Number(0, 100)}
    columns |= {"c": dp.Category(WORDS), "y": dp.Category([0, 1])}
    kept = {"t": (*NUMBERS, "t"), "y": (*NUMBERS, "c", "y")}.get(target, tuple(columns))
    return dp.Domain({name: columns[name] for name in kept}, target=target or None)


def ours(folder: str, what: str) -> Callable[[], Any]:
    """The question or the fit, over streams."""
    import discreto as dp
    from discreto import models
    from discreto.core.maps import Block, Categories, Everyone, Partition, Values
    from discreto.core.query import Ones, Sum, bind
    from discreto.data.engines import LocalEngine
    from discreto.data.frames import open_frame

    files = f"{folder}/*.parquet"

    def table(target: str = "") -> dp.Table:
        return dp.Table.scan(files, domain(target), dp.testing.simulate(0))

    def fold(question: Any, target: str) -> Callable[[], Any]:
        facts = domain(target)
        return lambda: LocalEngine().fold(
            bind(question, facts), open_frame(files, facts)
        )

    half = Fraction(1, 2)
    mean = (Block(Ones(), share=half), Block(Values(("x0",)), share=half))
    products = Values((*NUMBERS, "t"), 15, "centre", True)
    parts = Partition((*NUMBERS, "c"))
    known = models.NaiveBayes(epsilon=1)
    return {
        "mean": fold(Sum(Everyone(), mean), ""),
        "products of 7": fold(Sum(Everyone(), (Block(products, "gram"),)), "t"),
        "class tables": fold(Sum(Categories(("y",), True), (Block(parts),)), "y"),
        "mean, released": lambda: dp.stats.mean(table(), "x0", epsilon=1),
        "linear fit": lambda: models.LinearRegression(epsilon=1).fit(table("t")),
        "naive Bayes fit": lambda: known.fit(table("y")),
    }[what]


def sums(what: str) -> tuple[list[str], str]:
    """What has to be added up, as SQL, and by what."""
    if what.startswith("mean"):
        return ["count(x0)", "sum(greatest(least(x0, 4), -4))"], ""
    names = (*NUMBERS, "t") if what in ("linear fit", "products of 7") else NUMBERS
    if len(names) == 7:
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i:]]
        return [f"sum({a})" for a in names] + [f"sum({a} * {b})" for a, b in pairs], ""
    found = ["count(*)", *(f"sum({a})" for a in names)]
    found += [f"sum({a} * {a})" for a in names]
    found += [f"sum(CASE WHEN c = '{word}' THEN 1 ELSE 0 END)" for word in WORDS]
    return found, "y"


def duckdb(folder: str, what: str) -> Callable[[], Any]:
    """The same sums by DuckDB."""
    import duckdb

    found, by = sums(what)
    text = f"SELECT {', '.join(found)} FROM read_parquet('{folder}/*.parquet')"
    text += f" GROUP BY {by}" if by else ""
    return lambda: duckdb.connect().execute(text).fetchall()


def polars(folder: str, what: str) -> Callable[[], Any]:
    """The same sums by Polars, streamed."""
    import polars as pl

    _, by = sums(what)

    def work() -> Any:
        rows = pl.scan_parquet(f"{folder}/*.parquet")
        if what.startswith("mean"):
            asked = rows.select(pl.len(), pl.col("x0").clip(-4, 4).sum())
        elif by:
            numbers = [pl.col(name) for name in NUMBERS]
            asked = rows.group_by(by).agg(
                pl.len(),
                *(x.sum().name.suffix("_1") for x in numbers),
                *((x * x).sum().name.suffix("_2") for x in numbers),
                *((pl.col("c") == word).sum().alias(word) for word in WORDS),
            )
        else:
            names = (*NUMBERS, "t")
            pairs = [(a, b) for i, a in enumerate(names) for b in names[i:]]
            asked = rows.select(
                *(pl.col(a).sum() for a in names),
                *((pl.col(a) * pl.col(b)).sum().alias(f"{a}*{b}") for a, b in pairs),
            )
        return asked.collect(engine="streaming")

    return work


def one(who: str, folder: str, what: str, warm: str) -> None:
    """Measure in this process; ``warm`` is a small copy, for what is loaded once."""
    make = {"ours": ours, "duckdb": duckdb, "polars": polars}[who]
    if who == "ours":
        from discreto.core import compiled

        compiled.load("discreto.core.loops_numba")  # which small files would not do
    make(warm, what)()
    work = make(folder, what)
    start = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    status = Path("/proc/self/status")  # ru_maxrss has the parent's memory in it
    if status.exists():
        most = int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "memory": most}))


def measured(who: str, folder: Path, what: str, warm: Path) -> dict[str, float]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "one", who, str(folder), what, str(warm)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


WHATS = (
    *("mean", "products of 7", "class tables"),
    *("mean, released", "linear fit", "naive Bayes fit"),
)


def main() -> None:
    """The table."""
    if sys.argv[1:2] == ["one"]:
        one(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--only", nargs="*", default=[], help="words of line names")
    parser.add_argument("--who", nargs="*", default=list(WHOS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--tries", type=int, default=3)
    given = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {given.rows:.0e} x 10"
    )
    with tempfile.TemporaryDirectory() as place:
        folder, warm = given.folder or Path(place, "rows"), Path(place, "warm")
        for path, rows in ((folder, given.rows), (warm, 40_000)):
            if not path.exists():
                path.mkdir(parents=True)
                write(path, rows)
        for what in WHATS:
            if given.only and not any(word in what for word in given.only):
                continue
            found: dict[str, list[dict[str, float]]] = {who: [] for who in given.who}
            for _ in range(given.tries):
                for who, several in found.items():
                    several.append(measured(who, folder, what, warm))
            best = {
                who: min(s["cpu"] for s in several) for who, several in found.items()
            }
            line = f"{what:<16}"
            if len(best) > 1:
                ratio = best["ours"] / min(
                    t for who, t in best.items() if who != "ours"
                )
                line += f" {ratio:5.2f} x the best"
            for who, several in found.items():
                most = max(s["memory"] for s in several)
                wall = min(s["wall"] for s in several)
                line += f"; {who} {best[who]:.2f} s CPU, {wall:.2f} s, {most:.0f} MB"
            print(line, flush=True)


if __name__ == "__main__":
    main()
