"""How fast a ledger charges, and whether it survives kill -9.

    python benchmarks/ledger.py                      # speed and 1,000 kill rounds
    python benchmarks/ledger.py kill --rounds 50
    python benchmarks/ledger.py kill --rounds 50 --plant lazy   # a bug it must find

Speed is printed next to the raw fsync rate of the same disk in the same run: a charge
has to be on the disk before anything is released, so that rate is the ceiling.

A kill round starts writers that make real releases (``stats.count`` on a table) from
one ledger, kills all of them after a random moment, and checks the ledger: every
release was charged before, nothing was charged twice, no limit was passed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.ledger import sqlite
from discreto.core.ledger.sqlite import SqliteStore
from discreto.errors import BudgetError

UNIT = Fraction(1, 1000)
LIMIT, SHARE = 70, 22  # units of the population and of each analyst
ROUNDS_PER_LEDGER = 20
DOMAIN = dp.Domain({"age": dp.Number(0, 120)})


# Speed


def fsyncs_per_second(folder: Path, seconds: float) -> float:
    """How often a small append can be synced."""
    handle = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    count, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        os.write(handle, bytes(4096))
        os.fsync(handle)
        count += 1
    os.close(handle)
    return count / seconds


def charges_per_second(folder: Path, seconds: float, processes: int) -> float:
    """Charges of all processes together."""
    path = folder / f"speed-{processes}.ledger"
    dp.Ledger(path, epsilon=10**6)
    start = time.time() + 0.5

    def work() -> None:
        ledger, cost = dp.Ledger(path), Cost(epsilon=UNIT)
        time.sleep(max(0.0, start - time.time()))
        while time.time() < start + seconds:
            ledger.charge(cost, "speed", {"door": "measure"})

    for child in [in_child(work) for _ in range(processes)]:
        os.waitpid(child, 0)
    return dp.Ledger(path).verify() / seconds


def speed(folder: Path, seconds: float) -> dict[str, float]:
    """The rates, each next to the disk's."""
    raw = fsyncs_per_second(folder, seconds)
    one, eight = (charges_per_second(folder, seconds, n) for n in (1, 8))
    raw = (raw + fsyncs_per_second(folder, seconds)) / 2
    return {
        "raw fsync/s": round(raw),
        "charges/s from 1 process": round(one),
        "charges/s from 8 processes": round(eight),
        "ratio 1": round(one / raw, 2),
        "ratio 8": round(eight / raw, 2),
    }


# Kill -9


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked process; its id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"writer: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)


def write_releases(folder: Path, name: str, keyed: int, plant: str) -> None:
    """Release counts until the budget is used up; note each one once it is public."""
    if plant == "lazy":
        SqliteStore._transaction = lazy_transaction  # type: ignore[method-assign]
    ledger = open_ledger(folder, plant)
    table = dp.Table({"age": [40, 50, 60]}, DOMAIN, ledger.analyst(name), name="people")
    log = folder / f"releases-{name}"
    done = len(log.read_text().split("\n")) if log.exists() else 0
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    while True:
        # A killed request is made again under its key and must not be charged again.
        key = f"{name}-{done}" if keyed else None
        try:
            release = dp.stats.count(table, epsilon=UNIT, key=key)
        except BudgetError:
            return
        receipt = release.to_dict()["receipt"]
        fact = [receipt["seq"], receipt["hash"], float(release.value)]
        os.write(handle, (json.dumps(fact) + "\n").encode())
        done += 1


def open_ledger(folder: Path, plant: str) -> dp.Ledger:
    """The ledger, made by whoever comes first."""
    return dp.Ledger(
        folder / "people.ledger",
        epsilon=LIMIT * UNIT,
        analysts=dict.fromkeys("abcd", SHARE * UNIT),
        anchor=None if plant else folder / "people.anchor",
        key=b"benchmark",
    )


