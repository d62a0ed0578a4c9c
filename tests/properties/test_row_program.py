"""Row programs have the same bits by numpy and compiled, alone and among others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core import aggregate, compiled
from discreto.core import row_program as rp
from discreto.core.maps import (
    Bins,
    Categories,
    Deviations,
    HashParts,
    Nearest,
    Values,
)
from discreto.core.query import Block, Everyone, Shape, Sum, bind

FAST = settings(max_examples=60, deadline=None)
DOMAIN = dp.Domain(
    {
        "x": dp.Number(-2, 2),
        "y": dp.Number(-2, 2),
        "c": dp.Category(["a", "b", "c"]),
    }
)
ODD = [0.0, -0.0, 1.0, -1.5, 2.0, 1e300, -1e300, 1e-300, math.nan, math.inf, -math.inf]
numbers = st.sampled_from(ODD) | st.floats(-3, 3)
constants = st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, 3.25, 1e12])
ONE = [rp.floor, rp.absolute, rp.root, rp.missing, rp.exp, rp.log, rp.log1p]
ONE += [lambda v: -v, lambda v: rp.between(v, -1.0, 1.0), lambda v: (v + 0.5) * 2.0]
ONE += [lambda v: rp.floor(v * 3.0 + 0.5), lambda v: rp.within(v, 3.0, math.nan)]
ONE += [lambda v: rp.take([1.0, 5.0, 2.5], v, -1.0), lambda v: 2.0 / v]
ONE += [lambda v: rp.rank([-1.0, 0.0, 0.0, 0.75], v)]
ONE += [lambda v: rp.rank(np.linspace(-2, 2, 60).tolist(), v)]
ONE += [lambda v: rp.present_or(rp.between((v - 0.5) * 2.0, -1.0, 1.0), 0.0)]
TWO: list[Callable[..., Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a < b,
    lambda a, b: a.equals(b),
    lambda a, b: rp.least(a, b),
    lambda a, b: rp.most(a, b),
    lambda a, b: a + b * b,
    lambda a, b: a + rp.absolute(b),
    lambda a, b: a + b * 1.5 + b * 2.5 + a * 0.5 + b * 4.0 + a * 3.0,
    lambda a, b: rp.choose(a < b, a, b),
    lambda a, b: rp.choose(a < b, 7.0, b),
]


@st.composite
def functions(draw: Any) -> Callable[[rp.Row], list[rp.Value]]:
    """Row functions of a few random operations."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["one", "two", "constant"]),
                st.integers(0, 30),
                st.integers(0, 50),
                st.integers(0, 50),
                constants,
            ),
            max_size=12,
        )
    )

    def function(row: rp.Row) -> list[rp.Value]:
        made = [row.number("x"), row.number("y"), row.code("c")]
        for kind, which, a, b, constant in steps:
            first, second = made[a % len(made)], made[b % len(made)]
            if kind == "one":
                made.append(ONE[which % len(ONE)](first))
            elif kind == "two":
                made.append(TWO[which % len(TWO)](first, second))
            else:
                made.append([first + constant, first * constant][which % 2])
        return [*made[-3:], made[0], made[-1]]

    return function


def batch_of(rows: list[tuple[float, float, int]]) -> dict[str, Any]:
    x, y, c = zip(*rows, strict=True)
    return {"x": np.array(x), "y": np.array(y), "c": np.array(c, dtype=np.int64)}


def by_numpy(program: rp.Program, batch: Any, length: int) -> Any:
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(compiled, "loops", lambda *args: None)
        return program.numbers(batch, length)


def by_loops(program: rp.Program, batch: Any, length: int) -> Any:
    fast = compiled.load(rp.LOOPS)
    if fast is None:
        pytest.skip("numba is not installed")
    out = np.empty((program.width, length))
    columns, held = program.addresses(batch, length)
    fast.rows(program.arrays(), columns, out)
    assert held
    return out


rows_of = st.lists(
    st.tuples(numbers, numbers, st.integers(-2, 4)), min_size=1, max_size=8
)


@FAST
@given(functions(), rows_of)
def test_numpy_and_loops_give_the_same_bits(function, rows):
    program, batch = rp.trace(function), batch_of(rows)
    plain, quick = (f(program, batch, len(rows)) for f in (by_numpy, by_loops))
    same = (plain == quick) | (np.isnan(plain) & np.isnan(quick))
    assert same.all(), (plain, quick)


