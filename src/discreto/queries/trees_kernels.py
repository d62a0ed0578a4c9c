"""Loops over rows for trees: numpy, or numba where it is installed.

Both do the same comparisons and whole-number additions, so they give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.kernel.query import Floats, Ints

Codes = NDArray[Any]  # uint8 or uint16, a line for each row
WORTH = 1 << 12  # rows from which compiled loops are worth their first call
SHORT = 1 << 10  # rows whose codes are worked out at once
SHIFT = 32  # a histogram cell holds count * 2^SHIFT + sum while a batch is folded


def place(values: Floats, cuts: Floats, missing: int, out: Codes) -> None:
    """The number of cuts below each value; ``missing`` for NaN."""
    fast = _compiled("place") if len(values) >= SHORT else None
    if fast is not None:
        fast(values, cuts, missing, out)
        return
    codes = np.searchsorted(cuts, values, side="left")
    out[:] = np.where(np.isnan(values), missing, codes)


def walk(
    codes: Codes, depth: int, features: Ints, firsts: Ints, routes: Codes
) -> NDArray[np.int32]:
    """The node that each row reaches after ``depth`` splits, from 0 in its level."""
    fast = _compiled("walk") if len(codes) >= WORTH else None
    if fast is not None:
        return fast(codes, depth, features, firsts, routes)
    node = np.zeros(len(codes), dtype=np.int32)
    every = np.arange(len(codes))
    for _ in range(depth):
        code = codes[every, features[node]]
        node = (firsts[node] + routes[node, code]).astype(np.int32)
    return node


class Forest(NamedTuple):
    """All trees of an ensemble as arrays; see ``Arrays`` of a tree.

    Tree t has ``depths[t]`` levels of splits, its nodes start at ``starts[t]``, and its
    node n past them is the line ``shifts[t] + n`` of ``values``.
    """

    starts: Ints
    depths: Ints
    features: Ints
    firsts: Ints
    routes: Codes
    shifts: Ints
    values: Floats


def climb(codes: Codes, forest: Forest, out: Floats) -> None:
    """Add to ``out`` (rows, scores) what every tree gives each row, tree by tree."""
    fast = _compiled("climb") if len(codes) >= WORTH else None
    if fast is not None:
        fast(codes, *forest, out)
        return
    every = np.arange(len(codes))
    for start, depth, shift in zip(
        forest.starts, forest.depths, forest.shifts, strict=True
    ):
        node = np.zeros(len(codes), dtype=np.int64)
        for _ in range(depth):
            k = start + node
            code = codes[every, forest.features[k]]
            node = forest.firsts[k] + forest.routes[k, code]
        out += forest.values[shift + node]


def tally(
    codes: Codes,
    node: NDArray[np.int32],
    packed: Ints,
    nodes: int,
    starts: Ints,
) -> Ints:
    """Sums of ``packed`` numbers by node and code: (nodes, codes of all columns).

    Column j has the cells ``starts[j]`` to ``starts[j + 1]``. A node below 0 is none.
    """
    fast = _compiled("tally") if len(codes) >= WORTH else None
    if fast is not None:
        return fast(codes, node, packed, nodes, starts)
    out = np.zeros((nodes, int(starts[-1])), dtype=packed.dtype)
    inside = np.flatnonzero(node >= 0)
    line, packed = node[inside].astype(np.int64), packed[inside].astype(np.int64)
    # Whole numbers far below 2^53: adding them as floats is exact.
    parts = (packed & ((1 << SHIFT) - 1), packed >> SHIFT)
    for j in range(len(starts) - 1):
        size = int(starts[j + 1] - starts[j])
        cell = line * size + codes[inside, j]
        low, high = (
            np.bincount(cell, weights=part, minlength=nodes * size).astype(np.int64)
            for part in parts
        )
        out[:, starts[j] : starts[j + 1]] = (low + (high << SHIFT)).reshape(nodes, size)
    return out


def siblings(routes: tuple[tuple[int, ...], ...]) -> Ints:
    """The parent of each node of a level, from the routes of the level above."""
    return np.repeat(np.arange(len(routes)), [max(route) + 1 for route in routes])


def largest(node: NDArray[np.int32], parents: Ints, nodes: int) -> Ints:
    """For each parent its child with the most rows (the first of them)."""
    rows = np.bincount(node[node >= 0], minlength=nodes)
    order = np.lexsort((-rows, parents))
    first = np.searchsorted(parents, np.arange(int(parents[-1]) + 1))
    return order[first]


def unpack(packed: Ints) -> tuple[Ints, Ints]:
    """The sums and the counts of packed cells."""
    counts = (packed + (1 << (SHIFT - 1))) >> SHIFT
    return packed - (counts << SHIFT), counts


@lru_cache(maxsize=1)
def _loops() -> dict[str, Callable[..., Any]]:
    """The compiled loops, or nothing where numba is not installed."""
    try:
        from discreto.queries import trees_numba
    except ImportError:
        return {}
    return {
        "place": trees_numba.place,
        "walk": trees_numba.walk,
        "tally": trees_numba.tally,
        "climb": trees_numba.climb,
    }


def _compiled(name: str) -> Callable[..., Any] | None:
    return _loops().get(name)
