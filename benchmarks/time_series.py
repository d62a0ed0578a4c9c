"""Models on earlier rows of the same unit, with time splits, on two real tables.

    python benchmarks/time_series.py [steel | flights]

Flights from New York in 2013: the unit is an aircraft on a day (up to 6 rows of it
count); arrival delay from hour, distance and carrier, without and with the delays of
its earlier flights of that day. Learned on January to September, tested on the rest.

A steel plant in 2018: the unit is a day (96 rows, one each quarter of an hour); energy
from the time and the kind of day, without and with the energy of the hour before.
Learned on 1 January to 30 September, tested on the rest.

R² on the test rows: median (least to largest) of three runs with noise of their own.
The tables are in ../shared/data; see its README.
"""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression as PlainLine
from sklearn.metrics import r2_score

import discreto as dp
from discreto.models import GradientBoostingRegressor, LinearRegression
from discreto.testing import simulate

DATA = Path(
    os.environ.get("DISCRETO_DATA", Path(__file__).parents[2] / "shared" / "data")
)
RUNS = 3
LEVELS = (1, 3)


def flights() -> tuple[Any, ...]:
    rows = pd.read_parquet(DATA / "nycflights13.parquet")
    rows = rows.dropna(subset=["arr_delay", "tailnum"]).reset_index(drop=True)
    when = pd.to_datetime(rows[["year", "month", "day"]])
    data = pd.DataFrame(
        {
            "unit": rows.tailnum.astype(str) + " " + when.dt.strftime("%m-%d"),
            "minute": rows.hour * 60.0 + rows.minute,
            "date": when.dt.day_of_year.astype(float),
            "distance": rows.distance.astype(float),
            "delay": rows.arr_delay.clip(-60, 180).astype(float),
        }
    )
    domain = dp.Domain(
        {
            "unit": dp.Opaque(),
            "minute": dp.Number(0, 1440, missing=False),
            "date": dp.Number(1, 366, missing=False),
            "distance": dp.Number(0, 5000, missing=False),
            "delay": dp.Number(-60, 180, missing=False),
        },
        target="delay",
        person="unit",
        rows_per_person=6,
    )
    past = {
        "before": dp.lag("delay"),
        "lately": dp.rolling_mean("delay", 3),
    }
    return "flights", data, domain, past, "minute", ["minute", "distance"]


def steel() -> tuple[Any, ...]:
    rows = pd.read_parquet(DATA / "steel_energy.parquet")
    when = pd.to_datetime(rows.date)
    data = pd.DataFrame(
        {
            "unit": when.dt.strftime("%m-%d"),
            "second": rows.nsm.astype(float),
            "date": when.dt.day_of_year.astype(float),
            "week": rows.week_status.astype(str),
            "load": rows.load_type.astype(str),
            "energy": rows.usage_kwh.astype(float),
        }
    )
    domain = dp.Domain(
        {
            "unit": dp.Opaque(),
            "second": dp.Number(0, 86400, missing=False),
            "date": dp.Number(1, 366, missing=False),
            "week": dp.Category(["Weekday", "Weekend"], missing=False),
            "load": dp.Category(
                ["Light_Load", "Medium_Load", "Maximum_Load"], missing=False
            ),
            "energy": dp.Number(0, 160, missing=False),
        },
        target="energy",
        person="unit",
        rows_per_person=96,
    )
    past = {
        "before": dp.lag("energy"),
        "lately": dp.rolling_mean("energy", 4),
    }
    return "steel", data, domain, past, "second", ["second", "week", "load"]


def with_past(data: Any, past: dict[str, Any], order: str, fill: float) -> Any:
    """The same columns by pandas, for rows that are tested."""
    out = data.sort_values(["unit", order], kind="stable")
    for name, what in past.items():
        groups = out.groupby("unit")[what.column]
        if isinstance(what, type(dp.lag("x"))):
            found = groups.shift(what.rows)
        else:
            rolled = groups.shift(1).groupby(out.unit).rolling(what.rows, min_periods=1)
            found = rolled.mean().reset_index(level=0, drop=True)
        out[name] = found.fillna(fill)
    return out


def numbers(frame: Any) -> Any:
    return pd.get_dummies(frame, dtype=float).to_numpy()


def scores(make: Any, table: Any, names: list[str], test: Any, target: str) -> str:
    found = []
    for run in range(RUNS):
        view = table(simulate(run)).select(*names, target)
        model = make().fit(view, target)
        found.append(r2_score(test[target], model.predict(test[names])))
    return f"{np.median(found):6.3f} ({min(found):.3f} to {max(found):.3f})"


def report(
    title: str, data: Any, domain: Any, past: dict[str, Any], order: str, names: Any
) -> None:
    target, last = str(domain.target), 273
    fill = float(
        data[target][data.date <= last].median().round(-1)
    )  # public: said here
    whole = with_past(data, past, order, fill)
    learn, test = whole[whole.date <= last], whole[whole.date > last]
    units = learn.unit.nunique()
    print(f"\n{title}: {len(learn)} rows of {units} units; test {len(test)}")

    def table(ledger: Any) -> Any:
        rows = dp.Table(data, domain, ledger).with_history(order, **past)
        filled = {name: f"fill({name}, {fill})" for name in past}
        return rows.with_columns(**filled).where(f"date <= {last}")

    columns = {"without": names, "with": [*names, *past]}
    for model in (PlainLine(), HistGradientBoostingRegressor()):
        for words, used in columns.items():
            model.fit(numbers(learn[used]), learn[target])
            found = r2_score(test[target], model.predict(numbers(test[used])))
            print(f"  {words:8} {type(model).__name__:30} no noise {found:6.3f}")
    for kind in (LinearRegression, GradientBoostingRegressor):
        for (words, used), epsilon in product(columns.items(), LEVELS):

            def make(kind: Any = kind, epsilon: Any = epsilon) -> Any:
                return kind(epsilon=epsilon, delta="1e-6")

            line = scores(make, table, used, test, target)
            print(f"  {words:8} {kind.__name__:30} ε {epsilon:<6} {line}", flush=True)


if __name__ == "__main__":
    for which in (steel, flights):
        if which.__name__ in (sys.argv[1:] or which.__name__):
            report(*which())
