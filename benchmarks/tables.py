"""How fast tables are, next to plain numpy on the same machine in the same run.

    python benchmarks/tables.py [rows]

Every line shows a ratio or a time and its target. Run it on a quiet machine: each
figure is the best of a few tries, which helps only so far.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreto as dp
from discreto.core.maps import Values
from discreto.core.maps.features import PRODUCT_BITS
from discreto.core.query import Block, Everyone, Sum
from discreto.testing import simulate

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
COLUMNS = 20
WIDE = [f"x{i}" for i in range(COLUMNS)]


def best(work: Callable[[], Any], tries: int = 5) -> float:
    """Seconds of the quickest try, after one that does not count."""
    work()
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], tries: int = 5) -> float:
    """Quickest try against quickest try, taken in turns so that load hits both."""
    ours()
    theirs()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(tries):
        for work, taken in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return min(times[0]) / min(times[1])


def show(what: str, figure: float, unit: str, target: float) -> None:
    """One line of the table."""
    verdict = "ok" if figure <= target else "MISSED"
    print(
        f"{what:<52} {figure:9.2f} {unit:<6} target {target:g}  {verdict}", flush=True
    )


def simple() -> None:
    """Sum, mean and histogram of one column."""
    values = np.random.default_rng(0).random(ROWS)
    table = dp.Table({"x": values}, dp.Domain({"x": dp.Number(0, 1)}), simulate())
    stats = dp.stats
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("sum", lambda: stats.sum(table, "x", epsilon=1), lambda: values.sum()),
        ("mean", lambda: stats.mean(table, "x", epsilon=1), lambda: values.mean()),
        (
            "sum, numpy that clips too",
            lambda: stats.sum(table, "x", epsilon=1),
            lambda: np.clip(values, 0, 1).sum(),
        ),
        (
            "histogram",
            lambda: stats.histogram(table, "x", bins=20, epsilon=1),
            lambda: np.histogram(values, bins=20, range=(0, 1)),
        ),
    ]
    for name, ours, plain in pairs:
        times = ratio(ours, plain, 9)
        show(f"{name} over {ROWS:.0e} rows / numpy", times, "times", 3)


def gram() -> None:
    """The Gram matrix of 20 columns, from a C-order array and from a dict."""
    array = np.random.default_rng(0).uniform(-1, 1, (ROWS, COLUMNS))
    domain, cost = dp.Domain.cube(COLUMNS), dp.Cost.of(1)
    features = Values(tuple(domain), bits=PRODUCT_BITS, constant=True)
    query = Sum(Everyone(), (Block(features, "gram"),))
    columns = dict(zip(domain, np.ascontiguousarray(array.T), strict=True))
    sources: dict[str, Any] = {"array": array, "dict": columns}
    for kind, source in sources.items():
        table = dp.Table(source, domain, simulate())
        works: dict[str, Callable[[], Any]] = {
            "Gram": lambda t=table: t.gate().measure(query, cost, "gram"),
            "covariance": lambda t=table: dp.stats.covariance(t, WIDE, epsilon=1),
        }
        for name, work in works.items():
            times = ratio(work, lambda: array.T @ array, 3)
            show(f"{name} of {COLUMNS} ({kind}) / X.T @ X", times, "times", 4)


def small() -> None:
    """One count of a small table, in memory and with a ledger file."""
    data = {"x": np.linspace(0, 1, 1000)}
    domain = dp.Domain({"x": dp.Number(0, 1)})

    def typical(work: Callable[[], Any], tries: int = 200) -> float:
        times = []
        for _ in range(tries):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return 1000 * statistics.median(times)

    table = dp.Table(data, domain, dp.Ledger(epsilon=1000))
    once = typical(lambda: dp.stats.count(table, epsilon=1))
    show("count of 1,000 rows, ledger in memory", once, "ms", 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        kept = dp.Table(data, domain, dp.Ledger(path / "ledger", epsilon=1000))
        once = typical(lambda: dp.stats.count(kept, epsilon=1), 100)
        with open(path / "raw", "wb", buffering=0) as file:

            def sync() -> None:
                file.write(bytes(4096))
                os.fsync(file.fileno())

            raw = typical(sync, 100)
        print(f"{'count of 1,000 rows, ledger file':<52} {once:9.2f} ms", end="")
        print(f"     (a bare fsync: {raw:.2f} ms)", flush=True)


def importing() -> None:
    """A fresh process."""

    def seconds(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    print(f"{'import numpy, for comparison':<52} {seconds('import numpy'):9.2f} s")
    taken = seconds("import discreto") - seconds("pass")
    show("import discreto", taken, "s", 0.4)


STREAM = """
import resource, sys
import discreto as dp
from discreto.testing import simulate
table = dp.Table.scan(sys.argv[1], dp.Domain.cube(5), simulate())
dp.stats.mean(table, "x0", epsilon=1)
dp.stats.histogram(table, "x1", epsilon=1)
dp.stats.covariance(table, list(table.domain), epsilon=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def streaming() -> None:
    """Peak memory over a file that is larger than it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    coins = np.random.default_rng(0)
    names = list(dp.Domain.cube(5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        schema = pa.schema([(name, pa.float64()) for name in names])
        with pq.ParquetWriter(path, schema) as writer:
            for start in range(0, ROWS, 1 << 19):
                size = min(1 << 19, ROWS - start)
                piece = {name: coins.uniform(-1, 1, size) for name in names}
                writer.write_table(pa.table(piece, schema=schema))
        start_time = time.perf_counter()
        command = [sys.executable, "-c", STREAM, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        taken = time.perf_counter() - start_time
        size = path.stat().st_size / 2**20
        print(f"{'streamed mean, histogram and Gram':<52} {taken:9.2f} s", end="")
        print(f"      (file: {size:.0f} MB)")
        show(f"peak memory over {ROWS:.0e} x 5 Parquet", float(done.stdout), "MB", 500)


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    importing()
    small()
    simple()
    streaming()
    gram()
