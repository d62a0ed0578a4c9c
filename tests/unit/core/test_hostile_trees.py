"""Trees from a message: a wrong one is refused at any place, before anything is paid.

If it were not, the fold would fail for just those rows that reach a wrong node, and
release or refusal would tell whether there are any.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreto import Category, Domain, Ledger, Number, Table
from discreto.core.cost import Cost
from discreto.core.maps import to_json
from discreto.core.maps.tree_gradients import Gradients, LeafShifts, Residuals
from discreto.core.maps.tree_splits import SplitHistogram, SplitScore
from discreto.core.maps.trees import Grid, Leaves, Tree
from discreto.core.query import Block, Choice, Everyone, Ones, Sum
from discreto.errors import DiscretoError
from discreto.federated import Silo, messages

UNIT = Number(0, 1, missing=False)
DOMAIN = Domain({"x": UNIT, "c": Category(("u", "v"), missing=False), "t": UNIT})
GRID = Grid(("x", "c"), ((0.5,), ()))  # 2 codes, and 3
VALUES = ((0.1,), (-0.1,))
RIGHT = Tree((0,), ((0, 1),), VALUES)
WRONG = {
    "route too short": Tree((1,), ((0, 1),), VALUES),
    "route too long": Tree((0,), ((0, 1, 1),), VALUES),
    "no such column": Tree((2,), ((0, 1),), VALUES),
    "far away": Tree((1 << 40,), ((0, 1),), VALUES),
}


def test_a_grid_is_sized_for_the_domain_that_is_asked():
    wide = Domain({"x": Number(0, 1), "c": Category(("u", "v", "w"), missing=False)})
    for domain in (DOMAIN, wide, DOMAIN, wide):  # 2 codes, or 3 with the missing
        assert GRID.sizes(domain) == ((2, 3) if domain is DOMAIN else (3, 4))


def gradients(*trees, **options):
    return Gradients(GRID, "t", "squared", (0.0,), trees, **options)


def questions(tree):
    """The tree at each place of an ensemble, and as the tree that is asked about."""
    bare = Tree(tree.features, tree.routes)
    for place in range(3):
        trees = [RIGHT, RIGHT, RIGHT]
        trees[place] = tree
        of = gradients(*trees)
        yield Sum(Everyone(), (Block(of),))
        yield Sum(Residuals(of, 4), (Block(Ones()),))
        yield Sum(LeafShifts(of, RIGHT, 2), (Block(Ones()),))
        histogram = SplitHistogram(gradients(*trees, bits=12), Tree())
        yield Choice(histogram, SplitScore(GRID, 1, "l1"))
    yield Sum(Leaves(GRID, bare, "t"), (Block(Ones()),))
    yield Sum(LeafShifts(gradients(RIGHT), bare, 2), (Block(Ones()),))
    histogram = SplitHistogram(gradients(RIGHT, bits=12), bare)
    yield Choice(histogram, SplitScore(GRID, bare.leaves, "l1"))


def table(rows=0):
    data = {"x": [0.9] * rows, "c": ["v"] * rows, "t": [0.5] * rows}
    data = {
        k: np.array(v, dtype=object if k == "c" else float) for k, v in data.items()
    }
    return Table(data, DOMAIN, Ledger(epsilon=1000))


@pytest.mark.parametrize("tree", WRONG.values(), ids=WRONG)
def test_a_wrong_tree_is_refused_for_free(tree):
    empty, full = table(), table(4)
    for query in questions(tree):
        said = []
        for people in (empty, full):
            gate = people.gate()
            ask = gate.measure if isinstance(query, Sum) else gate.select
            with pytest.raises(DiscretoError) as caught:
                ask(query, Cost.of(1), "q")
            said.append((type(caught.value), str(caught.value)))
            assert not people.ledger.entries()
        assert said[0] == said[1]


def test_the_right_tree_is_answered():
    for query in questions(RIGHT):
        gate = table(4).gate()
        ask = gate.measure if isinstance(query, Sum) else gate.select
        ask(query, Cost.of(1), "q")


@pytest.mark.parametrize("tree", WRONG.values(), ids=WRONG)
def test_a_silo_says_the_same_with_and_without_rows(tree):
    silos = [Silo(table(rows), rows=4) for rows in (0, 4)]
    schema = messages.schema_of(DOMAIN)
    for number, query in enumerate(questions(tree)):
        if isinstance(query, Choice):
            continue
        message = messages.measure(query, Cost.of(1), "q", f"q{number}", schema)
        assert message["question"] == to_json(query)
        replies = [silo.answer(message) for silo in silos]
        assert replies[0] == replies[1]
        assert replies[0]["kind"] == "refusal"
    assert not silos[1].ledger.entries()
