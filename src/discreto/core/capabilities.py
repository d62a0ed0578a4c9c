"""Optional capabilities of frames, engines, sources and tables, each a ``Protocol``.

Every frame has the methods of :class:`discreto.core.frame.Frame`, and every engine has
``fold``. Methods that only some of them have are declared here. A caller asks for them
with ``isinstance``, and a type checker knows their signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from discreto.core.frame import Array, Frame

if TYPE_CHECKING:  # these modules ask for capabilities themselves
    from discreto.core.expressions import Step
    from discreto.core.fold import Folded
    from discreto.core.people import PersonBound
    from discreto.core.query import Bound
    from discreto.core.row_cache import RowCache


# Frames.


@runtime_checkable
class KeepsEntries(Protocol):
    """A frame with a store for what is worked out from its rows."""

    @property
    def cache(self) -> RowCache:
        """The store; a fit gives it back when it is over."""


@runtime_checkable
class KeepsBatches(Protocol):
    """A frame that has batches with a store only for questions that use it."""

    def kept_batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[Mapping[str, Array], int]]:
        """Yield batches with a store for what is worked out from their rows."""


@runtime_checkable
class BoundsPeople(Protocol):
    """A frame that proves how many rows a person has at most."""

    @property
    def person_bound(self) -> PersonBound | None:
        """The proof, if there is one."""


@runtime_checkable
class MakesViews(Protocol):
    """A frame that makes views by itself: a database does."""

    def seen(self, step: Step) -> Frame:
        """Return a view of the rows."""


@runtime_checkable
class AnswersQueries(Protocol):
    """A frame whose rows stay in a database, which adds up sums."""

    def query(self, question: Bound) -> Any:
        """Return the query for a question, or raise ``Untranslated``."""

    def bounded(self, key: bytes, *, fetch: bool = True) -> Frame:
        """Return the rows with at most a few of each person."""

    def tables(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield the columns as they are stored, for their owner alone."""

    def held(self) -> Frame:
        """Return the rows with places, which rows of a database do not have."""


@runtime_checkable
class ReadsTexts(Protocol):
    """A frame that says if it reads numbers or dates from texts."""

    spelled: bool


# Engines.


@runtime_checkable
class Refuses(Protocol):
    """An engine that refuses questions that others can answer."""

    def refusal(
        self, asked: Bound | None, frame: Frame, *, sampled: bool = False
    ) -> str:
        """Return why a question cannot be answered here; empty if it can."""


@runtime_checkable
class FoldsSeveral(Protocol):
    """An engine that folds several questions in one pass."""

    def fold_several(
        self, several: Sequence[Bound], frame: Frame
    ) -> list[Folded | None]:
        """Return the sums of each question; None for one to be asked by itself."""


@runtime_checkable
class MayFetch(Protocol):
    """An engine that is told whether rows may be read out of a database."""

    fetch: bool


# Sources behind the gate, and tables.


@runtime_checkable
class FoldsAhead(Protocol):
    """A source that folds several questions in one pass."""

    def fold_several(self, several: Sequence[Bound]) -> Sequence[Folded | None]:
        """Return the sums of each question; None for one to be asked by itself."""


@runtime_checkable
class Forgets(Protocol):
    """A source that keeps something for the questions of one fit."""

    forget: Callable[[], None]


@runtime_checkable
class Choosy(Protocol):
    """A table that says if its engine refuses what others can answer."""

    choosy: bool


def may_fetch(engine: object) -> bool:
    """Return True unless an engine was told to leave rows in their database."""
    return engine.fetch if isinstance(engine, MayFetch) else True


def is_choosy(table: object) -> bool:
    """Return True if a table's engine refuses what others can answer."""
    return isinstance(table, Choosy) and table.choosy
