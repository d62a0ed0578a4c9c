"""The contract that every model keeps. A new model is one line in conftest.py."""

from __future__ import annotations

import copy
import doctest
import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import discreto as dp
from discreto import models
from discreto.core import aggregate
from discreto.core.gate import Gate
from discreto.core.query import Choice, Sum, inside
from discreto.errors import BudgetError, ParameterError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Ready
from discreto.models.interop import json as persist
from discreto.testing import simulate


def rows_of(data, places):
    return {name: np.asarray(values)[places] for name, values in data.items()}


def features_of(case, data):
    return np.column_stack(
        [np.asarray(data[n], dtype=object) for n in case.domain().features()]
    )


def state_of(model):
    """Everything a fitted model shows, but for the proof of payment."""
    data = json.loads(persist.dumps(model))
    data["state"].pop("privacy_")
    return data["state"]


def test_every_model_is_in_the_contract(all_cases, asking):
    known = {case.name for case in all_cases} | asking
    offered = {
        name
        for name in models.__all__
        if isinstance(getattr(models, name), type)
        and issubclass(getattr(models, name), PrivateEstimator)
    }
    assert offered == known


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_plan_equals_what_is_charged(case, delta, neighbours):
    rows = 60 if neighbours == "replace" else None
    domain = case.domain(neighbours, rows)
    ledger = dp.Ledger(epsilon=2, delta="1e-5")
    model = case.make(delta=delta)
    plan = model.plan(domain)
    assert ledger.total() == 0
    model.fit(dp.Table(case.data(60), domain, ledger))
    assert model.privacy_.plan.questions in plan.forms
    assert [entry["cost"] for entry in ledger.entries()] == [plan.total.to_dict()]
    for form in plan.forms:  # whatever a release decides costs the same
        asked = sum((question.cost for question in form), dp.Cost())
        assert plan.total.covers(asked)
        total = plan.total
        spent = asked.rho / total.rho if delta else asked.epsilon / total.epsilon
        assert spent > Fraction(99, 100)


@pytest.mark.parametrize(
    "kind", ["empty", "one row", "one class", "missing", "outside", "foreign"]
)
def test_survives_poor_tables(case, kind):
    rows = {"empty": 0, "one row": 1}.get(kind, 30)
    data = case.data(rows)
    for name, column in case.domain().columns.items():
        number = isinstance(column, dp.Number)
        if kind == "missing":
            data[name] = np.full(rows, np.nan) if number else np.full(rows, None)
        elif kind == "outside" and number:
            data[name] = np.full(rows, 1e300)
        elif kind == "foreign":
            data[name] = np.array(["?", b"!", 3, None, float("inf")] * 6, dtype=object)
    if kind == "one class" and case.target == "label":
        data["label"] = np.full(rows, "yes")
    for noise in (True, False):
        ledger = simulate(1, noise=noise)
        model = case.make().fit(dp.Table(data, case.domain(), ledger))
        answer = model.predict(features_of(case, case.data(7)))
        assert len(answer) == 7
        if case.target == "amount":
            assert np.isfinite(answer).all()


def test_nothing_grows_with_the_table(case):
    def size(rows):
        table = dp.Table(case.data(rows), case.domain(), simulate(noise=False))
        state = state_of(case.make().fit(table))

        def count(part):
            if isinstance(part, dict):
                return sum(count(value) for value in part.values())
            return sum(map(count, part)) if isinstance(part, list) else 1

        return count(state)

    small, large = size(20), size(400)
    # Trees of noisy choices may have more or fewer leaves, but not with more rows.
    assert large == small or (case.varies and large < 4 * small)


def test_order_of_rows_does_not_matter(case):
    data = case.data(200)
    back = rows_of(data, np.arange(200)[::-1])
    first, second = (
        case.make().fit(dp.Table(d, case.domain(), simulate(noise=False)))
        for d in (data, back)
    )
    assert state_of(first) == state_of(second)


def test_parameters_are_not_changed_by_fit(case):
    model = case.make()
    before = {k: repr(v) for k, v in model.get_params().items()}
    model.fit(dp.Table(case.data(50), case.domain(), simulate(2)))
    assert {k: repr(v) for k, v in model.get_params().items()} == before


def test_json_round_trip(case):
    table = dp.Table(case.data(120), case.domain(), simulate(5))
    model = case.make().fit(table)
    text = persist.dumps(model)
    again = persist.loads(text)
    assert persist.dumps(again) == text
    X = features_of(case, case.data(40, seed=3))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert json.loads(text)["simulated"] is True


def test_clone_copy_and_cross_validation_share_the_ledger(case):
    data = case.data(80)
    X = features_of(case, data)
    y = None if case.target is None else np.asarray(data[case.target])
    ledger = dp.Ledger(epsilon=3)
    model = case.make(domain=case.domain(), ledger=ledger)
    assert clone(model).ledger is ledger
    assert copy.deepcopy(model).ledger is ledger
    cross_val_predict(model, X, y, cv=3)
    assert ledger.total() == 3
    with pytest.raises(BudgetError):
        clone(model).fit(X, y)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "1e999", None, True])
def test_bad_epsilon_spends_nothing(case, epsilon):
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError):
        case.make(epsilon=epsilon).fit(dp.Table(case.data(9), case.domain(), ledger))
    assert ledger.total() == 0


