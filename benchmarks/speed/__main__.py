"""How fast the product is next to what people would use instead, as ratios.

    python benchmarks/speed [--only WORD ...] [--rows 1000000] [--tries 5] [--json FILE]

Every line runs our work and the peer's in turns, on one thread each, and divides the
quickest CPU times of both (CPU times because neighbours on a machine take wall time
first). Compiled loops are loaded before, as they are in a process that has answered a
few questions. A line whose goal is in seconds shows ours alone.
``python benchmarks/page.py run speed`` keeps the table in benchmarks/results, of which
docs/benchmarks.md is made.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Work = Callable[[], Any]


@dataclass(frozen=True)
class Line:
    """One piece of work: ours, what others do for it, and the goal."""

    name: str
    ours: Work
    peers: dict[str, Work]
    goal: float  # a ratio to the quickest peer, or seconds where there is none
    children: bool = False  # whether the work is done by processes of its own


def cpu(work: Work, *, children: bool = False) -> float:
    """CPU seconds of this process, or of those that it starts."""

    def clock() -> float:
        if not children:
            return time.process_time()
        times = os.times()
        return times.children_user + times.children_system

    start = clock()
    work()
    return clock() - start


def measure(line: Line, tries: int) -> dict[str, float]:
    """The quickest CPU time of each, taken in turns after one that does not count."""
    works = {"ours": line.ours} | line.peers
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(tries):
        for name, work in works.items():
            times[name].append(cpu(work, children=line.children))
    return {name: min(taken) for name, taken in times.items()}


def show(line: Line, found: dict[str, float]) -> dict[str, Any]:
    """Print one line of the table, and give it back as data."""
    peers = {name: t for name, t in found.items() if name != "ours"}
    if peers:
        best = min(peers, key=peers.__getitem__)
        figure, unit = found["ours"] / peers[best], f"x {best}"
    else:
        figure, unit = found["ours"], "s"
    verdict = "ok" if figure <= line.goal else "MISSED"
    print(
        f"{line.name:<44} {figure:8.3g} {unit:<16} goal {line.goal:<5g} {verdict:<7}"
        f" ours {found['ours'] * 1e3:.1f} ms"
        + "".join(f", {name} {t * 1e3:.1f}" for name, t in peers.items()),
        flush=True,
    )
    return {"name": line.name, "goal": line.goal, "figure": figure, "cpu": found}


def lines(rows: int) -> Iterator[Line]:
    """All lines, made one after the other: data of one is gone before the next."""
    import models
    import small
    import statistics_

    for part in (statistics_, models, small):
        yield from part.lines(rows)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="words of line names")
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "POLARS_MAX"):
        os.environ[f"{name}_THREADS"] = "1"
    names = ("numpy", "polars", "scikit-learn", "lightgbm", "pandas", "numba", "opendp")
    installed = {one.name.lower() for one in importlib.metadata.distributions()}
    names = tuple(name for name in names if name in installed)
    versions = {name: importlib.metadata.version(name) for name in names}
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    from discreto.core import compiled

    compiled.load("discreto.core.loops_numba")  # which a few questions would not do
    found = []
    for line in lines(given.rows):
        if not given.only or any(word in line.name for word in given.only):
            found.append(show(line, measure(line, given.tries)))
    if given.json is not None:
        given.json.write_text(json.dumps({"versions": versions, "lines": found}))


if __name__ == "__main__":
    main()
