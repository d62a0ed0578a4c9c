"""What a billion rows would cost, from pieces that are measured here.

    python benchmarks/scale.py [--rows 4000000] [--files 300] [--cores 64]

Measures, in CPU seconds on this machine: a row of each kind of question over Parquet
files, opening files, what a task and a question weigh on their way to workers, and a
task on a local Dask cluster. Then it multiplies: 10^9 and 10^11 rows on ``cores`` that
are as quick as these. What is multiplied is marked with a ~; nothing of it was run.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import psutil
import streams

import discreto as dp
from discreto import models
from discreto.core import compiled
from discreto.core.maps import Block, Categories, Everyone, Partition, Values
from discreto.core.query import Ones, Sum, bind
from discreto.data.engines import LocalEngine
from discreto.data.engines.executor import write_question
from discreto.data.frames import open_frame

PRODUCTS = Values((*streams.NUMBERS, "t"), 15, "centre", True)
TABLES = Partition((*streams.NUMBERS, "c"))
QUESTIONS: dict[str, tuple[Any, str]] = {
    "a count": (Sum(Everyone(), (Block(Ones()),)), ""),
    "a sum": (Sum(Everyone(), (Block(Values(("x0",))),)), ""),
    "products of 7 columns": (Sum(Everyone(), (Block(PRODUCTS, "gram"),)), "t"),
    "class tables of 7 columns": (Sum(Categories(("y",), True), (Block(TABLES),)), "y"),
}
FITS: dict[str, tuple[Callable[[], Any], str]] = {
    "linear regression, fit": (lambda: models.LinearRegression(epsilon=1), "t"),
    "naive Bayes, fit": (lambda: models.NaiveBayes(epsilon=1), "y"),
}
TREES = 8


def cpu(work: Callable[[], Any], tries: int = 2) -> float:
    """The quickest CPU seconds of some tries."""
    found = []
    for _ in range(tries):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


class Counting(LocalEngine):
    """One thread, which counts what it is asked, and how long the texts are."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked, self.letters = 0, 0

    def fold(self, asked: Any, frame: Any) -> Any:
        self.asked += 1
        self.letters += len(write_question(asked.query))
        return super().fold(asked, frame)

    def fold_several(self, several: Any, frame: Any) -> Any:
        self.asked += 1
        return super().fold_several(several, frame)


def fit(make: Callable[[], Any], folder: Path, target: str) -> tuple[float, Counting]:
    """CPU seconds of a fit over files, and what it asked."""
    engine = Counting()
    data = f"{folder}/*.parquet"
    ledger = dp.testing.simulate(0)
    table = dp.Table.scan(data, streams.domain(target), ledger, engine=engine)
    return cpu(lambda: make().fit(table), 1), engine


def boosted(trees: int, depth: int, splits: Any) -> Any:
    """A boosted model of a given size."""
    how = models.BoostingSettings(splits=splits)
    size: dict[str, Any] = {"n_estimators": trees, "max_depth": depth}
    return models.GradientBoostingClassifier(epsilon=1, settings=how, **size)


def rows_of(folder: Path, warm: Path, rows: int) -> dict[str, float]:
    """Nanoseconds a row of each piece of work, by one thread."""
    compiled.load("discreto.core.loops_numba")
    out, engine = {}, LocalEngine(1)
    for name, (question, target) in QUESTIONS.items():
        domain = streams.domain(target)
        asked = bind(question, domain)
        for place in (warm, folder):
            frame = open_frame(f"{place}/*.parquet", domain)
            taken = cpu(lambda: engine.fold(asked, frame))  # noqa: B023
        out[name] = taken / rows * 1e9
    for name, (make, target) in FITS.items():
        fit(make, warm, target)
        taken, engine_ = fit(make, folder, target)
        out[f"{name} ({engine_.asked} questions)"] = taken / rows * 1e9

    def trees() -> Any:
        return boosted(TREES, 2, "random")

    fit(trees, warm, "y")
    taken, engine_ = fit(trees, folder, "y")
    out[f"{TREES} random trees of depth 2 ({engine_.asked} questions)"] = (
        taken / rows * 1e9
    )
    return out


