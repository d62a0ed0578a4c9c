"""How five boosting algorithms spend ε (S2, table 1), as rules that grow trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.lab.published import DPBoost
from discreto.lab.published._noise import FloatNoise, amount
from discreto.lab.published._trees import PrintedGrower


@dataclass(frozen=True)
class Rule:
    """How an algorithm spends ε, as S2 prints it for gradients of at most 1.

    Attributes
    ----------
    gain, leaf
        The printed sensitivities of a gain (None: none is asked) and of a leaf.
    node, tip
        What a node on a path, and a leaf, get of the ε of a tree.
    apart
        Whether each tree has rows of its own and the whole ε, or all trees share ε.
    categories
        Whether categories are split as they are.
    """

    gain: float | None
    leaf: float
    node: float
    tip: float
    apart: bool = True
    categories: bool = False

    def weight(self, epsilon: float) -> float:
        """What a unit of gain adds to the logarithm of a split's probability."""
        return self.node * epsilon / (2 * self.gain) if self.gain else 0.0

    def scale(self, epsilon: float) -> float:
        """The scale of the noise on a leaf, for a tree with this ε."""
        return self.leaf / (self.tip * epsilon)


def zhao(depth: int, attributes: int, lam: float) -> Rule:
    """Zhao et al. 2018.

    S2's table prints ε/h for a node; its text splits ε into ε1 and ε2. Only the latter
    adds up to ε, so a node gets ε1/h here, with ε1 = ε2.
    """
    return Rule(4.0, 1.0, 1 / (2 * depth), 1 / 2)


def liu(depth: int, attributes: int, lam: float) -> Rule:
    """Liu et al. 2018: all trees share ε; S_i parts go to nodes, 1 part to leaves.

    The sum that S2 prints for S_i has ``attributes`` terms of 1/attributes, which is 1.
    """
    inner = sum(1 / attributes for _ in range(attributes))
    node = inner / (inner + 1) / depth
    return Rule(float(attributes**2), 1.0, node, 1 / (inner + 1), apart=False)


def dpboost(depth: int, attributes: int, lam: float) -> Rule:
    """DPBoost (Li et al. 2020)."""
    return Rule(3.0, 1 / (1 + lam), 1 / (2 * depth), 1 / 2)


def cat_boost(depth: int, attributes: int, lam: float) -> Rule:
    """PrivCatBoost: DPBoost with a child for every category."""
    return Rule(3.0, 1 / (1 + lam), 1 / (2 * depth), 1 / 2, categories=True)


def rand_boost(depth: int, attributes: int, lam: float) -> Rule:
    """PrivRandBoost: random splits, everything for the leaves."""
    return Rule(None, 1 / (1 + lam), 0.0, 1.0, categories=True)


RULES: dict[str, Callable[[int, int, float], Rule]] = {
    "Zhao 2018": zhao,
    "Liu 2018": liu,
    "DPBoost": dpboost,
    "PrivCatBoost": cat_boost,
    "PrivRandBoost": rand_boost,
}


class RuledBoost(DPBoost):
    """DPBoost as printed, spending ε by another rule; see its docstring for the rest.

    Neither of the two earlier works cuts leaves to a size that shrinks, so this does
    not either.
    """

    def spend_by(self, make: Callable[[int, int, float], Rule]) -> RuledBoost:
        """Use this rule."""
        self._make = make
        return self

    def fit(self, X: Any, y: Any) -> Any:
        """Trees on rows of their own, or all on all rows with a share of ε each."""
        rows = np.asarray(X, dtype=np.float64)
        self._rule = self._make(self.max_depth, rows.shape[1], self.reg_lambda)
        if self._rule.apart:
            return super().fit(rows, y)
        noise = FloatNoise(self.ledger, type(self).__name__)
        target, self.trees_ = self._scaled(y), []
        guess = np.zeros(len(rows))
        share = None if self.epsilon is None else amount(self.epsilon) / self.n_trees
        for t in range(1, self.n_trees + 1):
            tree = self._tree(rows, guess - target, t, share, noise)
            guess += self.learning_rate * tree.values(rows)
            self.trees_.append(tree)
        return self

    def _tree(
        self, rows: Any, slopes: Any, t: int, part: float | None, noise: FloatNoise
    ) -> Any:
        epsilon = np.inf if part is None else part
        small = np.abs(slopes) <= 1.0
        grower = PrintedGrower(
            depth=self.max_depth,
            reg_lambda=self.reg_lambda,
            categorical=frozenset(),
            cut=1.0,
            split_rate=self._rule.weight(epsilon),
            leaf_scale=self._rule.scale(epsilon),
            noise=noise,
        )
        return grower.grow(rows[small], slopes[small], 0)
