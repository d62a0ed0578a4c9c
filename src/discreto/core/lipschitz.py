"""Scores made of counts, whose sensitivity is computed and never declared.

An expression is built from counts of cells by few operations: sums with public whole
factors, the larger of two, a change of sign, a public shift. Each knows how far one row
can move it, from how far a row can move its parts. ``docs/proofs/sensitivity.md``
(Choices) has the rules; tests compare them with all small tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.core.query import CountExpression, Ints, Moved


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
