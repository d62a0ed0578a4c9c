"""Counts by several columns at once, with margins that agree with the cells.

Each margin that is asked (by all columns, by some, by none) is a noisy table of its
own; least squares over all of them give one table, from which every margin follows. A
table falls apart into parts that belong to a set of columns and to no smaller one; each
margin measures the parts of its subsets, so the least squares are averages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain, Number
from discreto.core.maps import Cross, Everyone, Ones, Present
from discreto.core.query import Block, Cells, Sum
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._base import group_cells, group_keys
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import Floats

ALL = "(all)"
MOST_COLUMNS = 5
_Z = 1.959964
_LEAST_VARIANCE = 1e-100  # that of noise at a huge epsilon underflows to 0
Set = tuple[int, ...]  # places of columns
_SHARES = [Fraction(1), Fraction(9, 10), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)]


@documented_statistic
@dataclass(frozen=True)
class Crosstab:
    """Counts by several columns, and by some of them, and in all: they add up.

    Parameters
    ----------
    columns
        Names of two to five columns that can be groups: categories, whole numbers with
        few values, periods of dates.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one count for each cell of each margin that is worth its share: that
                 follows from the sizes of the columns, which are public.
    Bound        1 in each margin: a row is in one cell of it.
    Composition  the shares of the margins add up to one.

    >>> from discreto import Category, Domain, plan
    >>> domain = Domain({"a": Category([0, 1]), "b": Category([0, 1, 2])})
    >>> found = plan.statistics(domain, Crosstab(("a", "b")), epsilon=1)
    >>> {ask.sensitivity for ask in found}, found.total
    ({(1,)}, Cost(ε 1))
    """

    columns: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"table of {' × '.join(self.columns)}"

    def learn(self, ask: Ask) -> Release:
        domain, names = ask.domain, self.columns
        if not 2 <= len(names) <= MOST_COLUMNS or len(set(names)) != len(names):
            raise ParameterError(f"{self.label!r} needs two to five different columns.")
        lists = [group_keys((name,), domain) for name in names]
        sizes = tuple(len(keys) for keys in lists)
        everyone = tuple(range(len(names)))
        shares = _shares(sizes, bool(ask.cost.rho))
        margins, variances = {}, {}
        for margin, share in shares.items():
            cells = _cells(tuple(names[i] for i in margin), names, domain)
            by = ", ".join(names[i] for i in margin) or "nothing"
            query = Sum(cells, (Block(Ones()),))
            answer = ask.measure(query, f"{self.label} by {by}", share)
            shape = tuple(sizes[i] for i in margin)
            margins[margin] = answer.tables[0][:, 0].reshape(shape).astype(float)
            variances[margin] = max(answer.noises[0].variance, _LEAST_VARIANCE)
        parts, errors = _fitted(margins, variances, sizes)
        keys: list[Any] = []
        values, halves = [], []
        for margin in _subsets(everyone)[::-1]:
            table, spread = _margin(margin, parts, errors, sizes)
            shown = [lists[i] if i in margin else [ALL] for i in everyone]
            keys += product(*shown)
            values.append(np.ravel(table))
            halves.append(np.full(table.size, _Z * spread))
        value, half = np.concatenate(values), np.concatenate(halves)
        low = np.maximum(value - half, 0.0)
        high = np.maximum(value + half, 0.0)
        return Release(self.label, value, low, high, tuple(keys), counts=True)


def _cells(by: tuple[str, ...], names: tuple[str, ...], domain: Domain) -> Cells:
    """Return the groups of a margin; rows outside of the table's cells are in none."""
    numbers = tuple(
        name
        for name in names
        if isinstance(column := domain[name], Number) and column.missing
    )
    inner: Cells = Present(numbers) if numbers else Everyone()
    if not by:
        return inner
    outer = group_cells(by, domain)
    return outer if isinstance(inner, Everyone) else Cross(outer, inner)


def _subsets(columns: Set) -> list[Set]:
    sizes = range(len(columns) + 1)
    return [part for size in sizes for part in combinations(columns, size)]


def _count(columns: Sequence[int], sizes: tuple[int, ...]) -> int:
    return math.prod(sizes[i] for i in columns)


def _shares(sizes: tuple[int, ...], gaussian: bool) -> dict[Set, Fraction]:
    """Return the margins to ask and their shares, for the least expected error.

    The error of a margin counts against its average cell, for rows spread evenly.
    """
    whole = tuple(range(len(sizes)))
    subsets = _subsets(whole)
    best, least = {whole: Fraction(1)}, math.inf
    for share in _SHARES:
        others = [part for part in subsets if part != whole] if share < 1 else []
        trial = {part: (1 - share) / len(others) for part in others} | {whole: share}
        variances = {
            part: 1 / float(s) if gaussian else 1 / float(s) ** 2
            for part, s in trial.items()
        }
        errors = _part_errors(variances, sizes)
        total = sum(
            math.sqrt(_variance(part, errors, sizes)) * _count(part, sizes)
            for part in subsets
        )
        if total < least:
            best, least = trial, total
    return best


def _part_errors(
    variances: dict[Set, float], sizes: tuple[int, ...]
) -> dict[Set, float]:
    """Return the variance of each part's average over the margins that hold it."""
    out = {}
    for part in _subsets(tuple(range(len(sizes)))):
        weight = 0.0
        for margin, variance in variances.items():
            if set(part) <= set(margin):
                summed = [i for i in margin if i not in part]
                weight += 1 / (variance * _count(summed, sizes))
        out[part] = 1 / weight
    return out


def _variance(margin: Set, errors: dict[Set, float], sizes: tuple[int, ...]) -> float:
    """Return the variance of a cell of a margin, made of uncorrelated parts."""
    total = 0.0
    for part in _subsets(margin):
        rest = _count([i for i in margin if i not in part], sizes)
        own = math.prod(1 - 1 / sizes[i] for i in part)
        total += errors[part] * own / rest**2
    return total


def _fitted(
    margins: dict[Set, Floats], variances: dict[Set, float], sizes: tuple[int, ...]
) -> tuple[dict[Set, Floats], dict[Set, float]]:
    """Return each part of the table by least squares, and the variance of its noise."""
    errors, parts = _part_errors(variances, sizes), {}
    for part in errors:
        total = np.zeros(tuple(sizes[i] for i in part))
        for margin, table in margins.items():
            if set(part) <= set(margin):
                summed = tuple(k for k, i in enumerate(margin) if i not in part)
                weight = 1 / (
                    variances[margin] * _count([margin[k] for k in summed], sizes)
                )
                total = total + weight * _centred(table.sum(axis=summed))
        parts[part] = total * errors[part]
    return parts, errors


def _centred(table: Floats) -> Floats:
    """Return the part that no smaller set of columns has: without means on any axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _margin(
    margin: Set,
    parts: dict[Set, Floats],
    errors: dict[Set, float],
    sizes: tuple[int, ...],
) -> tuple[Floats, float]:
    """Return a margin from the parts of its subsets, and the error of one cell."""
    out = np.zeros(tuple(sizes[i] for i in margin))
    for part in _subsets(margin):
        shape = [sizes[i] if i in part else 1 for i in margin]
        rest = _count([i for i in margin if i not in part], sizes)
        out = out + parts[part].reshape(shape) / rest
    return out, math.sqrt(_variance(margin, errors, sizes))
