"""How many rows have each code of some columns, all columns in one question."""

from __future__ import annotations

from dataclasses import dataclass

from discreto.core.domain.domain import Domain
from discreto.core.maps.trees import Grid
from discreto.core.query import Shape
from discreto.core.row_program import Row, RowCodes, Value


@dataclass(frozen=True, slots=True)
class CodeCounts(RowCodes):
    """For each column of a grid a one at the row's code, one column after the other.

    Every row has one code of each column, whatever is in it, so it moves all counts
    together by as many as there are columns.
    """

    grid: Grid

    def check(self, domain: Domain) -> None:
        """The grid says whether it fits."""

    def shape(self, domain: Domain) -> Shape:
        sizes = self.grid.sizes(domain)
        return Shape(sum(sizes), 1, total=len(sizes), signed=False)

    def row_codes(self, row: Row, domain: Domain) -> list[tuple[Value, int]]:
        sizes = enumerate(self.grid.sizes(domain))
        return [(self.grid.row_code(j, row, domain), size) for j, size in sizes]

    def columns(self) -> tuple[str, ...]:
        return self.grid.names


__all__ = ["CodeCounts"]
