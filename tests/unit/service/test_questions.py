"""Columns from a person's earlier rows, asked for over JSON."""

from __future__ import annotations

import json

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.history import NamedPast, PersonHistory
from discreto.core.query_json import encode
from discreto.errors import DiscretoError, DomainError, ParameterError
from discreto.testing import simulate

pytest.importorskip("fastapi", reason="fastapi is not installed")
from discreto.service.questions import read_work

COLUMNS = {"id": dp.Opaque(), "day": dp.Number(0, 9), "kg": dp.Number(0, 100)}
DOMAIN = dp.Domain(COLUMNS, person="id", rows_per_person=3)
ROWS = {"id": [1, 1, 1, 2], "day": [2, 1, 3, 1], "kg": [70.0, 60.0, 80.0, 50.0]}
PAST = PersonHistory(
    "day",
    (
        NamedPast("before", dp.lag("kg")),
        NamedPast("order", dp.rolling_mean("kg", 2)),  # a name that Python uses too
    ),
)


def body(**changes):
    question = {"kind": "Mean", "column": "before"}
    found = {"statistics": [question], "epsilon": "1", "history": encode(PAST)}
    return json.loads(json.dumps(found | changes))


def test_a_service_takes_histories():
    work = read_work(body(), lambda name: "")
    table = dp.Table(ROWS, DOMAIN, simulate(0, noise=False))
    assert work.domain_of(DOMAIN)["before"].missing
    assert work.plan(work.domain_of(DOMAIN), None).total == Cost.of(1)
    answer = work.run(work.seen(table))
    assert answer["releases"][0]["value"] == pytest.approx(65, abs=0.1)  # 60 and 70
    mean = {"kind": "Mean", "column": "order"}
    rolling = read_work(body(statistics=[mean]), lambda name: "")
    found = rolling.run(rolling.seen(table))["releases"][0]["value"]
    assert found == pytest.approx(62.5, abs=0.1)  # 60 and (60 + 70) / 2


def test_another_history_is_another_question():
    other = PersonHistory("day", (NamedPast("before", dp.lag("kg", 2)),))
    works = [
        read_work(body(history=past), lambda name: "")
        for past in (encode(PAST), encode(other))
    ]
    assert len({work.id_for("t", DOMAIN) for work in works}) == 2


@pytest.mark.parametrize(
    "history",
    [
        3,
        [],
        {"kind": "Lag", "column": "kg", "rows": 1},
        {"kind": "PersonHistory", "order": "day", "columns": 3},
        {"kind": "PersonHistory", "order": 3, "columns": []},
        {"kind": "Where", "condition": "kg > 3"},
        encode(PAST) | {"more": 1},
    ],
)
def test_what_is_no_history_is_refused(history):
    with pytest.raises(ParameterError):
        read_work(body(history=history), lambda name: "")


def test_a_history_that_does_not_fit_is_refused_before_it_is_paid():
    nobody = PersonHistory("day", (NamedPast("before", dp.lag("cm")),))
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(ROWS, DOMAIN, ledger)
    with pytest.raises(DiscretoError):
        read_work(body(history=encode(nobody)), lambda name: "").seen(table)
    work = read_work(body(), lambda name: "")
    alone = dp.Domain({name: COLUMNS[name] for name in ("day", "kg")})
    with pytest.raises(DomainError, match="person"):
        work.domain_of(alone)
    assert ledger.spent() == Cost()
