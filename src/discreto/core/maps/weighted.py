"""Rows that count by a weight of their own, from a Number column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Batch, Features, Floats, Form, Ones, Shape
from discreto.core.row_program import (
    Row,
    RowCodes,
    RowFeatures,
    Value,
    between,
    present_or,
    root,
)
from discreto.errors import DomainError, ParameterError

_TOP = 1 << SUM_BITS
_FORMS = ("linear", "pair", "gram")


@dataclass(frozen=True, slots=True)
class Weighted(RowFeatures):
    """The numbers of another map, times the row's weight.

    A weight is a part of the column's upper bound, from 0 to 1; a missing one is 0. The
    bounds of the other map hold: no number of it gets larger. ``form`` is the one in
    which they would be summed without weights: products take the root of the weight,
    and a pair becomes its two numbers, so that its block is linear. A weighted 1 is
    2^30 grid steps.
    """

    features: Features
    weight: str
    form: Form = "linear"

    def check(self, domain: Domain) -> None:
        if isinstance(self.features, Ones) and self.form != "linear":
            raise ParameterError("a weighted count has no other form.")
        column = domain.number(self.weight)
        if column.lower < 0:
            raise DomainError(
                f"weights are 0 at least, but {self.weight!r} has the lower bound "
                f"{column.lower:g}."
            )

    def shape(self, domain: Domain) -> Shape:
        if isinstance(self.features, Ones):
            return Shape(1, _TOP, signed=False)
        inner = self.features.shape(domain)
        if self.form != "pair":
            return inner
        total = 2 * inner.width * inner.limit
        return Shape(2 * inner.width, 2 * inner.limit, total, signed=False)

    def of_rows(self) -> bool:
        inner = self.features
        if isinstance(inner, RowFeatures):
            return inner.of_rows()
        return isinstance(inner, RowCodes | Ones)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        """Return the numbers of some rows, before they are clamped: (width, rows)."""
        if self.of_rows():
            return RowFeatures.rows(self, batch, domain)
        upper = float(domain.number(self.weight).upper)
        weight = np.clip(batch[self.weight] / upper, 0.0, 1.0)
        np.copyto(weight, 0.0, where=np.isnan(weight))
        rows = self.features.rows(batch, domain)
        if self.form == "gram":
            return rows * np.sqrt(weight)
        if self.form == "linear":
            return rows * weight
        limit = float(self.features.shape(domain).limit)
        rows = np.clip(np.where(np.isnan(rows), 0.0, rows), -limit, limit)
        both = np.stack([limit + rows, limit - rows], axis=1) * weight
        return both.reshape(2 * len(rows), -1)

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        upper = float(domain.number(self.weight).upper)
        weight = present_or(between(row.number(self.weight) / upper, 0.0, 1.0), 0.0)
        if not isinstance(self.features, RowFeatures | RowCodes):
            return [weight * float(_TOP)]  # a weighted count
        found = self.features.row_numbers(row, domain)
        if self.form == "gram":
            weight = root(weight)
        if self.form != "pair":
            return [value * weight for value in found]
        limit = float(self.features.shape(domain).limit)
        out: list[Value] = []
        for value in found:
            inside = between(present_or(value, 0.0), -limit, limit)
            out += [(limit + inside) * weight, (limit - inside) * weight]
        return out

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.features.columns(), self.weight)))


__all__ = ["Weighted"]
