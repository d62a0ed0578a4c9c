"""Expressions as a line of text: ``age >= 65 and sex == 'f'``.

The text is read with Python's grammar and made into data; nothing is evaluated. Every
expression prints as a text that reads as the same expression again.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Literal, NoReturn

from discreto.core import expressions as core
from discreto.errors import DiscretoError, ParameterError
from discreto.table.expressions import Expr, cut_labels, node_of

_LONGEST = 10_000
_ARITHMETIC: dict[type, Literal["+", "-", "*", "/"]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_COMPARE: dict[type, Literal["<", "<=", ">", ">=", "==", "!="]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def parse(text: str) -> core.Expression:
    """Read an expression.

    Parameters
    ----------
    text
        Such as ``kg / m ** 2``, ``age >= 65 and region in ['north', 'east']`` or
        ``cut(age, [18, 65])``. A column whose name has spaces or signs stands in
        backticks: ```Weight kg` > 80``, or ``col('Weight kg') > 80``.

    Raises
    ------
    ParameterError
        It cannot be read; the message says where.

    Examples
    --------
    >>> str(parse("18 <= age < 65"))
    '((18 <= age) and (age < 65))'
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParameterError("an expression is a text of at most 10000 letters.")
    text = with_backticks(text)
    reader = _Reader(text)
    try:
        return reader.node(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        place = "" if error.offset is None else f" near letter {error.offset}"
        raise ParameterError(f"cannot read {text!r}{place}.{hint_for(text)}") from None
    except DiscretoError:  # it says what is wrong
        raise
    except (RecursionError, MemoryError, ValueError):
        raise ParameterError(f"cannot read {text[:80]!r}: it is too long.") from None


def with_backticks(text: str) -> str:
    """Replace names in backticks by ``col('...')``; texts in quotes stay.

    >>> with_backticks("`Weight kg` > 80 and note == 'a `b`'")
    "col('Weight kg') > 80 and note == 'a `b`'"
    """
    return _PARTS.sub(lambda part: f"col({part[1]!r})" if part[1] else part[0], text)


_PARTS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`([^`]+)`")


def hint_for(text: str) -> str:
    """Return a hint at what was meant: SQL, or a name with spaces or signs."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)  # texts in quotes are left alone
    for pattern, hint in _HINTS:
        if re.search(pattern, bare):
            return f" {hint}"
    return (
        " Expressions are such as age >= 65 and sex == 'f'. A column whose name has "
        "spaces or signs stands in backticks: `Weight kg`."
    )


_HINTS = (
    (r"=>|=<", "Write >= and <=."),
    (r"<>", "Write != for what differs."),
    (r"(?i:\bbetween\b)", "Write 18 <= age <= 65 for what lies between."),
    (r"(?i:\bis\s+(not\s+)?null\b)", "Write is_missing(age) for what is missing."),
    (r"\b(AND|OR|NOT|IN)\b", "Write and, or, not and in with small letters."),
    (r"(?i:\blike\b)", "There is no pattern; write region in ['N', 'S']."),
    (r"(?<![<>=!])=(?!=)", "Write == for what is equal."),
)


def expression(thing: Expr | str) -> core.Expression:
    """Return the data of an expression, or of its text."""
    return parse(thing) if isinstance(thing, str) else node_of(thing)


class _Reader:
    """Makes expressions of Python's syntax trees."""

    def __init__(self, text: str) -> None:
        self._text = text

    def node(self, tree: ast.expr) -> core.Expression:
        """Return the expression of a syntax tree."""
        if isinstance(tree, ast.Name):
            if tree.id in ("true", "false"):
                return core.Const(tree.id == "true")
            return core.Col(tree.id)
        if isinstance(tree, ast.Constant):
            return core.Const(self.constant(tree))
        if isinstance(tree, ast.BinOp):
            return self._operation(tree)
        if isinstance(tree, ast.UnaryOp):
            return self._unary(tree)
        if isinstance(tree, ast.BoolOp):
            op: Literal["and", "or"] = "and" if isinstance(tree.op, ast.And) else "or"
            return core.Logic(op, tuple(self.node(part) for part in tree.values))
        if isinstance(tree, ast.Compare):
            return self._comparison(tree)
        if isinstance(tree, ast.Call):
            return self._call(tree)
        self.refuse(tree)

    def _operation(self, tree: ast.BinOp) -> core.Expression:
        if isinstance(tree.op, ast.Pow):
            exponent = self.constant(tree.right)
            if type(exponent) is not int:
                self.refuse(tree.right, "an exponent is a whole number")
            return core.Power(self.node(tree.left), exponent)
        if type(tree.op) not in _ARITHMETIC:
            self.refuse(tree, "use + - * / **, and, or, not")
        op = _ARITHMETIC[type(tree.op)]
        return core.Arithmetic(op, self.node(tree.left), self.node(tree.right))

    def _unary(self, tree: ast.UnaryOp) -> core.Expression:
        if isinstance(tree.op, ast.Not):
            return core.Not(self.node(tree.operand))
        if isinstance(tree.op, ast.USub):
            if isinstance(tree.operand, ast.Constant):
                return core.Const(self.constant(tree))
            zero = core.Const(0)
            return core.Arithmetic("-", zero, self.node(tree.operand))
        self.refuse(tree)

    def _comparison(self, tree: ast.Compare) -> core.Expression:
        parts: list[core.Expression] = []
        left = tree.left
        for op, right in zip(tree.ops, tree.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                found: core.Expression = core.IsIn(self.node(left), self.several(right))
                parts.append(core.Not(found) if isinstance(op, ast.NotIn) else found)
            elif type(op) in _COMPARE:
                relation = _COMPARE[type(op)]
                parts.append(core.Compare(relation, self.node(left), self.node(right)))
            else:
                self.refuse(tree, "use < <= > >= == != in")
            left = right
        return parts[0] if len(parts) == 1 else core.Logic("and", tuple(parts))

    def _call(self, tree: ast.Call) -> core.Expression:
        if not isinstance(tree.func, ast.Name) or tree.keywords:
            self.refuse(tree, "functions are written as clip(x, 0, 1)")
        name, args = tree.func.id, tree.args
        known = _CALLS.get(name)
        if known is None:
            self.refuse(tree, f"known functions: {', '.join(sorted(_CALLS))}")
        least, most, make = known
        if not least <= len(args) <= most:
            self.refuse(tree, f"{name} takes {least} to {most} arguments")
        made: core.Expression = make(self, *args)
        return made

    def constant(self, tree: ast.expr) -> Any:
        """Return the value of a constant."""
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            value = self.constant(tree.operand)
            if isinstance(value, str | bool):
                self.refuse(tree)
            return -value
        if isinstance(tree, ast.Constant) and type(tree.value) in (
            bool,
            int,
            float,
            str,
        ):
            return tree.value
        self.refuse(tree, "a constant is a number, a text, True or False")

    def several(self, tree: ast.expr) -> tuple[Any, ...]:
        """Return the values of a list."""
        if not isinstance(tree, ast.List | ast.Tuple | ast.Set):
            self.refuse(tree, "a list is written as [1, 2, 3]")
        return tuple(self.constant(part) for part in tree.elts)

    def pairs(self, tree: ast.expr) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the keys and values of a mapping."""
        if not isinstance(tree, ast.Dict) or None in tree.keys:
            self.refuse(tree, "a mapping is written as {'old': 'new'}")
        keys = tuple(self.constant(key) for key in tree.keys if key is not None)
        return keys, tuple(self.constant(value) for value in tree.values)

    def refuse(
        self, tree: ast.AST, why: str = "it is no part of the language"
    ) -> NoReturn:
        part = ast.get_source_segment(self._text.strip(), tree) or self._text
        raise ParameterError(f"cannot read {part[:80]!r}: {why}.")


def _column(reader: _Reader, name: ast.expr) -> core.Expression:
    text = reader.constant(name)
    if not isinstance(text, str):
        reader.refuse(name, "a column's name is a text")
    return core.Col(text)


def _clip(reader: _Reader, inside: ast.expr, low: ast.expr, high: ast.expr) -> Any:
    return core.Clip(reader.node(inside), reader.constant(low), reader.constant(high))


def _cut(reader: _Reader, inside: ast.expr, edges: ast.expr, *names: ast.expr) -> Any:
    ends = reader.several(edges)
    labels = reader.several(names[0]) if names else None
    return core.Cut(reader.node(inside), ends, cut_labels(ends, labels))


def _choice(reader: _Reader, *parts: ast.expr) -> Any:
    return core.IfElse(*[reader.node(part) for part in parts])


_CALLS: dict[str, tuple[int, int, Any]] = {
    "col": (1, 1, _column),
    "clip": (3, 3, _clip),
    "cut": (2, 3, _cut),
    "if_else": (3, 3, _choice),
    "is_in": (2, 2, lambda r, a, b: core.IsIn(r.node(a), r.several(b))),
    "is_missing": (1, 1, lambda r, a: core.IsMissing(r.node(a))),
    "fill": (2, 2, lambda r, a, b: core.Fill(r.node(a), r.constant(b))),
    "period": (2, 2, lambda r, a, b: core.Period(r.node(a), r.constant(b))),
    "days_between": (2, 2, lambda r, a, b: core.DaysBetween(r.node(a), r.node(b))),
    "age_at": (2, 2, lambda r, a, b: core.AgeAt(r.node(a), r.node(b))),
    "recode": (2, 2, lambda r, a, b: core.Recode(r.node(a), *r.pairs(b))),
    "to_number": (2, 2, lambda r, a, b: core.ToNumber(r.node(a), *r.pairs(b))),
}
for _name in ("year", "quarter", "month", "day", "weekday", "hour", "minute"):
    _CALLS[_name] = 1, 1, lambda r, a, f=_name: core.DatePart(f, r.node(a))
for _name in ("abs", "ceil", "floor", "log1p", "sqrt"):
    _CALLS[_name] = 1, 1, lambda r, a, f=_name: core.Apply(f, r.node(a))
for _name in ("lower", "strip", "upper"):
    _CALLS[_name] = 1, 1, lambda r, a, f=_name: core.Text(f, r.node(a))