@FAST
@given(functions(), rows_of, st.integers(1, 3000))
def test_a_row_has_the_same_numbers_alone_and_among_others(function, rows, many):
    """Blocks begin and end somewhere: a row far behind is worked out as the first."""
    program = rp.trace(function)
    filler = [(0.125, -0.75, 2)] * many
    every = [*rows, *filler, *rows]
    for run in (by_numpy, by_loops):
        whole = run(program, batch_of(every), len(every))
        for i, row in enumerate(rows):
            alone = run(program, batch_of([row]), 1)[:, 0]
            for j in (i, len(rows) + many + i):
                np.testing.assert_array_equal(whole[:, j], alone)


@FAST
@given(functions(), rows_of)
def test_programs_do_what_was_recorded(function, rows):
    """Steps that are put in one, and lines that are used again, change no number."""
    batch, tape = batch_of(rows), rp._Recorder()
    found = [value.at for value in function(rp.Row(tape))]
    made: list[Any] = []
    with np.errstate(all="ignore"):
        for step in tape.steps:
            made.append(plainly(step, made, batch, tape))
    wanted = np.stack([made[at] for at in found])
    np.testing.assert_array_equal(
        by_numpy(rp.trace(function), batch, len(rows)), wanted
    )


def plainly(step: Any, made: list[Any], batch: Any, tape: Any) -> Any:
    """Return the numbers of one recorded step, each in an array of its own."""
    operation, a, b, c = step
    numbers = tape.constants
    if operation in (rp.NUMBER, rp.CODE):
        return batch[tape.names[a]].astype(float)
    if operation == rp.FILL:
        return np.full(len(batch["x"]), numbers[a])
    plain = rp._PLAIN[operation]
    if operation in rp._OF_LINES:
        return plain(made[a], made[b])
    if operation == rp.CHOOSE:
        return plain(made[a], made[b], made[c])
    if operation == rp.CHOOSE_C:
        return plain(made[a], made[b], numbers[c])
    if operation in (rp.TAKE, rp.RANK):
        return plain(made[a], tape.tables[b], numbers[c])
    if operation == rp.WITHIN:
        return plain(made[a], numbers[b], numbers[c])
    return plain(made[a]) if operation in rp._OF_ONE else plain(made[a], numbers[b])


