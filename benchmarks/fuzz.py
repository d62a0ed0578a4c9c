"""Hostile and nearly right messages against real silos and gates.

Run: python benchmarks/fuzz.py --messages 100000

Valid questions of every kind (all statistics, all models, all rounds), domains,
policies, model files and replies are changed in one place or more and sent. The same
message goes to neighbouring tables, an empty one, and tables of odd values. Counted are
what was accepted, what was refused and by which error, where anything but numbers
differed between tables ("differences"), and what failed after a charge, raised another
error than ours, warned, hung or ended the process ("crashes"). How long an accepted
message takes may depend on rows; that is not looked at here.

The work is done by child processes, half of them with compiled loops (numba), since a
message that gets through to those may end its process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HELPERS = Path(__file__).parents[1] / "tests" / "properties"
CHUNK = 2500


def work(seed: int, count: int, compiled: bool) -> None:
    """Send messages and print what came of them as a line of JSON each."""
    sys.path.insert(0, str(HELPERS))
    import trials

    from discreto.core.maps import trees_numpy

    if compiled:
        trees_numpy._loops()  # once loaded, they are used for few rows, too
    sent = trials.Trials(seed)
    for _ in range(count):
        kind = sent.draw()
        said, wrong = sent.run(kind)
        print(json.dumps([kind, said, wrong, sent.seconds]), flush=True)


def child(seed: int, count: int) -> list[Any]:
    """The lines of a child process; a crash of it is one more line."""
    command = [sys.executable, __file__, "--seed", str(seed), "--work", str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        why = f"crash: process ended with {done.returncode}: {done.stderr[-500:]}"
        lines.append(["(process)", "ended", [why], 0.0])
    return lines


def show(lines: list[Any], seconds: float) -> int:
    """Print the table; the number of differences and crashes."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    times: dict[str, list[float]] = defaultdict(list)
    bad = 0
    for kind, said, wrong, took in lines:
        answered = said in ("release", "accepted", "silo")
        rows[kind]["accepted" if answered else said] += 1
        times[kind].append(took)
        differs = any(w.startswith("difference") for w in wrong)
        rows[kind]["differences"] += differs
        rows[kind]["crashes"] += bool(wrong) and not differs
        if wrong and (bad := bad + 1) <= 20:
            print(f"seed line {kind}: {said}: {wrong}"[:2000])
    fixed = ("accepted", "differences", "crashes")
    head = ("kind", "sent", "accepted", "refused or not sent")
    print("| " + " | ".join((*head, "differences", "crashes", "s", "slowest s")) + " |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    total: Counter[str] = Counter()
    for kind, row in sorted(rows.items()):
        total += row
        print(_line(kind, row, times[kind], fixed))
    print(
        _line("all", total, [t for several in times.values() for t in several], fixed)
    )
    print(f"{len(lines)} messages in {seconds:.0f} s")
    return bad


def _line(
    kind: str, row: Counter[str], times: list[float], fixed: tuple[str, ...]
) -> str:
    refused = ", ".join(f"{k} {n}" for k, n in sorted(row.items()) if k not in fixed)
    cells = [kind, len(times), row["accepted"], refused, row["differences"]]
    cells += [row["crashes"], f"{sum(times):.0f}", f"{max(times, default=0):.2f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    """Send the messages that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--work", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.seed, args.work, compiled=args.seed % 2 == 0)
        return 0
    begun, left, jobs = time.perf_counter(), args.messages, []
    with ThreadPoolExecutor(args.processes) as pool:
        while left > 0:
            jobs.append(pool.submit(child, args.seed + len(jobs), min(CHUNK, left)))
            left -= CHUNK
        lines = [line for job in jobs for line in job.result()]
    return 1 if show(lines, time.perf_counter() - begun) else 0


if __name__ == "__main__":
    sys.exit(main())