def test_privacy_section_and_its_doctest(case):
    kind = getattr(models, case.name)
    text = kind.__doc__ or ""
    assert "Privacy\n" in text
    examples = doctest.DocTestFinder(recurse=False).find(kind, case.name)
    assert any(".total" in e.source for t in examples for e in t.examples), (
        "the Privacy section needs a doctest of the plan's total"
    )


class Recorder:
    """Keeps every question that passes the gate."""

    def __init__(self, monkeypatch):
        self.queries = []
        for door in ("measure", "select"):
            original = getattr(Gate, door)

            def wrapped(gate, query, *args, original=original, **kwargs):
                self.queries.append(getattr(query, "query", query))
                return original(gate, query, *args, **kwargs)

            monkeypatch.setattr(Gate, door, wrapped)


def questions_of(case, domain, data, monkeypatch):
    recorder = Recorder(monkeypatch)
    ledger = simulate(noise=False)
    table = dp.Table(data, domain, ledger)
    model = case.make().fit(table)
    # A dry run comes first, and asks no more than it must.
    asked = [q for q in model.privacy_.plan if q.door in ("measure", "select")]
    return table, recorder.queries[-len(asked) :]


def exact(domain, data, query):
    table = dp.Table(data, domain, simulate(noise=False))
    parts = table._rows.fold(
        inside(query.tally if isinstance(query, Choice) else query, table.domain)
    )
    if isinstance(query, Choice):
        return [query.score.scores(parts[0], domain)]
    return parts


def hostile(case, data):
    """Rows at the corners of the domain and outside of it."""
    out = []
    for pick in range(6):
        row = {}
        for name, column in case.domain().columns.items():
            if isinstance(column, dp.Number):
                values = [
                    column.lower,
                    column.upper,
                    column.centre,
                    1e308,
                    np.nan,
                    -1e9,
                ]
            else:
                values = [*column.categories, "?", None]
            row[name] = values[pick % len(values)]
        out.append(row)
    return out


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_neighbours_never_move_a_question_beyond_its_bound(
    case, neighbours, monkeypatch
):
    rows = 12
    count = rows if neighbours == "replace" else None
    data = case.data(rows)
    domain = case.domain(neighbours, count)
    _, questions = questions_of(case, domain, data, monkeypatch)
    assert questions
    fixed = domain.with_(rows=rows) if count else domain
    for extra in hostile(case, data):
        other = {n: np.asarray(v, dtype=object).copy() for n, v in data.items()}
        if neighbours == "replace":
            for name in other:
                other[name][0] = extra[name]
        else:
            other = {
                n: np.append(v, np.array([extra[n]], dtype=object))
                for n, v in other.items()
            }
        for query in questions:
            here, there = exact(fixed, data, query), exact(fixed, other, query)
            check_movement(query, here, there, domain)


def check_movement(query, here, there, domain):
    if isinstance(query, Choice):
        moved = np.abs(here[0] - there[0]).max()
        assert moved <= query.score.sensitivity(domain.neighbours)
        return
    cells = query.cells.count(domain)
    for block, a, b in zip(query.blocks, here, there, strict=True):
        gap = (a - b).astype(object)
        assert np.abs(gap).sum() <= block.bind(domain, cells).sensitivity
        assert (gap**2).sum() <= block.bind(domain, 2).square


def test_the_movement_check_can_fail(case, monkeypatch):
    """The check above refuses sums that moved further than their bound."""
    data = case.data(12)
    domain = case.domain()
    _, questions = questions_of(case, domain, data, monkeypatch)
    linear = [
        q
        for q in questions
        if isinstance(q, Sum) and any(b.features.columns() for b in q.blocks)
    ]
    if not linear:
        pytest.skip("this model asks for plain counts only, which have no clamp")
    query = linear[0]
    here = exact(domain, data, query)
    there = [
        part + 2 * query.blocks[i].bind(domain, query.cells.count(domain)).sensitivity
        for i, part in enumerate(here)
    ]
    with pytest.raises(AssertionError):
        check_movement(query, here, there, domain)


def test_questions_are_row_local_bit_for_bit(case, monkeypatch):
    """A row's contribution must not depend on the rows that stand next to it."""
    data = case.data(37)
    domain = case.domain()
    table, questions = questions_of(case, domain, data, monkeypatch)
    frame = table._rows._frame
    for query in questions:
        tally = query.tally if isinstance(query, Choice) else query
        asked = inside(tally, domain)
        for size in (1, 5):
            whole = aggregate.empty(asked)
            for batch, rows in frame.batches(asked.columns, size):
                part = aggregate.fold(asked, batch, rows)
                whole = aggregate.merge(asked, whole, part)
            for a, b in zip(whole, table._rows.fold(asked), strict=True):
                np.testing.assert_array_equal(a, b)


def test_predictions_are_row_local_bit_for_bit(case):
    """evaluate() relies on it: predictions go through the gate, too."""
    table = dp.Table(case.data(300), case.domain(), simulate(4))
    model = case.make().fit(table)
    batch, rows = model.space_.batch(features_of(case, case.data(50, seed=9)))
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    whole = ask(Ready(batch, rows))
    for size in (1, 7):
        parts = [
            ask(
                Ready(
                    {n: c[i : i + size] for n, c in batch.items()},
                    len(range(rows)[i : i + size]),
                )
            )
            for i in range(0, rows, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
