"""Compiled loops and numpy give the same bits, whatever is in the rows."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from test_clamp import ANY, EXTREME, shapes
from test_row_locality import BATCH, BATCHES, DOMAIN, GRID, MAPS, ROWS, values_of

import discreto as dp
from discreto.core import aggregate, compiled
from discreto.core.maps import (
    Bernstein,
    Bins,
    Categories,
    CodeCounts,
    Deviations,
    Edges,
    FuzzyPulls,
    FuzzyWeights,
    LogisticGradient,
    Nearest,
    Partition,
    Present,
    Scaled,
    SquaredGradient,
    Values,
    trees_numpy,
)
from discreto.core.query import Block, Everyone, Ones, Shape, Sum, bind, inside
from discreto.core.row_cache import Fleeting
from discreto.data.frames.cells import number
from discreto.data.frames.convert import convert

pytest.importorskip("numba", reason="numba is not installed")
FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def both(work: Any) -> tuple[Any, Any]:
    """What comes of it with numpy, and with compiled loops."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "loops", lambda *_: None)
        plain = work()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "WORTH", 0)
        assert compiled.loops(0) is not None
        return plain, work()


def assert_same(first: list[Any], second: list[Any]) -> None:
    for one, two in zip(first, second, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("one", MAPS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("rows", BATCHES)
@pytest.mark.parametrize("many", [1, 20])
def test_maps_have_the_same_bits(one, rows, many):
    """Before the clamp rounds: a difference in the last bit counts."""
    batch = {name: np.tile(column, many) for name, column in BATCHES[rows].items()}
    plain, quick = both(lambda: values_of(one, batch, many * ROWS))
    np.testing.assert_array_equal(plain, quick)


TWO = ("x1", "x3")
POINTS = ((0.1, -0.3), (0.9, 0.2), (-0.5, -0.5), (0.0, 1.0), (0.1, -0.3))
SCALED = [
    Scaled(TWO, (0.1, -0.2), (0.5, 2.0), 0.5, 1.5, norm, basis=basis)
    for norm in ("l1", "l2")
    for basis in ((), ((1.0, 0.5, 0.0), (0.0, 1.0, 0.3), (0.2, 0.0, 1.0)))
]
WAYS = ((1, 1), (2, 2), (5, 1))
CELLS = [
    Everyone(),
    Present(("x3", "w")),
    Categories(("y", "z")),
    Bins("x1", 7),
    Bins("x1", 40),  # more cells than are added up one after the other
    Edges("x1", (0.0, 1.0)),
    Edges("x1", (0.0, 1.0), gaps=True),
    *[Nearest(TWO, POINTS[:many]) for many in (3, 4, 5)],
]
FORMS = [
    *[
        Block(one, form)
        for one in (Values(("x1", "x3")),)
        for form in ("linear", "pair")
    ],
    Block(Values(("x1", "x3"), 15, constant=True), "gram"),
    Block(Bernstein(("x3",), 2)),
    Block(CodeCounts(GRID)),
    Block(Partition(("x1", "y", "x3"))),
    Block(Ones(), "pair"),
    *[Block(Deviations(TWO, POINTS[:many], 0.7, norm)) for many, norm in WAYS],
    *[Block(LogisticGradient(one, "z", ((0.5, -3.0, 9.0),))) for one in SCALED],
    *[
        Block(SquaredGradient(one, "w", 0.2, 0.7, (0.5, -3.0, 9.0), 0.4))
        for one in SCALED
    ],
    *[Block(FuzzyPulls(TWO, POINTS[:many], 1.7, 0.7, norm)) for many, norm in WAYS],
]


@pytest.mark.parametrize("cells", CELLS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("number", range(len(FORMS)))
@pytest.mark.parametrize("rows", BATCHES)
@pytest.mark.parametrize("many", [0, 1, 40])
def test_folds_are_the_same(cells, number, rows, many):
    """Several times as many rows as a loop takes at once."""
    asked = inside(Sum(cells, (FORMS[number],)), DOMAIN)
    batch = {name: np.tile(column, many) for name, column in BATCHES[rows].items()}
    plain, quick = both(lambda: aggregate.fold(asked, batch, many * ROWS))
    assert_same(plain, quick)


class Given:
    """Numbers as they come, with any shape promised of them."""

    def __init__(self, numbers: Any, shape: Shape) -> None:
        self.numbers, self.promised = numbers, shape

    def shape(self, domain: Any) -> Shape:
        return self.promised

    def rows(self, batch: Any, domain: Any) -> Any:
        return self.numbers.copy()

    def columns(self) -> tuple[str, ...]:
        return ("x1",)


@FAST
@given(shapes(), st.data())
def test_the_clamp_in_the_loop_is_the_clamp(shape, data):
    size = st.tuples(st.just(shape.width), st.integers(0, 12))
    near = st.floats(-3.0 * shape.limit, 3.0 * shape.limit)
    rows = data.draw(hnp.arrays(np.float64, size, elements=ANY | EXTREME | near))
    length = rows.shape[1]
    codes = data.draw(hnp.arrays(np.int64, length, elements=st.integers(-3, 5)))
    for cells in (Everyone(), Categories(("y",))):
        asked = inside(Sum(cells, (Block(Given(rows, shape)),)), DOMAIN)
        batch = {"x1": np.zeros(length), "y": codes}
        plain, quick = both(lambda: aggregate.fold(asked, batch, length))  # noqa: B023
        assert_same(plain, quick)
        one = [
            aggregate.fold(
                inside(Sum(cells, (Block(Given(rows[:, i : i + 1], shape)),)), DOMAIN),
                {"x1": np.zeros(1), "y": codes[i : i + 1]},
                1,
            )[0]
            for i in range(length)
        ]
        assert_same([sum(one, np.zeros_like(quick[0]))], quick)


@FAST
@given(
    st.lists(st.floats(-1e3, 1e3), max_size=40),
    st.lists(ANY | EXTREME | st.floats(-12, 12), max_size=60),
    st.floats(-1e3, 1e3),
    st.floats(1e-6, 1e3),
)
@example([0.0, 0.0, 0.0], [0.0, -0.0, 1e-300], 0.0, 1.0)
@pytest.mark.parametrize("more", [0, 60])  # few are counted, many are searched
def test_any_cuts_are_found(more, cuts, values, low, width):
    if not low < low + width:
        return
    cuts = [*cuts, *np.linspace(low, low + width, more).tolist()]
    domain = dp.Domain({"x": dp.Number(low, low + width)})
    cells = Edges("x", tuple(sorted([*cuts, *[v for v in values if abs(v) < 1e300]])))
    batch = {"x": np.array([*values, *cuts], dtype=float)}
    plain, quick = both(lambda: cells.codes(batch, domain))
    np.testing.assert_array_equal(plain, quick)


class Pair(Values):
    """Two columns whose row has a norm, which single columns do not show."""

    def shape(self, domain: Any) -> Shape:
        return Shape(2, 1 << 30, total=1 << 30)


def test_columns_one_by_one_keep_the_norm_of_a_row():
    asked = inside(Sum(Everyone(), (Block(Pair(("x1", "x3"))),)), DOMAIN)
    plain, quick = both(lambda: aggregate.fold(asked, BATCHES["odd"], ROWS))
    assert_same(plain, quick)


@pytest.mark.parametrize("wrong", ["short rows", "few features", "few values"])
def test_numbers_of_another_form_are_refused(wrong, monkeypatch):
    """A compiled loop would read past the end of an array."""
    monkeypatch.setattr(compiled, "WORTH", 0)
    shape = Shape(2, 8)
    rows = {"short rows": (2, 3), "few features": (1, 5)}.get(wrong, (2, 5))
    features = (
        Given(np.zeros(rows), shape) if wrong != "few values" else Values(("x1",))
    )
    asked = inside(Sum(Everyone(), (Block(features),)), DOMAIN)
    with pytest.raises(ValueError, match="another form"):
        aggregate.fold(asked, {"x1": np.zeros(4)}, 5)


def test_a_broken_numba_prevents_no_answer(monkeypatch):
    compiled.load.cache_clear()
    found = importlib.import_module

    def broken(name):
        if "numba" in name:
            raise AttributeError("a module of the same name is in the way")
        return found(name)

    monkeypatch.setattr(importlib, "import_module", broken)
    monkeypatch.setattr(compiled, "WORTH", 0)
    assert compiled.loops(1) is None
    asked = inside(Sum(Everyone(), (Block(Values(("x1",))),)), DOMAIN)
    aggregate.fold(asked, BATCHES["plain"], ROWS)
    compiled.load.cache_clear()


_FAR = st.sampled_from([-1e300, -1.0, 0.0, 5e-324, 1e-300, 1.0, 1e300])


@FAST
@given(
    st.lists(st.floats(-1e300, 1e300) | st.floats(-1, 1) | _FAR, max_size=40),
    st.lists(ANY | EXTREME | st.floats(-2, 2) | _FAR, max_size=60),
)
@example([-1e300, 1e300], [np.inf, -np.inf, np.nan, 0.0])
@pytest.mark.parametrize("more", [0, 60])
def test_codes_between_cuts_are_found_alike(more, cuts, values):
    """Many of them, as in a grid, or all in one part of their range."""
    ends = np.unique(np.array([*cuts, *np.linspace(-1, 1, more)], dtype=float))
    numbers = np.array([*values, *ends, *np.nextafter(ends, np.inf)])
    found = np.zeros(len(numbers), dtype=np.uint16)
    loops = compiled.load("discreto.core.maps.trees_numba")
    loops.place(numbers, ends, 99, found)
    wanted = np.searchsorted(ends, numbers, side="left")
    np.testing.assert_array_equal(found, np.where(np.isnan(numbers), 99, wanted))


@FAST
@given(st.integers(2, 5), st.integers(0, 40), st.data())
def test_margins_are_found_alike(classes, many, data):
    """Ties, leads at an end of a cell, and scores that are none."""
    score = st.sampled_from([0.0, 1 / 16, 0.5, 1.0, -3.0]) | ANY
    lines = st.lists(score, min_size=many, max_size=many)
    scores = np.array([data.draw(lines) for _ in range(classes)], dtype=float)
    draw = st.lists(st.integers(-2, classes), min_size=many, max_size=many)
    target = np.array(data.draw(draw), dtype=np.int64)
    ends = np.array([1 / 16, 0.5, 1.0])
    loops = compiled.load("discreto.core.maps.trees_numba")
    found = np.empty(many, dtype=np.int64)
    loops.margins(scores, compiled.plain(target, many), ends, 4, found)
    with np.errstate(invalid="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees_numpy, "_compiled", lambda name, size: None)
        wanted = trees_numpy.margins(scores, target, ends, 4)
    np.testing.assert_array_equal(found, wanted)


def test_leaves_are_added_alike():
    coins = np.random.default_rng(0)
    table, before = coins.normal(size=(3, 5)), coins.normal(size=(3, 3000))
    leaf, found = coins.integers(0, 5, 3000).astype(np.int32), before.copy()
    compiled.load("discreto.core.maps.trees_numba").add_leaves(table, leaf, found)
    np.testing.assert_array_equal(found, before + table.take(leaf, axis=1))


def test_products_leave_rows_of_no_cell_out():
    domain = dp.Domain({"x": dp.Number(-1, 1), "z": dp.Number(-1, 1)})
    products = Block(Values(("x",), 15), "gram")
    query = Sum(Present(("x", "z")), (products,))
    batch = {"x": np.array([0.5, -0.5, 1.0]), "z": np.array([0.0, np.nan, 0.1])}
    there = {name: column[[0, 2]] for name, column in batch.items()}
    for one, other in zip(
        both(lambda: aggregate.fold(bind(query, domain), batch, 3)),
        both(lambda: aggregate.fold(bind(query, domain), there, 2)),
        strict=True,
    ):
        assert_same(one, other)


def test_little_work_loads_nothing(monkeypatch):
    compiled.load.cache_clear()
    monkeypatch.setattr(compiled, "_folded", 0)
    assert compiled.loops(1000) is None
    assert compiled.loops(compiled.WORTH) is not None


def test_what_maps_share_is_their_own():
    """Maps of one question share numbers of a batch, not those of another map."""
    names, others = ("x0", "x1"), ("x1", "x2")
    here, there = ((0.1, 0.2), (0.5, -0.5)), ((-0.4, 0.3), (0.9, 0.1))
    maps = [
        one(of, points, power, *rest)
        for of in (names, others)
        for points in (here, there)
        for power in (1.7, 2.0)
        for one, rest in ((FuzzyWeights, ()), (FuzzyPulls, (0.7,)))
    ]
    maps += [Deviations(of, here, 0.7) for of in (names, others)]
    batch = {name: column for name, column in BATCH.items() if name in DOMAIN}
    shared = Fleeting(batch)
    for one in [*maps, *reversed(maps)]:
        alone = values_of(one, dict(batch), ROWS)
        np.testing.assert_array_equal(values_of(one, shared, ROWS), alone)


_SIGNS = st.text(st.sampled_from("0123456789" * 3 + ".eE+-xn _é"), max_size=9)


@FAST
@given(st.lists(_SIGNS | st.floats().map(str) | st.none(), max_size=30), st.data())
@example(["1" * 30, "1" * 31, "-.5", "1.", "1e5", "1e555", "", "nan", "1e-5"], None)
def test_texts_of_numbers_are_found_alike(texts, data):
    """Whatever loop looks at them, each text is the number that Python reads."""
    start = data.draw(st.integers(0, len(texts))) if data is not None else 0
    column, wanted = pa.array(texts, pa.string())[start:], texts[start:]
    plain, quick = both(lambda: convert(column, dp.Number(0, 1)))
    np.testing.assert_array_equal(plain, quick)
    np.testing.assert_array_equal(quick, [number(text) for text in wanted])
    np.testing.assert_array_equal(
        convert(pa.chunked_array([column, column]), dp.Number(0, 1)),
        np.concatenate([quick, quick]),
    )


@pytest.mark.parametrize("total", [1 << 29, 3 << 28, (1 << 30) - 1])
def test_a_total_below_the_sum_of_polynomials_is_kept(total):
    """The loop looks at all three of them, though as things are none is too large."""
    shape = Shape(3, 1 << 30, total=total, signed=False)
    column = DOMAIN.number("x3")
    values = np.linspace(column.lower, column.upper, 9)
    rows = Bernstein(("x3",), 2).rows({"x3": values}, DOMAIN)
    wanted = aggregate.clamp(rows.copy(), shape).sum(axis=1).astype(np.int64)
    bounds = 0.0, float(shape.limit), float(total), -1.0
    facts = float(column.centre), float(column.half), float(1 << 30)
    out = np.zeros((3, 2), dtype=np.int64)
    loops = importlib.import_module("discreto.core.loops_numba")
    loops.add_quadratic(values, *facts, *bounds, np.empty(0, dtype=np.int64), out)
    assert out[:, 0].tolist() == wanted.tolist()
    for one in values:  # and row by row: no row hides another's
        out = np.zeros((3, 2), dtype=np.int64)
        some = np.array([one])
        loops.add_quadratic(some, *facts, *bounds, np.empty(0, dtype=np.int64), out)
        assert out[:, 0].sum() <= total


@pytest.mark.parametrize("norm", [0, 1])
def test_a_column_alone_keeps_its_norm(norm):
    loops = compiled.load("discreto.core.loops_numba")
    values = compiled.plain(np.array([-9.0, 3.0, 9.0]), 3)
    everyone, out = compiled.plain(np.empty(0, dtype=np.int64), 0), np.zeros((1, 2))
    norms = (5.0, -1.0) if norm == 0 else (-1.0, 5.0)
    sums = -9.0, 8.0, *norms, everyone, out.astype(np.int64)
    loops.add_scaled(values, 0.0, 1.0, -math.inf, math.inf, *sums)
    assert sums[-1][0, 0] == -4 + 3 + 4  # one below the norm, where rounding is
