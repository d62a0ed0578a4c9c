"""The gradient of a row's loss at the scores that released trees give it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps import tree_losses
from discreto.core.maps import trees_numpy as kernels
from discreto.core.maps.trees import BATCH_ROWS, MAX_ROUTES, Grid, Tree, known
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.core.row_cache import Fleeting, WithCache, keep, last_key, recall
from discreto.core.validation import Length, Range
from discreto.errors import ParameterError

Loss = Literal["squared", "poisson", "quantile", "logistic", "softmax"]
NUMBER_LOSSES = ("squared", "poisson", "quantile")  # the others are for classes
Norm = Literal["l1", "l2"]
# p (1 - p) times this and |p - y| together have a Euclidean norm of at most 1.
ROUND = 3.33


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradients g of each row's loss, with a curvature h in front if ``weight`` > 0.

    Scores start at ``start`` (one for each score) and each tree adds to them.
    ``squared``: g = (score - target) / clip, in [-1, 1]; rows further away are clipped,
    or with ``drop`` left out; h = 1. ``poisson``: the score is the logarithm of a mean
    m, which is cut to the target's upper bound; g = (m - target) / max(m, clip), cut to
    [-1, 1], and h = m / max(m, clip). ``quantile``: g is 1 - quantile where the score
    is above the target and -quantile elsewhere, over the larger of both; h = 1.
    ``logistic`` (two classes): g = p - y and h = p (1 - p). ``softmax``: g = p - (the
    row's class), h = s (1 - s) with s the sum of p^2. A row becomes (weight h, g) with
    a norm of at most ``bound()``, which is 2^bits steps.

    For two classes |g| + h <= 1 and g^2 + (3.33 h)^2 <= 1: the curvature is free.
    """

    grid: Grid
    target: str
    loss: Loss
    start: Annotated[tuple[float, ...], Length(1, 1 << 20), Range(-1e12, 1e12)]
    trees: tuple[Tree, ...] = ()
    clip: Annotated[float, Range(1e-12, 1e12)] = 1.0
    drop: bool = False
    weight: Annotated[float, Range(0.0, 10.0)] = 0.0
    norm: Norm = "l1"
    bits: Annotated[int, Range(4, 30)] = 20
    quantile: Annotated[float, Range(0.001, 0.999)] = 0.5

    def shape(self, domain: Domain) -> Shape:
        width, top = len(self.start) + (self.weight > 0), 1 << self.bits
        if width == 1:
            return Shape(1, top)
        if self.norm == "l1":
            return Shape(width, top, total=top)
        return Shape(width, top, square=top**2)

    def check(self, domain: Domain) -> None:
        if self.target in self.grid.names:
            raise ParameterError(
                f"{self.target!r} is the target: it is not in the grid."
            )
        self.grid.sizes(domain)
        self._check_trees(domain)
        if self.loss in NUMBER_LOSSES:
            lower, scores = domain.number(self.target).lower, 1
            if self.loss == "poisson" and lower < 0:
                raise ParameterError("the poisson loss is for a target from 0 up.")
        else:
            classes = len(domain.category(self.target).categories)
            scores = 1 if self.loss == "logistic" else classes
            if self.loss == "logistic" and classes != 2:
                raise ParameterError("the logistic loss is for two classes.")
        if len(self.start) != scores:
            raise ParameterError(f"this loss has {scores} score(s).")

    def _check_trees(self, domain: Domain) -> None:
        """Refuse an ensemble of which any tree does not fit.

        The grid remembers the last ensemble: of one that has grown only the new trees
        are looked at. All trees before them are compared by identity.
        """
        width, room, done = len(self.start), 0, 0
        kept = self.grid.__dict__.get("_ensemble")
        if kept is not None and kept[0] is domain and kept[1] == width:
            trees = kept[2]
            if self.trees[: len(trees)] == trees:
                room, done = kept[3], len(trees)
        for tree in self.trees[done:]:
            if not tree.values:
                raise ParameterError("the trees of an ensemble have values.")
            if len(tree.values[0]) != width:
                raise ParameterError("each tree gives one number for each score.")
            tree.check_on(self.grid, domain)
            room += tree.room
        if room > MAX_ROUTES:
            raise ParameterError("an ensemble has too many nodes.")
        self.grid.__dict__["_ensemble"] = (domain, width, self.trees, room)

    def bound(self) -> float:
        """The largest norm of (weight h, g)."""
        w = self.weight
        if self.loss == "logistic":
            if self.norm == "l1":
                return 1.0 if w <= 1 else (1 + w) ** 2 / (4 * w)
            return max(1.0, w / ROUND)
        # The curvature of numbers is at most 1, that of a softmax at most 1/4.
        most, w = (2.0, w / 4) if self.loss == "softmax" else (1.0, w)
        return most + w if self.norm == "l1" else math.sqrt(most + w * w)

    def steps(self) -> float:
        """Grid steps of a 1, with room for rounding."""
        room = len(self.start) + 1 if self.weight else 0
        return ((1 << self.bits) - room) / self.bound()

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        scores, target = self.totals(batch, domain), batch[self.target]
        if self.loss == "squared":
            h, g = tree_losses.squared(scores, target, self.clip, self.drop)
        elif self.loss == "poisson":
            upper = domain.number(self.target).upper
            h, g = tree_losses.poisson(scores, target, self.clip, upper)
        elif self.loss == "quantile":
            h, g = tree_losses.pinball(scores, target, self.quantile)
        elif self.loss == "logistic":
            h, g = tree_losses.logistic(scores, target)
        else:
            h, g = tree_losses.softmax(scores, target)
        if self.weight:
            g = np.concatenate([self.weight * h, g])
        g *= self.steps()
        return g

    def totals(self, batch: Batch, domain: Domain) -> Floats:
        """The scores of each row, a line for each score; trees are added in order."""
        if not isinstance(batch, WithCache):
            batch = Fleeting(batch)  # so that codes are worked out once for all trees
        done, total = 0, None
        kept = last_key(batch, "scores")
        if kept is not None:
            many, ours = len(kept[2]), (self.grid, self.start)
            if kept[:2] == ours and kept[2] == self.trees[:many]:
                done, total = many, recall(batch, "scores", kept)
        if total is None:
            rows = len(batch[self.target])
            start = np.array(self.start, dtype=float)
            total = np.repeat(start[:, None], rows, axis=1)
        elif done < len(self.trees):
            total = total.copy()  # what was kept stays what it is
        for tree in self.trees[done:]:
            leaf = tree.leaf(batch, self.grid, domain)
            kernels.add_leaves(tree.table, leaf, total)
        if kept is None or kept != (*kept[:2], self.trees) or not done:
            keep(batch, "scores", (self.grid, self.start, self.trees), total)
        return total

    def predictions(self, batch: Batch, domain: Domain) -> Floats:
        """What the scores say about a Number target, in its units."""
        scores = self.totals(batch, domain)[0]
        if self.loss != "poisson":
            return scores
        return tree_losses.means_of(scores, domain.number(self.target).upper)

    def columns(self) -> tuple[str, ...]:
        return (*self.grid.names, self.target)

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


