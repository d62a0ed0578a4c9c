"""Differences, relations and trends of a population, as functions of a table."""

from __future__ import annotations

from discreto.core.cost import Amount
from discreto.release.release import Release
from discreto.stats._base import read_probability, run
from discreto.stats._docstrings import documented
from discreto.stats.comparisons import (
    Independence,
    MeanDifference,
    ProportionDifference,
)
from discreto.stats.quantile_differences import QuantileDifference
from discreto.stats.trends import CorrelationTest, Trend
from discreto.table.expression_text import expression
from discreto.table.expressions import Expr
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@documented(MeanDifference)
@checked
def mean_difference(
    table: Table,
    column: str,
    group: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Compare a mean in two groups: second less first, with a p-value.

    Returns
    -------
    Release
        The difference with an interval for the population, and a two-sided p-value.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "g": dp.Category(["a", "b"])})
    >>> rows = {"x": [1, 2, 3, 8] * 500, "g": ["a", "a", "a", "b"] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.mean_difference(table, "x", "g", epsilon=1)
    >>> found.keys, bool(abs(found.value[0] - 6) < 0.2)
    (('difference', 'p-value'), True)
    """
    return run(table, MeanDifference(column, group), epsilon, delta, key)


@documented(ProportionDifference)
@checked
def proportion_difference(
    table: Table,
    condition: Expr | str,
    group: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Compare a share in two groups: second less first, with a p-value.

    Returns
    -------
    Release
        The difference with an interval for the population, and a two-sided p-value.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "g": dp.Category(["a", "b"])})
    >>> rows = {"x": [1, 2, 3, 8] * 500, "g": ["a", "a", "a", "b"] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.proportion_difference(table, "x > 5", "g", epsilon=1)
    >>> bool(abs(found.value[0] - 1) < 0.05)
    True
    """
    return run(
        table, ProportionDifference(expression(condition), group), epsilon, delta, key
    )


@documented(QuantileDifference)
@checked
def quantile_difference(
    table: Table,
    column: str,
    group: str,
    probability: Amount = "1/2",
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Compare a quantile in two groups: second less first, with a p-value.

    Parameters
    ----------
    probability : int, float, str or Fraction
        Between 0 and 1; 1/2, the median, by default.

    Returns
    -------
    Release
        The difference with an interval for the population, and a two-sided p-value.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "g": dp.Category(["a", "b"])})
    >>> rows = {"x": [1, 2, 3, 8] * 500, "g": ["a", "a", "a", "b"] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.quantile_difference(table, "x", "g", epsilon=1)
    >>> found.keys, bool(abs(found.value[0] - 6) < 0.2)
    (('difference', 'p-value'), True)
    """
    asked = QuantileDifference(column, group, read_probability(probability))
    return run(table, asked, epsilon, delta, key)


@documented(Independence)
@checked
def independence(
    table: Table,
    first: str,
    second: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Test two categories for independence: chi-square of their table, and a p-value.

    Parameters
    ----------
    first, second : str
        Category columns.

    Returns
    -------
    Release
        The statistic and its p-value, which takes the noise into account.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"g": dp.Category(["a", "b"]), "h": dp.Category([0, 1])})
    >>> rows = {"g": ["a", "a", "b", "b"] * 500, "h": [0, 1, 0, 1] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> float(dp.stats.independence(table, "g", "h", epsilon=1).value[1]) > 0.05
    True
    """
    return run(table, Independence(first, second), epsilon, delta, key)


@documented(CorrelationTest)
@checked
def correlation_test(
    table: Table,
    first: str,
    second: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the correlation of two columns in the population, and a p-value.

    Parameters
    ----------
    first, second : str
        Number columns.

    Returns
    -------
    Release
        The correlation with an interval for the population, and a two-sided p-value.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 9, 6, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.correlation_test(table, "x", "y", epsilon=1)
    >>> bool(abs(found.value[0] - 0.8) < 0.1), bool(found.value[1] < 0.001)
    (True, True)
    """
    return run(table, CorrelationTest(first, second), epsilon, delta, key)


@documented(Trend)
@checked
def trend(
    table: Table,
    column: str,
    on: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the straight line of one column on another: slope, intercept, p-value.

    Parameters
    ----------
    column : str
        The Number column that is explained.
    on : str
        The Number column that explains it.

    Returns
    -------
    Release
        Slope and intercept with intervals for the population, and a p-value.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"x": dp.Number(0, 10), "y": dp.Number(0, 30)})
    >>> rows = {"x": [1, 2, 3, 4] * 500, "y": [3, 6, 9, 12] * 500}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> bool(abs(dp.stats.trend(table, "y", "x", epsilon=1).value[0] - 3) < 0.3)
    True
    """
    return run(table, Trend(column, on), epsilon, delta, key)
