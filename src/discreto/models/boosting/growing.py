"""Growing one tree: at random, or by noisy choices among candidates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreto.core.domain.domain import Category, Domain
from discreto.core.maps.tree_gradients import Gradients, Norm
from discreto.core.maps.tree_splits import (
    BITS,
    Candidate,
    SplitHistogram,
    SplitScore,
    candidates,
)
from discreto.core.maps.trees import Tree
from discreto.core.query import Choice
from discreto.errors import DomainError
from discreto.models.base.binning import grid_of
from discreto.models.base.features import Space
from discreto.models.boosting.settings import ResolvedSettings
from discreto.session.rng import Generator
from discreto.session.session import Ask

Route = tuple[int, ...]
Limits = dict[int, tuple[int, int]]  # the codes of a column that can reach a node


class Grower:
    """Splits for trees on one grid, from public facts, random numbers and releases."""

    def __init__(
        self, space: Space, settings: ResolvedSettings, coins: Generator
    ) -> None:
        domain = self.domain = space.domain
        grid = self.grid = grid_of(space.features, domain, settings.bins)
        self.settings, self._coins = settings, coins
        self.sizes = grid.sizes(domain)
        self._usable = [
            j
            for j, name in enumerate(grid.names)
            if self.sizes[j] > 1 + _spare(domain, name)
        ]
        if not self._usable:
            raise DomainError("boosting needs a feature with more than one value.")
        self._lasts = [
            size - 1 - _spare(domain, name)
            for size, name in zip(self.sizes, grid.names, strict=True)
        ]
        known = [isinstance(domain[name], Category) for name in grid.names]
        self._one_hot = [one and settings.encoding == "onehot" for one in known]
        self._candidates = candidates(grid, domain, settings.encoding, settings.several)
        self._routes: dict[Candidate, Route] = {}
        self._all_to_one: list[Route] = [(0,) * size for size in self.sizes]

    def by_chance(self, number: int, depth: int) -> Tree:
        """Return a tree of random splits, on some columns in turn or on any of them."""
        columns = self._usable
        if self.settings.splits == "cyclic":
            size = min(self.settings.group, len(columns))
            first = number * size
            columns = [columns[(first + i) % len(columns)] for i in range(size)]
        features: list[int] = []
        routes: list[Route] = []
        level: list[Limits] = [{}]
        for _ in range(depth):
            below: list[Limits] = []
            for place, limits in enumerate(level):
                room = self.settings.max_leaves - len(below) - len(level) + place + 1
                feature, route, children = self._random_split(columns, limits, room)
                features.append(feature)
                routes.append(route)
                below += children
            level = below
        return Tree(tuple(features), tuple(routes))

    def _random_split(
        self, columns: list[int], limits: Limits, room: int
    ) -> tuple[int, Route, list[Limits]]:
        """Return a split of a node into no more than ``room`` children."""
        left = [j for j in columns if room > 1 and self._span(j, limits) > 1]
        if not left:
            return columns[0], self._all_to_one[columns[0]], [limits]
        # One-hot columns count once for each category, as if they were that many.
        weights = [self._span(j, limits) if self._one_hot[j] else 1 for j in left]
        feature = left[_draw(self._coins, weights)]
        column, size = self.domain[self.grid.names[feature]], self.sizes[feature]
        if not isinstance(column, Category):
            return self._random_cut(feature, limits)
        many = size - 1 + column.missing
        if self.settings.encoding == "native" and many <= room:
            kind = Candidate(feature, "each", 0)
            done = limits | {feature: (0, 0)}
            return feature, self.route(kind), [done] * many
        if self._one_hot[feature]:
            kind = Candidate(feature, "one", int(self._coins.integers(many)))
            return feature, self.route(kind), [limits | {feature: (0, 0)}, limits]
        sides = self._coins.permutation(size) % 2
        route = tuple(int(side != sides[0]) for side in sides)
        return feature, route, [limits, limits]

    def _random_cut(
        self, feature: int, limits: Limits
    ) -> tuple[int, Route, list[Limits]]:
        low, high = limits.get(feature, (0, self._lasts[feature]))
        at = int(self._coins.integers(low, high))
        missing = self.domain.number(self.grid.names[feature]).missing
        kind = "with missing" if missing and self._coins.random() < 0.5 else "below"
        route = self.route(Candidate(feature, kind, at))  # type: ignore[arg-type]
        children = [limits | {feature: (low, at)}, limits | {feature: (at + 1, high)}]
        return feature, route, children

    def _span(self, feature: int, limits: Limits) -> int:
        low, high = limits.get(feature, (0, self._lasts[feature]))
        return high - low + 1

    def by_choice(
        self, ask: Ask, gradients: Gradients, tree: Tree, label: str, share: Fraction
    ) -> Tree:
        """Return the tree with one more level: a noisy choice for each node."""
        settings = self.settings
        norm: Norm = "l1" if settings.score == "l1" else "l2"
        # Scores of splits need gradients alone, on a coarser grid than leaves.
        plain = replace(gradients, weight=0.0, bits=BITS, norm=norm)
        score = SplitScore(
            self.grid,
            tree.leaves,
            settings.score,
            settings.ridge,
            settings.encoding,
            settings.several,
        )
        query = Choice(SplitHistogram(plain, tree, settings.score == "gain"), score)
        return self._split(tree, ask.select(query, label, share).indices.tolist())

    def _split(self, tree: Tree, picked: list[int]) -> Tree:
        """Return the tree with the chosen splits, as many as ``max_leaves`` allows."""
        features, routes = list(tree.features), list(tree.routes)
        leaves = tree.leaves
        children = {i: max(self.route(self._candidates[i])) for i in set(picked)}
        for index in picked:
            kind = self._candidates[index]
            route = self.route(kind)
            if leaves + children[index] > self.settings.max_leaves:
                # The choice is paid for, but the node stays whole.
                route = self._all_to_one[kind.feature]
            else:
                leaves += children[index]
            features.append(kind.feature)
            routes.append(route)
        return Tree(tuple(features), tuple(routes))

    def route(self, kind: Candidate) -> Route:
        """Return the child of each code, worked out once for each candidate."""
        if kind not in self._routes:
            self._routes[kind] = kind.route(self.grid, self.domain)
        return self._routes[kind]


def _spare(domain: Domain, name: str) -> int:
    """Return 1 if the last code of a column is for missing values, else 0."""
    column = domain[name]
    if isinstance(column, Category):
        return int(not column.missing)
    return int(domain.number(name).missing)


def _draw(coins: Generator, weights: list[int]) -> int:
    point = coins.random() * sum(weights)
    for i, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return i
    return len(weights) - 1
