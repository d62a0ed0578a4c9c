"""Splits, leaves and parts of boosting lose no more than they cost, by brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from brute import ADD, REPLACE, TWICE, neighbours, tables, to_batch, universe

import discreto as dp
from discreto.core import aggregate
from discreto.core.maps.cells import Categories
from discreto.core.maps.row_partition import HashParts, Parts, TallyWithin
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.tree_splits import (
    BITS,
    GAIN_BITS,
    SplitHistogram,
    SplitScore,
    candidates,
)
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Block, Choice, Ones, Sum, inside
from discreto.core.validation import check_parts
from discreto.errors import BudgetError, ParameterError
from discreto.session.session import Session
from discreto.testing import simulate

G = 1 << GAIN_BITS  # the squared gradient bound
GRID = Grid(("y", "d"), ((0.5,), ()))
ROOT = Tree()
SPLIT = Tree((0,), ((0, 1),))
LOGISTIC = Gradients(GRID, "c", "logistic", (0.4,), bits=BITS)


def choice(by, tree=ROOT, encoding="native"):
    norm = "l1" if by == "l1" else "l2"
    tally = SplitHistogram(replace(LOGISTIC, norm=norm), tree)
    return Choice(tally, SplitScore(GRID, tree.leaves, by, 0.5, encoding))


def law(scores, width, epsilon):
    """The law of permute-and-flip with noise of width / epsilon, in floats."""
    heads = np.exp(-(scores.max() - scores) * (epsilon / width))
    out = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            out[i] += left * heads[i]
            left *= 1 - heads[i]
    return out / len(orders)


def losses(query, domain, epsilon, width=None):
    """The largest loss over all small neighbouring tables, and the largest move."""
    names = query.columns()
    rows = universe(names)
    scores = []
    for table in tables(len(rows), 2):
        batch = to_batch([rows[i] for i in table], names)
        (sums,) = aggregate.fold(inside(query.tally, domain), batch, len(table))
        scores.append(query.score.scores(sums, domain))
    width = width or query.width(domain)
    laws = [[law(group, width, epsilon) for group in one] for one in scores]
    worst = moved = 0.0
    pairs = neighbours(len(rows), 2, domain.neighbours, domain.rows_per_person)
    for i, j in pairs.tolist():
        moved = max(moved, np.abs(scores[i] - scores[j]).max())
        for one, two in ((laws[i], laws[j]), (laws[j], laws[i])):
            ratios = [np.log(p / q).max() for p, q in zip(one, two, strict=True)]
            worst = max(worst, sum(ratios))
    return worst, moved


@pytest.mark.parametrize("domain", [ADD, REPLACE, TWICE], ids=["add", "replace", "two"])
@pytest.mark.parametrize("tree", [ROOT, SPLIT], ids=["root", "split"])
@pytest.mark.parametrize("by", ["l1", "gain"])
def test_choices_of_splits_lose_no_more_than_epsilon(by, tree, domain):
    query = choice(by, tree)
    worst, moved = losses(query, domain, 1.5)
    assert worst <= 1.5 * (1 + 1e-9)
    more = domain.rows_per_person
    assert moved <= more * query.score.sensitivity(domain.neighbours)


def test_too_little_noise_for_splits_is_caught():
    query = choice("l1")
    worst, _ = losses(query, ADD, 1.5, width=query.width(ADD) // 4)
    assert worst > 1.5


# Gains of large nodes, from sums alone: rows by the thousand need no table.

COLUMN = dp.Domain({"d": dp.Category(["p", "q"], missing=True), "c": dp.Boolean()})
ONE = Grid(("d",), ((),))


def scores_of(sums, counts, ridge, by="gain", encoding="onehot"):
    """Scores of a node whose three codes hold such sums and counts."""
    cells = np.array([[sums], [counts]], dtype=np.int64)
    return SplitScore(ONE, 1, by, ridge, encoding).scores(cells, COLUMN)[0]


def neighbours_of_sums(coins, large):
    """Random node contents and the same with one row more."""
    counts = coins.integers(0, large, 3)
    lean = coins.choice([-1.0, 1.0, 0.0, 0.3], 3)
    sums = np.rint(lean * counts * (1 << BITS)).astype(np.int64)
    more, extra = counts.copy(), sums.copy()
    code = coins.integers(3)
    more[code] += 1
    extra[code] += int(coins.choice([-1, 1])) << BITS
    return (sums, counts), (extra, more)


@pytest.mark.parametrize("encoding", ["native", "onehot"])
@pytest.mark.parametrize("ridge", [0.0, 0.1, 1.0, 50.0])
def test_gains_move_by_at_most_their_sensitivity(ridge, encoding):
    coins, moves = np.random.default_rng(1), []
    for large in (2, 10, 1000, 1 << 30):
        for _ in range(300):
            (s, n), (t, m) = neighbours_of_sums(coins, large)
            here, there = (
                scores_of(*x, ridge, "gain", encoding) for x in ((s, n), (t, m))
            )
            moves.append(np.abs(there - here).max())
    told = SplitScore(ONE, 1, "gain", ridge).sensitivity("add-remove")
    assert told == 2 * G + 1
    assert max(moves) <= told
    assert max(moves) > 0.99 * 2 * G  # and it is attained: -3 g^2 and the shift of g^2


def test_replaced_rows_move_gains_twice_as_far():
    coins, worst = np.random.default_rng(2), 0
    for large in (2, 1000, 1 << 30):
        for _ in range(500):
            (s, n), _ = neighbours_of_sums(coins, large)
            n, old, new = n + 1, coins.integers(3), coins.integers(3)
            signs = coins.choice([-1, 1], 2)
            base, kept = s.copy(), n.copy()
            base[old] += int(signs[0]) << BITS
            moved, other = s.copy(), n.copy()
            moved[new] += int(signs[1]) << BITS
            kept[old] += 1
            other[new] += 1
            gap = scores_of(base, kept, 0.1) - scores_of(moved, other, 0.1)
            worst = max(worst, np.abs(gap).max())
    assert worst <= SplitScore(ONE, 1, "gain").sensitivity("replace")
    assert worst > 0.95 * 4 * G


def exponential_loss(first, second, width):
    """The loss at epsilon 1 of choosing with exp(gain / width)."""
    logs = []
    for gains in (first, second):
        gains = np.asarray(gains, dtype=float) / width
        logs.append(gains - gains.max() - math.log(np.exp(gains - gains.max()).sum()))
    return float(np.abs(logs[0] - logs[1]).max())


def hard_neighbours():
    """A row that lowers one candidate by 3 g^2 and raises another by g^2.

    Candidate 1 has a large child of one sign, to which the row is a stranger; in
    candidate 2 the row is alone with its sign, in a child of its own.
    """
    n = 10**6
    here = [n, 0.0]
    there = [(n - 1) ** 2 / (n + 1), 1.0]
    return here, there


def test_the_exponential_mechanism_needs_a_width_of_four():
    # The second candidate may be ahead or behind by anything.
    worst = {3.0: 0.0, 4.0: 0.0, 6.0: 0.0}
    for shift in np.linspace(-60, 60, 2001):
        here, there = ([v[0], v[1] + 10**6 + shift] for v in hard_neighbours())
        for width in worst:
            loss = exponential_loss(here, there, width)
            worst[width] = max(worst[width], loss)
    assert 0.9999 < worst[4.0] <= 1 + 1e-9
    assert worst[6.0] < 0.667  # the printed exponent wastes a third
    assert worst[3.0] > 1.3  # and less than 4 is too little


def test_permute_and_flip_needs_the_same_width():
    told = 2 * SplitScore(ONE, 1, "gain").sensitivity("add-remove")
    worst = {told: 0.0, told // 2: 0.0}
    for shift in np.linspace(-30, 30, 301):
        here, there = (
            np.rint(np.array([v[0], v[1] + 10**6 + shift]) * G)
            for v in hard_neighbours()
        )
        for width in worst:
            laws = [law(scores, width, 1.0) for scores in (here, there)]
            loss = np.abs(np.log(laws[0] / laws[1])).max()
            worst[width] = max(worst[width], loss)
    assert 0.99 < worst[told] <= 1 + 1e-9
    assert worst[told // 2] > 1.9  # half the noise is caught


# Parts: rows go to trees by what they are, not by how many there are.


def fixed_sizes(rows):
    """Part sums as printed: one row of 51 for the first tree, the rest for another."""
    first = len(rows) // 51
    return np.array([rows[:first].sum(), rows[first:].sum()])


def test_parts_of_fixed_size_are_not_stable():
    rows = np.ones(50)
    moved = fixed_sizes(np.append(rows, -1.0)) - fixed_sizes(rows)
    # The row of -1 drove another one out of its part: a loss of 3 epsilon, not 1.
    np.testing.assert_array_equal(moved, [1, -2])
    # The same rows and the same shares by the hash: a row moves its own part by one.
    values = np.linspace(-2, 6, 50)
    parts = HashParts(("x",), (1, 50))

    def sums(x, weights):
        code = parts.codes({"x": x}, ADD)
        return np.bincount(code, weights=weights, minlength=2)

    for new in np.linspace(-2, 6, 40):
        gap = sums(np.append(values, new), np.append(rows, -1.0)) - sums(values, rows)
        assert np.abs(gap).sum() == 1


def test_hashes_do_not_depend_on_other_rows_and_keep_their_shares():
    coins = np.random.default_rng(4)
    x = coins.uniform(-2, 6, 20_000)
    parts = HashParts(("x", "c"), (5, 3, 2), 9)
    batch = {"x": x, "c": coins.integers(-1, 2, x.size)}
    codes = parts.codes(batch, ADD)
    share = np.bincount(codes) / x.size
    np.testing.assert_allclose(share, [0.5, 0.3, 0.2], atol=0.02)
    one = parts.codes({n: v[7:8] for n, v in batch.items()}, ADD)
    assert one[0] == codes[7]
    other = replace(parts, salt=10).codes(batch, ADD)
    assert 0.3 < (other == codes).mean() < 0.45  # about the sum of squared shares


def test_a_tally_within_a_part_counts_its_rows():
    names = ("x", "y", "d", "c")
    rows = universe(names)
    batch = to_batch(rows, names)
    parts = HashParts(("x", "c"), (1, 2))
    tally = SplitHistogram(LOGISTIC, SPLIT)
    whole = tally.fold(batch, len(rows), ADD)
    split_up = [
        TallyWithin(parts, i, tally).fold(batch, len(rows), ADD) for i in range(2)
    ]
    np.testing.assert_array_equal(split_up[0] + split_up[1], whole)
    assert all(part.any() for part in split_up)


def conversation(ledger, epsilon=1):
    data = {"x": [1.0] * 60, "y": [0.5] * 60, "z": [100.0] * 60}
    data |= {"c": ["u"] * 60, "d": ["p"] * 60, "n": [1.0] * 60}
    table = dp.Table(data, ADD, ledger)
    cost = dp.Cost.of(epsilon)
    return Session(table.gate(table.reserve(cost, "parts")), cost)


def test_parts_are_paid_once_and_each_keeps_to_it():
    ledger = dp.Ledger(epsilon=1)
    ask = conversation(ledger)
    count = Sum(Categories(("c",)), (Block(Ones()),))
    branches = ask.split(Parts(HashParts(("x",), (1, 1, 1))), "rows")
    for branch in branches:
        branch.measure(count, "count")
    assert ledger.total() == 1  # three parts, one cost
    for branch in branches:
        with pytest.raises(BudgetError):
            branch.measure(count, "again")
    with pytest.raises(BudgetError):
        ask.measure(count, "outside")
    assert [q.door for q in ask.asked][:4] == ["parts", "measure", "measure", "measure"]


def test_parts_hold_all_rows_between_them():
    ask = conversation(simulate(noise=False))
    count = Sum(Categories(("c",)), (Block(Ones()),))
    parts = HashParts(("x",), (1, 1))
    found = [
        b.measure(count, "n").tables[0][0, 0] for b in ask.split(Parts(parts), "rows")
    ]
    assert sorted(found) == [0, 60]  # equal rows stay together


@pytest.mark.parametrize(
    "make",
    [
        lambda: HashParts(("x",), ()),
        lambda: HashParts(("x",), (1.5,)),
        lambda: Tree((0,), ((0, 2),)),
        lambda: Tree((0, 0), ((0, 1), (0, 1))),
        lambda: Tree((0,), ((0, 1),), ((1.0,),)),
        lambda: Grid(("x",), ((1.0, 1.0),)),
        lambda: SplitHistogram(replace(LOGISTIC, weight=1.0), ROOT),
        lambda: Choice(SplitHistogram(LOGISTIC, ROOT), SplitScore(GRID, 2, "l1")),
        lambda: Choice(SplitHistogram(LOGISTIC, ROOT), SplitScore(ONE, 1, "l1")),
        lambda: Choice(
            SplitHistogram(LOGISTIC, ROOT, counts=False), SplitScore(GRID, 1, "gain")
        ),
    ],
)
def test_what_voids_a_bound_is_refused(make):
    with pytest.raises(ParameterError):
        check_parts(make(), ADD)


def test_every_declared_category_has_a_child():
    (each,) = (c for c in candidates(GRID, ADD, "native", True) if c.kind == "each")
    assert each.route(GRID, ADD) == (0, 1, 2)  # p, q, and missing
