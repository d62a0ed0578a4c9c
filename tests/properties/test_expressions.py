"""Expressions: a plain interpreter agrees, bounds hold, rows stay to themselves."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core import expressions as core
from discreto.core.expressions.kinds import LARGEST, SMALLEST, Real
from discreto.expression_text import parse

DOMAIN = dp.Domain(
    {
        "x": dp.Number(-10, 10, missing=True),
        "y": dp.Number(0, 5, missing=True),
        "n": dp.Number(1, 200_000, integer=True),
        "s": dp.Category(["a", " A", "b"], missing=True),
        "t": dp.Category([1, 2, "2"], missing=True),
        "b": dp.Boolean(missing=True),
    }
)
NUMBERS, LABELS = ("x", "y", "n"), ("s", "t", "b")
CONSTANTS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, 1e6, -2.25, 1e-200, 1e150])
HOSTILE = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 3.7, -10.0]


def numbers(depth: int) -> st.SearchStrategy[Any]:
    leaf = st.one_of(st.sampled_from(NUMBERS).map(core.Col), CONSTANTS.map(core.Const))
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    return st.one_of(
        leaf,
        st.builds(core.Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(core.Power, inner, st.integers(2, 8)),
        st.builds(core.Clip, inner, st.just(-3.0), st.just(7.5)),
        st.builds(
            core.Apply,
            st.sampled_from(["abs", "ceil", "floor", "log1p", "sqrt"]),
            inner,
        ),
        st.builds(core.IfElse, truths(depth - 1), inner, inner),
        st.builds(core.Fill, inner, st.just(4.0)),
        st.builds(
            core.ToNumber,
            labels(depth - 1, "s"),
            st.just(("a", "b")),
            st.just((1.0, -5.0)),
        ),
    )


def labels(depth: int, name: str) -> st.SearchStrategy[Any]:
    leaf = st.just(core.Col(name))
    if depth == 0:
        return leaf
    inner = labels(depth - 1, name)
    return st.one_of(leaf, st.builds(core.IfElse, truths(depth - 1), inner, inner))


def texts(depth: int) -> st.SearchStrategy[Any]:
    inner = labels(depth, "s")
    return st.one_of(
        inner,
        st.builds(core.Text, st.sampled_from(["lower", "strip", "upper"]), inner),
        st.builds(core.Recode, inner, st.just(("a",)), st.just(("b",))),
        st.builds(core.Fill, inner, st.just("none")),
        st.builds(
            core.Cut, numbers(depth), st.just((0.0, 3.0)), st.just(("u", "v", "w"))
        ),
    )


def truths(depth: int) -> st.SearchStrategy[Any]:
    leaf = st.just(core.Col("b"))
    if depth == 0:
        return leaf
    number = numbers(depth - 1)
    order = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    equal = st.sampled_from(["==", "!="])
    inner = truths(depth - 1)
    return st.one_of(
        leaf,
        st.builds(core.Compare, order, number, number),
        st.builds(
            core.Compare, equal, labels(depth - 1, "s"), st.just(core.Const("b"))
        ),
        st.builds(
            core.Logic,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
        st.builds(core.Not, inner),
        st.builds(core.IsMissing, st.one_of(number, inner, labels(depth - 1, "t"))),
        st.builds(core.IsIn, number, st.just((0.0, 5.0))),
        st.builds(core.IsIn, labels(depth - 1, "t"), st.just((1, "2"))),
    )


ANY = st.one_of(numbers(3), texts(2), truths(3))
ROWS = st.lists(
    st.tuples(
        st.sampled_from(HOSTILE) | st.floats(-12, 12),
        st.sampled_from(HOSTILE) | st.floats(-1, 6),
        st.sampled_from(HOSTILE) | st.integers(-5, 300_000).map(float),
        st.integers(-2, 5),
        st.integers(-2, 5),
        st.integers(-2, 3),
    ),
    min_size=1,
    max_size=6,
)


def batch_of(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    kinds = [np.float64] * 3 + [np.int64] * 3
    return {
        name: np.array([row[i] for row in rows], dtype=kinds[i])
        for i, name in enumerate(DOMAIN)
    }


def run(expression: Any, rows: list[tuple[Any, ...]]) -> Any:
    batch = batch_of(rows)
    with np.errstate(all="ignore"):
        return np.broadcast_to(expression.rows(batch, DOMAIN), (len(rows),))


def kept(number: float) -> float | None:
    """A number as the language keeps it; None where there is none."""
    if math.isnan(number):
        return None
    number = min(max(number, -LARGEST), LARGEST)
    return 0.0 if abs(number) < SMALLEST else number


def plain(e: Any, row: dict[str, Any]) -> Any:
    """What an expression means, value by value; None is missing."""
    match e:
        case core.Col(name):
            return row[name]
        case core.Const(value):
            return value if isinstance(value, bool | str) else kept(value)
        case core.Arithmetic(op, left, right):
            a, b = plain(left, row), plain(right, row)
            if a is None or b is None or (op == "/" and b == 0):
                return None
            made = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}
            return kept(made[op])
        case core.Power(base, exponent):
            a = plain(base, row)
            out = a
            for _ in range(exponent - 1):
                out = None if out is None else kept(out * a)
            return out
        case core.Clip(inside, low, high):
            a = plain(inside, row)
            return None if a is None else kept(min(max(a, low), high))
        case core.Apply(function, inside):
            return applied(function, plain(inside, row))
        case core.Compare(op, left, right):
            a, b = plain(left, row), plain(right, row)
            if a is None or b is None:
                return None
            if op in ("==", "!="):
                return same(a, b) == (op == "==")
            return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
        case core.Logic(op, parts):
            found = [plain(part, row) for part in parts]
            settled = op == "or"
            if settled in found:
                return settled
            return None if None in found else not settled
        case core.Not(inside):
            a = plain(inside, row)
            return None if a is None else not a
        case core.IsIn(inside, values):
            a = plain(inside, row)
            return None if a is None else any(same(a, v) for v in values)
        case core.IsMissing(inside):
            return plain(inside, row) is None
        case core.IfElse(condition, yes, no):
            asked = plain(condition, row)
            return None if asked is None else plain(yes if asked else no, row)
        case core.Fill(inside, value):
            a = plain(inside, row)
            return value if a is None else a
        case core.Cut(inside, edges, names):
            a = plain(inside, row)
            return None if a is None else names[sum(a >= edge for edge in edges)]
        case core.Recode(inside, old, new):
            a = plain(inside, row)
            return next((n for o, n in zip(old, new, strict=True) if same(o, a)), a)
        case core.Text(function, inside):
            a = plain(inside, row)
            return getattr(a, function)() if isinstance(a, str) else a
        case core.ToNumber(inside, old, new):
            a = plain(inside, row)
            return next((n for o, n in zip(old, new, strict=True) if same(o, a)), None)
    raise NotImplementedError(e)


def same(a: Any, b: Any) -> bool:
    return isinstance(a, str) == isinstance(b, str) and a == b


def applied(function: str, a: float | None) -> float | None:
    if a is None:
        return None
    if function == "log1p":
        return None if a <= -1 else kept(float(np.log1p(np.array([a]))[0]))
    if function == "sqrt":
        return None if a < 0 else kept(math.sqrt(a))
    made = {"abs": abs, "ceil": math.ceil, "floor": math.floor}[function](a)
    return kept(float(made))


def row_of(values: tuple[Any, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for (name, column), value in zip(DOMAIN.columns.items(), values, strict=True):
        if isinstance(column, dp.Number):
            clipped = min(max(value, column.lower), column.upper)
            out[name] = None if math.isnan(value) else kept(clipped)
        else:
            known = 0 <= value < len(column.categories)
            out[name] = column.categories[value] if known else None
    return out


EXAMPLES = int(os.environ.get("DISCRETO_EXPRESSIONS", "300"))  # more in benchmarks


@settings(max_examples=EXAMPLES, deadline=None)
@given(ANY, ROWS)
def test_a_plain_interpreter_agrees(expression, rows):
    kind = expression.kind(DOMAIN)
    found = run(expression, rows)
    for value, row in zip(found.tolist(), rows, strict=True):
        wanted = plain(expression, row_of(row))
        if isinstance(kind, Real):
            missing = math.isnan(value)
            assert missing == (wanted is None)
            assert missing or value == wanted
            assert missing or kind.lower <= value <= kind.upper
        else:
            assert (value == -1) == (wanted is None)
            assert value == -1 or same(kind.values[value], wanted)
            assert -1 <= value < len(kind.values)


@settings(max_examples=EXAMPLES, deadline=None)
@given(ANY, ROWS)
def test_a_row_stays_the_same_beside_others(expression, rows):
    together = run(expression, rows)
    for i, row in enumerate(rows):
        (alone,) = run(expression, [row])
        assert np.array_equal(alone, together[i], equal_nan=True)


@settings(max_examples=200, deadline=None)
@given(ANY)
def test_text_and_json_say_it_all(expression):
    assert parse(str(expression)) == expression
    step = core.WithColumns((core.Named("new", expression),))
    data = json.loads(json.dumps(core.view_to_json([step])))
    assert core.view_from_json(data) == (step,)


@settings(max_examples=100, deadline=None)
@given(truths(2), ROWS, st.sampled_from(["s", "n"]))
def test_a_view_has_the_rows_and_columns_it_says(condition, rows, name):
    if not condition.columns():
        return
    domain = DOMAIN
    table = dp.Table(as_data(rows), domain, dp.testing.simulate(noise=False))
    view = table.where(dp.expressions.Expr(condition))
    wanted = sum(plain(condition, row_of(row)) is True for row in rows)
    assert dp.stats.count(view, epsilon=1).value == wanted


def as_data(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for i, (name, column) in enumerate(DOMAIN.columns.items()):
        values = [row[i] for row in rows]
        if isinstance(column, dp.Category):
            listed = column.categories
            values = [listed[v] if 0 <= v < len(listed) else None for v in values]
        out[name] = values
    return out
