"""A table larger than memory should be: the local engine, pools and Dask on Parquet.

    python benchmarks/cluster.py [rows] [tries]

Writes ten files of 20 columns to a temporary folder. Every engine answers the same two
questions, in turns, and must give the same integers. On a busy machine trust the
processor seconds more than the clock. Memory is the peak of a fresh process (local), or
the largest sum over all processes of this benchmark together.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import discreto as dp
from discreto.core.maps import Bins, Values
from discreto.core.maps.features import PRODUCT_BITS
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.data.engines import ExecutorEngine, LocalEngine
from discreto.testing import simulate

COLUMNS, FILES = 20, 10
# Dask's own setting gives memory back after every array, which doubles the work.
MALLOC = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
DOMAIN = dp.Domain.cube(COLUMNS)
GRAM = Sum(
    Everyone(),
    (Block(Values(tuple(DOMAIN), bits=PRODUCT_BITS, constant=True), "gram"),),
)
HISTOGRAMS = [Sum(Bins(name, 50), (Block(Ones()),)) for name in DOMAIN]
QUESTIONS = {"Gram": [GRAM], "20 histograms": HISTOGRAMS}


def write(folder: Path, rows: int) -> None:
    """Ten files of random numbers, in row groups of at most 2^17 rows."""
    coins, size = np.random.default_rng(0), rows // FILES
    for file in range(FILES):
        columns = {name: coins.uniform(-1, 1, size) for name in DOMAIN}
        path = folder / f"part-{file}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=1 << 17)


def ask(engine: Any, pattern: str, questions: list[Sum]) -> list[Any]:
    """The exact sums: no noise, so that engines can be compared."""
    table = dp.Table.scan(pattern, DOMAIN, simulate(noise=False), engine=engine)
    gate, cost = table.gate(), dp.Cost.of(1)
    return [gate.measure(q, cost, "benchmark").tables[0].tolist() for q in questions]


def family() -> list[psutil.Process]:
    """This process and all that it started."""
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def peak_memory(stop: threading.Event) -> list[float]:
    """The largest sum of proportional memory, in MB, sampled until ``stop``."""
    peak = [0.0]

    def watch() -> None:
        while not stop.wait(0.2):
            total = 0
            for process in family():
                with suppress(psutil.Error):
                    total += process.memory_full_info().pss
            peak[0] = max(peak[0], total / 2**20)

    threading.Thread(target=watch, daemon=True).start()
    return peak


def clocks() -> tuple[float, float]:
    """Seconds on the wall, and of all processors for all of our processes."""
    used = 0.0
    for process in family():
        with suppress(psutil.Error):
            times = process.cpu_times()
            used += times.user + times.system
    return time.perf_counter(), used


def compare(pattern: str, engines: dict[str, Any], tries: int) -> None:
    """Times of all engines, taken in turns so that load hits all of them."""
    for what, questions in QUESTIONS.items():
        truth = ask(engines["local"], pattern, questions)
        best = {name: [math.inf, math.inf] for name in engines}
        for name, engine in list(engines.items()) * tries:
            start = clocks()
            got = ask(engine, pattern, questions)
            taken = [b - a for a, b in zip(start, clocks(), strict=True)]
            best[name] = [min(pair) for pair in zip(best[name], taken, strict=True)]
            if got != truth:
                raise SystemExit(f"{name} gives other sums than local")
        for name, (wall, used) in best.items():
            times = [a / b for a, b in zip((wall, used), best["local"], strict=True)]
            line = f"{what:<14} {name:<10} {wall:6.2f} s  {times[0]:5.2f} x local"
            line += f"   processors {used:6.2f} s  {times[1]:5.2f} x local"
            if name == "dask":
                line += "   target 1.6 " + ("ok" if times[0] <= 1.6 else "MISSED")
            print(line, flush=True)


LOCAL = """
import sys
sys.path.insert(0, sys.argv[2])
import cluster
for questions in cluster.QUESTIONS.values():
    cluster.ask(cluster.LocalEngine(), sys.argv[1], questions)
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""


def local_memory(pattern: str) -> None:
    """The peak of a fresh process that streams both questions."""
    command = [sys.executable, "-c", LOCAL, pattern, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = float(done.stdout)
    verdict = "ok" if peak <= 500 else "MISSED"
    print(
        f"peak memory, local engine: {peak:.0f} MB  target 500  {verdict}", flush=True
    )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
    tries = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({MALLOC: None})
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {rows:.0e} x 20")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        size = sum(p.stat().st_size for p in Path(folder).iterdir()) / 2**20
        pattern = f"{folder}/*.parquet"
        print(f"{FILES} files, {size:.0f} MB")
        local_memory(pattern)
        spawn = partial(ProcessPoolExecutor, 2, mp_context=get_context("spawn"))
        start = time.perf_counter()
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="")
        with cluster, Client(cluster) as client:
            print(f"Dask start {time.perf_counter() - start:.1f} s")
            engines = {
                "local": LocalEngine(),
                "threads": ExecutorEngine(ThreadPoolExecutor(2)),
                "processes": ExecutorEngine(spawn),
                "dask": dp.engines.dask(client),
            }
            stop = threading.Event()
            peak = peak_memory(stop)
            compare(pattern, engines, tries)
            stop.set()
            print(f"peak memory, all processes together: {peak[0]:.0f} MB")


if __name__ == "__main__":
    main()
