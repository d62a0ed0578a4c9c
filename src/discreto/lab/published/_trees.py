"""Trees that grow from the rows they see, as the boosting paper prints them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreto.lab.published._noise import FloatNoise, Floats


@dataclass(slots=True)
class Node:
    """A leaf with a value, or a split with one child a side or a category."""

    value: float = 0.0
    column: int = -1
    cut: float | None = None  # None: one child for each category
    children: dict[float, Node] = field(default_factory=dict)

    def values(self, rows: Floats) -> Floats:
        """The value of the leaf in which each row ends; 0 for an unseen category."""
        out = np.zeros(len(rows))
        self._fill(rows, np.arange(len(rows)), out)
        return out

    def _fill(self, rows: Floats, here: NDArray[np.intp], out: Floats) -> None:
        if not self.children:
            out[here] = self.value
            return
        side = rows[here, self.column]
        if self.cut is not None:
            side = (side > self.cut).astype(np.float64)
        for key, child in self.children.items():
            child._fill(rows, here[side == key], out)


@dataclass(frozen=True, slots=True)
class PrintedGrower:
    """How a tree grows: its depth, what splits are worth, and its noise."""

    depth: int
    reg_lambda: float
    categorical: frozenset[int]
    cut: float  # leaves are cut to this size
    split_rate: float  # weight of a split: exp(rate * gain); 0: even, ∞: the best
    leaf_scale: float
    noise: FloatNoise

    def grow(self, rows: Floats, slopes: Floats, level: int) -> Node:
        """A node for these rows, and all below it."""
        split = None if level == self.depth else self._split(rows, slopes)
        if split is None:
            return self._leaf(slopes)
        column, cut = split
        side = rows[:, column] if cut is None else (rows[:, column] > cut).astype(float)
        children = {}
        for key in np.unique(side):
            here = side == key
            children[float(key)] = self.grow(rows[here], slopes[here], level + 1)
        return Node(column=column, cut=cut, children=children)

    def _leaf(self, slopes: Floats) -> Node:
        value = -slopes.sum() / (len(slopes) + self.reg_lambda)
        value = min(max(value, -self.cut), self.cut)
        if self.leaf_scale:
            value += self.noise.laplace(self.leaf_scale)
        return Node(value=float(value))

    def _split(self, rows: Floats, slopes: Floats) -> tuple[int, float | None] | None:
        """One of all split points of the node, or None if there is none worth it."""
        if len(rows) < 2:
            return None
        numbers = [j for j in range(rows.shape[1]) if j not in self.categorical]
        place, cuts, gains = self._number_splits(rows[:, numbers], slopes)
        columns = np.asarray(numbers, dtype=np.int64)[place]
        for j in sorted(self.categorical):
            gain = self._category_gain(rows[:, j], slopes)
            if gain is not None:
                columns = np.append(columns, j)
                gains = np.append(gains, gain)
        if not columns.size:
            return None
        if self.split_rate == 0:
            pick = int(self.noise.random.integers(columns.size))
        elif np.isinf(self.split_rate):
            pick = int(np.argmax(gains))
        else:
            pick = self.noise.choose(self.split_rate * gains)
        if self.split_rate and gains[pick] <= 0:
            return None
        return int(columns[pick]), float(cuts[pick]) if pick < cuts.size else None

    def _number_splits(
        self, rows: Floats, slopes: Floats
    ) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Column, midpoint and gain of each gap between observed values, in order."""
        order = np.argsort(rows, axis=0, kind="stable")
        ordered = np.take_along_axis(rows, order, axis=0)
        gaps, columns = np.nonzero(ordered[1:] > ordered[:-1])
        cuts = (ordered[gaps, columns] + ordered[gaps + 1, columns]) / 2
        left = np.cumsum(slopes[order], axis=0)[gaps, columns]
        size, lam = gaps + 1.0, self.reg_lambda
        right = slopes.sum() - left
        gains = left**2 / (size + lam) + right**2 / (len(rows) - size + lam)
        # The midpoint of two neighbouring floats may be the upper one.
        below = np.where(
            cuts < ordered[gaps + 1, columns], cuts, ordered[gaps, columns]
        )
        return columns, below, gains

    def _category_gain(self, column: Floats, slopes: Floats) -> float | None:
        codes, inverse = np.unique(column, return_inverse=True)
        if codes.size < 2:
            return None
        sums = np.bincount(inverse, weights=slopes)
        return float(np.sum(sums**2 / (np.bincount(inverse) + self.reg_lambda)))
