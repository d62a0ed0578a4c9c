"""Differences and relations of the population behind a table, with p-values.

Here a table is a sample, so an interval covers what is true of the population: it is
as wide as the noise *and* the sampling of rows ask for. Both come from the same noisy
sums, so nothing is asked twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.domain.dates import difference_unit
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Expression
from discreto.core.gate import Noise
from discreto.core.maps import Bernstein, Categories, Ones
from discreto.core.query import Block, Ints, Sum
from discreto.errors import DomainError, ParameterError
from discreto.release.release import Release
from discreto.session.rng import generator
from discreto.session.session import Ask
from discreto.stats._base import both_notes, complete_in, grouped, used_note
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import (
    CLEAR,
    NOTE,
    STEP,
    TABLES,
    Floats,
    Z,
    possible_noise,
    two_sided,
    with_p_value,
)
from discreto.stats.ratios import MADE, truths_of


def two_groups(name: str, domain: Domain) -> tuple[Any, Any]:
    """Return the two groups of a column, or a refusal."""
    groups = domain.category(name).categories
    if len(groups) != 2:
        raise DomainError(
            f"{name!r} has {len(groups)} categories; a difference needs two. Take two "
            "of them with table.where(...) and recode(...)."
        )
    return groups[0], groups[1]


@documented_statistic
@dataclass(frozen=True)
class MeanDifference:
    """How much larger a mean is in the second of two groups, and a p-value.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         three sums of Bernstein polynomials of degree 2 for each group.
    Bound        1: a row gives those of its group 1 together.

    >>> from discreto import Category, Domain, Number, plan
    >>> domain = Domain({"age": Number(0, 120), "sex": Category(["f", "m"])})
    >>> found = plan.statistics(domain, MeanDifference("age", "sex"), epsilon=1)
    >>> [ask.sensitivity[0] / 2**30 for ask in found]
    [1.0]
    """

    column: str
    group: str

    @property
    def label(self) -> str:
        return f"difference of mean {self.column} by {self.group}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        two_groups(self.group, domain)
        column = domain.number(self.column)
        inner, gaps = complete_in((self.column,), domain)
        cells = grouped((self.group,), inner, domain)
        block = Block(Bernstein((self.column,), 2))
        answer = ask.measure(Sum(cells, (block,)), self.label)
        used = slice(0, 2 * (1 + gaps), 1 + gaps)  # rows with a value in two groups
        sums, noise = answer.tables[0][used] / STEP, answer.noises[0]
        about = used_note(answer.tables[0], noise, used)
        means, errors = _means(sums, noise.variance / STEP**2)
        estimate, error = float(means[1] - means[0]), float(math.hypot(*errors))
        # A little wider: the spread that goes into the error is itself noisy.
        ends = estimate + np.array([0.0, -1.04 * Z, 1.04 * Z]) * min(error, 1e6)
        ends = column.half * np.clip(ends, -2, 2)
        p = two_sided(estimate / error) if error > 0 else 1.0
        return with_p_value(
            self.label,
            ("difference",),
            p,
            ends[:, None],
            difference_unit(column.unit),
            about,
        )


def _means(sums: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return means of groups from Bernstein sums, and their standard errors."""
    rows = sums.sum(axis=1)
    clear = rows > CLEAR * math.sqrt(3 * noise)
    rows = np.maximum(rows, 1.0)
    weights = np.array([-1.0, 0.0, 1.0])
    means = np.clip(sums @ weights / rows, -1, 1)
    squares = sums @ np.array([1.0, -1.0, 1.0]) / rows
    spread = np.clip(squares - means**2, 0.0, 1.0)
    # How far noise on the three sums moves a mean: the slope in each of them.
    slopes = (weights - means[:, None]) / rows[:, None]
    errors = np.sqrt(spread / rows + noise * (slopes**2).sum(axis=1))
    return np.where(clear, means, 0.0), np.where(clear, errors, 1e6)


@documented_statistic
@dataclass(frozen=True)
class ProportionDifference:
    """How much larger a share is in the second of two groups, and a p-value.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         counts by group and value of the condition.
    Bound        1: a row is in one of them.

    >>> from discreto import Category, Domain, Number, col, plan
    >>> domain = Domain({"age": Number(0, 120), "sex": Category(["f", "m"])})
    >>> asked = ProportionDifference((col("age") > 65).node, "sex")
    >>> [ask.sensitivity for ask in plan.statistics(domain, asked, epsilon=1)]
    [(1,)]
    """

    condition: Expression
    group: str

    @property
    def label(self) -> str:
        return f"difference of the share of {self.condition} by {self.group}"

    def learn(self, ask: Ask) -> Release:
        two_groups(self.group, ask.domain)
        ask = truths_of(ask, self.condition)
        counts, noise, about = _known_counts(ask, (self.group, MADE), self.label)
        shares, errors = _shares(counts.astype(float), noise.variance)
        estimate, error = float(shares[1] - shares[0]), float(math.hypot(*errors))
        ends = np.clip(estimate + np.array([0.0, -Z, Z]) * min(error, 1e6), -1, 1)
        p = two_sided(estimate / error) if error > 0 else 1.0
        ends = ends[:, None]
        return with_p_value(self.label, ("difference",), p, ends, about=about)


