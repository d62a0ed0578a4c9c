"""The door of a service without HTTP: what is charged, refused, kept and said."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.expressions import Select, Where, view_to_json
from discreto.errors import BudgetError, LedgerError, ParameterError
from discreto.release.ledger_proof import check_proof
from discreto.service import Service, read_config
from discreto.service.asking import Door
from discreto.service.demo import write_demo
from discreto.service.errors import CODES, Refusal, refusal_of
from discreto.service.guard import bucketed
from discreto.service.questions import (
    make_model,
    read_work,
    statistic_from_json,
    statistic_to_json,
)
from discreto.service.rate import RateLimit
from discreto.service.state import Person
from discreto.table.expression_text import expression

NUMBERS = view_to_json((Select(("age", "bmi")),))
MEAN = {"ask": "mean(age) by sex", "epsilon": "0.1"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    config = read_config(write_demo(tmp_path, rows=200))
    out = Service(config)
    yield out
    out.close()


def person(service: Service, name: str) -> Person:
    found = service.state.person(name)
    assert found is not None
    return found


def ask(service: Service, name: str, body: dict[str, Any]) -> dict[str, Any]:
    return service.ask(person(service, name), "patients", body)


def ledger(service: Service) -> dp.Ledger:
    return service.door.ledgers["patients"]


# Files that change


def double(service: Service) -> None:
    """Write the table's file again, with every row twice, as an export does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(service.config.tables["patients"].data)
    rows = pq.read_table(path)
    pq.write_table(pa.concat_tables([rows, rows]), path.with_name("new"))
    path.with_name("new").replace(path)


def test_a_nightly_export_is_read_from_the_next_question_on(service: Service) -> None:
    before = ask(service, "ana", {"ask": "count()", "epsilon": "0.25"})
    double(service)
    again = ask(service, "ana", {"ask": "count()", "epsilon": "0.25"})
    assert again["repeated"]  # a stored answer stays what it was
    after = ask(service, "ana", {"ask": "count()", "epsilon": "0.25", "again": 1})
    found = [answer["releases"][0]["value"] for answer in (before, after)]
    assert abs(found[0] - 200) < 80
    assert abs(found[1] - 400) < 80
    opened = [
        e for e in ledger(service).entries() if e["event"].get("service") == "opened"
    ]
    assert [e["label"] for e in opened] == [
        "table patients was changed and is opened anew"
    ]
    assert not ledger(service).shut
    owner = person(service, "olga")
    assert any(e["service"] == "opened" for e in service.door.history(owner))


def test_a_table_that_does_not_fit_any_more_is_refused_unpaid(service: Service) -> None:
    path = Path(service.config.tables["patients"].data)
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], b""):
        path.write_bytes(bad)
        with pytest.raises(Refusal) as caught:
            ask(service, "ana", MEAN)
        assert caught.value.code == "table"
    assert ledger(service).spent() == Cost()
    path.write_bytes(good)
    assert ask(service, "ana", MEAN)["releases"]


def test_a_change_during_an_answer_is_said_and_shuts_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreto.data.frames.stream import StreamFrame

    plain = StreamFrame.batches

    def batches(self: Any, *args: Any) -> Any:
        double(service)
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(StreamFrame, "batches", batches)
        with pytest.raises(Exception, match="changed") as caught:
            ask(service, "ana", MEAN)
    assert refusal_of(caught.value).code == "changed"
    assert not ledger(service).shut
    assert ask(service, "ana", MEAN)["releases"]


# Asking


def test_an_answer_is_charged_to_all_and_to_the_analyst(service: Service) -> None:
    answer = ask(service, "ana", MEAN)
    (release,) = answer["releases"]
    assert release["keys"] == ["f", "m"]
    assert ledger(service).spent("ana") == ledger(service).spent() == Cost.of("0.1")
    entry = ledger(service).entries()[-1]
    assert entry["analyst"] == "ana"
    assert entry["event"]["asked"]["cost"] == {"epsilon": "1/10"}


