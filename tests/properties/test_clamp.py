"""The clamp keeps its promises for any floats, and folds do not depend on the order."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from brute import ADD, Raw, fold_rows
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import discreto as dp
from discreto.core import aggregate
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number, Opaque
from discreto.core.maps import (
    Bernstein,
    Bins,
    Categories,
    Cross,
    Edges,
    Extreme,
    Largest,
    Magnitudes,
    Nearest,
    Partition,
    Present,
    Ranks,
    SoftVotes,
    Values,
)
from discreto.core.maps.clusters import FuzzyPulls
from discreto.core.query import (
    CODE_LIMIT,
    GRAM_LIMIT,
    Block,
    Choice,
    Everyone,
    Ones,
    Randomise,
    Shape,
    Sum,
    inside,
)
from discreto.testing import simulate

FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
EXTREME = st.sampled_from(
    [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.5, 1.5, 2.0**53, 1e16]
)


@st.composite
def shapes(draw) -> Shape:
    width = draw(st.integers(1, 6))
    limit = draw(st.sampled_from([1, 2, 7, 1000, 1 << 15, 1 << 30, 1 << 31]))
    total = draw(st.sampled_from([0, 1, limit, limit + 1, width * limit]))
    square = draw(st.sampled_from([0, 1, limit, limit**2, limit**2 + 1]))
    return Shape(width, limit, total, square, signed=draw(st.booleans()))


@FAST
@given(shapes(), st.data())
def test_clamp_keeps_its_shape(shape, data):
    size = st.tuples(st.just(shape.width), st.integers(0, 12))
    near = st.floats(-3.0 * shape.limit, 3.0 * shape.limit)
    rows = data.draw(hnp.arrays(np.float64, size, elements=ANY | EXTREME | near))
    out = aggregate.clamp(rows.copy(), shape)
    assert np.array_equal(out, np.rint(out))
    for row in out.T.tolist():
        whole = [int(value) for value in row]
        assert all(abs(value) <= shape.limit for value in whole)
        assert sum(map(abs, whole)) <= shape.total
        assert sum(value * value for value in whole) <= shape.square
        assert shape.signed or min(whole) >= 0


@FAST
@given(shapes(), st.data())
def test_clamp_leaves_what_is_small_alone(shape, data):
    small = min(shape.limit, shape.total // shape.width)
    small = min(small, int((shape.square * (1 - 1e-9) / shape.width) ** 0.5) - 1)
    low = -small if shape.signed else 0
    if small < 1:
        return
    size = (shape.width, 5)
    rows = data.draw(hnp.arrays(np.int64, size, elements=st.integers(low, small)))
    assert np.array_equal(aggregate.clamp(rows.astype(float), shape), rows)


# Folds

COLUMN = st.floats(-3, 7) | EXTREME.filter(lambda v: not 1e200 < abs(v) < np.inf)
ROW = st.tuples(
    COLUMN, st.floats(-1, 2), st.sampled_from([0, 1, -1]), st.sampled_from([0, 1, -1])
)
QUERIES = [
    Sum(Everyone(), (Block(Values(("x", "y"))),)),
    Sum(Categories(("c", "d")), (Block(Ones()),)),
    Sum(Categories(("c",)), (Block(Values(("x", "y")), "pair"),)),
    Sum(Everyone(), (Block(Values(("x", "y"), bits=15, constant=True), "gram"),)),
    Sum(Bins("x", 3), (Block(Values(("x", "y"), bits=15), "gram"),)),
    Sum(Present(("x",)), (Block(Bernstein(("x", "y"), 2)),)),
    Sum(Everyone(), (Block(Partition(("x", "d"))),)),
    Sum(Everyone(), (Block(FuzzyPulls(("x", "y"), ((0.1, 0.2),), 2.0, 0.5)),)),
    Sum(Categories(("c",)), (Block(SoftVotes(("y",), ((1.0, -2.0), (0, 3)))),)),
    Sum(Nearest(("x", "y"), ((0.3, 0.1), (-0.2, 0.7))), (Block(Ones(), "pair"),)),
    Sum(
        Cross(Edges("x", (0.0, 1.0)), Magnitudes("y", -3, 2)),
        (
            Block(Ones(), share=Fraction(1, 2)),
            Block(Raw(("x",), 9, 5), share=Fraction(1, 2)),
        ),
    ),
]


def _batch(rows):
    x, y, c, d = zip(*rows, strict=True) if rows else ((), (), (), ())
    return {
        "x": np.array(x, dtype=float),
        "y": np.array(y, dtype=float),
        "c": np.array(c, dtype=np.int64),
        "d": np.array(d, dtype=np.int64),
    }


def _fold(query, rows, fold=fold_rows):
    return fold(query, _batch(rows), len(rows), ADD)


def check_parts(query, rows, cuts, order, fold=fold_rows):
    """The sums of parts, in any order, are the sums of the whole."""
    whole = _fold(query, rows, fold)
    mixed = [rows[i] for i in order]
    ends = [0, *sorted(cuts), len(rows)]
    asked = inside(query, ADD)
    total = aggregate.empty(asked)
    for start, stop in itertools.pairwise(ends):
        if stop > start:
            total = aggregate.merge(asked, total, _fold(query, mixed[start:stop], fold))
    for one, two in zip(whole, total, strict=True):
        assert one.dtype == two.dtype == np.int64
        assert np.array_equal(one, two)


@FAST
@given(st.sampled_from(QUERIES), st.lists(ROW, min_size=1, max_size=25), st.data())
def test_any_partition_and_any_order_give_the_same_sums(query, rows, data):
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=3))
    order = data.draw(st.permutations(range(len(rows))))
    check_parts(query, rows, cuts, order)


def test_a_float_sum_depends_on_the_order_and_is_caught():
    # The planted bug: sums in single precision.
    def rough(query, batch, length, domain):
        (block,) = query.blocks
        rows = aggregate.clamp(
            block.features.rows(batch, domain), block.features.shape(domain)
        )
        total = np.float32(0)
        for value in rows[0]:
            total += np.float32(value)
        return [np.array([[total]]).astype(np.int64)]

    query = Sum(Everyone(), (Block(Values(("x",))),))
    rows = [(6.0, 0.0, 0, 0)] + [(2 + 200 / 2**30, 0.0, 0, 0)] * 9
    order = list(reversed(range(len(rows))))
    check_parts(query, rows, [3], order)
    with pytest.raises(AssertionError):
        check_parts(query, rows, [3], order, rough)


def test_soft_votes_do_not_depend_on_other_rows():
    coins = np.random.default_rng(1)
    names = tuple(f"x{i}" for i in range(40))
    base = coins.uniform(-1e5, 1e5, size=80)
    weights = [base + coins.uniform(-2, 2, size=80) for _ in range(3)]
    votes = SoftVotes(names, tuple(tuple(w.tolist()) for w in weights))
    batch = {name: coins.uniform(-1, 1, size=1001) for name in names}
    domain = Domain.cube(40)
    together = votes.rows(batch, domain)
    alone = [
        votes.rows({n: v[i : i + 1] for n, v in batch.items()}, domain)
        for i in range(1001)
    ]
    assert np.array_equal(together, np.hstack(alone))


def _reference(query, rows):
    """The same sums in plain Python integers, row by row."""
    (block,) = query.blocks
    count, width = query.cells.count(ADD), block.bind(ADD, 2).width
    out = [[0] * width for _ in range(count)]
    shape = block.features.shape(ADD)
    for row in rows:
        batch = _batch([row])
        cell = 0
        if not isinstance(query.cells, Everyone):
            cell = int(query.cells.codes(batch, ADD)[0])
        if not 0 <= cell < count:
            continue
        if isinstance(block.features, Ones):
            codes = [1]
        else:
            raw = block.features.rows(batch, ADD)
            codes = [int(v) for v in aggregate.clamp(raw, shape)[:, 0]]
        if block.form == "linear":
            new = codes
        elif block.form == "pair":
            new = [part for q in codes for part in (shape.limit + q, shape.limit - q)]
        else:
            m = range(len(codes))
            new = [codes[i] * codes[j] for i in m for j in m if i <= j]
        out[cell] = [a + b for a, b in zip(out[cell], new, strict=True)]
    return out


@FAST
@given(
    st.sampled_from(["linear", "pair", "gram"]),
    st.sampled_from([Everyone(), Categories(("c",)), Bins("x", 4)]),
    st.sampled_from([Ones(), Values(("x", "y"), bits=15), Raw(("x", "y"), 7, 9, 40)]),
    st.lists(ROW, min_size=1, max_size=20),
)
def test_folds_equal_plain_integers(form, cells, features, rows):
    query = Sum(cells, (Block(features, form),))
    assert _fold(query, rows)[0].tolist() == _reference(query, rows)


@pytest.mark.parametrize("form", ["linear", "pair", "gram"])
def test_large_batches_are_exact(form):
    """2^16 rows at the far end of the longest grid that each form allows."""
    bits = 15 if form == "gram" else 30
    n = 1 << 16
    x = np.where(np.arange(n) % 3 == 0, 5.9999999, -2.0)
    query = Sum(Everyone(), (Block(Values(("x",), bits=bits), form),))
    codes = aggregate.clamp(
        query.blocks[0].features.rows({"x": x}, ADD), Shape(1, 1 << bits)
    )
    codes = [int(v) for v in codes[0]]
    (sums,) = aggregate.fold(inside(query, ADD), {"x": x}, n)
    if form == "linear":
        wanted = [sum(codes)]
    elif form == "pair":
        wanted = [n * (1 << bits) + sum(codes), n * (1 << bits) - sum(codes)]
    else:
        wanted = [sum(v * v for v in codes)]
    assert sums[0].tolist() == wanted
    # The most rows at once times the largest code stays exact in float64.
    assert aggregate.BATCH_ROWS * CODE_LIMIT <= 1 << 53
    assert aggregate.BATCH_ROWS * GRAM_LIMIT**2 <= 1 << 53


@pytest.mark.parametrize("query", QUERIES)
def test_an_empty_batch_adds_nothing(query):
    # A batch whose rows were all dropped (too many rows of a person) is empty.
    for one, two in zip(
        _fold(query, []), aggregate.empty(inside(query, ADD)), strict=True
    ):
        assert np.array_equal(one, two)


# Hostile tables

OBJECTS = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**400), 10**400),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.booleans(),
    st.sampled_from(["u", "v", "1e400", "nan", "-inf", "1e308", "\ud800", [], {}, ()]),
)
WIDE = {
    "x": Number(-2, 6),
    "y": Number(0, 1, integer=True),
    "c": Category(("u", "v")),
    "d": Category((0, 1, 2), missing=True),
    "id": Opaque(),
}
QUESTIONS = [
    *QUERIES[:-1],
    Choice(Sum(Bins("x", 3), (Block(Ones()),)), Largest()),
    Choice(
        Sum(Cross(Categories(("c",)), Bins("y", 2)), (Block(Ones()),)), Ranks((1, 2), 3)
    ),
    Choice(Sum(Edges("x", (0.0,)), (Block(Ones()),)), Extreme("high", 2)),
]


def ask_all(data, domain) -> None:
    """Every question on a table; an error or warning would be a release."""
    table = dp.Table(data, domain, simulate(1))
    gate = table.gate()
    for query in QUESTIONS:
        door = gate.select if isinstance(query, Choice) else gate.measure
        door(query, Cost.of(1), "q")
    if domain.neighbours == "replace":
        for column, way in (("x", "laplace"), ("x", "staircase"), ("c", "response")):
            gate.randomise(Randomise(column, way), Cost.of(1), "q")


def _as_table(rows, domain):
    arrays = {}
    for i, name in enumerate(domain):
        arrays[name] = np.empty(len(rows), dtype=object)
        arrays[name][:] = [row[i] for row in rows]
    return arrays


@FAST
@given(st.lists(st.tuples(*[OBJECTS] * 5), min_size=1, max_size=6))
def test_hostile_tables_never_raise_or_warn(rows):
    # What overflows, and cells that are lists, have tests of their own below.
    rows = [tuple(0.5 if _known(value) else value for value in row) for row in rows]
    ask_all(_as_table(rows, WIDE), Domain(WIDE))
    public = Domain(WIDE, neighbours="replace", rows=len(rows))
    ask_all(_as_table(rows, WIDE), public)


def _known(value) -> bool:
    if isinstance(value, list | tuple) or value == "1e308":
        return True
    return isinstance(value, int | float) and 10**290 < abs(value) < np.inf


@pytest.mark.parametrize("value", [1e308, -1.7e308])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_overflow_is_silent(value, relation):
    rows = None if relation == "add-remove" else 2
    domain = Domain(
        {"x": Number(-2, 6), "y": Number(0, 1e-3), "c": WIDE["c"], "d": WIDE["d"]},
        neighbours=relation,
        rows=rows,
    )
    data = {"x": [value, 0], "y": [value, 0], "c": ["u", "v"], "d": [0, 1]}
    ask_all({k: np.array(v) for k, v in data.items()}, domain)


@pytest.mark.parametrize("cell", [[], [1.0], ()])
def test_cells_that_are_lists_are_missing(cell):
    values = np.empty(1, dtype=object)
    values[0] = cell
    table = dp.Table({"x": values}, Domain({"x": Number(0, 1)}), simulate(noise=False))
    query = Sum(Everyone(), (Block(Values(("x",))),))
    assert table.gate().measure(query, Cost.of(1), "q").tables[0].tolist() == [[0]]


@FAST
@given(st.lists(ROW, min_size=1, max_size=6))
@example([(np.nan, np.nan, -1, -1)])
def test_a_fold_leaves_its_batch_alone(rows):
    for query in QUERIES:
        batch = _batch(rows)
        kept = {name: values.copy() for name, values in batch.items()}
        aggregate.fold(inside(query, ADD), batch, len(rows))
        for name, values in batch.items():
            assert np.array_equal(values, kept[name], equal_nan=True)
