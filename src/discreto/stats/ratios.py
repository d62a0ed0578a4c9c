"""Shares, ratios and weighted means: quotients of noisy sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreto.core.domain.domain import Number
from discreto.core.expressions import (
    Arithmetic,
    Col,
    Const,
    Expression,
    Named,
    WithColumns,
)
from discreto.core.gate import Noise
from discreto.core.maps import Categories, Ones, Values
from discreto.core.maps.features import grid
from discreto.core.query import Block, Sum
from discreto.errors import DomainError
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._base import (
    by_text,
    complete_in,
    group_keys,
    grouped,
    parted,
    spread,
    used_note,
)
from discreto.stats._docstrings import documented_statistic
from discreto.stats._from_zero import (
    COUNT_SHARE,
    counting_block,
    from_zero,
    noisier,
    sums_of,
)
from discreto.stats._intervals import STEP, Floats, ends_of, ratio_intervals

MADE = "(asked)"  # the name of a column that lives inside of one question


def truths_of(ask: Ask, condition: Expression) -> Ask:
    """Return a session about a view in which a condition is the column ``MADE``."""
    ask = ask.seen(WithColumns((Named(MADE, condition),)))
    column = ask.domain[MADE]
    if getattr(column, "categories", None) != (False, True):
        raise DomainError(f"{condition} is neither true nor false.")
    return ask


@documented_statistic
@dataclass(frozen=True)
class Proportion:
    """The share of rows for which a condition is true, of those where it is known.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts for each group: of rows where it is false, true, and unknown.
    Bound        1: a row is in one of the counts.

    >>> from discreto import Domain, col, plan
    >>> high = Proportion((col("x0") > 0).node)
    >>> found = plan.statistics(Domain.cube(1), high, epsilon=1)
    >>> [ask.sensitivity for ask in found]
    [(1,)]
    """

    condition: Expression
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"share of {self.condition}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        ask = truths_of(ask, self.condition)
        cells = grouped(self.by, Categories((MADE,)), ask.domain)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        noise, keys = answer.noises[0], group_keys(self.by, ask.domain)
        sums = answer.tables[0][:, 0].reshape(max(len(keys), 1), -1).astype(float)
        parts = ratio_intervals(sums[:, [1, 0]], noise)
        values, lows, highs = ((1 + parts) / 2).T
        note = used_note(sums, noise, (slice(None), slice(2)))
        return spread(self.label, values, lows, highs, keys, note=note)


@documented_statistic
@dataclass(frozen=True)
class RatioOfSums:
    """The sum of one column divided by the sum of another.

    Parameters
    ----------
    numerator, denominator
        Names of Number columns; no value of the denominator may be negative. Rows in
        which either is missing are left out.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         two sums, of values clipped to their bounds. If values may be missing,
                 rows with values are counted, too: at no cost if a bound is 0 (by the
                 sum of what each value is short of the other bound), else for 1/20 of
                 the cost.
    Bound        2: each is at most its larger bound, which is one (2^30 grid steps).

    >>> from discreto import Domain, Number, plan
    >>> cost, days = Number(0, 500, missing=False), Number(0, 30, missing=False)
    >>> domain = Domain({"cost": cost, "days": days})
    >>> found = plan.statistics(domain, RatioOfSums("cost", "days"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [2.0]
    """

    numerator: str
    denominator: str

    @property
    def label(self) -> str:
        return f"ratio of {self.numerator} to {self.denominator}"

    def learn(self, ask: Ask) -> Release:
        domain, names = ask.domain, (self.numerator, self.denominator)
        above, below = domain.number(names[0]), domain.number(names[1])
        if below.lower < 0:
            raise DomainError(
                f"{self.denominator!r} may be negative: ratios need >= 0."
            )
        halves = [grid(column, "zero")[1] for column in (above, below)]
        sums, noise, step, about = self._sums(ask, above, below)
        scale = halves[0] / halves[1]

        def quotient(sums: Floats) -> Floats:
            return (
                scale * sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan)
            )

        most = max(abs(above.lower), abs(above.upper)) / max(below.lower, 1e-9)
        low, high = ends_of(sums, quotient, noise, step, sums[1], -most, most)
        value = float(quotient(sums)) if sums[1] > 0 else low
        return Release(self.label, min(max(value, low), high), low, high, note=about)

    def _sums(
        self, ask: Ask, above: Number, below: Number
    ) -> tuple[Floats, Noise, float, str]:
        """Return the two sums, their noise and its step, and a remark on gaps."""
        names, columns = (self.numerator, self.denominator), (above, below)
        cells, gaps = complete_in(names, ask.domain)
        if not gaps or not any(map(from_zero, columns)):
            share = 1 - COUNT_SHARE if gaps else Fraction(1)
            blocks: tuple[Block, ...] = (
                Block(Values(names, origin="zero"), share=share),
            )
            if gaps:
                blocks += (Block(Ones(), share=COUNT_SHARE),)
            answer = ask.measure(Sum(cells, blocks), self.label)
            about = ""
            if gaps:
                _, about = parted(answer.tables[1], answer.noises[1], gaps=True)
            return answer.tables[0][0] / STEP, answer.noises[0], 1 / STEP, about
        # Half of the cost for each sum is the same noise as the whole for both.
        half = Fraction(1, 2)
        pairs = zip(names, columns, strict=True)
        blocks = tuple(counting_block(name, column, half) for name, column in pairs)
        answer = ask.measure(Sum(cells, blocks), self.label)
        one, two = (sums_of(answer, i, column) for i, column in enumerate(columns))
        counts = int(not from_zero(above))  # the block whose sums count the rows
        _, about = parted(answer.tables[counts], answer.noises[counts], gaps=True)
        sums = np.array([one[0][0], two[0][0]])
        noises = zip(answer.noises, (one[1], two[1]), strict=True)
        return sums, *noisier(*noises), about


@documented_statistic
@dataclass(frozen=True)
class WeightedMean:
    """The mean of a column in which every row counts by its weight.

    Parameters
    ----------
    weights
        The name of a Number column that is never negative.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         two sums: of weight times value, and of weights.
    Bound        2: each is at most its larger bound, which is one (2^30 grid steps).

    >>> from discreto import Domain, Number, plan
    >>> age, weight = Number(0, 120, missing=False), Number(0, 10, missing=False)
    >>> domain = Domain({"age": age, "w": weight})
    >>> found = plan.statistics(domain, WeightedMean("age", "w"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [2.0]
    """

    column: str
    weights: str

    @property
    def label(self) -> str:
        return f"mean of {self.column}, weighted by {self.weights}"

    def learn(self, ask: Ask) -> Release:
        column = ask.domain.number(self.column)
        # Around the middle of the range the products are as small as can be.
        centred = Arithmetic("-", Col(self.column), Const(column.centre))
        product = Arithmetic("*", centred, Col(self.weights))
        ask = ask.seen(WithColumns((Named(MADE, product),)))
        found = RatioOfSums(MADE, self.weights).learn(ask)
        ends = [found.value, found.low, found.high]
        ends = [float(np.clip(e, -column.half, column.half)) for e in ends]
        value, low, high = [column.centre + end for end in ends]
        return Release(self.label, value, low, high, (), column.unit, found.note)
