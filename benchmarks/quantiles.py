"""Quantiles: error, coverage and width of intervals, next to opendp where installed.

Run: python benchmarks/quantiles.py 300

For columns of several shapes: the mean absolute error of the median and of the
0.9-quantile, how often the 95 % interval holds the truth (of the table), its median
width in errors, and the error of opendp's exponential mechanism with 4,096 even
candidates.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np

import discreto as dp
from discreto.stats import Quantile
from discreto.testing import simulate

RNG = np.random.default_rng(0)
COLUMNS: dict[str, tuple[Any, Any]] = {
    "normal": (dp.Number(0, 100), RNG.normal(40, 12, 10_000)),
    "skewed": (dp.Number(0, 200_000), RNG.lognormal(7, 1.5, 10_000)),
    "small in a wide range": (
        dp.Number(0, 200_000),
        RNG.lognormal(np.log(5), 1.2, 10_000),
    ),
    "whole": (
        dp.Number(0, 10_000, integer=True),
        np.floor(RNG.lognormal(5.2, 0.9, 10_000)),
    ),
    "ages": (dp.Number(0, 120, integer=True), np.floor(RNG.normal(45, 18, 10_000))),
    "two heaps": (dp.Number(0, 100), np.repeat([20.3, 80.0], [5003, 4997])),
    "few rows": (dp.Number(0, 100), RNG.normal(40, 12, 700)),
}


def opendp_error(
    column: Any, x: Any, chance: float, epsilon: float, runs: int
) -> float:
    """The mean error of opendp's private quantile."""
    try:
        import opendp.prelude as odp
    except ImportError:
        return float("nan")
    odp.enable_features("contrib")
    grid = np.linspace(column.lower, column.upper, 4096).tolist()
    space = (
        odp.vector_domain(odp.atom_domain(T=float, nan=False)),
        odp.symmetric_distance(),
    )
    score = odp.t.make_quantile_score_candidates(*space, grid, chance)
    choose = odp.m.make_noisy_max(
        score.output_domain, score.output_metric, odp.max_divergence(), 1.0, negate=True
    )
    low, high = 1e-6, 1e6
    for _ in range(60):
        middle = (low * high) ** 0.5
        choose = odp.m.make_noisy_max(
            score.output_domain,
            score.output_metric,
            odp.max_divergence(),
            middle,
            negate=True,
        )
        low, high = (
            (low, middle) if (score >> choose).map(1) <= epsilon else (middle, high)
        )
    mechanism = score >> odp.m.make_noisy_max(
        score.output_domain,
        score.output_metric,
        odp.max_divergence(),
        high,
        negate=True,
    )
    rows, true = x.tolist(), np.quantile(x, chance, method="inverted_cdf")
    return float(np.mean([abs(grid[mechanism(rows)] - true) for _ in range(runs)]))


def main(runs: int) -> None:
    """A line for each column, quantile and epsilon."""
    print("| column | quantile | ε | error | opendp | covers | width / error |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (column, raw) in COLUMNS.items():
        x = np.clip(raw, column.lower, column.upper)
        table = {"x": x}
        domain = dp.Domain({"x": column})
        for chance in (Fraction(1, 2), Fraction(9, 10)):
            true = float(np.quantile(x, float(chance), method="inverted_cdf"))
            for epsilon in ("0.1", "1"):
                got = [
                    dp.Table(table, domain, simulate(seed)).answer(
                        Quantile("x", chance), epsilon=epsilon
                    )
                    for seed in range(runs)
                ]
                error = float(np.mean([abs(r.value - true) for r in got]))
                cover = np.mean([r.low <= true <= r.high for r in got])
                width = float(np.median([r.high - r.low for r in got]))
                theirs = opendp_error(
                    column, x, float(chance), float(epsilon), min(runs, 60)
                )
                ratio = width / error if error else float("nan")
                print(
                    f"| {name} | {float(chance)} | {epsilon} | {error:.4g} | "
                    f"{theirs:.4g} | {cover:.3f} | {ratio:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
