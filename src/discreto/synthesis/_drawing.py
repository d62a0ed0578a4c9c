"""Rows drawn from a fitted model: exact, and from released numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreto.session.rng import Generator
from discreto.synthesis._columns import Ints
from discreto.synthesis._fitting import Model
from discreto.synthesis._junction_tree import Floats


def draw_codes(model: Model, rows: int, rng: Generator) -> Ints:
    """Codes of all columns for some rows, clique by clique from the root."""
    tree, sizes = model.tree, model.tree.sizes
    out = np.zeros((rows, len(sizes)), dtype=np.int64)
    for k in tree.order:
        clique, known = tree.cliques[k], tree.shared[k]
        new = tuple(i for i in clique if i not in known)
        if not new:
            continue
        axes = [clique.index(i) for i in (*known, *new)]
        lines = math.prod(tree.lengths(known))
        law = model.beliefs[k].transpose(axes).reshape(lines, -1)
        line = np.zeros(rows, dtype=np.int64)
        for i in known:
            line = line * sizes[i] + out[:, i]
        found = _pick(law, line, rng.random(rows))
        for i in reversed(new):
            out[:, i] = found % sizes[i]
            found = found // sizes[i]
    return out


def _pick(law: Floats, line: Ints, spot: Floats) -> Ints:
    """For each row a column of its line of the law, with that probability."""
    total = law.sum(axis=1, keepdims=True)
    law = np.where(total > 0, law, 1.0)
    above = np.cumsum(law, axis=1)
    above = above / above[:, -1:]
    out = np.zeros(line.size, dtype=np.int64)
    order = np.argsort(line, kind="stable")
    lines, starts = np.unique(line[order], return_index=True)
    ends = np.append(starts[1:], line.size)
    for number, start, end in zip(lines, starts, ends, strict=True):
        rows = order[start:end]
        out[rows] = np.searchsorted(above[number], spot[rows], side="right")
    return np.minimum(out, law.shape[1] - 1)


def draw_cells(
    groups: Ints, members: Sequence[Ints], laws: Sequence[Floats], spot: Floats
) -> Ints:
    """Return a fine cell of each row's group."""
    out = np.zeros(groups.size, dtype=np.int64)
    for number, (cells, law) in enumerate(zip(members, laws, strict=True)):
        rows = np.flatnonzero(groups == number)
        above = np.cumsum(law)
        found = np.searchsorted(above / above[-1], spot[rows], side="right")
        out[rows] = cells[np.minimum(found, len(cells) - 1)]
    return out
