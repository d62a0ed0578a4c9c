"""Trees as text and pictures, and what a column does. All from released numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category, Domain
from discreto.core.maps.cells import MISSING
from discreto.core.maps.trees import Grid, Tree
from discreto.errors import ParameterError
from discreto.models.boosting.forest import Shipped

_MISSING = "(missing)"


def check_number(shipped: Shipped, number: int) -> Tree:
    """Return the tree with a number, which must be there."""
    many = len(shipped.levels)
    if not isinstance(number, int) or not 0 <= number < many:
        raise ParameterError(f"there are trees 0 to {many - 1}. Got {number!r}.")
    return shipped.tree(number)


def text(shipped: Shipped, number: int) -> str:
    """Return a tree, a line for each branch, leaf values at the ends."""
    lines = []
    for indent, branch, value in _branches(shipped, check_number(shipped, number)):
        tail = "" if value is None else f": {_numbers(value)}"
        lines.append(f"{'|   ' * indent}{branch}{tail}")
    return "\n".join(lines)


def _branches(shipped: Shipped, tree: Tree) -> Iterator[tuple[int, str, Any]]:
    """Every branch on the way down: its depth, what it says, and a leaf's values."""
    inner = len(tree.routes)
    if not inner:
        yield 0, "every row", tree.values[0]
        return

    def below(node: int, indent: int) -> Iterator[tuple[int, str, Any]]:
        column, route = tree.features[node], tree.routes[node]
        for child in range(max(route) + 1):
            codes = [code for code, to in enumerate(route) if to == child]
            branch = branch_text(shipped.grid, shipped.domain, column, codes)
            place = int(tree.arrays.firsts[node]) + child
            if place >= inner:
                yield indent, branch, tree.values[place - inner]
            else:
                yield indent, branch, None
                yield from below(place, indent + 1)

    yield from below(0, 0)


def branch_text(grid: Grid, domain: Domain, column: int, codes: list[int]) -> str:
    """Return in words what rows with these codes of a column have in common."""
    name = grid.names[column]
    size, kind = grid.sizes(domain)[column], domain[name]
    if len(codes) == size:
        return f"{name}: any"
    if isinstance(kind, Category):
        labels = [*map(str, kind.categories), MISSING]
        return f"{name} is {' or '.join(labels[code] for code in codes)}"
    cuts = grid.cuts[column]
    absent = [code for code in codes if code > len(cuts)]
    present = [code for code in codes if code <= len(cuts)]
    parts = []
    if present:
        low, high = min(present), max(present)
        above = f"{cuts[low - 1]:.6g} < " if low else ""
        under = f" <= {cuts[high]:.6g}" if high < len(cuts) else ""
        parts.append(f"{above}{name}{under}")
    if absent:
        parts.append(f"{name} {_MISSING}")
    return " or ".join(parts)


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:+.4g}" for value in values)


def picture(shipped: Shipped, number: int, ax: Any) -> Any:
    """Draw a tree on matplotlib axes."""
    tree = check_number(shipped, number)
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(1 + 1.2 * tree.leaves, 2 + len(tree.levels)))
    inner, places = len(tree.routes), _places(tree)
    depth = {0: 0}
    for node in range(inner):
        name = shipped.grid.names[tree.features[node]]
        route = tree.routes[node]
        for child in range(max(route) + 1):
            place = int(tree.arrays.firsts[node]) + child
            depth[place] = depth[node] + 1
            xs, ys = (places[node], places[place]), (-depth[node], -depth[place])
            ax.plot(xs, ys, color="0.6", zorder=1)
            codes = [code for code, to in enumerate(route) if to == child]
            words = branch_text(
                shipped.grid, shipped.domain, tree.features[node], codes
            )
            short = words if len(words) < 24 else words[:21] + "..."
            ax.text(sum(xs) / 2, sum(ys) / 2, short, ha="center", fontsize=7)
        _box(ax, places[node], -depth[node], name)
    for leaf, values in enumerate(tree.values):
        node = inner + leaf
        _box(ax, places[node], -depth[node], _numbers(values))
    ax.set_axis_off()
    return ax


def _box(ax: Any, x: float, y: float, words: str) -> None:
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.4"}
    ax.text(x, y, words, ha="center", va="center", fontsize=8, bbox=box, zorder=2)


def _places(tree: Tree) -> dict[int, float]:
    """Return where each node stands: leaves in a line, parents above their children."""
    inner = len(tree.routes)
    out = {inner + leaf: float(leaf) for leaf in range(tree.leaves)}
    for node in reversed(range(inner)):
        first, many = int(tree.arrays.firsts[node]), max(tree.routes[node]) + 1
        out[node] = float(np.mean([out[first + child] for child in range(many)]))
    return out


def partial_dependence(shipped: Shipped, name: str, rows: int) -> tuple[Any, Any]:
    """Return the mean scores along a column, all others spread evenly over their codes.

    The rows behind it are synthetic, from the domain, so it costs nothing.
    """
    if name not in shipped.grid.names:
        raise ParameterError(f"{name!r} is not a feature of this model.")
    sizes = shipped.grid.sizes(shipped.domain)
    place = shipped.grid.names.index(name)
    # Fractional parts of multiples of an irrational number fill a range evenly.
    steps = np.arange(1, rows + 1)[:, None] * np.sqrt(_primes(len(sizes)))
    short = np.uint8 if max(sizes) <= 1 << 8 else np.uint16
    codes = ((steps % 1.0) * np.array(sizes)).astype(short)
    out = []
    for code in range(sizes[place]):
        codes[:, place] = code
        out.append(shipped.of_codes(codes).mean(axis=0))
    return labels(shipped, place), np.array(out)


def curve(name: str, values: Any, scores: Any, ax: Any) -> Any:
    """Draw the mean scores along a column."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots()
    if all(isinstance(value, int | float) for value in values):
        ax.plot(values, scores, drawstyle="steps-mid")
    else:
        words = [_MISSING if value is None else str(value) for value in values]
        ax.plot(words, scores, marker="o", linestyle="")
    ax.set_xlabel(name)
    ax.set_ylabel("mean score")
    return ax


def labels(shipped: Shipped, column: int) -> list[Any]:
    """Return the value of each code of a column: a cell's middle, or a category."""
    name, cuts = shipped.grid.names[column], shipped.grid.cuts[column]
    kind = shipped.domain[name]
    if isinstance(kind, Category):
        return [*kind.categories, None]
    number = shipped.domain.number(name)
    ends = np.array([number.lower, *cuts, number.upper])
    middles = ((ends[1:] + ends[:-1]) / 2).tolist()
    return [*middles, None] if number.missing else middles


def _primes(count: int) -> Any:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % p for p in found):
            found.append(number)
        number += 1
    return np.array(found, dtype=np.float64)
