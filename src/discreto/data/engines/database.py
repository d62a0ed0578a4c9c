"""The engine of databases: sums are added up where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

from discreto.core.fold import Folded
from discreto.core.query import Bound
from discreto.core.query_fold import (
    CountedCopy,
    CountedQuery,
    PeopleFrame,
    Portion,
    by_query,
    of_copy,
)
from discreto.data.engines.local import LocalEngine, quietly
from discreto.data.frames import Frame
from discreto.data.sql import Untranslated
from discreto.session.parameters import MANY, truth, whole

KEPT = 1 << 27  # numbers of a private copy: one gigabyte


@runtime_checkable
class QueryFrame(PeopleFrame, Protocol):
    """Rows that can be asked with queries, or copied, besides being read."""

    def query(self, question: Bound) -> CountedQuery:
        """Return one query for a question; raises ``Untranslated`` for lack of one."""

    def queries(self, several: Sequence[Bound]) -> Sequence[Portion]:
        """Return few queries for several questions; some may be in none."""

    def costly(self, question: Bound) -> bool:
        """Return True if a copy of the rows would answer many times faster."""

    def copied(self, most: int) -> tuple[Frame, CountedCopy] | None:
        """Return a copy of at most so many numbers and its proof, or None."""


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
        """Return the exact sums over all rows.

        Parameters
        ----------
        asked
            What is summed, bound to its domain.
        frame
            The rows.
        """
        return quietly(lambda: self._fold(asked, frame))

    def _fold(self, asked: Bound, frame: Frame) -> Folded:
        if not isinstance(frame, QueryFrame):
            return self._local.fold(asked, frame)
        if not (self.fetch and frame.costly(asked)):
            with suppress(Untranslated):
                return by_query([asked], frame.query(asked), frame)[0]
        copied = frame.copied(self.keep)
        if copied is not None:
            copy, proof = copied
            return of_copy(self._local.fold(asked, copy), copy, frame, proof)
        with suppress(Untranslated):  # costly, and too large for a copy
            return by_query([asked], frame.query(asked), frame)[0]
        return self._local.fold(asked, frame)

    def fold_several(
        self, several: Sequence[Bound], frame: Frame
    ) -> list[Folded | None]:
        """Return the exact sums of several questions, from as few queries as possible.

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
        if not isinstance(frame, QueryFrame):
            return self._local.fold_several(several, frame)
        out: list[Folded | None] = [None] * len(several)

        def work() -> None:
            for portion in frame.queries(several):
                own = [several[place] for place in portion.places]
                found = by_query(own, portion.query, frame)
                for place, one in zip(portion.places, found, strict=True):
                    out[place] = one
            left = [i for i, sums in enumerate(out) if sums is None]
            read = [i for i in left if not _translates(several[i], frame)]
            if len(read) > 1:
                for place, sums in zip(
                    read, self._read(several, read, frame), strict=True
                ):
                    out[place] = sums

        quietly(work)
        return out

    def _read(
        self, several: Sequence[Bound], places: Sequence[int], frame: QueryFrame
    ) -> list[Folded | None]:
        """Return the sums of the questions at some places, from rows that are read."""
        own, copied = [several[i] for i in places], frame.copied(self.keep)
        if copied is None:
            return self._local.fold_several(own, frame)
        copy, proof = copied
        found = self._local.fold_several(own, copy)
        return [one and of_copy(one, copy, frame, proof) for one in found]

    def refusal(
        self, asked: Bound | None, frame: Frame, *, sampled: bool = False
    ) -> str:
        """Return why a question cannot be answered here; empty if it can.

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
            if asked is not None and not sampled and isinstance(frame, QueryFrame):
                frame.query(asked if asked.tally is None else asked.tally)
                return ""
        except Untranslated as lacking:
            what = lacking.what
        return (
            f"{what} would be worked out from rows outside of the "
            "database, and the engine has fetch=False. Use DatabaseEngine(fetch=True)."
        )


def _translates(asked: Bound, frame: QueryFrame) -> bool:
    """Return True if a question has a query of its own."""
    try:
        frame.query(asked)
    except Untranslated:
        return False
    return True
