"""Disjoint parts of a table by a public rule, for the gate."""

from __future__ import annotations

from dataclasses import dataclass

from discreto.core.domain import Domain
from discreto.core.maps.row_partition import TallyWithin, Within
from discreto.core.query import Cells, Sum, Tally


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a table that a cell map makes."""

    cells: Cells

    def count(self, domain: Domain) -> int:
        """How many there are."""
        return self.cells.count(domain)

    def restrict(self, query: Sum | Tally, number: int) -> Sum | Tally:
        """The same question about the rows of one part."""
        if not isinstance(query, Sum):
            return TallyWithin(self.cells, number, query)
        return Sum(Within(self.cells, number, query.cells), query.blocks)
