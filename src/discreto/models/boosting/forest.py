"""The shipped ensemble: flat arrays, apart from how it was trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain
from discreto.core.maps.trees import Grid, Tree
from discreto.core.maps.trees_numpy import Forest, climb
from discreto.models.boosting.trainer import Ensemble

if TYPE_CHECKING:
    from discreto.models.boosting.base import Boosting

Floats = NDArray[np.float64]


def pack(
    ensemble: Ensemble, domain: Domain, groups: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an ensemble as arrays: nothing but splits, values and cut points.

    Where codes were merged to groups, each code goes the way of its group.
    """
    names, trees = ensemble.grid.names, ensemble.trees
    sizes = zip(names, ensemble.grid.sizes(domain), strict=True)
    widest = max(len(groups[n]) + 1 if n in groups else size for n, size in sizes)
    # Few routes occur, each of them many times: a line for each, then its number.
    places: dict[tuple[int, tuple[int, ...]], int] = {}
    where: dict[int, list[int]] = {}  # by tree: those of a dry run are one tree
    for tree in trees:
        if id(tree) not in where:
            nodes = zip(tree.features, tree.routes, strict=True)
            where[id(tree)] = [places.setdefault(n, len(places)) for n in nodes]
    lines = np.zeros((len(places), widest), dtype=np.int64)
    for (feature, route), i in places.items():
        group = groups.get(names[feature])
        line = route if group is None else (*np.array(route)[group], route[-1])
        lines[i, : len(line)] = line
    nodes_of = [np.array(where[id(tree)], dtype=np.int64) for tree in trees]
    routes = lines[np.concatenate([*nodes_of, np.empty(0, dtype=np.int64)])]
    features = list(chain.from_iterable([tree.features for tree in trees]))
    values = list(chain.from_iterable([tree.values for tree in trees]))
    return {
        "cuts_": tuple(np.array(cuts, dtype=float) for cuts in ensemble.grid.cuts),
        "start_": np.array(ensemble.start),
        "depths_": np.array([len(tree.levels) - 1 for tree in trees], dtype=np.int64),
        "features_": np.array(features, dtype=np.int64),
        "routes_": routes,
        "values_": np.array(values, dtype=float).reshape(-1, len(ensemble.start)),
    }


class Shipped:
    """A fitted model's ensemble, ready to predict or to inspect."""

    def __init__(self, model: Boosting) -> None:
        self.domain = model.space_.domain
        cuts = tuple(tuple(part.tolist()) for part in model.cuts_)
        self.grid = Grid(model.space_.features, cuts)
        self.start = model.start_
        self._routes, self._values = model.routes_, model.values_
        children = model.routes_.max(axis=1, initial=0) + 1
        before = np.cumsum(children) - children
        starts, shifts, firsts, leaf, node = [], [], 1 + before, 0, 0
        self.levels: list[list[int]] = []
        for depth in model.depths_.tolist():
            levels = [1]
            starts.append(node)
            for _ in range(depth):
                end = node + levels[-1]
                levels.append(int(children[node:end].sum()))
                node = end
            firsts[starts[-1] : node] -= before[starts[-1]] if depth else 0
            shifts.append(leaf - (node - starts[-1]))
            leaf += levels[-1]
            self.levels.append(levels)
        # A route holds a child for each code: there are no more children than codes.
        narrow = np.uint8 if model.routes_.shape[1] <= 1 << 8 else np.uint16
        self.forest = Forest(
            np.array(starts, dtype=np.int64),
            model.depths_,
            model.features_,
            firsts,
            model.routes_.astype(narrow),
            np.array(shifts, dtype=np.int64),
            model.values_,
        )

    def tree(self, number: int) -> Tree:
        """One tree, as it was grown."""
        forest, levels = self.forest, self.levels[number]
        first = int(forest.starts[number])
        inner = sum(levels[:-1])
        features = forest.features[first : first + inner].tolist()
        sizes = self.grid.sizes(self.domain)
        routes = [
            tuple(self._routes[first + i, : sizes[f]].tolist())
            for i, f in enumerate(features)
        ]
        leaf = int(forest.shifts[number]) + inner
        values = self._values[leaf : leaf + levels[-1]].tolist()
        return Tree(tuple(features), tuple(routes), tuple(map(tuple, values)))

    def scores(self, batch: Any) -> Floats:
        """Return the scores of rows: (rows, scores)."""
        return self.of_codes(self._codes(batch))

    def _codes(self, batch: Any) -> Any:
        """Return the codes of the columns that some tree uses."""
        used = np.unique(self.forest.features).tolist()
        return self.grid.some(batch, self.domain, used)

    def of_codes(self, codes: Any) -> Floats:
        """Return the scores of rows of codes."""
        total = np.tile(self.start, (len(codes), 1))
        climb(codes, self.forest, total)
        return total

    def stages(self, batch: Any) -> Iterator[Floats]:
        """Yield the scores of rows after each tree."""
        codes = self._codes(batch)
        total = np.tile(self.start, (len(codes), 1))
        forest = self.forest
        for t in range(len(forest.depths)):
            one = forest._replace(
                starts=forest.starts[t : t + 1],
                depths=forest.depths[t : t + 1],
                shifts=forest.shifts[t : t + 1],
            )
            climb(codes, one, total)
            yield total.copy()


def importances(shipped: Shipped) -> Floats:
    """Return for each column the spread of values among the children of its splits."""
    out = np.zeros(len(shipped.grid.names))
    for number in range(len(shipped.levels)):
        tree = shipped.tree(number)
        means, base = tree.table.T, len(tree.routes)
        for size in reversed(tree.levels[:-1]):
            base -= size
            above, done = np.zeros((size, means.shape[1])), 0
            for i in range(size):
                many = max(tree.routes[base + i]) + 1
                children = means[done : done + many]
                above[i] = children.mean(axis=0)
                out[tree.features[base + i]] += float(children.var(axis=0).sum())
                done += many
            means = above
    return out / out.sum() if out.sum() > 0 else out
