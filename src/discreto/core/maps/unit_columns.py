"""Columns as numbers from -1 to 1: what distances and linear models are made of.

A Number column is measured from the middle of its range. A Category column becomes one
column for each of its categories, an ``Indicator``, so a row has one of them at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from discreto.core import compiled
from discreto.core.domain.domain import Domain
from discreto.core.once import MadeOnce
from discreto.core.query import Batch, Floats
from discreto.core.row_program import (
    Row,
    Value,
    between,
    never_missing,
    present_or,
)
from discreto.core.validation import Different, Range
from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Indicator:
    """``size`` for rows of one category of a column, 0 for all others.

    The code after the last category is that of missing values, where a column has one.
    A value that is neither has no indicator at all.
    """

    column: str
    code: int
    size: Annotated[float, Range(1e-6, 1.0)] = 1.0

    def check(self, domain: Domain) -> None:
        column = domain.category(self.column)
        if not 0 <= self.code < len(column.categories) + column.missing:
            raise ParameterError(f"{self.column!r} has no category {self.code}.")

    def values(self, batch: Batch, domain: Domain) -> Floats:
        """Return the numbers of some rows."""
        codes, column = batch[self.column], domain.category(self.column)
        if self.code == len(column.categories):
            return np.multiply(codes < 0, self.size, dtype=np.float64)
        return np.multiply(codes == self.code, self.size, dtype=np.float64)

    def row_value(self, row: Row, domain: Domain) -> Value:
        """Return the number of a row."""
        code, column = row.code(self.column), domain.category(self.column)
        gap = self.code == len(column.categories)
        here = code < 0.0 if gap else code.equals(float(self.code))
        return never_missing(here if self.size == 1 else here * self.size)


Term = str | Indicator  # a Number column, or one category of a Category column
Terms = Annotated[tuple[Term, ...], Different()]


def check_numbers(terms: tuple[Term, ...], domain: Domain) -> None:
    """Refuse names of columns that are not Numbers; indicators check themselves."""
    for term in terms:
        if isinstance(term, str):
            domain.number(term)


def names_of(terms: tuple[Term, ...]) -> tuple[str, ...]:
    """The columns that terms are made of, each once."""
    names = [term if isinstance(term, str) else term.column for term in terms]
    return tuple(dict.fromkeys(names))


def unit_values(
    terms: tuple[Term, ...], row: Row, domain: Domain, *, gaps: bool = False
) -> list[Value]:
    """Return the terms of a row on [-1, 1].

    A missing number counts as the middle of its range, which is 0. With ``gaps`` it is
    NaN, unless the domain promises that there is none.
    """
    out = []
    for term in terms:
        if isinstance(term, Indicator):
            out.append(term.row_value(row, domain))
            continue
        column = domain.number(term)
        value = (row.number(term) - float(column.centre)) * (1 / column.half)
        value = between(value, -1.0, 1.0)
        out.append(value if gaps and column.missing else present_or(value, 0.0))
    return out


def unit_rows(
    terms: tuple[Term, ...],
    batch: Batch,
    domain: Domain,
    origins: tuple[float, ...] = (),
) -> Floats:
    """The terms on [-1, 1], one row for each, measured from their ``origins``.

    A missing number counts as the origin, which is the middle of its range by default;
    ``rows_with_gaps`` leaves it out.
    """
    length = len(batch[names_of(terms[:1])[0]])
    fast = compiled.point_loops(len(terms) * length)
    if fast is not None:
        return _compiled_rows(fast, terms, batch, domain, origins, length)
    out = np.empty((len(terms), length))
    for i, term in enumerate(terms):
        if isinstance(term, Indicator):
            out[i] = term.values(batch, domain)
        else:
            column = domain.number(term)
            values = batch[term]
            if column.centre:
                values = np.subtract(values, column.centre, out=out[i])
            np.multiply(values, 1 / column.half, out=out[i])
    np.clip(out, -1, 1, out=out)
    if origins:
        out -= np.array(origins)[:, None]
    if np.isnan(out.sum()):
        np.copyto(out, 0.0, where=np.isnan(out))
    return out


def rows_with_gaps(terms: tuple[Term, ...], batch: Batch, domain: Domain) -> Floats:
    """The terms on [-1, 1], one row for each; NaN where a number is missing.

    Where the domain promises that there is no gap, one counts as the middle.
    """
    out = unit_rows(terms, batch, domain)
    for i in facts_of(terms, domain).lacking:
        absent = np.isnan(batch[terms[i]])  # type: ignore[index]
        if absent.any():
            out[i, absent] = np.nan
    return out


def may_lack(terms: tuple[Term, ...], domain: Domain) -> bool:
    """Whether a number may be missing; else the domain promises that none is."""
    return bool(facts_of(terms, domain).lacking)


def has_gaps(x: Floats) -> bool:
    """Whether any of some small numbers is NaN: then so is the sum of their squares."""
    every = x.ravel()
    return bool(np.isnan(every @ every))


def without_gaps(x: Floats) -> Floats:
    """Small numbers with 0 in place of NaN, in place."""
    if has_gaps(x):
        x[np.isnan(x)] = 0.0
    return x


def _compiled_rows(
    fast: Any,
    terms: tuple[Term, ...],
    batch: Batch,
    domain: Domain,
    origins: tuple[float, ...],
    length: int,
) -> Floats:
    """The same in one loop over all of them."""
    known = facts_of(terms, domain)
    columns = [batch[name] for name in known.names]
    if {column.shape for column in columns} != {(length,)}:
        raise ValueError("columns of different lengths.")
    for i in known.marks:
        columns[i] = terms[i].values(batch, domain)  # type: ignore[union-attr]
    out = np.empty((len(terms), length))
    away = list(map(float, origins)) or [0.0] * len(terms)
    for values, own, origin, line in zip(columns, known.pairs, away, out, strict=True):
        if values.dtype != np.float64:
            values = values.astype(np.float64)
        fast.unit_line(compiled.plain(values, length), *own, origin, line)
    return out


class Facts(NamedTuple):
    """What turns columns into numbers on [-1, 1]; indicators stay what they are."""

    names: tuple[str, ...]
    centres: Floats
    scales: Floats
    pairs: tuple[tuple[float, float], ...]  # the same, as plain numbers
    marks: tuple[int, ...]  # indicators
    lacking: tuple[int, ...]  # numbers that may be missing


def _work_out(terms: tuple[Term, ...], domain: Domain) -> Facts:
    names, pairs, marks, lacking = [], [], [], []
    for i, term in enumerate(terms):
        if isinstance(term, Indicator):
            names.append(term.column)
            pairs.append((0.0, 1.0))
            marks.append(i)
        else:
            column = domain.number(term)
            names.append(term)
            pairs.append((float(column.centre), 1 / column.half))
            lacking += [i] * column.missing
    centres, scales = np.array(pairs, dtype=np.float64).T.copy()
    plain = tuple(zip(centres.tolist(), scales.tolist(), strict=True))
    return Facts(tuple(names), centres, scales, plain, tuple(marks), tuple(lacking))


facts_of: Callable[[tuple[Term, ...], Domain], Facts] = MadeOnce(_work_out)
