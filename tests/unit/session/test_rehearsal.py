"""A rehearsal asks little, and its plan is the one of a rehearsal that asks all."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.expressions import Clip, Col, Named, WithColumns
from discreto.core.maps import Categories
from discreto.core.query import Block, Ones, Sum
from discreto.errors import ParameterError, UnsafeError
from discreto.models import (
    AutoClassifier,
    AutoRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
)
from discreto.models.boosting import BoostingSettings
from discreto.session import rehearsal
from discreto.session.dry_run import dry_run_gate
from discreto.session.plan import Plan, rehearse
from discreto.session.rehearsal import DryRun
from discreto.session.session import Session

COLUMNS = {
    "age": dp.Number(0, 120),
    "x": dp.Number(0, 1, missing=True),
    "sex": dp.Category(["f", "m"]),
}
WIDE = {"code": dp.Category(list(range(100)))}
TARGETS = {
    "two": dp.Category(["n", "y"]),
    "three": dp.Category(list("abc")),
    "eight": dp.Category(list(range(8))),
    "number": dp.Number(0, 50),
}
SETTINGS = [
    {"splits": "random"},
    {"splits": "cyclic", "group_size": 2},
    {"split_score": "gain"},
    {"leaf": "pair"},
    {"leaf": "mean", "leaf_clipping": True},
    {"staged": True},
    {"encoding": "either", "multiway": False},
    {"max_leaves": 4},
    {"rows": "disjoint"},
    {"rows": "disjoint", "trees_per_ensemble": 3, "leaf_clipping": True},
    {"start": False},
    {"split_share": 0.3, "monotone": {"age": 1}},
]
COUNT = Sum(Categories(("sex",)), (Block(Ones()),))
DOMAIN = dp.Domain(COLUMNS)
ONE = Cost.of(1)


def domain_of(target: str, wide: bool = False, **facts: Any) -> dp.Domain:
    columns = COLUMNS | (WIDE if wide else {}) | {target: TARGETS[target]}
    return dp.Domain(columns, target=target, **facts)


def asking_all(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Plan]) -> Plan:
    """Return the plan of a rehearsal that repeats nothing from memory."""
    with monkeypatch.context() as patch:
        for name in ("repeat", "once", "_answer"):
            patch.delattr(rehearsal._Rehearsed, name, raising=True)
        patch.setattr(rehearsal._Rehearsed, "measure", Session.measure)
        patch.setattr(rehearsal._Rehearsed, "select", Session.select)
        return make()


def same(monkeypatch: pytest.MonkeyPatch, model: Any, domain: dp.Domain) -> None:
    for rows in (None,) if domain.rows else (None, 50_000):
        short = model.plan(domain, rows=rows)
        whole = asking_all(monkeypatch, lambda: model.plan(domain, rows=rows))  # noqa: B023
        assert short == whole  # questions, costs, sensitivities, noise, in order
        assert short.beliefs == whole.beliefs


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("rows", [None, 500, 50_000])
@pytest.mark.parametrize("target", ["two", "three", "eight"])
def test_a_plan_of_trees_is_the_one_that_asks_all(monkeypatch, target, rows, delta):
    model = GradientBoostingClassifier(epsilon=1, delta=delta, random_state=1)
    facts = {} if rows is None else {"rows": rows}
    same(monkeypatch, model, domain_of(target, wide=target == "two", **facts))


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", ["squared_error", "huber", "absolute_error", "poisson"]
)
def test_a_plan_for_numbers_is_the_one_that_asks_all(monkeypatch, loss):
    model = GradientBoostingRegressor(epsilon=1, loss=loss)
    same(monkeypatch, model, domain_of("number"))


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_a_plan_with_settings_is_the_one_that_asks_all(monkeypatch, given, neighbours):
    settings, facts = BoostingSettings(**given), {}
    if neighbours == "replace":
        facts = {"neighbours": neighbours, "rows": 1000}
    for kind, target in (
        (GradientBoostingClassifier, "two"),
        (GradientBoostingRegressor, "number"),
    ):
        model = kind(7, epsilon=1, settings=settings, random_state=1)
        same(monkeypatch, model, domain_of(target, **facts))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        AutoClassifier,
        AutoRegressor,
        LinearRegression,
        LogisticRegression,
        NaiveBayes,
    ],
)
def test_a_plan_with_forks_is_the_one_that_asks_all(monkeypatch, kind):
    number = kind in (AutoRegressor, LinearRegression)
    same(monkeypatch, kind(epsilon=1), domain_of("number" if number else "three"))


def test_what_comes_before_a_fork_is_asked_once() -> None:
    folded = []

    def work(ask: Session) -> int:
        answer = ask.measure(COUNT, "first", Fraction(1, 2))
        folded.append(id(answer))
        way = ask.fork(3, 0)
        ask.measure(COUNT, f"then {way}", Fraction(1, 2))
        return way

    plan, way = rehearse(DOMAIN, work, ONE)
    assert way == 0
    assert len(folded) == 3
    assert len(set(folded)) == 1
    labels = [[question.label for question in form] for form in plan.forms]
    assert sorted(labels) == [["first", f"then {way}"] for way in range(3)]


def test_a_part_is_asked_once_and_priced_for_every_share() -> None:
    held = []

    def part(ask: Session, label: str, share: Fraction) -> str:
        held.append(label)
        ask.measure(COUNT, f"{label}, all", share / 4)
        ask.measure(COUNT, f"{label}, rest", share * 3 / 4)
        return label

    def work(ask: Session) -> None:
        for label, share in (("a", Fraction(1, 2)), ("bcd", Fraction(1, 8))):
            found = ask.repeat(
                "form",
                label,
                share,
                lambda label=label, share=share: part(ask, label, share),
                lambda: None,
            )
            assert found == "a"

    plan, _ = rehearse(DOMAIN, work, ONE)
    assert held == ["a"]
    shares = [Fraction(1, 8), Fraction(3, 8), Fraction(1, 32), Fraction(3, 32)]
    assert [question.cost.epsilon for question in plan] == shares
    labels = [question.label for question in plan]
    assert labels == ["a, all", "a, rest", "bcd, all", "bcd, rest"]
    direct = DryRun(dry_run_gate(DOMAIN, 0), ONE)
    part(direct, "bcd", Fraction(1, 8))
    assert list(plan)[2:] == direct.asked
    assert plan.numbers == 2 * direct.numbers


def test_parts_of_another_form_or_domain_are_asked_again() -> None:
    held: list[int] = []
    ask = DryRun(dry_run_gate(DOMAIN, 0), ONE)
    narrower = WithColumns((Named("age", Clip(Col("age"), 0.0, 60.0)),))
    asked = ((ask, 1), (ask, 2), (ask, 1), (ask.seen(narrower), 1))
    for number, (session, form) in enumerate(asked):
        add = partial(held.append, number)
        session.repeat(form, "a", Fraction(1), add, lambda: None)
    assert held == [0, 1, 3]


def test_a_repetition_is_checked() -> None:
    def refuse() -> None:
        raise ParameterError("too many")

    def work(ask: Session) -> None:
        for label in "ab":
            ask.repeat(1, label, Fraction(1), lambda: None, refuse)

    with pytest.raises(ParameterError, match="too many"):
        rehearse(DOMAIN, work, ONE)


def test_an_ensemble_with_too_many_nodes_is_refused_before_it_is_paid(
    monkeypatch,
) -> None:
    from discreto.core.maps import tree_gradients

    monkeypatch.setattr(tree_gradients, "MAX_ROUTES", 500)
    ledger = dp.Ledger(epsilon=9)
    rows = {"age": [1.0] * 9, "x": [0.5] * 9, "sex": ["f"] * 9, "two": ["n"] * 9}
    table = dp.Table(rows, domain_of("two"), ledger)
    with pytest.raises(ParameterError, match="too many nodes"):
        GradientBoostingClassifier(40, epsilon=1).fit(table)
    assert ledger.remaining() == 9


def test_a_fit_asks_only_what_its_plan_has(monkeypatch) -> None:
    """A part that asks something else the second time is refused after the first."""

    def part(ask: Session, label: str) -> None:
        share = Fraction(1, 2) if label == "a" else Fraction(1, 4)
        ask.measure(COUNT, f"{label}, all", share)

    def work(ask: Session) -> None:
        for label in "ab":
            ask.repeat(
                1,
                label,
                Fraction(1, 2),
                lambda label=label: part(ask, label),
                lambda: None,
            )

    plan, _ = rehearse(DOMAIN, work, ONE)
    real = Session(dry_run_gate(DOMAIN, 0), ONE, plan.forms)
    with pytest.raises(UnsafeError, match="b, all"):
        work(real)
