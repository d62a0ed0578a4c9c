"""The rows of a table as the gate may use them: exact sums and plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from discreto.core.bound import Bound
from discreto.core.domain import Domain
from discreto.core.expressions import Step
from discreto.core.gate import Keep
from discreto.core.history import HistoryFrame, PersonHistory
from discreto.core.joins import How, JoinedFrame
from discreto.core.query import Ints
from discreto.data.engines import LocalEngine, fold_all
from discreto.data.frames import Frame, PersonFrame, view_of


class Engine(Protocol):
    """Whatever can fold exact sums over a frame."""

    def fold(self, asked: Bound, frame: Frame) -> list[Ints]: ...


class TableRows:
    """Rows behind the gate, and views of them."""

    def __init__(self, frame: Frame, engine: Engine) -> None:
        self._frame, self._engine = frame, engine
        self._views: dict[Step, TableRows] = {}

    def refusal(self, asked: Bound | None, sampled: bool = False) -> str:
        refuse = getattr(self._engine, "refusal", None)
        if refuse is None:
            return ""
        text: str = refuse(asked, self._frame, sampled=sampled)
        return text

    def fold(self, asked: Bound, keep: Keep | None = None) -> list[Ints]:
        if keep is not None:  # secret coins stay in this process
            return fold_all(asked, self._frame, keep)
        return self._engine.fold(asked, self._frame)

    def fold_several(self, several: Sequence[Bound]) -> Sequence[list[Ints] | None]:
        """Each one's sums, all from one pass; None where the engine has no such."""
        together = getattr(self._engine, "fold_several", None)
        if together is None:
            return [None] * len(several)
        found: Sequence[list[Ints]] = together(several, self._frame)
        return found

    def forget(self) -> None:
        """Let go of what was made of whole rows for the questions of one fit."""
        held = getattr(self._frame, "fit_rows", None)
        if held is not None:
            held.forget()

    def seen(self, step: Step, domain: Domain) -> TableRows:
        if step not in self._views:  # a view in memory keeps what it has made
            if len(self._views) >= 16:
                self._views.clear()
            view = view_of(self._frame, step, domain)
            self._views[step] = TableRows(view, self._engine)
        return self._views[step]

    def joined(
        self, other: TableRows, domains: tuple[Domain, Domain], how: How
    ) -> TableRows:
        # Rows are joined by their places, which those of a database do not have.
        first, second = (
            rows._frame.held() if hasattr(rows._frame, "held") else rows._frame
            for rows in (self, other)
        )
        return TableRows(JoinedFrame(first, second, domains, how), LocalEngine())

    def remembered(self, history: PersonHistory, domain: Domain) -> TableRows | None:
        if not isinstance(self._frame, PersonFrame):
            return None
        frame = self._frame.above(
            lambda rows: HistoryFrame(rows, history, domain), history.domain(domain)
        )
        return TableRows(frame, LocalEngine())

    def column(self, name: str) -> Any:
        return self._frame.column(name)

    def texts(self, name: str) -> Any:
        return self._frame.raw(name)

    def length(self) -> int:
        return self._frame.length()
