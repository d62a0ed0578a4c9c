"""Scores for choices: expressions of exact cell counts, whose sensitivity is computed.

Each is also checked by brute force over all small tables in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from discreto.core.domain.domain import Domain
from discreto.core.lipschitz import Larger, Negative, Shifted, Weighed
from discreto.core.query import CountExpression, CountScore
from discreto.core.validation import Length, Range
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

    parts: Annotated[tuple[int, ...], Length(1, 1 << 22), Range(0, 10**6)]
    whole: Annotated[int, Range(1, 10**6)]

    def check(self, domain: Domain) -> None:
        """Refuse probabilities above 1."""
        if max(self.parts) > self.whole:
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
    step: Annotated[int, Range(0, 1 << 30)]

    def expression(self) -> CountExpression:
        return Shifted(self.ranks.expression(), step=self.step)

    def groups(self) -> int:
        return self.ranks.groups()


@dataclass(frozen=True, slots=True)
class Extreme(CountScore):
    """The cell of the row that is number ``depth`` from the outside."""

    side: Literal["low", "high"]
    depth: Annotated[int, Range(1, 1 << 40)]

    def expression(self) -> CountExpression:
        reached, further = (1, 0) if self.side == "low" else (0, 1)
        too_few = Shifted(Weighed((-reached,), (-1,), (-further,)), self.depth)
        too_many = Shifted(Weighed((reached,), (0,), (further,)), 1 - self.depth)
        return Negative(Larger((too_few, too_many), zero=True))