def files_of(folder: Path, many: int) -> tuple[float, float]:
    """Milliseconds to open a file, and bytes of a file in a list for workers."""
    one = next(folder.glob("*.parquet"))
    copies = folder.parent / "copies"
    copies.mkdir()
    for number in range(many):
        shutil.copy(one, copies / f"{number:05}.parquet")
    domain = streams.domain()
    taken = cpu(lambda: open_frame(f"{copies}/*.parquet", domain), 1)
    frame: Any = open_frame(f"{copies}/*.parquet", domain)
    return taken / many * 1e3, len(pickle.dumps(frame.spans)) / many


def question_of(trees: int, depth: int) -> tuple[float, float, int]:
    """Kilobytes of the last question about an ensemble and of all, and how many."""
    coins = np.random.default_rng(0)
    x = coins.uniform(-4, 4, (2000, 6))
    columns = {f"x{i}": dp.Number(-4, 4) for i in range(6)}
    domain = dp.Domain(columns | {"y": dp.Category([0, 1])}, target="y")
    data = {f"x{i}": x[:, i] for i in range(6)} | {"y": (x[:, 0] > 0).astype(int)}
    sizes: list[int] = []

    class Weighing(LocalEngine):
        def fold(self, asked: Any, frame: Any) -> Any:
            sizes.append(len(write_question(asked.query)))
            return super().fold(asked, frame)

    table = dp.Table(data, domain, dp.testing.simulate(0), engine=Weighing(1))
    boosted(trees, depth, "greedy").fit(table)
    return max(sizes) / 1e3, sum(sizes) / 1e3, len(sizes)


def tasks_of(folder: Path) -> float | None:
    """CPU milliseconds of a task, of all processes of a Dask cluster; None without."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return None
    warnings.simplefilter("ignore")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(**options, processes=True) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        asked = bind(QUESTIONS["a count"][0], streams.domain())
        frame = open_frame(f"{folder}/*.parquet", streams.domain())
        engines = [dp.engines.dask(client, parts=parts) for parts in (2, 20)]
        taken = []
        for engine in engines:
            engine.fold(asked, frame)
            start = _family_cpu()
            for _ in range(10):
                engine.fold(asked, frame)
            taken.append((_family_cpu() - start) / 10)
        return (taken[1] - taken[0]) / 18 * 1e3


def _family_cpu() -> float:
    me = psutil.Process()
    every = [me, *me.children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in every)


def show(found: dict[str, float], cores: int, rows: int, size: int) -> None:
    """The pieces, and what they make together."""
    print(f"\nCPU hours, and minutes on {cores} cores; {size / rows:.0f} bytes a row")
    print(f"{'':<44} {'ns a row':>9} {'~10^9 rows':>18} {'~10^11 rows':>18}")
    for name, nanoseconds in found.items():
        line = f"{name:<44} {nanoseconds:>9.1f}"
        for many in (1e9, 1e11):
            hours = nanoseconds * many / 3.6e12
            line += f" {hours:>8.2g} h, {hours / cores * 60:>6.2g} m"
        print(line)


def main() -> None:
    """All pieces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, warm = Path(place, "rows"), Path(place, "warm")
        for path, rows in ((folder, given.rows), (warm, 400_000)):
            path.mkdir()
            streams.write(path, rows)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        opening, listed = files_of(warm, given.files)
        print(f"opening a file {opening:.2f} ms; {listed:.0f} bytes of it in a list")
        for trees, depth in ((100, 2), (100, 5)):
            last, every, many = question_of(trees, depth)
            print(
                f"{trees} greedy trees of depth {depth}: {many} questions, the last "
                f"{last:.0f} kB, all {every / 1e3:.1f} MB"
            )
        each = tasks_of(warm)
        if each is not None:
            print(f"a task on a Dask cluster {each:.1f} ms")
        found = rows_of(folder, warm, given.rows)
        show(found, given.cores, given.rows, size)
    if given.json is not None:
        given.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