def test_the_same_question_again_is_free_and_the_same(service: Service) -> None:
    first = ask(service, "ana", MEAN)
    in_data = {
        "statistic": {"kind": "Mean", "column": "age", "by": ["sex"]},
        "epsilon": 0.1,
    }
    second = ask(service, "ana", in_data)
    assert (first["repeated"], second["repeated"]) == (False, True)
    assert first["releases"] == second["releases"]
    assert ledger(service).spent() == Cost.of("0.1")
    other = ask(service, "bo", MEAN)  # somebody else pays, and gets noise of their own
    assert other["releases"] != first["releases"]
    anew = ask(service, "ana", MEAN | {"again": 1})
    assert not anew["repeated"]
    assert ledger(service).spent("ana") == Cost.of("0.2")


def test_several_statistics_are_one_charge(service: Service) -> None:
    body = {"ask": ["count()", "mean(age)"], "epsilon": "0.2"}
    answer = ask(service, "ana", body)
    assert len(answer["releases"]) == 2
    assert len(ledger(service).entries()) == 3  # two budgets and one charge
    assert ask(service, "ana", body)["repeated"]


def test_views_are_asked_about(service: Service) -> None:
    view = view_to_json((Where(expression("age >= 65")),))
    answer = ask(service, "ana", {"ask": "count()", "view": view, "epsilon": "0.5"})
    assert "where age >= 65" in answer["releases"][0]["label"]


@pytest.mark.parametrize(
    "body",
    [
        {"epsilon": "0.1"},
        {"ask": "mean(age)", "fit": {"model": "KMeans"}, "epsilon": "0.1"},
        {"ask": "mean(nothing)", "epsilon": "0.1"},
        {"ask": "mean(age", "epsilon": "0.1"},
        {"ask": "mean(age)", "epsilon": "-1"},
        {"ask": "mean(age)", "epsilon": "inf"},
        {"ask": "mean(age)", "epsilon": True},
        {"ask": "mean(age)", "epsilon": "0.1", "again": True},
        {"ask": "mean(age)", "epsilon": "0.1", "view": [{"kind": "Where"}]},
        {"ask": ["count()"] * 33, "epsilon": "0.1"},
        {"statistic": {"kind": "Ledger"}, "epsilon": "0.1"},
        {"statistic": {"kind": "Where"}, "epsilon": "0.1"},
        {"statistic": {"kind": "Mean", "column": 7}, "epsilon": "0.1"},
        {
            "statistic": {"kind": "Histogram", "columns": ["age"], "bins": [[], []]},
            "epsilon": "0.1",
        },
        {
            "statistic": {"kind": "Histogram", "columns": ["age"], "bins": [[1, 2]]},
            "epsilon": "0.1",
        },
        {"fit": {"model": "Table"}, "epsilon": "0.1"},
        {"fit": {"model": "KMeans", "params": {"max_iter": 10**9}}, "epsilon": "0.1"},
        {"fit": {"model": "KMeans", "params": {"ledger": None}}, "epsilon": "0.1"},
        {"fit": {"model": "KMeans", "params": {"n_clusters": "x"}}, "epsilon": "0.1"},
        {"evaluate": "nothing", "epsilon": "0.1"},
    ],
)
def test_what_is_refused_costs_nothing(service: Service, body: dict[str, Any]) -> None:
    before = ledger(service).entries()
    with pytest.raises((dp.DiscretoError, Refusal)) as error:
        ask(service, "ana", body)
    assert refusal_of(error.value).status in (404, 422)
    assert ledger(service).entries() == before


def test_only_analysts_ask_and_only_of_their_tables(service: Service) -> None:
    for name in ("olga", "iris"):
        with pytest.raises(Refusal, match="forbidden"):
            ask(service, name, MEAN)
    served = service.door.tables["patients"]
    closed = replace(served.settings, analysts=("bo",))
    service.door.tables["patients"] = replace(served, settings=closed)
    with pytest.raises(Refusal, match="not_found"):
        ask(service, "ana", MEAN)
    assert service.tables(person(service, "ana")) == []


