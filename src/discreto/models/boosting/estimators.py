"""Private gradient boosting in scikit-learn's manner."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import keep_all
from discreto.models.base.features import Space
from discreto.models.base.kinds import PrivateClassifier, PrivateRegressor
from discreto.models.boosting.base import Boosting
from discreto.models.boosting.settings import BoostingSettings, with_old_names
from discreto.models.boosting.trainer import Ensemble
from discreto.session.parameters import Reader
from discreto.session.rng import Seed
from discreto.session.session import Ask

_WANTED = (
    "None, 'balanced' or a public number above 0 for every class, {class: number} or "
    "a list"
)


class GradientBoostingClassifier(Boosting, PrivateClassifier):
    """Boosted trees for two or more declared classes.

    Takes Number and Category columns as they are; missing values go their own way
    where the domain allows them. By default a few shallow trees are grown greedily on
    all rows: each level is one noisy choice, each tree's leaves one noisy sum. Whatever
    is None is chosen from public facts: epsilon, delta, the domain, and its ``rows``
    where they are declared; where they are not, a noisy count of rows chooses how many
    trees there are. With few rows (rows times epsilon below 50) there are none: class
    shares are all that can be known.

    Parameters
    ----------
    n_estimators
        The number of trees.
    max_depth
        How often a row is split in each tree. Trees are complete: where to stop would
        depend on rows. None: 1 in the first half of the trees, then 2.
    learning_rate
        How much of each leaf's value is added.
    max_bins
        Cells of a Number column.
    class_weight
        How much rows of each class count: public numbers, ``{class: number}`` or a
        list in the order of the classes; or ``"balanced"``, all classes the same by
        their released shares. It moves the scores, which is free: the odds of a class
        are those of the unweighted model times its weight.

    Attributes
    ----------
    classes_
        The declared classes.
    feature_importances_
        How much the released leaf values differ along each column; adds up to 1.
    cuts_, start_, depths_, features_, routes_, values_
        The ensemble: cut points, first scores, splits and leaf values. No counts, no
        gains.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         class counts; with seven or more classes and enough rows class tables,
                 and how sure these should be; with three or more and few rows class
                 means; the values of Categories with more than
                 64; then for each tree one choice for each level (greedy splits only)
                 and one sum for its leaves. Where the domain does not declare its
                 rows, the counts choose among plans that cost the same: how many
                 trees, or none, if there are few rows.
    Bound        a leaf's sums: (h, g) = (p (1 - p), p - y) has |h| + |g| <= 1, so a row
                 moves them by 2^20 grid steps in all. A leaf's mean: 2^20 / (1 +
                 reg_lambda) steps, or less with ``leaf_clipping``. A choice: a row is
                 in one node, and moves each score there by at most 2^12 steps.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         leaf values, shrinking, importances, pictures, predictions.
    Not covered  choosing parameters by looking; ``predict`` on private rows.

    >>> from discreto import Category, Domain, Number
    >>> columns = {"a": Number(0, 1), "c": Category([0, 1])}
    >>> model = GradientBoostingClassifier(2, epsilon=1, max_depth=1)
    >>> plan = model.plan(Domain(columns), "c")
    >>> [question.label for question in plan]  # doctest: +NORMALIZE_WHITESPACE
    ['start', 'tree 1, level 1', 'tree 1, leaves', 'tree 2, level 1',
     'tree 2, leaves']
    >>> [question.sensitivity[0] for question in plan] == [1] + [
    ...     2 << 12, 1 << 20] * 2
    True
    >>> sum(question.cost.epsilon for question in plan) == plan.total.epsilon == 1
    True

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> x = np.linspace(0, 1, 2000)[:, None]
    >>> y = ((x[:, 0] > 0.3) & (x[:, 0] < 0.7)).astype(int)
    >>> model = GradientBoostingClassifier(
    ...     epsilon=1, bounds=(0, 1), classes=[0, 1], ledger=simulate(1)
    ... )
    >>> model.fit(x, y).predict([[0.1], [0.5], [0.9]]).tolist()
    [0, 1, 0]
    """

    @with_old_names
    def __init__(
        self,
        n_estimators: int | None = None,
        *,
        epsilon: Any,
        delta: Any = 0,
        max_depth: int | None = None,
        learning_rate: float | None = None,
        max_bins: int | None = None,
        class_weight: Any = None,
        settings: BoostingSettings | None = None,
        domain: Any = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Any = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _learn(self, ask: Ask, space: Space) -> None:
        super()._learn(ask, space)
        self.classes_ = np.array(space.classes)

    def _weighted(self, ensemble: Ensemble, space: Space) -> Ensemble:
        if self.class_weight is None or len(space.classes) < 2:
            return ensemble
        shift = shift_of(self, space, ensemble.shares)
        start = [a + b for a, b in zip(ensemble.start, shift, strict=True)]
        return replace(ensemble, start=tuple(start))

    def decision_function(self, X: Any) -> NDArray[Any]:
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return self._chances(self._scores(X))

    def _chances(self, scores: Any) -> Any:
        return np.ones((len(scores), 1)) if len(self.classes_) == 1 else chances(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the most probable class of each row after each tree."""
        for scores in self._stages(X):
            yield self.classes_[np.argmax(self._chances(scores), axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the probability of each class after each tree."""
        for scores in self._stages(X):
            yield self._chances(scores)

    def reference(self) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        weights = self.class_weight
        if isinstance(weights, list | tuple):
            weights = dict(zip(self.classes or (), weights, strict=False))
        return HistGradientBoostingClassifier(**self._plain(), class_weight=weights)


class GradientBoostingRegressor(Boosting, PrivateRegressor):
    """Boosted trees for a Number with declared bounds: means, counts or quantiles.

    As :class:`GradientBoostingClassifier`, with residuals as gradients. They are
    clipped to about the size that most residuals have, which a small noisy choice
    finds: noise then follows the residuals, not the width of the target's range.

    Parameters
    ----------
    n_estimators, max_depth, learning_rate, max_bins
        As in the classifier. The settings ``residual_bound`` and ``filtering`` say how
        large residuals are treated.
    loss
        ``"squared_error"`` (default): means. ``"huber"``: the same from a median on, so
        that a few rows far away move nothing. ``"absolute_error"``: medians.
        ``"quantile"``: the ``quantile`` of the target. ``"poisson"``: means of counts
        or amounts from 0 up, whose logarithm the trees add up.
    quantile
        Which quantile, from 0.001 to 0.999; only for ``loss="quantile"``.

    Attributes
    ----------
    feature_importances_, cuts_, start_, depths_, features_, routes_, values_
        As in the classifier.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         the mean of the target, or a quantile (a choice); twice the size of
                 residuals (a choice); for each tree and each of its levels a choice,
                 and a sum for its nodes, or for quantiles a choice in each node.
    Bound        a leaf's sums: a row's weight and its residual, clipped and on a grid,
                 move by 2^20 steps in all; a leaf's mean as in the classifier. A
                 choice of splits: 2^12 steps for each score. A quantile: a row moves
                 ranks by the larger of q and 1 - q, in the one leaf it is in.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         leaf values, shrinking, importances, pictures, predictions.
    Not covered  choosing parameters by looking; ``predict`` on private rows.

    >>> from discreto import Domain, Number
    >>> domain = Domain({"a": Number(0, 1), "b": Number(0, 9)})
    >>> model = GradientBoostingRegressor(3, epsilon=1, max_depth=2)
    >>> plan = model.plan(domain, "b")
    >>> len(plan) == 1 + 1 + 3 * (2 + 2)
    True
    >>> sum(question.cost.epsilon for question in plan) == plan.total.epsilon == 1
    True

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> x = np.linspace(0, 1, 4000)[:, None]
    >>> model = GradientBoostingRegressor(
    ...     epsilon=4, bounds=(0, 1), target_bounds=(0, 10), ledger=simulate(1)
    ... )
    >>> found = model.fit(x, 4 + 4 * (x[:, 0] > 0.5)).predict([[0.2], [0.8]])
    >>> bool(np.abs(found - [4, 8]).max() < 0.5)
    True
    """

    @with_old_names
    def __init__(
        self,
        n_estimators: int | None = None,
        *,
        epsilon: Any,
        delta: Any = 0,
        max_depth: int | None = None,
        loss: str = "squared_error",
        quantile: float | None = None,
        learning_rate: float | None = None,
        max_bins: int | None = None,
        settings: BoostingSettings | None = None,
        domain: Any = None,
        bounds: Bounds | None = None,
        target_bounds: tuple[float, float] | None = None,
        ledger: Any = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def predict(self, X: Any) -> NDArray[Any]:
        return self._within(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the target of each row after each tree."""
        for scores in self._stages(X):
            yield self._within(scores)

    def _within(self, scores: Any) -> Any:
        column = self.space_.domain.number(self.space_.goal)
        found = scores[:, 0]
        if self.loss == "poisson":
            found = np.exp(np.minimum(found, 700.0))
        return np.clip(found, column.lower, column.upper)

    def reference(self) -> Any:
        from sklearn import ensemble

        plain = self._plain()
        if self.loss != "huber":
            losses = {"loss": self.loss, "quantile": self.quantile}
            return ensemble.HistGradientBoostingRegressor(**plain, **losses)
        return ensemble.GradientBoostingRegressor(
            loss="huber",
            n_estimators=plain["max_iter"],
            max_depth=plain["max_depth"] or 3,
            learning_rate=plain["learning_rate"],
        )


def chances(scores: Any) -> Any:
    """Return scores as probabilities."""
    if scores.shape[1] == 1:
        scores = np.hstack([-scores / 2, scores / 2])
    out = np.exp(scores - scores.max(axis=1, keepdims=True))
    total = out[:, :1].copy()
    for k in range(1, out.shape[1]):  # in a fixed order, for any number of rows
        total += out[:, k : k + 1]
    return out / total


def shift_of(
    model: Boosting, space: Space, shares: tuple[float, ...]
) -> tuple[float, ...]:
    """Return what class weights add to the scores.

    Counting rows of a class w times multiplies its odds by w, which needs no question.
    ``shares`` are scores of released class shares.
    """
    read = Reader(model)
    given = read.given("class_weight")
    if read.is_auto("class_weight", "balanced"):
        if not shares:
            raise read.bad("class_weight", "numbers: class shares are not asked for")
        return tuple(-share for share in shares)
    if isinstance(given, dict) and set(given) == set(space.classes):
        given = [given[name] for name in space.classes]
    numbers = list(given) if isinstance(given, list | tuple) else []
    plain = all(type(n) in (int, float) and 1e-9 <= n <= 1e9 for n in numbers)
    if not plain or len(numbers) != len(space.classes):
        raise read.bad("class_weight", _WANTED)
    logs = [math.log(n) for n in numbers]
    if len(logs) == 2:
        return (logs[1] - logs[0],)
    return tuple(one - sum(logs) / len(logs) for one in logs)
