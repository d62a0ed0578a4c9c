"""Brute force over all small neighbouring tables: the judge of every privacy claim.

A row is a tuple of hostile values, a table a few of them. ``movement`` folds every
small table and returns how far neighbours really move an answer; ``check_sum`` compares
that with what the question declares. ``check_choice`` computes the exact law of a
choice on all neighbouring tables. All of them raise ``AssertionError`` on a claim that
is not true, so a test can plant a bug and see it caught.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from discreto.core import aggregate
from discreto.core.domain.domain import Category, Domain, Number, Opaque
from discreto.core.query import Batch, Choice, Floats, Ints, Shape, Sum, inside

NAN, INF = math.nan, math.inf
X, Y, Z = (
    Number(-2, 6, missing=False),
    Number(0, 1, missing=False),
    Number(100, 101, missing=False),
)
COLUMNS = {
    "x": X,
    "y": Y,
    "z": Z,
    "c": Category(("u", "v"), missing=False),
    "d": Category(("p", "q"), missing=True),
    "n": Number(0, 2, integer=True),
}
ADD = Domain(COLUMNS)
REPLACE = Domain(COLUMNS, neighbours="replace", rows=3)
# The same where numbers may be missing.
LACKING = COLUMNS | {"x": replace(X, missing=True), "y": replace(Y, missing=True)}
GAPS = Domain(LACKING)
GAPS_REPLACE = Domain(LACKING, neighbours="replace", rows=3)
TWICE = Domain(COLUMNS | {"id": Opaque()}, person="id", rows_per_person=2)

# Bounds, middle, origin, outside, missing, infinite; codes of no category.
HOSTILE = {
    "x": (-2.0, 6.0, 0.0, 1e200, NAN, -INF),
    "y": (0.0, INF, NAN),
    "z": (100.0, 101.0, -5.0, INF),
    "c": (0, 1, -1),
    "d": (0, 1, -1),
    "n": (0.0, 2.0, 1e9, NAN),
}

Rows = tuple[int, ...]  # a table: the numbers of its rows in a universe, sorted
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


def to_batch(rows: Sequence[tuple[float, ...]], names: Sequence[str]) -> Batch:
    """Rows as the arrays that a fold gets."""
    return {
        name: np.array(
            [row[i] for row in rows], dtype=np.int64 if name in "cd" else np.float64
        )
        for i, name in enumerate(names)
    }


@cache
def tables(rows: int, largest: int) -> list[Rows]:
    """All tables of at most ``largest`` rows, fewer if there would be too many."""
    while largest > 2 and math.comb(rows + largest - 1, largest) > 4000:
        largest -= 1
    return [
        table
        for size in range(largest + 1)
        for table in itertools.combinations_with_replacement(range(rows), size)
    ]


@cache
def neighbours(rows: int, largest: int, relation: str, more: int) -> Ints:
    """All pairs of neighbouring small tables, as places in ``tables``."""
    every = tables(rows, largest)
    if relation == "replace":
        # Neighbours are all that have one rest when a row of either is left out.
        alike: dict[Rows, list[int]] = {}
        for i, table in enumerate(every):
            for rest in without(table, 1):
                alike.setdefault(rest, []).append(i)
        pairs = [
            pair for one in alike.values() for pair in itertools.combinations(one, 2)
        ]
    else:
        number = {table: i for i, table in enumerate(every)}
        pairs = [
            (number[rest], i)
            for i, table in enumerate(every)
            for fewer in range(1, more + 1)
            for rest in without(table, fewer)
        ]
    codes = np.unique([one * len(every) + two for one, two in pairs])
    return np.column_stack(np.divmod(codes, len(every)))


def without(table: Rows, fewer: int) -> set[Rows]:
    """What can be left of a table, in order, without so many rows."""
    left = len(table) - fewer
    return set(itertools.combinations(table, left)) if left >= 0 else set()


@dataclass(frozen=True)
class Moved:
    """The furthest that neighbours moved a block, in the l1 norm and l2 squared."""

    l1: int
    l2: int


def fold_rows(query: Sum, batch: Batch, length: int, domain: Domain) -> list[Ints]:
    """The exact sums of some rows."""
    return aggregate.fold(inside(query, domain), batch, length)


def movement(
    query: Sum, *domains: Domain, largest: int = 2, fold: Fold | None = None
) -> list[list[Moved]]:
    """How far neighbours really move each block, for each domain's neighbours."""
    names = query.columns() or ("c",)
    rows = universe(names)
    fold = fold or fold_rows
    answers = [aggregate.empty(inside(query, domains[0]))]
    for table in tables(len(rows), largest)[1:]:
        batch = to_batch([rows[i] for i in table], names)
        answers.append(fold(query, batch, len(table), domains[0]))
    sums = [
        np.array([answer[b].ravel() for answer in answers])
        for b in range(len(query.blocks))
    ]
    out = []
    for domain in domains:
        one, two = neighbours(
            len(rows), largest, domain.neighbours, domain.rows_per_person
        ).T
        out.append([_furthest(np.abs(table[one] - table[two])) for table in sums])
    return out


def _furthest(gaps: Ints) -> Moved:
    squares = (gaps.astype(np.float64) ** 2).sum(axis=1)
    # Squares can need more than 64 bits: the largest are done again, exactly.
    top = gaps[squares >= squares.max() * (1 - 1e-9)][:50].astype(object)
    return Moved(int(gaps.sum(axis=1).max()), int((top * top).sum(axis=1).max()))


def check_sum(query: Sum, *domains: Domain, **options) -> list[Moved]:
    """No neighbours move a block further than it declares; the last domain's moves."""
    for domain, moved in zip(
        domains, movement(query, *domains, **options), strict=True
    ):
        cells = query.cells.count(domain)
        for block, real in zip(query.blocks, moved, strict=True):
            told = block.bind(domain, cells).sensitivity
            assert real.l1 <= told, f"moved {real.l1} in l1, declared {told}"
            told = block.bind(domain, 2).square
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


def check_tally(
    choice: Choice,
    domain: Domain,
    *,
    largest: int = 3,
    ratio: Fraction = Fraction(2, 3),
) -> Fraction:
    """As ``check_choice``, for tallies that are no sums: folds every small table."""
    names = choice.columns()
    rows = universe(names)
    laws = []
    for table in tables(len(rows), largest):
        batch = to_batch([rows[i] for i in table], names)
        (sums,) = aggregate.fold(inside(choice.tally, domain), batch, len(table))
        scores = choice.score.scores(sums, domain)
        laws.append([permute_and_flip(group.tolist(), ratio) for group in scores])
    worst = Fraction(0)
    more = domain.rows_per_person
    for i, j in neighbours(len(rows), largest, domain.neighbours, more).tolist():
        for one, two in ((laws[i], laws[j]), (laws[j], laws[i])):
            loss = math.prod(
                max(a / b for a, b in zip(p, q, strict=True))
                for p, q in zip(one, two, strict=True)
            )
            worst = max(worst, loss)
    told = choice.width(domain)
    assert worst <= ratio**-told, f"loses {float(worst)}, width {told} covers less"
    return worst