def test_every_budget_holds(tmp_path: Path) -> None:
    path = write_demo(tmp_path, rows=50)
    text = path.read_text().replace('ceiling = "0.5"', 'epsilon = "0.8"')
    path.write_text(text)
    service = Service(read_config(path))
    for turn in range(5):
        ask(service, "bo", {"ask": "count()", "epsilon": "0.1", "again": turn})
    with pytest.raises(BudgetError, match="'bo'"):
        ask(service, "bo", {"ask": "count()", "epsilon": "0.6"})
    with pytest.raises(BudgetError, match="'table patients'"):
        ask(service, "ana", {"ask": "count()", "epsilon": "0.5"})
    ask(service, "ana", {"ask": "count()", "epsilon": "0.3"})
    left = service.door.left(person(service, "ana"), service.door.tables["patients"])[
        "budgets"
    ]
    assert left["table patients"]["left"] == 0
    assert left["analyst"]["left"] == pytest.approx(1.7)
    assert left["population"]["left"] == pytest.approx(4.2)
    service.close()


# Ceilings and approvals


def test_a_question_above_the_ceiling_waits_for_the_owner(service: Service) -> None:
    ana, olga = person(service, "ana"), person(service, "olga")
    large = {"ask": "mean(age)", "epsilon": "0.8"}
    with pytest.raises(Refusal, match="needs_approval"):
        ask(service, "ana", large)
    asked = service.request(ana, "patients", large, "for the annual report")
    (found,) = service.door.requests(olga)
    assert (found["status"], found["comment"]) == ("waiting", "for the annual report")
    decide = service.door.decide
    with pytest.raises(Refusal, match="not_found"):
        decide(olga, "patients", "bo", asked["id"], approved=True, comment="")
    decide(olga, "patients", "ana", asked["id"], approved=True, comment="fine")
    with pytest.raises(Refusal, match="conflict"):
        decide(olga, "patients", "ana", asked["id"], approved=False, comment="")
    assert service.door.requests(olga)[0]["status"] == "approved"
    with pytest.raises(Refusal, match="needs_approval"):  # exactly that question
        ask(service, "ana", large | {"ask": "mean(bmi)"})
    with pytest.raises(Refusal, match="needs_approval"):  # and that analyst
        ask(service, "bo", large)
    assert ask(service, "ana", large)["releases"]
    kinds = [e["event"].get("service") for e in ledger(service).entries()]
    assert kinds[-3:] == ["request", "decision", "ask"]
    assert ledger(service).verify() == len(kinds)


def test_a_refused_request_stays_refused(service: Service) -> None:
    large = {"ask": "mean(age)", "epsilon": "0.8"}
    asked = service.request(person(service, "ana"), "patients", large, "")
    service.door.decide(
        person(service, "olga"),
        "patients",
        "ana",
        asked["id"],
        approved=False,
        comment="too much",
    )
    with pytest.raises(Refusal, match="needs_approval"):
        ask(service, "ana", large)
    assert service.door.requests(person(service, "ana"))[0]["answer"] == "too much"
    assert service.door.requests(person(service, "bo")) == []


# Models and jobs


def wait(service: Service, name: str, job: str) -> dict[str, Any]:
    end = time.monotonic() + 300
    while True:
        facts = service.job_facts(person(service, name), job)
        if facts["status"] not in ("waiting", "running"):
            return facts
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_model_is_fitted_used_and_judged(service: Service) -> None:
    ana = person(service, "ana")
    body = {"fit": {"model": "NaiveBayes"}, "epsilon": "0.4"}
    job = service.start(ana, "patients", body)
    facts = wait(service, "ana", job["job"])
    assert facts["status"] == "done"
    columns = {
        "age": [50, 80],
        "sex": ["f", "m"],
        "region": ["north", "west"],
        "bmi": [20, 40],
        "smoker": ["no", "yes"],
        "days": [1, 30],
    }
    found = service.predict(ana, "patients", facts["answer"], columns)
    assert set(found["predictions"]) <= {"no", "yes"}
    judged = ask(service, "ana", {"evaluate": facts["answer"], "epsilon": "0.4"})
    assert "accuracy" in judged["evaluation"]
    assert ledger(service).spent("ana") == Cost.of("0.8")
    assert ask(service, "ana", body)["repeated"]
    for name in ("bo", "olga"):  # nobody else has it
        with pytest.raises(Refusal):
            service.job_facts(person(service, name), job["job"])
        with pytest.raises(Refusal):
            service.predict(person(service, name), "patients", facts["answer"], columns)


