"""The kind of table that a statistics office pilots: 30 statistics for one budget.

Run: python benchmarks/pilot.py 20000000

Derived columns, filters, groups by three columns, dates: one batch, one charge, shares
that are weighed. Prints the CPU seconds of opening the table and of asking.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import discreto as dp
from discreto.stats.batches import batch_of
from discreto.testing import simulate

REGIONS = ["geneva", "mittelland", "northwest", "zurich", "east", "central", "ticino"]
DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 110, integer=True, missing=False),
        "kg": dp.Number(30, 200, missing=False),
        "m": dp.Number(1, 2.3, missing=False),
        "pay": dp.Number(0, 20_000),
        "hours": dp.Number(0, 80, missing=False),
        "sex": dp.Category(["f", "m"], missing=False),
        "region": dp.Category(REGIONS, missing=False),
        "work": dp.Category(["none", "part", "full"], missing=False),
        "asked": dp.Date("2024-01-01", "2024-12-31", missing=False),
    }
)
COLUMNS = {
    "bmi": "clip(kg / m ** 2, 10, 80)",
    "generation": "cut(age, [18, 40, 65])",
    "hourly": "clip(pay / clip(hours, 1, 80) / 4.3, 0, 500)",
    "quarter": "period(asked, 'quarter')",
}
ADULTS = [
    "count() by region, generation, sex",
    "crosstab(region, generation, sex)",
    "mean(pay) by region, sex, work",
    "mean(bmi) by region, generation, sex",
    "proportion(bmi >= 30) by region, generation, sex",
    "std(pay) by sex, work",
    "median(pay) by region, sex",
    "quantile(pay, 0.1, 0.25, 0.75, 0.9)",
    "mean(hourly) by sex",
    "count() by quarter, region",
    "mean(age) by region",
    "proportion(work == 'full') by sex, generation",
    "histogram(bmi, 40)",
    "ratio(pay, hours)",
    "gini(pay)",
    "correlation(pay, hours)",
    "mean_difference(pay, sex)",
    "proportion_difference(bmi >= 30, sex)",
    "independence(work, region)",
    "trend(pay, age)",
    "top(region, 3)",
    "distribution(pay, [2000, 4000, 6000, 10000])",
]
OTHERS = [
    "mean(bmi) where age >= 65 by region",
    "median(bmi) where age >= 65",
    "count() where age >= 65 and work != 'none' by region, sex",
    "mean(hours) where work == 'part' by sex",
    "proportion(pay < 2500) where work == 'full' by region",
    "sum(pay) where region == 'ticino' by sex",
    "count() where weekday(asked) >= 6 by quarter",
    "mean(pay) where asked >= '2024-07-01' by work",
]


def made(rows: int) -> dict[str, np.ndarray]:
    """Rows that look like a survey."""
    coins = np.random.default_rng(1)
    sex = coins.integers(0, 2, rows, dtype=np.int8)
    age = coins.integers(0, 100, rows, dtype=np.int8)
    pay = coins.gamma(4, 1500, rows).astype(np.float32)
    pay[::20] = np.nan
    return {
        "age": age,
        "kg": coins.normal(65 + 12 * sex, 12).astype(np.float32),
        "m": coins.normal(1.65 + 0.12 * sex, 0.08).astype(np.float32),
        "pay": pay,
        "hours": coins.normal(36, 9, rows).clip(0, 80).astype(np.float32),
        "sex": sex,
        "region": coins.integers(0, 7, rows, dtype=np.int8),
        "work": coins.integers(0, 3, rows, dtype=np.int8),
        "asked": np.datetime64("2024-01-01") + coins.integers(0, 366, rows),
    }


def main() -> None:
    """Ask all of it, and say what it took."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    import pyarrow as pa

    data = made(rows)
    arrow = {}
    for name, values in data.items():
        column = DOMAIN[name]
        if isinstance(column, dp.Category):
            codes, names = pa.array(values), pa.array(list(column.categories))
            arrow[name] = pa.DictionaryArray.from_arrays(codes, names)
        else:
            arrow[name] = pa.array(values, from_pandas=True)
    frame = pa.table(arrow)
    del data, arrow
    questions = [{"ask": text, "where": "age >= 18"} for text in ADULTS]
    questions += [{"ask": text} for text in OTHERS]
    options = {"epsilon": 1, "delta": 1e-8, "split": "weighed", "rows": rows}
    batch = batch_of(options | {"columns": COLUMNS, "question": questions})
    ledger = simulate(1)
    start, wall = time.process_time(), time.perf_counter()
    table = dp.Table(frame, DOMAIN, ledger)
    opened = time.process_time() - start
    plan = batch.plan(table)
    planned = time.process_time() - start - opened
    found = batch.answers(table)
    total = time.process_time() - start
    for release in found:
        error = (
            float(np.max(release.error)) if not isinstance(release.value, str) else 0
        )
        print(f"  {release.label[:70]:<72} ± {error:.3g}")
    print(
        f"{len(found)} statistics of {rows} rows for {plan.total}: {total:.1f} s CPU "
        f"({opened:.1f} opening, {planned:.1f} planning), "
        f"{time.perf_counter() - wall:.1f} s wall, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB at most"
    )


if __name__ == "__main__":
    main()