@contextmanager
def lazy_transaction(self: SqliteStore, begin: str) -> Iterator[sqlite3.Connection]:
    """The planted bug: only every fifth charge is committed before its release."""
    with self._lock:
        db = self._connection()
        if not db.in_transaction:
            sqlite._execute(db, "BEGIN IMMEDIATE", self.path, 30)
        yield db
        self.lazy = getattr(self, "lazy", 0) + 1  # type: ignore[attr-defined]
        if self.lazy % 5 == 0:  # type: ignore[attr-defined]
            db.execute("COMMIT")


def check(folder: Path, plant: str) -> dict[str, int]:
    """What is charged and what is released, counted from the files."""
    ledger = open_ledger(folder, plant)
    charged = {
        entry["seq"]: (entry["hash"], entry["analyst"]) for entry in ledger.entries()
    }
    released: dict[tuple[int, str], set[float]] = {}
    for log in folder.glob("releases-*"):
        for line in log.read_text().splitlines():
            seq, link, value = json.loads(line)
            released.setdefault((seq, link), set()).add(value)
    good = [seq for seq, link in released if charged.get(seq, [""])[0] == link]
    per_analyst = [
        sum(name == owner for _, owner in charged.values()) for name in "abcd"
    ]
    return {
        "charges": len(charged),
        "releases": len(released),
        "charged but unreleased": len(charged) - len(set(good)),
        "released but uncharged": len(released) - len(good),
        "two answers for one charge": sum(len(v) > 1 for v in released.values()),
        "overspend": max(0, len(charged) - LIMIT)
        + sum(max(0, count - SHARE) for count in per_analyst),
    }


def kill(
    folder: Path, rounds: int, writers: int, plant: str, seed: int | None
) -> dict[str, float]:
    """Kill writers at random moments; the counts over all ledgers."""
    rng, kills, start = random.Random(seed), 0, time.perf_counter()
    total: dict[str, int] = {}
    for first in range(0, rounds, ROUNDS_PER_LEDGER):
        place = folder / secrets.token_hex(4)
        place.mkdir()
        counts: dict[str, int] = {}
        for _ in range(first, min(rounds, first + ROUNDS_PER_LEDGER)):
            children = [
                in_child(partial(write_releases, place, "abcd"[w % 4], w % 2, plant))
                for w in range(writers)
            ]
            if rng.random() < 0.5:  # while they release, however slow the machine is
                _wait_for_releases(place)
            time.sleep(rng.uniform(0.02, 0.15))
            for child in children:
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                kills += os.WIFSIGNALED(status)
                if os.WIFEXITED(status) and os.WEXITSTATUS(status):
                    total["failed writers"] = total.get("failed writers", 0) + 1
            if (place / "people.ledger").exists():
                counts = check(place, plant)
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    seconds = round(time.perf_counter() - start, 1)
    return {"rounds": rounds, "kills": kills, **total, "seconds": seconds}


def _wait_for_releases(place: Path, seconds: float = 30.0) -> None:
    """Until somebody released something, or nothing is left to be released."""
    count = lambda: sum(p.stat().st_size for p in place.glob("releases-*"))  # noqa: E731
    before, end = count(), time.monotonic() + seconds
    while count() == before and time.monotonic() < end:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return  # somebody is done
        time.sleep(0.005)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=["speed", "kill", "all"])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--folder", help="on the disk to measure")
    parser.add_argument("--plant", choices=["", "lazy"], default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    what = options.what or "all"
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        facts: dict[str, float] = {}
        if what != "kill":
            facts |= speed(Path(name), options.seconds)
        if what != "speed":
            facts |= kill(
                Path(name),
                options.rounds,
                options.writers,
                options.plant,
                options.seed,
            )
    if options.json:
        print(json.dumps(facts))
    else:
        for label, value in facts.items():
            print(f"{label:30} {value:>10,}")
    bad = ("released but uncharged", "two answers for one charge", "overspend")
    return int(any(facts.get(label) for label in (*bad, "failed writers")))


if __name__ == "__main__":
    sys.exit(main())
