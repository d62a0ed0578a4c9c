"""Steps under a key: each number has one question, one answer, and there is an end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreto import Domain, Ledger, Number, Table
from discreto.core.maps import Values
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.core.steps import steps_for
from discreto.errors import BudgetError, LedgerError

DELTA = Fraction(1, 10**5)
TOTAL = Sum(Everyone(), (Block(Values(("x",))),))
COUNT = Sum(Everyone(), (Block(Ones()),))
STEPS = steps_for(1, DELTA, 3)


def opened(people, first=0):
    return people.train(STEPS, "steps", key="run", first=first)


def people():
    domain = Domain({"x": Number(-1, 1)})
    ledger = Ledger(epsilon=5, delta=DELTA)
    return Table({"x": np.ones(50)}, domain, ledger, name="people")


def test_a_step_is_drawn_once_whatever_it_is_called():
    table = people()
    opened(table).measure(TOTAL, "step")
    for query, label in ((TOTAL, "the same step"), (COUNT, "step")):
        with pytest.raises(LedgerError, match="another question"):
            opened(table).measure(query, label)


def test_no_step_is_taken_beyond_those_paid_for():
    """Opened anew at its last step a block has all its shares, but no more numbers."""
    table = people()
    last = opened(table, STEPS.count - 1)
    last.measure(TOTAL, "the last one")
    for _ in range(2):
        with pytest.raises(BudgetError):
            last.measure(TOTAL, "one too many")
    assert len(table.ledger.entries()) == 2
