"""Plans: what is asked is what was planned, and what is charged is what was said."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.core.maps import Block, Everyone, Ones, Sum
from discreto.errors import BudgetError, ParameterError, UnsafeError
from discreto.session.perform import perform
from discreto.session.plan import epsilon_for, plan_of, rehearse
from discreto.session.session import Session
from discreto.stats import (
    Bounds,
    Count,
    Covariance,
    Extremum,
    Histogram,
    Mean,
    Mode,
    Quantile,
    Quantiles,
    Total,
    Variance,
)
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {"x": dp.Number(0, 10), "y": dp.Number(-1, 1), "c": dp.Category(("a", "b"))}
)
DATA = {"x": np.linspace(0, 10, 50), "y": np.linspace(-1, 1, 50), "c": ["a", "b"] * 25}
EVERY: list[Any] = [
    Count(),
    Count(("c",)),
    Total("x"),
    Mean("x"),
    Mean("x", ("c",)),
    Variance("x"),
    Variance("x", root=True),
    Covariance(("x", "y")),
    Covariance(("x", "y"), correlation=True),
    Histogram(("x",), 5),
    Histogram(("c", "x"), 3),
    Mode("c"),
    Bounds("x"),
    Quantile("x", Fraction(1, 4)),
    Quantiles("x", (Fraction(1, 4), Fraction(3, 4))),
    Extremum("x", "low"),
    Extremum("x", "high"),
]


@pytest.mark.parametrize("statistic", EVERY, ids=lambda s: s.label)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_plan_equals_charge(statistic: Any, delta: Any) -> None:
    plan = dp.plan.statistics(DOMAIN, statistic, epsilon="0.7", delta=delta)
    for ledger in (dp.Ledger(epsilon=3, delta="1e-6"), simulate(2)):
        table = dp.Table(DATA, DOMAIN, ledger)
        release = table.answer(statistic, epsilon="0.7", delta=delta)
        entry = ledger.entries()[-1]
        assert len(ledger.entries()) == 1
        assert entry["cost"] == plan.total.to_dict() == release.cost.to_dict()
        assert ledger.spent() == plan.total
        questions = json.loads(json.dumps([q.to_dict() for q in plan]))
        assert json.loads(json.dumps(entry["event"]["questions"])) == questions
    shares = sum((question.cost for question in plan), dp.Cost())
    assert shares == plan.total


@pytest.mark.parametrize("wrong", ["mean(x)", Mean, dp.stats.mean, 1.0])
def test_what_is_no_statistic_is_refused_in_words(wrong: Any) -> None:
    table = dp.Table(DATA, DOMAIN, simulate(1))
    for use in (
        lambda: table.plan(wrong, epsilon=1),
        lambda: table.plan([wrong], epsilon=1),
        lambda: table.answer(wrong, epsilon=1),
        lambda: table.answers([wrong], epsilon=1),
    ):
        with pytest.raises(ParameterError, match=r"is no statistic\. Write"):
            use()


@pytest.mark.parametrize("statistic", EVERY, ids=lambda s: s.label)
def test_plans_spend_nothing_and_print(statistic: Any) -> None:
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(DATA, DOMAIN, ledger)
    plan = table.plan(statistic, epsilon=1)
    assert not ledger.spent()
    assert statistic.label in str(plan)
    assert plan.to_dict()["total"] == {"epsilon": "1"}
    json.dumps(plan.to_dict())


class Wanderer:
    """Asks something else when rows are about, which no statistic may do."""

    label = "wanderer"

    def __init__(self) -> None:
        self.times = 0

    def learn(self, ask: Any) -> Any:
        self.times += 1
        query = Sum(Everyone(), (Block(Ones()),))
        share = Fraction(1, 2) if self.times == 1 else Fraction(1)
        answer = ask.measure(query, "rows", share)
        return dp.Release("rows", int(answer.tables[0][0, 0]), 0, 0)


def test_leaving_the_plan_is_refused() -> None:
    table = dp.Table(DATA, DOMAIN, dp.Ledger(epsilon=5))
    with pytest.raises(UnsafeError, match="plan that was paid for"):
        table.answer(Wanderer(), epsilon=1)
    # One question more than planned is refused as well.
    gate, cost = table.gate(), dp.Cost.of(1)
    plan = plan_of(DOMAIN, [Count()], cost, 10)
    ask = Session(gate, cost, plan.forms)
    Count().learn(ask)
    with pytest.raises(UnsafeError):
        Count().learn(ask)


def test_a_reservation_cannot_be_overdrawn() -> None:
    table = dp.Table(DATA, DOMAIN, dp.Ledger(epsilon=5))
    gate = table.gate(table.reserve(dp.Cost.of(1), "a conversation"))
    query = Sum(Everyone(), (Block(Ones()),))
    gate.measure(query, dp.Cost.of("0.6"), "first")
    with pytest.raises(BudgetError):
        gate.measure(query, dp.Cost.of("0.6"), "second")


@pytest.mark.parametrize(
    ("statistic", "error"),
    [(Mean("x"), 0.5), (Count(), 3), (Variance("x"), 1.0), (Quantile("x"), 0.5)],
)
def test_epsilon_for_reaches_the_error(statistic: Any, error: float) -> None:
    enough = epsilon_for(DOMAIN, statistic, error=error, rows=2000)

    def planned(epsilon: Fraction) -> float:
        plan = dp.plan.statistics(DOMAIN, statistic, epsilon=epsilon, rows=2000)
        return float(np.max(plan.expected[0].error))

    assert planned(enough) <= error
    # A tenth less is not enough, but for whole-number steps.
    if not isinstance(statistic, Count | Quantile):
        assert planned(enough * Fraction(9, 10)) > error


def test_epsilon_for_says_when_it_cannot() -> None:
    with pytest.raises(ParameterError, match="cannot reach"):
        epsilon_for(DOMAIN, Mean("x"), error=1e-12, rows=1)
    with pytest.raises(ParameterError):
        epsilon_for(DOMAIN, Mean("x"), error=-1)


def test_answers_are_all_or_nothing() -> None:
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(DATA, DOMAIN, ledger)
    wanted = [Count(), Mean("x"), Quantile("x")]
    with pytest.raises(BudgetError):
        table.answers(wanted, epsilon="1.01")
    with pytest.raises(dp.errors.DomainError):
        table.answers([*wanted, Mean("nobody")], epsilon="0.5")
    with pytest.raises(ParameterError):
        table.answers([], epsilon="0.5")
    assert not ledger.spent()
    releases = table.answers(wanted, epsilon="0.9")
    assert [r.label for r in releases] == [s.label for s in wanted]
    assert ledger.spent() == dp.Cost.of("0.9")
    assert len(ledger.entries()) == 1
    assert all(r.cost == dp.Cost.of("0.3") for r in releases)
    with pytest.raises(BudgetError):
        table.answers(wanted, epsilon="0.2")
    assert ledger.spent() == dp.Cost.of("0.9")


def test_rows_of_a_plan() -> None:
    few = dp.plan.statistics(DOMAIN, Mean("x"), epsilon=1, rows=100)
    many = dp.plan.statistics(DOMAIN, Mean("x"), epsilon=1, rows=100_000)
    assert few.expected[0].error > 100 * many.expected[0].error
    for rows in (0, -1, 1.5, True):
        with pytest.raises(ParameterError):
            dp.plan.statistics(DOMAIN, Mean("x"), epsilon=1, rows=rows)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        dp.plan.statistics(DOMAIN, [], epsilon=1)


class Forked:
    """Counts, and asks again as often as the count, or somebody else, tells it to."""

    label = "a fork"

    def __init__(self, way: int = 0, shares: tuple[int, ...] = (1, 2, 4)) -> None:
        self.way, self.shares = way, shares

    def __call__(self, ask: Session) -> int:
        query = Sum(Everyone(), (Block(Ones()),))
        ask.measure(query, "first", Fraction(1, 2))
        parts = self.shares[ask.fork(len(self.shares), self.way)]
        for i in range(parts):
            ask.measure(query, f"part {i + 1} of {parts}", Fraction(1, 2 * parts))
        return parts


def test_a_plan_has_a_form_for_every_way_and_each_costs_the_same() -> None:
    cost = dp.Cost.of(1)
    plan, _ = rehearse(DOMAIN, Forked(1), cost, 10)
    assert [len(form) for form in plan.forms] == [3, 5, 2]
    for form in plan.forms:
        assert sum(question.cost.epsilon for question in form) == 1
    assert "one of 2 other ways" in str(plan)
    assert plan.to_dict()["others"] == [5, 2]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_every_way_of_a_plan_can_be_gone_and_is_paid_for_once(way: int) -> None:
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(DATA, DOMAIN, ledger)
    done = perform(table, Forked(way), dp.Cost.of(1), "a fork")
    assert done.result == (1, 2, 4)[way]
    assert len(done.plan) == 1 + done.result
    assert ledger.remaining() == 0


def test_a_way_that_was_not_planned_is_refused() -> None:
    cost = dp.Cost.of(1)
    plan, _ = rehearse(DOMAIN, Forked(), cost)
    gate = dp.Table(DATA, DOMAIN, dp.Ledger(epsilon=5)).gate()
    with pytest.raises(UnsafeError, match="plan that was paid for"):
        Forked(2, (1, 2, 8))(Session(gate, cost, plan.forms))
    with pytest.raises(UnsafeError, match="none of them"):
        Forked(3)(Session(gate, cost, plan.forms))


def test_forks_behind_forks_are_all_rehearsed() -> None:
    def work(ask: Session) -> None:
        first = ask.fork(2, 0)
        second = ask.fork(3, 1) if first else 0
        query = Sum(Everyone(), (Block(Ones()),))
        ask.measure(query, f"{first} {second}")

    plan, _ = rehearse(DOMAIN, work, dp.Cost.of(1))
    labels = {form[0].label for form in plan.forms}
    assert labels == {"0 0", "1 0", "1 1", "1 2"}
