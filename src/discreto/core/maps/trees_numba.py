"""Compiled loops for trees, each with a twin in ``trees_numpy``.

They run without the interpreter's lock, so the threads of an engine work side by side.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 256
NEAR = 1024  # rows whose codes stay in a processor's cache
FEW = 48  # cuts that are sooner counted than searched


@njit(cache=True, nogil=True)
def _part(value, lower, upper, scale, last):
    """One of equal parts of a range, never falling as the value rises."""
    inside = value if value > lower else lower
    inside = inside if inside < upper else upper
    at = (inside - lower) * scale
    return np.int32(at if at < last else last)


@njit(cache=True, nogil=True)
def place_parts(values, lower, upper, scale, last, out):
    """The part of a range of each value; the first for NaN."""
    for i in range(values.shape[0]):
        out[i] = _part(values[i], lower, upper, scale, last)


@njit(cache=True, nogil=True)
def guide(cuts, lower, upper, scale, out):
    """Count the cuts in the parts of a range before each part."""
    last = out.shape[0] - 2.0
    out[:] = 0
    for cut in cuts:
        out[_part(cut, lower, upper, scale, last) + 1] += 1
    for k in range(out.shape[0] - 1):
        out[k + 1] += out[k]


@njit(cache=True, nogil=True)
def add_below(block, a, b, c, d, out):
    """Count those of four cuts that are below each value."""
    for i in range(block.shape[0]):
        v = block[i]
        out[i] += np.int64(a < v) + np.int64(b < v) + np.int64(c < v) + np.int64(d < v)


@njit(cache=True, nogil=True)
def in_fours(cuts):
    """The cuts, and infinite ones for a last four: no value is above those."""
    ends = np.full((cuts.shape[0] + 3) // 4 * 4, np.inf)
    ends[: cuts.shape[0]] = cuts
    return ends


@njit(cache=True, nogil=True)
def _absent(block):
    many = 0
    for i in range(block.shape[0]):
        many += block[i] != block[i]
    return many


@njit(cache=True, nogil=True)
def _store(numbers, out):
    for i in range(out.shape[0]):
        out[i] = numbers[i]


@njit(cache=True, nogil=True)
def _count_below(values, cuts, missing, out):
    """The number of a few cuts below each value; ``missing`` for NaN."""
    ends, below = in_fours(cuts), np.empty(BLOCK, dtype=np.int64)
    for start in range(0, values.shape[0], BLOCK):
        block, mine = values[start : start + BLOCK], out[start : start + BLOCK]
        below[:] = 0
        for k in range(0, ends.shape[0], 4):
            add_below(block, ends[k], ends[k + 1], ends[k + 2], ends[k + 3], below)
        _store(below, mine)
        if _absent(block):
            for i in range(block.shape[0]):
                if block[i] != block[i]:
                    mine[i] = missing


@njit(cache=True, nogil=True)
def place(values, cuts, missing, out):
    """The number of cuts below each value; ``missing`` for NaN.

    Few cuts are counted. Of many, those in other parts of their range than a value are
    on their side of it for sure, since its part never falls as the value rises: only
    those of its own part are searched.
    """
    many = cuts.shape[0]
    if many <= FEW:
        _count_below(values, cuts, missing, out)
        return
    lower, upper = (cuts[0], cuts[-1]) if many else (0.0, 0.0)
    starts, scale = np.zeros(4 * many + 2, dtype=np.int64), 0.0
    if upper - lower > 1e-300:
        scale = (starts.shape[0] - 1) / (upper - lower)  # 0 if the range is infinite
    guide(cuts, lower, upper, scale, starts)
    ends = np.full(many + 1, np.inf)  # no value is above the last
    ends[:many] = cuts
    block, parts = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32)
    for start in range(0, values.shape[0], BLOCK):
        size = min(BLOCK, values.shape[0] - start)
        for i in range(size):
            block[i] = values[start + i]
        place_parts(block, lower, upper, scale, starts.shape[0] - 2.0, parts)
        for i in range(size):
            below, above = starts[parts[i]], starts[parts[i] + 1]
            while above - below > 1:
                middle = (below + above) >> 1
                if ends[middle] < block[i]:
                    below = middle + 1
                else:
                    above = middle
            code = below + (ends[below] < block[i])
            out[start + i] = code if block[i] == block[i] else missing


@njit(cache=True, nogil=True)
def walk(codes, node, depth, features, firsts, routes):
    """The node that each row reaches from ``node`` after ``depth`` splits."""
    rows = codes.shape[0]
    out = np.empty(rows, dtype=np.int32)
    for i in range(rows):
        here = node[i]
        for _ in range(depth):
            here = firsts[here] + routes[here, codes[i, features[here]]]
        out[i] = here
    return out


@njit(cache=True, nogil=True)
def add_leaves(table, leaf, out):
    """Add to the scores of each row what its leaf gives, a line for each score."""
    for start in range(0, leaf.shape[0], NEAR):
        stop = min(start + NEAR, leaf.shape[0])
        for k in range(table.shape[0]):
            values, line = table[k], out[k]
            for i in range(start, stop):
                line[i] += values[leaf[i]]


@njit(cache=True, nogil=True)
def _leads(scores, target, start, bins, lead, half):
    """The lead of the best class over the next; which half of cells, -1 for none."""
    for i in range(lead.shape[0]):
        best, second, top, after = 0, 0, -np.inf, -np.inf
        for k in range(scores.shape[0]):
            score = scores[k, start + i]
            if score > top:
                best, second, top, after = k, best, score, top
            elif score > after:
                second, after = k, score
        lead[i], own = top - after, target[start + i]
        half[i] = 0 if own == best else bins if own == second else -1


@njit(cache=True, nogil=True)
def margins(scores, target, ends, bins, out):
    """The cell of each row by its lead; see ``Margins``."""
    lead, half = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int64)
    for start in range(0, scores.shape[1], BLOCK):
        size = min(BLOCK, scores.shape[1] - start)
        _leads(scores, target, start, bins, lead[:size], half)
        for i in range(size):
            place = 0
            for end in ends:
                place += not lead[i] < end
            out[start + i] = half[i] + place if half[i] >= 0 else -1


@njit(cache=True, nogil=True)
def without_largest(node, inside, nodes, firsts):
    """The rows inside but for those of each parent's largest child, and these."""
    counts = np.zeros(nodes, dtype=np.int64)
    for i in range(node.shape[0]):
        if inside[i]:
            counts[node[i]] += 1
    largest = np.empty(firsts.shape[0], dtype=np.int64)
    skip = np.zeros(nodes, dtype=np.bool_)
    for parent in range(firsts.shape[0]):
        end = firsts[parent + 1] if parent + 1 < firsts.shape[0] else nodes
        best = firsts[parent]
        for child in range(best + 1, end):
            if counts[child] > counts[best]:
                best = child
        largest[parent] = best
        skip[best] = True
    left = np.empty(node.shape[0], dtype=np.bool_)
    for i in range(node.shape[0]):
        left[i] = inside[i] and not skip[node[i]]
    return left, largest