@dataclass(frozen=True, slots=True)
class Residuals:
    """Cells by how far predictions are from a Number target.

    The last of ``bins`` cells reaches to the width of the target's range, every cell
    before it 2^(-1/3) times as far as the next.
    """

    of: Gradients
    bins: Annotated[int, Range(1, 1 << 10)] = 32

    def check(self, domain: Domain) -> None:
        """Refuse gradients of a loss for classes."""
        _check_number(self.of)

    def count(self, domain: Domain) -> int:
        return self.bins

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        target = batch[self.of.target]
        far = np.abs(self.of.predictions(batch, domain) - target)
        far = np.maximum(far / (2 * domain.number(self.of.target).half), 1e-300)
        place = np.ceil(3 * np.log2(far)) + (self.bins - 1)
        place = np.clip(place, 0, self.bins - 1)
        return np.where(known(target), place, -1).astype(np.int64)

    def columns(self) -> tuple[str, ...]:
        return self.of.columns()

    def edge(self, cell: int, domain: Domain) -> float:
        """How far a cell reaches, in units of the target."""
        reach = 2 * domain.number(self.of.target).half
        return float(reach * 2.0 ** ((cell + 1 - self.bins) / 3))

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


@dataclass(frozen=True, slots=True)
class LeafShifts:
    """Cells by leaf, and there by what the scores lack of a Number target.

    Each leaf has 2 ``side`` + 1 cells. Cell j, from -side to side, holds the rows whose
    target is about clip (j / side)^2 above the score, or below for a negative j: fine
    near 0, coarse far away. The outer cells hold all that is further away.
    """

    of: Gradients
    tree: Tree
    side: Annotated[int, Range(1, 1 << 10)] = 32

    def check(self, domain: Domain) -> None:
        _check_number(self.of)
        if self.of.loss == "poisson":
            raise ParameterError("LeafShifts need scores in units.")
        self.tree.check_on(self.of.grid, domain)

    def count(self, domain: Domain) -> int:
        return self.tree.leaves * self.width

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        target = batch[self.of.target]
        lack = (target - self.of.totals(batch, domain)[0]) / self.of.clip
        np.copyto(lack, 0.0, where=~known(target))
        far = np.sqrt(np.minimum(np.abs(lack), 1.0)) * self.side
        place = np.copysign(np.floor(far + 0.5), lack).astype(np.int64) + self.side
        leaf = self.tree.leaf(batch, self.of.grid, domain).astype(np.int64)
        return np.where(known(target), leaf * self.width + place, -1)

    @property
    def width(self) -> int:
        """How many cells a leaf has."""
        return 2 * self.side + 1

    def shifts(self) -> Floats:
        """What each cell of a leaf stands for, in units of the target."""
        steps = np.arange(-self.side, self.side + 1) / self.side
        out: Floats = self.of.clip * steps * np.abs(steps)
        return out

    def columns(self) -> tuple[str, ...]:
        return self.of.columns()

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


def _check_number(of: object) -> None:
    """Refuse what are not the gradients of a loss for numbers."""
    if not isinstance(of, Gradients) or of.loss not in NUMBER_LOSSES:
        raise ParameterError("these cells need gradients of a loss for numbers.")


__all__ = [
    "NUMBER_LOSSES",
    "ROUND",
    "Gradients",
    "LeafShifts",
    "Loss",
    "Norm",
    "Residuals",
]