class Wild(rp.RowFeatures):
    """A map that promises little and returns anything."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def shape(self, domain: Any) -> Shape:
        return Shape(5, 9, total=12, square=100)

    def row_numbers(self, row: rp.Row, domain: Any) -> list[rp.Value]:
        return [value * 1e9 for value in self.function(row)]

    def columns(self) -> tuple[str, ...]:
        return ("x", "y", "c")


@FAST
@given(functions(), rows_of)
def test_whatever_a_map_says_a_row_moves_a_sum_within_its_bound(function, rows):
    work = fold_of(Wild(function))
    for quick in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "_folded", compiled.WORTH if quick else 0)
            if not quick:
                patch.setattr(compiled, "loops", lambda *args: None)
            whole = work(batch_of(rows), len(rows))
            less = work(batch_of(rows[1:]), len(rows) - 1) if rows[1:] else 0 * whole
        moved = (whole - less).astype(object)
        assert abs(moved).sum() <= 12
        assert (moved**2).sum() <= 100
        assert abs(moved).max() <= 9


def fold_of(features: Any) -> Any:
    asked = bind(Sum(Everyone(), (Block(Values(("x",))),)), DOMAIN)
    part = asked.blocks[0]
    block = Block(features)
    shape = features.shape(DOMAIN)
    from dataclasses import replace

    part = replace(part, block=block, shape=shape, width=shape.width)

    class Asked:
        query, domain, cells, blocks = asked.query, DOMAIN, 1, (part,)

        def __init__(self) -> None:
            self.kept: dict[str, Any] = {}

    return lambda batch, length: aggregate.fold(Asked(), batch, length)[0][0]


def test_a_row_function_cannot_look_at_a_number():
    def peeks(row: rp.Row) -> list[rp.Value]:
        return [row.number("x") if row.number("x") > 0.0 else row.number("y")]

    with pytest.raises(TypeError, match="does not know"):
        rp.trace(peeks)


def test_what_is_kept_first_is_a_column_and_all_else_is_worked_out():
    def function(row: rp.Row) -> list[rp.Value]:
        (first,) = row.keep([row.number("x") * 2.0])
        (other,) = row.keep([row.number("y") * 3.0])
        return [first + 1.0, other]

    both = rp.trace_kept(function)
    assert both is not None
    batch = batch_of([(1.0, 2.0, 0), (0.5, -1.0, 1)])
    kept = by_numpy(both[0], batch, 2)
    rest = by_numpy(both[1], {**batch, rp.kept_name(0): kept[0]}, 2)
    np.testing.assert_array_equal(rest, by_numpy(rp.trace(function), batch, 2))


def test_other_constants_have_another_key():
    found = {
        rp.trace(lambda row, c=c: [row.number("x") + c]).key() for c in (0.0, -0.0, 1.0)
    }
    assert len(found) == 3


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_cells_codes_and_sums_of_one_question_come_from_one_program(rows):
    rng = np.random.default_rng(0)
    batch = {
        "x": rng.uniform(-3, 3, rows),
        "y": rng.uniform(-3, 3, rows),
        "c": rng.integers(-1, 3, rows),
    }
    centres = ((0.5, 0.5), (-0.5, -0.5))
    names = ("x", "y")
    for query in (
        Sum(Nearest(names, centres), (Block(Deviations(names, centres, 0.5)),)),
        Sum(Categories(("c",)), (Block(Values(names), "pair"),)),
        Sum(Bins("x", 7), (Block(Values(names)),)),
        Sum(HashParts(("x",), (1, 2)), (Block(Values(names)),)),
    ):
        found = []
        for quick in (False, True):
            asked = bind(query, DOMAIN)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(compiled, "_folded", compiled.WORTH)
                if not quick:
                    patch.setattr(compiled, "loops", lambda *args: None)
                found.append(aggregate.fold(asked, batch, rows)[0])
        np.testing.assert_array_equal(*found)


class Coded(rp.RowCodes):
    """Counts of two columns of codes, whatever its shape promises."""

    __slots__ = ("promised",)

    def __init__(self, promised: Shape) -> None:
        self.promised = promised

    def shape(self, domain: Any) -> Shape:
        return self.promised

    def row_codes(self, row: rp.Row, domain: Any) -> list[tuple[rp.Value, int]]:
        return [(row.code("c"), 3), (row.number("x"), 2)]

    def columns(self) -> tuple[str, ...]:
        return ("c", "x")


CODES = batch_of([(0.0, 0.0, 0), (1.0, 0.0, 2), (-1.0, 0.0, -1), (math.nan, 0.0, 3)])


@pytest.mark.parametrize("quick", [False, True])
def test_codes_that_are_not_there_count_nowhere(quick, monkeypatch):
    monkeypatch.setattr(compiled, "_folded", compiled.WORTH)
    if not quick:
        monkeypatch.setattr(compiled, "loops", lambda *args: None)
    work = fold_of(Coded(Shape(5, 1, total=2, signed=False)))
    assert work(CODES, 4).tolist() == [1, 0, 1, 1, 1]


def test_more_codes_than_promised_are_refused():
    with pytest.raises(ValueError, match="more codes"):
        fold_of(Coded(Shape(5, 1, total=1, signed=False)))(CODES, 4)


def test_numbers_of_another_form_are_refused():
    with pytest.raises(ValueError, match="another form"):
        fold_of(Coded(Shape(4, 1, total=2, signed=False)))(CODES, 4)


class Together(Values):
    """Two columns that share one bound."""

    __slots__ = ()

    def shape(self, domain: Any) -> Shape:
        return Shape(2, 1 << 30, total=1 << 30)


def test_columns_under_a_norm_are_added_up_together(monkeypatch):
    monkeypatch.setattr(compiled, "_folded", compiled.WORTH)
    work = fold_of(Together(("x", "y")))
    found = work(batch_of([(2.0, -2.0, 0)]), 1)
    assert abs(found.astype(object)).sum() <= 1 << 30
