"""Silos: what they answer, what they refuse, and that nothing is answered twice."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from silos import LINEAR, NAMES, columns, parts, silo

import discreto as dp
from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.gate import Noise
from discreto.core.maps import Bins, ClippedGradient, Largest, Scaled, Values, to_json
from discreto.core.query import Block, Choice, Everyone, Ones, Sum
from discreto.core.steps import steps_for
from discreto.errors import LedgerError, ParameterError, UnsafeError
from discreto.federated import Policy, Silo, Terms, messages
from discreto.testing import simulate

PART = parts(0, [30])[0]
ROWS = Scaled(NAMES, (0.0,) * 4, (1.0,) * 4, 0.3, 1.0, "l2")
GRADIENT = ClippedGradient(ROWS, "balance", (0.0,) * 5, 0.5)
COUNT = Sum(Everyone(), (Block(Ones()),))
STEP = Sum(Everyone(), (Block(GRADIENT),))
SCHEMA = messages.schema_of(LINEAR)
TERMS = Terms.of(1, "1e-5", 10, 2)
WALK = {"kind": "steps", "rate": 0.01}


def count_message(name="q1", epsilon="1/2", **changes):
    cost = Cost.of(epsilon)
    return messages.measure(COUNT, cost, "rows", name, SCHEMA) | changes


def round_message(number=0, query=STEP, move=WALK, terms=TERMS, run="r"):
    return messages.training_round(query, terms, run, number, SCHEMA, move)


def on_disk(tmp_path, epsilon=2, policy=None):
    ledger = dp.Ledger(tmp_path / "silo.ledger", epsilon=epsilon, delta="1e-4")
    return Silo(dp.Table(columns(PART, LINEAR), LINEAR, ledger), policy, rows=30)


def again(tmp_path, policy=None):
    """The silo as the next process would open it."""
    ledger = dp.Ledger(tmp_path / "silo.ledger")
    return Silo(dp.Table(columns(PART, LINEAR), LINEAR, ledger), policy, rows=30)


def refused(reply, error):
    assert reply["kind"] == "refusal", reply
    assert reply["error"] == error, reply
    return reply["reason"]


def test_a_sum_is_charged_and_answered(tmp_path):
    one = on_disk(tmp_path)
    reply = json.loads(json.dumps(one.answer(count_message())))
    answer = messages.read_release(reply)
    assert answer.tables[0].shape == (1, 1)
    assert abs(int(answer.tables[0][0, 0]) - 30) < 80
    assert answer.noises[0].law == "laplace"
    assert answer.noises[0].amount == 2
    assert one.ledger.spent() == Cost.of("1/2")


def test_the_same_message_is_answered_once(tmp_path):
    one = on_disk(tmp_path)
    first = one.answer(count_message())
    assert (
        one.answer(count_message()) == first == again(tmp_path).answer(count_message())
    )
    assert one.ledger.spent() == Cost.of("1/2")
    other = count_message() | {"question": to_json(Sum(Bins("days", 2), COUNT.blocks))}
    refused(one.answer(other), "LedgerError")
    refused(one.answer(count_message(epsilon="1/4")), "LedgerError")
    assert one.ledger.spent() == Cost.of("1/2")


def test_a_run_is_charged_whole_by_its_first_round(tmp_path):
    one = on_disk(tmp_path)
    first = one.answer(round_message(0))
    assert first["kind"] == "release", first
    assert len(first["tables"]) == TERMS.steps
    run = Cost.of(1, "1e-5")
    assert one.ledger.spent() == run
    assert again(tmp_path).answer(round_message(0)) == first
    for number in range(1, 10):
        assert again(tmp_path).answer(round_message(number))["kind"] == "release"
    assert one.ledger.spent() == run
    assert one.ledger.verify() == 1 + 10 * TERMS.steps


def test_a_round_cannot_be_asked_another_way(tmp_path):
    one = on_disk(tmp_path)
    one.answer(round_message(0))
    elsewhere = Sum(Everyone(), (Block(GRADIENT.at((0.1,) * 5)),))
    refused(one.answer(round_message(0, query=elsewhere)), "LedgerError")
    refused(one.answer(round_message(10)), "ParameterError")
    refused(one.answer(round_message(-1)), "ParameterError")


def test_steps_cannot_be_counted_in_two_ways(tmp_path):
    """Ten rounds of 2 and four of 5 are both 20 steps, but not the same 20."""
    one = on_disk(tmp_path)
    assert one.answer(round_message(9))["kind"] == "release"
    other = Terms.of(1, "1e-5", 4, 5)
    assert one.answer(round_message(0, terms=other))["kind"] == "release"
    assert one.ledger.spent() == Cost.of(1, "1e-5") * 2
    third = round_message(0, run="third", terms=Terms.of(2, "1e-5", 4, 5))
    refused(one.answer(third), "BudgetError")


def test_a_killed_round_is_paid_again_and_has_one_answer(tmp_path, monkeypatch):
    """It has read rows and stored nothing: drawn again it is a block of its own."""
    one = on_disk(tmp_path)
    monkeypatch.setattr(one.ledger, "keep", _killed)
    with pytest.raises(KeyboardInterrupt):
        one.answer(round_message(0))
    spent = one.ledger.spent()
    reply = again(tmp_path).answer(round_message(0))
    assert reply["kind"] == "release"
    assert one.ledger.spent() == spent * 2
    assert again(tmp_path).answer(round_message(0)) == reply
    assert again(tmp_path).answer(round_message(1))["kind"] == "release"
    assert one.ledger.spent() == spent * 2


def _killed(*_):
    raise KeyboardInterrupt


def test_processes_that_answer_at_once_give_one_answer(tmp_path):
    """Each computes with noise of its own; the first one stored is what leaves."""
    on_disk(tmp_path)
    several = [again(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda one: one.answer(round_message(0)), several))
    assert replies[0]["kind"] == "release"
    assert all(reply == replies[0] for reply in replies)
    assert several[0].ledger.spent() == Cost.of(1, "1e-5")


def test_local_steps_are_what_their_sums_say():
    one = silo(PART, ledger=simulate(noise=False))
    reply = one.answer(round_message(0))
    first, second = (np.array(table[0]) for table in reply["tables"])
    moved = np.zeros(5) - WALK["rate"] * GRADIENT.unit * first
    there = Sum(Everyone(), (Block(GRADIENT.at(moved)),))
    fresh = silo(PART, ledger=simulate(noise=False))
    tables = fresh.answer(round_message(0, query=there))["tables"]
    assert tables[0][0] == second.tolist()


def test_noise_is_what_the_terms_say():
    """A thousand sums over no rows: pure noise, of the size that was paid for."""
    nobody = silo({name: np.empty(0) for name in LINEAR}, rows=1)
    terms = Terms.of(1, "1e-5", 1, 1000)
    reply = nobody.answer(round_message(0, terms=terms, move={"kind": "sums"}))
    draws = np.array(reply["tables"], dtype=float).ravel() / 2**30
    noise = float(steps_for(1, "1e-5", 1000).noise)
    assert 0.95 < draws.std() / noise < 1.05
    assert reply["noise"][0]["law"] == "gaussian"


def test_a_note_costs_nothing_and_is_made_once(tmp_path):
    ledger = dp.Ledger(tmp_path / "one.ledger", epsilon=1, analysts={"ana": 1})
    for book in (ledger, ledger.analyst("ana"), simulate(0)):
        first = book.note("step", {"round": 1}, "key" + type(book).__name__)
        again = book.note("step", {"round": 1}, "key" + type(book).__name__)
        assert again.seq == first.seq
        with pytest.raises(LedgerError):
            book.note("step", {"round": 2}, "key" + type(book).__name__)
        assert book.keep(first, "answer") == book.keep(first, "other") == "answer"
    assert not ledger.spent()
    assert ledger.verify() == 2


def test_samples_of_rows_are_charged_as_one_block(tmp_path):
    one = on_disk(tmp_path)
    terms = Terms.of(1, "1e-5", 10, 2, "1/4")
    reply = one.answer(round_message(0, terms=terms))
    assert reply["kind"] == "release"
    whole = float(steps_for(1, "1e-5", 20).noise)
    assert float(Fraction(reply["noise"][0]["amount"])) ** 0.5 < 0.6 * whole * 2**30
    assert one.ledger.spent().block_epsilon == 1


def test_the_message_cannot_bring_its_own_noise_or_bounds():
    reply = silo(PART).answer(
        round_message(0) | {"terms": TERMS.to_dict() | {"noise": "1/1000"}}
    )
    refused(reply, "ParameterError")


@pytest.mark.parametrize(
    "policy",
    [
        Policy(questions=("Values",)),
        Policy(least_noise=1000),
        Policy(per_round="0.1"),
        Policy(partners={"somebody": 1}),
    ],
)
def test_what_the_owner_does_not_allow_costs_nothing(tmp_path, policy):
    one = on_disk(tmp_path, policy=policy)
    for message in (count_message(), round_message()):
        reply = one.answer(message)
        assert reply.get("error", "KernelFault") != "KernelFault", reply
    assert not one.ledger.spent()


def test_what_the_owner_allows_is_answered(tmp_path):
    policy = Policy(
        questions=("Ones", "ClippedGradient", "Scaled"),
        least_noise=1.0,
        per_round=1,
        partners={"hub": "1.2", "other": 1},
    )
    one = on_disk(tmp_path, policy=policy)
    assert one.answer(round_message(), "hub")["kind"] == "release"
    refused(one.answer(count_message(), "hub"), "BudgetError")
    # Another process, the same budgets.
    next_one = again(tmp_path, policy)
    assert next_one.answer(count_message(epsilon="1/10"), "hub")["kind"] == "release"
    small = count_message(epsilon="1/8")
    assert next_one.answer(small, "other")["kind"] == "release"
    assert next_one.answer(messages.hello(), "hub")["remaining"] < 0.3
    entries = len(next_one.ledger.entries())
    again(tmp_path, policy)
    assert len(next_one.ledger.entries()) == entries


def test_strangers_learn_nothing():
    closed = silo(PART, policy=Policy(partners={"hub": 1}))
    for message in (messages.hello(), count_message(), round_message()):
        refused(closed.answer(message, "stranger"), "UnsafeError")
        assert closed.answer(message, "hub")["kind"] != "refusal"


def test_partners_do_not_answer_for_each_other(tmp_path):
    policy = Policy(partners={"a": 1, "b": 1})
    one = on_disk(tmp_path, policy=policy)
    first = one.answer(count_message(), "a")
    second = one.answer(count_message(), "b")
    assert first["kind"] == second["kind"] == "release"
    assert one.ledger.spent() == Cost.of(1)


def test_unknown_and_unfit_questions_are_refused(tmp_path):
    one = on_disk(tmp_path)
    choice = Choice(Sum(Bins("days", 2), (Block(Ones()),)), Largest())
    two = Sum(
        Everyone(),
        (Block(Ones(), share=Fraction(1, 2)), Block(Ones(), share=Fraction(1, 2))),
    )
    bad = [
        None,
        [],
        {},
        {"discreto": 2, "kind": "hello"},
        {"discreto": 1, "kind": "rows"},
        count_message(schema="another"),
        count_message(question={"kind": "Rows"}),
        count_message(question=to_json(choice)),
        count_message(cost={"block_epsilon": "1"}),
        count_message(cost={"epsilon": "0"}),
        count_message(cost={"epsilon": "1", "rho": "1"}),
        count_message(id=""),
        round_message(query=COUNT),
        round_message(query=two, move={"kind": "sums"}),
        round_message(move={"kind": "away"}),
        round_message(move={"kind": "steps", "rate": float("nan")}),
        round_message(move={"kind": "proximal", "mu": 1, "rows": 30}),
        round_message() | {"terms": TERMS.to_dict() | {"rate": "2"}},
        round_message() | {"round": True},
        round_message(
            query=Sum(Everyone(), (Block(Values(("nothing",))),)), move={"kind": "sums"}
        ),
    ]
    for message in bad:
        reply = one.answer(copy.deepcopy(message))
        assert reply.get("error", "KernelFault") != "KernelFault", message
    assert not one.ledger.spent()
    assert not one.ledger.entries()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted({*round_message(), *count_message()})), JSON)
def test_whatever_comes_gets_a_reply(name, value):
    ledger = simulate(0)
    one = silo(PART, ledger=ledger)
    for message in (round_message(), count_message()):
        reply = one.answer(message | {name: value})
        assert reply["kind"] in ("release", "refusal", "silo")
        json.dumps(reply)


def test_a_failing_fold_tells_nothing(monkeypatch):
    one = silo(PART)
    monkeypatch.setattr(one._table._rows, "fold", _broken)
    reason = refused(one.answer(count_message()), "KernelFault")
    assert "secret" not in reason


def test_refusals_do_not_say_where_the_ledger_is(tmp_path, monkeypatch):
    one = on_disk(tmp_path)
    monkeypatch.setattr(one._table._rows, "fold", _broken)
    refused(one.answer(count_message()), "KernelFault")
    reason = refused(one.answer(count_message() | {"id": "again"}), "KernelFault")
    assert "the silo's ledger is shut" in reason
    assert str(tmp_path) not in reason


def _broken(*_):
    raise ValueError("secret row")


def test_public_facts(tmp_path):
    facts = on_disk(tmp_path).answer(messages.hello())
    assert facts["rows"] == 30
    assert facts["remaining"] == 2
    assert dp.Domain.from_dict(facts["domain"]) == LINEAR
    private = Silo(dp.Table(columns(PART, LINEAR), LINEAR, simulate(0)))
    assert private.answer(messages.hello())["rows"] is None


def test_rows_are_part_of_the_domain_not_of_the_schema():
    replace = LINEAR.with_(neighbours="replace", rows=30)
    assert messages.schema_of(replace) == SCHEMA
    assert silo(PART, replace).rows == 30


@pytest.mark.parametrize("values", [np.nan, np.inf, -np.inf, 0.0, 1e300])
def test_odd_values_are_silent_and_bounded(values):
    odd = {name: np.full(20, values) for name in LINEAR}
    one = silo({**odd, "days": odd["days"]}, ledger=simulate(noise=False), rows=20)
    for move in (WALK, {"kind": "proximal", "mu": 1.0, "rows": 20}):
        terms = TERMS if move is WALK else Terms.of(1, "1e-5", 10)
        run = move["kind"]
        reply = one.answer(round_message(0, move=move, terms=terms, run=run))
        assert reply["kind"] == "release", reply
        assert np.abs(np.array(reply["tables"], dtype=float)).max() <= 20 * 2**30


def test_silos_need_a_table_and_sane_rows():
    with pytest.raises(ParameterError):
        Silo([1, 2, 3])
    with pytest.raises(ParameterError):
        silo(PART, rows=-1)
    with pytest.raises(ParameterError):
        Policy(least_noise=-1)
    with pytest.raises(ParameterError):
        Policy(least_noise=10**400)


def test_refusals_come_back_as_the_errors_they_are():
    with pytest.raises(UnsafeError, match="no"):
        messages.read_release(messages.refusal(UnsafeError("no")))
    for reply in ({}, {"kind": "release"}, {"kind": "release", "tables": [["x"]]}):
        with pytest.raises(ParameterError):
            messages.read_release(reply)


def test_a_release_tells_how_its_noise_was_rounded():
    """A count's noise is drawn on a finer grid; whoever adds releases must know it."""
    noise = Noise("gaussian", Fraction(3), bits=20)
    receipt = Receipt(1, "count", Cost(rho=Fraction(1, 6)), "hash")
    sent = json.loads(json.dumps(messages.release([np.array([[5]])], [noise], receipt)))
    assert messages.read_release(sent).noises == (noise,)
