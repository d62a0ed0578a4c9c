"""Leaf values that only rise, or only fall, along some columns: post-processing.

Two rows that differ in one column part at a node that splits that column. If all
leaves below each child of such a node lie between the same two bounds, and those of the
next child above them, the tree is monotone along the column; a sum of such trees is.
"""

from __future__ import annotations

import numpy as np

from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Floats


def in_order(
    tree: Tree, values: Floats, ways: tuple[int, ...], gaps: list[bool]
) -> Floats:
    """Return the leaf values, moved as little as order asks: (leaves, 1).

    ``ways`` holds 1, -1 or 0 for each feature of the grid; ``gaps`` whether the last
    code of a feature is for missing values, which are in no order.
    """
    if not any(ways):
        return values
    children, leaves = _shape(tree)
    out = values[:, 0].copy()
    _descend(tree, 0, (-np.inf, np.inf), out, children, leaves, ways, gaps)
    return out[:, None]


def _shape(tree: Tree) -> tuple[list[range], list[range]]:
    """Return the children of each inner node, and the leaves below every node."""
    first, children = 1, []
    for route in tree.routes:
        many = max(route) + 1
        children.append(range(first, first + many))
        first += many
    inner = len(tree.routes)
    leaves = [range(0)] * inner + [range(i, i + 1) for i in range(first - inner)]
    for node in range(inner - 1, -1, -1):
        below = children[node]
        leaves[node] = range(leaves[below[0]].start, leaves[below[-1]].stop)
    return children, leaves


def _descend(
    tree: Tree,
    node: int,
    bounds: tuple[float, float],
    out: Floats,
    children: list[range],
    leaves: list[range],
    ways: tuple[int, ...],
    gaps: list[bool],
) -> None:
    """Bound the leaves below a node, then let its children keep to narrower bounds."""
    mine = slice(leaves[node].start, leaves[node].stop)
    out[mine] = np.clip(out[mine], *bounds)
    if node >= len(tree.routes):
        return
    below, feature = children[node], tree.features[node]
    limits = [bounds] * len(below)
    if ways[feature]:
        limits = _limits(
            tree.routes[node], below, bounds, out, leaves, ways[feature], gaps[feature]
        )
    for child, limit in zip(below, limits, strict=True):
        _descend(tree, child, limit, out, children, leaves, ways, gaps)


def _limits(
    route: tuple[int, ...],
    below: range,
    bounds: tuple[float, float],
    out: Floats,
    leaves: list[range],
    way: int,
    gap: bool,
) -> list[tuple[float, float]]:
    """Return the bounds of the leaves of each child of an ordered split."""
    order = list(dict.fromkeys(route[:-1] if gap else route))
    means = [
        float(out[leaves[below[c]].start : leaves[below[c]].stop].mean()) for c in order
    ]
    from sklearn.isotonic import isotonic_regression

    fitted = isotonic_regression(means, increasing=way > 0)
    edges = (fitted[1:] + fitted[:-1]) / 2
    first, last = bounds if way > 0 else bounds[::-1]
    ends = [first, *edges.tolist(), last]
    limits = [bounds] * len(below)  # a child for missing values alone is in no order
    for place, child in enumerate(order):
        low, high = sorted((ends[place], ends[place + 1]))
        limits[child] = (low, high)
    return limits


def gaps_of(grid: Grid, domain: object) -> list[bool]:
    """Return for each column whether its last code is for missing values."""
    return [bool(domain[name].missing) for name in grid.names]  # type: ignore[index]


__all__ = ["gaps_of", "in_order"]
