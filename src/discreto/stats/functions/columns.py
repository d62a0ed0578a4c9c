"""Counts, sums, means, spreads and relations of columns, as functions of a table."""

from __future__ import annotations

from discreto.core.cost import Amount
from discreto.release.release import LEVEL, Release
from discreto.session.parameters import read_level, truth
from discreto.stats._base import Names, names_of, run
from discreto.stats._docstrings import documented
from discreto.stats.covariances import Covariance
from discreto.stats.moments import Count, Mean, Total, Variance
from discreto.stats.population import LeveledMean
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@documented(Count)
@checked
def count(
    table: Table,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Count rows, in all or in each group of public categories.

    Returns
    -------
    Release
        The number of rows, or one for each group.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"sex": dp.Category(["f", "m"], missing=False)})
    >>> rows = {"sex": ["f", "f", "m"] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> dp.stats.count(table, by="sex", epsilon="1/2").keys
    ('f', 'm')
    """
    return run(table, Count(names_of(by)), epsilon, delta, key)


@documented(Total)
@checked
def sum(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the sum of a column; missing values add nothing.

    Returns
    -------
    Release
        The sum, or one for each group.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> abs(dp.stats.sum(table, "age", epsilon=1).value - 120_000) < 2000
    True
    """
    return run(table, Total(column, names_of(by)), epsilon, delta, key)


@documented(Mean)
@checked
def mean(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
    population: bool = False,
    level: float = LEVEL,
) -> Release:
    """Return the mean of a column over the rows in which it is present.

    Returns
    -------
    Release
        The mean, or one for each group, with its 95 % interval.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> mean = dp.stats.mean(table, "age", epsilon=1)
    >>> mean.low < mean.value < mean.high, mean.cost
    (True, Cost(ε 1))
    """
    population, level = truth(population, "population"), read_level(level)
    if population or level != LEVEL:
        asked = LeveledMean(column, names_of(by), level, population)
        return run(table, asked, epsilon, delta, key)
    return run(table, Mean(column, names_of(by)), epsilon, delta, key)


@documented(Variance)
@checked
def variance(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the variance of a column (divided by n, as in numpy).

    Returns
    -------
    Release
        The variance; missing values do not count.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> abs(dp.stats.variance(table, "age", epsilon=1).value - 800 / 3) < 20
    True
    """
    return run(table, Variance(column, by=names_of(by)), epsilon, delta, key)


@documented(Variance)
@checked
def std(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the standard deviation of a column (divided by n, as in numpy).

    Returns
    -------
    Release
        The standard deviation; missing values do not count.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> abs(dp.stats.std(table, "age", epsilon=1).value - 16.3) < 1
    True
    """
    statistic = Variance(column, root=True, by=names_of(by))
    return run(table, statistic, epsilon, delta, key)


@documented(Covariance)
@checked
def covariance(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the covariance of two columns, or the matrix of several.

    Parameters
    ----------
    columns : str or list of str
        Two or more Number columns.

    Returns
    -------
    Release
        A number for two columns, else a matrix.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120), "pay": dp.Number(0, 9000)})
    >>> rows = {"age": [20, 40, 60] * 1000, "pay": [2000, 3000, 4000] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.covariance(table, ["age", "pay"], epsilon=1)
    >>> abs(found.value - 40_000 / 3) < 2000
    True
    """
    return run(table, Covariance(names_of(columns)), epsilon, delta, key)


@documented(Covariance)
@checked
def correlation(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the correlation of two columns, or the matrix of several.

    Parameters
    ----------
    columns : str or list of str
        Two or more Number columns.

    Returns
    -------
    Release
        A number for two columns, else a matrix.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120), "pay": dp.Number(0, 9000)})
    >>> rows = {"age": [20, 40, 60] * 1000, "pay": [2000, 3000, 4000] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> dp.stats.correlation(table, ["age", "pay"], epsilon=1).value > 0.8
    True
    """
    statistic = Covariance(names_of(columns), correlation=True)
    return run(table, statistic, epsilon, delta, key)
