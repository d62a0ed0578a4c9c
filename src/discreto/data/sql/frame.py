"""Tables that stay where they are: asked by queries, or read as batches."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from discreto.core.contribution import PersonBound, PersonFrame, bound_by_query
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, ViewFrame
from discreto.core.frame import Origin, Place
from discreto.core.query import Bound
from discreto.core.row_local import cell_by_cell
from discreto.core.unknown_keys import OpenText
from discreto.data.frames.convert import convert
from discreto.data.frames.frame_checks import Array, Frame, asked, need_columns
from discreto.data.frames.memory import MemoryFrame
from discreto.data.frames.memory_view import MemoryView
from discreto.data.frames.people import join, people_of
from discreto.data.frames.types import check_types, kind_of_dtype
from discreto.data.sql import Untranslated
from discreto.data.sql.backend import Backend
from discreto.data.sql.batched_queries import Portion, portions_of
from discreto.data.sql.columns import Columns
from discreto.data.sql.exponential_features import costly
from discreto.data.sql.expressions import apply_step
from discreto.data.sql.partitions import gathered
from discreto.data.sql.people import bounded
from discreto.data.sql.sums import SumQuery
from discreto.errors import DomainError

_READ = 1 << 16  # rows read at once
T = TypeVar("T")


class DatabaseFrame:
    """The rows of a lazy table, and of a view of it.

    Questions whose maps have a translation are one query each (``query``); for all
    others rows are read (``batches``), or once into a private copy (``copied``).
    """

    def __init__(self, backend: Backend, domain: Domain) -> None:
        backend.check_source()  # before types, which may follow from rows
        need_columns(domain, list(backend.schema))
        check_types(domain, {n: kind_of_dtype(backend.schema[n]) for n in domain})
        backend.check_names(list(domain))
        backend.check_settings()
        backend.check_columns(domain)
        self._backend, self.domain = backend, domain
        self._frame = backend.frame
        self.steps: tuple[Step, ...] = ()
        self._copies = _Copies(backend, self._frame, domain)
        self._last: tuple[Any, SumQuery | None] = None, None
        self.person_bound: PersonBound | None = None

    def bounded(self, key: bytes, *, fetch: bool = True) -> Frame:
        """The same rows, but at most a few of a person."""
        out = DatabaseFrame(self._backend, self.domain)
        try:
            if not self._backend.exact:
                raise Untranslated("an untested database")
            out._frame = bounded(self._backend, self._frame, self.domain, key)
            out._copies = _Copies(self._backend, out._frame, self.domain)
            out.person_bound = bound_by_query(self.domain)
        except Untranslated as lacking:
            if not fetch:
                raise DomainError(
                    f"{lacking.what}: the rows of a person cannot be counted inside of "
                    "this database, and the engine has fetch=False."
                ) from None
            # By position in a copy: a database may read in another order next time.
            return PersonFrame(self.held(), self.domain, key)
        return out

    def origins(self) -> tuple[Origin, ...]:
        return (self._backend,)

    def places(self) -> tuple[Place, ...]:
        return (("query", 0, 1),)

    def for_plan(self) -> DatabaseFrame:
        """Return the same rows; questions of the plan that need a copy share it.

        A copy that lived on would put people into models whom the owner has deleted.
        """
        out = copy.copy(self)
        out._copies = _Copies(self._backend, self._frame, self.domain)
        return out

    def seen(self, step: Step) -> DatabaseFrame:
        """A view; nothing is read."""
        out = DatabaseFrame(self._backend, self.domain)
        out._frame, out._copies = self._frame, self._copies
        out.person_bound = self.person_bound
        out.steps = (*self.steps, step)
        return out

    def _domains(self) -> list[Domain]:
        """The domain of the table, and after each step."""
        out = [self.domain]
        for step in self.steps:
            out.append(step.domain(out[-1]))
        return out

    def query(self, question: Bound) -> SumQuery:
        """One query for a question; raises ``Untranslated`` for lack of one."""
        key = question.query, question.domain
        asked, query = self._last
        if query is None or asked != key:  # it is looked at before it is asked
            query = self._translated(
                lambda: SumQuery(question, self._columns(question.columns))
            )
            self._last = key, query
        return query

    def costly(self, question: Bound) -> bool:
        """Whether a copy of the rows would answer many times faster than a query."""
        features = [part.block.features for part in question.blocks]
        return costly(getattr(question.query, "cells", None), features)

    def queries(self, several: Sequence[Bound]) -> list[Portion]:
        """Few queries for several questions; some may have to be asked alone."""
        return portions_of(several, self._columns, self._translated)

    def _columns(self, names: Sequence[str]) -> Columns:
        """The columns of a query, after the steps of the view."""
        needed = [tuple(names)]  # after each step, the last one first
        for step in reversed(self.steps):
            needed.append(step.needs(needed[-1]))
        first = needed.pop()
        rows = Columns(self._backend, self._frame, self.domain, first)
        if self.steps:
            rows.open(first)
        for step, own in zip(self.steps, reversed(needed), strict=True):
            apply_step(step, rows, own)
        return rows

    def _translated(self, make: Callable[[], T]) -> T:
        """A query that was made without a look at any row, or ``Untranslated``."""
        if not self._backend.exact:
            raise Untranslated("questions to this kind of database")
        try:
            return make()
        except Untranslated:
            raise
        except Exception:  # no row was read: the database does not know what it means
            raise Untranslated("a question that this database refuses") from None

    def copied(self, most: int) -> Frame:
        """A private copy of what can be asked, or these rows if it has too many."""
        frame: Any = self._copies.within(most)
        if frame is None:
            return self
        for step, domain in zip(self.steps, self._domains(), strict=False):
            frame = MemoryView(frame, step, domain)
        return frame

    def length(self) -> int:
        if self.steps:
            return sum(rows for _, rows in self.batches((), _READ))
        with suppress(Exception):
            return self._backend.count(self._frame)
        raise DomainError("the rows of this table cannot be counted: is it reachable?")

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def column(self, name: str) -> Array:
        parts = [batch[name] for batch, _ in self.batches([name], _READ)]
        if parts:
            return np.concatenate(parts)
        return convert(np.empty(0), self._domains()[-1][name])

    def raw(self, name: str) -> Array:
        if not self.steps:
            dialect, parts = self.domain.dialect, self.tables([name])
            return join([people_of(part.column(name), dialect) for part in parts])
        return self.held().raw(name)

    def held(self) -> HeldRows:
        """The same rows in an order that stays, for whoever asks them by place."""
        return HeldRows(self._copied, self.origins(), self.person_bound)

    def _copied(self) -> Frame:
        frame: Any = self._copies.whole()
        for step, domain in zip(self.steps, self._domains(), strict=False):
            frame = MemoryView(frame, step, domain)
        return frame

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        frame: Any = _Stream(self)
        for step, domain in zip(self.steps, self._domains(), strict=False):
            frame = ViewFrame(frame, step, domain)
        batches: Iterator[tuple[dict[str, Array], int]] = frame.batches(names, size)
        return batches

    def tables(self, names: Sequence[str]) -> Iterator[Any]:
        """Arrow tables of the columns as they are, without the steps."""
        # Questions about no column still have to count rows.
        wanted = list(names) or [next(iter(self.domain))]
        return self._backend.batches(self._frame, wanted, _READ)


class HeldRows:
    """Rows of a database in one copy, made when they are first asked for.

    A database may read in another order each time: what two queries find in the same
    place belongs to two rows.
    """

    def __init__(
        self,
        copied: Callable[[], Frame],
        origins: tuple[Origin, ...],
        person_bound: PersonBound | None,
    ) -> None:
        self._copied, self._origins = copied, origins
        self.person_bound = person_bound  # of the rows that are copied
        self._lock = threading.Lock()
        self._frame: Frame | None = None

    def origins(self) -> tuple[Origin, ...]:
        return self._origins

    def places(self) -> tuple[Place, ...]:
        return self._held().places()

    def for_plan(self) -> HeldRows:
        """Return the same rows in a copy of the plan's own, not made yet."""
        return HeldRows(self._copied, self._origins, self.person_bound)

    def _held(self) -> Frame:
        with self._lock:
            if self._frame is None:
                self._frame = self._copied()
            return self._frame

    def length(self) -> int:
        return self._held().length()

    def split(self, parts: int) -> list[Frame]:
        return self._held().split(parts)

    def column(self, name: str) -> Array:
        return self._held().column(name)

    def raw(self, name: str) -> Array:
        return self._held().raw(name)

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        return self._held().batches(names, size)


