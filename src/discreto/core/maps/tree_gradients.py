"""The gradient of a row's loss at the scores that released trees give it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreto.core.aggregate import add_up
from discreto.core.domain import Domain
from discreto.core.maps._batch_cache import (
    Fleeting,
    keep,
    last_key,
    recall,
    same,
)
from discreto.core.maps._names import check_names
from discreto.core.maps.trees import BATCH_ROWS, MAX_ROUTES, Grid, Tree, known
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.errors import ParameterError

Loss = Literal["squared", "logistic", "softmax"]
Norm = Literal["l1", "l2"]
# p (1 - p) times this and |p - y| together have a Euclidean norm of at most 1.
ROUND = 3.33


@dataclass(frozen=True, slots=True)
class Gradients:
    """Gradients g of each row's loss, with a curvature h in front if ``weight`` > 0.

    Scores start at ``start`` (one for each score) and each tree adds to them.
    ``squared``: g = (score - target) / clip, in [-1, 1]; rows further away are clipped,
    or with ``drop`` left out; h = 1. ``logistic`` (two classes): g = p - y and
    h = p (1 - p). ``softmax``: g = p - (the row's class), h = 1 - sum of p^2. A row
    becomes (weight h, g) with a norm of at most ``bound()``, which is 2^bits steps.

    For two classes |g| + h <= 1 and g^2 + (3.33 h)^2 <= 1: the curvature is free.
    """

    grid: Grid
    target: str
    loss: Loss
    start: tuple[float, ...]
    trees: tuple[Tree, ...] = ()
    clip: float = 1.0
    drop: bool = False
    weight: float = 0.0
    norm: Norm = "l1"
    bits: int = 20

    def __post_init__(self) -> None:
        if not isinstance(self.grid, Grid) or not isinstance(self.trees, tuple):
            raise ParameterError("Gradients need a Grid and a list of trees.")
        check_names((self.target, *self.grid.names))
        if self.loss not in ("squared", "logistic", "softmax"):
            raise ParameterError("the loss is squared, logistic or softmax.")
        if self.norm not in ("l1", "l2") or not isinstance(self.drop, bool):
            raise ParameterError("Gradients take the norm l1 or l2.")
        if type(self.bits) is not int or not 4 <= self.bits <= 30:
            raise ParameterError("Gradients take 4 to 30 bits.")
        good = isinstance(self.start, tuple) and self.start != ()
        if not good:
            raise ParameterError("Gradients need a start for each score.")
        numbers: tuple[Any, ...] = (*self.start, self.clip, self.weight)
        good = all(type(n) in (int, float) and abs(n) <= 1e12 for n in numbers)
        if not good or not self.clip >= 1e-12 or not 0 <= self.weight <= 10:
            raise ParameterError("Gradients take finite numbers.")
        if not all(isinstance(tree, Tree) for tree in self.trees):
            raise ParameterError("Gradients need a Grid and a list of trees.")

    def shape(self, domain: Domain) -> Shape:
        width, top = len(self.start) + (self.weight > 0), 1 << self.bits
        if width == 1:
            return Shape(1, top)
        if self.norm == "l1":
            return Shape(width, top, total=top)
        return Shape(width, top, square=top**2)

    def check(self, domain: Domain) -> None:
        self.grid.sizes(domain)
        self._check_trees(domain)
        if self.loss == "squared":
            domain.number(self.target)
            scores = 1
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
        # The curvature of a squared loss is 1, that of a softmax at most 1/4.
        most, w = (1.0, w) if self.loss == "squared" else (2.0, w / 4)
        return most + w if self.norm == "l1" else math.sqrt(most + w * w)

    def steps(self) -> float:
        """Grid steps of a 1, with room for rounding."""
        room = len(self.start) + 1 if self.weight else 0
        return ((1 << self.bits) - room) / self.bound()

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        scores, target = self.totals(batch, domain), batch[self.target]
        if self.loss == "squared":
            h, g = self._squared(scores, target)
        elif self.loss == "logistic":
            h, g = _logistic(scores, target)
        else:
            h, g = _softmax(scores, target)
        if self.weight:
            g = np.concatenate([self.weight * h, g])
        g *= self.steps()
        return g

    def _squared(self, scores: Floats, target: Floats) -> tuple[Floats, Floats]:
        g = (scores - target) / self.clip
        if self.drop:
            np.copyto(g, 0.0, where=np.abs(g) > 1)
        return np.ones_like(g), np.clip(g, -1, 1, out=g)

    def totals(self, batch: Batch, domain: Domain) -> Floats:
        """The scores of each row, a line for each score; trees are added in order."""
        if not hasattr(batch, "memory"):
            batch = Fleeting(batch)  # so that codes are worked out once for all trees
        done, total = 0, None
        kept = last_key(batch, "scores")
        if kept is not None:
            many, ours = len(kept[2]), (self.grid, self.start)
            if same(kept[:2], ours) and same(kept[2], self.trees[:many]):
                done, total = many, recall(batch, "scores", kept)
        if total is None:
            rows = len(batch[self.target])
            start = np.array(self.start, dtype=float)
            total = np.repeat(start[:, None], rows, axis=1)
        for tree in self.trees[done:]:
            total = total + tree.table[:, tree.leaf(batch, self.grid, domain)]
        if done < len(self.trees) or not done:
            keep(batch, "scores", (self.grid, self.start, self.trees), total)
        return total

    def columns(self) -> tuple[str, ...]:
        return (*self.grid.names, self.target)

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


@dataclass(frozen=True, slots=True)
class Residuals:
    """Cells by how far the scores are from a Number target.

    The last of ``bins`` cells reaches to the width of the target's range, every cell
    before it 2^(-1/3) times as far as the next.
    """

    of: Gradients
    bins: int = 32

    def __post_init__(self) -> None:
        if not isinstance(self.of, Gradients) or self.of.loss != "squared":
            raise ParameterError("Residuals are those of a squared loss.")
        if type(self.bins) is not int or not 1 <= self.bins <= 1 << 10:
            raise ParameterError("Residuals take 1 to 1024 bins.")

    def check(self, domain: Domain) -> None:
        """Its gradients say whether they fit."""

    def count(self, domain: Domain) -> int:
        return self.bins

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        target = batch[self.of.target]
        far = np.abs(self.of.totals(batch, domain)[0] - target)
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


def _logistic(scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
    p = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
    h = p * (1 - p)
    g = p - (codes == 1)
    np.copyto(g, 0.0, where=codes < 0)
    return h, g


def _softmax(scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
    p = np.exp(np.maximum(scores - scores.max(axis=0), -500))
    p /= add_up(p)
    same = add_up(p * p)[None, :]
    h = same * (1 - same)  # p_k (1 - p_k), for p even over any number of classes
    p -= codes[None, :] == np.arange(len(p))[:, None]
    np.copyto(p, 0.0, where=codes < 0)
    return h, p


__all__ = ["ROUND", "Gradients", "Loss", "Norm", "Residuals"]
