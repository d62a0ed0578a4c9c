"""Scores made of counts, whose sensitivity is computed and never declared.

An expression is built from counts of cells by few operations: sums with public whole
factors, the larger of two, a change of sign, a public shift. Each knows how far one row
can move it, from how far a row can move its parts. ``docs/proofs/sensitivity.md``
(Choices) has the rules; tests compare them with all small tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreto.core.domain.domain import Domain, Neighbours
from discreto.core.query import Block, Ints, Ones, Sum


@dataclass(frozen=True, slots=True)
class Moved:
    """Bounds on how far one row moves any number of an expression.

    A row that is added moves it by ``least`` to ``most``; one that is put in the place
    of another of the same group by at most ``replaced``, either way.
    """

    least: int
    most: int
    replaced: int


class CountExpression(Protocol):
    """A table (groups x candidates) of whole numbers, from the counts of all cells."""

    def values(self, counts: Ints) -> Ints: ...
    def moved(self) -> Moved: ...


@dataclass(frozen=True, slots=True)
class Weighed:
    """Counts with a public factor for cells before, at and after each candidate.

    There is one factor of each kind for every group.
    """

    before: tuple[int, ...]
    at: tuple[int, ...]
    after: tuple[int, ...]

    def values(self, counts: Ints) -> Ints:
        before, at, after = (
            np.array(factors, dtype=np.int64)[:, None]
            for factors in (self.before, self.at, self.after)
        )
        reached = np.cumsum(counts, axis=1)
        rest = reached[:, -1:] - reached
        return before * (reached - counts) + at * counts + after * rest

    def moved(self) -> Moved:
        # A row is in one cell, so it counts with one factor of its group.
        groups = list(zip(self.before, self.at, self.after, strict=True))
        return Moved(
            min(map(min, groups)),
            max(map(max, groups)),
            max(max(factors) - min(factors) for factors in groups),
        )


@dataclass(frozen=True, slots=True)
class Larger:
    """The largest of several expressions, or of them and 0."""

    of: tuple[CountExpression, ...]
    zero: bool = False

    def values(self, counts: Ints) -> Ints:
        found = [one.values(counts) for one in self.of]
        out = found[0]
        for more in found[1:]:
            out = np.maximum(out, more)
        return np.maximum(out, 0) if self.zero else out

    def moved(self) -> Moved:
        # The largest moves by no more than the one that moves furthest.
        parts = [one.moved() for one in self.of]
        parts += [Moved(0, 0, 0)] if self.zero else []
        return Moved(
            min(part.least for part in parts),
            max(part.most for part in parts),
            max(part.replaced for part in parts),
        )


@dataclass(frozen=True, slots=True)
class Negative:
    """An expression with the other sign."""

    of: CountExpression

    def values(self, counts: Ints) -> Ints:
        return -self.of.values(counts)

    def moved(self) -> Moved:
        part = self.of.moved()
        return Moved(-part.most, -part.least, part.replaced)


@dataclass(frozen=True, slots=True)
class Shifted:
    """An expression plus a constant, and less ``step`` for each place off the middle.

    Both are public and the same for all tables, so they move nothing.
    """

    of: CountExpression
    by: int = 0
    step: int = 0

    def values(self, counts: Ints) -> Ints:
        found = self.of.values(counts) + self.by
        places = np.arange(found.shape[1])
        return found - self.step * np.abs(places - found.shape[1] // 2)

    def moved(self) -> Moved:
        return self.of.moved()


class CountScore:
    """A score of choices that is an expression of the counts of cells.

    A subclass says ``expression``; its sensitivity follows.
    """

    __slots__ = ()

    def expression(self) -> CountExpression:
        """Return the score as an expression."""
        raise NotImplementedError

    def groups(self) -> int:
        """Return into how many groups the cells divide."""
        return 1

    def check(self, domain: Domain) -> None:
        """Accept every domain: the score is about counts."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Accept every tally: whether its cells divide is seen when it is bound."""

    def fits(self, tally: object) -> bool:
        """Return True if ``tally`` counts rows by cell, and nothing else."""
        return isinstance(tally, Sum) and tally.blocks == (Block(Ones()),)

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        """Return the score of each candidate of each group."""
        return self.expression().values(sums[:, 0].reshape(self.groups(), -1))

    @property
    def monotone(self) -> bool:
        """Whether one more row lowers no score."""
        return self.expression().moved().least >= 0

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return how far one row moves any score."""
        moved = self.expression().moved()
        if neighbours == "replace":
            return moved.replaced
        return max(moved.most, -moved.least)
