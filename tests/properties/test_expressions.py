"""Expressions: a plain interpreter agrees, bounds hold, rows stay to themselves."""

from __future__ import annotations

import datetime as dt
import json
import math
import operator
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core import aggregate
from discreto.core import expressions as core
from discreto.core.exponentials import log1p
from discreto.core.expressions.kinds import LARGEST, SMALLEST, Real
from discreto.core.maps import Categories, Values
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.errors import DomainError, ParameterError
from discreto.table.expression_text import parse

DOMAIN = dp.Domain(
    {
        "x": dp.Number(-10, 10, missing=True),
        "y": dp.Number(0, 5, missing=True),
        "n": dp.Number(1, 200_000, integer=True),
        "s": dp.Category(["a", " A", "b"], missing=True),
        "t": dp.Category([1, 2, "2"], missing=True),
        "b": dp.Boolean(missing=True),
        "d": dp.Date("1960-02-29", "2030-06-30"),
        "m": dp.DateTime("1969-12-31 22:05", "1972-03-01 07:59", resolution="minute"),
    }
)
NUMBERS, LABELS = ("x", "y", "n"), ("s", "t", "b")
CONSTANTS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, 1e6, -2.25, 1e-200, 1e150])
HOSTILE = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 3.7, -10.0]


DAYS = st.sampled_from([core.Col("d"), core.Col("m")])
DATES = st.one_of(
    st.builds(
        core.DatePart,
        st.sampled_from(["year", "quarter", "month", "day", "weekday"]),
        DAYS,
    ),
    st.builds(
        core.DatePart, st.sampled_from(["hour", "minute"]), st.just(core.Col("m"))
    ),
    st.builds(core.DaysBetween, DAYS, DAYS),
    st.builds(core.AgeAt, DAYS, DAYS),
    st.builds(core.AgeAt, DAYS, st.just(core.Const("1999-02-28"))),
)


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
        DATES,
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
            core.Period,
            DAYS,
            st.sampled_from(["year", "quarter", "month", "week", "day"]),
        ),
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
        st.builds(core.Compare, order, DAYS, st.just(core.Const("1971-05-01"))),
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
        st.sampled_from(HOSTILE) | st.integers(-4000, 23_000).map(float),
        st.sampled_from(HOSTILE) | st.integers(-200, 1_200_000).map(float),
    ),
    min_size=1,
    max_size=6,
)


