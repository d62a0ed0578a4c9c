"""Sums and rows that a database hands over, checked against the rows that it counted.

A query returns, from the same statement as its sums, how many rows it folded, how many
rows the table has, and the largest number of rows that one person has among those that
stay. The core compares the three, turns the sums into tables, and bounds them by the
count of each cell. A row that was folded twice or left out, or a person who was not
bounded, ends in a fault. The counts are never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Protocol

import numpy as np

from discreto.core import aggregate
from discreto.core.fold import _CORE as _FOLDED
from discreto.core.fold import Folded, check_once
from discreto.core.frame import Frame
from discreto.core.people import PersonBound
from discreto.core.query import Bound, BoundBlock, Ints, Ones
from discreto.errors import UnsafeError

_CORE = object()  # shows that rows were counted here


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows that one query folded, rows of the table, and the most rows of a person."""

    folded: int
    table: int
    person: int | None = None


@dataclass(frozen=True, slots=True)
class CellSums:
    """Counts and sums of one question by cell; ``sums`` has a list for each block."""

    cells: Sequence[int]
    counts: Sequence[int]
    sums: Sequence[Sequence[Sequence[int]]]


class CountedQuery(Protocol):
    """A query for several questions, which also counts the rows that it folds."""

    def run(self) -> tuple[RowCounts, Sequence[CellSums]]:
        """Return the counts of rows and the sums of each question."""


@dataclass(frozen=True, slots=True)
class Portion:
    """One query, and the places of the questions that it answers."""

    places: list[int]
    query: CountedQuery


class PeopleFrame(Frame, Protocol):
    """A frame that says which bound on a person's rows its queries have to prove."""

    person_bound: PersonBound | None


def by_query(
    several: Sequence[Bound], query: CountedQuery, frame: PeopleFrame
) -> list[Folded]:
    """Run a query once, and return the sums of each question if the counts agree."""
    counts, answers = query.run()
    check_counts(counts, several, frame.person_bound)
    return [
        Folded(tables_of(asked, answer, counts), frame.places(), _FOLDED)
        for asked, answer in zip(several, answers, strict=True)
    ]


def check_counts(
    counts: RowCounts, several: Sequence[Bound], bound: PersonBound | None
) -> None:
    """Raise ValueError unless each row was folded once and each person is bounded."""
    if counts.folded != counts.table:
        raise ValueError("a query has not folded each row exactly once.")
    limits = [one.domain.rows_per_person for one in several if one.domain.person]
    limits += [] if bound is None else [bound.rows]
    if limits and (counts.person is None or counts.person > min(limits)):
        raise ValueError("a query has not bounded the rows of each person.")


def tables_of(asked: Bound, answer: CellSums, rows: RowCounts) -> list[Ints]:
    """Return one (cells x width) table for each block of a question."""
    tally = _column(answer.cells, answer.counts, asked.cells)
    if tally.sum() > rows.folded:
        raise ValueError("cells have more rows than the table.")
    return [
        _form(part, tally, [_column(answer.cells, one, asked.cells) for one in sums])
        for part, sums in zip(asked.blocks, answer.sums, strict=True)
    ]


def _column(cells: Sequence[int], values: Sequence[int], count: int) -> Ints:
    """Return one number for each cell; a cell that is not listed has no rows."""
    out = np.zeros(count, dtype=object)
    if len(set(cells)) != len(cells) or not all(0 <= cell < count for cell in cells):
        raise ValueError("a cell came twice, or is not one of the question.")
    for cell, value in zip(cells, values, strict=True):
        out[cell] = value
    return out


def _form(part: BoundBlock, tally: Ints, sums: list[Ints]) -> Ints:
    """Return the table of a block, checked against what so many rows can add up to."""
    block, limit = part.block, part.shape.limit
    if isinstance(block.features, Ones):
        columns = [2 * tally, 0 * tally] if block.form == "pair" else [tally]
        return aggregate.narrowed(np.stack(columns, axis=1))
    most = limit**2 if block.form == "gram" else limit
    least = -most if part.shape.signed else 0
    for column in sums:
        if (column > most * tally).any() or (column < least * tally).any():
            raise ValueError("a sum is beyond what its rows can add up to.")
    if block.form == "pair":
        base = tally * limit
        sums = [made for one in sums for made in (base + one, base - one)]
    return aggregate.narrowed(np.stack(sums, axis=1))


@dataclass(frozen=True, slots=True)
class CountedCopy:
    """A proof that a copy has each row of a table once; only the core makes one."""

    rows: int
    made_by: InitVar[object] = None

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _CORE:
            raise UnsafeError("only the core counts the rows of a copy.")


class CountedRows:
    """Rows on their way out of a database, counted part by part.

    ``counts`` reads two numbers of a part: the rows of the table in the same statement,
    and the most rows of a person in this part, or None without persons. A database that
    is not asked to calculate gives no row count: its rows are believed.
    """

    def __init__(
        self,
        parts: Iterator[Any],
        counts: Callable[[Any], tuple[int, int | None]] | None,
        bound: PersonBound | None,
    ) -> None:
        self._parts, self._counts, self._bound = parts, counts, bound
        self._read, self._done = 0, False

    def __iter__(self) -> Iterator[Any]:
        table = 0
        for part in self._parts:
            self._read += part.num_rows
            if self._counts is not None and part.num_rows:
                table, person = self._counts(part)
                if self._bound is not None and (
                    person is None or person > self._bound.rows
                ):
                    raise ValueError("a query has not bounded the rows of each person.")
                if self._read > table:
                    raise ValueError("a row was read twice.")
            yield part
        # Rows of persons who have too many are left out, so that fewer may be read.
        if self._counts is not None and self._bound is None and self._read != table:
            raise ValueError("a row was not read exactly once.")
        self._done = True

    def proof(self) -> CountedCopy:
        """Return the proof that all rows were read, each once."""
        if not self._done:
            raise ValueError("the rows of a copy were not read to their end.")
        return CountedCopy(self._read, _CORE)


def of_copy(found: Folded, copy: Frame, frame: Frame, proof: CountedCopy) -> Folded:
    """Return sums over a copy as those over the frame that was copied."""
    places = copy.places()
    check_once(found, places)
    rows = sum(stop - start for _, start, stop in places)
    if not isinstance(proof, CountedCopy) or proof.rows != rows:
        raise ValueError("the rows of a copy were not counted.")
    return Folded(found.tables, frame.places(), _FOLDED)
