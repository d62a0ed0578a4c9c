"""Features as numbers on [-1, 1]: Number columns, and an indicator a category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreto.core import compiled
from discreto.core.domain.dates import DateTime
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Domain
from discreto.core.maps._distances import nearest
from discreto.core.maps.cells import MISSING
from discreto.core.maps.regression import WIDEST
from discreto.core.maps.unit_columns import (
    Indicator,
    Term,
    facts_of,
    rows_with_gaps,
    unit_rows,
)
from discreto.data.frames.cells import gaps_of
from discreto.errors import DomainError
from discreto.models.base.features import Array, Space

_PIECE = 1 << 13  # rows at a time: they stay in the cache
INDICATOR = 0.5  # what a category is in distances, beside Numbers on [-1, 1]


@dataclass(frozen=True)
class Encoding:
    """The terms of a space; an indicator is ``size`` for rows of its category."""

    space: Space
    size: float = 1.0

    @cached_property
    def names(self) -> tuple[Term, ...]:
        """The names of the terms in questions."""
        out: list[Term] = []
        for name in self.space.features:
            column = self.space.domain[name]
            if isinstance(column, Category):
                codes = range(len(column.categories) + column.missing)
                out += [Indicator(name, code, self.size) for code in codes]
            else:
                out.append(name)
        if len(out) >= WIDEST:
            raise DomainError(
                f"the features have {len(out)} numbers and categories in all, more "
                f"than the {WIDEST - 1} that distances and linear models take. Leave "
                "a long list of categories out, or declare a shorter one."
            )
        return tuple(out)

    @property
    def domain(self) -> Domain:
        """The domain of their columns."""
        return self.space.domain

    @cached_property
    def labels(self) -> list[str]:
        """The labels of the terms: ``column``, or ``column=category``."""
        out = []
        for term in self.names:
            if isinstance(term, Indicator):
                values = (*self.domain.category(term.column).categories, MISSING)
                out.append(f"{term.column}={values[term.code]}")
            else:
                out.append(term)
        return out

    @cached_property
    def numbers(self) -> Array:
        """Which of them are Number columns."""
        return np.array([isinstance(term, str) for term in self.names], dtype=bool)

    @property
    def columns(self) -> int:
        """The number of columns that the terms are made of."""
        return len(self.space.features)

    @cached_property
    def centres(self) -> Array:
        """Where they are 0, in the units of the columns."""
        return np.array(
            [
                0.0 if isinstance(term, Indicator) else self.domain.number(term).centre
                for term in self.names
            ]
        )

    @cached_property
    def halves(self) -> Array:
        """The distance of a 1 from there; an indicator's unit is 1 for its rows."""
        return np.array(
            [
                1 / self.size
                if isinstance(term, Indicator)
                else self.domain.number(term).half
                for term in self.names
            ]
        )

    def matrix(self, X: Any, fill: Array | None = None) -> Array:
        """Return rows to predict; missing numbers are at 0, or at ``fill``."""
        rows, pieces = self._pieces(X, fill)
        out = np.empty((rows, len(self.names)))
        for start, unit in pieces:
            out[start : start + unit.shape[1]] = unit.T
        return out

    @cached_property
    def gapped(self) -> tuple[str, ...]:
        """The Number columns in which a value may be missing."""
        names = (term for term in self.names if isinstance(term, str))
        return tuple(n for n in names if self.domain.number(n).missing)

    def with_gaps(self, X: Any) -> Array:
        """Return rows to predict; NaN where a number is missing that may be."""
        rows, pieces = self._pieces(X, None, gaps=True)
        out = np.empty((rows, len(self.names)))
        for start, unit in pieces:
            out[start : start + unit.shape[1]] = unit.T
        return out

    def scores(self, X: Any, weights: Array, starts: Any, fill: Any = None) -> Array:
        """``starts`` and the weighed sums of terms, in the units of their columns.

        One line for each row and one column for each line of ``weights``; a row's
        scores have the same bits wherever it stands.
        """
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        table = self._table(X)
        if table is not None:
            return self._table_scores(table, weights, starts, fill)
        rows, pieces = self._pieces(X, fill)
        out = np.empty((rows, len(weights)))
        for start, unit in pieces:
            size = unit.shape[1]
            found = np.zeros((len(weights), size))
            found += np.reshape(np.asarray(starts, dtype=np.float64), (-1, 1))
            fast = compiled.point_loops(unit.size)
            if fast is not None:
                fast.line_scores(unit, self.centres, self.halves, weights, found)
            else:
                for j, line in enumerate(unit):
                    values = self.centres[j] + self.halves[j] * line
                    found += values * weights[:, j, None]
            out[start : start + size] = found.T
        return out

    def _table_scores(
        self, table: Array, weights: Array, starts: Any, fill: Any
    ) -> Array:
        out = np.zeros((len(table), len(weights)))
        out += np.asarray(starts, dtype=np.float64)
        known = facts_of(self.names, self.domain)
        away = np.zeros(len(self.names)) if fill is None else np.array(fill, float)
        lines = known.centres, known.scales, away, self.centres, self.halves
        rows = compiled.plain(table, *table.shape)
        compiled.point_loops(0).table_scores(rows, np.array(lines), weights, out)
        return out

    def nearest(self, X: Any, centres: Array) -> Array:
        """Return the nearest of points on [-1, 1] to each row; the first of equals.

        Distances are over what is there; -1 for a row without anything.
        """
        rows, pieces = self._pieces(X, None, gaps=True)
        out = np.zeros(rows, dtype=np.int64)
        centres = np.array(centres)
        centres.flags.writeable = False  # what follows from them is worked out once
        for start, unit in pieces:
            near = nearest(unit, centres)
            out[start : start + unit.shape[1]] = near
        return out

    def _pieces(
        self, X: Any, fill: Any, *, gaps: bool = False
    ) -> tuple[int, Iterator[tuple[int, Array]]]:
        """Return the row count, and an iterator over pieces: (terms x rows)."""
        table = self._table(X)
        if table is not None:
            return len(table), self._table_pieces(table, fill, gaps)
        batch, rows = self.space.batch(X)
        if gaps:
            return rows, self._gapped_pieces(batch, rows)
        return rows, self._column_pieces(batch, rows, fill)

    def _gapped_pieces(
        self, batch: dict[str, Array], rows: int
    ) -> Iterator[tuple[int, Array]]:
        for start in range(0, rows, _PIECE) if self.names else ():
            part = {n: c[start : start + _PIECE] for n, c in batch.items()}
            yield start, rows_with_gaps(self.names, part, self.domain)

    def _table(self, X: Any) -> Array | None:
        """Return ``X`` if it is an array that compiled loops can read as it is."""
        plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64
        if not plain or not X.flags.c_contiguous or not self.numbers.all():
            return None
        fits = X.shape[1] == len(self.names) and not self._dated and not self._worded
        return X if fits and compiled.point_loops(X.size) is not None else None

    @cached_property
    def _may_lack(self) -> Array:
        """Which of the terms may be missing."""
        return np.array([term in self.gapped for term in self.names], dtype=bool)

    @cached_property
    def _worded(self) -> bool:
        """True if some numbers stand for a gap, which compiled loops do not know."""
        return bool(gaps_of(self.domain.dialect or Dialect()).numbers)

    @cached_property
    def _dated(self) -> bool:
        return any(isinstance(self.domain[n], DateTime) for n in self.space.features)

    def _table_pieces(
        self, table: Array, fill: Any, gaps: bool
    ) -> Iterator[tuple[int, Array]]:
        fast, width = compiled.point_loops(0), len(self.names)
        known = facts_of(self.names, self.domain)
        away = np.zeros(width) if fill is None else np.array(fill, dtype=np.float64)
        unit = np.empty((width, min(_PIECE, len(table))))
        for start in range(0, len(table), _PIECE):
            part = table[start : start + _PIECE]
            part = compiled.plain(part, *part.shape)
            if len(part) != unit.shape[1]:
                unit = np.empty((width, len(part)))
            fast.unit_table(part, known.centres, known.scales, away, away, unit)
            if gaps and self._may_lack.any():
                absent = np.isnan(part.T) & self._may_lack[:, None]
                unit[absent] = np.nan
            yield start, unit

    def _column_pieces(
        self, batch: dict[str, Array], rows: int, fill: Any
    ) -> Iterator[tuple[int, Array]]:
        origins = () if fill is None else tuple(fill.tolist())
        for start in range(0, rows, _PIECE) if self.names else ():
            part = {n: c[start : start + _PIECE] for n, c in batch.items()}
            unit = unit_rows(self.names, part, self.domain, origins)
            if fill is not None:
                unit += np.asarray(fill)[:, None]
            yield start, unit

    def unscale(self, unit: Array) -> Array:
        """Return points on [-1, 1] in the units of the columns."""
        return self.centres + self.halves * unit


def affordable(space: Space, room: float, each: float) -> Space:
    """Return the space with all Numbers and as many Categories as rows can tell apart.

    ``room`` is the row count over the noise on a sum of rows, ``each`` what one
    more term needs of it. Short lists come first; without Numbers the shortest stays.
    """
    sizes = {
        name: len(space.domain.category(name).categories) for name in space.categories
    }
    left, kept = room / each - len(space.numbers), set(space.numbers)
    for name in sorted(sizes, key=lambda name: sizes[name]):
        left -= sizes[name]
        if left >= 0 or not kept:
            kept.add(name)
    return replace(space, features=tuple(n for n in space.features if n in kept))


def spread_out(values: Array, part: Encoding, whole: Encoding) -> Array:
    """Return numbers of the terms of a part, with 0 for the terms that it lacks."""
    place = {term: i for i, term in enumerate(whole.names)}
    out = np.zeros((*values.shape[:-1], len(whole.names)))
    out[..., [place[term] for term in part.names]] = values
    return out
