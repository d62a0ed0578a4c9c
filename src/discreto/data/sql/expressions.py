"""Translations of derived columns and filters.

A number is null where it is missing, a label's code is -1. Each follows the expression
of the same name in :mod:`discreto.core.expressions`, operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.expressions import (
    AgeAt,
    Apply,
    Arithmetic,
    Clip,
    Col,
    Compare,
    Const,
    Cut,
    DatePart,
    DaysBetween,
    Fill,
    IfElse,
    IsIn,
    IsMissing,
    Logic,
    Not,
    Period,
    Power,
    Real,
    Recode,
    Select,
    Step,
    Text,
    ToNumber,
    Where,
    WithColumns,
)
from discreto.core.expressions.kinds import LARGEST, SMALLEST, code_of, gather
from discreto.data.sql import Untranslated
from discreto.data.sql import date_expressions as dates
from discreto.data.sql.columns import Columns, Expr, search, table
from discreto.data.sql.exponentials import log1p
from discreto.data.sql.sql_terms import either, real, whole


def apply_step(step: Step, rows: Columns, names: Collection[str]) -> None:
    """The rows of a view, with these of its columns, from those of a table."""
    if isinstance(step, Where):
        rows.keep(_of(step.condition, rows) == 1)
        rows.domain = step.domain(rows.domain)
    elif isinstance(step, WithColumns):
        domain = step.domain(rows.domain)
        wanted = [named for named in step.columns if named.name in names]
        made = [(named.name, _of(named.expression, rows)) for named in wanted]
        for name, expr in made:
            rows.add_column(name, expr, domain[name])
        _ = rows.frame  # what follows is built on these columns
        rows.domain = domain
        rows.views += 1
    elif isinstance(step, Select):
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
    """A number, or null where it is missing."""
    return nw.when(~absent).then(value)


def _cut(expr: Expr, low: float, high: float) -> Expr:
    """Numbers cut to a range; null stays null, which least and greatest would lose."""
    return either(expr < low, real(low), either(expr > high, real(high), expr))


def _tidy(expr: Expr, rows: Columns) -> Expr:
    (found,) = rows.let([_cut(expr, -LARGEST, LARGEST)])
    return either(found.abs() < SMALLEST, real(0.0), found)


def _col(part: Col, rows: Columns) -> Expr:
    kind = part.kind(rows.domain)
    if not isinstance(kind, Real):
        return rows.code(part.name)
    cut = _cut(_tidy(rows.tight(part.name), rows), kind.lower, kind.upper)
    return _unless(rows.absent(part.name), cut)


def _const(part: Const, rows: Columns) -> Expr:
    return _constant(part.rows({}, rows.domain))


def _arithmetic(part: Arithmetic, rows: Columns) -> Expr:
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
        return _tidy(rows.backend.over(a, constant, a), rows)
    (divisor,) = rows.let([nw.when((b > 0) | (b < 0)).then(b)])
    return _tidy(a / divisor, rows)


def _power(part: Power, rows: Columns) -> Expr:
    base = out = _of(part.base, rows)
    for _ in range(part.exponent - 1):
        (out,) = rows.let([_tidy(out * base, rows)])
    return out


def _clip(part: Clip, rows: Columns) -> Expr:
    return _tidy(_cut(_of(part.inside, rows), part.lower, part.upper), rows)


def _apply(part: Apply, rows: Columns) -> Expr:
    kind, found = part.kind(rows.domain), _of(part.inside, rows)
    if part.function == "abs":
        out = found.abs()
    elif part.function in ("ceil", "floor"):
        out = getattr(found, part.function)()
    elif part.function == "sqrt":
        (inside,) = rows.let([nw.when(found >= 0).then(found)])
        out = inside.sqrt()
    else:
        inside = nw.when(found > real(-1.0)).then(found)
        out = log1p(inside, part.inside.kind(rows.domain).upper, rows)  # type: ignore[union-attr]
    return _cut(_tidy(out, rows), kind.lower, kind.upper)


def _compare(part: Compare, rows: Columns) -> Expr:
    left, right = part.sides(rows.domain)
    a, b = _of(left, rows), _of(right, rows)
    kinds = left.kind(rows.domain), right.kind(rows.domain)
    if isinstance(kinds[0], Real) or isinstance(kinds[1], Real):
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


def _logic(part: Logic, rows: Columns) -> Expr:
    settled = 0 if part.op == "and" else 1
    codes = [_of(one, rows) for one in part.parts]
    decided, unknown = codes[0] == settled, codes[0] < 0
    for code in codes[1:]:
        decided, unknown = decided | (code == settled), unknown | (code < 0)
    rest = either(unknown, whole(-1), whole(1 - settled))
    return either(decided, whole(settled), rest)


def _not(part: Not, rows: Columns) -> Expr:
    code = _of(part.inside, rows)
    return either(code < 0, whole(-1), whole(1) - code)


def _is_in(part: IsIn, rows: Columns) -> Expr:
    found, kind = _of(part.inside, rows), part.inside.kind(rows.domain)
    if isinstance(kind, Real):
        among = found.is_in([float(value) for value in part.values])
        return either(found.is_null(), whole(-1), _truth(among))
    inside = {code_of(value, kind) for value in part.values}
    return _recoded(found, [int(code in inside) for code in range(len(kind.values))])


def _is_missing(part: IsMissing, rows: Columns) -> Expr:
    found = _of(part.inside, rows)
    if isinstance(part.inside.kind(rows.domain), Real):
        return _truth(found.is_null())
    return _truth(found < 0)


def _if_else(part: IfElse, rows: Columns) -> Expr:
    asked = _of(part.condition, rows)
    yes, no = _of(part.yes, rows), _of(part.no, rows)
    a, b = part.yes.kind(rows.domain), part.no.kind(rows.domain)
    if isinstance(a, Real) or isinstance(b, Real):
        return _unless(asked < 0, either(asked == 1, yes, no))
    codes = gather([*a.values, *b.values])[1]
    yes = _recoded(yes, codes[: len(a.values)])
    no = _recoded(no, codes[len(a.values) :])
    return either(asked < 0, whole(-1), either(asked == 1, yes, no))


def _fill(part: Fill, rows: Columns) -> Expr:
    found, kind = _of(part.inside, rows), part.inside.kind(rows.domain)
    if isinstance(kind, Real):
        return nw.coalesce(found, real(float(part.value)))
    codes = gather([*kind.values, part.value])[1]
    return either(found < 0, whole(codes[-1]), found)


def _cut_groups(part: Cut, rows: Columns) -> Expr:
    found = _of(part.inside, rows)
    place = search(found, part.edges, whole, right=True)
    return either(found.is_null(), whole(-1), place)


def _renamed(part: Recode | Text, rows: Columns) -> Expr:
    return _recoded(_of(part.inside, rows), part.codes(rows.domain))


def _to_number(part: ToNumber, rows: Columns) -> Expr:
    found, kind = _of(part.inside, rows), part.inside.kind(rows.domain)
    numbers: list[Expr] = [nw.lit(None, dtype=nw.Float64)] * len(kind.values)  # type: ignore[union-attr]
    for old, new in zip(part.old, part.new, strict=True):
        numbers[code_of(old, kind)] = real(new)  # type: ignore[arg-type]
    return table(found, numbers, nw.lit(None, dtype=nw.Float64))


def _date_part(part: DatePart, rows: Columns) -> Expr:
    return dates.part_of(part, _of(part.inside, rows), rows)


def _period(part: Period, rows: Columns) -> Expr:
    return dates.period_of(part, _of(part.inside, rows), rows)


def _days_between(part: DaysBetween, rows: Columns) -> Expr:
    start, end = (_of(side, rows) for side in part.sides(rows.domain))
    return dates.days_between(part, start, end, rows)


def _age_at(part: AgeAt, rows: Columns) -> Expr:
    birth, at = (_of(side, rows) for side in part.sides(rows.domain))
    return dates.age_at(part, birth, at, rows)


_TRANSLATIONS: dict[type, Callable[[Any, Columns], Expr]] = {
    AgeAt: _age_at,
    Apply: _apply,
    Arithmetic: _arithmetic,
    Clip: _clip,
    Col: _col,
    Compare: _compare,
    Const: _const,
    Cut: _cut_groups,
    DatePart: _date_part,
    DaysBetween: _days_between,
    Fill: _fill,
    IfElse: _if_else,
    IsIn: _is_in,
    IsMissing: _is_missing,
    Logic: _logic,
    Not: _not,
    Period: _period,
    Power: _power,
    Recode: _renamed,
    Text: _renamed,
    ToNumber: _to_number,
}
