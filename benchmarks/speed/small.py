"""What does not grow with rows: noise, ledgers, the command line, CSV."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import discreto as dp
from __main__ import Line
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.data.engines import LocalEngine


def lines(rows: int) -> Iterator[Line]:
    """The lines."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _csv(rows, Path(folder))
        yield from _ledger(Path(folder))
        yield from _shell(Path(folder))
    yield from _noise()


def _csv(rows: int, folder: Path) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    path = folder / "numbers.csv"
    frame = pl.DataFrame({n: rng.normal(50, 10, rows) for n in ("x", "y", "z")})
    frame.write_csv(path)
    domain = dp.Domain({"x": dp.Number(0, 100, missing=False)})
    table = dp.Table(path, domain, dp.testing.simulate(0), engine=LocalEngine(1))
    yield Line(
        "mean of a CSV column",
        lambda: dp.stats.mean(table, "x", epsilon=1),
        {"polars": lambda: pl.scan_csv(path).select(pl.col("x").mean()).collect()},
        2,
    )


def _ledger(folder: Path) -> Iterator[Line]:
    path = folder / "long.ledger"
    with dp.Ledger(path, epsilon=10**6) as ledger:
        from discreto.core.cost import Cost

        for _ in range(10**4):
            ledger.charge(Cost.of("0.01"), "count", {"table": "people"})

    def open_it() -> None:
        with dp.Ledger(path) as ledger:
            ledger.spent  # noqa: B018 - reading it is the work

    yield Line("opening a ledger of 10^4 entries", open_it, {}, 0.02)

    def verify() -> None:
        with dp.Ledger(path) as ledger:
            ledger.verify()

    yield Line("verifying a ledger of 10^4 entries", verify, {}, 0.1)


def _shell(folder: Path) -> Iterator[Line]:
    data, domain = folder / "small.csv", folder / "small.json"
    data.write_text("age\n" + "\n".join(str(20 + i % 60) for i in range(1000)))
    dp.Domain({"age": dp.Number(0, 120, missing=False)}).save(domain)

    # As where it is installed: what was compiled the last time is still there.
    kept = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}

    def query() -> None:
        words = ["query", str(data), "mean", "age", "--domain", str(domain)]
        words += ["--ledger", str(folder / "shell.ledger"), "--epsilon", "0.001"]
        words += ["--budget", "1000"]
        done = subprocess.run(
            [sys.executable, "-m", "discreto", *words],
            capture_output=True,
            text=True,
            env=kept,
        )
        if done.returncode:
            sys.exit(done.stdout + done.stderr)

    yield Line("discreto query on a small file", query, {}, 0.8, children=True)


def _noise() -> Iterator[Line]:
    import opendp.prelude as op

    op.enable_features("contrib")
    sampler = Sampler(Entropy())
    few, many = 2 * 10**4, 10**6
    space = op.vector_domain(op.atom_domain(T=int)), op.l1_distance(T=int)
    theirs = op.m.make_laplace(*space, scale=2.0**30)
    zeros = [0] * few
    yield Line(
        "Laplace noise of scale 2^30, ours 50 x as many",
        lambda: sampler.laplace(Fraction(2**30), many),
        {"opendp": lambda: theirs(zeros)},
        many / few / 200,
    )
