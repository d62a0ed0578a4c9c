"""Contribution bounding: frames in which no person has more than a few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain
from discreto.core.frame import BATCH, Array, Frame, Origin, Place, asked
from discreto.errors import UnsafeError

_CORE = object()  # shows that a bound was made here


@dataclass(frozen=True, slots=True)
class PersonBound:
    """A proof that no person has more than ``rows`` rows; only the core makes one."""

    rows: int
    made_by: InitVar[object] = None

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _CORE:
            raise UnsafeError("only the core bounds how many rows a person has.")

    def times(self, other: PersonBound) -> PersonBound:
        """Return the bound of rows that are joined person by person."""
        return PersonBound(self.rows * other.rows, _CORE)


def bound_by_query(domain: Domain) -> PersonBound:
    """Return the bound that every query and every copy of a database has to prove.

    ``query_fold`` compares it with the largest number of rows that one person has.
    """
    return PersonBound(domain.rows_per_person, _CORE)


def bound_of_nobody() -> PersonBound:
    """Return the bound of rows without persons: none, or synthetic public rows."""
    return PersonBound(0, _CORE)


class PersonFrame:
    """A frame in which no person has more than ``k`` rows.

    Which rows of a person stay depends on a keyed hash of their content alone: not on
    other people, and not on the order of rows. Rows without an identifier
    (:mod:`~discreto.data.frames.people`) are left out: whoever they belong to, there
    might be too many of them. So a person moves at most her own ``k`` rows.
    """

    def __init__(self, frame: Frame, domain: Domain, key: bytes) -> None:
        self._frame, self._domain, self._key = frame, domain, key
        self._kept: NDArray[np.bool_] | None = None
        self.person_bound = PersonBound(domain.rows_per_person, _CORE)

    def length(self) -> int:
        return int(self._keep().sum())

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def origins(self) -> tuple[Origin, ...]:
        return self._frame.origins()

    def places(self) -> tuple[Place, ...]:
        return self._frame.places()

    def for_plan(self) -> Frame:
        inner = self._frame.for_plan()
        if inner is self._frame:
            return self
        return PersonFrame(inner, self._domain, self._key)

    def column(self, name: str) -> Array:
        return self._frame.column(name)[self._keep()]

    def raw(self, name: str) -> Array:
        return self._frame.raw(name)[self._keep()]

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        keep, start = self._keep(), 0
        for batch, rows in self._frame.batches(names, size):
            chosen = keep[start : start + rows]
            yield {n: c[chosen] for n, c in batch.items()}, int(chosen.sum())
            start += rows

    def above(self, made: Callable[[Frame], Frame], domain: Domain) -> PersonFrame:
        """The same bound on a view of all rows, each person's made of her rows alone.

        The view comes first: it sees every row of a person, and then she keeps ``k``.
        """
        return PersonFrame(made(self._frame), domain, self._key)

    def _keep(self) -> NDArray[np.bool_]:
        if self._kept is None:
            person = self._domain.person
            people = person_numbers(self._frame.raw(str(person)))
            order = np.lexsort((self._row_hashes(), people))
            ordered = people[order]
            first = np.flatnonzero(
                np.r_[True, ordered[1:] != ordered[:-1]][: order.size]
            )
            starts = np.repeat(first, np.diff(np.r_[first, order.size]))
            keep = np.empty(order.size, dtype=bool)
            rank = np.arange(order.size) - starts
            keep[order] = rank < self._domain.rows_per_person
            self._kept = keep & (people >= 0)
        return self._kept

    def _row_hashes(self) -> NDArray[np.uint64]:
        """A keyed 64-bit mix of all columns that can be asked about."""
        names = [name for name, c in self._domain.columns.items() if asked(c)]
        seeds = np.frombuffer(self._key, dtype=np.uint64)
        parts = []
        for batch, rows in self._frame.batches(names, BATCH):
            mixed = np.full(rows, seeds[0])
            for name in names:
                values = np.ascontiguousarray(batch[name]).view(np.uint64)
                mixed = _mix(mixed ^ _mix(values, seeds[1]), seeds[2])
            parts.append(mixed)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _mix(words: NDArray[np.uint64], seed: np.uint64) -> NDArray[np.uint64]:
    """The finaliser of splitmix64."""
    words = words + seed
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def person_numbers(ids: Array) -> NDArray[np.int64]:
    """A number for each different person, -1 for nobody."""
    if ids.dtype != object:
        return np.unique(ids, return_inverse=True)[1]
    seen: dict[object, int] = {None: -1}
    return np.fromiter(
        (seen.setdefault(name, len(seen)) for name in ids.tolist()), np.int64, ids.size
    )
