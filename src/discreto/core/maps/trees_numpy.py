"""Loops over rows for trees: numpy, or numba where it is installed.

Both do the same comparisons and whole-number additions, so they give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core import compiled
from discreto.core.query import Floats, Ints

Codes = NDArray[Any]  # uint8 or uint16, a line for each row
WORTH = 1 << 12  # rows from which compiled loops are worth their first call
SHORT = 1 << 12  # rows whose codes are worked out at once
SHIFT = 32  # a histogram cell holds count * 2^SHIFT + sum while a batch is folded


def place(values: Floats, cuts: Floats, missing: int, out: Codes) -> None:
    """The number of cuts below each value; ``missing`` for NaN."""
    fast = _compiled("place", len(values))
    if fast is not None:
        fast(values, cuts, missing, out)
        return
    codes = np.searchsorted(cuts, values, side="left")
    out[:] = np.where(np.isnan(values), missing, codes)


def walk(
    codes: Codes,
    node: NDArray[np.int32],
    depth: int,
    features: Ints,
    firsts: Ints,
    routes: Codes,
) -> NDArray[np.int32]:
    """The node that each row reaches from ``node`` after ``depth`` splits."""
    fast = _compiled("walk", len(codes))
    if fast is not None:
        return fast(codes, node, depth, features, firsts, routes)
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
    fast = _compiled("climb", len(codes))
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


def add_leaves(table: Floats, leaf: NDArray[np.int32], out: Floats) -> None:
    """Add to the scores of each row what its leaf gives, a line for each score."""
    fast = _compiled("add_leaves", len(leaf))
    if fast is None:
        out += table.take(leaf, axis=1)
    else:
        fast(table, leaf, out)


def margins(scores: Floats, target: Ints, ends: Floats, bins: int) -> Ints:
    """The cell of each row by the lead of its best class; see ``Margins``."""
    fast = _compiled("margins", scores.shape[1])
    if fast is not None:
        out = np.empty(scores.shape[1], dtype=np.int64)
        fast(scores, compiled.plain(target, len(out)), ends, bins, out)
        return out
    best, top = _largest(scores, np.full(scores.shape[1], -1))
    second, next_top = _largest(scores, best)
    place = np.searchsorted(ends, top - next_top, side="right")
    half = np.where(target == best, 0, np.where(target == second, bins, -1))
    return np.where(half >= 0, half + place, -1).astype(np.int64)


def _largest(scores: Floats, without: Ints) -> tuple[Ints, Floats]:
    """The class of the largest score but for one class each, and that score."""
    place = np.zeros(scores.shape[1], dtype=np.int64)
    top = np.full(scores.shape[1], -np.inf)
    for number, line in enumerate(scores):
        larger = (line > top) & (without != number)
        np.copyto(place, number, where=larger)
        np.copyto(top, line, where=larger)
    return place, top


def without_largest(
    node: NDArray[np.int32], inside: NDArray[np.bool_], nodes: int, firsts: Ints
) -> tuple[NDArray[np.bool_], Ints]:
    """Which rows inside are not in their parent's largest child, and these children.

    ``firsts`` holds the first child of each parent; the largest one has the most rows,
    the first of them if there are several.
    """
    fast = _compiled("without_largest", len(node))
    if fast is not None:
        return fast(node, inside, nodes, firsts)
    counts = np.bincount(node[inside], minlength=nodes)
    spans = zip(firsts, np.append(firsts, nodes)[1:], strict=True)
    largest = np.array([a + counts[a:b].argmax() for a, b in spans], dtype=np.int64)
    skip = np.zeros(nodes, dtype=bool)
    skip[largest] = True
    return inside & ~skip[node], largest


def tally(
    codes: Codes,
    node: NDArray[np.int32],
    inside: NDArray[np.bool_],
    packed: Ints,
    nodes: int,
    starts: Ints,
) -> Ints:
    """Sums of ``packed`` numbers by node and code: (nodes, codes of all columns).

    Column j has the cells ``starts[j]`` to ``starts[j + 1]``.
    """
    fast = _compiled("tally", len(codes))
    if fast is not None:
        return fast(codes, node, inside, packed, nodes, starts)[0]
    out = np.zeros((nodes, int(starts[-1])), dtype=packed.dtype)
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


def unpack(packed: Ints) -> tuple[Ints, Ints]:
    """The sums and the counts of packed cells."""
    counts = (packed + (1 << (SHIFT - 1))) >> SHIFT
    return packed - (counts << SHIFT), counts


def worth(child: Ints, ridge: float, step: float) -> Ints:
    """What a child adds to the score of a split, from its sums and, last, its rows.

    With ``step`` 0 the absolute sums, else |sums|^2 / (rows + ridge) in such steps.
    """
    if not step:
        return np.abs(child[:-1]).sum(axis=0)
    # Off by less than half a step for 2^31 rows: docs/proofs/boosting.md.
    square = (child[:-1].astype(np.float64) ** 2).sum(axis=0)
    rows = child[-1] + ridge
    gain = np.divide(square, rows, out=np.zeros_like(square), where=rows > 0)
    return np.floor(gain * step).astype(np.int64)


def cuts(cells: Ints, extra: Ints, count: int, ridge: float, step: float) -> Ints:
    """The score of each cut: codes up to it, with ``extra``, against all others.

    Cells are (sums and rows, nodes, columns, codes), extra has one code; scores are
    (nodes, columns, the first ``count`` cuts).
    """
    fast = _compiled("cuts", cells[0].size)
    if fast is not None:
        both = np.ascontiguousarray(cells), np.ascontiguousarray(extra)
        return fast(*both, count, ridge, step)
    left = np.cumsum(cells, axis=3)[..., :count] + extra
    right = cells.sum(axis=3, keepdims=True) - left
    return worth(left, ridge, step) + worth(right, ridge, step)


@lru_cache(maxsize=1)
def _loops() -> dict[str, Callable[..., Any]]:
    """The compiled loops, or nothing where numba is not installed, or is broken."""
    try:
        from discreto.core.maps import trees_numba
    except Exception:  # after a charge: whatever it is, numpy can do the same
        return {}
    names = [
        "place",
        "walk",
        "climb",
        "add_leaves",
        "margins",
        "without_largest",
        "tally",
        "cuts",
    ]
    return {name: getattr(trees_numba, name) for name in names}


def _compiled(name: str, size: int) -> Callable[..., Any] | None:
    """A compiled loop: where there is much to do, or where they are loaded anyway."""
    if size < WORTH and not _loops.cache_info().currsize:
        return None
    return _loops().get(name)