def test_a_cancelled_job_keeps_its_charge_and_can_be_finished(service: Service) -> None:
    body = {"fit": {"model": "KMeans", "params": {"max_iter": 4}}, "epsilon": "0.2"}
    body |= {"view": NUMBERS}
    ana = person(service, "ana")
    question = service.door.question(ana, "patients", body)

    class Cancel(Exception):
        pass

    seen = []

    def watch() -> None:
        seen.append(1)
        if len(seen) == 2:
            raise Cancel

    with pytest.raises(Cancel):
        service.door.ask(question, watch)
    assert ledger(service).spent("ana") == Cost.of("0.2")
    assert not ledger(service).shut
    # It has read rows: another run draws fresh noise, and is paid for.
    assert not service.door.plan(ana, "patients", body, None)["paid"]
    answer = service.door.ask(question)
    assert answer["model"]["model"] == "KMeans"
    assert ledger(service).spent("ana") == Cost.of("0.4")
    assert service.door.plan(ana, "patients", body, None)["paid"]
    assert service.door.ask(question)["repeated"]
    assert ledger(service).spent("ana") == Cost.of("0.4")
    # Rows were read each time, so there is no end to what is asked but the budget.
    label = ledger(service).entries()[-1]["label"]
    assert label.startswith("attempt 2 at entry ")


def test_work_that_stops_before_its_first_question_is_free_to_repeat(
    service: Service,
) -> None:
    ana = person(service, "ana")
    question = service.door.question(ana, "patients", MEAN)

    class Cancel(Exception):
        pass

    def watch() -> None:
        raise Cancel

    for _ in range(3):
        with pytest.raises(Cancel):
            service.door.ask(question, watch)
        assert ledger(service).spent("ana") == Cost.of("0.1")
    assert not service.door.ask(question)["repeated"]
    assert ledger(service).spent("ana") == Cost.of("0.1")
    assert ledger(service).verify() > 0


def test_cancelling_is_said_in_the_chain(service: Service) -> None:
    ana = person(service, "ana")
    body = {"fit": {"model": "KMeans", "params": {"max_iter": 1000}}, "epsilon": "0.2"}
    body |= {"view": NUMBERS}
    job = service.start(ana, "patients", body)
    while not ledger(service).spent("ana"):
        time.sleep(0.005)
    assert "charge stands" in service.cancel(ana, job["job"])["message"]
    facts = wait(service, "ana", job["job"])
    assert facts["status"] == "cancelled"
    end = time.monotonic() + 300
    while time.monotonic() < end:
        last = ledger(service).entries()[-1]
        if last["event"].get("service") == "cancelled":
            break
        time.sleep(0.01)
    assert "the charge stands" in last["label"]


def test_work_that_died_is_said_in_the_chain_and_charged_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = service.door.question(person(service, "ana"), "patients", MEAN)

    def full(*_: object) -> str:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("discreto.service.payer.Once.keep", full)
        with pytest.raises(MemoryError):
            service.door.ask(question)
    assert service.door.sweep(set()) == 0  # it may still be under way
    service.door._patience = -1.0
    assert service.door.sweep({question.key}) == 0  # a job that lives
    assert service.door.sweep(set()) == 1
    assert service.door.sweep(set()) == 0
    assert ledger(service).entries()[-1]["label"].startswith("died: no answer")
    assert not service.door.ask(question)["repeated"]
    assert ledger(service).spent("ana") == Cost.of("0.2")


