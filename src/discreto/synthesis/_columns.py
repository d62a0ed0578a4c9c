"""Columns as codes: public fine cells, groups of them, and values drawn from a cell.

The fine cells of a column follow from the domain. Which of them are taken together
follows from their noisy counts, so groups are public once these are released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.dates import DateTime
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.expressions import Col, Cut, Named, Recode, WithColumns
from discreto.errors import ParameterError
from discreto.session.rng import Generator
from discreto.synthesis._calendar import period_edges, points, read_edges
from discreto.synthesis._junction_tree import Floats

Ints = NDArray[np.int64]
EACH = 64  # an integer column with so few values has a cell for each
EQUAL = 32  # equal cells of other Number columns
MOST_BINS = 4096
MOST_GROUPS = 64  # of a Category: the fullest values, and one for the rest
NUMBER_GROUPS = 16
_FULL = 4.0  # standard deviations of noise that a group should hold
_ABSENT = 2.0  # below so many, missing values are taken for noise


@dataclass(frozen=True, slots=True)
class Coding:
    """The fine cells of a column.

    ``edges`` are where the cells of a Number begin, but for the first.
    """

    name: str
    column: Number | Category
    edges: tuple[float, ...] = ()

    @property
    def cells(self) -> int:
        """The number of cells, without the one for missing values."""
        if isinstance(self.column, Category):
            return len(self.column.categories)
        return len(self.edges) + 1

    def grouped(self, groups: Sequence[int]) -> Named | None:
        """The column of groups as an expression, or None where nothing changes."""
        inside = Col(self.name)
        if isinstance(self.column, Category):
            values = self.column.categories
            first: dict[int, int] = {}
            old, new = [], []
            for code, group in enumerate(groups):
                to = first.setdefault(group, code)
                if to != code:
                    old.append(values[code])
                    new.append(values[to])
            if not old:
                return None
            return Named(self.name, Recode(inside, tuple(old), tuple(new)))
        starts = [k for k in range(1, self.cells) if groups[k] != groups[k - 1]]
        edges = tuple(self.edges[k - 1] for k in starts)
        labels = tuple(f"group {k}" for k in range(len(edges) + 1))
        return Named(self.name, Cut(inside, edges, labels))

    def draw(self, codes: Ints, rng: Generator) -> NDArray[Any]:
        """Return a value of each fine cell; beyond the last cell it is missing.

        Of a Category its code, or -1.
        """
        if isinstance(self.column, Category):
            return np.where(codes < self.cells, codes, -1)
        return self.values(codes, rng.random(codes.size))

    def values(self, codes: Ints, spot: Floats) -> Floats:
        """Return numbers at a place from 0 to 1 of each one's fine cell."""
        column = self.column
        if isinstance(column, Category):
            raise TypeError("a Category has no numbers.")
        edges = np.array([column.lower, *self.edges, column.upper])
        low = np.append(edges[:-1], np.nan)[codes]
        high = np.append(edges[1:], np.nan)[codes]
        if column.integer:
            last = codes == self.cells - 1
            first = np.ceil(low)
            top = np.where(last, np.floor(high), np.ceil(high) - 1)
            out = first + np.floor(spot * np.maximum(top - first + 1, 1))
            ends = (math.ceil(column.lower), math.floor(column.upper))
            return np.asarray(np.clip(out, *ends))
        out = _short(low + spot * (high - low), high - low)
        out = np.maximum(out, low)  # an edge may have more digits
        return np.asarray(np.clip(out, column.lower, column.upper))