class _Stream:
    """The rows of a table as they are read."""

    def __init__(self, frame: DatabaseFrame) -> None:
        self._frame = frame

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        domain = self._frame.domain
        for table in self._frame.tables(names):
            ready = {
                n: cell_by_cell(convert, table.column(n), domain[n], domain.dialect)
                for n in names
            }
            ends = [*range(0, table.num_rows, size), table.num_rows]
            for start, stop in pairwise(ends):
                yield {n: c[start:stop] for n, c in ready.items()}, stop - start


class _Copies:
    """A private copy of a table for one plan, made when it is first needed."""

    def __init__(self, backend: Backend, frame: Any, domain: Domain) -> None:
        self._backend, self._frame, self._domain = backend, frame, domain
        self._lock = threading.Lock()
        self._copy: MemoryFrame | None = None

    def within(self, most: int) -> MemoryFrame | None:
        """A copy, unless it would hold more numbers than ``most``."""
        with self._lock:
            if self._copy is None:
                columns = [c for c in self._domain.columns.values() if asked(c)]
                if self._backend.count(self._frame) * len(columns) > most:
                    return None
                self._copy = self.whole()
            return self._copy

    def whole(self) -> MemoryFrame:
        """A copy of all columns that can be asked about, and of whose rows they are."""
        domain = self._domain
        few = domain.select(
            [
                n
                for n, c in domain.columns.items()
                if asked(c) or isinstance(c, OpenText)
            ]
        )
        names = list(few)
        parts = list(self._backend.batches(self._frame, names, _READ))
        if not parts:
            return MemoryFrame({name: np.empty(0) for name in names}, few)
        return MemoryFrame(gathered(parts, names), few)
