"""The rows of a table as the gate may use them: exact sums and plain columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from discreto.core.capabilities import (
    AnswersQueries,
    FoldsSeveral,
    KeepsEntries,
    Refuses,
)
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step
from discreto.core.fold import Folded, Keep, fold_all
from discreto.core.frame import Place
from discreto.core.gate import person_bound_of
from discreto.core.history import HistoryFrame, PersonHistory
from discreto.core.joins import How, JoinedFrame
from discreto.core.people import PersonBound
from discreto.core.query import Bound
from discreto.data.engines import LocalEngine
from discreto.data.frames import Frame, PersonFrame, view_of

T = TypeVar("T")


class Engine(Protocol):
    """Whatever can fold exact sums over a frame."""

    def fold(self, asked: Bound, frame: Frame) -> Folded: ...


class TableRows:
    """Rows behind the gate, and views of them."""

    def __init__(
        self, frame: Frame, engine: Engine, again: Callable[[], TableRows] | None = None
    ) -> None:
        self._frame, self._engine, self._again = frame, engine, again
        self._origins = frame.origins()
        self._views: dict[Step, TableRows] = {}

    def unready(self) -> str:
        """Return why rows cannot be read now, a public reason; empty if they can."""
        reasons = (origin.unready() for origin in self._origins)
        return next((reason for reason in reasons if reason), "")

    def unchanged(self) -> bool:
        """Return True if the files are those that the table was opened on."""
        return all(origin.unchanged() for origin in self._origins)

    def places(self) -> tuple[Place, ...]:
        """Return which places all rows have."""
        return self._frame.places()

    def person_bound(self) -> PersonBound | None:
        """Return the proof that no person has too many rows, if there is one."""
        return person_bound_of(self._frame)

    def reloaded(self) -> TableRows:
        """Return the rows as they are now, opened anew; rows in memory never change."""
        return self if self._again is None else self._again()

    def for_plan(self) -> TableRows:
        """Return the same rows for one plan: copies of a database are its own."""
        frame = self._frame.for_plan()
        return self if frame is self._frame else TableRows(frame, self._engine)

    def _tried(self, work: Callable[[], T]) -> T:
        """Return what ``work`` finds; a lost connection is replaced once.

        Nothing of the first try is kept, and no noise was drawn yet.
        """
        origins = [(origin, origin.sessions()) for origin in self._origins]
        try:
            return work()
        except Exception:
            recovered = [origin.recovered(since) for origin, since in origins]
            if not any(recovered):
                raise
        return work()

    def refusal(self, asked: Bound | None, sampled: bool = False) -> str:
        if not isinstance(self._engine, Refuses):
            return ""
        return self._engine.refusal(asked, self._frame, sampled=sampled)

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded:
        if keep is not None:  # the secret generator stays in this process
            return self._tried(lambda: fold_all(asked, self._frame, keep))
        return self._tried(lambda: self._engine.fold(asked, self._frame))

    def fold_several(self, several: Sequence[Bound]) -> Sequence[Folded | None]:
        """Each one's sums, all from one pass; None where the engine has no such."""
        engine = self._engine
        if not isinstance(engine, FoldsSeveral):
            return [None] * len(several)
        return self._tried(lambda: engine.fold_several(several, self._frame))

    def forget(self) -> None:
        """Give back what is kept about the rows for the questions of one fit."""
        if isinstance(self._frame, KeepsEntries):
            self._frame.cache.forget()
        frame = self._frame.for_plan()
        if frame is not self._frame:  # the copy of a database goes with the plan
            self._frame, self._views = frame, {}

    def seen(self, step: Step, domain: Domain) -> TableRows:
        if step not in self._views:  # a view in memory keeps what it has made
            if len(self._views) >= 16:
                self._views.clear()
            view = view_of(self._frame, step, domain)
            again = partial(self._seen_again, step, domain) if self._again else None
            self._views[step] = TableRows(view, self._engine, again)
        return self._views[step]

    def _seen_again(self, step: Step, domain: Domain) -> TableRows:
        return self.reloaded().seen(step, domain)

    def joined(
        self, other: TableRows, domains: tuple[Domain, Domain], how: How
    ) -> TableRows:
        # Rows are joined by their places, which those of a database do not have.
        first, second = (
            rows._frame.held()
            if isinstance(rows._frame, AnswersQueries)
            else rows._frame
            for rows in (self, other)
        )
        frame = JoinedFrame(first, second, domains, how)

        def again() -> TableRows:
            return self.reloaded().joined(other.reloaded(), domains, how)

        return TableRows(frame, LocalEngine(), again)

    def remembered(self, history: PersonHistory, domain: Domain) -> TableRows | None:
        if not isinstance(self._frame, PersonFrame):
            return None
        frame = self._frame.above(
            lambda rows: HistoryFrame(rows, history, domain), history.domain(domain)
        )

        def again() -> TableRows:
            rows = self.reloaded().remembered(history, domain)
            return cast(TableRows, rows)  # it is of the same kind as before

        return TableRows(frame, LocalEngine(), again)

    def column(self, name: str) -> Any:
        return self._tried(lambda: self._frame.column(name))

    def texts(self, name: str) -> Any:
        return self._tried(lambda: self._frame.raw(name))

    def length(self) -> int:
        return self._frame.length()
