"""Derived columns and filters, as Python writes them: ``col("age") >= 65``.

An expression is data: it names columns, constants and operations from a closed list,
and has a text (:mod:`discreto.table.expression_text`) and a JSON form. Bounds and
categories of its result follow from the domain; rows are not read for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from itertools import pairwise
from numbers import Real
from typing import Any, Literal

from discreto.core import expressions as core
from discreto.core.domain.columns import of_python
from discreto.core.domain.domain import Value
from discreto.errors import ParameterError

Operand = Any  # an Expr, or a constant


class Expr:
    """A function of a row's columns.

    Made by :func:`col`, :func:`lit` and :func:`if_else`, and by the operators ``+ - *
    / **``, ``< <= > >= == !=``, ``& | ~``.

    Parameters
    ----------
    node
        Its data; see ``discreto.core.expressions``.

    Examples
    --------
    >>> bmi = col("kg") / col("m") ** 2
    >>> bmi.clip(10, 80)
    Expr(clip((kg / (m ** 2)), 10, 80))
    >>> (col("age") >= 65) & col("sex").is_in(["f"])
    Expr(((age >= 65) and is_in(sex, ['f'])))
    """

    __slots__ = ("node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: core.Expression) -> None:
        self.node = node

    def __add__(self, other: Operand) -> Expr:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _arithmetic("/", other, self)

    def __neg__(self) -> Expr:
        return _arithmetic("-", 0, self)

    def __pow__(self, exponent: int) -> Expr:
        return Expr(core.Power(self.node, exponent))

    def __abs__(self) -> Expr:
        return Expr(core.Apply("abs", self.node))

    def __lt__(self, other: Operand) -> Expr:
        return _compare("<", self, other)

    def __le__(self, other: Operand) -> Expr:
        return _compare("<=", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return _compare(">", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return _compare(">=", self, other)

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return _compare("==", self, other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return _compare("!=", self, other)

    def __and__(self, other: Operand) -> Expr:
        return _join("and", self, other)

    def __or__(self, other: Operand) -> Expr:
        return _join("or", self, other)

    def __invert__(self) -> Expr:
        return Expr(core.Not(self.node))

    def __bool__(self) -> bool:
        raise ParameterError(
            f"{self.node} is different in every row, so it is neither true nor false. "
            "Join conditions with & | ~ instead of and, or, not; a < b < c is "
            "(a < b) & (b < c)."
        )

    def clip(self, lower: float, upper: float) -> Expr:
        """Return the number cut to a range, which becomes its bounds.

        Parameters
        ----------
        lower, upper
            The smallest and largest value that counts.
        """
        return Expr(core.Clip(self.node, lower, upper))

    def abs(self) -> Expr:
        """Return the number without its sign."""
        return Expr(core.Apply("abs", self.node))

    def floor(self) -> Expr:
        """Return the largest whole number that is not above."""
        return Expr(core.Apply("floor", self.node))

    def ceil(self) -> Expr:
        """Return the smallest whole number that is not below."""
        return Expr(core.Apply("ceil", self.node))

    def sqrt(self) -> Expr:
        """Return the square root; missing below 0."""
        return Expr(core.Apply("sqrt", self.node))

    def log1p(self) -> Expr:
        """Return the logarithm of 1 + the number; missing from -1 down."""
        return Expr(core.Apply("log1p", self.node))

    def cut(self, edges: Iterable[float], labels: Iterable[str] | None = None) -> Expr:
        """Return groups of a number: below the first edge, ..., from the last edge up.

        Parameters
        ----------
        edges
            Rising numbers; a value that equals one belongs to the group above it.
        labels
            What the groups are called, one more than there are edges.

        Examples
        --------
        >>> col("age").cut([18, 65]).node.labels
        ('< 18', '18 to < 65', '>= 65')
        """
        ends = tuple(edges)
        return Expr(core.Cut(self.node, ends, cut_labels(ends, labels)))

    def is_in(self, values: Iterable[Value]) -> Expr:
        """Return whether the value is one of several, which the domain must declare.

        Parameters
        ----------
        values
            The values.
        """
        return Expr(core.IsIn(self.node, tuple(map(of_python, values))))

    def is_missing(self) -> Expr:
        """Return whether the value is missing."""
        return Expr(core.IsMissing(self.node))

    def fill(self, value: Value) -> Expr:
        """Return the value, or this one where it is missing.

        Parameters
        ----------
        value
            What stands for a missing value.
        """
        return Expr(core.Fill(self.node, value))

    def year(self) -> Expr:
        """Return the year of a date."""
        return Expr(core.DatePart("year", self.node))

    def quarter(self) -> Expr:
        """Return the quarter of a date, 1 to 4."""
        return Expr(core.DatePart("quarter", self.node))

    def month(self) -> Expr:
        """Return the month of a date, 1 to 12; ``period("month")`` keeps the year."""
        return Expr(core.DatePart("month", self.node))

    def day(self) -> Expr:
        """Return the day of the month of a date."""
        return Expr(core.DatePart("day", self.node))

    def weekday(self) -> Expr:
        """Return the day of the week of a date: Monday is 1, Sunday 7."""
        return Expr(core.DatePart("weekday", self.node))

    def hour(self) -> Expr:
        """Return the hour of a time, 0 to 23, on the clock of its column's zone."""
        return Expr(core.DatePart("hour", self.node))

    def minute(self) -> Expr:
        """Return the minute of a time, 0 to 59."""
        return Expr(core.DatePart("minute", self.node))

    def period(self, unit: Literal["year", "quarter", "month", "week", "day"]) -> Expr:
        """Return the year, quarter, month, week or day of a date, as a category.

        Parameters
        ----------
        unit
            How long a period is. Weeks begin on Monday and have the name of that day.

        Examples
        --------
        >>> col("admitted").period("month")
        Expr(period(admitted, 'month'))
        """
        return Expr(core.Period(self.node, unit))

    def days_to(self, end: Operand) -> Expr:
        """Return the days until another date.

        Parameters
        ----------
        end
            A date: an expression, a ``date`` or a text such as ``"2024-12-31"``.
        """
        return Expr(core.DaysBetween(self.node, node_of(end)))

    def age_at(self, date: Operand) -> Expr:
        """Return completed years from this date of birth to another date.

        Parameters
        ----------
        date
            A date: an expression, a ``date`` or a text such as ``"2024-12-31"``.
        """
        return Expr(core.AgeAt(self.node, node_of(date)))

    def recode(self, names: Mapping[Value, Value]) -> Expr:
        """Return other names for some categories; several may become one.

        Parameters
        ----------
        names
            The new name of each old one; those that are not named stay.
        """
        return Expr(core.Recode(self.node, tuple(names), tuple(names.values())))

    def to_number(self, numbers: Mapping[Value, float]) -> Expr:
        """Return a number for each category; those without one are missing.

        Parameters
        ----------
        numbers
            The number of each category.
        """
        return Expr(core.ToNumber(self.node, tuple(numbers), tuple(numbers.values())))

    def lower(self) -> Expr:
        """Return categories in small letters; those that become the same are one."""
        return Expr(core.Text("lower", self.node))

    def upper(self) -> Expr:
        """Return categories in large letters; those that become the same are one."""
        return Expr(core.Text("upper", self.node))

    def strip(self) -> Expr:
        """Return categories without spaces around them."""
        return Expr(core.Text("strip", self.node))

    def __repr__(self) -> str:
        return f"Expr({self.node})"

    def __str__(self) -> str:
        return str(self.node)


