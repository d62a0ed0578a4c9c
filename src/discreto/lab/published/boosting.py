"""S2: DPBoost, PrivCatBoost and PrivRandBoost, with split points from the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from discreto.core.cost import Amount
from discreto.errors import ParameterError
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed
from discreto.lab.published._trees import Node, PrintedGrower


class _Boost(BaseEstimator):
    """Gradient boosting on square loss with labels stretched to [-1, 1].

    A tree gets a random subset of fixed size, a share η(1 - η)^t of the rows; t mod T_e
    is 0 for the last tree of an ensemble, so that the last gets the largest share. Rows
    with a gradient above g* = 1 are left out. Leaves are cut to (1 - η)^(t - 1).

    ``initial="newton"``: with two classes the first tree follows S2's "second-order
    gradient for the constant 0", read as Newton's step of the logistic loss there:
    slopes of ∓1/2 and curvatures of 1/4.
    """

    categorical: Sequence[int] = ()

    def __init__(
        self,
        *,
        epsilon: Amount | None = 1,
        task: str = "regression",
        n_trees: int = 50,
        trees_in_ensemble: int = 50,
        max_depth: int = 6,
        learning_rate: float = 0.05,
        reg_lambda: float = 0.1,
        initial: str = "square",
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.task = task
        self.n_trees = n_trees
        self.trees_in_ensemble = trees_in_ensemble
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.initial = initial
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Algorithm 1: trees on disjoint random subsets, ensemble after ensemble."""
        noise = FloatNoise(self.ledger, type(self).__name__)
        rows, target = np.asarray(X, dtype=np.float64), self._scaled(y)
        ensembles = math.ceil(self.n_trees / self.trees_in_ensemble)
        part = None if self.epsilon is None else amount(self.epsilon) / ensembles
        guess: Floats = np.zeros(len(rows))
        self.trees_: list[Node] = []
        left = noise.random.permutation(len(rows))
        for t in range(1, self.n_trees + 1):
            within = t % self.trees_in_ensemble
            if within == 1 and t > 1:
                left = noise.random.permutation(len(rows))
                guess = self._raw(rows)
            take, left = np.split(left, [self._size(len(rows), within)])
            # Only rows that are still to be used need the guesses of this tree.
            tree = self._tree(rows[take], guess[take] - target[take], t, part, noise)
            guess[left] += self.learning_rate * tree.values(rows[left])
            self.trees_.append(tree)
        return self

    def _size(self, number: int, within: int) -> int:
        keep = 1 - self.learning_rate
        share = self.learning_rate * keep**within
        return int(number * share / (1 - keep**self.trees_in_ensemble))

    def _tree(
        self,
        rows: Floats,
        slopes: Floats,
        t: int,
        part: float | None,
        noise: FloatNoise,
    ) -> Node:
        small = np.abs(slopes) <= 1.0  # g* = 1
        lam = self.reg_lambda
        if t == 1 and self.initial == "newton" and self.task == "classification":
            # Sums of y/2 over n/4 + λ are those of 2y over n + 4λ.
            slopes, lam = 2 * slopes, 4 * lam
        cut = (1 - self.learning_rate) ** (t - 1)
        leaf_sensitivity = min(1 / (1 + self.reg_lambda), 2 * cut)
        split_epsilon, leaf_epsilon = self._shares(part)
        grower = PrintedGrower(
            depth=self.max_depth,
            reg_lambda=lam,
            categorical=frozenset(self.categorical),
            cut=cut,
            split_rate=split_epsilon / (2 * 3),
            leaf_scale=leaf_sensitivity / leaf_epsilon,
            noise=noise,
        )
        return grower.grow(rows[small], slopes[small], 0)

    def _shares(self, part: float | None) -> tuple[float, float]:
        """What a level of splits and the leaves of one tree may spend."""
        if part is None:
            return math.inf, math.inf
        return part / (2 * self.max_depth), part / 2

    def _scaled(self, y: ArrayLike) -> Floats:
        """Labels in [-1, 1], by the smallest and largest (or both classes) in them."""
        if self.task == "classification":
            self.classes_ = np.unique(np.asarray(y))
            if self.classes_.size > 2:
                raise ParameterError(f"{type(self).__name__} takes two classes.")
            return 2.0 * (np.asarray(y) == self.classes_[-1]) - 1
        target = np.asarray(y, dtype=np.float64)
        self._low, self._high = float(target.min()), float(target.max())
        width = (self._high - self._low) or 1.0
        return 2 * (target - self._low) / width - 1

    def _raw(self, rows: Floats) -> Floats:
        out = np.zeros(len(rows))
        for tree in self.trees_:
            out += self.learning_rate * tree.values(rows)
        return out

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class, or the value in the units of the target."""
        raw = self._raw(np.asarray(X, dtype=np.float64))
        if self.task == "classification":
            return self.classes_[np.where(raw > 0, self.classes_.size - 1, 0)]
        return self._low + (raw + 1) / 2 * (self._high - self._low)


_SAMPLE = (
    "∞: split points are midpoints of observed values, labels are stretched by the "
    "data, a gain of 0 or a lack of splits ends a branch"
)


@printed(
    "S2",
    "algorithms 1 and 2 (Li and others 2020)",
    "17, 17c, 17d",
    claim="ε, with ΔG = 3g*² and ΔV = g*/(1 + λ)",
    add_remove=f"{_SAMPLE}; with public split points, subsets of fixed size still lose "
    "about 3ε (2.98 at ε = 1), for one more row displaces another",
    replace="∞; with public split points 2ε",
    ours="discreto.models.GradientBoostingRegressor",
)
class DPBoost(_Boost):
    """Boosted trees: exponential mechanism on gains, Laplace noise on leaves.

    Half of ε goes to the leaves, half to the levels in equal parts. Categories must be
    one-hot columns. ``epsilon=None`` takes the best split and exact leaves.
    """


@printed(
    "S2",
    "section 4.1, lemma 4.1",
    "17b, 17c, 17d",
    claim="ε, with ΔG_cat <= 3g*²",
    add_remove="∞: a child is made for each category that is present, so the form of a "
    "tree shows the rows; the bound of the lemma itself is right",
    replace="∞",
    ours="discreto.models.GradientBoostingRegressor",
)
class PrivCatBoost(_Boost):
    """DPBoost with one child for each category that is present in a node.

    ``categorical`` lists the columns of category codes. A category that no training row
    of the node had gets the value 0.
    """

    def __init__(
        self,
        *,
        epsilon: Amount | None = 1,
        categorical: Sequence[int] = (),
        task: str = "regression",
        n_trees: int = 50,
        trees_in_ensemble: int = 50,
        max_depth: int = 6,
        learning_rate: float = 0.05,
        reg_lambda: float = 0.1,
        initial: str = "square",
        ledger: Any = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            task=task,
            n_trees=n_trees,
            trees_in_ensemble=trees_in_ensemble,
            max_depth=max_depth,
            learning_rate=learning_rate,
            reg_lambda=reg_lambda,
            initial=initial,
            ledger=ledger,
        )
        self.categorical = categorical


@printed(
    "S2",
    "section 4.1, random splits",
    "18, 17b, 17c, 17d",
    claim="ε, all of it for the leaves",
    add_remove="∞: random split points are still drawn among observed values and "
    "present categories; ε with public ones, if all leaves get noise",
    replace="∞; 2ε with public ones",
    ours="discreto.models.GradientBoostingRegressor",
)
class PrivRandBoost(PrivCatBoost):
    """Boosted trees whose split points are drawn evenly among all there are."""

    def _shares(self, part: float | None) -> tuple[float, float]:
        return 0.0, math.inf if part is None else part
