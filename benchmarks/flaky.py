"""How often tests fail by chance: in other orders, and with other noise.

Run: python benchmarks/flaky.py orders 5        (the suite, shuffled five times)
     python benchmarks/flaky.py noise 200       (each test that draws noise, 200 times)
     python benchmarks/flaky.py noise 200 tests/unit/stats/test_stats.py ...

``orders`` runs everything but the Flower tests with ``--shuffle 1, 2, ...`` and prints
what failed with which seed. ``noise`` first runs each file once to see which tests draw
noise or public coins, then repeats those with real noise, the quickest file first, and
prints a table: test, runs, failures. Both exit with 1 if anything failed;
``--processes`` says how many tests run at once (2), and ``--seen`` names a file that
``pytest --record`` wrote, to save ``noise`` its first run.

What fails under ``noise`` does not fail in the suite, where noise repeats; but whoever
changes the order of two draws gets other noise, and a failure that is not theirs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOWER = "tests/integration/test_flower.py"


def pytest(processes: int, *words: str) -> list[dict]:
    """Run pytest, quietly; the recorded runs."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record")
        parts = ("-n", str(processes), "--dist", "worksteal") if processes > 1 else ()
        command = [sys.executable, "-m", "pytest", "-q", "--record", str(record)]
        done = subprocess.run(
            [*command, *parts, *words], cwd=ROOT, capture_output=True, text=True
        )
        lines = record.read_text().splitlines() if record.exists() else []
    if done.returncode not in (0, 1):
        print(done.stdout, done.stderr, file=sys.stderr)
        sys.exit(f"pytest could not run: exit code {done.returncode}")
    if done.returncode:
        print(done.stdout[-6000:], flush=True)
    return [json.loads(line) for line in lines]


def orders(times: int, processes: int, paths: list[str]) -> int:
    """Shuffled runs; how many tests failed."""
    found: Counter[str] = Counter()
    for seed in range(1, times + 1):
        runs = pytest(processes, "--shuffle", str(seed), "--ignore", FLOWER, *paths)
        failed = [run["test"] for run in runs if run["outcome"] == "failed"]
        found.update(failed)
        print(f"--shuffle {seed}: {len(runs)} run, {len(failed)} failed", flush=True)
    for test, count in found.most_common():
        print(f"{count} of {times}  {test}")
    return len(found)


def noise(times: int, processes: int, paths: list[str], seen: str | None) -> int:
    """Every test that draws, again and again; how many of them failed."""
    if seen:
        runs = [json.loads(line) for line in Path(seen).read_text().splitlines()]
        runs = [run for run in runs if run["test"].startswith(tuple(paths or [""]))]
    else:
        runs = pytest(processes, "--ignore", FLOWER, *paths)
    files: dict[str, list[dict]] = {}
    for run in runs:
        if run["noise"] or run["coins"]:
            files.setdefault(run["test"].partition("::")[0], []).append(run)
    print(f"{len(runs)} tests, {sum(map(len, files.values()))} draw\n")
    print(f"{'runs':>5} {'failed':>6}  test", flush=True)
    bad = 0
    for tests in sorted(files.values(), key=lambda t: sum(r["seconds"] for r in t)):
        again = [run["test"] for run in tests]
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("\n".join(again))
            file.flush()
            runs = pytest(processes, "--fresh", "--repeat", str(times), f"@{file.name}")
        every = Counter(run["test"] for run in runs)
        failed = Counter(run["test"] for run in runs if run["outcome"] == "failed")
        for test in again:
            print(f"{every[test]:>5} {failed[test]:>6}  {test}", flush=True)
        bad += len(failed)
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["orders", "noise"])
    parser.add_argument("times", type=int)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seen", help="what an earlier run with --record wrote")
    options = parser.parse_intermixed_args()
    task = options.times, options.processes, options.paths
    failed = orders(*task) if options.what == "orders" else noise(*task, options.seen)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
