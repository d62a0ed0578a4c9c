"""Scores for choices: expressions of exact cell counts, whose sensitivity is computed.

Each is also checked by brute force over all small tables in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreto.core.lipschitz import (
    CountExpression,
    CountScore,
    Larger,
    Negative,
    Shifted,
    Weighed,
)
from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Largest(CountScore):
    """The fullest cell: the score of a cell is its count."""

    def expression(self) -> CountExpression:
        return Weighed((0,), (1,), (0,))


@dataclass(frozen=True, slots=True)
class Ranks(CountScore):
    """The cell that holds a given quantile of its group.

    ``parts / whole`` is the wanted probability, one for each group; the cells of the
    tally are groups x candidates. The score of a candidate is minus the number of rows
    by which it misses the quantile, times ``whole``; a candidate whose ties contain
    the quantile misses by 0.
    """

    parts: tuple[int, ...]
    whole: int

    def __post_init__(self) -> None:
        numbers = (self.whole, *self.parts) if isinstance(self.parts, tuple) else (0,)
        if not all(isinstance(n, int) for n in numbers) or not self.parts:
            raise ParameterError("Ranks takes whole numbers.")
        if not 1 <= self.whole <= 10**6 or not all(
            0 <= part <= self.whole for part in self.parts
        ):
            raise ParameterError("a quantile needs a probability from 0 to 1.")

    def expression(self) -> CountExpression:
        # Rows that are wanted at or below, less those that are; and the other way.
        low = tuple(part - self.whole for part in self.parts)
        over = tuple(self.whole - part for part in self.parts)
        short = tuple(-part for part in self.parts)
        too_few = Weighed(low, low, self.parts)
        too_many = Weighed(over, short, short)
        return Negative(Larger((too_few, too_many), zero=True))

    def groups(self) -> int:
        return len(self.parts)


@dataclass(frozen=True, slots=True)
class CentredRanks(CountScore):
    """Ranks in which each step away from the middle cell of a group costs ``step``.

    Where a group has few rows the middle is chosen, or a cell near it.
    """

    ranks: Ranks
    step: int

    def __post_init__(self) -> None:
        if not isinstance(self.ranks, Ranks):
            raise ParameterError("CentredRanks need Ranks.")
        if type(self.step) is not int or not 0 <= self.step <= 1 << 30:
            raise ParameterError("CentredRanks take a whole number for each step.")

    def expression(self) -> CountExpression:
        return Shifted(self.ranks.expression(), step=self.step)

    def groups(self) -> int:
        return self.ranks.groups()


@dataclass(frozen=True, slots=True)
class Extreme(CountScore):
    """The cell of the row that is number ``depth`` from the outside."""

    side: Literal["low", "high"]
    depth: int

    def __post_init__(self) -> None:
        if self.side not in ("low", "high"):
            raise ParameterError(f"side must be low or high, not {self.side!r}.")
        if not isinstance(self.depth, int) or not 1 <= self.depth <= 1 << 40:
            raise ParameterError("depth must be a whole number from 1 up.")

    def expression(self) -> CountExpression:
        reached, further = (1, 0) if self.side == "low" else (0, 1)
        too_few = Shifted(Weighed((-reached,), (-1,), (-further,)), self.depth)
        too_many = Shifted(Weighed((reached,), (0,), (further,)), 1 - self.depth)
        return Negative(Larger((too_few, too_many), zero=True))
