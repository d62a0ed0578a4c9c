"""Scores for choices: integers from exact cell counts, with a known sensitivity.

Each sensitivity is checked by brute force over all small tables in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreto.core.domain import Domain, Neighbours
from discreto.core.query import Block, Ints, Ones, Sum
from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Largest:
    """The fullest cell: the score of a cell is its count."""

    monotone = True

    def check(self, domain: Domain) -> None:
        """It fits every domain."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Whether its cells divide into groups is seen when a choice is bound."""

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        return sums[:, 0][None, :]

    def fits(self, tally: object) -> bool:
        return isinstance(tally, Sum) and tally.blocks == (Block(Ones()),)

    def groups(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Ranks:
    """The cell that holds a given quantile of its group.

    ``parts / whole`` is the wanted probability, one for each group; the cells of the
    tally are groups x candidates. The score of a candidate is minus the number of rows
    by which it misses the quantile, times ``whole``; a candidate whose ties contain
    the quantile misses by 0.
    """

    parts: tuple[int, ...]
    whole: int

    monotone = False

    def __post_init__(self) -> None:
        numbers = (self.whole, *self.parts) if isinstance(self.parts, tuple) else (0,)
        if not all(isinstance(n, int) for n in numbers) or not self.parts:
            raise ParameterError("Ranks takes whole numbers.")
        if not 1 <= self.whole <= 10**6 or not all(
            0 <= part <= self.whole for part in self.parts
        ):
            raise ParameterError("a quantile needs a probability from 0 to 1.")

    def check(self, domain: Domain) -> None:
        """It fits every domain."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Whether its cells divide into groups is seen when a choice is bound."""

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        counts = sums[:, 0].reshape(len(self.parts), -1)
        below_or_in = np.cumsum(counts, axis=1)
        below = below_or_in - counts
        rows = below_or_in[:, -1:]
        wanted = np.array(self.parts, dtype=np.int64)[:, None] * rows
        miss = np.maximum(
            wanted - self.whole * below_or_in, self.whole * below - wanted
        )
        return -np.maximum(miss, 0)

    def fits(self, tally: object) -> bool:
        return isinstance(tally, Sum) and tally.blocks == (Block(Ones()),)

    def groups(self) -> int:
        return len(self.parts)

    def sensitivity(self, neighbours: Neighbours) -> int:
        if neighbours == "replace":
            return self.whole
        return max(max(part, self.whole - part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class CentredRanks:
    """Ranks in which each step away from the middle cell of a group costs ``step``.

    Where a group has few rows the middle is chosen, or a cell near it. What is taken
    from a score is public and the same for all tables, so it moves no further than
    that of ``Ranks``.
    """

    ranks: Ranks
    step: int

    monotone = False

    def __post_init__(self) -> None:
        if not isinstance(self.ranks, Ranks):
            raise ParameterError("CentredRanks need Ranks.")
        if type(self.step) is not int or not 0 <= self.step <= 1 << 30:
            raise ParameterError("CentredRanks take a whole number for each step.")

    def check(self, domain: Domain) -> None:
        """It fits every domain."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Whether its cells divide into groups is seen when a choice is bound."""

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        scores = self.ranks.scores(sums, domain)
        places = np.arange(scores.shape[1])
        return scores - self.step * np.abs(places - scores.shape[1] // 2)

    def fits(self, tally: object) -> bool:
        return self.ranks.fits(tally)

    def groups(self) -> int:
        return self.ranks.groups()

    def sensitivity(self, neighbours: Neighbours) -> int:
        return self.ranks.sensitivity(neighbours)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The outermost cell with about ``depth`` rows at or beyond it."""

    side: Literal["low", "high"]
    depth: int

    monotone = False

    def __post_init__(self) -> None:
        if self.side not in ("low", "high"):
            raise ParameterError(f"side must be low or high, not {self.side!r}.")
        if not isinstance(self.depth, int) or not 1 <= self.depth <= 1 << 40:
            raise ParameterError("depth must be a whole number from 1 up.")

    def check(self, domain: Domain) -> None:
        """It fits every domain."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Whether its cells divide into groups is seen when a choice is bound."""

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        counts = sums[:, 0] if self.side == "low" else sums[::-1, 0]
        reached = np.cumsum(counts)
        before = reached - counts
        miss = np.maximum(np.maximum(self.depth - reached, before - self.depth), 0)
        scores = -miss if self.side == "low" else -miss[::-1]
        return scores[None, :]

    def fits(self, tally: object) -> bool:
        return isinstance(tally, Sum) and tally.blocks == (Block(Ones()),)

    def groups(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        return 1
