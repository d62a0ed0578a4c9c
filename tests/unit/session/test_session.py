"""A session hands its bound questions to the gate, and each is bound once."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto.core import query
from discreto.core.cost import Cost
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.errors import UnsafeError
from discreto.session.perform import perform
from discreto.session.session import Session

COUNT = Sum(Everyone(), (Block(Ones()),))
DOMAIN = dp.Domain({"age": dp.Number(0, 120), "sex": dp.Category(["f", "m"])})


@pytest.fixture
def table() -> dp.Table:
    data = {"age": np.arange(90.0), "sex": np.array(["f", "m"] * 45)}
    return dp.Table(data, DOMAIN, dp.testing.simulate(0))


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the questions that are checked part by part, as they come."""
    found: list[object] = []
    check = query.check_parts

    def noted(part: object, domain: dp.Domain) -> None:
        found.append(part)
        check(part, domain)

    monkeypatch.setattr(query, "check_parts", noted)
    return found


def test_a_statistic_is_bound_once(table: dp.Table, bound: list[object]) -> None:
    dp.stats.mean(table, "age", epsilon=1)
    assert len(bound) == 1
    dp.stats.mean(table, "age", epsilon=1)  # its plan is kept
    assert len(bound) == 1


def test_several_statistics_are_bound_once_each(
    table: dp.Table, bound: list[object]
) -> None:
    several = [
        dp.stats.Count(),
        dp.stats.Mean("age"),
        dp.stats.Mean("age", by=("sex",)),
    ]
    table.answers(several, epsilon=1)
    assert len(bound) == 3


def test_work_of_any_kind_is_bound_once(table: dp.Table, bound: list[object]) -> None:
    done = perform(table, lambda ask: ask.measure(COUNT, "n"), Cost.of(1), "n")
    assert len(done.result.tables) == len(bound) == 1


def test_a_view_binds_for_itself(table: dp.Table, bound: list[object]) -> None:
    """A question about other rows has other bounds, however equal it is."""
    old = table.where(dp.col("age") > 50)
    dp.stats.count(table, epsilon=1)
    dp.stats.count(old, epsilon=1)
    assert len(bound) >= 2


def test_a_question_outside_of_the_plan_is_refused(table: dp.Table) -> None:
    asked = 0

    def work(ask: Session) -> None:
        nonlocal asked
        asked += 1
        ask.measure(COUNT, "n" if asked == 1 else "another name")

    with pytest.raises(UnsafeError, match="not the next question"):
        perform(table, work, Cost.of(1), "n")
