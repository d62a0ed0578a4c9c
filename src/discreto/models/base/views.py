"""Views of a table that a model pays for: where numbers are, and which codes there are.

Bounds that are a hundred times too wide drown a mean in noise, and a code book of four
thousand values of which seven occur leaves each of them a thousandth of the care. Noisy
counts tell where the rows are; the model then learns from a view of the table with
narrower bounds and fewer categories. Views are public data and cost nothing themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core.cost import Cost
from discreto.core.domain.domain import Number, Value
from discreto.core.expressions import Clip, Col, Expression, Named, Recode, WithColumns
from discreto.core.expressions.kinds import gather
from discreto.core.maps import Categories, CodeCounts, Everyone, Grid
from discreto.core.query import Block, Ones, Sum
from discreto.models.base.binning import cuts_of
from discreto.models.base.features import Space
from discreto.session.session import Ask

Array = NDArray[Any]
MANY_CODES = 64  # a Category with more is merged to as many
_NOISE = 0.1  # of the rows may be the noise on a cell
_SHARES = tuple(Fraction(1, part) for part in (8, 16, 32, 64))  # of the cost
_CLEAR = 4  # so many of them must the number of rows be
_REST = "(rest)"


class WindowSearch(NamedTuple):
    """Settings of the search for the window of a Number.

    ``cells`` of its range are counted. The narrowest run of them that holds nearly all
    rows (``inside``) is taken; as far as noise lets one say, by ``caution`` standard
    deviations of it, so many of them ``surely``. ``margin`` of the run is added on
    either side.
    """

    cells: int = 24
    inside: float = 0.995
    surely: float = 0.85
    caution: float = 1.5
    margin: float = 1.0
    narrow: float = 0.7  # of the bounds; a wider window is none


@dataclass(frozen=True)
class Seen:
    """A view of a table for a model: windows of Numbers, groups of codes."""

    windows: dict[str, tuple[float, float]] = field(default_factory=dict)
    groups: dict[str, Array] = field(default_factory=dict)  # the group of each code

    def space(self, space: Space) -> Space:
        """Return the features in the terms of the view."""
        step = self._step(space)
        return replace(space, domain=step.domain(space.domain)) if step else space

    def ask(self, ask: Ask, space: Space) -> Ask:
        """Return the same session, about the view."""
        step = self._step(space)
        return ask.seen(step) if step else ask

    def _step(self, space: Space) -> WithColumns | None:
        made: list[Named] = []
        for name, (low, high) in self.windows.items():
            made.append(Named(name, Clip(Col(name), low, high)))
        for name, groups in self.groups.items():
            made.append(Named(name, _merged(name, groups, space)))
        return WithColumns(tuple(made)) if made else None


def regrouped(batch: dict[str, Array], groups: dict[str, Array]) -> dict[str, Array]:
    """Codes of merged Categories as codes of their groups; what is unknown stays so."""
    out = dict(batch)
    for name, group in groups.items():
        codes = batch[name]
        known = (codes >= 0) & (codes < len(group))
        out[name] = np.where(known, group[np.where(known, codes, 0)], -1)
    return out


def _merged(name: str, groups: Array, space: Space) -> Expression:
    values = space.domain.category(name).categories
    rest = _REST
    while rest in values:
        rest += "_"
    together = int(np.argmax(np.bincount(groups)))  # all other groups have one code
    old = tuple(v for v, g in zip(values, groups, strict=True) if g == together)
    return Recode(Col(name), old, (rest,) * len(old))


def wide_categories(space: Space) -> list[str]:
    """Return the features with so many categories that they are merged."""
    many = {n: len(space.domain.category(n).categories) for n in space.categories}
    return [name for name, size in many.items() if size > MANY_CODES]


def ask_groups(ask: Ask, space: Space, share: Fraction) -> dict[str, Array]:
    """Return the group of each code of each wide Category: the frequent, and the rest.

    How many groups there are is public, so questions about the view are as planned.
    """
    names = wide_categories(space)
    out: dict[str, Array] = {}
    for name in names:
        query = Sum(Categories((name,), declared=True), (Block(Ones()),))
        label = f"frequent values of {name}"
        answer = ask.measure(query, label, share / len(names))
        size = len(space.domain.category(name).categories)
        counts = answer.tables[0][:, 0]
        kept = set(np.argsort(-counts, kind="stable")[: MANY_CODES - 1].tolist())
        labels: list[Value] = [code if code in kept else -1 for code in range(size)]
        out[name] = np.array(gather(labels)[1])
    return out


def window_share(columns: int, cost: Cost, room: float) -> Fraction:
    """Return the share of the cost for windows; 0 where these would be noise.

    ``room`` is the row count over its noise.
    """
    noise = math.sqrt(columns) if cost.rho else float(columns)
    share = noise / max(_NOISE * room, 1e-9)
    share = share**2 if cost.rho else share
    if not columns or share > 2.4 * _SHARES[0]:
        return Fraction(0)
    return min((s for s in _SHARES if s >= share), default=_SHARES[0])


def ask_windows(
    ask: Ask, space: Space, share: Fraction, search: WindowSearch | None = None
) -> dict[str, tuple[float, float]]:
    """Return a window for each Number that is much narrower than its bounds.

    It is the narrowest run of public cells that surely holds nearly all rows, and some
    more on either side.
    """
    search = search or WindowSearch()
    names = space.numbers
    columns = [space.domain.number(name) for name in names]
    grid = Grid(names, tuple(cuts_of(column, search.cells) for column in columns))
    query = Sum(Everyone(), (Block(CodeCounts(grid)),))
    answer = ask.measure(query, "where the numbers are", share)
    counts = answer.tables[0][0].astype(float)
    noise = math.sqrt(answer.noises[0].variance)
    # Every column has all rows, so all of them together tell how many there are.
    rows = counts.sum() / len(names)
    if rows <= _CLEAR * noise * math.sqrt(len(counts)) / len(names):
        return {}
    out, start = {}, 0
    for name, column, cuts in zip(names, columns, grid.cuts, strict=True):
        mine = counts[start : start + len(cuts) + 1]
        start += len(cuts) + 1 + column.missing
        window = _window(mine / rows, noise / rows, column, cuts, search)
        if window is not None:
            out[name] = window
    return out


def _window(
    parts: Array,
    noise: float,
    column: Number,
    cuts: tuple[float, ...],
    search: WindowSearch,
) -> tuple[float, float] | None:
    """Return the narrowest window, or nothing if it would not be narrower.

    ``parts`` of the rows are in each cell, with so much noise on them.
    """
    edges = np.array([column.lower, *cuts, column.upper])
    total = np.concatenate([[0.0], np.cumsum(parts)])
    many, best = len(parts), None
    for first in range(many):
        for last in range(first + 1, many + 1):
            inside = total[last] - total[first]
            sure = inside - search.caution * noise * math.sqrt(last - first)
            if inside < search.inside or sure < search.surely:
                continue
            width = edges[last] - edges[first]
            if best is None or width < best[1] - best[0]:
                best = (float(edges[first]), float(edges[last]))
    if best is None:
        return None
    more, whole = search.margin * (best[1] - best[0]), column.upper - column.lower
    low, high = max(best[0] - more, column.lower), min(best[1] + more, column.upper)
    return (low, high) if high - low < search.narrow * whole else None


__all__ = [
    "MANY_CODES",
    "Seen",
    "WindowSearch",
    "ask_groups",
    "ask_windows",
    "regrouped",
    "wide_categories",
    "window_share",
]