def test_history_and_answers_are_ones_own(service: Service) -> None:
    answer = ask(service, "ana", MEAN)
    ana, bo = person(service, "ana"), person(service, "bo")
    assert service.door.stored(ana, "patients", answer["id"])["releases"]
    with pytest.raises(Refusal, match="not_found"):
        service.door.stored(bo, "patients", answer["id"])
    assert [e for e in service.door.history(bo) if e["service"] == "ask"] == []
    assert len(service.door.history(person(service, "iris"))) == 3


# People


def test_tokens_expire_end_and_are_shown_once(service: Service) -> None:
    made = service.add_token("ana")
    token = made["token"]
    assert service.by_token(token).name == "ana"
    stored = json.dumps(service.people())
    assert token.partition(".")[2] not in stored
    for wrong in ("", "x", token + "x", token[:-1], "é" * 20, token.upper()):
        with pytest.raises(Refusal, match="unauthorised"):
            service.by_token(wrong)
    with pytest.raises(Refusal, match="unauthorised"):
        service.credentials.check(token, "session")
    service.revoke(made["id"])
    with pytest.raises(Refusal, match="unauthorised"):
        service.by_token(token)
    late, _ = service.credentials.make("token", "ana", -1)
    with pytest.raises(Refusal, match="unauthorised"):
        service.by_token(late)


def test_who_is_removed_is_out(service: Service) -> None:
    token = service.add_token("ana")["token"]
    olga = person(service, "olga")
    service.remove_person(olga, "ana")
    with pytest.raises(Refusal, match="unauthorised"):
        service.by_token(token)
    with pytest.raises(Refusal, match="not_found"):
        service.add_token("ana")
    with pytest.raises(Refusal, match="conflict"):
        service.remove_person(olga, "olga")


def test_a_link_works_once(service: Service) -> None:
    code = service.link("ana").rpartition("/")[2]
    secret, who = service.credentials.check(code, "link")
    assert who.name == "ana"
    assert service.state.revoke(secret.id)
    assert not service.state.revoke(secret.id)
    with pytest.raises(Refusal):
        service.credentials.check(code, "link")


# Proofs


def test_a_proof_is_checked_without_the_ledger(service: Service) -> None:
    ask(service, "ana", MEAN)
    proof = json.loads(json.dumps(service.proof("patients")))
    assert check_proof(proof) == 3
    for place, text in ((1, "0.1"), (3, "00")):
        broken = json.loads(json.dumps(proof))
        broken["entries"][2][place] += text
        with pytest.raises(LedgerError):
            check_proof(broken)
    with pytest.raises(LedgerError):
        check_proof(proof | {"accounts": []})


# Small parts


def test_every_statistic_has_a_json_form_that_is_read_back() -> None:
    lines = [
        *("count()", "count() by sex", "sum(age)", "mean(age)", "variance(age)"),
        *("std(age) by sex", "median(age)", "quantile(age, 0.1, 0.9)", "min(age)"),
        *("max(age)", "mode(sex)", "histogram(age)", "histogram(age, 10)"),
        *("histogram(age, [10, 20])", "covariance(age, bmi)", "gini(age)"),
        *("correlation(age, bmi)", "top(region, 2)", "distribution(age, 20, 40)"),
        *("ratio(age, bmi)", "weighted_mean(age, bmi)", "trend(age, bmi)"),
        *("independence(sex, region)", "mean_difference(age, sex)"),
        *("proportion(age > 60)", "proportion_difference(age > 60, sex)"),
        *("mean(age / bmi) where sex == 'f' by region", "lorenz(age)"),
    ]
    for line in lines:
        statistic = dp.stats.sentence(line)
        data = json.loads(json.dumps(statistic_to_json(statistic)))
        assert statistic_from_json(data) == statistic, line


