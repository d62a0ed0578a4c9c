"""Synthetic tables: weights of pairs, columns of dates, labels that are numbers."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.errors import ParameterError
from discreto.models.interop import json as persist
from discreto.synthesis import Synthesizer, expected
from discreto.synthesis._columns import default_edges
from discreto.testing import simulate

FIVE = dp.Domain({name: dp.Category([0, 1, 2], missing=False) for name in "abcde"})


def fives(rows: int = 3000) -> pd.DataFrame:
    """a, b and c go together, d and e a little less."""
    rng = np.random.default_rng(0)
    a, d = rng.integers(0, 3, rows), rng.integers(0, 3, rows)
    b, c, e = (
        np.where(rng.random(rows) < share, x, rng.integers(0, 3, rows))
        for x, share in ((a, 0.9), (a, 0.8), (d, 0.5))
    )
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def pairs_of(model: Synthesizer) -> set[tuple[str, ...]]:
    return {names for names in model.marginals_ if len(names) == 2}


@pytest.mark.parametrize("selection", ["scores", "counts"])
def test_weights_say_which_pairs_are_measured(selection):
    table = dp.Table(fives(), FIVE, simulate(1))
    facts = {"rounds": 1, "selection": selection}
    plain = Synthesizer(4, **facts).fit(table)
    heavy = Synthesizer(4, weights={("e", "d"): 9}, **facts).fit(table)
    listed = Synthesizer(4, weights=[[["d", "e"], 9]], **facts).fit(table)
    if selection == "scores":
        assert pairs_of(plain) == {("a", "b")}
        assert pairs_of(heavy) == pairs_of(listed) == {("d", "e")}
    zero = Synthesizer(4, weights={"a": 0, "b": 0, "c": 0, ("d", "e"): 1}, **facts)
    apart = {(x, y) for x, y in pairs_of(zero.fit(table)) if x in "abc" and y in "abc"}
    assert apart == set()


@pytest.mark.parametrize("selection", ["scores", "counts"])
@pytest.mark.parametrize("delta", [0, "1e-5"])
def test_a_tree_joins_all_columns_without_a_circle(selection, delta):
    """As MST has it: the strongest pairs, and never the third of three."""
    table = dp.Table(fives(), FIVE, simulate(1))
    made = Synthesizer(8, delta, structure="tree", selection=selection)
    plan = made.plan(FIVE)
    assert sum(ask.label.startswith("marginal") for ask in plan) == 4
    made.fit(table)
    pairs = [places for places in made.model_.factors if len(places) == 2]
    assert len(pairs) == 4
    assert {place for pair in pairs for place in pair} == set(range(5))
    assert {(0, 1), (0, 2), (3, 4)} < set(pairs)
    assert persist.loads(persist.dumps(made)).sample(20, 1).equals(made.sample(20, 1))


def test_rounds_beyond_a_tree_measure_its_pairs_again():
    table = dp.Table(fives(), FIVE, simulate(1))
    made = Synthesizer(8, structure="tree", rounds=7).fit(table)
    assert sum(len(places) == 2 for places in made.model_.factors) == 4
    with pytest.raises(ParameterError, match="structure"):
        Synthesizer(1, structure="star").fit(table)


def test_weights_cost_nothing_and_change_no_plan():
    plans = [
        Synthesizer(1, rounds=2, weights=weights).plan(FIVE).questions
        for weights in (None, {"a": 5}, {("a", "b"): 0.01})
    ]
    assert plans[0] == plans[1] == plans[2]
    ledger = dp.Ledger(epsilon=1)
    model = Synthesizer(1, rounds=2, weights={("a", "b"): 3, "e": 0})
    model.fit(dp.Table(fives(200), FIVE, ledger))
    assert ledger.spent() == Cost.of(1)
    again = persist.loads(persist.dumps(model))
    assert again.weights == model.weights
    assert again.sample(20, 1).equals(model.sample(20, 1))


def test_equal_weights_ask_the_same_question():
    """The same noise, the same rows: weights of 1 are no weights."""
    made = [
        Synthesizer(2, rounds=3, weights=weights)
        .fit(dp.Table(fives(500), FIVE, simulate(5)))
        .sample(50, 0)
        for weights in (None, dict.fromkeys("abcde", 7))
    ]
    assert made[0].equals(made[1])


# Dates

VISITS = dp.Domain(
    {
        "day": dp.Date("2020-01-15", "2023-06-30"),
        "time": dp.DateTime(
            "2024-03-01 00:00", "2024-03-02 23:59", resolution="minute", missing=False
        ),
        "kind": dp.Category(["ward", "day"], missing=False),
    }
)


def visits(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    late = rng.random(rows) < 0.3
    start = np.where(late, "2023-01-01", "2021-01-01").astype("M8[D]")
    day = start + rng.integers(0, 150, rows)
    minutes = np.where(late, 26 * 60, 600) + rng.integers(0, 240, rows)
    time = np.datetime64("2024-03-01T00:00") + minutes.astype("m8[m]")
    frame = pd.DataFrame({"day": day, "time": time})
    frame["kind"] = np.where(late, "ward", "day")
    frame.loc[: rows // 10, "day"] = pd.NaT
    return frame


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dates_are_drawn_as_dates(library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    model = Synthesizer(4).fit(dp.Table(visits(), VISITS, simulate(0)))
    made = model.sample(2000, random_state=0, library=library)
    columns = made.to_pydict() if library == "pyarrow" else made
    days = [d for d in list(columns["day"]) if d is not None and d == d]
    assert 1600 < len(days) < 2000
    assert {type(day) for day in days} == {dt.date}
    assert dt.date(2020, 1, 15) <= min(days)
    assert max(days) <= dt.date(2023, 6, 30)
    read = dp.Table(made, VISITS.with_(rows=None), simulate(0, noise=False))
    late = dp.stats.proportion(read, "day >= '2022-06-01'", epsilon=1)
    assert abs(float(late) - 0.27) < 0.06


def test_pairs_of_dates_are_kept_and_expected_errors_are_told():
    model = Synthesizer(4).fit(dp.Table(visits(), VISITS, simulate(0)))
    made = model.sample(2000, random_state=0)
    evening = made["time"] >= "2024-03-02"
    agree = (evening == (made["kind"] == "ward")).mean()
    assert agree > 0.95
    assert expected(model).two_way < 0.2
    again = persist.loads(persist.dumps(model)).sample(50, random_state=3)
    assert again.equals(model.sample(50, random_state=3))


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (dp.Date("2024-01-01", "2024-01-31"), 31),  # days
        (dp.Date("2023-01-01", "2023-12-31"), 53),  # weeks
        (dp.Date("2020-01-01", "2023-12-31"), 48),  # months
        (dp.Date("2010-01-01", "2023-12-31"), 56),  # quarters
        (dp.Date("1980-01-01", "2023-12-31"), 44),  # years
        (dp.Date("1500-01-01", "2023-12-31"), 53),  # decades
        (dp.DateTime("2024-01-01 06:30", "2024-01-02 05:10"), 24),  # hours
        (dp.DateTime("2024-01-01 06:00", "2024-01-01 06:00:30"), 31),  # seconds
    ],
)
def test_cells_of_dates_are_periods_of_the_calendar(column, cells):
    edges = default_edges(column)
    assert len(edges) + 1 == cells
    assert all(column.lower < edge <= column.upper for edge in edges)


def test_declared_cells_of_dates():
    cuts = ["2021-01-01", dt.date(2022, 1, 1)]
    model = Synthesizer(2, bins={"day": cuts, "time": 4})
    model.fit(dp.Table(visits(500), VISITS, simulate(0)))
    assert [len(part) for part in model.counts_] == [4, 4, 2]
    for wrong in (["yesterday"], ["2021-01-01", None]):
        with pytest.raises(ParameterError, match="bins"):
            Synthesizer(1, bins={"day": wrong}).plan(VISITS)


def test_dates_in_databases_and_rules():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as connection:
        connection.register("rows", pa.Table.from_pandas(visits(800)))
        connection.execute("create table visits as select * from rows")
        engine = dp.engines.DatabaseEngine(fetch=False)
        stored = connection.table("visits")
        table = dp.Table(stored, VISITS, simulate(0), engine=engine)
        model = Synthesizer(4, rounds=1, constraints=["day >= '2021-02-01'"])
        made = model.fit(table).sample(100, random_state=0)
    assert {q.door for q in model.privacy_.plan} == {"measure"}
    assert min(made["day"]) >= dt.date(2021, 2, 1)


def test_the_command_writes_dates(tmp_path):
    from typer.testing import CliRunner

    from discreto.cli import app

    visits(300).to_parquet(tmp_path / "data.parquet")
    VISITS.save(tmp_path / "d.json")
    for ending in ("csv", "parquet"):
        words = ["synthesize", str(tmp_path / "data.parquet"), "--epsilon", "4"]
        words += ["--domain", str(tmp_path / "d.json"), "--rows", "30", "--out"]
        words += [str(tmp_path / f"{ending}.{ending}"), "--set", "rounds=1"]
        words += ["--set", 'weights=[["kind", 2]]']
        words += ["--ledger", str(tmp_path / "l.ledger"), "--budget", "8"]
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.output
    made = pd.read_csv(tmp_path / "csv.csv")
    assert made["day"].dropna().str.fullmatch(r"20\d\d-\d\d-\d\d").all()
    assert made["time"].str.match(r"2024-03-0\d").all()
    assert "date" in str(pa.parquet.read_schema(tmp_path / "parquet.parquet"))


# Labels that are numbers

PRICES = dp.Domain(
    {
        "size": dp.Number(0, 100),
        "city": dp.Category(["n", "s"], missing=False),
        "price": dp.Number(0, 1000, missing=False),
    },
    target="price",
)


def prices(rows: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    size, south = rng.uniform(0, 100, rows), rng.random(rows) < 0.5
    price = 2 * size + 300 * south + rng.exponential(40, rows)
    city = np.where(south, "s", "n")
    return pd.DataFrame({"size": size, "city": city, "price": price})


@pytest.fixture(scope="module")
def priced() -> Synthesizer:
    table = dp.Table(prices(), PRICES, simulate(0))
    return Synthesizer(4, "1e-6", labels="model", rounds=1).fit(table)


def test_a_regressor_labels_numbers(priced):
    made, rows = priced.sample(4000, random_state=0), prices()
    assert list(made.columns) == ["size", "city", "price"]
    assert made["price"].between(0, 1000).all()
    places = np.linspace(0.05, 0.95, 10)
    far = made["price"].quantile(places) - rows["price"].quantile(places)
    assert far.abs().max() < 25  # as a whole they are distributed as the target is
    for frame in (made, rows):
        design = np.column_stack([frame["size"], frame["city"] == "s", np.ones(4000)])
        slope = np.linalg.lstsq(design, frame["price"], rcond=None)[0]
        assert abs(slope[0] - 2) < 0.4
        assert abs(slope[1] - 300) < 30


def test_labels_repeat_by_seed_and_survive_files(priced):
    again = persist.loads(persist.dumps(priced))
    assert again.sample(300, 4).equals(priced.sample(300, 4))
    assert not priced.sample(300, 5).equals(priced.sample(300, 4))
    text = json.loads(persist.dumps(priced))
    text["state"]["target_counts_"] = {"list": []}
    with pytest.raises(ParameterError):
        persist.loads(json.dumps(text)).sample(5)


def test_labels_of_numbers_cost_what_the_plan_says():
    domain = PRICES.with_(rows=500)
    for price in ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}):
        model = Synthesizer(**price, labels="model", rounds=1)
        planned = model.plan(domain)
        costs = [q.cost.rho or q.cost.epsilon for q in planned]
        assert sum(costs) == (planned.total.rho or planned.total.epsilon)
        assert "counts of price" in [q.label for q in planned]
    ledger = dp.Ledger(epsilon=1)
    Synthesizer(1, labels="model", rounds=1).fit(dp.Table(prices(500), domain, ledger))
    assert ledger.spent() == Cost.of(1)


@pytest.mark.parametrize("kind", ["empty", "missing", "outside", "one value"])
def test_labels_are_drawn_whatever_the_rows_hold(kind):
    rows = prices(0 if kind == "empty" else 40)
    if kind == "missing":
        rows["price"] = np.nan
    elif kind == "outside":
        rows["price"] = 1e12
    elif kind == "one value":
        rows["price"] = 7.0
    column = dp.Number(0, 1000, integer=True)
    domain = PRICES.with_(columns=PRICES.columns | {"price": column})
    for noise in (True, False):
        table = dp.Table(rows, domain, simulate(1, noise=noise))
        model = Synthesizer(1, labels="model", rounds=1, bins={"price": 4})
        made = model.fit(table).sample(50, random_state=0)
        assert made["price"].dropna().between(0, 1000).all()
        assert (made["price"].dropna() % 1 == 0).all()


def test_missing_targets_are_drawn_too():
    rows = prices(3000)
    rows.loc[: 3000 // 5, "price"] = np.nan
    column = dp.Number(0, 1000)
    domain = PRICES.with_(columns=PRICES.columns | {"price": column})
    model = Synthesizer(8, labels="model", rounds=1)
    made = model.fit(dp.Table(rows, domain, simulate(1))).sample(3000, random_state=0)
    assert abs(made["price"].isna().mean() - 0.2) < 0.05