def _known_counts(
    ask: Ask, names: tuple[str, str], label: str
) -> tuple[Ints, Noise, str]:
    """Return counts by two columns, their noise, and a remark on rows in none.

    Rows with a missing or undeclared category have cells of their own. A row is in one
    cell, so that costs nothing and moves no bound.
    """
    columns = [ask.domain.category(name) for name in names]
    answer = ask.measure(Sum(Categories(names), (Block(Ones()),)), label)
    sizes = [len(column.categories) + column.missing for column in columns]
    counts, noise = answer.tables[0][:, 0].reshape(sizes), answer.noises[0]
    used = tuple(slice(len(column.categories)) for column in columns)
    return counts[used], noise, used_note(counts, noise, used)


def _shares(sums: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return shares of groups from counts, and their standard errors."""
    rows = sums.sum(axis=1)
    clear = rows > CLEAR * math.sqrt(2 * noise)
    rows = np.maximum(rows, 1.0)
    shares = np.clip(sums[:, 1] / rows, 0.0, 1.0)
    # A little away from 0 and 1, as Agresti and Coull have it.
    steady = (shares * rows + 2) / (rows + 4)
    slopes = (shares**2 + (1 - shares) ** 2) / rows**2
    errors = np.sqrt(steady * (1 - steady) / (rows + 4) + noise * slopes)
    return np.where(clear, shares, 0.5), np.where(clear, errors, 1e6)


@documented_statistic
@dataclass(frozen=True)
class Independence:
    """Whether two categories go together: chi-square of their table, and a p-value.

    The p-value compares with tables of independent columns to which noise of the same
    distribution was added (Gaboardi and others, 2016), so it holds at any epsilon.

    Parameters
    ----------
    first, second
        Names of Category columns. Rows in which either is missing or was not declared
        are left out.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one count for each combination.
    Bound        1: a row is in one of them.

    >>> from discreto import Category, Domain, plan
    >>> domain = Domain({"a": Category([0, 1]), "b": Category([0, 1, 2])})
    >>> found = plan.statistics(domain, Independence("a", "b"), epsilon=1)
    >>> [ask.sensitivity for ask in found]
    [(1,)]
    """

    first: str
    second: str

    @property
    def label(self) -> str:
        return f"independence of {self.first} and {self.second}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        sizes = [
            len(column.categories)
            for column in map(domain.category, (self.first, self.second))
        ]
        if min(sizes) < 2:
            raise ParameterError(f"{self.label!r} needs two categories or more each.")
        names = (self.first, self.second)
        counts, noise, about = _known_counts(ask, names, self.label)
        size, p = _chi_square(counts, noise)
        values = np.array([size, p])
        keys = ("chi-square", "p-value")
        note = both_notes(about, NOTE)
        return Release(self.label, values, values, values, keys, "", note)


def _chi_square(table: Ints, noise: Noise) -> tuple[float, float]:
    """Return the statistic of a noisy table and its p-value under independence."""
    counts = np.maximum(table.astype(float), 0.0)
    rows = counts.sum()
    if rows < CLEAR * math.sqrt(noise.variance * counts.size) or rows < 5:
        return 0.0, 1.0
    shares = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows**2
    rng = generator(0)  # public: the same table gives the same p-value
    drawn = rng.multinomial(round(rows), shares.ravel(), TABLES).astype(float)
    drawn += possible_noise(noise, drawn.shape, rng)
    drawn = np.maximum(drawn, 0.0).reshape(TABLES, *counts.shape)
    size = float(_distance(counts[None])[0])
    more = int((_distance(drawn) >= size).sum())
    return size, (more + 1) / (TABLES + 1)


def _distance(tables: Floats) -> Floats:
    """Return Pearson's statistic of each table, against its own margins."""
    rows = np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    wanted = (
        tables.sum(axis=2, keepdims=True) * tables.sum(axis=1, keepdims=True) / rows
    )
    parts = np.where(wanted > 0, (tables - wanted) ** 2 / np.maximum(wanted, 1.0), 0.0)
    total: Floats = parts.sum(axis=(1, 2))
    return total
