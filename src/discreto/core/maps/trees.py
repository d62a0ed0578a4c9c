"""Trees as questions: codes of columns, splits, and the leaf that a row falls in.

Everything a tree is made of is public or released. What is computed from rows may be
kept with the rows of a batch (see ``core.row_cache``). Without a store it is made
again, bit for bit the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import lt
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Domain
from discreto.core.maps import trees_numpy as kernels
from discreto.core.once import MadeOnce
from discreto.core.query import Batch, Floats, Ints
from discreto.core.row_cache import Chosen, WithCache, recall, remember
from discreto.core.row_program import Row, Value, choose, missing, rank, within
from discreto.core.validation import Names, Range, check_fields
from discreto.errors import ParameterError

MAX_CODES = 1 << 16  # of one column
MAX_NODES = 1 << 20
MAX_DEPTH = 256
MAX_ROUTES = 1 << 25  # nodes x codes of the widest column, of all trees of an ensemble
BATCH_ROWS = 1 << 17  # the same for all questions about trees, so that memories fit


@dataclass(frozen=True)
class Grid:
    """A whole code for each value: a cell between cut points, or a category.

    ``cuts`` holds for each Number column its sorted cut points (a value that equals a
    cut is below it) and for each Category column nothing. A Number that may be missing
    has one more code for that, else a missing value counts as the middle of the range.
    A Category has one more code for whatever is not one of its categories.
    """

    names: Names
    cuts: Annotated[tuple[tuple[float, ...], ...], Range(-1e300, 1e300)]

    def __post_init__(self) -> None:
        check_fields(self)  # also here: grids of model files are never bound
        good = len(self.cuts) == len(self.names)
        for cuts in self.cuts:
            good = good and len(cuts) < MAX_CODES - 1
            good = good and all(map(lt, cuts, cuts[1:]))
        if not good:
            raise ParameterError("a Grid needs sorted cut points for every column.")

    def check(self, domain: Domain) -> None:
        self.sizes(domain)

    def sizes(self, domain: Domain) -> tuple[int, ...]:
        """How many codes each column has."""
        kept = self.__dict__.get("_sizes")  # asked for again and again
        if kept is None or kept[0] is not domain:
            kept = (domain, self._count(domain))
            object.__setattr__(self, "_sizes", kept)
        return kept[1]

    def _count(self, domain: Domain) -> tuple[int, ...]:
        out = []
        for name, cuts in zip(self.names, self.cuts, strict=True):
            column = domain[name]
            if isinstance(column, Category):
                if cuts or len(column.categories) >= MAX_CODES:
                    raise ParameterError(f"{name!r} is a Category: it has no cuts.")
                out.append(len(column.categories) + 1)
            else:
                out.append(len(cuts) + 1 + domain.number(name).missing)
        return tuple(out)

    def place(self, batch: Batch, domain: Domain) -> kernels.Codes:
        """The codes of each row: a line for each row, a column for each name."""
        if isinstance(batch, Chosen) and isinstance(batch.whole, WithCache):
            codes = self.place(batch.whole, domain)  # once for all parts of a batch
            return remember(batch, "codes", (self,), lambda: codes[batch.rows])
        every = range(len(self.names))
        return remember(
            batch, "codes", (self,), lambda: self.some(batch, domain, every)
        )

    def some(
        self, batch: Batch, domain: Domain, wanted: Iterable[int]
    ) -> kernels.Codes:
        """Codes of the wanted columns; the others hold zeros."""
        sizes, which = self.sizes(domain), list(wanted)
        short = np.uint8 if max(sizes) <= 1 << 8 else np.uint16
        rows = len(batch[self.names[0]])
        out = np.zeros((rows, len(sizes)), dtype=short)
        columns = [domain[self.names[j]] for j in which]
        cuts = [np.array(self.cuts[j], dtype=np.float64) for j in which]
        absent = [self._absent(domain, j) for j in which]
        # Some rows at a time: a whole column of a wide array is slow to write.
        for start in range(0, rows, kernels.SHORT):
            part = slice(start, start + kernels.SHORT)
            for j, column, own, none in zip(which, columns, cuts, absent, strict=True):
                values = batch[self.names[j]][part]
                if isinstance(column, Category):
                    inside = (values >= 0) & (values < none)
                    out[part, j] = np.where(inside, values, none)
                else:
                    kernels.place(values, own, none, out[part, j])
        return out

    def row_code(self, j: int, row: Row, domain: Domain) -> Value:
        """Return the code of a row in a column."""
        name, none = self.names[j], float(self._absent(domain, j))
        if isinstance(domain[name], Category):
            return within(row.code(name), none, none)
        value = row.number(name)
        return choose(missing(value), none, rank(self.cuts[j], value))

    def _absent(self, domain: Domain, j: int) -> int:
        """The code of a value that is not there."""
        column, cuts = domain[self.names[j]], self.cuts[j]
        if isinstance(column, Category):
            return len(column.categories)
        number = domain.number(self.names[j])
        return len(cuts) + 1 if number.missing else bisect_left(cuts, number.centre)


class Arrays(NamedTuple):
    """A tree's nodes as arrays: column, first child, and the child of each code."""

    depth: int
    base: int  # the first node of the last level
    features: Ints
    firsts: Ints
    routes: kernels.Codes


