"""Parts of a table: which rows a question is about, by each row's own content.

A row is in at most one part, whoever else is in the table. So questions to different
parts cost no more than the dearest of them; see :meth:`discreto.core.gate.Gate.parts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain
from discreto.core.maps.cells import present_in
from discreto.core.maps.trees import BATCH_ROWS
from discreto.core.query import Batch, Cells, Everyone, Ints, Sum, Tally
from discreto.core.row_cache import Chosen, remember
from discreto.core.validation import Length, Names, Range
from discreto.errors import ParameterError

MAX_PARTS = 1 << 16
_ODD = np.uint64(0x9E3779B97F4A7C15)  # splitmix64
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class HashParts:
    """A part for each row by a public hash of its values in some columns.

    Part i gets about ``weights[i]`` rows of every ``sum(weights)``; ``salt`` makes one
    partition differ from another. How many rows there are plays no role: parts of a
    fixed size would move other rows when one comes in.
    """

    names: Names
    weights: Annotated[tuple[int, ...], Length(1, MAX_PARTS), Range(1, 1 << 40)]
    salt: Annotated[int, Range(0, (1 << 63) - 1)] = 0

    def check(self, domain: Domain) -> None:
        present_in(self.names, domain)

    def count(self, domain: Domain) -> int:
        return len(self.weights)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        return remember(batch, "part", (self,), lambda: self._codes(batch))

    def _codes(self, batch: Batch) -> Ints:
        rows = len(batch[self.names[0]])
        state = np.full(rows, self.salt, dtype=np.uint64)
        for name in self.names:
            state = _stir(state ^ _bits(batch[name]))
        # 2^53 equal chances, cut in proportion to the weights.
        chance = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
        ends = np.cumsum(np.array(self.weights, dtype=np.float64))
        out = np.searchsorted(ends[:-1] / ends[-1], chance, side="right")
        return out.astype(np.int64)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Within:
    """The cells of a map, for the rows of one part; all other rows are in none."""

    parts: Cells
    number: Annotated[int, Range(0, 1 << 62)]
    cells: Cells

    def check(self, domain: Domain) -> None:
        _check_number(self, domain)

    def count(self, domain: Domain) -> int:
        return self.cells.count(domain)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        inside = self.parts.codes(batch, domain) == self.number
        if isinstance(self.cells, Everyone):
            return np.where(inside, 0, -1)
        return np.where(inside, self.cells.codes(batch, domain), -1)

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.cells.columns(), *self.parts.columns())))

    def batch_rows(self) -> int:
        """How many rows to fold at once: as for trees, which use parts most."""
        return BATCH_ROWS


@dataclass(frozen=True, slots=True)
class TallyWithin:
    """A tally of the rows of one part."""

    proof = "docs/proofs/boosting.md#parts"

    parts: Cells
    number: Annotated[int, Range(0, 1 << 62)]
    tally: Tally

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.tally.columns(), *self.parts.columns())))

    def check(self, domain: Domain) -> None:
        _check_number(self, domain)

    def size(self, domain: Domain) -> int:
        return self.tally.size(domain)

    def empty(self, domain: Domain) -> Ints:
        return self.tally.empty(domain)

    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints:
        def choose() -> Ints:
            return np.flatnonzero(self.parts.codes(batch, domain) == self.number)

        which = (self.parts, self.number)
        chosen = Chosen(batch, remember(batch, "chosen", which, choose), which)
        return self.tally.fold(chosen, len(chosen.rows), domain)

    def merge(self, first: Ints, second: Ints) -> Ints:
        return self.tally.merge(first, second)

    def overlap(self) -> int:
        return self.tally.overlap()

    def batch_rows(self) -> int:
        """How many rows to fold at once: as for trees, which use parts most."""
        return BATCH_ROWS


def _check_number(one: Within | TallyWithin, domain: Domain) -> None:
    if isinstance(one.parts, Everyone):
        raise ParameterError("the parts of a table are cells.")
    if one.number >= one.parts.count(domain):
        raise ParameterError("a table has no part of this number.")


def _bits(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.uint64]:
    """A column's values as bits; all NaN alike, and 0 like -0."""
    if values.dtype.kind == "i":
        return values.astype(np.int64).view(np.uint64)
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return np.ascontiguousarray(plain, dtype=np.float64).view(np.uint64)


def _stir(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = state + _ODD
    state = (state ^ (state >> np.uint64(30))) * _MIX[0]
    state = (state ^ (state >> np.uint64(27))) * _MIX[1]
    return state ^ (state >> np.uint64(31))


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
