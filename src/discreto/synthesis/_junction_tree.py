"""Junction trees: cliques of columns in which a product of small tables is exact.

Everything here works on released numbers. Columns are places 0 to d - 1, each with a
number of codes; a table over some of them has its axes in rising order of place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = tuple[int, ...]
_LEAST = 1e-140  # the product of two such cells is still above 0


class JunctionTree:
    """Cliques that cover some sets of columns, joined so that a walk is enough.

    Parameters
    ----------
    sizes
        How many codes each column has.
    sets
        Sets of columns that must lie together in a clique.
    """

    def __init__(self, sizes: Sequence[int], sets: Iterable[Places]) -> None:
        self.sizes = tuple(sizes)
        self.cliques = _cliques(self.sizes, sets)
        self.order, self.parent = _joined(self.cliques)
        self.shared = [
            () if above < 0 else tuple(i for i in own if i in self.cliques[above])
            for own, above in zip(self.cliques, self.parent, strict=True)
        ]

    def lengths(self, places: Places) -> tuple[int, ...]:
        """Return the shape of a table over these columns."""
        return tuple(self.sizes[i] for i in places)

    @property
    def cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(math.prod(self.lengths(clique)) for clique in self.cliques)

    def home(self, places: Places) -> int:
        """Return the smallest clique that holds these columns."""
        able = [k for k, c in enumerate(self.cliques) if set(places) <= set(c)]
        return min(able, key=lambda k: math.prod(self.lengths(self.cliques[k])))

    def spread(self, table: Floats, places: Places, clique: int) -> Floats:
        """A table over some columns of a clique, ready to be multiplied with it."""
        own = self.cliques[clique]
        return table.reshape([self.sizes[i] if i in places else 1 for i in own])

    def summed(self, table: Floats, clique: int, places: Places) -> Floats:
        """Return the marginal over some columns of a table over a clique."""
        own = self.cliques[clique]
        away = tuple(k for k, i in enumerate(own) if i not in places)
        out: Floats = table.sum(axis=away)
        return out

    def beliefs(self, logs: Sequence[Floats]) -> list[Floats]:
        """Return the probabilities of each clique for the product of exp(logs)."""
        tables = [_relative(np.exp(log - log.max())) for log in logs]
        sent: dict[int, Floats] = {}
        for k in reversed(self.order):
            above = self.parent[k]
            if above >= 0:
                up = self.summed(tables[k], k, self.shared[k])
                sent[k] = _relative(up)
                tables[above] = _relative(
                    tables[above] * self.spread(sent[k], self.shared[k], above)
                )
        for k in self.order:
            above = self.parent[k]
            if above >= 0:
                whole = self.summed(tables[above], above, self.shared[k])
                tables[k] = tables[k] * self.spread(
                    _ratio(whole, sent[k]), self.shared[k], k
                )
            tables[k] = tables[k] / tables[k].sum()
        return tables

    def pairs(self, beliefs: Sequence[Floats]) -> dict[Places, Floats]:
        """Return the marginal of every pair of columns, also of those in no clique."""
        out: dict[Places, Floats] = {}
        for place in range(len(self.sizes)):
            for other, table in self._with(place, beliefs).items():
                if other > place:
                    out[place, other] = table
        return out

    def _with(self, place: int, beliefs: Sequence[Floats]) -> dict[int, Floats]:
        """The marginals of one column with each other one: (codes, codes of other)."""
        beside: list[list[int]] = [[] for _ in self.cliques]
        for k, above in enumerate(self.parent):
            if above >= 0:
                beside[k].append(above)
                beside[above].append(k)
        start = self.home((place,))
        out: dict[int, Floats] = {}
        todo = [(start, -1, self._inside(place, start, beliefs))]
        while todo:
            k, before, joint = todo.pop()
            own = self.cliques[k]
            for axis, other in enumerate(own):
                if other != place and other not in out:
                    away = tuple(a + 1 for a in range(len(own)) if a != axis)
                    out[other] = joint.sum(axis=away)
            for further in beside[k]:
                if further != before:
                    step = self._step(place, k, further, joint, beliefs)
                    todo.append((further, k, step))
        return out

    def _inside(self, place: int, k: int, beliefs: Sequence[Floats]) -> Floats:
        """Return a clique's table with a copy of one of its columns in front."""
        axis = self.cliques[k].index(place)
        table = beliefs[k]
        eye = np.eye(self.sizes[place])
        shape = [1] * table.ndim
        shape[axis] = self.sizes[place]
        return table[None] * eye.reshape([self.sizes[place], *shape])

    def _step(
        self,
        place: int,
        here: int,
        there: int,
        joint: Floats,
        beliefs: Sequence[Floats],
    ) -> Floats:
        """Return the joint table of a column and the next clique."""
        if place in self.cliques[there]:
            return self._inside(place, there, beliefs)
        both = self.shared[here if self.parent[here] == there else there]
        away = tuple(k + 1 for k, i in enumerate(self.cliques[here]) if i not in both)
        front = joint.sum(axis=away).reshape(self.sizes[place], -1)
        order = [self.cliques[there].index(i) for i in both]
        rest = [k for k in range(len(self.cliques[there])) if k not in order]
        table = beliefs[there].transpose(order + rest)
        flat = table.reshape(front.shape[1], -1)
        known = _ratio(flat, flat.sum(axis=1, keepdims=True))
        made = np.einsum("ab,bc->abc", front, known, optimize=False)
        made = made.reshape(self.sizes[place], *table.shape)
        back = np.argsort(order + rest) + 1
        return made.transpose([0, *back.tolist()])


def _relative(table: Floats) -> Floats:
    """Return a table divided by its largest cell, with no cell below ``_LEAST``.

    Factors that contradict each other, as noise at a tiny epsilon makes them, would
    otherwise multiply to 0 in every cell.
    """
    out: Floats = np.maximum(table / table.max(), _LEAST)
    return out


def _ratio(above: Floats, below: Floats) -> Floats:
    below = np.broadcast_to(below, above.shape)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _cliques(sizes: Sequence[int], sets: Iterable[Places]) -> list[Places]:
    """Cliques of a graph in which no hole is left, smallest first to go."""
    beside: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for places in sets:
        for one, two in combinations(places, 2):
            beside[one].add(two)
            beside[two].add(one)
    weight = [math.log(size) for size in sizes]
    out: list[frozenset[int]] = []
    while beside:
        gone = min(
            beside, key=lambda i: (weight[i] + sum(weight[j] for j in beside[i]), i)
        )
        near = beside.pop(gone)
        clique = frozenset({gone, *near})
        if not any(clique <= other for other in out):
            out.append(clique)
        for one in near:
            beside[one] |= near - {one}
            beside[one].discard(gone)
    return [tuple(sorted(clique)) for clique in out]


def _joined(cliques: Sequence[Places]) -> tuple[list[int], list[int]]:
    """Return the order of a walk and the parent of each clique: the heaviest tree."""
    parent = [-1] * len(cliques)
    order = [0]
    best = {k: (len({*cliques[0]} & {*cliques[k]}), 0) for k in range(1, len(cliques))}
    while best:
        k = max(best, key=lambda key: (best[key][0], -key))
        _, parent[k] = best.pop(k)
        order.append(k)
        for other, (weight, _) in best.items():
            common = len({*cliques[k]} & {*cliques[other]})
            if common > weight:
                best[other] = (common, k)
    return order, parent
