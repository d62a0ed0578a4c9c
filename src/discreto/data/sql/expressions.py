"""Translations of derived columns and filters.

A number is null where it is missing, a label's code is -1. Each follows the expression
of the same name in :mod:`discreto.core.expressions`, operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core import expressions as core
from discreto.core.expressions.kinds import LARGEST, SMALLEST, code_of, gather
from discreto.data.sql import Untranslated, dates
from discreto.data.sql.columns import Columns
from discreto.data.sql.row_language import (
    Expr,
    either,
    log1p,
    real,
    search,
    table,
    whole,
)


def apply_step(step: core.Step, rows: Columns, names: Collection[str]) -> None:
    """Add a step of a view, with these of its columns, to a query."""
    if isinstance(step, core.Where):
        rows.keep(_of(step.condition, rows) == 1)
        rows.domain = step.domain(rows.domain)
    elif isinstance(step, core.WithColumns):
        domain = step.domain(rows.domain)
        wanted = [named for named in step.columns if named.name in names]
        made = [(named.name, _of(named.expression, rows)) for named in wanted]
        for name, expr in made:
            rows.add_column(name, expr, domain[name])
        _ = rows.frame  # what follows is built on these columns
        rows.domain = domain
        rows.views += 1
    elif isinstance(step, core.Select):
        rows.domain = step.domain(rows.domain)


def _of(part: Any, rows: Columns) -> Expr:
    translate = _TRANSLATIONS.get(type(part))
    if translate is None:
        raise Untranslated(type(part).__name__)
    if not part.columns():  # worked out here: databases add up constants as decimals
        (made,) = rows.let([_constant(part.rows({}, rows.domain))])
        return made
    # Equal parts are one column, else a query grows with the letters of its text. By
    # their text: 1, 1.0 and True are equal, and columns of other kinds.
    key = "part", rows.views, repr(part)
    return rows.remember(key, lambda: rows.let([translate(part, rows)])[0])


def _constant(found: Any) -> Expr:
    if found.dtype.kind == "i":
        return whole(int(found))
    return nw.lit(None, dtype=nw.Float64) if np.isnan(found) else real(float(found))


def _unless(absent: Expr, value: Expr) -> Expr:
    """Return a number, or null where it is missing."""
    return nw.when(~absent).then(value)


def _cut(expr: Expr, low: float, high: float) -> Expr:
    """Return numbers cut to a range; least and greatest would lose nulls."""
    return either(expr < low, real(low), either(expr > high, real(high), expr))


def _tidy(expr: Expr, rows: Columns) -> Expr:
    (found,) = rows.let([_cut(expr, -LARGEST, LARGEST)])
    return either(found.abs() < SMALLEST, real(0.0), found)


def _col(part: core.Col, rows: Columns) -> Expr:
    kind = part.kind(rows.domain)
    if not isinstance(kind, core.Real):
        return rows.code(part.name)
    cut = _cut(_tidy(rows.tight(part.name), rows), kind.lower, kind.upper)
    return _unless(rows.absent(part.name), cut)


def _const(part: core.Const, rows: Columns) -> Expr:
    return _constant(part.rows({}, rows.domain))


def _arithmetic(part: core.Arithmetic, rows: Columns) -> Expr:
    a, b = _of(part.left, rows), _of(part.right, rows)
    if part.op == "+":
        return _tidy(a + b, rows)
    if part.op == "-":
        return _tidy(a - b, rows)
    if part.op == "*":
        return _tidy(a * b, rows)
    if not part.right.columns():  # Polars would multiply by the reciprocal
        constant = float(part.right.rows({}, rows.domain))
        if constant == 0 or np.isnan(constant):
            return nw.lit(None, dtype=nw.Float64)
        return _tidy(rows.backend.quotient(a, constant, a), rows)
    (divisor,) = rows.let([nw.when((b > 0) | (b < 0)).then(b)])
    return _tidy(a / divisor, rows)


def _power(part: core.Power, rows: Columns) -> Expr:
    base = out = _of(part.base, rows)
    for _ in range(part.exponent - 1):
        (out,) = rows.let([_tidy(out * base, rows)])
    return out


def _clip(part: core.Clip, rows: Columns) -> Expr:
    return _tidy(_cut(_of(part.inside, rows), part.lower, part.upper), rows)


def _apply(part: core.Apply, rows: Columns) -> Expr:
    kind, found = part.kind(rows.domain), _of(part.inside, rows)
    if part.function == "abs":
        out = found.abs()
    elif part.function in ("ceil", "floor"):
        out = found.ceil() if part.function == "ceil" else found.floor()
    elif part.function == "sqrt":
        (inside,) = rows.let([nw.when(found >= 0).then(found)])
        out = inside.sqrt()
    else:
        inside = nw.when(found > real(-1.0)).then(found)
        out = log1p(inside, part.inside.kind(rows.domain).upper, rows)  # type: ignore[union-attr]
    return _cut(_tidy(out, rows), kind.lower, kind.upper)


def _compare(part: core.Compare, rows: Columns) -> Expr:
    left, right = part.sides(rows.domain)
    a, b = _of(left, rows), _of(right, rows)
    kinds = left.kind(rows.domain), right.kind(rows.domain)
    if isinstance(kinds[0], core.Real) or isinstance(kinds[1], core.Real):
        absent = a.is_null() | b.is_null()
    else:
        absent = (a < 0) | (b < 0)
        codes = gather([*kinds[0].values, *kinds[1].values])[1]
        count = len(kinds[0].values)
        a, b = _recoded(a, codes[:count]), _recoded(b, codes[count:])
        a, b = rows.let([a, b])
    return either(absent, whole(-1), _truth(_RELATIONS[part.op](a, b)))


def _truth(condition: Expr) -> Expr:
    return either(condition, whole(1), whole(0))


def _recoded(code: Expr, codes: list[int]) -> Expr:
    return table(code, [whole(new) for new in codes], whole(-1))


_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _logic(part: core.Logic, rows: Columns) -> Expr:
    settled = 0 if part.op == "and" else 1
    codes = [_of(one, rows) for one in part.parts]
    decided, unknown = codes[0] == settled, codes[0] < 0
    for code in codes[1:]:
        decided, unknown = decided | (code == settled), unknown | (code < 0)
    rest = either(unknown, whole(-1), whole(1 - settled))
    return either(decided, whole(settled), rest)


def _not(part: core.Not, rows: Columns) -> Expr:
    code = _of(part.inside, rows)
    return either(code < 0, whole(-1), whole(1) - code)


def _is_in(part: core.IsIn, rows: Columns) -> Expr:
    found, kind = _of(part.inside, rows), part.inside.kind(rows.domain)
    if isinstance(kind, core.Real):
        among = found.is_in([float(value) for value in part.values])
        return either(found.is_null(), whole(-1), _truth(among))
    inside = {code_of(value, kind) for value in part.values}
    return _recoded(found, [int(code in inside) for code in range(len(kind.values))])


def _is_missing(part: core.IsMissing, rows: Columns) -> Expr:
    found = _of(part.inside, rows)
    if isinstance(part.inside.kind(rows.domain), core.Real):
        return _truth(found.is_null())
    return _truth(found < 0)


def _if_else(part: core.IfElse, rows: Columns) -> Expr:
    asked = _of(part.condition, rows)
    yes, no = _of(part.yes, rows), _of(part.no, rows)
    a, b = part.yes.kind(rows.domain), part.no.kind(rows.domain)
    if isinstance(a, core.Real) or isinstance(b, core.Real):
        return _unless(asked < 0, either(asked == 1, yes, no))
    codes = gather([*a.values, *b.values])[1]
    yes = _recoded(yes, codes[: len(a.values)])
    no = _recoded(no, codes[len(a.values) :])
    return either(asked < 0, whole(-1), either(asked == 1, yes, no))


def _fill(part: core.Fill, rows: Columns) -> Expr:
    found, kind = _of(part.inside, rows), part.inside.kind(rows.domain)
    if isinstance(kind, core.Real):
        return nw.coalesce(found, real(float(part.value)))
    codes = gather([*kind.values, part.value])[1]
    return either(found < 0, whole(codes[-1]), found)


def _cut_groups(part: core.Cut, rows: Columns) -> Expr:
    found = _of(part.inside, rows)
    place = search(found, part.edges, whole, right=True)
    return either(found.is_null(), whole(-1), place)


def _renamed(part: core.Recode | core.Text, rows: Columns) -> Expr:
    return _recoded(_of(part.inside, rows), part.codes(rows.domain))


def _to_number(part: core.ToNumber, rows: Columns) -> Expr:
    found, kind = _of(part.inside, rows), part.inside.kind(rows.domain)
    numbers: list[Expr] = [nw.lit(None, dtype=nw.Float64)] * len(kind.values)  # type: ignore[union-attr]
    for old, new in zip(part.old, part.new, strict=True):
        numbers[code_of(old, kind)] = real(new)  # type: ignore[arg-type]
    return table(found, numbers, nw.lit(None, dtype=nw.Float64))


def _of_dates(translate: Callable[..., Expr]) -> Callable[[Any, Columns], Expr]:
    """Return the translation of a part of dates, whose sides are worked out first."""

    def translated(part: Any, rows: Columns) -> Expr:
        two = isinstance(part, core.DaysBetween | core.AgeAt)
        sides = part.sides(rows.domain) if two else (part.inside,)
        return translate(part, *[_of(side, rows) for side in sides], rows)

    return translated


_TRANSLATIONS: dict[type, Callable[[Any, Columns], Expr]] = {
    core.AgeAt: _of_dates(dates.age_at),
    core.Apply: _apply,
    core.Arithmetic: _arithmetic,
    core.Clip: _clip,
    core.Col: _col,
    core.Compare: _compare,
    core.Const: _const,
    core.Cut: _cut_groups,
    core.DatePart: _of_dates(dates.part_of),
    core.DaysBetween: _of_dates(dates.days_between),
    core.Fill: _fill,
    core.IfElse: _if_else,
    core.IsIn: _is_in,
    core.IsMissing: _is_missing,
    core.Logic: _logic,
    core.Not: _not,
    core.Period: _of_dates(dates.period_of),
    core.Power: _power,
    core.Recode: _renamed,
    core.Text: _renamed,
    core.ToNumber: _to_number,
}
