"""Views: a table with derived columns, with fewer rows or columns, row by row.

Each row of a view comes from one row of the table, by that row alone, so tables that
differ in a row have views that differ in at most that row. A filter makes the number
of rows unknown; with ``neighbours="replace"`` that number is public, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.documents import check_plain
from discreto.core.domain.domain import Category, Domain
from discreto.core.expressions.arithmetic import Apply, Arithmetic, Clip, Power
from discreto.core.expressions.dates import AgeAt, DatePart, DaysBetween, Period
from discreto.core.expressions.kinds import Expression, column_of, truth
from discreto.core.expressions.logic import (
    Compare,
    Fill,
    IfElse,
    IsIn,
    IsMissing,
    Logic,
    Not,
)
from discreto.core.expressions.recoding import Cut, Recode, Text, ToNumber
from discreto.core.expressions.values import Col, Const
from discreto.core.frame import Array, Frame, Origin, Place
from discreto.core.query import Batch
from discreto.core.query_json import decode, encode
from discreto.core.unknown_keys import OpenText
from discreto.core.validation import check_parts
from discreto.errors import DomainError, ParameterError
from discreto.text.wrong_calls import quoted_column

DEEPEST = 64  # expressions inside of each other
MOST_STEPS = 64  # of a view
_MOST_PARTS = 1 << 18  # of a view from outside


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name of the column that it makes."""

    name: str
    expression: Expression

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= 200:
            raise ParameterError("a column's name is a text of 1 to 200 letters.")

    def check(self, domain: Domain) -> None:
        """Refuse an expression that makes no column of a domain."""
        if not self.expression.columns():
            hint = quoted_column(self.expression, domain)
            made_here = self.name.startswith("(")  # and has a name of ours
            what = f"{'' if made_here else self.name + ' = '}{self.expression}"
            raise DomainError(f"{what} names no column.{hint}")
        column_of(self.expression.kind(domain), f"{self.name} = {self.expression}")

    def __str__(self) -> str:
        return f"{self.name} = {self.expression}"


@dataclass(frozen=True, slots=True)
class WithColumns:
    """New columns beside the others, or in place of those of the same name."""

    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        names = [named.name for named in self.columns]
        if not names or len(set(names)) != len(names):
            raise ParameterError("new columns have different names.")

    def check(self, domain: Domain) -> None:
        """Refuse to replace the column that says whose rows they are."""
        for named in self.columns:
            if named.name == domain.person:
                raise DomainError(f"{named.name!r} says whose rows they are: it stays.")

    def domain(self, domain: Domain) -> Domain:
        """The domain with the new columns."""
        made = {
            named.name: column_of(named.expression.kind(domain), str(named))
            for named in self.columns
        }
        return domain.with_(columns=dict(domain.columns) | made)

    def needs(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of the table that these columns of the view come from."""
        made = {named.name: named.expression for named in self.columns}
        found: list[str] = []
        for name in names:
            found += made[name].columns() if name in made else (name,)
        return tuple(dict.fromkeys(found))

    def apply(
        self, batch: Batch, rows: int, names: Sequence[str], domain: Domain
    ) -> tuple[dict[str, Array], int]:
        """The rows of the view that come from a batch of the table's rows."""
        made = {named.name: named.expression for named in self.columns}
        out = {}
        for name in names:
            if name in made:
                found = made[name].rows(batch, domain)
                out[name] = np.ascontiguousarray(np.broadcast_to(found, (rows,)))
            else:
                out[name] = batch[name]
        return out, rows

    def __str__(self) -> str:
        return "with " + ", ".join(map(str, self.columns))


@dataclass(frozen=True, slots=True)
class Where:
    """The rows for which a condition is true: not those where it is unknown."""

    condition: Expression

    def check(self, domain: Domain) -> None:
        """Refuse what is no condition, and a public number of rows."""
        truth(self.condition, domain, "where")
        if not self.condition.columns():
            hint = quoted_column(self.condition, domain)
            raise DomainError(f"where {self.condition} names no column.{hint}")
        if domain.neighbours == "replace":
            raise DomainError(
                "with neighbours='replace' the number of rows is public, and how many "
                "a filter leaves is not. Use a domain with neighbours='add-remove'."
            )

    def domain(self, domain: Domain) -> Domain:
        """The same columns; nobody knows how many rows are left."""
        return domain.with_(rows=None)

    def needs(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are asked for and those of the condition."""
        return tuple(dict.fromkeys((*names, *self.condition.columns())))

    def apply(
        self, batch: Batch, rows: int, names: Sequence[str], domain: Domain
    ) -> tuple[dict[str, Array], int]:
        """The rows of a batch for which the condition is true."""
        chosen = self.chosen(batch, rows, domain)
        return {n: batch[n][chosen] for n in names}, int(np.count_nonzero(chosen))

    def chosen(self, batch: Batch, rows: int, domain: Domain) -> Array:
        """Which rows of a batch are in the view."""
        return np.broadcast_to(self.condition.rows(batch, domain) == 1, (rows,))

    def __str__(self) -> str:
        text = str(self.condition)
        return f"where {text[1:-1] if text.startswith('(') else text}"


@dataclass(frozen=True, slots=True)
class Select:
    """Some columns only."""

    names: tuple[str, ...]

    def check(self, domain: Domain) -> None:
        """Refuse columns that are not there."""
        if not self.names:
            raise ParameterError("select needs at least one column.")
        for name in self.names:
            domain[name]

    def domain(self, domain: Domain) -> Domain:
        """The domain of these columns, and of whose rows they are."""
        return domain.select(self.names)

    def needs(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are asked for."""
        return tuple(names)

    def apply(
        self, batch: Batch, rows: int, names: Sequence[str], domain: Domain
    ) -> tuple[dict[str, Array], int]:
        """The batch, as it is."""
        return {name: batch[name] for name in names}, rows

    def __str__(self) -> str:
        return "select " + ", ".join(self.names)


Step = WithColumns | Where | Select
KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
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
        Named,
        Not,
        Period,
        Power,
        Recode,
        Select,
        Text,
        ToNumber,
        Where,
        WithColumns,
    )
}