@dataclass(frozen=True)
class Tree:
    """Splits, level by level, and what each leaf adds to the scores.

    ``features[i]`` is the column (its place in the grid) that inner node i looks at,
    ``routes[i]`` the child, from 0, for each code of that column. All nodes of a level
    are split or none. ``values`` holds for each leaf one number for each score; it is
    empty while the tree grows.
    """

    features: tuple[int, ...] = ()
    routes: tuple[tuple[int, ...], ...] = ()
    values: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        kinds = {type(self.features), type(self.routes), type(self.values)}
        if kinds != {tuple}:
            raise ParameterError("a Tree is made of lists.")
        if len(self.features) != len(self.routes) or self.room > MAX_ROUTES:
            raise ParameterError("each inner node of a Tree needs a column and routes.")
        # Most nodes share their routes: each is looked at once.
        good = (
            set(map(type, self.features)) <= {int}
            and min(self.features, default=0) >= 0
        )
        if not good or not all(self._children.values()):
            raise ParameterError("the nodes of a Tree are whole numbers.")
        leaves = self.leaves  # also checks the levels
        if self.values and (
            len(self.values) != leaves
            or not all(map(_is_vector, self.values))
            or len(set(map(len, self.values))) > 1
        ):
            raise ParameterError("each leaf of a Tree needs its numbers.")

    @cached_property
    def _children(self) -> dict[int, int]:
        """How many children each route leads to; trees share routes."""
        return {id(r): _children(r) for r in _different(self.routes)}

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many nodes each level has; the last one holds the leaves."""
        sizes, done, total = [1], 0, 1
        while done < len(self.routes):
            level = self.routes[done : done + sizes[-1]]
            if len(level) < sizes[-1]:
                raise ParameterError("a level of a Tree is split wholly or not at all.")
            done += len(level)
            sizes.append(sum(map(self._children.__getitem__, map(id, level))))
            total += sizes[-1]
            if total > MAX_NODES or len(sizes) > MAX_DEPTH:
                raise ParameterError("a Tree has too many nodes.")
        return tuple(sizes)

    @property
    def room(self) -> int:
        """How many numbers the routes of all nodes take."""
        if not set(map(type, self.routes)) <= {tuple}:
            raise ParameterError("the nodes of a Tree are whole numbers.")
        return len(self.routes) * max(map(len, self.routes), default=1)

    @cached_property
    def leaves(self) -> int:
        """How many leaves there are."""
        return self.levels[-1]

    @cached_property
    def arrays(self) -> Arrays:
        """The nodes as arrays, for the loops."""
        widest = max(map(len, self.routes), default=1)
        narrow = np.uint8 if widest <= 1 << 8 else np.uint16
        codes = {id(route): _codes(route) for route in _different(self.routes)}
        routes = np.zeros((len(self.routes), widest), dtype=narrow)
        for line, route in zip(routes, self.routes, strict=True):
            line[: len(route)] = codes[id(route)]
        many = map(self._children.__getitem__, map(id, self.routes))
        children = np.array(list(many), dtype=np.int64)
        firsts = 1 + np.cumsum(children) - children
        features = np.array(self.features, dtype=np.int64)
        base = sum(self.levels[:-1])
        return Arrays(len(self.levels) - 1, base, features, firsts, routes)

    @cached_property
    def table(self) -> Floats:
        """The values of the leaves, a line for each score."""
        return np.ascontiguousarray(np.array(self.values, dtype=np.float64).T)

    def check(self, domain: Domain) -> None:
        """A tree by itself fits every domain; its grid decides (``check_on``)."""

    def check_on(self, grid: Grid, domain: Domain) -> None:
        """Refuse a tree that does not fit the codes of a grid."""
        checked = self.__dict__.get("_checked")  # asked for again and again
        if checked is not None and checked[0] is grid and checked[1] is domain:
            return
        sizes = grid.sizes(domain)
        for feature, route in set(zip(self.features, self.routes, strict=True)):
            if feature >= len(sizes) or len(route) != sizes[feature]:
                raise ParameterError("a Tree needs a route for every code.")
        object.__setattr__(self, "_checked", (grid, domain))

    @cached_property
    def firsts(self) -> Ints:
        """For each parent of leaves its first child, from 0 in their level."""
        level = self.arrays.firsts[sum(self.levels[:-2]) :]
        return level - self.arrays.base

    def leaf(self, batch: Batch, grid: Grid, domain: Domain) -> NDArray[np.int32]:
        """The leaf of each row."""
        key = (grid, self.features, self.routes)

        def reach() -> NDArray[np.int32]:
            codes, begin = grid.place(batch, domain), sum(self.levels[:-2])
            above = (grid, self.features[:begin], self.routes[:begin])
            return self.walk(codes, recall(batch, "leaf", above) if begin else None)

        return remember(batch, "leaf", key, reach)

    def walk(
        self, codes: kernels.Codes, above: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """The leaf of each row of codes, from its node one level above if known."""
        depth, base, *arrays = self.arrays
        node = np.zeros(len(codes), dtype=np.int32)
        if above is not None:
            node, depth = above + np.int32(sum(self.levels[:-2])), 1
        node = kernels.walk(codes, node, depth, *arrays)
        node -= np.int32(base)
        return node


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf of a tree that a row falls in; a row without a target is in none."""

    grid: Grid
    tree: Tree
    target: str

    def check(self, domain: Domain) -> None:
        if self.target in self.grid.names:
            raise ParameterError(
                f"{self.target!r} is the target: it is not in the grid."
            )
        check_target(self.target, domain)
        self.tree.check_on(self.grid, domain)

    def count(self, domain: Domain) -> int:
        return self.tree.leaves

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        leaf = self.tree.leaf(batch, self.grid, domain)
        return np.where(known(batch[self.target]), leaf, -1)

    def columns(self) -> tuple[str, ...]:
        return (*self.grid.names, self.target)

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


