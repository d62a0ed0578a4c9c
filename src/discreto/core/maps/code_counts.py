"""How many rows have each code of some columns, all columns in one question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps.trees import Grid
from discreto.core.query import Batch, Floats, Ints, Shape


@dataclass(frozen=True, slots=True)
class CodeCounts:
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

    def sizes(self, domain: Domain) -> tuple[int, ...]:
        """How many codes each column has."""
        return self.grid.sizes(domain)

    def ones(self, batch: Batch, domain: Domain) -> Ints:
        """The code of each column, a line for each row."""
        return self.grid.some(batch, domain, range(len(self.grid.names)))

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        sizes = self.grid.sizes(domain)
        length = len(batch[self.grid.names[0]])
        codes = self.ones(batch, domain)
        out = np.zeros((sum(sizes), length))
        start, every = 0, np.arange(length)
        for j, size in enumerate(sizes):
            out[start + codes[:, j].astype(np.int64), every] = 1.0
            start += size
        return out

    def columns(self) -> tuple[str, ...]:
        return self.grid.names


__all__ = ["CodeCounts"]
