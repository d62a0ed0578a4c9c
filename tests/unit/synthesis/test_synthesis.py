"""Synthetic tables: what is asked, what is drawn, and that nothing else is spent."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreto as dp
from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.errors import BudgetError, DomainError, ParameterError, UnsafeError
from discreto.models.interop import json as persist
from discreto.session.dry_run import dry_run_gate
from discreto.session.session import Session
from discreto.synthesis import Synthesizer, expected, measured
from discreto.testing import simulate

COLUMNS = {
    "age": dp.Number(0, 120, integer=True),
    "income": dp.Number(0, 100_000, missing=False),
    "sex": dp.Category(["f", "m"], missing=False),
    "region": dp.Category([f"r{k}" for k in range(30)]),
    "ill": dp.Category(["n", "y"], missing=False),
}
DOMAIN = dp.Domain(COLUMNS, target="ill")


def people(rows: int = 4000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    ill = rng.random(rows) < age / 120
    return pd.DataFrame(
        {
            "age": np.where(rng.random(rows) < 0.1, np.nan, age),
            "income": np.where(ill, 0.0, rng.gamma(2, 15_000, rows)),
            "sex": np.where(rng.random(rows) < 0.5 + 0.3 * ill, "f", "m"),
            "region": [f"r{k}" for k in rng.geometric(0.4, rows) % 30],
            "ill": np.where(ill, "y", "n"),
        }
    )


@pytest.fixture(scope="module")
def fitted() -> Synthesizer:
    table = dp.Table(people(), DOMAIN, simulate(1))
    return Synthesizer(2, "1e-6").fit(table)


def test_a_fit_costs_what_it_says_and_keeps_to_its_plan():
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(people(500), DOMAIN, ledger)
    model = Synthesizer(1, rounds=2)
    planned = model.plan(DOMAIN)
    model.fit(table)
    assert ledger.spent().epsilon == 1
    assert model.privacy_.plan.questions == planned.questions
    assert sum(question.cost.epsilon for question in planned) == 1
    doors = [question.door for question in planned]
    assert doors == ["measure"] * 5 + ["select", "measure"] * 2
    with pytest.raises(BudgetError):
        Synthesizer(1).fit(table)


def test_under_rho_the_shares_add_up_too():
    planned = Synthesizer(1, "1e-5").plan(DOMAIN)
    assert sum(question.cost.rho for question in planned) == planned.total.rho
    assert len(planned) == 5 + 2 * 10


def test_the_form_of_a_conversation_does_not_depend_on_rows():
    """Empty tables, one value only, or rows that fit nothing: the same questions."""
    odd = pd.DataFrame(
        {
            "age": [np.inf, -5.0, np.nan, 1e300],
            "income": [np.nan, -1.0, 1e9, 0.0],
            "sex": ["x", None, "f", "f"],
            "region": [None, "?", "r1", "r1"],
            "ill": ["y", "y", "z", None],
        }
    )
    plans = set()
    for rows in (odd[:0], people(1), odd, people(800)):
        table = dp.Table(rows, DOMAIN, simulate(3))
        model = Synthesizer(1, "1e-6", rounds=3).fit(table)
        plans.add(model.privacy_.plan.questions)
        assert len(model.sample(50, random_state=0)) == 50
    assert len(plans) == 1


def test_a_question_outside_of_the_plan_is_refused():
    cost = Cost.of(1)
    planned = Synthesizer(1, rounds=2).plan(DOMAIN)
    session = Session(dry_run_gate(DOMAIN, 0), cost, planned.forms)
    model = Synthesizer(1, rounds=3)
    with pytest.raises(UnsafeError, match="plan"):
        model._learn(session, model._space(DOMAIN, None))


def test_sampling_never_asks_again_and_repeats_by_its_seed(fitted):
    one, two = (fitted.sample(300, random_state=7) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert not fitted.sample(300, random_state=8).equals(one)
    assert len(fitted.sample(random_state=0)) == round(fitted.rows_)
    assert list(one.columns) == list(COLUMNS)
    assert one["income"].between(0, 100_000).all()
    assert set(one["sex"]) <= {"f", "m"}
    assert (one["age"].dropna() % 1 == 0).all()


def test_marginals_are_near_those_of_the_rows(fitted):
    found = measured(fitted, people())
    assert found.one_way < 0.08
    made, rows = fitted.sample(4000, random_state=0), people()
    share = [f[f["ill"] == "y"]["sex"].eq("f").mean() for f in (made, rows)]
    assert abs(share[0] - share[1]) < 0.06
    assert abs(made["age"].isna().mean() - rows["age"].isna().mean()) < 0.04
    zero = [(f["income"] < 1).mean() for f in (made, rows)]
    assert abs(zero[0] - zero[1]) < 0.06


def test_draws_have_the_law_of_the_model():
    """Exact without noise: a table of two columns is drawn with its shares."""
    domain = dp.Domain({n: dp.Category([0, 1, 2], missing=False) for n in "ab"})
    rows = pd.DataFrame({"a": [0, 0, 1, 2] * 2500, "b": [0, 1, 1, 2] * 2500})
    table = dp.Table(rows, domain, simulate(0, noise=False))
    made = Synthesizer(5, rounds=1).fit(table).sample(40_000, random_state=0)
    shares = made.groupby(["a", "b"]).size() / 40_000
    for cell in ((0, 0), (0, 1), (1, 1), (2, 2)):
        assert abs(shares[cell] - 0.25) < 0.015
    assert shares.sum() == pytest.approx(1)
    assert (
        len(shares) == 4 or shares.drop([(0, 0), (0, 1), (1, 1), (2, 2)]).max() < 0.01
    )


def test_files_hold_a_synthesizer(fitted, tmp_path):
    fitted.save(tmp_path / "s.json")
    again = Synthesizer.load(tmp_path / "s.json")
    pd.testing.assert_frame_equal(
        again.sample(200, random_state=1), fitted.sample(200, random_state=1)
    )
    assert again.privacy_.to_dict() == fitted.privacy_.to_dict()
    text = json.loads((tmp_path / "s.json").read_text())
    text["state"]["groups_"] = {"list": []}
    with pytest.raises(ParameterError):
        persist.loads(json.dumps(text)).sample(5)


def test_rows_meet_the_constraints_and_derived_columns_follow():
    domain = DOMAIN.with_(
        columns=COLUMNS | {"months": dp.Number(0, 1440, integer=True)}
    )
    rows = people(2000)
    rows["months"] = rows["age"] * 12
    model = Synthesizer(
        3,
        rounds=3,
        constraints=["age >= 18", "not (sex == 'm' and ill == 'y')"],
        derived={"months": "age * 12"},
    )
    made = model.fit(dp.Table(rows, domain, simulate(0))).sample(500, random_state=0)
    assert len(made) == 500
    assert (made["age"] >= 18).all()
    assert not ((made["sex"] == "m") & (made["ill"] == "y")).any()
    assert (made["months"] == 12 * made["age"]).all()
    assert "counts of months" not in [q.label for q in model.privacy_.plan]


def test_constraints_that_no_row_meets_are_an_error(fitted):
    model = Synthesizer(2, "1e-6", constraints=["age > 500"])
    for key, value in vars(fitted).items():
        if key.endswith("_"):
            setattr(model, key, value)
    with pytest.raises(ParameterError, match="almost no row"):
        model.sample(10)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"bins": {"sex": 3}}, ParameterError),
        ({"bins": {"age": 1}}, ParameterError),
        ({"bins": [3]}, ParameterError),
        ({"rounds": 0}, ParameterError),
        ({"selection": "magic"}, ParameterError),
        ({"labels": "magic"}, ParameterError),
        ({"labels": "model", "target": "nobody"}, ParameterError),
        ({"weights": {"nobody": 2}}, ParameterError),
        ({"weights": {("age", "age"): 2}}, ParameterError),
        ({"weights": {("age", "sex", "ill"): 2}}, ParameterError),
        ({"weights": {"age": -1}}, ParameterError),
        ({"weights": {"age": float("nan")}}, ParameterError),
        ({"weights": 3}, ParameterError),
        ({"weights": [["age"]]}, ParameterError),
        ({"weights": dict.fromkeys(COLUMNS, 0)}, ParameterError),
        ({"constraints": ["nobody > 3"]}, DomainError),
        ({"constraints": ["age + 1"]}, DomainError),
        ({"derived": {"sex": "age * 2"}}, DomainError),
        ({"max_cells": 3}, ParameterError),
    ],
)
def test_what_does_not_fit_is_refused_for_free(changes, error):
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(error):
        Synthesizer(1, **changes).fit(dp.Table(people(50), DOMAIN, ledger))
    assert ledger.spent() == Cost()


def test_declared_bins_are_the_cells():
    model = Synthesizer(1, rounds=1, bins={"age": [18, 40, 65], "income": 4})
    model.fit(dp.Table(people(500), DOMAIN, simulate(0)))
    assert [len(c) for c in model.counts_[:2]] == [5, 4]


def test_people_with_several_rows_and_replaced_rows_cost_more_noise():
    person = dp.Domain(COLUMNS | {"id": dp.Opaque()}, person="id", rows_per_person=3)
    replaced = DOMAIN.with_(neighbours="replace", rows=500)
    one, three, two = (
        Synthesizer(1, rounds=1).plan(domain) for domain in (DOMAIN, person, replaced)
    )
    assert [q.sensitivity for q in three] == [(3 * q.sensitivity[0],) for q in one]
    assert [q.sensitivity for q in two] == [(2 * q.sensitivity[0],) for q in one]
    rows = people(500)
    rows["id"] = np.arange(500) // 3
    made = Synthesizer(1, rounds=1).fit(dp.Table(rows, person, simulate(0)))
    assert "id" not in made.sample(5).columns


def test_a_model_can_label_the_rows():
    table = dp.Table(people(3000), DOMAIN, simulate(0))
    model = Synthesizer(4, "1e-6", labels="model", rounds=3).fit(table)
    assert model.labeller_ is not None
    made = model.sample(3000, random_state=0)
    old, young = (
        made["ill"][part].eq("y").mean()
        for part in (made["age"] > 70, made["age"] < 40)
    )
    assert old > young + 0.15
    again = persist.loads(persist.dumps(model)).sample(3000, random_state=0)
    pd.testing.assert_frame_equal(made, again)


def test_expected_errors_need_no_rows_and_fall_with_epsilon(fitted):
    found = expected(fitted)
    assert set(found.errors) == {(a,) for a in COLUMNS} | {
        (a, b) for i, a in enumerate(COLUMNS) for b in list(COLUMNS)[i + 1 :]
    }
    weak = Synthesizer("0.1").fit(dp.Table(people(), DOMAIN, simulate(1)))
    assert expected(weak).two_way > found.two_way
    assert found.to_dict()["two_way"] == found.two_way
    assert len(found.to_frame()) == 15
    assert "pairs" in str(found)


def test_errors_are_measured_in_simulations_only():
    model = Synthesizer(1, rounds=1).fit(
        dp.Table(people(200), DOMAIN, dp.Ledger(epsilon=1))
    )
    with pytest.raises(UnsafeError, match="simulation"):
        measured(model, people(200))


def test_silos_feed_a_synthesizer_with_sums():
    from discreto.federated import FederatedTable, Silo

    halves = {"north": people(2000, 1), "south": people(2000, 2)}
    ledgers = {name: dp.Ledger(epsilon=4) for name in halves}
    silos = {
        name: Silo(dp.Table(rows, DOMAIN, ledgers[name]))
        for name, rows in halves.items()
    }
    model = Synthesizer(4, rounds=3).fit(FederatedTable(silos))
    assert {q.door for q in model.privacy_.plan} == {"measure"}
    assert sum(q.cost.epsilon for q in model.privacy_.plan) == Fraction(4)
    made = model.sample(2000, random_state=0)
    assert abs((made["ill"] == "y").mean() - 0.45) < 0.15
    for ledger in ledgers.values():
        assert ledger.spent().epsilon == 4


def test_databases_feed_a_synthesizer():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    rows = people(1500)
    with duckdb.connect() as connection:
        connection.register("rows", pa.Table.from_pandas(rows))
        connection.execute("create table people as select * from rows")
        engine = dp.engines.DatabaseEngine(fetch=False)
        stored = connection.table("people")
        table = dp.Table(stored, DOMAIN, simulate(2), engine=engine)
        model = Synthesizer(4, rounds=2).fit(table)
    assert {q.door for q in model.privacy_.plan} == {"measure"}
    assert abs(model.rows_ - 1500) < 200
    assert len(model.sample(100)) == 100


def test_a_service_answers_with_a_synthesizer():
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    from discreto.service.questions import read_work

    body = {
        "fit": {"model": "Synthesizer", "params": {"rounds": 2}},
        "epsilon": "1",
    }
    work = read_work(body, lambda name: "")
    answer = work.run(dp.Table(people(300), DOMAIN, simulate(0)))
    model = persist.loads(json.dumps(answer["model"]))
    assert isinstance(model, Synthesizer)
    assert isinstance(model.privacy_.receipt, Receipt)
    assert work.plan(DOMAIN, 100).total == Cost.of(1)


def test_the_command_writes_rows_a_model_and_a_report(tmp_path):
    from typer.testing import CliRunner

    from discreto.cli import app

    people(600).to_parquet(tmp_path / "data.parquet")
    DOMAIN.save(tmp_path / "d.json")
    words = ["synthesize", str(tmp_path / "data.parquet"), "--epsilon", "1"]
    words += ["--ledger", str(tmp_path / "data.ledger"), "--budget", "9"]
    words += ["--domain", str(tmp_path / "d.json"), "--out"]
    out = tmp_path / "made.parquet"
    more = ["--rows", "250", "--seed", "3", "--constraint", "age >= 18"]
    more += ["--set", "rounds=2", "--model", str(tmp_path / "m.json")]
    more += ["--report", str(tmp_path / "q.json")]
    found = CliRunner().invoke(app, [*words, str(out), *more])
    assert found.exit_code == 0, found.output
    made = pd.read_parquet(out)
    assert len(made) == 250
    assert (made["age"] >= 18).all()
    assert json.loads((tmp_path / "q.json").read_text())["two_way"] > 0
    again = Synthesizer.load(tmp_path / "m.json").sample(250, 3)
    assert again["sex"].tolist() == made["sex"].tolist()
    assert dp.Ledger(tmp_path / "data.ledger").spent().epsilon == 1
    assert "\\n" not in found.output
    card = tmp_path / "card.html"
    model = str(tmp_path / "m.json")
    told = CliRunner().invoke(
        app, ["--lang", "fr", "report", model, "--out", str(card)]
    )
    assert told.exit_code == 0, told.output
    assert "Génère des lignes synthétiques" in card.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, [*words, str(out)]).exit_code != 0
    assert CliRunner().invoke(app, [*words, str(tmp_path / "x.txt")]).exit_code != 0
