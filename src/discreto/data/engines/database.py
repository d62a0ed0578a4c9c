"""The engine of databases: sums are added up where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

from discreto.core.fold import Folded, by_query, of_copy
from discreto.core.query import Bound
from discreto.data.engines.local import LocalEngine, quietly
from discreto.data.frames import Frame
from discreto.data.sql import Untranslated
from discreto.session.parameters import MANY, truth, whole

if TYPE_CHECKING:  # it needs narwhals, which is not loaded for nothing
    from discreto.data.sql.frame import DatabaseFrame

KEPT = 1 << 27  # numbers of a private copy: one gigabyte


class DatabaseEngine:
    """Asks a database for exact sums; reads rows only for what it cannot add up.

    Parameters
    ----------
    fetch
        Whether rows may be read into this process for questions without a translation
        (models that are evaluated, boosted trees, neighbours, secret samples).
        With ``False`` such questions are refused by name, before they are charged.
    keep
        How many numbers a private copy of the table may hold, for the questions that
        need rows; larger tables are read anew for each of them.

    Examples
    --------
    >>> import discreto as dp
    >>> dp.engines.DatabaseEngine(fetch=False).fetch
    False
    """

    def __init__(self, *, fetch: bool = True, keep: int = KEPT) -> None:
        self.fetch = truth(fetch, "fetch", of="DatabaseEngine")
        self.keep = whole(keep, "keep", least=0, most=MANY, of="DatabaseEngine")
        self._local = LocalEngine()

    def fold(self, asked: Bound, frame: Frame) -> Folded:
        """The exact sums over all rows.

        Parameters
        ----------
        asked
            What is summed, bound to its domain.
        frame
            The rows.
        """
        return quietly(lambda: self._fold(asked, frame))

    def _fold(self, asked: Bound, frame: Frame) -> Folded:
        if not _asks(frame):
            return self._local.fold(asked, frame)
        copy: Frame = frame
        if self.fetch and frame.costly(asked):
            copy = frame.copied(self.keep)
        if copy is frame:
            try:
                query = frame.query(asked)
            except Untranslated:
                copy = frame.copied(self.keep)
            else:
                return by_query(query.run(), frame)
        return of_copy(self._local.fold(asked, copy), copy, frame)

    def fold_several(
        self, several: Sequence[Bound], frame: Frame
    ) -> list[Folded | None]:
        """The exact sums of several questions, from as few queries as there can be.

        Parameters
        ----------
        several
            What is summed, each bound to its domain.
        frame
            The rows.

        Returns
        -------
        list
            The sums of each question; None for one that is better asked by itself.
        """
        if not _asks(frame):
            return self._local.fold_several(several, frame)
        out: list[Folded | None] = [None] * len(several)

        def work() -> None:
            for portion in frame.queries(several):
                for place, sums in zip(portion.places, portion.run(), strict=True):
                    out[place] = by_query(sums, frame)
            left = [i for i, sums in enumerate(out) if sums is None]
            read = [i for i in left if not _translates(several[i], frame)]
            if len(read) > 1:
                copy, own = frame.copied(self.keep), [several[i] for i in read]
                for place, found in zip(
                    read, self._local.fold_several(own, copy), strict=True
                ):
                    out[place] = found and of_copy(found, copy, frame)

        quietly(work)
        return out

    def refusal(
        self, asked: Bound | None, frame: Frame, *, sampled: bool = False
    ) -> str:
        """Why a question cannot be answered here; empty if it can.

        Parameters
        ----------
        asked
            What is asked, bound to its domain; None if it is about texts of rows.
        frame
            The rows; only their types are looked at.
        sampled
            Whether it is about a secret sample of the rows.
        """
        if self.fetch:
            return ""
        what = "texts of rows" if asked is None else "what is asked of this table"
        what = "a secret sample of rows" if sampled else what
        try:
            if asked is not None and not sampled and _asks(frame):
                frame.query(asked if asked.tally is None else asked.tally)
                return ""
        except Untranslated as lacking:
            what = lacking.what
        return (
            f"{what} would be worked out from rows outside of the "
            "database, and the engine has fetch=False. Use DatabaseEngine(fetch=True)."
        )


def _translates(asked: Bound, frame: DatabaseFrame) -> bool:
    """Whether a question has a query of its own."""
    try:
        frame.query(asked)
    except Untranslated:
        return False
    return True


def _asks(frame: Frame) -> TypeGuard[DatabaseFrame]:
    """Whether a frame can be asked with queries."""
    return hasattr(frame, "query")
