"""What a fit does, decided from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.maps.tree_gradients import NUMBER_LOSSES, ROUND


@dataclass(frozen=True)
class ResolvedSettings:
    """Everything that is decided before the first question."""

    loss: Any
    gaussian: bool
    depths: tuple[int, ...]  # of each tree
    staged: bool  # whether leaves are asked for, and added, level by level
    rate: float
    ridge: float
    splits: str
    score: Any
    leaf: str
    encoding: Any
    bins: int
    group: int
    max_leaves: int
    several: bool
    shrink: bool
    ensemble: int  # trees that share the rows among them; 1: each sees all rows
    geometric: bool
    clip: float | None  # in units of the target; None: from a noisy choice
    drop: bool
    start_share: Fraction
    table_share: Fraction  # of class tables to start from, instead of class shares
    means_strength: float | None  # class means instead of tables, for such a strength
    temper_share: Fraction  # of the question for how sure these should be
    clip_share: Fraction  # of each question for the size of residuals
    clip_turns: Mapping[int, Fraction]  # before which trees, and at which quantile
    split_part: Fraction  # of what a tree gets
    quantile: Fraction = Fraction(1, 2)  # of a quantile's loss
    quantile_share: Fraction = Fraction(0)  # of a quantile of the target to start from
    monotone: tuple[int, ...] = ()  # for each feature: 1 rises, -1 falls, 0 anything

    @property
    def norm(self) -> Any:
        """The norm in which the noise counts."""
        return "l2" if self.gaussian else "l1"

    @property
    def trees(self) -> int:
        """How many trees are grown."""
        return len(self.depths)

    @property
    def trees_share(self) -> Fraction:
        """The part of the cost that all trees get."""
        clips = self.clip_share * len(self.clip_turns)
        tables = self.table_share and self.table_share + self.temper_share
        return 1 - self.start_share - self.quantile_share - tables - clips

    def most(self, number: int) -> float:
        """The largest leaf value of a tree, before the learning rate."""
        if not self.geometric:
            return 1.0 if self.loss in NUMBER_LOSSES else 4.0
        return float(max(1 - self.rate, 0.0) ** (number % self.ensemble))

    @property
    def prior(self) -> float:
        """The variance that leaf values are expected to have, where they shrink.

        Residuals are in units of their bound, which most of them are well within.
        """
        return 0.3 if self.loss in NUMBER_LOSSES else 1.0

    def level_share(self, whole: Fraction, depth: int) -> Fraction:
        """What the choices of one level get of what a tree gets."""
        return whole * self.split_part / depth

    def leaf_shares(self, whole: Fraction, depth: int) -> list[Fraction]:
        """What the leaves get of what a tree gets; those of the last level most."""
        rest = whole * (1 - self.split_part)
        if not self.staged or depth == 1:
            return [rest]
        early = rest * Fraction(3, 10)
        return [early / (depth - 1)] * (depth - 1) + [rest - early]

    @property
    def weight(self) -> float:
        """How much a row's curvature counts next to its gradient."""
        if self.loss == "logistic":  # the most that costs nothing
            return ROUND if self.gaussian else 1.0
        if self.loss == "softmax":
            return 1.0
        return 0.35 if self.gaussian else 0.25
