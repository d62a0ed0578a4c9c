"""Distributions, inequality, tables of counts and frequent values of a table."""

from __future__ import annotations

from collections.abc import Iterable

from discreto.core.cost import Amount
from discreto.release.release import Release
from discreto.session.parameters import refuse
from discreto.stats._base import Names, names_of, run
from discreto.stats._docstrings import documented
from discreto.stats.crosstabs import Crosstab
from discreto.stats.distributions import Distribution, Inequality
from discreto.stats.histograms import Top
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@documented(Distribution)
@checked
def distribution(
    table: Table,
    column: str,
    points: Iterable[float],
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the share of rows up to each of some values.

    Parameters
    ----------
    points : list of float
        Rising values.

    Returns
    -------
    Release
        A share for each point.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 6, 9, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.distribution(table, "x", [1, 2, 3], epsilon=1)
    >>> [round(share, 1) for share in found.value.tolist()]
    [0.2, 0.5, 0.7]
    """
    try:
        several = () if isinstance(points, str) else tuple(map(float, points))
    except (TypeError, ValueError, OverflowError):
        several = ()
    if not several:
        raise refuse(points, "points", "numbers, such as [18, 65]")
    return run(table, Distribution(column, several), epsilon, delta, key)


@documented(Inequality)
@checked
def gini(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return Gini's coefficient: 0 if all have the same, near 1 if one has all.

    Parameters
    ----------
    column : str
        A Number column that is never negative.

    Returns
    -------
    Release
        The coefficient.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 6, 9, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> abs(dp.stats.gini(table, "x", epsilon=1).value - 0.25) < 0.05
    True
    """
    return run(table, Inequality(column), epsilon, delta, key)


@documented(Inequality)
@checked
def lorenz(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the shares of the total that the poorest 10 %, 20 %, ... of rows have.

    Parameters
    ----------
    column : str
        A Number column that is never negative.

    Returns
    -------
    Release
        A share for each tenth.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 6, 9, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> len(dp.stats.lorenz(table, "x", epsilon=1).value)
    9
    """
    return run(table, Inequality(column, curve=True), epsilon, delta, key)


@documented(Crosstab)
@checked
def crosstab(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Count rows by several columns, by some of them, and in all: counts add up.

    Parameters
    ----------
    columns : list of str
        Two to five columns that can be groups: categories, whole numbers with few
        values, periods of dates.

    Returns
    -------
    Release
        The counts; where a column is summed up, its part of a key is ``"(all)"``.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"g": dp.Category(["a", "b"]), "h": dp.Category([0, 1])})
    >>> rows = {"g": ["a", "a", "b", "b"] * 500, "h": [0, 1, 0, 1] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dict(dp.stats.crosstab(table, ["g", "h"], epsilon=1).items())
    >>> abs(found["a", "(all)"] - 1000) < 20
    True
    """
    return run(table, Crosstab(names_of(columns)), epsilon, delta, key)


@documented(Top)
@checked
def top(
    table: Table,
    column: str,
    count: int = 10,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the most frequent categories of a column, with their counts.

    Parameters
    ----------
    column : str
        A Category column.
    count : int
        How many.

    Returns
    -------
    Release
        The counts, the largest first.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "g": dp.Category(["a", "b"])})
    >>> rows = {"x": [1, 2, 3, 8] * 500, "g": ["a", "a", "a", "b"] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> dp.stats.top(table, "g", 1, epsilon=1).keys
    ('a',)
    """
    return run(table, Top(column, count), epsilon, delta, key)
