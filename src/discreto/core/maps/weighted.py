"""Rows that count by a weight of their own, from a Number column."""

from __future__ import annotations

from dataclasses import dataclass

from discreto.core.domain.domain import Domain
from discreto.core.maps._names import check_names
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Form, Ones, Shape
from discreto.core.row_program import (
    Row,
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

    features: RowFeatures | Ones
    weight: str
    form: Form = "linear"

    def __post_init__(self) -> None:
        check_names((self.weight,))
        if not isinstance(self.features, RowFeatures | Ones) or self.form not in _FORMS:
            raise ParameterError(f"Weighted takes features and one of {_FORMS}.")
        if isinstance(self.features, Ones) and self.form != "linear":
            raise ParameterError("a weighted count has no other form.")

    def check(self, domain: Domain) -> None:
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

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        upper = float(domain.number(self.weight).upper)
        weight = present_or(between(row.number(self.weight) / upper, 0.0, 1.0), 0.0)
        if isinstance(self.features, Ones):
            return [weight * float(_TOP)]
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
