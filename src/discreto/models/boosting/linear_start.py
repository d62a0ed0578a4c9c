"""A line as scores to start from: one split for each column that it uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.core.maps.trees import Grid, Tree
from discreto.models.base.features import Space

_FAR = 1e9


def line_scores(
    line: Any, space: Space, grid: Grid
) -> tuple[tuple[float, ...], tuple[Tree, ...]]:
    """Where scores start, and a tree for each column of a fitted linear model.

    A Number adds its slope times the middle of its cell, a gap what the mean adds.
    """
    slopes = dict(zip(line.coef_names_, line.coef_.tolist(), strict=True))
    fills = dict(zip(line.coef_names_, line.fill_.tolist(), strict=True))
    start, trees, domain = float(line.intercept_), [], space.domain
    sizes = grid.sizes(domain)
    for j, name in enumerate(grid.names):
        if name not in line.space_.features:
            continue
        values = np.zeros(sizes[j])
        if name in space.numbers:
            column = domain.number(name)
            edges = np.array([column.lower, *grid.cuts[j], column.upper])
            middles = (edges[1:] + edges[:-1]) / 2
            values[:] = slopes[name] * (column.centre + column.half * fills[name])
            values[: len(middles)] = slopes[name] * middles
        else:
            categories = domain.category(name).categories
            for code, value in enumerate((*categories, "(missing or other)")):
                values[code : code + 1] = slopes.get(f"{name}={value}", 0.0)
        if not values.any():
            continue
        # Each tree is about 0 in the middle; what is left is where scores start.
        start, values = (
            start + values.mean(),
            np.clip(values - values.mean(), -_FAR, _FAR),
        )
        route = tuple(range(len(values)))
        trees.append(Tree((j,), (route,), tuple((float(v),) for v in values)))
    return (float(start),), tuple(trees)


__all__ = ["line_scores"]