def view_domain(step: Step, domain: Domain) -> Domain:
    """The domain of a view, or a refusal if any part of it does not fit."""
    if not isinstance(step, Step):
        raise ParameterError("a view has new columns, a condition or some columns.")
    check_parts(step, domain, DEEPEST)
    return step.domain(domain)


def view_to_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The steps of a view as JSON data."""
    return [encode(step) for step in steps]


def view_from_json(data: Any) -> tuple[Step, ...]:
    """The steps of a view from JSON data of any origin; refuses what is not one."""
    check_plain(data, _MOST_PARTS, depth=2 * DEEPEST)
    if not isinstance(data, list) or len(data) > MOST_STEPS:
        raise ParameterError(f"a view is a list of at most {MOST_STEPS} steps.")
    steps = tuple(decode(step, KINDS, deepest=2 * DEEPEST) for step in data)
    if not all(isinstance(step, Step) for step in steps):
        raise ParameterError("a view has new columns, a condition or some columns.")
    return steps


class ViewFrame:
    """The rows of a view, made from those of a frame as they are read."""

    def __init__(self, frame: Frame, step: Step, domain: Domain) -> None:
        self.frame, self.step = frame, step
        self.domain = domain  # of the frame, not of the view

    def length(self) -> int:
        if not isinstance(self.step, Where):
            return self.frame.length()
        return sum(rows for _, rows in self.batches((), 1 << 16))

    def split(self, parts: int) -> list[Frame]:
        inner = self.frame.split(parts)
        return [ViewFrame(part, self.step, self.domain) for part in inner]

    def origins(self) -> tuple[Origin, ...]:
        return self.frame.origins()

    def places(self) -> tuple[Place, ...]:
        return self.frame.places()

    def for_plan(self) -> Frame:
        inner = self.frame.for_plan()
        if inner is self.frame:
            return self
        return ViewFrame(inner, self.step, self.domain)

    def column(self, name: str) -> Array:
        parts = [batch[name] for batch, _ in self.batches((name,), 1 << 16)]
        if parts:
            return np.concatenate(parts)
        whole = isinstance(self.step.domain(self.domain)[name], Category)
        return np.empty(0, dtype=np.int64 if whole else np.float64)

    def raw(self, name: str) -> Array:
        column = self.step.domain(self.domain)[name]
        if name != self.domain.person and not isinstance(column, OpenText):
            raise DomainError(f"{name!r} does not say whose rows these are.")
        texts = self.frame.raw(name)
        if not isinstance(self.step, Where):
            return texts
        return texts[self._chosen(self.step)]

    def _chosen(self, step: Where) -> Array:
        """Which rows of the frame are in the view."""
        found = [np.empty(0, dtype=bool)]
        for batch, rows in self.frame.batches(step.needs(()), 1 << 16):
            with np.errstate(all="ignore"):
                found.append(step.chosen(batch, rows, self.domain))
        return np.concatenate(found)

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        needed = self.step.needs(names)
        for batch, rows in self.frame.batches(needed, size):
            with np.errstate(all="ignore"):
                made = self.step.apply(batch, rows, names, self.domain)
            yield made
