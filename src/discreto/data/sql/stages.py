"""The stages of a query: columns that are worked out from columns, row by row.

A stage is one selection on top of the one before it. It takes expressions about single
rows only: whatever looks at other rows (a window, an aggregate, a filter) is refused
here. So a translation cannot move the rows beside its own, add rows or drop them. Rows
that do not count are marked and folded into no cell, so that all rows can be counted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw

from discreto.data.sql import Untranslated
from discreto.data.sql.row_language import Expr, either, search, whole
from discreto.errors import UnsafeError

if TYPE_CHECKING:
    from discreto.data.sql.backends import Backend

T = TypeVar("T")
MOST_STAGES = 128  # selections inside of each other; an operation takes two to four
_FEW_CUTS = 64  # that are compared one by one
# Kinds of narwhals' expressions whose value in a row follows from that row alone.
_ROW_LOCAL = frozenset({"LITERAL", "ELEMENTWISE", "COL", "WHEN_THEN"})


@dataclass(frozen=True)
class CutSearch:
    """A column of places: how many sorted cuts lie below the value of a column."""

    name: str
    cuts: tuple[float, ...]


@dataclass(frozen=True)
class StayingRows:
    """Names of two columns of a table whose persons are bounded.

    ``stays`` is 1 for a row that counts, else 0; ``person`` is how many rows of the
    same person count.
    """

    stays: str
    person: str


def check_row_local(expr: Any) -> None:
    """Refuse an expression that could look at another row."""
    left, seen = [expr], set()
    while left:
        one = left.pop()
        if id(one) in seen or _is_constant(one):
            continue
        seen.add(id(one))  # parts are shared: each is looked at once
        for node in one._nodes:
            if node.kind.name not in _ROW_LOCAL:
                raise UnsafeError("a translation may look at one row only.")
            left += node.exprs


def _is_constant(part: Any) -> bool:
    return part is None or isinstance(part, bool | int | float | str | dt.date)


class Stages:
    """Selections on top of a table, each with new columns under names of ours."""

    def __init__(
        self,
        backend: Backend,
        frame: Any,
        kept: StayingRows | None = None,
        *,
        beside: bool = False,
    ) -> None:
        self.backend, self._frame, self._next = backend, frame, 0
        self._memory: dict[Hashable, Any] = {}
        self._first: dict[str, Expr] = {}  # read from the table before all else
        self._stages: list[dict[str, Expr | CutSearch]] = []
        self._built = 0  # stages that are part of the frame already
        self._level = 0  # how many stages what is translated now is built on
        self._beside, self._opened = beside, False
        self._schema = frame.collect_schema()
        self.inside: Expr | None = None  # the rows that count; by default all
        self._prefix = "v"
        while any(name.lower().startswith(self._prefix) for name in self._schema):
            self._prefix += "_"  # in databases large and small letters may be the same
        self.person: Expr | None = None  # how many rows of a row's person stay
        if kept is not None:
            self.inside = self.read("stays", lambda: nw.col(kept.stays)) == 1
            self.person = self.read("person", lambda: nw.col(kept.person))

    def _new(self) -> str:
        self._next += 1
        return f"{self._prefix}{self._next}"

    def let(self, exprs: Sequence[Expr]) -> list[Expr]:
        """Work out expressions once; later ones refer to them by name."""
        return [nw.col(name) for name in self.named(exprs)]

    def named(self, exprs: Sequence[Expr]) -> list[str]:
        """Work out expressions once, and return the names of the new columns."""
        for expr in exprs:
            check_row_local(expr)
        return self._add(exprs)

    def _add(self, exprs: Sequence[Expr | CutSearch]) -> list[str]:
        made = {self._new(): expr for expr in exprs}
        if self._level == len(self._stages):
            if self._built + self._level == MOST_STAGES:
                raise Untranslated(f"a query of more than {MOST_STAGES} stages")
            self._stages.append({})
        self._stages[self._level] |= made
        self._level += 1
        return list(made)

    def place(self, value: Expr, cuts: Sequence[float]) -> Expr:
        """Return how many of some sorted cuts lie below a value.

        Planning thousands of comparisons takes seconds: an engine searches many cuts in
        its own way.
        """
        if len(cuts) <= _FEW_CUTS or not self.backend.searches:
            return search(value, cuts, whole, right=False)
        (name,) = self.named([value])
        return nw.col(self._add([CutSearch(name, tuple(cuts))])[0])

    def rank(self, within: str, order: Sequence[str]) -> Expr:
        """Return the place of each row among those with the same value of a column."""
        place = nw.col(order[0]).cum_count().over(within, order_by=list(order))
        return nw.col(self._add([place])[0])

    def total(self, within: str, ones: Expr) -> str:
        """Return the name of a sum over the rows with the same value of a column."""
        return self._add([ones.sum().over(within)])[0]

    def apart(self, make: Callable[[], T]) -> T:
        """Build on columns alone, beside what is built already.

        Parts of a question that do not need each other share their stages.
        """
        before, self._level = self._level, 0
        made = make()
        self._level = max(before, self._level)
        return made

    def beside(self, *makes: Callable[[], T]) -> list[T]:
        """Build each of these on what there is, in stages that they share."""
        before = most = self._level
        found = []
        for make in makes:
            self._level = before
            found.append(make())
            most = max(most, self._level)
        self._level = most
        return found

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was worked out under this key, for the maps that share it."""
        if key not in self._memory:
            made = self.apart(make)
            self._memory[key] = made, self._level
        found, level = self._memory[key]
        self._level = max(self._level, level)
        return found

    def read(self, key: Hashable, make: Callable[[], Expr]) -> Expr:
        """Return a column that is read from the table in the first selection."""
        if key not in self._memory:
            if self._opened:
                raise Untranslated("a column that was not read in time")
            name, expr = self._new(), make()
            check_row_local(expr)
            self._first[name] = expr
            self._memory[key] = nw.col(name), 0
        found: Expr = self._memory[key][0]
        return found

    def keep(self, condition: Expr) -> None:
        """Count only the rows for which a condition holds; the others stay, unseen."""
        if self.inside is not None:
            condition = self.inside & condition
        (stays,) = self.let([either(condition, whole(1), whole(0))])
        self.inside = stays == 1

    @property
    def frame(self) -> Any:
        """The rows with all that was worked out so far."""
        if not self._opened:
            # Beside the columns of the table, or instead of them. A count needs no
            # column: rows are counted, whatever is in them.
            if self._first and self._beside:
                self._frame = self._frame.with_columns(**self._first)
            elif self._first:
                self._frame = self._frame.select(**self._first)
            self._frame, self._opened = self.backend.fence(self._frame), True
        for stage in self._stages:
            plain = {n: x for n, x in stage.items() if not isinstance(x, CutSearch)}
            frame = self._frame.with_columns(**plain) if plain else self._frame
            for name, one in stage.items():
                if isinstance(one, CutSearch):
                    frame = self.backend.placed(frame, one.name, one.cuts, name)
            self._frame = self.backend.fence(frame)
        self._built += len(self._stages)
        self._stages, self._level = [], 0
        self._memory = {key: (made, 0) for key, (made, _) in self._memory.items()}
        return self._frame
