"""Boosted trees as one ONNX node: every split is a chain of comparisons with cuts."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator
    from discreto.models.interop.onnx import _Graph

LEQ, SUM, AS_IS = 0, 1, 0  # of TreeEnsemble: a comparison, and what is done with leaves
ABSENT = 1e305  # what is missing is larger than this, and nothing else is


class _Trees:
    """The arrays of a TreeEnsemble node, filled tree by tree and output by output."""

    def __init__(self, shipped: Any) -> None:
        self.shipped, self.roots = shipped, list[int]()
        self.features, self.splits = list[int](), list[float]()
        self.branches: tuple[list[int], ...] = ([], [], [], [])
        self.targets, self.weights = list[int](), list[float]()
        self.cuts = [(*cuts, ABSENT) for cuts in shipped.grid.cuts]
        for number in range(len(shipped.levels)):
            for target in range(len(shipped.start)):
                self._tree(shipped.tree(number), target)

    def _tree(self, tree: Any, target: int) -> None:
        if not tree.routes:  # one leaf: a comparison whose two ends are the same
            leaf = self._leaf(tree.values[0][target], target)
            self.roots.append(self._node(0, 0.0, (leaf, True), (leaf, True)))
            return
        firsts, done = [], 1
        for route in tree.routes:
            firsts.append(done)
            done += max(route) + 1
        found, _ = self._below(tree, 0, firsts, target)
        self.roots.append(found)

    def _below(
        self, tree: Any, node: int, firsts: list[int], target: int
    ) -> tuple[int, bool]:
        """Return where the comparisons of a node begin; or a leaf, and True."""
        inner = len(tree.routes)
        if node >= inner:
            return self._leaf(tree.values[node - inner][target], target), True
        feature = tree.features[node]
        ends, place = [], -1
        for child, run in groupby(tree.routes[node]):
            place += len(list(run))
            ends.append((place, child))
        found = [
            (end, self._below(tree, firsts[node] + child, firsts, target))
            for end, child in ends
        ]
        after = found[-1][1]
        if len(found) == 1:  # all codes go one way
            first = self._node(feature, 0.0, after, after)
            return first, False
        for end, below in reversed(found[:-1]):
            after = self._node(feature, self.cuts[feature][end], below, after), False
        return after

    def _leaf(self, weight: float, target: int) -> int:
        self.targets.append(target)
        self.weights.append(float(weight))
        return len(self.weights) - 1

    def _node(
        self, feature: int, split: float, yes: tuple[int, bool], no: tuple[int, bool]
    ) -> int:
        self.features.append(feature)
        self.splits.append(float(split))
        for part, value in zip(self.branches, (*yes, *no), strict=True):
            part.append(int(value))
        return len(self.splits) - 1


def tree_scores(model: PrivateEstimator, graph: _Graph) -> str:
    """Return the scores of boosted trees: (rows, outputs)."""
    from discreto.models.boosting.forest import Shipped  # it needs our caller first

    shipped = Shipped(model)
    trees = _Trees(shipped)
    domain = model.space_.domain
    columns = [domain.number(name) for name in model.space_.features]
    absent = [2 * ABSENT if c.missing else c.centre for c in columns]
    missing = graph.node("IsNaN", "X")
    upper = graph.constant(np.array([c.upper for c in columns], dtype=float))
    there = graph.node("Min", "X", upper)
    rows = graph.node("Where", missing, graph.constant(np.array(absent)), there)
    yes, yes_leaf, no, no_leaf = trees.branches
    made = graph.node(
        "TreeEnsemble",
        rows,
        domain="ai.onnx.ml",
        n_targets=len(shipped.start),
        aggregate_function=SUM,
        post_transform=AS_IS,
        tree_roots=trees.roots,
        nodes_featureids=trees.features,
        nodes_splits=graph.tensor(np.array(trees.splits)),
        nodes_modes=graph.tensor(np.full(len(trees.splits), LEQ, dtype=np.uint8)),
        nodes_truenodeids=yes,
        nodes_trueleafs=yes_leaf,
        nodes_falsenodeids=no,
        nodes_falseleafs=no_leaf,
        leaf_targetids=trees.targets,
        leaf_weights=graph.tensor(np.array(trees.weights)),
    )
    return graph.node("Add", made, graph.constant(np.asarray(shipped.start, float)))
