"""How well rows fit their domain: for each column missing, outside, or inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.core.domain.domain import Domain, Number
from discreto.core.query import Batch, Floats, Shape
from discreto.core.validation import Names
from discreto.errors import DomainError

UNKNOWN = -2  # the code of a value that was not declared; other codes below 0: missing


@dataclass(frozen=True, slots=True)
class Unfit:
    """For each column three numbers, one of which is 1: missing, outside, inside.

    Outside is a Number that is clipped, or a value that no Category declares. A row
    gives the three of a column 1 together.
    """

    names: Names

    def check(self, domain: Domain) -> None:
        for name in self.names:
            if not hasattr(domain[name], "missing"):
                raise DomainError(f"{name!r} is opaque: it cannot be asked about.")

    def shape(self, domain: Domain) -> Shape:
        return Shape(3 * len(self.names), 1, total=len(self.names), signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        out = np.zeros((3 * len(self.names), len(batch[self.names[0]])))
        for place, name in enumerate(self.names):
            column, values = domain[name], batch[name]
            if isinstance(column, Number):
                missing = np.isnan(values)
                outside = (values < column.lower) | (values > column.upper)
            else:
                outside = values == UNKNOWN
                missing = (values < 0) & ~outside
            part = out[3 * place : 3 * place + 3]
            part[0], part[1], part[2] = missing, outside, ~(missing | outside)
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names
