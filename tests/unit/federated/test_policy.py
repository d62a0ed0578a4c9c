"""What the owner of a silo decides holds for every block, partner and round."""

from __future__ import annotations

from fractions import Fraction

import pytest
from silos import LINEAR, NAMES, columns, parts

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.maps import ClippedGradient, Scaled
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.federated import Policy, Silo, Terms, messages

PART = parts(0, [30])[0]
ROWS = Scaled(NAMES, (0.0,) * 4, (1.0,) * 4, 0.3, 1.0, "l2")
STEP = Sum(Everyone(), (Block(ClippedGradient(ROWS, "balance", (0.0,) * 5, 0.5)),))
SCHEMA = messages.schema_of(LINEAR)
TERMS = Terms.of(1, "1e-5", 2, 1)
WALK = {"kind": "steps", "rate": 0.01}


def silo(tmp_path, policy=None):
    ledger = dp.Ledger(tmp_path / "silo.ledger", epsilon=5, delta="1e-4")
    return Silo(dp.Table(columns(PART, LINEAR), LINEAR, ledger), policy, rows=30)


def refused(reply, error):
    assert (reply["kind"], reply.get("error")) == ("refusal", error), reply


def test_every_block_needs_the_noise_that_the_owner_demands(tmp_path):
    small, large = Fraction(1, 1000), Fraction(999, 1000)
    query = Sum(Everyone(), (Block(Ones(), share=small), Block(Ones(), share=large)))
    one = silo(tmp_path, Policy(least_noise=10.0))
    for number, cost in enumerate((Cost.of(1), Cost(rho=Fraction(1, 10)))):
        message = messages.measure(query, cost, "rows", f"q{number}", SCHEMA)
        refused(one.answer(message), "UnsafeError")
    assert not one.ledger.entries()


def test_a_partner_spends_its_own_budget_and_no_more(tmp_path):
    one = silo(tmp_path, Policy(partners={"hub": "0.3", "other": 1}))
    query = Sum(Everyone(), (Block(Ones()),))

    def ask(number, partner):
        cost = Cost.of("0.2")
        return one.answer(
            messages.measure(query, cost, "rows", f"q{number}", SCHEMA), partner
        )

    assert ask(1, "hub")["kind"] == "release"
    refused(ask(2, "hub"), "BudgetError")
    assert ask(3, "other")["kind"] == "release"
    assert one.ledger.spent("hub") == Cost.of("0.2")


@pytest.mark.parametrize("number", [True, -1, 2, 10**6, 1.0, "1", None])
def test_a_round_has_one_name_and_is_one_of_those_paid_for(tmp_path, number):
    one = silo(tmp_path)
    for wanted in (0, 1):
        message = messages.training_round(STEP, TERMS, "r", wanted, SCHEMA, WALK)
        assert one.answer(message)["kind"] == "release"
    entries = one.ledger.entries()
    message = messages.training_round(STEP, TERMS, "r", number, SCHEMA, WALK)
    assert one.answer(message)["kind"] == "refusal"
    assert one.ledger.entries() == entries
