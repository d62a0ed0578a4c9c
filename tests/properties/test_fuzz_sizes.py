"""A small message must not make much work, and every failure is one of ours."""

from __future__ import annotations

import json
import time

import asked
import numpy as np
import pytest
from mutations import deep

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.documents import check_plain, read_fraction
from discreto.core.maps import Bins, Categories, Tree, from_json, to_json
from discreto.core.query import Sum
from discreto.errors import DiscretoError, DomainError, ParameterError
from discreto.federated import Policy, Silo, messages
from discreto.federated.messages import read_release
from discreto.models.interop import json as persist
from discreto.models.scoring import evaluation
from discreto.testing import simulate

HUGE = [10**20, -(10**19), 10**400, 10**5000, float("nan"), float("inf"), "\ud800"]


@pytest.fixture(autouse=True)
def _quick():
    """A limit far above what any of these needs: they take milliseconds."""
    begun = time.perf_counter()
    yield
    assert time.perf_counter() - begun < 20


ODD = [*HUGE, deep(40), deep(100_000), {1, 2}, b"x"]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(ParameterError):
        check_plain({"x": [value]}, 1000)


def test_long_data_is_refused():
    with pytest.raises(ParameterError, match="too many"):
        check_plain([[0] * 600, [0] * 600], 1000)
    with pytest.raises(ParameterError):
        check_plain("a" * 1001, 1000)


@pytest.mark.parametrize(
    "text", ["1e99999999", "1.5", "-1/2", "1/0", "", "1/2/3", "9" * 82, "²", None, 1]
)
def test_fractions_are_whole_numbers(text):
    with pytest.raises(ParameterError):
        read_fraction(text)


def test_many_blocks_are_refused():
    data = to_json(Sum(Bins("a", 2), asked.COUNT))
    share = {"kind": "Fraction", "value": "1/300"}
    data["blocks"] = [data["blocks"][0] | {"share": share}] * 300
    ledger = simulate(0)
    gate = dp.Table(asked.PLAIN, asked.DOMAIN, ledger).gate()
    with pytest.raises(ParameterError):
        gate.measure(from_json(data), Cost.of(1), "x")
    assert not ledger.entries()


def test_trees_have_a_depth_and_a_size():
    with pytest.raises(ParameterError, match="too many"):
        Tree((0,) * 5000, ((0,),) * 5000)  # a chain
    wide = ((0,) * 65536, *(((0,),) * 200))
    assert Tree((0,) * 201, wide).room == 201 * 65536
    with pytest.raises(ParameterError):
        Tree((0,) * 1001, ((0,) * 65536, *(((0,),) * 1000)))


EXTRAS = {"deep": deep(5000), "long": "a" * 2000, "huge": 10**400, "many": [0] * 5000}


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS)
@pytest.mark.parametrize("kind", ["measure", "round"])
def test_what_a_message_holds_besides_is_bounded(kind, extra):
    """All of a message is in its name in the ledger: that must not fail when paid."""
    silo = Silo(dp.Table(asked.PLAIN, asked.DOMAIN, simulate(0)), rows=12)
    query = Sum(Categories(("s",)), asked.COUNT)
    if kind == "measure":
        message = messages.measure(query, Cost.of(1), "x", "name", silo.schema)
    else:
        terms, move = messages.Terms.of(1, "1e-5", 2), {"kind": "sums"}
        message = messages.training_round(query, terms, "r", 0, silo.schema, move)
    assert silo.answer(message | {"extra": extra})["error"] == "ParameterError"
    assert not silo.ledger.entries()
    assert silo.answer(message)["kind"] == "release"


def test_a_question_about_an_opaque_column_costs_nothing():
    silo = Silo(dp.Table(asked.PLAIN, asked.DOMAIN, simulate(0)), rows=12)
    question = {"kind": "Present", "names": ["id"]}
    query = to_json(Sum(Categories(("s",)), asked.COUNT)) | {"cells": question}
    terms, move = messages.Terms.of(1, "1e-5", 2), {"kind": "sums"}
    message = messages.training_round(
        Sum(Categories(("s",)), asked.COUNT), terms, "r", 0, silo.schema, move
    )
    assert silo.answer(message | {"question": query})["error"] == "DomainError"
    assert not silo.ledger.entries()


@pytest.mark.parametrize("change", [{"rate": 1e-320}, {"rate": "1e-7"}, {"steps": 900}])
def test_terms_that_take_hours_to_account_for_are_refused(change):
    terms = messages.Terms.of(1, "1e-5", 1000, 1, "0.01").to_dict()
    assert messages.terms_of(terms).rounds == 1000
    with pytest.raises(ParameterError, match="one row in 1000000"):
        messages.terms_of(terms | change)


# Domains


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "many"},
        {"rows": 1.5},
        {"rows": -1},
        {"rows": 10**400},
        {"target": ["a"]},
        {"person": 3},
        {"columns": deep(50)},
        {"columns": {"a": {"type": "numeric", "lower": [1], "upper": [1]}}},
        {"columns": {"a": {"type": "numeric", "lower": 0, "upper": 10**5000}}},
        {"columns": {"a": {"type": "categorical", "categories": "abc"}}},
        {"columns": {"a": {"type": "categorical", "categories": [float("inf")]}}},
        {"columns": {"\ud800": {"type": "boolean"}}},
    ],
)
def test_bad_domains(change):
    with pytest.raises(DomainError):
        dp.Domain.from_dict(asked.DOMAIN.to_dict() | change)


def test_many_categories_take_no_longer_each():
    column = {"type": "categorical", "categories": list(range(200_000))}
    domain = dp.Domain.from_dict({"columns": {"a": column}})
    assert len(domain.category("a").categories) == 200_000
    with pytest.raises(DomainError, match="more than once"):
        dp.Category([*range(200_000), 1.0])


