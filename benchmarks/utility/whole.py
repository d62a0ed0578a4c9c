"""The page of scores and the README's table, whole: one command.

    python benchmarks/utility/whole.py [--minutes 4] [--again LogisticRegression,Auto]

Makes every score that ``benchmarks/results/utility.jsonl`` lacks (one line for each
fit), then ``docs/models/utility.md`` and the README's table from all lines. It can be
stopped at any time and goes on where it was; ``--minutes`` stops it by itself, and
``--again`` forgets the lines of models whose names start so, after a change of them.
Prices of 1 come first. Two folds of three, at most 3,000 rows of a table: an hour on
one core. Peers run with the Python that DISCRETO_PEERS names, which needs diffprivlib
and interpret-core, or else keep the lines that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import page
import scores

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "utility.jsonl"
PRICES = ("1", "0.1", "8", "0.5", "2")
DELTAS = ("0", "1e-5")
FOLDS = ["--folds", "3", "--most", "2", "--rows", "3000"]


def forget(names: list[str]) -> None:
    """Drop the lines of models whose names start with one of these."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    kept = [
        line
        for line in lines
        if not json.loads(line)["facts"][1].startswith(tuple(names))
    ]
    RESULTS.write_text("".join(f"{line}\n" for line in kept))


def run(python: str, *words: str, until: float) -> None:
    """One run of ``scores.py``, which is stopped when time is over."""
    left = until - time.monotonic()
    if left <= 1:
        return
    command = [python, str(HERE / "scores.py"), str(RESULTS), *FOLDS, *words]
    try:
        subprocess.run(command, check=True, timeout=min(left, 1e6), env=environment())
    except subprocess.TimeoutExpired:
        print("stopped; run this again to go on", flush=True)


def environment() -> dict[str, str]:
    """This package for whoever runs ``scores.py``."""
    return os.environ | {"PYTHONPATH": str(ROOT / "src")}


def make_scores(tables: list[str], until: float) -> None:
    """All scores that are missing, the most asked for first."""
    peers = os.environ.get("DISCRETO_PEERS")
    for price in PRICES:
        for name in tables:
            one = ("--tables", name, "--epsilon", price)
            run(sys.executable, *one, "--only", "plain", until=until)
            for delta in DELTAS:
                more = ("--delta", delta, "--only", "ours")
                run(sys.executable, *one, *more, until=until)
            if peers:
                run(sys.executable, *one, "--only", "folds", until=until)
                run(peers, *one, "--only", "peers", until=until)
                for path in RESULTS.parent.glob(f"{RESULTS.stem}.*.npz"):
                    path.unlink()


def main() -> None:
    """Scores, page and README."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=float("inf"))
    words.add_argument("--again", type=lambda t: t.split(","), default=[])
    words.add_argument("--tables", type=lambda t: t.split(","))
    args = words.parse_args()
    if args.again:
        forget(args.again)
    until = time.monotonic() + 60 * args.minutes
    make_scores(args.tables or list(scores.TABLES), until)
    page.write(RESULTS, ROOT / "docs" / "models" / "utility.md", ROOT / "README.md")


if __name__ == "__main__":
    main()
