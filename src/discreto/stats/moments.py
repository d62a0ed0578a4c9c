"""Counts, sums, means, variances, covariances: noisy sums and what follows from them.

Means and spreads are measured in *Bernstein* form: instead of a count and a sum, which
need a share of the budget each, non-negative sums that add up to the count. One row
moves all of them together by one, so each gets the whole budget (half the variance for
a mean, a twentieth for a correlation).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreto.core.domain.dates import difference_unit
from discreto.core.domain.domain import Domain, Number
from discreto.core.maps import Bernstein, Everyone, Ones, Values
from discreto.core.maps.features import grid
from discreto.core.query import Block, Sum
from discreto.errors import ParameterError
from discreto.release.labels import HOLDS_NOTHING
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._base import (
    by_text,
    complete_in,
    gaps_note,
    group_keys,
    grouped,
    notes_of,
    parted,
    spread,
    wide_note,
)
from discreto.stats._docstrings import documented_statistic
from discreto.stats._from_zero import counting_blocks, sums_of
from discreto.stats._intervals import (
    STEP,
    Floats,
    combined_reach,
    ratio_intervals,
    reach,
    row_count,
    smooth,
)


@documented_statistic
@dataclass(frozen=True)
class Count:
    """How many rows there are, in all or in each group.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one count for each group.
    Bound        1: a row is in one group.

    >>> from discreto import Domain, Number, plan
    >>> domain = Domain({"age": Number(0, 120)})
    >>> [ask.sensitivity for ask in plan.statistics(domain, Count(), epsilon=1)]
    [(1,)]
    """

    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"count{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        if domain.neighbours == "replace" and not self.by:
            raise ParameterError(
                "the domain declares the number of rows public: it is domain.rows."
            )
        query = Sum(grouped(self.by, Everyone(), domain), (Block(Ones()),))
        answer = ask.measure(query, self.label)
        counts = answer.tables[0][:, 0]
        far = reach(answer.noises[0])
        lows = np.maximum(counts - far, 0)
        highs = np.maximum(counts + far, 0)
        keys = group_keys(self.by, domain)
        note = gaps_note(counts, lows, keys)
        return spread(self.label, counts, lows, highs, keys, note=note, counts=True)


@documented_statistic
@dataclass(frozen=True)
class Total:
    """The sum of a column; a missing value adds nothing.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one sum for each group, of values clipped to their bounds. If values
                 may be missing, rows with a value are counted, too: at no cost if a
                 bound is 0 (by the sum of what each value is short of the other
                 bound), else for 1/20 of the cost.
    Bound        the larger bound in absolute value, which is one (2^30 grid steps; 2^31
                 half steps where rows are counted at no cost: the same noise).

    >>> from discreto import Domain, Number, plan
    >>> domain = Domain({"age": Number(0, 120, missing=False)})
    >>> found = plan.statistics(domain, Total("age"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    """

    column: str
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"sum of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column = domain.number(self.column)
        if column.missing:
            return self._counted(ask, column)
        fixed = domain.neighbours == "replace" and not self.by
        origin: Literal["centre", "zero"] = "centre" if fixed else "zero"
        block = Block(Values((self.column,), origin=origin))
        answer = ask.measure(
            Sum(grouped(self.by, Everyone(), domain), (block,)), self.label
        )
        start, half = grid(column, origin)
        # With a public number of rows the middle of the range is known to all.
        known = start * (domain.rows or 0)
        totals = known + answer.tables[0][:, 0] * (half / STEP)
        far = combined_reach([half / STEP], answer.noises[0])
        ends = _possible(column, domain.rows if fixed else None)
        return self._release(totals, far, ends, domain)

    def _counted(self, ask: Ask, column: Number) -> Release:
        """Return the sum of a column with gaps, and say how many rows have a value."""
        inner, gaps = complete_in((self.column,), ask.domain)
        cells = grouped(self.by, inner, ask.domain)
        blocks = counting_blocks(self.column, column)
        answer = ask.measure(Sum(cells, blocks), self.label)
        _, about = parted(answer.tables[-1], answer.noises[-1], gaps=gaps)
        parts, step = sums_of(answer, 0, column)
        far_bound = grid(column, "zero")[1]
        far = combined_reach([far_bound * step], answer.noises[0])
        ends = _possible(column, None)
        return self._release(parts[0::2] * far_bound, far, ends, ask.domain, about)

    def _release(
        self,
        totals: Any,
        far: float,
        ends: tuple[float, float],
        domain: Domain,
        about: str = "",
    ) -> Release:
        column, keys = domain.number(self.column), group_keys(self.by, domain)
        lows, highs = np.clip(totals - far, *ends), np.clip(totals + far, *ends)
        values = np.clip(totals, *ends)
        note = notes_of(about, _nothing_note(lows, highs, column))
        return spread(self.label, values, lows, highs, keys, column.unit, note)


def _nothing_note(lows: Floats, highs: Floats, column: Number) -> str:
    """Return a remark if values have one sign and every sum may be that of no row."""
    if column.lower < 0 < column.upper:
        return ""
    return HOLDS_NOTHING if bool(np.all((lows <= 0) & (highs >= 0))) else ""


def _possible(column: Number, rows: int | None) -> tuple[float, float]:
    """Return the ends of possible sums, for so many rows or for any number of them."""
    if rows is not None:
        return rows * column.lower, rows * column.upper
    return (
        0.0 if column.lower >= 0 else -math.inf,
        0.0 if column.upper <= 0 else math.inf,
    )


@documented_statistic
@dataclass(frozen=True)
class Mean:
    """The mean of a column, over the rows in which it is present.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         two sums for each group: of 1 - x and of 1 + x, with x in [-1, 1].
    Bound        2: a row gives the two of them 2 together, however it is divided.

    >>> from discreto import Domain, Number, plan
    >>> domain = Domain({"age": Number(0, 120)})
    >>> found = plan.statistics(domain, Mean("age"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [2.0]
    """

    column: str
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"mean of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain, label = ask.domain, self.label
        column = domain.number(self.column)
        values = Values((self.column,))
        inner, gaps = complete_in((self.column,), domain)
        cells, about = grouped(self.by, inner, domain), ""
        keys = group_keys(self.by, domain)
        if domain.neighbours == "replace" and isinstance(cells, Everyone):
            answer = ask.measure(Sum(cells, (Block(values),)), label)
            rows = float(domain.rows or 1)
            value = answer.tables[0][0, 0] / STEP / rows
            far = combined_reach([1 / STEP / rows], answer.noises[0])
            parts = np.clip([[value, value - far, value + far]], -1, 1)
        else:
            answer = ask.measure(Sum(cells, (Block(values, "pair"),)), label)
            sums, about = parted(answer.tables[0], answer.noises[0], gaps=gaps)
            parts = ratio_intervals(sums, answer.noises[0])
        values_, lows, highs = (column.centre + column.half * parts).T
        note = notes_of(about, wide_note(lows, highs, column))
        return spread(label, values_, lows, highs, keys, column.unit, note)


@documented_statistic
@dataclass(frozen=True)
class Variance:
    """The variance (of all rows, divided by n) or standard deviation of a column.

    Parameters
    ----------
    root
        ``True`` for the standard deviation.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         three sums of Bernstein polynomials of degree 2 for each group.
    Bound        1: a row gives the three of its group 1 together.

    >>> from discreto import Domain, Number, plan
    >>> domain = Domain({"age": Number(0, 120)})
    >>> found = plan.statistics(domain, Variance("age"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    """

    column: str
    root: bool = False
    by: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        kind = "std" if self.root else "variance"
        return f"{kind} of {self.column}{by_text(self.by)}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        column = domain.number(self.column)
        inner, gaps = complete_in((self.column,), domain)
        block = Block(Bernstein((self.column,), 2))
        query = Sum(grouped(self.by, inner, domain), (block,))
        answer = ask.measure(query, self.label)
        sums, note = parted(answer.tables[0], answer.noises[0], gaps=gaps)
        found = [smooth(row, answer.noises[0], _variance, 0, 1) for row in sums]
        parts = np.array(found) * column.half**2
        values, lows, highs = (np.sqrt(parts) if self.root else parts).T
        unit = difference_unit(column.unit)
        unit = unit if self.root or not unit else f"{unit}²"
        keys = group_keys(self.by, domain)
        return spread(self.label, values, lows, highs, keys, unit, note)


def _variance(b: Floats) -> Floats:
    rows = row_count(b.sum(axis=-1))
    total, squares = b[..., 2] - b[..., 0], b[..., 0] + b[..., 2] - b[..., 1]
    return squares / rows - (total / rows) ** 2
