"""What owners and auditors do besides budgets: domains and audits. No row is read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreto.core.domain.domain import Domain
from discreto.core.ledger.sqlite import SqliteStore
from discreto.errors import DomainError, ParameterError
from discreto.service import Service, read_config
from discreto.service.demo import write_demo
from discreto.service.errors import Refusal
from discreto.service.payer import ServedTable
from discreto.service.plots import burn_down
from discreto.service.state import _SCHEMA, Person, State


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    out = Service(read_config(write_demo(tmp_path, rows=50)))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a row was asked for")

    monkeypatch.setattr(ServedTable, "gate", refuse)
    yield out
    out.close()


def who(service: Service, name: str) -> Person:
    found = service.state.person(name)
    assert found is not None
    return found


def test_a_domain_is_drafted_edited_checked_and_kept(service: Service) -> None:
    olga = who(service, "olga")
    text = service.draft(olga, "patients")
    assert json.loads(text)["columns"]["age"]["upper"] == 110
    wide = text.replace('"upper": 110', '"upper": 130')
    checked = service.work_on_draft(olga, "patients", "check", wide)
    assert checked["good"]
    assert [change[0] for change in checked["changes"]] == ["age"]
    assert service.draft(olga, "patients") == text  # a check keeps nothing
    assert service.work_on_draft(olga, "patients", "save", wide)["kept"]
    assert service.draft(olga, "patients") == wide
    # The service itself goes on as it was started.
    known = Domain.from_dict(json.loads(text)).to_dict()
    assert service.table_facts(olga, "patients")["domain"] == known


def test_a_draft_has_names_and_types_and_is_not_complete(service: Service) -> None:
    found = service.work_on_draft(who(service, "olga"), "patients", "draft", "")
    columns = json.loads(found["text"])["columns"]
    assert list(columns) == [
        *("age", "sex", "region", "bmi", "smoker", "days", "readmitted")
    ]
    assert columns["age"]["lower"] is None
    assert not found["good"]
    assert "north" not in found["text"]  # nobody's value


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "1", "[" * 9999, "x" * 60_001, "\0"),
        '{"discreto_domain": 1, "columns": {"nothing": {"type": "numeric", '
        '"lower": 0, "upper": 1}}}',
        '{"discreto_domain": 1, "columns": {"sex": {"type": "numeric", '
        '"lower": 0, "upper": 1}}}',
    ],
)
def test_domains_that_do_not_fit_are_refused(service: Service, text: str) -> None:
    found = service.work_on_draft(who(service, "olga"), "patients", "save", text)
    assert not found["good"]
    assert found["message"]
    kept = len(text) <= 60_000 and "\0" not in text
    assert found["kept"] == kept  # a draft may be unfinished


def finished(service: Service) -> list[dict[str, Any]]:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        found = service.audits.all()
        if all(one["status"] != "running" for one in found):
            return found
        time.sleep(0.02)
    raise AssertionError("an audit without an end")


def test_claims_are_audited_on_made_up_tables(service: Service) -> None:
    iris = who(service, "iris")
    before = service.door.ledgers["patients"].verify()
    service.audits.start(iris, "patients", "count()", "0.1", 0)
    service.audits.start(iris, "patients", "NaiveBayes", "1", 0)
    found = finished(service)
    assert {one["subject"] for one in found} == {"count()", "NaiveBayes"}
    for one in found:
        assert (one["status"], one["person"]) == ("done", "iris")
        assert one["findings"][0]["verdict"] == "holds"
    assert service.door.ledgers["patients"].verify() == before  # nothing is charged


def test_odd_audits_are_refused(service: Service) -> None:
    iris = who(service, "iris")
    start = service.audits.start
    for subject, epsilon, runs in [
        *(("mean(", "1", 0), ("Ledger", "1", 0), ("count()", "-1", 0)),
        *(("count()", "1", 10**9), ("count()", "1", True)),
    ]:
        with pytest.raises((ParameterError, DomainError)):
            start(iris, "patients", subject, epsilon, runs)
    with pytest.raises(Refusal):
        start(iris, "nothing", "count()", "1", 0)
    with pytest.raises(Refusal):
        start(iris, "patients", "x" * 501, "1", 0)
    assert service.audits.all() == []


def test_a_state_of_an_older_version_is_brought_up(tmp_path: Path) -> None:
    path = str(tmp_path / "old.state")
    old = SqliteStore(path, 10.0, tuple(f"{s} STRICT" for s in _SCHEMA))
    old.create(lambda db: None)
    old.close()
    state = State(path)
    state.set_draft("patients", "{}")
    assert state.draft("patients") == "{}"
    state.close()
    again = State(path)
    assert (again.draft("patients"), again.audits()) == ("{}", [])
    again.close()


def test_a_budget_of_which_nothing_is_spent_is_a_flat_line() -> None:
    assert 'points="50.0,10.0 630.0,10.0"' in burn_down([], 2.0, "bo")
