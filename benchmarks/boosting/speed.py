"""Time to fit and to predict: ``python benchmarks/boosting/speed.py [--threads 1]``.

500,000 rows of 90 numbers, 50 trees of depth 6: our random and greedy trees, LightGBM
and scikit-learn's histogram boosting, in one run on the same threads. A time is the
least of some repeats of the whole call: reading the table, binning, growing. On a busy
machine the processor times tell more. What the first call of a process takes longer
(compiling, or loading what was compiled) is shown apart, on a small table. The table is
drawn from public coins; it has no other meaning.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

TREES, DEPTH = 50, 6


# Two children for each split, as in LightGBM; leaves asked for once for each tree.
ALIKE = {"n_estimators": TREES, "max_depth": DEPTH, "multiway": False, "staged": False}
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "PrivRandBoost": ("PrivRandBoost", {}),
    "PrivCatBoost": ("PrivCatBoost", {}),
    "random, all rows": ("", {"splits": "random", **ALIKE}),
    "greedy, all rows": ("", {"splits": "greedy", **ALIKE}),
}


def ours(name: str, data: tuple[Any, Any]) -> Callable[[], Any]:
    """A fit of ours: the papers' modes on disjoint rows, or all rows for each tree."""
    from discreto import models
    from discreto.lab import boosting_presets
    from discreto.models.boosting.settings import take_settings
    from discreto.testing import simulate

    maker, settings = OURS[name]
    make: Any = models.GradientBoostingRegressor
    if maker:
        make = partial(getattr(boosting_presets, maker), make)

    def fit() -> Any:
        model = make(
            epsilon=1,
            bounds=(-6, 6),
            target_bounds=(-20, 20),
            ledger=simulate(0),
            random_state=0,
            **take_settings(settings),
        )
        return model.fit(*data)

    return fit


def lightgbm(data: tuple[Any, Any], threads: int) -> Callable[[], Any]:
    """LightGBM with as many leaves as a complete tree has."""
    from lightgbm import LGBMRegressor

    leaves = 2**DEPTH
    model = LGBMRegressor(
        n_estimators=TREES,
        max_depth=DEPTH,
        num_leaves=leaves,
        num_threads=threads,
        verbose=-1,
    )
    return lambda: model.fit(*data)


def histogram(data: tuple[Any, Any]) -> Callable[[], Any]:
    """scikit-learn's histogram boosting; its threads come from OMP_NUM_THREADS."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        max_iter=TREES,
        max_depth=DEPTH,
        max_leaf_nodes=2**DEPTH,
        early_stopping=False,
    )
    return lambda: model.fit(*data)


def made_up(rows: int, columns: int) -> tuple[Any, Any]:
    """Normal features; the target depends on some of them."""
    import numpy as np

    coins = np.random.default_rng(0)
    X = coins.normal(size=(rows, columns))
    y = 3 * X[:, 0] + 2 * X[:, 1] * (X[:, 2] > 0) + np.sin(2 * X[:, 0])
    return X, y + coins.normal(size=rows)


def least(call: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """The least wall and processor time of some calls, and what the last one gave."""
    walls, busy, value = [], [], None
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        value = call()
        walls.append(time.perf_counter() - start)
        busy.append(time.process_time() - used)
    return min(walls), min(busy), value


def first_call(name: str) -> tuple[float, float]:
    """A small fit, for the first time in this process and afterwards."""
    fit = ours(name, made_up(1000, 5))
    return least(fit, 1)[0], least(fit, 3)[0]


def tiny() -> tuple[float, float]:
    """Wall and processor time of a fit on 50 x 3 with two trees of depth 2."""
    from discreto.models import GradientBoostingRegressor
    from discreto.testing import simulate

    X, y = made_up(50, 3)
    ledger = simulate(0)

    def fit() -> Any:
        model = GradientBoostingRegressor(
            2,
            epsilon=1,
            max_depth=2,
            bounds=(-6, 6),
            target_bounds=(-20, 20),
            ledger=ledger,
        )
        return model.fit(X, y)

    fit()
    return least(fit, 20)[:2]


def main() -> None:
    """A line of JSON for each candidate, then a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=90)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # before anything is imported
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    if hasattr(os, "sched_setaffinity"):  # ours takes the processors that it may use
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    compiling = {name: first_call(name) for name in ("PrivRandBoost", "PrivCatBoost")}
    data = made_up(options.rows, options.columns)
    fits = {
        "LightGBM": lightgbm(data, options.threads),
        "scikit-learn": histogram(data),
        **{name: ours(name, data) for name in OURS},
    }
    rows = []
    for name, fit in fits.items():
        wall, busy, model = least(fit, options.repeats)
        found = least(lambda model=model: model.predict(data[0]), options.repeats)
        rows.append({"model": name, "fit": wall, "fit_cpu": busy})
        rows[-1] |= {"predict": found[0], "predict_cpu": found[1]}
        print(json.dumps(rows[-1]), flush=True)
    _show(rows, compiling, tiny(), options)


def _show(
    rows: list[dict[str, Any]], compiling: dict[str, Any], small: Any, options: Any
) -> None:
    shape = f"{options.rows:,} x {options.columns}, {TREES} trees, depth {DEPTH}"
    print(f"\n{shape}, {options.threads} thread(s); in brackets, of LightGBM's time\n")
    names = ("fit", "fit_cpu", "predict", "predict_cpu")
    print("| | fit, s | fit, processor s | predict, s | predict, processor s |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows:
        cells = [f"{row[n]:.2f} ({row[n] / rows[0][n]:.2f})" for n in names]
        print(f"| {row['model']} | " + " | ".join(cells) + " |")
    for name, (first, later) in compiling.items():
        print(f"\nFirst small fit, {name}: {first:.2f} s, then {later:.3f} s.")
    print(
        f"\n50 x 3, 2 trees of depth 2: {1000 * small[0]:.1f} ms, "
        f"processor {1000 * small[1]:.1f} ms."
    )


if __name__ == "__main__":
    main()
