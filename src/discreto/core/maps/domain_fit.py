"""How well rows fit their domain: for each column missing, outside, or inside."""

from __future__ import annotations

from dataclasses import dataclass

from discreto.core.domain.domain import Domain, Number
from discreto.core.query import Shape
from discreto.core.row_program import Row, RowFeatures, Value, missing
from discreto.core.validation import Names
from discreto.errors import DomainError

UNKNOWN = -2  # the code of a value that was not declared; other codes below 0: missing


@dataclass(frozen=True, slots=True)
class Unfit(RowFeatures):
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

    def row_numbers(self, row: Row, domain: Domain) -> list[Value]:
        out: list[Value] = []
        for name in self.names:
            column = domain[name]
            if isinstance(column, Number):
                value = row.number(name)
                gone = missing(value)
                outside = (value < float(column.lower)) + (value > float(column.upper))
            else:
                code = row.code(name)
                outside = code.equals(float(UNKNOWN))
                gone = (code < 0.0) - outside
            out += [gone, outside, 1.0 - (gone + outside)]
        return out

    def columns(self) -> tuple[str, ...]:
        return self.names
