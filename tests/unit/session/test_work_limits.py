"""Work is limited by public facts before the charge, with the figure in the refusal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models, stats
from discreto.core.maps import Bins, Largest, Ones
from discreto.core.query import Block, Choice, Sum, bind
from discreto.errors import ParameterError
from discreto.service import Service, read_config
from discreto.service.config import ServiceLimits, check_config
from discreto.service.demo import write_demo
from discreto.session.session import Session
from discreto.session.work_limits import (
    WorkLimits,
    limiting_work,
    numbers_of,
    work_limits,
)
from discreto.testing import simulate

DOMAIN = dp.Domain({name: dp.Number(0, 100) for name in "abc"})
ROWS = {name: np.arange(200.0) % 100 for name in "abc"}
MILLION = {"ask": "histogram(age, bmi, days, 100)", "epsilon": "1e-9"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    out = Service(read_config(write_demo(tmp_path, rows=100)))
    yield out
    out.close()


def ask(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Ask as an analyst."""
    person = service.state.person("ana")
    assert person is not None
    return service.ask(person, "patients", body)


def charges(service: Service) -> list[dict[str, Any]]:
    """Return what was charged to the ledger of the service."""
    found = service.door.ledgers["patients"].entries()
    return [entry for entry in found if entry["cost"]]


def test_a_million_cells_are_refused_with_the_figure(service: Service) -> None:
    with pytest.raises(ParameterError, match=r"1,000,000 numbers.* 100,000"):
        ask(service, MILLION)
    assert not charges(service)


def test_plans_of_a_million_cells_are_refused(service: Service) -> None:
    person = service.state.person("ana")
    assert person is not None
    with pytest.raises(ParameterError, match="1,000,000 numbers"):
        service.door.plan(person, "patients", MILLION, 1000)


def test_many_small_answers_are_one_large_answer(service: Service) -> None:
    several = [f"histogram(age, bmi, {bins})" for bins in range(180, 185)]
    with pytest.raises(ParameterError, match=r"13\d,\d{3} numbers"):
        ask(service, {"ask": several, "epsilon": "1e-9"})
    assert not charges(service)
    assert ask(service, {"ask": several[:2], "epsilon": "1e-9"})["releases"]


def test_jobs_are_refused_as_well(service: Service) -> None:
    person = service.state.person("ana")
    assert person is not None
    with pytest.raises(ParameterError, match="1,000,000 numbers"):
        service.start(person, "patients", MILLION)
    assert not charges(service)


def test_an_owner_may_set_the_limit(tmp_path: Path) -> None:
    path = write_demo(tmp_path, rows=100)
    config = replace(read_config(path), limits=ServiceLimits(answer_numbers=50))
    service = Service(config)
    with pytest.raises(ParameterError, match=r"100 numbers.* 50\."):
        ask(service, {"ask": "histogram(age, 100)", "epsilon": "0.1"})
    assert ask(service, {"ask": "histogram(age, 50)", "epsilon": "0.1"})["releases"]
    service.close()


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many", True, 1 << 40])
@pytest.mark.parametrize("name", ["answer_numbers", "question_numbers"])
def test_limits_are_whole_numbers(tmp_path: Path, name: str, wrong: Any) -> None:
    config = read_config(write_demo(tmp_path, rows=10))
    with pytest.raises(ParameterError, match=name):
        check_config(replace(config, limits=ServiceLimits(**{name: wrong})))


def test_numbers_are_cells_times_widths() -> None:
    half = Block(Ones(), share=Fraction(1, 2))
    counts = Sum(Bins("a", 7), (half, half))
    assert numbers_of(bind(counts, DOMAIN)) == 14
    choice = Choice(Sum(Bins("a", 9), (Block(Ones()),)), Largest())
    assert numbers_of(bind(choice, DOMAIN)) == 9


def test_python_may_ask_for_more_than_a_service() -> None:
    table = dp.Table(ROWS, DOMAIN, simulate(0))
    found = table.answer(stats.Histogram(("a", "b", "c"), 50), epsilon=1)
    assert np.size(found.value) == 125_000 > ServiceLimits().answer_numbers