def check_target(name: str, domain: Domain) -> None:
    """Refuse a target that is neither a Category nor a Number."""
    if not isinstance(domain[name], Category):
        domain.number(name)


def known(target: Floats | Ints) -> NDArray[np.bool_]:
    """Which rows have a target."""
    out: NDArray[np.bool_]
    out = target >= 0 if target.dtype.kind == "i" else np.isfinite(target)
    return out


def _different(routes: tuple[Any, ...]) -> Iterable[Any]:
    """Each of them once, by identity: what is equal may still be of another type."""
    return {id(route): route for route in routes}.values()


def _count_children(route: object) -> int:
    """How many children a route leads to; 0 if it is none."""
    if not isinstance(route, tuple) or not 1 <= len(route) <= MAX_CODES:
        return 0
    if set(map(type, route)) != {int} or min(route) < 0:
        return 0
    # Every child is reached by some code: there are no children without a meaning.
    many = max(route) + 1
    return many if len(set(route)) == many else 0


# Trees share their routes: each is looked at once for all of them.
_known_children = MadeOnce(_count_children, 1 << 10)
_known_codes = MadeOnce(np.array, 1 << 10)


def _children(route: object) -> int:
    """The same, remembered for routes that take little memory."""
    if isinstance(route, tuple) and len(route) <= 1 << 8:
        return _known_children(route)
    return _count_children(route)


def _codes(route: tuple[int, ...]) -> Ints:
    """A route as an array."""
    return _known_codes(route) if len(route) <= 1 << 8 else np.array(route)


def _is_vector(values: object) -> bool:
    return (
        isinstance(values, tuple)
        and 1 <= len(values) <= 1 << 12
        and set(map(type, values)) <= {int, float}
        and all(map((1e12).__ge__, map(abs, values)))  # and none is NaN
    )
