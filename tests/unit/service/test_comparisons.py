"""Comparisons through a service: on simulated rows only, free, and in the chain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreto.core.cost import Cost
from discreto.core.expressions import Select, view_to_json
from discreto.errors import ParameterError
from discreto.service import Service, read_config
from discreto.service.comparisons import read_comparison, simulated_rows
from discreto.service.demo import demo_domain, write_demo
from discreto.service.errors import Refusal
from discreto.service.payer import ServedTable

BODY: dict[str, Any] = {"compare": {"rows": 120, "epsilons": ["1"]}, "epsilon": "1"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    out = Service(read_config(write_demo(tmp_path, rows=200)))
    yield out
    out.close()


def done(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """The answer of a job, and how the job ended."""
    ana = service.state.person("ana")
    assert ana is not None
    job = service.start(ana, "patients", body)
    end = time.monotonic() + 300
    while job["status"] in ("waiting", "running") and time.monotonic() < end:
        time.sleep(0.02)
        job = service.job_facts(ana, job["job"])
    if job["status"] != "done":
        return job
    return service.door.stored(ana, "patients", job["answer"])


def asked_of(service: Service) -> list[dict[str, Any]]:
    entries = service.door.ledgers["patients"].entries()
    return [entry for entry in entries if entry["event"].get("service") == "ask"]


def test_it_reads_no_row_and_costs_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a row was asked for")

    monkeypatch.setattr(ServedTable, "gate", refuse)
    found = done(service, BODY)["comparison"]
    assert found["simulated"]
    assert found["rows"] == 120
    assert found["whose_rows"] == "made up from the domain"
    assert {"NaiveBayes", "LogisticRegression"} <= {s["model"] for s in found["scores"]}
    ledger = service.door.ledgers["patients"]
    assert (ledger.spent("ana"), ledger.spent()) == (Cost(), Cost())
    last = ledger.entries()[-1]
    assert last["label"] == "compare models on simulated rows at ε 1"
    assert (last["cost"], last["analyst"]) == ({}, "ana")
    entries = ledger.verify()
    assert done(service, BODY)["comparison"] == found  # stored: not worked out again
    assert ledger.verify() == entries


def test_rows_of_the_analysts_own_are_compared_on(service: Service) -> None:
    rows = simulated_rows(demo_domain(), "smoker", 60, 3)
    columns = {name: rows[name].tolist() for name in ("age", "sex", "smoker")}
    asked = {"columns": columns, "target": "smoker"}
    view = view_to_json((Select(tuple(columns)),))
    found = done(service, {"compare": asked, "epsilon": "2", "view": view})
    assert found["comparison"]["whose_rows"] == "yours"
    assert (found["comparison"]["target"], found["comparison"]["rows"]) == (
        "smoker",
        60,
    )


def test_it_is_a_job(service: Service) -> None:
    ana = service.state.person("ana")
    assert ana is not None
    with pytest.raises(Refusal, match="bad_request"):
        service.ask(ana, "patients", BODY)
    assert not asked_of(service)


@pytest.mark.parametrize(
    "asked",
    [
        [],
        {"rows": 10**9},
        {"rows": True},
        {"rows": 10.5},
        {"seed": -1},
        {"target": 3},
        {"epsilons": ["1"] * 5},
        {"epsilons": ["-1"]},
        {"epsilons": "1"},
        {"columns": {"age": []}},
        {"columns": {"age": [1, 2], "sex": ["f"]}},
        {"columns": {"age": [[1]]}},
        {"columns": {"age": [1] * 6000}},
        {"data": "/etc/passwd"},
    ],
)
def test_odd_comparisons_are_refused(asked: Any) -> None:
    with pytest.raises(ParameterError):
        read_comparison(asked, "1", 0)


def test_a_target_that_is_not_there_is_refused_without_an_entry(
    service: Service,
) -> None:
    job = done(service, {"compare": {"target": "nothing"}, "epsilon": "1"})
    assert job["status"] == "refused"
    assert not asked_of(service)


def test_simulated_rows_come_from_the_domain_and_a_seed_alone() -> None:
    domain = demo_domain()
    one, two = (simulated_rows(domain, None, 500, 4) for _ in range(2))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert list(one) == list(domain)
    assert one["age"].min() >= 0
    assert one["age"].max() <= 110
    assert set(one["region"]) == {"north", "east", "south", "west"}
    other = simulated_rows(domain, None, 500, 5)
    assert not np.array_equal(one["age"], other["age"])
