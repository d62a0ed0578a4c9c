"""Every kind of release on every engine, with noise that repeats: for two trees.

    python benchmarks/speed/releases.py before.json
    python benchmarks/speed/releases.py after.json --against before.json

Speed must never change an answer. The first command is run with the tree before a
change, the second with the tree after it; it names what differs and fails if anything
does. Engines are also compared with each other: those that fold the same questions
must release the same numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreto as dp
from discreto import models
from discreto.data.engines import DatabaseEngine, ExecutorEngine, LocalEngine

ROWS = 8_000
KINDS = ["red", "green", "blue"]
COLUMNS = {
    "x": dp.Number(-3, 5),
    "z": dp.Number(0, 100, missing=False),
    "w": dp.Number(1, 9, integer=True, missing=False),
    "k": dp.Category(KINDS),
    "j": dp.Category(range(5), missing=False),
}
DOMAIN = dp.Domain(COLUMNS | {"y": dp.Category([0, 1], missing=False)}, target="y")
TARGETED = dp.Domain(COLUMNS | {"t": dp.Number(-10, 10)}, target="t")
POINTS = dp.Domain({name: COLUMNS[name] for name in ("x", "z", "w")})


def rows() -> pl.DataFrame:
    """Rows with gaps, values outside of every bound, and halves of grid steps."""
    rng = np.random.default_rng(7)
    x = rng.normal(1, 3, ROWS)
    x[::17], x[1::97], x[2::97] = np.nan, np.inf, -np.inf
    z = rng.normal(50, 25, ROWS)
    w = rng.integers(0, 11, ROWS).astype(float)
    kinds = np.array([*KINDS, "none", ""], dtype=object)[rng.integers(0, 5, ROWS)]
    known = np.clip(np.nan_to_num(x), -3, 5)
    t = 2 * known - z / 25 + rng.normal(size=ROWS)
    t[::31] = np.nan
    y = (known + z / 50 + rng.normal(size=ROWS) > 2).astype(int)
    j = rng.integers(0, 6, ROWS)
    return pl.DataFrame({"x": x, "z": z, "w": w, "k": kinds, "j": j, "y": y, "t": t})


def statistics() -> list[Any]:
    """A statistic of every kind."""
    s = dp.stats
    half = dp.stats.Quantiles("z", (0.25, 0.5, 0.75))
    return [
        *(s.Count(), s.Count(("k",)), s.Count(("k", "j")), s.Count(("w",))),
        *(s.Total("x"), s.Total("z", ("k",)), s.Mean("x"), s.Mean("z", ("j", "k"))),
        *(s.Variance("z"), s.Variance("x"), s.Variance("z", by=("k",))),
        *(s.Quantile("z"), s.Quantile("x"), s.Quantile("w"), half),
        *(s.Histogram(("z",), 20), s.Histogram(("x",), 7), s.Histogram(("k",))),
        *(s.Covariance(("x", "z")), s.Covariance(("x", "z", "w"), True)),
    ]


def fits() -> dict[str, tuple[dp.Domain, Callable[[dp.Table], Any]]]:
    """A fit of every kind of model, and what it predicts."""

    def fit(model: Any) -> Callable[[dp.Table], Any]:
        return lambda table: model.fit(table)

    m = models
    out: dict[str, Any] = {}
    for name, delta in (("pure", 0), ("gaussian", 1e-5)):
        cost = {"epsilon": 2, "delta": delta}
        for kind in ("NaiveBayes", "LogisticRegression"):
            out[f"{kind}, {name}"] = DOMAIN, fit(getattr(m, kind)(**cost))
        cells = m.CellNeighborsClassifier(random_state=1, **cost)
        out[f"cells, {name}"] = DOMAIN, fit(cells)
        out[f"trees, {name}"] = (
            DOMAIN,
            fit(m.GradientBoostingClassifier(n_estimators=5, **cost)),
        )
        out[f"linear, {name}"] = TARGETED, fit(m.LinearRegression(**cost))
        for kind in ("KMeans", "FuzzyCMeans"):
            model = getattr(m, kind)(3, max_iter=3, random_state=1, **cost)
            out[f"{kind}, {name}"] = POINTS, fit(model)
    return out


def bits(value: Any) -> Any:
    """Numbers as they are, to the last bit, in a form that JSON keeps."""
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, np.ndarray | list | tuple):
        return [bits(one) for one in np.asarray(value).tolist()]
    return value


def engines(frame: pl.DataFrame, folder: Path) -> dict[str, tuple[Any, Any]]:
    """Where the rows lie and who folds them."""
    parquet, text = folder / "rows.parquet", folder / "rows.csv"
    frame.write_parquet(parquet, row_group_size=3000)
    frame.write_csv(text)
    pool = ThreadPoolExecutor(2)
    arrays = {name: frame[name].to_numpy() for name in frame.columns}
    out: dict[str, tuple[Any, Any]] = {
        "memory": (arrays, LocalEngine(1)),
        "threads": (arrays, LocalEngine(2)),
        "parquet": (parquet, LocalEngine(2)),
        "text": (text, LocalEngine(1)),
        "executor": (parquet, ExecutorEngine(pool, parts=3)),
        "polars": (frame.lazy(), DatabaseEngine()),
    }
    try:
        import duckdb
    except ImportError:
        return out
    database = duckdb.connect()
    database.register("people", frame.to_arrow())
    out["duckdb"] = (database.table("people"), DatabaseEngine())
    return out


def released(data: Any, engine: Any, own: pl.DataFrame) -> dict[str, Any]:
    """All releases of one engine."""

    def table(domain: dp.Domain) -> dp.Table:
        return dp.Table(data, domain, dp.testing.simulate(3), engine=engine)

    def shown(release: Any) -> Any:
        return [bits(release.value), bits(release.low), bits(release.high)]

    out = {}
    for statistic in statistics():
        for delta in (0, 1e-6):
            release = table(DOMAIN).answer(statistic, epsilon=1, delta=delta)
            out[f"{release.label}, delta {delta}"] = shown(release)
    several = table(DOMAIN).answers(statistics(), epsilon=5)
    out["answers"] = [shown(release) for release in several]
    for name, (domain, fit) in fits().items():
        model = fit(table(domain))
        asked = own.select(model.space_.features).to_pandas()
        found = getattr(model, "predict_proba", model.predict)(asked[:500])
        out[name] = bits(np.asarray(found))
        if hasattr(model, "classes_") and "pure" in name:
            scores = models.evaluate(model, table(domain), epsilon=1)
            out[f"{name}, evaluated"] = {n: shown(r) for n, r in scores.items()}
    return out


def main() -> None:
    """The releases, and what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", nargs="*", help="engines")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    frame, found = rows(), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (data, engine) in engines(frame, Path(folder)).items():
            if not given.only or name in given.only:
                found[name] = released(data, engine, frame)
                print(name, len(found[name]), "releases", flush=True)
    given.file.write_text(json.dumps(found))
    first, failed = next(iter(found)), False
    for name, ours in found.items():
        other = [key for key in ours if ours[key] != found[first][key]]
        print(f"{name} differs from {first}:", other or "nowhere")
        failed |= bool(other)
    before = json.loads(given.against.read_text()) if given.against else {}
    for name in before.keys() & found.keys():
        old, new = before[name], found[name]
        other = [key for key in new if key in old and new[key] != old[key]]
        print(f"{name} differs from before:", other or "nowhere")
        failed |= bool(other)
    sys.exit(failed)


if __name__ == "__main__":
    main()