def col(name: str) -> Expr:
    """Return a column of a table.

    Parameters
    ----------
    name
        Its name in the domain.

    Examples
    --------
    >>> col("age") >= 65
    Expr((age >= 65))
    """
    if not isinstance(name, str):
        raise ParameterError(f"a column's name is a text. Got {name!r}.")
    return Expr(core.Col(of_python(name)))


def lit(value: Value) -> Expr:
    """Return a constant: a number, a text or a Boolean.

    Parameters
    ----------
    value
        The constant.
    """
    return Expr(core.Const(of_python(value)))


def if_else(condition: Expr, yes: Operand, no: Operand) -> Expr:
    """Return one value where a condition is true, another where it is false.

    Parameters
    ----------
    condition
        Something true or false; where it is missing, so is the result.
    yes, no
        Expressions or constants, both numbers or both categories.

    Examples
    --------
    >>> if_else(col("age") < 18, "child", "adult")
    Expr(if_else((age < 18), 'child', 'adult'))
    """
    return Expr(core.IfElse(node_of(condition), node_of(yes), node_of(no)))


def node_of(thing: Operand) -> core.Expression:
    """Return the data of an expression, or of a constant."""
    if isinstance(thing, Expr):
        return thing.node
    thing = of_python(thing)
    if isinstance(thing, str | int | float | bool):
        return core.Const(thing)
    if isinstance(thing, date):
        return core.Const(thing.isoformat())
    raise ParameterError(
        f"an expression is made of col(...), numbers, texts and truths. Got "
        f"{type(thing).__name__}."
    )


def cut_labels(
    edges: tuple[float, ...], labels: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return the names of the groups between edges."""
    if labels is not None:
        return tuple(labels)
    fit = all(isinstance(e, Real) and abs(e) <= 1e150 for e in edges)
    if not edges or not fit:
        raise ParameterError("cut needs rising edges: numbers up to 1e150.")
    between = [f"{a:g} to < {b:g}" for a, b in pairwise(edges)]
    return (f"< {edges[0]:g}", *between, f">= {edges[-1]:g}")


def _arithmetic(op: Literal["+", "-", "*", "/"], left: Operand, right: Operand) -> Expr:
    return Expr(core.Arithmetic(op, node_of(left), node_of(right)))


def _compare(
    op: Literal["<", "<=", ">", ">=", "==", "!="], left: Operand, right: Operand
) -> Expr:
    return Expr(core.Compare(op, node_of(left), node_of(right)))


def _join(op: Literal["and", "or"], left: Operand, right: Operand) -> Expr:
    parts: list[core.Expression] = []
    for part in (node_of(left), node_of(right)):
        if isinstance(part, core.Logic) and part.op == op:
            parts += part.parts
        else:
            parts.append(part)
    return Expr(core.Logic(op, tuple(parts)))
