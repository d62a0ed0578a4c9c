"""Histograms, contingency tables, the mode, and a paid-for range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from discreto.core.domain.dates import show_date
from discreto.core.domain.domain import Domain, Number
from discreto.core.maps import Bins, Categories, Cross, Edges, Largest, Magnitudes, Ones
from discreto.core.maps.cells import MAX_BINS, whole_numbers
from discreto.core.query import Block, Cells, Choice, Sum
from discreto.errors import ParameterError
from discreto.release.release import LEVEL, Release
from discreto.session.parameters import MANY, whole
from discreto.session.session import Ask
from discreto.session.work_limits import check_answer
from discreto.stats._base import gaps_note, plain_values, spread, whole_keys
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import reach

DEFAULT_BINS = 20
EachBins = int | tuple[float, ...] | None


@documented_statistic
@dataclass(frozen=True)
class Histogram:
    """The counts of a column's categories or bins, or of several columns' crossing.

    Parameters
    ----------
    columns
        Names of Number or Category columns.
    bins
        The number of equal bins of each Number column, or the cuts between them; or
        pairs of a column and one of these.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one count for each cell.
    Bound        1: a row is in one cell.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(1), Histogram(("x0",)), epsilon=1)
    >>> [ask.sensitivity for ask in found]
    [(1,)]
    """

    columns: tuple[str, ...]
    bins: EachBins | tuple[tuple[str, EachBins], ...] = None

    @property
    def label(self) -> str:
        return f"histogram of {' × '.join(self.columns)}"

    def learn(self, ask: Ask) -> Release:
        if not self.columns:
            raise ParameterError(
                "a histogram needs a column, and got none. Write "
                "histogram(table, 'age', epsilon=0.1)."
            )
        cells, keys = self._cells(ask.domain)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        counts = answer.tables[0][:, 0]
        far = reach(answer.noises[0])
        lows, highs = np.maximum(counts - far, 0), np.maximum(counts + far, 0)
        note = gaps_note(counts, lows, keys)
        return spread(self.label, counts, lows, highs, keys, note=note, counts=True)

    def _cells(self, domain: Domain) -> tuple[Cells, tuple[Any, ...]]:
        cells, keys = self._one(self.columns[0], domain)
        for name in self.columns[1:]:
            more, more_keys = self._one(name, domain)
            cells = Cross(cells, more)
            count = cells.count(domain)
            if count > MAX_BINS:
                raise ParameterError(
                    f"{self.label!r} has too many cells: {count:,} (at most "
                    f"{MAX_BINS:,}). Take fewer columns or bins."
                )
            check_answer(count, self.label)  # before keys take memory
            keys = [(*_tuple(a), b) for a in keys for b in more_keys]
        return cells, tuple(keys)

    def _bins_of(self, name: str) -> EachBins:
        """Return the bins of one column; unnamed columns have the usual number."""
        pairs: Any = self.bins if isinstance(self.bins, tuple) else ()
        if pairs and all(isinstance(pair, tuple) for pair in pairs):
            if not all(len(p) == 2 and isinstance(p[0], str) for p in pairs):
                raise ParameterError("bins by column are pairs of a name and bins.")
            found: EachBins = dict(pairs).get(name)
            return found
        return self.bins  # type: ignore[return-value]

    def _one(self, name: str, domain: Domain) -> tuple[Cells, list[Any]]:
        column = domain[name]
        if not isinstance(column, Number):
            cells = Categories((name,))
            return cells, cells.labels(domain)
        bins = self._bins_of(name)
        if isinstance(bins, tuple):
            Edges(name, bins)  # refuses what is not a list of rising numbers
            cuts = [cut for cut in bins if column.lower < cut < column.upper]
            edges = np.array([column.lower, *cuts, column.upper])
            return Edges(name, tuple(map(float, cuts))), _ranges(edges, column.unit)
        each = whole_numbers(column)
        count = each if 1 <= each <= DEFAULT_BINS else DEFAULT_BINS
        count = count if bins is None else bins
        binned = Bins(name, count)
        if each == count:
            return binned, whole_keys(name, domain)
        return binned, _ranges(binned.edges(domain), column.unit)


def bins_by_column(bins: Any, columns: tuple[str, ...]) -> Any:
    """Return bins as users write them, in the form that ``Histogram`` keeps.

    >>> bins_by_column({"age": [18, 65]}, ("age", "sex"))
    (('age', (18, 65)),)
    >>> bins_by_column([[18, 65], 5], ("age", "bmi"))
    (('age', (18, 65)), ('bmi', 5))
    """
    bins = plain_values(bins)
    if isinstance(bins, list | tuple) and any(
        isinstance(b, list | tuple) for b in bins
    ):
        if len(bins) != len(columns):
            raise ParameterError(
                f"bins has {len(bins)} parts for {len(columns)} columns. Give one for "
                "each, or a dict by column."
            )
        bins = dict(zip(columns, bins, strict=True))
    if not isinstance(bins, dict):
        return tuple(bins) if isinstance(bins, list) else bins
    unknown = [name for name in bins if name not in columns]
    if unknown:
        raise ParameterError(f"bins names {unknown[0]!r}, which is not a column here.")
    pairs = ((n, tuple(b) if isinstance(b, list) else b) for n, b in bins.items())
    return tuple(pairs)


def _tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _ranges(edges: Any, unit: str = "") -> list[str]:
    return [f"{show_date(a, unit)} to {show_date(b, unit)}" for a, b in pairwise(edges)]


@documented_statistic
@dataclass(frozen=True)
class Top:
    """The most frequent categories of a column, with their counts.

    Parameters
    ----------
    column
        The name of a Category column.
    count
        How many.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one count for each category; the largest are shown.
    Bound        1: a row is in one of them.

    >>> from discreto import Category, Domain, plan
    >>> domain = Domain({"town": Category(["a", "b", "c"])})
    >>> [ask.sensitivity for ask in plan.statistics(domain, Top("town", 2), epsilon=1)]
    [(1,)]
    """

    column: str
    count: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "count", whole(self.count, "count", most=MANY, of="top")
        )

    @property
    def label(self) -> str:
        return f"top {self.count} of {self.column}"

    def learn(self, ask: Ask) -> Release:
        ask.domain.category(self.column)
        cells = Categories((self.column,), declared=True)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        counts, keys = answer.tables[0][:, 0], cells.labels(ask.domain)
        first = np.argsort(-counts, kind="stable")[: self.count]
        # Those that noise lifted are chosen more often: intervals at the level of
        # Benjamini and Yekutieli (2005) miss for 5 % of what is chosen.
        level = 1 - (1 - LEVEL) * first.size / counts.size
        far, values = reach(answer.noises[0], level), counts[first]
        lows, highs = np.maximum(values - far, 0), np.maximum(values + far, 0)
        shown = tuple(keys[place] for place in first)
        return spread(self.label, values, lows, highs, shown, counts=True)


@documented_statistic
@dataclass(frozen=True)
class Mode:
    """The most frequent category (or whole number) of a column.

    The release is the value alone. How good it is, is in rows, so it is in the note:
    with 95 % probability the true mode has at most so many more rows.

    Parameters
    ----------
    column
        The name of a Category column, or of an integer Number of at most 4096 values.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         a noisy choice of the fullest cell (permute and flip).
    Bound        1: a row adds one to one cell.

    >>> from discreto import Category, Domain, plan
    >>> domain = Domain({"sex": Category(["f", "m"])})
    >>> [ask.door for ask in plan.statistics(domain, Mode("sex"), epsilon=1)]
    ['select']
    """

    column: str

    @property
    def label(self) -> str:
        return f"mode of {self.column}"

    def learn(self, ask: Ask) -> Release:
        column = ask.domain[self.column]
        cells: Cells
        if isinstance(column, Number):
            count = whole_numbers(column)
            if not 1 <= count <= 4096:
                raise ParameterError(
                    f"{self.label!r}: a mode needs a Category or an integer Number "
                    "with at most 4096 values. Use a histogram."
                )
            cells = Bins(self.column, count)
            keys = whole_keys(self.column, ask.domain)
        else:
            cells = Categories((self.column,), declared=True)
            keys = cells.labels(ask.domain)
        tally = Sum(cells, (Block(Ones()),))
        choice = ask.select(Choice(tally, Largest()), self.label)
        value = keys[int(choice.indices[0])]
        gap = worst_gap(len(keys), float(choice.scale))
        note = f"at most {gap} rows short of the true mode"
        return Release(self.label, value, value, value, (), "", note)


def worst_gap(candidates: int, scale: float, level: float = 0.95) -> int:
    """Return the gap that a choice exceeds with a probability of 5 %.

    The worst case is that all candidates but one are short by just g + 1. Then
    permute-and-flip takes a short one with the probability computed here.
    """

    def chance(gap: int) -> float:
        p = math.exp(-gap / scale)
        # The best one is met at place j + 1 with probability 1 / candidates; it wins
        # if the j short ones before it all failed.
        wins = (
            sum((1 - p) ** j for j in range(candidates))
            if candidates < 64
            else ((1 - (1 - p) ** candidates) / p)
        )
        return 1 - wins / candidates

    gap = 0
    while chance(gap + 1) > 1 - level:
        gap += max(1, gap // 64)
    return gap


@documented_statistic
@dataclass(frozen=True)
class Bounds:
    """A range that holds nearly all values of a column, for when none is known.

    The domain gives a crude outer range (say -1e12 to 1e12). Values are counted by
    sign and power of two; the range spans the cells whose count stands out of the
    noise, so a few rows in far cells stay outside.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one count for each sign and power of two.
    Bound        1: a row is in one cell.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(1), Bounds("x0"), epsilon=1)
    >>> [ask.sensitivity for ask in found]
    [(1,)]
    """

    column: str

    @property
    def label(self) -> str:
        return f"bounds of {self.column}"

    def learn(self, ask: Ask) -> Release:
        column = ask.domain.number(self.column)
        cells = Magnitudes(self.column)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), self.label)
        counts = answer.tables[0][:, 0]
        # No empty cell passes this with 95 % probability, all cells together.
        bar = reach(answer.noises[0], level=1 - 2 * 0.05 / counts.size)
        full = np.flatnonzero(counts > bar)
        if full.size == 0:
            low, high = column.lower, column.upper
        else:
            low, high = cells.edges(full[0])[0], cells.edges(full[-1])[1]
        low, high = max(low, column.lower), min(high, column.upper)
        value = np.array([low, high], dtype=float)
        note = f"values in cells of fewer than about {2 * bar} rows may lie outside"
        return Release(
            self.label, value, value, value, ("lower", "upper"), column.unit, note
        )