def batch_of(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    kinds = [np.float64] * 3 + [np.int64] * 3 + [np.float64] * 2
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


ORDER = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


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
        case core.Compare(op, left, core.Const(str() as text)) if text[:1] == "1":
            a = when(left, row)
            return None if a is None else ORDER[op](a, dt.datetime.fromisoformat(text))
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
        case core.DatePart(part, inside):
            a = when(inside, row)
            return None if a is None else float(parts_of(a)[part])
        case core.Period(inside, unit):
            a = when(inside, row)
            return None if a is None else period_of(a, unit)
        case core.DaysBetween(start, end):
            a, b = when(start, row), when(end, row)
            return None if a is None or b is None else float((b.date() - a.date()).days)
        case core.AgeAt(birth, at):
            a, b = when(birth, row), when(at, row)
            return None if a is None or b is None else completed_years(a, b)
    raise NotImplementedError(e)


def when(e: Any, row: dict[str, Any]) -> dt.datetime | None:
    """The time that a column, or a text, stands for."""
    if isinstance(e, core.Const):
        return dt.datetime.fromisoformat(e.value)
    if row[e.name] is None:
        return None
    step = dt.timedelta(days=1) if e.name == "d" else dt.timedelta(minutes=1)
    return dt.datetime(1970, 1, 1) + math.floor(row[e.name]) * step


def parts_of(a: dt.datetime) -> dict[str, int]:
    return {
        "year": a.year,
        "quarter": (a.month + 2) // 3,
        "month": a.month,
        "day": a.day,
        "weekday": a.isoweekday(),
        "hour": a.hour,
        "minute": a.minute,
    }


def period_of(a: dt.datetime, unit: str) -> str:
    monday = a.date() - dt.timedelta(days=a.weekday())
    return {
        "year": f"{a.year}",
        "quarter": f"{a.year}-Q{(a.month + 2) // 3}",
        "month": f"{a.year}-{a.month:02}",
        "week": monday.isoformat(),
        "day": a.date().isoformat(),
    }[unit]


def completed_years(birth: dt.datetime, at: dt.datetime) -> float:
    earlier = (at.month, at.day) < (birth.month, birth.day)
    return float(max(at.year - birth.year - earlier, 0))


def same(a: Any, b: Any) -> bool:
    return isinstance(a, str) == isinstance(b, str) and a == b


def applied(function: str, a: float | None) -> float | None:
    if a is None:
        return None
    if function == "log1p":
        return None if a <= -1 else kept(float(log1p(np.array([a]))[0]))
    if function == "sqrt":
        return None if a < 0 else kept(math.sqrt(a))
    made = {"abs": abs, "ceil": math.ceil, "floor": math.floor}[function](a)
    return kept(float(made))


def row_of(values: tuple[Any, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for (name, column), value in zip(DOMAIN.columns.items(), values, strict=True):
        if isinstance(column, dp.Number):
            clipped = min(max(value, column.lower), column.upper)
            out[name] = None if math.isnan(value) else kept(float(clipped))
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
    view = table.where(dp.table.expressions.Expr(condition))
    wanted = sum(plain(condition, row_of(row)) is True for row in rows)
    assert dp.stats.count(view, epsilon=1).value == wanted


def as_data(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for i, (name, column) in enumerate(DOMAIN.columns.items()):
        values = [row[i] for row in rows]
        if isinstance(column, dp.Category):
            listed = column.categories
            values = [listed[v] if 0 <= v < len(listed) else None for v in values]
        if isinstance(column, dp.DateTime):
            values = [
                None
                if math.isnan(v)
                else column.show(math.floor(min(max(v, column.lower), column.upper)))
                for v in values
            ]
        out[name] = values
    return out


@settings(max_examples=EXAMPLES, deadline=None)
@given(ANY, ROWS, st.sampled_from(["add-remove", "replace"]))
def test_neighbours_move_sums_by_no_more_than_declared(expression, rows, neighbours):
    """Sums of a derived column, and counts of its groups, with a row less or other."""
    if not expression.columns():
        return
    size = {"rows": len(rows)} if neighbours == "replace" else {}
    domain = DOMAIN.with_(neighbours=neighbours, **size)
    step = core.WithColumns((core.Named("new", expression),))
    try:
        made = core.view_domain(step, domain)
    except DomainError:  # it has no bounds, or one value only
        return
    if isinstance(made["new"], dp.Number):
        query = Sum(Everyone(), (Block(Values(("new",)), "pair"),))
    else:
        query = Sum(Categories(("new",)), (Block(Ones()),))
    asked = bind(query, made)
    near = rows[:-1] if neighbours == "add-remove" else [*rows[:-1], rows[0]]
    sums = []
    for several in (rows, near):
        with np.errstate(all="ignore"):
            batch, count = step.apply(batch_of(several), len(several), ("new",), domain)
        sums.append(aggregate.fold(asked, batch, count)[0])
    moved = np.abs(sums[0] - sums[1])
    assert moved.sum() <= asked.blocks[0].sensitivity
    assert (moved.astype(float) ** 2).sum() <= asked.blocks[0].square


@pytest.mark.parametrize(
    ("text", "said"),
    [("nothing(3)", "known functions"), ("a.b", "no part of the language")],
)
def test_a_text_that_cannot_be_read_says_what_is_wrong(text, said):
    with pytest.raises(ParameterError, match=said):
        parse(text)