def test_an_answer_of_too_many_numbers_costs_nothing() -> None:
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(ROWS, DOMAIN, ledger)
    several = [stats.Histogram(("a",), bins) for bins in (40, 50, 60)]
    with limiting_work(WorkLimits(answer=149)):
        with pytest.raises(ParameterError, match=r"150 numbers.* 149"):
            table.answers(several, epsilon=1)
        with pytest.raises(ParameterError, match=r"150 numbers.* 149"):
            table.answers(several, epsilon=1, split="weighed")
    assert not ledger.entries()
    with limiting_work(WorkLimits(answer=150)):
        assert len(table.answers(several, epsilon=1)) == 3


def test_groups_are_counted_before_they_are_named() -> None:
    """10^8 groups would take 10 GB of names in the dry run."""
    many = dp.Number(0, 9999, integer=True)
    ledger = dp.Ledger(epsilon=1)
    rows = {"a": [1], "b": [2], "c": [3]}
    table = dp.Table(rows, dp.Domain(dict.fromkeys("abc", many)), ledger)
    with pytest.raises(ParameterError, match=r"groups by a, b.* 100,020,001 numbers"):
        table.answer(stats.Mean("c", by=("a", "b")), epsilon=1)
    assert not ledger.entries()


def test_a_question_of_a_fit_has_a_limit() -> None:
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(ROWS, DOMAIN, ledger)
    refused = pytest.raises(ParameterError, match="a question here may have 2")
    with limiting_work(WorkLimits(question=2)), refused:
        models.LinearRegression(epsilon=1).fit(table, "c")
    assert not ledger.entries()


def test_a_choice_has_the_limit_of_a_question() -> None:
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(ROWS, DOMAIN, ledger)
    refused = pytest.raises(ParameterError, match="a question here may have 2")
    with limiting_work(WorkLimits(question=2)), refused:
        table.answer(stats.Quantile("a", Fraction(1, 2)), epsilon=1)
    assert not ledger.entries()


def test_stored_answers_have_a_limit_of_their_own(tmp_path: Path) -> None:
    ledger = dp.Ledger(tmp_path / "a.ledger", epsilon=1)
    table = dp.Table(ROWS, DOMAIN, ledger, name="rows")
    wanted = stats.Histogram(("a",), 60)
    with limiting_work(WorkLimits(stored=59)):
        with pytest.raises(ParameterError, match=r"60 numbers.* 59.*without a key"):
            table.answer(wanted, epsilon="0.1", key="one")
        assert not ledger.entries()
        assert np.size(table.answer(wanted, epsilon="0.1").value) == 60
    first = table.answer(wanted, epsilon="0.1", key="one")
    again = table.answer(wanted, epsilon="0.1", key="one")
    assert np.array_equal(first.value, again.value)


def test_what_was_paid_for_is_not_refused() -> None:
    """A limit that falls between a plan and its answers stops nothing."""
    table = dp.Table(ROWS, DOMAIN, dp.Ledger(epsilon=1))
    plan = table.plan(stats.Count(), epsilon=1)
    paid = Session(table.gate(), plan.total, plan.forms)
    with limiting_work(WorkLimits(question=0)):
        assert stats.Count().learn(paid).label == "count"


def test_a_plan_of_before_is_not_taken_under_lower_limits() -> None:
    ledger = dp.Ledger(epsilon=1)
    table, wanted = dp.Table(ROWS, DOMAIN, ledger), stats.Histogram(("a", "b"), 9)
    table.answer(wanted, epsilon="0.1")
    refused = pytest.raises(ParameterError, match="81 numbers")
    with limiting_work(WorkLimits(answer=80)), refused:
        table.answer(wanted, epsilon="0.1")
    assert len(ledger.entries()) == 1


def test_limits_end_with_their_block() -> None:
    with pytest.raises(RuntimeError), limiting_work(WorkLimits(answer=1)):
        raise RuntimeError
    assert work_limits() == WorkLimits()
