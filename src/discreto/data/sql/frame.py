"""Tables that stay where they are: asked by queries, or read as batches."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, ViewFrame
from discreto.core.frame import Array, Frame, Origin, Place, asked
from discreto.core.people import PersonBound, PersonFrame, bound_by_query, join
from discreto.core.query import Bound, Sum
from discreto.core.query_fold import CountedCopy, CountedRows, Portion
from discreto.core.row_local import cell_by_cell
from discreto.core.unknown_keys import OpenText
from discreto.data.frames.convert import convert, people_of
from discreto.data.frames.memory import MemoryFrame, MemoryView
from discreto.data.frames.types import check_types, kind_of_dtype, need_columns
from discreto.data.sql import Untranslated
from discreto.data.sql.backends import Backend, gathered
from discreto.data.sql.columns import Columns
from discreto.data.sql.expressions import apply_step
from discreto.data.sql.maps import costly
from discreto.data.sql.people import bounded
from discreto.data.sql.stages import StayingRows
from discreto.data.sql.sums import SumQuery, portions_of, query_of
from discreto.errors import DomainError, UnsafeError

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
        self.backend, self.domain = backend, domain
        self._frame = backend.frame
        self._kept: StayingRows | None = None
        self.steps: tuple[Step, ...] = ()
        self._last: tuple[Any, SumQuery | None] = None, None
        self.person_bound: PersonBound | None = None
        self._copies = _Copies()

    def bounded(self, key: bytes, *, fetch: bool = True) -> Frame:
        """Return the same rows with at most ``rows_per_person`` of each person."""
        out = DatabaseFrame(self.backend, self.domain)
        try:
            if not self.backend.exact:
                raise Untranslated("an untested database")
            out._frame, out._kept = bounded(self.backend, self._frame, self.domain, key)
            out.person_bound = bound_by_query(self.domain)
            out._copies = _Copies()
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
        return (self.backend,)

    def places(self) -> tuple[Place, ...]:
        return (("query", 0, 1),)

    def for_plan(self) -> DatabaseFrame:
        """Return the same rows; questions of the plan that need a copy share it.

        A copy that lived on would put people into models whom the owner has deleted.
        """
        out = copy.copy(self)
        out._copies = _Copies()
        return out

    def seen(self, step: Step) -> DatabaseFrame:
        """Return a view; nothing is read."""
        out = copy.copy(self)
        out._last = None, None
        out.steps = (*self.steps, step)
        return out

    def _domains(self) -> list[Domain]:
        """Return the domain of the table, and after each step."""
        out = [self.domain]
        for step in self.steps:
            out.append(step.domain(out[-1]))
        return out

    def query(self, question: Bound) -> SumQuery:
        """Return one query for a question; raises ``Untranslated`` if there is none."""
        key = question.query, question.domain
        asked, query = self._last
        if query is None or asked != key:  # it is looked at before it is asked
            query = self._translated(lambda: query_of([question], self._columns))
            self._last = key, query
        return query

    def costly(self, question: Bound) -> bool:
        """Return True if a copy of the rows would answer many times faster."""
        cells = question.query.cells if isinstance(question.query, Sum) else None
        return costly(cells, [part.block.features for part in question.blocks])

    def queries(self, several: Sequence[Bound]) -> list[Portion]:
        """Return few queries for several questions; some may have to be asked alone."""
        return portions_of(several, self._columns, self._translated)

    def _columns(self, names: Sequence[str]) -> Columns:
        """Return the columns of a query, after the steps of the view."""
        needed = [tuple(names)]  # after each step, the last one first
        for step in reversed(self.steps):
            needed.append(step.needs(needed[-1]))
        first = needed.pop()
        rows = Columns(self.backend, self._frame, self.domain, first, kept=self._kept)
        if self.steps:
            rows.open(first)
        for step, own in zip(self.steps, reversed(needed), strict=True):
            apply_step(step, rows, own)
        return rows

    def _translated(self, make: Callable[[], T]) -> T:
        """Return a query that was made without reading a row, or raise."""
        if not self.backend.exact:
            raise Untranslated("questions to this kind of database")
        try:
            return make()
        except (Untranslated, UnsafeError):
            raise
        except Exception:  # no row was read: the database does not know what it means
            raise Untranslated("a question that this database refuses") from None

    def copied(self, most: int) -> tuple[Frame, CountedCopy] | None:
        """Return a private copy of what can be asked, and its proof.

        None if it would hold more numbers than ``most``.
        """
        found = self._copies.within(self, most)
        return None if found is None else (self._seen(found[0]), found[1])

    def _seen(self, frame: Any) -> Frame:
        """Return the view of a copy."""
        for step, domain in zip(self.steps, self._domains(), strict=False):
            frame = MemoryView(frame, step, domain)
        view: Frame = frame
        return view

    def length(self) -> int:
        if self.steps:
            return sum(rows for _, rows in self.batches((), _READ))
        with suppress(Exception):
            return self.backend.count(self.staying())
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
        """Return the same rows in a fixed order, for callers that use positions."""
        return HeldRows(self._copied, self.origins(), self.person_bound)

    def _copied(self) -> Frame:
        return self._seen(self._copies.whole(self)[0])

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        frame: Any = _Stream(self)
        for step, domain in zip(self.steps, self._domains(), strict=False):
            frame = ViewFrame(frame, step, domain)
        batches: Iterator[tuple[dict[str, Array], int]] = frame.batches(names, size)
        return batches

    def staying(self) -> Any:
        """Return the query of the rows that stay, without the steps of the view."""
        if self._kept is None:
            return self._frame
        return self._frame.filter(nw.col(self._kept.stays) == 1)

    def tables(self, names: Sequence[str]) -> CountedRows:
        """Return Arrow tables of the columns as they are, without the steps."""
        # Questions about no column still have to count rows.
        wanted = list(names) or [next(iter(self.domain))]
        frame = self.staying()
        if not self.backend.exact:  # its rows are read, and it is asked for no count
            parts = self.backend.batches(frame, wanted, _READ)
            return CountedRows(parts, None, None)
        taken = [name.lower() for name in frame.collect_schema()]
        beside = [free_name("rows of the table", taken)]
        table = self.backend.frame.select(**{beside[0]: nw.len()})
        frame = frame.join(table, how="cross")
        if self._kept is not None:
            beside.append(self._kept.person)

        def counts(part: Any) -> tuple[int, int | None]:
            most = [int(np.asarray(part.column(name)).max()) for name in beside]
            return most[0], most[1] if len(most) > 1 else None

        parts = self.backend.batches(frame, wanted, _READ, beside)
        return CountedRows(parts, counts, self.person_bound)


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that no column has."""
    while name in taken:
        name += "_"
    return name


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

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._copy: tuple[MemoryFrame, CountedCopy] | None = None

    def within(
        self, rows: DatabaseFrame, most: int
    ) -> tuple[MemoryFrame, CountedCopy] | None:
        """Return a copy, unless it would hold more numbers than ``most``."""
        with self._lock:
            if self._copy is None:
                columns = [c for c in rows.domain.columns.values() if asked(c)]
                if rows.backend.count(rows.staying()) * len(columns) > most:
                    return None
                self._copy = self.whole(rows)
            return self._copy

    def whole(self, rows: DatabaseFrame) -> tuple[MemoryFrame, CountedCopy]:
        """Return a copy of all columns that can be asked about, and of whose they are.

        The core counts its rows on the way.
        """
        domain = rows.domain
        few = domain.select(
            [
                n
                for n, c in domain.columns.items()
                if asked(c) or isinstance(c, OpenText)
            ]
        )
        names, read = list(few), rows.tables(list(few))
        parts = list(read)
        if not parts:
            empty = MemoryFrame({name: np.empty(0) for name in names}, few)
            return empty, read.proof()
        return MemoryFrame(gathered(parts, names), few), read.proof()
