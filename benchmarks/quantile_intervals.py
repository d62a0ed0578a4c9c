"""Single quantiles: how often their 95 % intervals hold, how wide they are.

    python benchmarks/quantile_intervals.py [--draws 400]

Continuous, skewed, rounded and whole columns; tables of 1,000 and 5,000 rows; ε 0.2 and
1; medians and 0.9-quantiles. Prints the share of intervals that hold the exact value,
their mean width, and the mean error of the value.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import discreto as dp
from discreto.testing import simulate


def columns(rows: int, rng: np.random.Generator) -> dict[str, tuple[Any, dp.Number]]:
    """Return values and their declared ranges by name."""
    pay, range_of_pay = np.exp(rng.normal(7.9, 0.5, rows)), dp.Number(0, 20_000)
    normal = np.clip(rng.normal(40, 10, rows), 0, 120)
    whole = rng.integers(18, 95, rows).astype(float)
    return {
        "uniform": (rng.uniform(0, 100, rows), dp.Number(0, 100)),
        "normal": (normal, dp.Number(0, 120)),
        "lognormal": (np.clip(pay, 0, 20_000), range_of_pay),
        "hundreds": (np.clip(pay.round(-2), 0, 20_000), range_of_pay),
        "tens": (np.clip(pay.round(-1), 0, 20_000), range_of_pay),
        "whole": (whole, dp.Number(0, 120, integer=True)),
        "exponential": (np.clip(rng.exponential(50, rows), 0, 1e5), dp.Number(0, 1e5)),
    }


def main() -> int:
    """Print a line for each column, size, probability and epsilon."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--draws", type=int, default=400)
    draws, rng = words.parse_args().draws, np.random.default_rng(1)
    for rows in (1000, 5000):
        for name, (values, column) in columns(rows, rng).items():
            table = dp.Table({"x": values}, dp.Domain({"x": column}), simulate(3))
            for chance in (0.5, 0.9):
                exact = np.quantile(values, chance)
                for epsilon in (0.2, 1):
                    found = [
                        dp.stats.quantile(table, "x", chance, epsilon=epsilon)
                        for _ in range(draws)
                    ]
                    held = np.mean([one.low <= exact <= one.high for one in found])
                    width = np.mean([one.high - one.low for one in found])
                    error = np.mean([abs(one.value - exact) for one in found])
                    case = f"{rows:5} {name:11} {chance:.1f} ε {epsilon:<3}"
                    print(f"{case}  holds {held:.3f}  width {width:9.3f} ± {error:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
