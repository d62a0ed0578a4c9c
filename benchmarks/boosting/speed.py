"""Time to fit and to predict: ``python benchmarks/boosting/speed.py [--threads 1]``.

500,000 rows of 90 numbers, 50 trees of depth 6: our random and greedy trees, LightGBM
and scikit-learn's histogram boosting, in one run on the same threads. A time is the
least of some repeats of the whole call: reading the table, binning, growing. What the
first call of a process takes longer (compiling, or loading what was compiled) is shown
apart, on a small table. The table is drawn from public coins; it has no other meaning.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

TREES, DEPTH = 50, 6


def ours(splits: str, data: tuple[Any, Any]) -> Callable[[], Any]:
    """A fit of ours: greedy, random, or cyclic splits."""
    from discreto.models import GradientBoostingRegressor
    from discreto.testing import simulate

    X, y = data

    def fit() -> Any:
        model = GradientBoostingRegressor(
            TREES,
            epsilon=1,
            max_depth=DEPTH,
            splits=splits,
            bounds=(-6, 6),
            target_bounds=(-20, 20),
            ledger=simulate(0),
            random_state=0,
        )
        return model.fit(X, y)

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


def least(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least wall time of some calls, and what the last one gave."""
    times, value = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        times.append(time.perf_counter() - start)
    return min(times), value


def first_call(splits: str) -> tuple[float, float]:
    """A small fit, for the first time in this process and afterwards."""
    fit = ours(splits, made_up(1000, 5))
    first, _ = least(fit, 1)
    return first, least(fit, 3)[0]


def tiny() -> float:
    """Milliseconds of a fit on 50 rows of 3 columns with two trees of depth 2."""
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
    return 1000 * least(fit, 20)[0]


def main() -> None:
    """Print one table, and the same as a line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=90)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # before anything is imported
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    compiling = {splits: first_call(splits) for splits in ("random", "greedy")}
    data = made_up(options.rows, options.columns)
    fits = {
        "LightGBM": lightgbm(data, options.threads),
        "scikit-learn": histogram(data),
        "ours, random": ours("random", data),
        "ours, greedy": ours("greedy", data),
    }
    rows = []
    for name, fit in fits.items():
        seconds, model = least(fit, options.repeats)
        answer, _ = least(lambda model=model: model.predict(data[0]), options.repeats)
        rows.append({"model": name, "fit": seconds, "predict": answer})
    _show(rows, compiling, tiny(), options)


def _show(
    rows: list[dict[str, Any]], compiling: dict[str, Any], small: float, options: Any
) -> None:
    shape = f"{options.rows:,} x {options.columns}, {TREES} trees, depth {DEPTH}"
    print(f"{shape}, {options.threads} thread(s)\n")
    print("| | fit, s | of LightGBM | predict, s | of LightGBM |")
    print("| --- | --- | --- | --- | --- |")
    base = rows[0]
    for row in rows:
        shares = [row[what] / base[what] for what in ("fit", "predict")]
        print(
            f"| {row['model']} | {row['fit']:.2f} | {shares[0]:.2f} "
            f"| {row['predict']:.2f} | {shares[1]:.2f} |"
        )
    for splits, (first, later) in compiling.items():
        print(f"\nFirst small fit, {splits}: {first:.2f} s, then {later:.3f} s.")
    print(f"\n50 x 3, 2 trees of depth 2: {small:.1f} ms.\n")
    print(json.dumps({"shape": shape, "threads": options.threads, "rows": rows}))


if __name__ == "__main__":
    main()