def _short(values: Floats, widths: Floats) -> Floats:
    """Return numbers with the digits that a cell of their width deserves, rounded down.

    A place in a cell is random: digits below a hundredth of its width say nothing.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        places = 2 - np.floor(np.log10(widths))
    out = values.copy()
    for place in np.unique(places[np.isfinite(places)]).astype(int).tolist():
        here = places == place
        scale = 10.0 ** abs(place)
        part = values[here]
        whole = np.floor(part * scale if place >= 0 else part / scale)
        out[here] = whole / scale if place >= 0 else whole * scale
    return out


def codings(domain: Domain, names: Sequence[str], bins: Any) -> list[Coding]:
    """Return the fine cells of some columns, by declared bins or by default ones."""
    given = {} if bins is None else bins
    if not isinstance(given, Mapping):
        raise ParameterError("bins is a dict: {'age': 20, 'income': [0, 1e3, 1e4]}.")
    for name in given:
        if name not in names or not isinstance(domain[name], Number):
            raise ParameterError(f"bins: {name!r} is no Number column of this table.")
    out = []
    for name in names:
        column = domain[name]
        if isinstance(column, Category):
            out.append(Coding(name, column))
        else:
            number = domain.number(name)
            edges = _edges(number, given.get(name), name)
            out.append(Coding(name, number, edges))
    return out


def _edges(column: Number, wanted: Any, name: str) -> tuple[float, ...]:
    if wanted is None:
        return default_edges(column)
    if type(wanted) is int and 2 <= wanted <= MOST_BINS:
        found = np.linspace(column.lower, column.upper, wanted + 1)[1:-1]
        return _tidy(found, column)
    numbers = [] if isinstance(wanted, str | int) else list(wanted)
    if isinstance(column, DateTime):
        numbers = read_edges(numbers, column) or []
    if not all(type(n) in (int, float) and math.isfinite(n) for n in numbers):
        numbers = []
    edges = _tidy(np.array(numbers, dtype=float), column)
    if not edges or len(edges) >= MOST_BINS:
        raise ParameterError(
            f"bins: {name!r} needs 2 to {MOST_BINS} equal cells, or the edges of cells "
            "within its range."
        )
    return edges


def default_edges(column: Number) -> tuple[float, ...]:
    """Equal cells, and cells that get narrower towards 0 where that is in the range.

    Whole numbers of which there are few have a cell each, dates have periods of the
    calendar.

    >>> default_edges(Number(0, 3, integer=True))
    (1.0, 2.0, 3.0)
    >>> default_edges(Number(0, 99999, integer=True))[:7]
    (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    """
    low, high = column.lower, column.upper
    if column.integer and math.floor(high) - math.ceil(low) < EACH:
        return tuple(float(k) for k in range(math.ceil(low) + 1, math.floor(high) + 1))
    found = [np.linspace(low, high, EQUAL + 1)[1:-1]]
    if isinstance(column, DateTime):
        periods = period_edges(column, EACH)
        return _tidy(periods if len(periods) else found[0], column)
    top = math.ceil(math.log10(max(abs(low), abs(high))))
    powers = range(0 if column.integer else top - 5, top + 1)
    steps = np.array([m * 10.0**p for p in powers for m in (1, 2, 5)])
    found += [steps, -steps, np.array([0.0])]
    return _tidy(np.concatenate(found), column)


def _tidy(edges: Floats, column: Number) -> tuple[float, ...]:
    """Rising edges inside of the range; of a whole number, whole."""
    if column.integer:
        edges = np.ceil(edges)
    inside = edges[(edges > column.lower) & (edges <= column.upper)]
    inside = inside[inside < column.upper] if not column.integer else inside
    return tuple(np.unique(inside).tolist())


def view(codings: Sequence[Coding], groups: Sequence[Sequence[int]]) -> Any:
    """Return the step to a table of groups, or None where all columns stay."""
    named = [c.grouped(g) for c, g in zip(codings, groups, strict=True)]
    found = tuple(one for one in named if one is not None)
    return WithColumns(found) if found else None


def fine(coding: Coding) -> list[int]:
    """Groups of one cell each."""
    return list(range(coding.cells))


def group(coding: Coding, counts: Floats, spread: float) -> list[int]:
    """Return the group of each cell: such that most groups stand out from the noise."""
    full = np.maximum(counts[: coding.cells], 0.0)
    if isinstance(coding.column, Category):
        return _group_values(full, spread)
    return _group_numbers(full, spread)


def _group_values(counts: Floats, spread: float) -> list[int]:
    """Values that stand out are groups of their own, the others are one group."""
    order = np.argsort(-counts, kind="stable")
    kept = set(order[: MOST_GROUPS - 1].tolist())
    kept = {code for code in kept if counts[code] > _FULL * spread}
    if len(kept) >= len(counts) - 1:
        return list(range(len(counts)))
    numbers: dict[int, int] = {}  # the order of Recode: as they first occur
    rest = len(counts)
    return [
        numbers.setdefault(code if code in kept else rest, len(numbers))
        for code in range(len(counts))
    ]


def _group_numbers(counts: Floats, spread: float) -> list[int]:
    """Neighbouring cells, until a group is large enough."""
    if len(counts) <= 2:
        return list(range(len(counts)))
    wanted = max(float(counts.sum()) / NUMBER_GROUPS, _FULL * spread)
    groups, now, held = [], 0, 0.0
    for k, count in enumerate(counts):
        if k and held >= _FULL * spread and held + count / 2 >= wanted:
            now, held = now + 1, 0.0
        groups.append(now)
        held += float(count)
    if now and held < _FULL * spread:
        groups = [min(g, now - 1) for g in groups]
    if groups[-1] == 0:  # a column needs two groups
        half = float(counts.sum()) / 2
        at = int(np.searchsorted(np.cumsum(counts), half)) + 1
        at = min(max(at, 1), len(counts) - 1)
        groups = [int(k >= at) for k in range(len(counts))]
    return groups


def has_gaps(coding: Coding, counts: Floats, spread: float) -> bool:
    """Return True if missing values stand out from the noise."""
    return bool(coding.column.missing and counts[-1] > _ABSENT * spread)


def within(counts: Floats, groups: Sequence[int]) -> list[Floats]:
    """For each group the probabilities of its cells, none of them negative."""
    member = np.asarray(groups)
    out = []
    for number in range(int(member.max()) + 1):
        own = counts[np.flatnonzero(member == number)]
        out.append(nearest_law(own))
    return out


def nearest_law(counts: Floats) -> Floats:
    """Return the probabilities nearest to some counts of the same total."""
    total = float(counts.sum())
    if total <= 0:
        return np.full(len(counts), 1 / len(counts))
    falling = np.sort(counts)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(falling > over)[-1]
    left = np.maximum(counts - over[last], 0.0)
    out: Floats = left / left.sum()
    return out


def to_values(drawn: Any, column: Any) -> list[Any]:
    """Plain values of a column; what is missing is None."""
    if isinstance(column, Category):
        values = [*column.categories, None]
        return [values[code] for code in drawn.tolist()]
    if isinstance(column, DateTime):
        return points(drawn, column)
    if getattr(column, "integer", False):
        return [None if v != v else int(v) for v in drawn.tolist()]
    return [None if v != v else v for v in drawn.tolist()]
