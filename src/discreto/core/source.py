"""What stands behind the gate: rows, parts of them, and rehearsals without any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from discreto.core.bound import Bound
from discreto.core.capabilities import BoundsPeople, Forgets
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, ViewFrame
from discreto.core.fold import Folded, Keep
from discreto.core.frame import Frame, Place
from discreto.core.joins import JoinedFrame
from discreto.core.people import PersonBound
from discreto.core.query import Floats, Ints, Sum, Tally
from discreto.errors import (
    ChangedError,
    ParameterError,
    StalledError,
    UnsafeError,
)

T = TypeVar("T")
_CHANGED = (
    "the rows were changed while they were read: there is no answer, and the charge "
    "stands. Ask again after table.reload()."
)


class Source(Protocol):
    """Rows behind the gate: exact folds and plain columns, for the gate only."""

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded: ...
    def places(self) -> tuple[Place, ...]: ...
    def refusal(self, asked: Bound | None, sampled: bool = False) -> str: ...
    def column(self, name: str) -> Floats | Ints: ...
    def texts(self, name: str) -> NDArray[Any]: ...
    def seen(self, step: Step, domain: Domain) -> Source: ...

    def unready(self) -> str:
        """Return why rows cannot be read now, a public reason; empty if they can."""

    def unchanged(self) -> bool:
        """Return True if these are still the rows that the source was opened on."""

    def person_bound(self) -> PersonBound | None:
        """Return the proof that no person has too many rows, if there is one."""


def person_bound_of(frame: Frame) -> PersonBound | None:
    """Return the bound that a frame carries, through views and joins of the core."""
    if isinstance(frame, ViewFrame):
        return person_bound_of(frame.frame)
    if isinstance(frame, JoinedFrame):
        bounds = [person_bound_of(one) for one in frame.sides()]
        first, second = bounds
        return None if first is None or second is None else first.times(second)
    found = frame.person_bound if isinstance(frame, BoundsPeople) else None
    return found if isinstance(found, PersonBound) else None


def check_people(source: Source, domain: Domain) -> None:
    """Refuse rows of people unless the core has bounded how many each of them has."""
    if domain.person is None:
        return
    bound = source.person_bound()
    if bound is None or bound.rows > domain.rows_per_person:
        raise UnsafeError(
            f"the domain protects whole people ({domain.person!r}), and nothing bounds "
            "how many rows each of them has here."
        )


def check_ready(source: Source, label: str) -> None:
    """Refuse, before a charge, rows that were changed or cannot be reached.

    What was made of the rows before (who stays, which rows belong together) is not
    about other rows: laid over them, one person could move any number of rows.
    """
    reason = source.unready()
    if reason:
        raise ParameterError(f"{label!r} cannot be asked of this table: {reason}.")


def check_same(source: Source) -> None:
    """Give no answer, after a charge, from rows that changed on the way.

    The ledger stays open: that rows were changed, and when, is public.
    """
    if not source.unchanged():
        raise ChangedError(_CHANGED)


def attempt(source: Source, work: Callable[[], T]) -> tuple[list[T], str]:
    """Return what work on rows found, in a list that is empty if it failed, and why.

    Only workers that did nothing are a reason to name: other failures may quote a row.
    Whether the rows were changed comes first: then it does not matter what was found.
    """
    found: list[T] = []
    reason = ""
    try:
        found.append(work())
    except StalledError as error:
        reason = f" ({error})"
    except Exception:  # noqa: S110 - its text may quote a row
        pass
    check_same(source)
    return found, reason


class RowPartition(Protocol):
    """Disjoint parts of the rows, each row's by its own content."""

    def count(self, domain: Domain) -> int: ...
    def restrict(self, query: Sum | Tally, number: int) -> Sum | Tally: ...


class Rehearsal:
    """Made-up rows; what is refused is what the rows themselves would refuse."""

    def __init__(self, rows: Source, made_up: Source) -> None:
        self._rows, self._made_up = rows, made_up
        self.fold, self.column = made_up.fold, made_up.column
        self.texts = made_up.texts
        self.refusal = rows.refusal
        self.unready, self.unchanged = rows.unready, rows.unchanged
        self.person_bound = rows.person_bound
        self.places = made_up.places

    def seen(self, step: Step, domain: Domain) -> Source:
        views = self._rows.seen(step, domain), self._made_up.seen(step, domain)
        return Rehearsal(*views)


class FoldedAhead:
    """Rows of which some sums have been folded already, in one pass for all.

    A question gets what was folded for the same question of the same domain, or is
    folded now. Each is handed out once: noise is added to it in place of nothing else.
    """

    def __init__(
        self, rows: Source, several: Sequence[Bound], found: Sequence[Folded | None]
    ) -> None:
        self._rows = rows
        self._several = list(zip(several, found, strict=True))
        self.column, self.texts, self.seen = rows.column, rows.texts, rows.seen
        self.refusal = rows.refusal
        self.forget = rows.forget if isinstance(rows, Forgets) else lambda: None
        self.unready, self.unchanged = rows.unready, rows.unchanged
        self.person_bound = rows.person_bound
        self.places = rows.places

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded:
        for i, (known, sums) in enumerate(self._several):
            same = keep is None and sums is not None and known.domain is asked.domain
            if same and known.query == asked.query:
                del self._several[i]
                return sums  # type: ignore[return-value]
        return self._rows.fold(asked, keep)