def test_one_question_has_one_name() -> None:
    domain = dp.Domain({"age": dp.Number(0, 110)})
    bodies: list[dict[str, Any]] = [
        {"ask": "mean(age)", "epsilon": "0.1"},
        {"ask": " mean( age )", "epsilon": 0.1, "delta": 0, "view": []},
        {"statistic": {"kind": "Mean", "column": "age"}, "epsilon": "1/10"},
    ]
    works = [read_work(body, lambda name: "") for body in bodies]
    assert len({work.id_for("t", domain) for work in works}) == 1
    assert works[0].id_for("u", domain) != works[0].id_for("t", domain)


def test_models_are_made_from_closed_lists() -> None:
    assert make_model("KMeans", {"n_clusters": 3, "epsilon": 1}).epsilon == 1
    settings = {"settings": {"private_counts": True}, "epsilon": 1}
    for name, params in (
        ("PrivateEstimator", {}),
        ("__class__", {}),
        ("KMeans", {"domain": {}}),
        ("GradientBoostingClassifier", settings | {"settings": {"nothing": 1}}),
        ("GradientBoostingClassifier", settings | {"settings": 3}),
    ):
        with pytest.raises(ParameterError):
            make_model(name, params)


def test_errors_are_a_fixed_list_and_machine_failures_have_no_words() -> None:
    assert all(400 <= status < 600 for status, _ in CODES.values())
    assert refusal_of(ValueError("row 7: Smith")).message == CODES["failed"][1]
    told = refusal_of(LedgerError("'/srv/secret/patients.ledger' cannot be used"))
    assert (told.code, told.message) == ("ledger", CODES["ledger"][1])
    assert refusal_of(BudgetError("costs ε 1")).message == "costs ε 1"


def test_time_is_told_in_powers_of_two() -> None:
    found = {bucketed(k / 1000, 0.1) for k in range(1, 3000)}
    assert sorted(found) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    assert all(bucketed(k / 1000, 0.1) >= k / 1000 for k in range(1, 3000))


def test_rates_are_limited() -> None:
    limit = RateLimit(1.0, burst=3)
    for _ in range(3):
        limit.check("ana")
    with pytest.raises(Refusal, match="too_many"):
        limit.check("ana")
    limit.check("bo")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('ledger = "patients"', 'ledger = "others"'),
        ('role = "owner"', 'role = "analyst"'),
        ('role = "owner"', 'role = "king"'),
        ('ceiling = "0.5"', 'roof = "0.5"'),
        ('ceiling = "0.5"', 'ceiling = "-1"'),
        ("[people.olga]", '[people."o l"]'),
        ('name = "discreto demo"', "colour = 1"),
        ("[tables.patients]", "[tabl.patients]"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = write_demo(tmp_path, rows=10)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ParameterError):
        Door(read_config(path))


def test_the_ceiling_counts_gaussian_questions_by_their_epsilon(
    service: Service,
) -> None:
    small = {"ask": "count()", "epsilon": "0.45", "delta": "1e-6"}
    assert ask(service, "ana", small)["releases"]
    with pytest.raises(Refusal, match="needs_approval"):
        ask(service, "ana", small | {"epsilon": "0.6"})
    assert service.door.tables["patients"].ceiling == Fraction(1, 2)


def test_a_table_of_a_database_is_served(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = write_demo(tmp_path, rows=100)
    with duckdb.connect(str(tmp_path / "people.db")) as people:
        source = tmp_path / "patients.parquet"
        people.execute(f"CREATE TABLE visits AS SELECT * FROM '{source}'")
    address = f"duckdb:///{tmp_path / 'people.db'}?table=visits"
    text = path.read_text().replace('data = "patients.parquet"', f'data = "{address}"')
    path.write_text(text)
    service = Service(read_config(path))
    assert ask(service, "ana", MEAN)["releases"][0]["keys"] == ["f", "m"]
    assert ledger(service).spent("ana") == Cost.of("0.1")
    service.close()
