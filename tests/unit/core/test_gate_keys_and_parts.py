"""One key, one answer; one part, its own rows: nothing in between is released."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreto as dp
from discreto.core import aggregate
from discreto.core.charge import Reservation
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.fold import made_up
from discreto.core.gate import Gate
from discreto.core.maps import Bins, Categories, Largest
from discreto.core.maps.row_partition import HashParts, Parts
from discreto.core.query import Block, Choice, Everyone, Ones, Sum, bind
from discreto.core.unknown_keys import Keys
from discreto.errors import LedgerError, ParameterError
from discreto.testing import simulate

COLUMNS = {"x": Number(0, 1), "c": Category(("u", "v")), "t": dp.OpenText()}
DOMAIN = Domain(COLUMNS)
COUNT = Sum(Everyone(), (Block(Ones()),))
CELLS = Sum(Categories(("c",)), (Block(Ones()),))
BINS = Sum(Bins("x", 2), (Block(Ones()),))
ONE = Cost.of(1)
ROWS = {"x": np.linspace(0, 1, 150), "c": ["u", "u", "v"] * 50, "t": ["a"] * 150}


class During:
    """Rows without content; ``then`` is called once while they are folded."""

    def __init__(self, refusal=""):
        self.then, self._refusal = None, refusal

    def refusal(self, asked, sampled=False):
        return self._refusal

    def fold(self, asked, keep=None):
        then, self.then = self.then, None
        if then is not None:
            then()
        return made_up(aggregate.empty(asked))

    def unready(self):
        return ""

    def unchanged(self):
        return True

    def places(self):
        return ()

    def person_bound(self):
        return None


@pytest.mark.parametrize("door", ["measure", "select"])
def test_two_who_work_on_one_key_at_once_show_one_answer(door):
    """The second begins and ends while the first one is at the rows."""
    for number in range(12):  # noise is alike by chance now and then
        rows = During()
        gate = Gate(DOMAIN, dp.Ledger(epsilon=1), rows, "people")
        choice = Choice(Sum(Bins("x", 64), (Block(Ones()),)), Largest())
        asked, cost = (COUNT, choice)[door == "select"], Cost.of("1e-3")

        def answer(gate=gate, asked=asked, cost=cost, number=number):
            found = getattr(gate, door)(asked, cost, "q", f"k{number}")
            return (found.tables[0] if door == "measure" else found.indices).tolist()

        others = []
        rows.then = lambda others=others, answer=answer: others.append(answer())
        assert answer() == others[0] == answer()


def test_a_key_stands_for_one_question_of_one_table_and_domain():
    ledger = dp.Ledger(epsilon=5)
    gate = Gate(DOMAIN, ledger, During(), "people")
    gate.measure(CELLS, ONE, "q", "k")
    others = [
        (gate, BINS),  # as many cells, the same noise
        (Gate(DOMAIN, ledger, During(), "staff"), CELLS),
        (
            Gate(Domain(COLUMNS | {"z": Number(0, 1)}), ledger, During(), "people"),
            CELLS,
        ),
    ]
    for other, asked in others:
        with pytest.raises(LedgerError, match="another question"):
            other.measure(asked, ONE, "q", "k")
    assert gate.measure(CELLS, ONE, "q", "k").receipt.seq == 1


def test_unknown_keys_are_not_for_parts_and_not_for_every_engine():
    ledger = dp.Ledger(epsilon=5, delta="1e-3")
    block = Cost(block_epsilon=Fraction(1), delta=Fraction(1, 10**4))
    whole = dp.Table(ROWS, DOMAIN, ledger).gate()
    part = whole.parts(Parts(HashParts(("c",), (1, 1))), block, "parts")[0]
    with pytest.raises(ParameterError, match="part of a table"):
        part.discover(Keys("t"), block, "q")
    before = ledger.spent()
    with pytest.raises(ParameterError, match="no texts here"):
        Gate(DOMAIN, ledger, During("no texts here")).discover(Keys("t"), block, "q")
    for cost in (block + ONE, block + Cost(rho=Fraction(1)), ONE):
        with pytest.raises(ParameterError, match="one block"):
            whole.discover(Keys("t"), cost, "q")
    assert ledger.spent() == before


def test_sums_take_a_cost_of_one_kind():
    ledger = dp.Ledger(epsilon=5, delta="1e-3")
    gate = Gate(DOMAIN, ledger, During())
    for cost in (
        ONE + Cost(block_epsilon=Fraction(1)),
        ONE + Cost(rho=Fraction(1)),
        Cost(block_epsilon=Fraction(1)),
        Cost(),
    ):
        with pytest.raises(ParameterError, match="one kind"):
            gate.measure(COUNT, cost, "q")
    assert not ledger.spent()


def test_a_part_folds_its_own_rows_also_ahead():
    table = dp.Table(ROWS, DOMAIN, simulate(noise=False))
    partition = Parts(HashParts(("x", "c"), (1, 1)))
    paid = Reservation(table.ledger, table.ledger.charge(ONE, "plan"))
    parts = table.gate(paid).parts(partition, ONE, "parts")
    found = []
    for part in parts:
        asked = [bind(one, DOMAIN) for one in (CELLS, COUNT)]
        ahead = part.folded_ahead(asked, "q")
        half = Cost.of("1/2")
        cells, count = [ahead.measure(one, half, "q").tables[0] for one in asked]
        assert cells.sum() == count[0, 0] < 150
        found.append(cells)
    np.testing.assert_array_equal(sum(found)[:, 0], [100, 50, 0])


def test_a_choice_among_sums_past_64_bits_is_made():
    """No table has so many rows today; a fold that says so must not fail a choice."""

    class Many(During):
        def fold(self, asked, keep=None):
            sums = np.full((3, 1), 0, dtype=object)
            sums[1, 0] = 1 << 70
            return made_up([sums])

    gate = Gate(DOMAIN, dp.Ledger(epsilon=1), Many())
    mode = Choice(CELLS, Largest())
    assert gate.select(mode, ONE, "q").indices.tolist() == [1]
