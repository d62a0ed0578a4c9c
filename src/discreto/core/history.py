"""Earlier rows of the same person beside each row: lags and rolling means.

A value would enter many rows of a time series, so a single row could move many rows of
such a view. Here the unit is the person (a patient, a machine, a day): what is put
beside a row comes from rows of the same person only, and afterwards no person keeps
more rows than the domain declares. So a person who comes or goes, with all of her rows,
moves at most ``rows_per_person`` rows of the view, as she does without it
(docs/proofs/sensitivity.md#histories).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreto.core.domain.dates import DateTime
from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.core.expressions import Col
from discreto.core.frame import Array, Frame, Origin, Place, asked
from discreto.core.joins import may_lack
from discreto.core.people import person_numbers
from discreto.core.query import Ints
from discreto.errors import DomainError, ParameterError

MOST_ROWS = 1000  # back in time


@dataclass(frozen=True, slots=True)
class Lag:
    """The value of a column so many rows earlier; missing where there is no such row.

    Parameters
    ----------
    column
        Whose value.
    rows
        How many rows earlier.
    """

    column: str
    rows: int = 1

    def __post_init__(self) -> None:
        _check_rows(self.rows)

    def made(self, domain: Domain) -> Column:
        """The column that it makes: the same, with gaps."""
        column = domain[self.column]
        if not isinstance(column, Number | Category):
            raise DomainError(f"{self.column!r} is opaque: it cannot be asked about.")
        return may_lack(column)

    def values(self, values: Array, earlier: Earlier) -> Array:
        """What is beside each row, in the order of time."""
        return earlier.shifted(values, self.rows)

    def __str__(self) -> str:
        return f"lag({self.column}, {self.rows})"


@dataclass(frozen=True, slots=True)
class RollingMean:
    """The mean of the rows before this one, up to so many; gaps are left out.

    Parameters
    ----------
    column
        Whose mean.
    rows
        How many rows, the one before the last.
    """

    column: str
    rows: int

    def __post_init__(self) -> None:
        _check_rows(self.rows)

    def made(self, domain: Domain) -> Column:
        """The column that it makes: a number within the same bounds, with gaps."""
        column = domain[self.column]
        if not isinstance(column, Number) or isinstance(column, DateTime):
            raise DomainError(f"{self} needs numbers, and {self.column!r} has others.")
        return Number(column.lower, column.upper, missing=True)

    def values(self, values: Array, earlier: Earlier) -> Array:
        """What is beside each row, in the order of time.

        Added up row by row: running totals would carry rounding errors, and with them
        something of other people's values, into every later row.
        """
        total, count = np.zeros(len(values)), np.zeros(len(values))
        for back in range(1, self.rows + 1):
            found = earlier.shifted(values, back)
            known = ~np.isnan(found)
            total += np.where(known, found, 0.0)
            count += known
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def __str__(self) -> str:
        return f"rolling_mean({self.column}, {self.rows})"


Past = Lag | RollingMean


@dataclass(frozen=True, slots=True)
class NamedPast:
    """What is put beside each row, and the name of its column."""

    name: str
    past: Past

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= 200:
            raise ParameterError("a column's name is a text of 1 to 200 letters.")
        if not isinstance(self.past, Lag | RollingMean):
            raise ParameterError(
                f"{self.name} must be lag(...) or rolling_mean(...) of a column."
            )


@dataclass(frozen=True, slots=True)
class PersonHistory:
    """Columns made from earlier rows of the same person, in the order of a column."""

    order: str
    columns: tuple[NamedPast, ...]

    def domain(self, domain: Domain) -> Domain:
        """What everybody may know of the view, or a refusal."""
        if domain.person is None:
            raise DomainError(
                "earlier rows are those of the same person or unit: the domain needs "
                "person='COLUMN' and rows_per_person. Without it one row could move "
                "any number of others."
            )
        if not isinstance(domain[self.order], Number):
            raise DomainError(f"{self.order!r} must be a number, a date or a time.")
        if not self.columns:
            raise ParameterError("a history needs at least one new column.")
        made = dict(domain.columns)
        for named in self.columns:
            if named.name in made:
                raise DomainError(f"there is a column {named.name!r} already.")
            made[named.name] = named.past.made(domain)
        return domain.with_(columns=made)


class Earlier:
    """Rows sorted by person and time: which row is so many rows earlier."""

    def __init__(self, people: Ints, times: Array) -> None:
        placeless = np.isnan(times)
        moments = np.where(placeless, 0.0, times)
        # Equal times stay in the order of the table, which is the person's own.
        self.order = np.lexsort((moments, placeless, people))
        self._people = people[self.order]
        self._placed = ~placeless[self.order]

    def shifted(self, values: Array, back: int) -> Array:
        """Sorted values of ``back`` rows earlier of the same person, or nothing."""
        lacking = np.nan if values.dtype.kind == "f" else -1
        out = np.full(len(values), lacking, dtype=values.dtype)
        if back < len(values):
            same = self._people[back:] == self._people[:-back]
            there = same & self._placed[back:] & self._placed[:-back]
            out[back:][there] = values[:-back][there]
        return out


class HistoryFrame:
    """A frame with a history; people may still have any number of rows."""

    def __init__(self, frame: Frame, history: PersonHistory, domain: Domain) -> None:
        self._frame, self._history, self._domain = frame, history, domain
        self._earlier: Earlier | None = None
        self._made: dict[str, Array] = {}

    def length(self) -> int:
        return self._frame.length()

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
        return HistoryFrame(inner, self._history, self._domain)

    def raw(self, name: str) -> Array:
        return self._frame.raw(name)

    def column(self, name: str) -> Array:
        for named in self._history.columns:
            if named.name == name:
                return self._past(named)
        return self._frame.column(name)

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        past = {named.name: named for named in self._history.columns}
        kept = [n for n in names if n not in past and asked(self._domain[n])]
        start = 0
        for batch, rows in self._frame.batches(kept, size):
            here = slice(start, start + rows)
            made = {n: self._past(past[n])[here] for n in names if n in past}
            yield {**batch, **made}, rows
            start += rows

    def _past(self, named: NamedPast) -> Array:
        if named.name not in self._made:
            earlier, column = self._sorted(), named.past.column
            batch = {column: self._frame.column(column)}
            values = Col(column).rows(batch, self._domain)[earlier.order]
            out = np.empty_like(values)
            with np.errstate(all="ignore"):
                out[earlier.order] = named.past.values(values, earlier)
            out.flags.writeable = False
            self._made[named.name] = out
        return self._made[named.name]

    def _sorted(self) -> Earlier:
        if self._earlier is None:
            people = person_numbers(self._frame.raw(str(self._domain.person)))
            times = np.asarray(self._frame.column(self._history.order), dtype=float)
            self._earlier = Earlier(people, times)
        return self._earlier


def _check_rows(rows: int) -> None:
    if type(rows) is not int or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(
            f"rows must be a whole number from 1 to {MOST_ROWS}. Got {rows!r}."
        )