@njit(cache=True, nogil=True)
def tally(codes, node, inside, packed, nodes, starts):
    """Sums of ``packed`` numbers by node and code, and a number without a meaning.

    Waiting for memory is most of the work. So some rows are read once in their order,
    which brings their codes into the cache, and then taken node by node, for the cells
    of a node to stay there, too; two at a time, since one waits while another adds.
    """
    total, columns = codes.shape
    out = np.zeros((nodes, starts[columns]), dtype=packed.dtype)
    flat, read = codes.reshape(-1), 0
    order, places = np.empty(NEAR, dtype=np.int64), np.empty(nodes + 1, dtype=np.int64)
    for begin in range(0, total, NEAR):
        end = min(begin + NEAR, total)
        for k in range(begin * columns, end * columns, 64):
            read += flat[k]
        places[:] = 0
        for i in range(begin, end):
            places[node[i] + 1] += inside[i]
        for k in range(nodes):
            places[k + 1] += places[k]
        many = places[nodes]
        for i in range(begin, end):
            if inside[i]:
                order[places[node[i]]] = i
                places[node[i]] += 1
        for place in range(0, many - 1, 2):
            a, b = order[place], order[place + 1]
            to_a, to_b, of_a, of_b = out[node[a]], out[node[b]], codes[a], codes[b]
            add_a, add_b = packed[a], packed[b]
            for j in range(columns):
                start = np.uint64(starts[j])
                to_a[start + np.uint64(of_a[j])] += add_a
                to_b[start + np.uint64(of_b[j])] += add_b
        if many % 2:
            a = order[many - 1]
            to_a, of_a, add_a = out[node[a]], codes[a], packed[a]
            for j in range(columns):
                to_a[np.uint64(starts[j]) + np.uint64(of_a[j])] += add_a
    return out, read


@njit(cache=True, nogil=True)
def cuts(cells, extra, count, ridge, step):
    """The score of each cut: codes up to it, with ``extra``, against all others."""
    depth, nodes, columns, codes = cells.shape
    out = np.empty((nodes, columns, count), dtype=np.int64)
    left, right = np.empty(depth, dtype=np.int64), np.empty(depth, dtype=np.int64)
    for n in range(nodes):
        for c in range(columns):
            for k in range(depth):
                left[k], right[k] = extra[k, n, c, 0], -extra[k, n, c, 0]
                for v in range(codes):
                    right[k] += cells[k, n, c, v]
            for v in range(count):
                plain, one, two = 0, 0.0, 0.0
                for k in range(depth):
                    left[k] += cells[k, n, c, v]
                    right[k] -= cells[k, n, c, v]
                for k in range(depth - 1):
                    plain += abs(left[k]) + abs(right[k])
                    one += float(left[k]) * float(left[k])
                    two += float(right[k]) * float(right[k])
                if step:
                    below, above = left[-1] + ridge, right[-1] + ridge
                    one = one / below if below > 0 else 0.0
                    two = two / above if above > 0 else 0.0
                    plain = int(np.floor(one * step)) + int(np.floor(two * step))
                out[n, c, v] = plain
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