# Policies


@pytest.mark.parametrize(
    "change",
    [
        {"questions": "Ones"},
        {"questions": (1,)},
        {"partners": ["me"]},
        {"partners": {"me": "much"}},
        {"partners": {"": 1}},
        {"per_round": 10**5000},
        {"per_round": deep(5000)},
        {"least_noise": "low"},
        {"least_noise": float("nan")},
        {"most_steps": "all"},
        {"most_steps": 0},
        {"most_steps": True},
    ],
)
def test_bad_policies(change):
    with pytest.raises(ParameterError):
        Policy(**change)


# Replies


def _release():
    silo = Silo(dp.Table(asked.PLAIN, asked.DOMAIN, simulate(0)))
    query = Sum(Categories(("s",)), asked.COUNT)
    return silo.answer(messages.measure(query, Cost.of(1), "x", "n", silo.schema))


@pytest.mark.parametrize(
    "change",
    [
        {"tables": [[[1.5]]]},
        {"tables": [[1]]},
        {"tables": [[[1 << 63]]]},
        {"tables": [deep(10)]},
        {"tables": [[[1], [1, 2]]]},
        {"tables": 3},
        {"noise": [{"law": "laplace", "amount": "1e99999999", "width": 1, "bits": 0}]},
        {"noise": [{"law": "none", "amount": "1", "width": 1, "bits": 0}]},
        {"noise": [{"law": "gaussian", "amount": "1", "width": 1, "bits": 10**9}]},
        {"receipt": {"seq": 1, "label": "", "hash": "", "cost": {"rho": "1e9999999"}}},
        {"receipt": {"seq": 1, "label": "", "hash": "", "cost": []}},
        {"receipt": None},
    ],
)
def test_bad_replies(change):
    reply = _release()
    assert read_release(reply).tables[0].dtype == np.int64
    with pytest.raises(ParameterError):
        read_release(reply | change)


@pytest.mark.parametrize("reply", [None, [], "release", 3])
def test_what_is_not_a_reply(reply):
    assert not messages.is_facts(reply)
    with pytest.raises(ParameterError):
        read_release(reply)


def test_a_refusal_may_hold_anything():
    for error in ("BudgetError", "__doc__", "annotations", ["x"], deep(5000), None):
        with pytest.raises(DiscretoError):
            read_release({"kind": "refusal", "error": error, "reason": deep(5000)})


# Model files


def _file(name):
    for model in asked.fitted():
        if type(model).__name__ == name:
            return json.loads(persist.dumps(model))
    raise LookupError(name)


@pytest.mark.parametrize(
    "state",
    [
        {"predict": 3},
        {"__class__": 3},
        {"x": {"fraction": "1e99999999"}},
        {"x": {"number": "1" * 10**6}},
        {"x": {"array": [1 << 63], "shape": [1], "kind": "i"}},
        {"x": {"array": [1], "shape": [1 << 62], "kind": "i"}},
        {"x": {"dict": [[{"list": []}, 1]]}},
        {"space_": {"space": [asked.DOMAIN.to_dict(), ["id"], None]}},
        {"space_": {"space": [asked.DOMAIN.to_dict(), [], "label"]}},
        {"space_": {"space": [asked.DOMAIN.to_dict(), ["a"], ["label"]]}},
        {"space_": {"space": [asked.DOMAIN.to_dict(), ["a", "b"], "amount"]}},
        {"space_": {"space": [asked.DOMAIN.to_dict(), ["a", "label"], "label"]}},
        {"x": deep(200)},
    ],
)
def test_bad_model_files(state):
    data = _file("GaussianNB")
    persist.loads(json.dumps(data))
    with pytest.raises(DiscretoError):
        persist.loads(json.dumps(data | {"state": data["state"] | state}))
    with pytest.raises(DiscretoError):
        persist.loads(json.dumps(data | {"state": [[0, 1]]}))


def test_a_deep_model_file_is_refused():
    for text in ("[" * 10**5, "[" * 10**5 + "]" * 10**5, "1" * 10**5, "NaN"):
        with pytest.raises(ParameterError):
            persist.loads(text)


@pytest.mark.parametrize("name", ["features_", "routes_", "depths_", "values_"])
def test_trees_of_a_model_file_are_checked(name):
    """Compiled loops walk them without looking where they step."""
    data = _file("GradientBoostingRegressor")
    persist.loads(json.dumps(data))
    part = data["state"][name]
    for change in (1 << 20, -1, 1, 10**6):
        array = [part["array"][0] + change, *part["array"][1:]]
        changed = part | {"array": array}
        if name == "values_":  # numbers may be others, but not fewer
            changed = {"array": part["array"][:-1], "shape": [len(array) - 1, 1]}
            changed |= {"kind": "f"}
        text = json.dumps(data | {"state": data["state"] | {name: changed}})
        if change == 1 and name in ("features_", "depths_", "routes_"):
            continue  # might fit another tree
        with pytest.raises(ParameterError):
            persist.loads(text)


def test_a_model_of_other_categories_is_refused_before_it_is_paid():
    """A code that the model does not know would fail for just those rows."""
    model = next(m for m in asked.fitted() if type(m).__name__ == "NaiveBayes")
    columns = {
        "a": asked.COLUMNS["a"],
        "s": dp.Category(["x", "y", "z", "w"]),
        "label": asked.COLUMNS["label"],
    }
    domain, ledger = dp.Domain(columns, target="label"), simulate(0)
    data = {name: asked.PLAIN[name] for name in columns}
    with pytest.raises(DomainError, match="another way"):
        evaluation.evaluate(model, dp.Table(data, domain, ledger), epsilon=1)
    assert not ledger.entries()
