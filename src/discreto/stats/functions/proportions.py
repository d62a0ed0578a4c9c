"""Shares, quotients and weighted means, as functions of a table."""

from __future__ import annotations

from discreto.core.cost import Amount
from discreto.release.release import LEVEL, Release
from discreto.session.parameters import read_level, truth
from discreto.session.plan import Statistic
from discreto.stats._base import Names, names_of, run
from discreto.stats._docstrings import documented
from discreto.stats.population import LeveledShare
from discreto.stats.ratios import Proportion, RatioOfSums, WeightedMean
from discreto.table.expression_text import expression
from discreto.table.expressions import Expr
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@documented(Proportion)
@checked
def proportion(
    table: Table,
    condition: Expr | str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
    population: bool = False,
    level: float = LEVEL,
) -> Release:
    """Return the share of rows for which a condition is true.

    Parameters
    ----------
    condition : Expr or str
        ``dp.col("age") >= 65``, or the text ``"age >= 65"``. Rows where it is unknown,
        as a value is missing, do not count.
    by : str or list of str, optional
        Category columns; the answer then has one share for each group.

    Returns
    -------
    Release
        The share, or one for each group.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "g": dp.Category(["a", "b"])})
    >>> rows = {"x": [1, 2, 3, 8] * 500, "g": ["a", "a", "a", "b"] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.proportion(table, "x > 5", epsilon=1)
    >>> abs(found.value - 0.25) < 0.02
    True
    """
    asked: Statistic = Proportion(expression(condition), names_of(by))
    population, level = truth(population, "population"), read_level(level)
    if population or level != LEVEL:
        asked = LeveledShare(expression(condition), names_of(by), level, population)
    return run(table, asked, epsilon, delta, key)


@documented(RatioOfSums)
@checked
def ratio(
    table: Table,
    numerator: str,
    denominator: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the sum of one column divided by the sum of another.

    Parameters
    ----------
    numerator, denominator : str
        Number columns; the denominator is never negative.

    Returns
    -------
    Release
        The ratio.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 6, 9, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> abs(dp.stats.ratio(table, "y", "x", epsilon=1).value - 3) < 0.1
    True
    """
    return run(table, RatioOfSums(numerator, denominator), epsilon, delta, key)


@documented(WeightedMean)
@checked
def weighted_mean(
    table: Table,
    column: str,
    weights: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the mean of a column in which every row counts by its weight.

    Parameters
    ----------
    weights : str
        A Number column that is never negative.

    Returns
    -------
    Release
        The weighted mean.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 6, 9, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> abs(dp.stats.weighted_mean(table, "x", "y", epsilon=1).value - 3) < 0.2
    True
    """
    return run(table, WeightedMean(column, weights), epsilon, delta, key)
