"""Choosing splits: exact histograms of gradients, and integer scores of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from discreto.core import aggregate
from discreto.core.domain.domain import Category, Domain, Neighbours, Number
from discreto.core.maps import trees_numpy as kernels
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import BATCH_ROWS, Grid, Tree, known
from discreto.core.query import Batch, Ints
from discreto.core.row_cache import keep, recall, remember
from discreto.core.validation import Range
from discreto.errors import ParameterError

Encoding = Literal["native", "onehot", "either"]
BITS = 12  # of a gradient in a histogram
GROUPS = 8  # children of a split of a Number column into several
_KEPT = 1 << 21  # cells of a batch that are kept for the next level
GAIN_BITS = 14  # a squared gradient bound is 2^GAIN_BITS steps of a gain


@dataclass(frozen=True, slots=True)
class SplitHistogram:
    """For each node of a tree's last level: gradient sums and row counts by code.

    A row is in one node, and there in one cell of each column. Without ``counts`` their
    place holds zeros.
    """

    proof = "docs/proofs/boosting.md#the-gain"

    gradients: Gradients
    tree: Tree
    counts: bool = True

    def columns(self) -> tuple[str, ...]:
        return self.gradients.columns()

    def check(self, domain: Domain) -> None:
        if self.gradients.weight or self.gradients.bits != BITS:
            raise ParameterError("a SplitHistogram takes plain gradients of 12 bits.")
        self.tree.check_on(self.gradients.grid, domain)

    def size(self, domain: Domain) -> int:
        cells = sum(self.gradients.grid.sizes(domain))
        return self.tree.leaves * cells * (len(self.gradients.start) + 1)

    def empty(self, domain: Domain) -> Ints:
        cells = sum(self.gradients.grid.sizes(domain))
        depth = len(self.gradients.start) + 1
        return np.zeros((depth, self.tree.leaves, cells), dtype=np.int64)

    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints:
        out = self.empty(domain)
        cells = self._cells(batch, domain)
        for k, part in enumerate(cells):
            if self.counts:
                out[k], out[-1] = kernels.unpack(part)
            else:
                out[k] = part
        return out

    def _cells(self, batch: Batch, domain: Domain) -> list[Ints]:
        """Packed sums of each score, from those of the level above where kept."""
        tree, grid = self.tree, self.gradients.grid
        above = sum(tree.levels[:-2])
        key = (self.gradients, self.counts, tree.features, tree.routes)
        old = (*key[:2], tree.features[:above], tree.routes[:above])
        parents = recall(batch, "cells", old) if tree.routes else None
        rows = known(batch[self.gradients.target])
        node = tree.leaf(batch, grid, domain)
        if parents:
            rows, largest = kernels.without_largest(
                node, rows, tree.leaves, tree.firsts
            )
        starts = np.cumsum((0, *grid.sizes(domain)))
        codes, cells = grid.place(batch, domain), []
        for k, packed in enumerate(self._whole(batch, domain)):
            # At most 2^17 rows at once: sums stay below 2^31.
            part = kernels.tally(codes, node, rows, packed, tree.leaves, starts)
            if parents:  # the largest child is what the others leave
                part[largest] = parents[k] - np.add.reduceat(part, tree.firsts)
            cells.append(part)
        if tree.leaves * starts[-1] <= _KEPT:
            keep(batch, "cells", key, cells)
        return cells

    def _whole(self, batch: Batch, domain: Domain) -> Ints:
        """Gradients as bounded whole numbers, packed with a one to count rows."""

        def make() -> Ints:
            gradients = self.gradients
            rows = gradients.rows(batch, domain)
            aggregate.clamp(rows, gradients.shape(domain))
            if not self.counts:
                return rows.astype(np.int32)
            return rows.astype(np.int64) + (1 << kernels.SHIFT)

        return remember(batch, "whole", (self.gradients, self.counts), make)

    def merge(self, first: Ints, second: Ints) -> Ints:
        return first + second

    def overlap(self) -> int:
        return 1

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


@dataclass(frozen=True, slots=True)
class SplitScore:
    """How well each candidate splits each node, from a ``SplitHistogram``.

    ``l1``: the absolute gradient sums of the children, added up. A row changes one
    child by at most the gradient bound g.

    ``gain``: for each child |sum|^2 / (rows + ridge). Adding a row to a child of n
    rows changes it by more than -3 g^2 and at most g^2, in either norm of a vector. All
    candidates of a node get g^2 for each of its rows on top: that changes no choice,
    and one row then moves every score by at most 2 g^2 either way.
    """

    proof = "docs/proofs/boosting.md#the-gain"

    grid: Grid
    nodes: Annotated[int, Range(1, 1 << 62)]
    by: Literal["l1", "gain"]
    ridge: Annotated[float, Range(0.0, 1e9)] = 1.0
    encoding: Encoding = "native"
    several: bool = True

    monotone = False

    def check(self, domain: Domain) -> None:
        sizes = self.grid.sizes(domain)  # also checks the columns
        columns = map(domain.columns.__getitem__, self.grid.names)
        if not any(map(self._splits, columns, sizes)):
            raise ParameterError("there is no way to split by these columns.")

    def _splits(self, column: Any, size: int) -> bool:
        """Whether a column has a candidate; see ``candidates``."""
        if isinstance(column, Category):
            return self.encoding != "native" or size - 1 + column.missing > 1
        return size > 1

    def check_tally(self, tally: object, domain: Domain) -> None:
        """That it is about the same grid and nodes is what ``fits`` says."""

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        sizes = self.grid.sizes(domain)
        columns: list[Any] = [domain.columns[name] for name in self.grid.names]
        parts, start = [], 0
        # Columns of the same form stand side by side: they are scored at once.
        forms = [
            (size, type(column), column.missing)
            for size, column in zip(sizes, columns, strict=True)
        ]
        for (size, _, _), run in groupby(range(len(sizes)), key=forms.__getitem__):
            many = list(run)
            width = len(many) * size
            cells = sums[:, :, start : start + width]
            cells = cells.reshape(*cells.shape[:2], len(many), size)
            parts.append(self._run(cells, columns[many[0]]))
            start += width
        out = np.concatenate(parts, axis=1)
        if self.by == "l1":
            return out
        rows = sums[-1, :, : sizes[0]].sum(axis=1, keepdims=True)
        return out + (rows << GAIN_BITS)

    def _run(self, cells: Ints, column: Category | Number) -> Ints:
        """Scores of some columns of one form, in the order of ``candidates``.

        Cells are (sums and count, nodes, columns, codes).
        """
        how = (
            float(self.ridge),
            0.0 if self.by == "l1" else 2.0 ** (GAIN_BITS - 2 * BITS),
        )
        codes, each = cells.shape[3], []
        if isinstance(column, Category):
            many = codes - 1 + column.missing
            if self.encoding != "onehot" and many > 1:
                each.append(_together(_each(cells, column.missing), *how))
            if self.encoding != "native":
                one = cells[..., :many]
                rest = cells.sum(axis=3, keepdims=True) - one
                each.append(kernels.worth(one, *how) + kernels.worth(rest, *how))
        else:
            each.append(kernels.cuts(cells, 0 * cells[..., :1], codes - 1, *how))
            if column.missing:
                each.append(kernels.cuts(cells, cells[..., -1:], codes - 2, *how))
            if self.several and codes - column.missing > GROUPS:
                each.append(_together(_several(cells, column.missing), *how))
        joined = np.concatenate(each or [cells[0, :, :, :0]], axis=2)
        return joined.reshape(len(joined), -1)

    def fits(self, tally: object) -> bool:
        if not isinstance(tally, SplitHistogram) or tally.tree.leaves != self.nodes:
            return False
        wanted = "l1" if self.by == "l1" else "l2"
        gradients = tally.gradients
        norm = len(gradients.start) == 1 or gradients.norm == wanted
        if self.by == "gain":  # the rounding of gains was worked out for so many scores
            norm = norm and tally.counts and len(gradients.start) <= 64
        return norm and (gradients.grid is self.grid or gradients.grid == self.grid)

    def groups(self) -> int:
        return self.nodes

    def sensitivity(self, neighbours: Neighbours) -> int:
        double = 2 if neighbours == "replace" else 1
        if self.by == "l1":
            return double * (1 << BITS)
        # Scores are rounded down; 1 covers that and the rounding of 64-bit floats.
        return double * ((2 << GAIN_BITS) + 1)


class Candidate(NamedTuple):
    """A way to split a node by one column.

    ``below``: codes up to ``at`` go left, a missing value right; ``with missing``: it
    goes left. ``several``: eight children with as many codes each, and one for missing
    values. ``each``: every category has a child. ``one``: one code against the rest.
    """

    feature: int
    kind: Literal["below", "with missing", "several", "each", "one"]
    at: int

    def route(self, grid: Grid, domain: Domain) -> tuple[int, ...]:
        """The child of each code."""
        column = _column(domain, grid.names[self.feature])
        size = grid.sizes(domain)[self.feature]
        if self.kind == "each":
            # A value that is no category shares the first child unless it is declared.
            return (*range(size - 1), size - 1 if column.missing else 0)
        if self.kind == "one":
            return tuple(int(code != self.at) for code in range(size))
        if self.kind == "several":
            return tuple(_groups(size - column.missing)) + (GROUPS,) * column.missing
        sides = [int(code > self.at) for code in range(size)]
        if self.kind == "with missing":
            sides[-1] = 0
        return tuple(sides)


def _column(domain: Domain, name: str) -> Category | Number:
    column = domain[name]
    return column if isinstance(column, Category) else domain.number(name)


def candidates(
    grid: Grid, domain: Domain, encoding: Encoding, several: bool
) -> list[Candidate]:
    """Every candidate, in the order of the scores. All public."""
    out = []
    for j, size in enumerate(grid.sizes(domain)):
        column = _column(domain, grid.names[j])
        if isinstance(column, Category):
            if encoding != "onehot" and size - 1 + column.missing > 1:
                out.append(Candidate(j, "each", 0))
            if encoding != "native":
                many = size - 1 + column.missing
                out += [Candidate(j, "one", at) for at in range(many)]
        else:
            out += [Candidate(j, "below", at) for at in range(size - 1)]
            if column.missing:
                out += [Candidate(j, "with missing", at) for at in range(size - 2)]
            if several and size - column.missing > GROUPS:
                out.append(Candidate(j, "several", 0))
    return out


def _groups(size: int) -> list[int]:
    """Codes cut into groups of the same length, about."""
    return [code * GROUPS // size for code in range(size)]


def _each(cells: Ints, missing: bool) -> Ints:
    """A child for each category; the first one has what is no category."""
    if missing:
        return cells
    out = cells[..., :-1].copy()
    out[..., 0] += cells[..., -1]
    return out


def _several(cells: Ints, missing: bool) -> Ints:
    """A child for each of some groups of codes, and one for missing values."""
    present = cells.shape[3] - missing
    starts = np.searchsorted(_groups(present), range(GROUPS)).tolist()
    out: Ints = np.add.reduceat(cells, starts + [present] * missing, axis=3)
    return out


def _together(children: Ints, ridge: float, step: float) -> Ints:
    """The score of a split into all these children."""
    out: Ints = kernels.worth(children, ridge, step).sum(axis=2, keepdims=True)
    return out
