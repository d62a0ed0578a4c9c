"""Private statistics of a table.

Every function asks the table one question (or one small conversation), charges its
ledger ``epsilon`` and returns a :class:`~discreto.Release`. With a ``delta`` the noise
is Gaussian and the charge is the matching rho. A ``key`` makes repeating safe: the
same key gives the same stored answer and costs nothing more.

Each function has a class of the same meaning (``mean``: ``Mean``) that is only data:
plan it with ``discreto.plan.statistics`` or ask several at once with ``table.answers``.
"""

from __future__ import annotations

from fractions import Fraction

from discreto.core.cost import Amount, read_amount
from discreto.errors import ParameterError
from discreto.release import Release
from discreto.stats._base import names_of, run
from discreto.stats.covariances import Covariance
from discreto.stats.histograms import Bounds, Histogram, Mode
from discreto.stats.moments import Count, Mean, Total, Variance
from discreto.stats.quantiles import Extremum, Quantile, Quantiles
from discreto.tables import Table

Names = str | list[str] | tuple[str, ...]


def count(
    table: Table,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """How many rows there are, in all or in each group of public categories."""
    return run(table, Count(names_of(by)), epsilon, delta, key)


def sum(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The sum of a column; missing values add nothing."""
    return run(table, Total(column, names_of(by)), epsilon, delta, key)


def mean(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The mean of a column over the rows in which it is present."""
    return run(table, Mean(column, names_of(by)), epsilon, delta, key)


def variance(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The variance of a column (divided by n, as in numpy)."""
    return run(table, Variance(column), epsilon, delta, key)


def std(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The standard deviation of a column (divided by n, as in numpy)."""
    return run(table, Variance(column, root=True), epsilon, delta, key)


def covariance(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The covariance of two columns, or the matrix of several."""
    return run(table, Covariance(names_of(columns)), epsilon, delta, key)


def correlation(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The correlation of two columns, or the matrix of several."""
    statistic = Covariance(names_of(columns), correlation=True)
    return run(table, statistic, epsilon, delta, key)


def histogram(
    table: Table,
    columns: Names,
    *,
    bins: int | list[float] | tuple[float, ...] | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Counts by category or bin; several columns make a contingency table.

    ``bins`` is the number of equal bins of Number columns, or a list of cuts.
    """
    fixed = tuple(bins) if isinstance(bins, list | tuple) else bins
    return run(table, Histogram(names_of(columns), fixed), epsilon, delta, key)


def mode(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The most frequent category (or whole number) of a column."""
    return run(table, Mode(column), epsilon, delta, key)


def quantile(
    table: Table,
    column: str,
    probability: Amount | list[Amount] | tuple[Amount, ...],
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """One quantile, or several for the cost of one question."""
    if isinstance(probability, list | tuple):
        several = tuple(_probability(p) for p in probability)
        return run(table, Quantiles(column, several), epsilon, delta, key)
    return run(table, Quantile(column, _probability(probability)), epsilon, delta, key)


def median(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The median of a column."""
    return run(table, Quantile(column), epsilon, delta, key)


def min(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """About the smallest value: the place that only a few rows lie below."""
    return run(table, Extremum(column, "low"), epsilon, delta, key)


def max(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """About the largest value: the place that only a few rows lie above."""
    return run(table, Extremum(column, "high"), epsilon, delta, key)


def bounds(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """A range that holds nearly all values, for a column whose bounds nobody knows."""
    return run(table, Bounds(column), epsilon, delta, key)


def _probability(value: Amount) -> Fraction:
    chance = read_amount(value, "probability", zero=True)
    if chance > 1:
        raise ParameterError(f"probability must be 0 to 1. Got {value!r}.")
    return chance.limit_denominator(10_000)


__all__ = [
    "Bounds",
    "Count",
    "Covariance",
    "Extremum",
    "Histogram",
    "Mean",
    "Mode",
    "Quantile",
    "Quantiles",
    "Total",
    "Variance",
    "bounds",
    "correlation",
    "count",
    "covariance",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "quantile",
    "std",
    "sum",
    "variance",
]
