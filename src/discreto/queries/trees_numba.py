"""Compiled loops for trees. Imported only where numba is installed: discreto[fast].

They run without the interpreter's lock, so the threads of an engine work side by side.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 256
FEW = 64  # cuts that are compared one by one sooner than they are searched


@njit(cache=True, nogil=True)
def place(values, cuts, missing, out):
    """The number of cuts below each value; ``missing`` for NaN.

    Few cuts are compared with a block of values each, which a processor does several at
    a time; many are searched.
    """
    block, below = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, values.shape[0], BLOCK):
        size = min(BLOCK, values.shape[0] - start)
        for i in range(size):
            block[i] = values[start + i]
            below[i] = 0.0
        if cuts.shape[0] <= FEW:
            for cut in cuts:
                for i in range(BLOCK):
                    below[i] += 1.0 if cut < block[i] else 0.0
        else:
            for i in range(size):
                below[i] = np.searchsorted(cuts, block[i])
        for i in range(size):
            out[start + i] = missing if np.isnan(block[i]) else int(below[i])


@njit(cache=True, nogil=True)
def walk(codes, depth, features, firsts, routes):
    """The node that each row reaches after ``depth`` splits, from 0 in its level."""
    rows = codes.shape[0]
    out = np.empty(rows, dtype=np.int32)
    for i in range(rows):
        node = 0
        for _ in range(depth):
            node = firsts[node] + routes[node, codes[i, features[node]]]
        out[i] = node
    return out


@njit(cache=True, nogil=True)
def tally(codes, node, packed, nodes, starts):
    """Sums of ``packed`` numbers by node and code.

    Rows are taken node by node: the cells of one node stay in the cache.
    """
    columns = starts.shape[0] - 1
    out = np.zeros((nodes, starts[columns]), dtype=packed.dtype)
    ends = np.zeros(nodes + 1, dtype=np.int64)
    for i in range(node.shape[0]):
        if node[i] >= 0:
            ends[node[i] + 1] += 1
    for k in range(nodes):
        ends[k + 1] += ends[k]
    order = np.empty(ends[nodes], dtype=np.int32)
    for i in range(node.shape[0]):
        if node[i] >= 0:
            order[ends[node[i]]] = i
            ends[node[i]] += 1
    for place in range(order.shape[0]):
        i = order[place]
        number = packed[i]
        line = out[node[i]]
        for j in range(columns):
            line[starts[j] + codes[i, j]] += number
    return out


@njit(cache=True, nogil=True)
def climb(codes, starts, depths, features, firsts, routes, shifts, values, out):
    """Add to ``out`` what every tree of a forest gives each row, tree by tree."""
    rows = codes.shape[0]
    for begin in range(0, rows, 1024):
        end = min(begin + 1024, rows)
        for t in range(depths.shape[0]):
            start, shift, depth = starts[t], shifts[t], depths[t]
            for i in range(begin, end):
                node = 0
                for _ in range(depth):
                    k = start + node
                    node = firsts[k] + routes[k, codes[i, features[k]]]
                for k in range(values.shape[1]):
                    out[i, k] += values[shift + node, k]
