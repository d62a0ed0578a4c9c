"""The people that rows belong to, and the bound on how many rows each of them has.

An identifier is a text. A number becomes its shortest text, a whole number without a
point, and a Boolean becomes the number 0 or 1. So 1, 1.0, "1" and True are one person,
as they are when one file stores numbers and the next one texts. Texts stay as they are:
"1.0", "01" and " 1" are other people than "1". Rows identify no person where the value
is missing (None, NaN, NaT, an empty text), is one of the dialect's words for gaps, or
is not a text, number, date or UUID. A word for gaps is compared with the form of an
identifier: "-999" and "-999.0" stand for the number -999, and each for its own text.

The form of a row's identifier depends on that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import InitVar, dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain
from discreto.core.frame import BATCH, Array, Frame, Origin, Place, asked
from discreto.errors import UnsafeError

_CORE = object()  # shows that a bound was made here
_DIGITS = 400  # of a whole decimal that is written out


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
    other people, and not on the order of rows. Rows without an identifier are left
    out, because any number of them might belong to one person. So a person moves at
    most her own ``k`` rows.
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
        """Return the same bound on a view whose rows come from one person's rows each.

        The view comes first: it sees every row of a person, and then she keeps ``k``.
        """
        return PersonFrame(made(self._frame), domain, self._key)

    def _keep(self) -> NDArray[np.bool_]:
        if self._kept is None:
            person = self._domain.person
            people = person_numbers(self._frame.raw(str(person)))
            # By person, then by hash: the rank of a row among its person's rows does
            # not depend on rows of others.
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
        """Return a keyed 64-bit hash of each row's columns that can be asked about."""
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
    """Apply the finaliser of splitmix64."""
    words = words + seed
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def person_numbers(ids: Array) -> NDArray[np.int64]:
    """Return a number for each different person, -1 for rows without one."""
    if ids.dtype != object:
        return np.unique(ids, return_inverse=True)[1]
    seen: dict[object, int] = {None: -1}
    return np.fromiter(
        (seen.setdefault(name, len(seen)) for name in ids.tolist()), np.int64, ids.size
    )


def named(several: Sequence[object], gaps: Collection[str]) -> Array:
    """Return identifiers as texts, None in place of ``gaps`` and missing ones."""
    names = [name_of(value) for value in several]
    return as_objects([None if name in gaps else name for name in names])


def as_objects(several: Sequence[object]) -> Array:
    """Return a 1-d array of Python objects, whatever they are."""
    return np.fromiter(several, dtype=object, count=len(several))


def join(parts: Sequence[Array]) -> Array:
    """Return one array of the identifiers of several files."""
    if len({part.dtype for part in parts}) > 1:
        # One file stores numbers, the next one texts: the same person in both.
        parts = [
            part if part.dtype == object else as_objects(list(map(str, part.tolist())))
            for part in parts
        ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=object)


def name_of(value: object) -> str | None:
    """Return the text that stands for an identifier, or None."""
    try:
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        if isinstance(value, str):
            return str(value) or None
        if isinstance(value, bool | np.bool_ | int | np.integer):
            return str(int(value))
        if isinstance(value, float | np.floating):
            return None if math.isnan(value) else name_of_number(float(value))
        if isinstance(value, Decimal):
            return _name_of_decimal(value)
        if isinstance(value, UUID | date | np.datetime64) and value == value:
            return str(value)
    except Exception:  # an object that fails when it is compared identifies no person
        return None
    return None


def name_of_number(value: float) -> str:
    """Return a number as identifiers are written: whole numbers without a point."""
    return str(int(value)) if value.is_integer() else repr(value)


def _name_of_decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
        return str(value)
    whole = value == value.to_integral_value()
    return str(int(value)) if whole else format(value.normalize(), "f")
