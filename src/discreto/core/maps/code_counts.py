"""How many rows have each code of some columns, all columns in one question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreto.core.domain import Category, Domain
from discreto.core.maps.features import Direct
from discreto.core.maps.trees import Grid
from discreto.core.query import Batch, Floats, Shape
from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """For each column of a grid a one at the row's code, one column after the other.

    Every row has one code of each column, whatever is in it, so it moves all counts
    together by as many as there are columns.
    """

    grid: Grid

    def __post_init__(self) -> None:
        if not isinstance(self.grid, Grid):
            raise ParameterError("CodeCounts are those of a Grid.")

    def check(self, domain: Domain) -> None:
        """The grid says whether it fits."""

    def shape(self, domain: Domain) -> Shape:
        sizes = self.grid.sizes(domain)
        return Shape(sum(sizes), 1, total=len(sizes), signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        sizes = self.grid.sizes(domain)
        length = len(batch[self.grid.names[0]])
        codes = self.grid.some(batch, domain, range(len(sizes)))
        out = np.zeros((sum(sizes), length))
        start, every = 0, np.arange(length)
        for j, size in enumerate(sizes):
            out[start + codes[:, j].astype(np.int64), every] = 1.0
            start += size
        return out

    loops: ClassVar[str] = "discreto.core.maps.parts_numba"

    def direct(self, domain: Domain) -> tuple[Direct, ...]:
        """The compiled loops that count the codes column by column."""
        out: list[Direct] = []
        start = 0
        for j, (name, size) in enumerate(
            zip(self.grid.names, self.grid.sizes(domain), strict=True)
        ):
            lines = slice(start, start + size)
            start += size
            if isinstance(domain[name], Category):
                out.append(("add_codes", name, (size - 1, 1.0), lines))
            else:
                cuts = np.array([*self.grid.cuts[j], np.inf])
                facts = cuts, self.grid.absent(domain, j), 1.0
                out.append(("add_places", name, facts, lines))
        return tuple(out)

    def direct_total(self) -> int:
        """A row has one code of each column."""
        return 1

    def columns(self) -> tuple[str, ...]:
        return self.grid.names


__all__ = ["CodeCounts"]
