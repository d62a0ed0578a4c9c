"""Brute force over all small neighbouring tables: the judge of every privacy claim.

A table is a tuple of rows, a row a tuple of hostile values. ``movement`` folds every
small table and returns how far neighbours really move an answer; ``check_sum`` compares
that with what the question declares. ``check_choice`` computes the exact law of a
choice on all neighbouring tables. All of them raise ``AssertionError`` on a claim that
is not true, so a test can plant a bug and see it caught.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreto.kernel import clamp
from discreto.kernel.domain import Category, Domain, Number
from discreto.kernel.query import Batch, Choice, Floats, Ints, Shape, Sum

NAN, INF = math.nan, math.inf
X, Y, Z = Number(-2, 6), Number(0, 1), Number(100, 101)
COLUMNS = {
    "x": X,
    "y": Y,
    "z": Z,
    "c": Category(("u", "v")),
    "d": Category(("p", "q"), missing=True),
}
ADD = Domain(COLUMNS)
REPLACE = Domain(COLUMNS, neighbours="replace", rows=3)
TWICE = Domain(COLUMNS, person="c", rows_per_person=2)

# Bounds, middle, origin, outside, missing, infinite; codes of no category.
HOSTILE = {
    "x": (-2.0, 6.0, 2.0, 0.0, 1e200, NAN, -INF),
    "y": (0.0, 1.0, NAN, INF),
    "z": (100.0, 101.0, -5.0, NAN),
    "c": (0, 1, -1),
    "d": (0, 1, -1),
}

Table = tuple[tuple[float, ...], ...]
Fold = Callable[[Sum, Batch, int, Domain], list[Ints]]


@dataclass(frozen=True, slots=True)
class Raw:
    """Columns as they come, in grid steps: the clamp alone keeps the promises."""

    names: tuple[str, ...]
    limit: int
    total: int = 0
    square: int = 0
    signed: bool = True

    def shape(self, domain: Domain) -> Shape:
        return Shape(
            len(self.names), self.limit, self.total, self.square, signed=self.signed
        )

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        return np.array([batch[name] for name in self.names], dtype=np.float64)

    def columns(self) -> tuple[str, ...]:
        return self.names


def universe(names: Sequence[str]) -> list[tuple[float, ...]]:
    """Every row of hostile values of these columns."""
    return list(itertools.product(*(HOSTILE[name] for name in names)))


def to_batch(table: Table, names: Sequence[str]) -> Batch:
    """A table as the arrays that a fold gets."""
    kinds = {name: np.int64 if name in "cd" else np.float64 for name in names}
    return {
        name: np.array([row[i] for row in table], dtype=kinds[name])
        for i, name in enumerate(names)
    }


def tables(names: Sequence[str], largest: int, limit: int = 3000) -> list[Table]:
    """All tables of at most ``largest`` rows, fewer if there would be too many."""
    rows = universe(names)
    while largest > 1 and math.comb(len(rows) + largest - 1, largest) > limit:
        largest -= 1
    return [
        table
        for size in range(largest + 1)
        for table in itertools.combinations_with_replacement(rows, size)
    ]


def neighbours(all_tables: list[Table], domain: Domain) -> Iterator[tuple[int, list[int]]]:
    """For each small table, the numbers of its neighbours (with more rows, or as many)."""
    number = {_key(table): i for i, table in enumerate(all_tables)}
    rows = [table[0] for table in all_tables if len(table) == 1]
    more = domain.rows_per_person
    replace = domain.neighbours == "replace"
    for i, table in enumerate(all_tables):
        if replace:
            near = {
                number[_key((*table[:j], row, *table[j + 1 :]))]
                for j in range(len(table))
                for row in rows
            }
        else:
            near = {
                number[key]
                for extra in range(1, more + 1)
                for new in itertools.combinations_with_replacement(rows, extra)
                if (key := _key((*table, *new))) in number
            }
        yield i, sorted(near)


def _key(table: Table) -> tuple[tuple[str, ...], ...]:
    # NaN is not equal to itself, so rows are compared as they print.
    return tuple(sorted(tuple(map(repr, row)) for row in table))


@dataclass(frozen=True)
class Moved:
    """The furthest that neighbours moved a block, in the l1 norm and l2 squared."""

    l1: int
    l2: int


def folded(
    query: Sum, domain: Domain, largest: int, fold: Fold
) -> tuple[list[Table], list[Ints]]:
    """All small tables, and for each block one line of exact sums per table."""
    names = query.columns() or ("c",)
    every = tables(names, largest)
    answers = [
        fold(query, to_batch(table, names), len(table), domain) for table in every
    ]
    blocks = range(len(query.blocks))
    return every, [np.array([answer[b].ravel() for answer in answers]) for b in blocks]


def movement(
    query: Sum, domain: Domain, *, largest: int = 3, fold: Fold | None = None
) -> list[Moved]:
    """How far neighbours really move each block of a question."""
    every, sums = folded(query, domain, largest, fold or clamp.fold)
    worst = [[0, 0] for _ in sums]
    for i, near in neighbours(every, domain):
        for block, table in enumerate(sums):
            if near:
                gap = np.abs(table[near].astype(object) - table[i].astype(object))
                worst[block][0] = max(worst[block][0], gap.sum(axis=1).max())
                worst[block][1] = max(worst[block][1], (gap * gap).sum(axis=1).max())
    return [Moved(*pair) for pair in worst]


def check_sum(query: Sum, domain: Domain, **options) -> list[Moved]:
    """No neighbours move a block further than it declares."""
    moved = movement(query, domain, **options)
    cells = query.cells.count(domain)
    for block, real in zip(query.blocks, moved, strict=True):
        told = block.sensitivity(domain, cells)
        assert real.l1 <= told, f"moved {real.l1} in l1, declared {told}"
        told = block.square_sensitivity(domain)
        assert real.l2 <= told, f"moved {real.l2} in squared l2, declared {told}"
    return moved


# Choices


def counts_of(cells: int, rows: int) -> list[tuple[int, ...]]:
    """Every table of at most ``rows`` rows, as its cell counts."""
    return [
        counts
        for counts in itertools.product(range(rows + 1), repeat=cells)
        if sum(counts) <= rows
    ]


def near_counts(
    counts: tuple[int, ...], relation: str, more: int = 1
) -> Iterator[tuple[int, ...]]:
    """The neighbours of cell counts: a person added, or one row replaced.

    A row may lie in no cell, so replacing includes adding and removing.
    """
    for cell in range(len(counts)):
        added = [*counts]
        added[cell] += 1
        yield tuple(added)
        if relation == "add-remove" and more > 1:
            yield from near_counts(tuple(added), relation, more - 1)
        if relation == "replace":
            for other in range(len(counts)):
                if added[other] and other != cell:
                    replaced = [*added]
                    replaced[other] -= 1
                    yield tuple(replaced)


def permute_and_flip(scores: Sequence[int], ratio: Fraction) -> list[Fraction]:
    """The exact law of a noisy maximum with exp(-1 / scale) = ``ratio``."""
    best, count = max(scores), len(scores)
    chances = [Fraction(0)] * count
    for order in itertools.permutations(range(count)):
        left = Fraction(1)
        for i in order:
            heads = ratio ** int(best - scores[i])
            chances[i] += left * heads
            left *= 1 - heads
    return [chance / math.factorial(count) for chance in chances]


def choice_loss(
    choice: Choice, domain: Domain, cells: int, rows: int, ratio: Fraction
) -> Fraction:
    """The largest likelihood ratio of a choice over all neighbouring tables.

    ``ratio`` is exp(-epsilon / width), so the choice is private if the result is at
    most ratio^-width. Groups are drawn apart, so their ratios multiply.
    """
    laws: dict[tuple[int, ...], list[list[Fraction]]] = {}

    def law(counts: tuple[int, ...]) -> list[list[Fraction]]:
        if counts not in laws:
            sums = np.array(counts, dtype=np.int64)[:, None]
            groups = choice.score.scores(sums, domain)
            laws[counts] = [permute_and_flip(g.tolist(), ratio) for g in groups]
        return laws[counts]

    worst = Fraction(0)
    more = domain.rows_per_person
    for counts in counts_of(cells, rows):
        for other in near_counts(counts, domain.neighbours, more):
            pairs = list(zip(law(counts), law(other), strict=True))
            for swap in (False, True):
                loss = Fraction(1)
                for one, two in pairs:
                    one, two = (two, one) if swap else (one, two)
                    loss *= max(a / b for a, b in zip(one, two, strict=True))
                worst = max(worst, loss)
    return worst


def check_choice(
    choice: Choice, domain: Domain, *, rows: int = 3, ratio: Fraction = Fraction(2, 3)
) -> Fraction:
    """A choice with noise of ``width / epsilon`` loses no more than epsilon."""
    cells = choice.tally.cells.count(domain)
    loss = choice_loss(choice, domain, cells, rows, ratio)
    told = choice.width(domain)
    assert loss <= ratio**-told, f"loses {float(loss)}, width {told} covers less"
    return loss
