"""Rows of two tables of the same people put together, person by person.

A row of the first table is put beside each row of the second that is about the same
person. With at most k and m rows a person there are at most k m joined rows of one
person, and they depend on that person's rows alone. So a person who comes or goes, with
all of her rows in both tables, moves at most k m joined rows
(docs/proofs/sensitivity.md#joins).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.core.frame import Array, Frame, Origin, Place, asked
from discreto.core.query import Ints
from discreto.errors import DomainError

How = Literal["left", "inner"]


def joined_domain(first: Domain, second: Domain, how: How) -> Domain:
    """What everybody may know of the joined table, or a refusal."""
    if how not in ("left", "inner"):
        raise DomainError(f"tables are joined 'left' or 'inner'. Got {how!r}.")
    for domain in (first, second):
        if domain.person is None:
            raise DomainError(
                "tables are joined by whose rows they are: both need person='COLUMN' "
                "and rows_per_person in their domain. Without it nothing bounds how "
                "many joined rows one person has."
            )
    names = {name for name in second if name != second.person}
    twice = sorted(names & set(first))
    if twice:
        raise DomainError(
            f"both tables have a column {twice[0]!r}. Give one of them another name."
        )
    more = {name: second[name] for name in second if name in names}
    if how == "left":  # who is not in the second table has no value there
        more = {name: may_lack(column) for name, column in more.items()}
    return first.with_(
        columns=dict(first.columns) | more,
        rows_per_person=first.rows_per_person * second.rows_per_person,
        rows=None,
    )


def may_lack(column: Column) -> Column:
    """The same column, in which values may be missing."""
    if not isinstance(column, Number | Category):
        return column
    out = copy.copy(column)
    object.__setattr__(out, "missing", True)
    return out


class JoinedFrame:
    """The joined rows of two frames in which people have few rows each."""

    def __init__(
        self, first: Frame, second: Frame, domains: tuple[Domain, Domain], how: How
    ) -> None:
        self._first, self._second, self._domains = first, second, domains
        self._how = how
        self._places: tuple[Ints, Ints] | None = None
        self._ready: dict[str, Array] = {}

    def length(self) -> int:
        return int(self._rows()[0].size)

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def origins(self) -> tuple[Origin, ...]:
        return (*self._first.origins(), *self._second.origins())

    def places(self) -> tuple[Place, ...]:
        return (("joined rows", 0, 1),)

    def for_plan(self) -> Frame:
        inner = self._first.for_plan(), self._second.for_plan()
        if inner[0] is self._first and inner[1] is self._second:
            return self
        return JoinedFrame(*inner, self._domains, self._how)

    def sides(self) -> tuple[Frame, Frame]:
        """Return the two frames that are joined."""
        return self._first, self._second

    def raw(self, name: str) -> Array:
        if name in self._domains[0].columns:
            return self._first.raw(name)[self._rows()[0]]
        places = self._rows()[1]
        nothing = np.array([None], dtype=object)
        texts = np.concatenate([self._second.raw(name).astype(object), nothing])
        return texts[places]

    def column(self, name: str) -> Array:
        if name not in self._ready:
            left, right = self._rows()
            if name in self._domains[0].columns:
                found = self._first.column(name)[left]
            else:
                found = _beside(self._second.column(name), right)
            found.flags.writeable = False
            self._ready[name] = found
        return self._ready[name]

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        known = [name for name in names if asked(self._column(name))]
        columns, rows = {name: self.column(name) for name in known}, self.length()
        for start in range(0, rows, size):
            stop = min(start + size, rows)
            yield {n: c[start:stop] for n, c in columns.items()}, stop - start

    def _column(self, name: str) -> Column:
        first, second = self._domains
        return first[name] if name in first.columns else second[name]

    def _rows(self) -> tuple[Ints, Ints]:
        """For each joined row its place in the first and the second, -1 for none."""
        if self._places is None:
            first, second = self._domains
            self._places = _matched(
                _texts(self._first.raw(str(first.person))),
                _texts(self._second.raw(str(second.person))),
                inner=self._how == "inner",
            )
        return self._places


def _beside(values: Array, places: Ints) -> Array:
    """Values of the second table; nothing where there is no row."""
    lacking = np.nan if values.dtype.kind == "f" else -1
    return np.append(values, np.array([lacking], dtype=values.dtype))[places]


def _texts(people: Array) -> Array:
    """Identifiers as texts, whatever they are stored as; None is nobody."""
    if people.dtype == object:
        return people
    return np.array([str(one) for one in people.tolist()], dtype=object)


def _matched(first: Array, second: Array, *, inner: bool) -> tuple[Ints, Ints]:
    rows: dict[object, list[int]] = {}
    for place, person in enumerate(second.tolist()):
        if person is not None:
            rows.setdefault(person, []).append(place)
    nobody: list[int] = [] if inner else [-1]
    left: list[int] = []
    right: list[int] = []
    for place, person in enumerate(first.tolist()):
        found = nobody if person is None else rows.get(person, nobody)
        left += [place] * len(found)
        right += found
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)
