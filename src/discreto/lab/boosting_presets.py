"""The algorithms of the literature as settings of our estimators.

Each gives an estimator with the settings of its paper and a calibration that holds:
rows go to trees by a hash of their own, cut points and categories are public, every
declared category has a child and every leaf gets noise, and a split is chosen with
exp(epsilon gain / 4 g^2), not 6. Leaves are noisy pairs of sums, whose noise shrinks
with the rows of a leaf; ``leaf="mean"`` takes noisy values, as the papers do. Any
parameter, and any of :class:`~discreto.models.BoostingSettings`, can be changed by its
name.

Where they differ (table 1 of the PrivCatBoost paper): Li 2020 (DPBoost), PrivCatBoost
and Zhao 2018 give half to the splits, 1/h of it to each level, and half to the leaves,
on disjoint rows; Liu 2018 does so on all rows, with the cost divided among the trees;
PrivRandBoost gives all to the leaves.
"""

from __future__ import annotations

from typing import Any

from discreto.models.boosting.estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.boosting.settings import take_settings

Kind = type[GradientBoostingClassifier] | type[GradientBoostingRegressor]
_PAPER: dict[str, Any] = {
    "n_estimators": 50,
    "max_depth": 6,
    "learning_rate": 0.05,
    "reg_lambda": 0.1,
    "split_score": "gain",
    "split_share": 0.5,
    "leaf": "pair",
    "multiway": False,
    "staged": False,
    "rows": "disjoint",
    "leaf_clipping": True,
    "start": False,
    "shrink": False,
}


def DPBoost(kind: Kind = GradientBoostingClassifier, **settings: Any) -> Any:
    """Greedy splits by the gain on one-hot categories, disjoint rows (Li 2020).

    >>> model = DPBoost(epsilon=1)
    >>> settings = model.settings
    >>> settings.split_score, settings.encoding, settings.rows
    ('gain', 'onehot', 'disjoint')
    """
    return _make(kind, {"splits": "greedy", "encoding": "onehot"} | settings)


def PrivCatBoost(kind: Kind = GradientBoostingClassifier, **settings: Any) -> Any:
    """DPBoost with a child for every declared category (Alves et al.)."""
    return _make(kind, {"splits": "greedy", "encoding": "native"} | settings)


def PrivRandBoost(
    kind: Kind = GradientBoostingClassifier,
    *,
    encoding: str = "native",
    **settings: Any,
) -> Any:
    """Random splits, so that leaves get the whole cost (Alves et al.).

    With the leaves of the paper:

    >>> from discreto import Domain, Number
    >>> domain = Domain({"a": Number(0, 1), "b": Number(0, 9)}, target="b")
    >>> paper = PrivRandBoost(
    ...     GradientBoostingRegressor, epsilon=1, leaf="mean", n_estimators=2
    ... )
    >>> reach = [q.sensitivity[0] for q in paper.plan(domain) if q.door == "measure"]
    >>> [round(steps / 2**20, 3) for steps in reach]  # 1 / (1 + 0.1)
    [0.909, 0.909]
    """
    return _make(kind, {"splits": "random", "encoding": encoding} | settings)


def Zhao2018(kind: Kind = GradientBoostingClassifier, **settings: Any) -> Any:
    """Disjoint rows, half for the splits, no bound on leaves by the tree's number."""
    ours = {"splits": "greedy", "encoding": "onehot", "leaf_clipping": False}
    return _make(kind, ours | settings)


def Liu2018(kind: Kind = GradientBoostingClassifier, **settings: Any) -> Any:
    """All rows for every tree, the cost divided among the trees equally."""
    ours = {"splits": "greedy", "encoding": "onehot", "leaf_clipping": False}
    return _make(kind, ours | {"rows": "all"} | settings)


def _make(kind: Kind, settings: dict[str, Any]) -> Any:
    given = _PAPER | settings
    if issubclass(kind, GradientBoostingRegressor):
        given = {"residual_bound": "range"} | given
    return kind(**take_settings(given))
