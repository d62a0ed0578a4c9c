"""Histograms, quantiles, extremes and ranges of columns, as functions of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreto.core.cost import Amount
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.parameters import truth
from discreto.stats._base import Names, names_of, plain_values, read_probability, run
from discreto.stats._docstrings import documented
from discreto.stats.extremes import Extremum
from discreto.stats.histograms import Bounds, Histogram, Mode, bins_by_column
from discreto.stats.quantiles import Quantile, Quantiles
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@documented(Histogram)
@checked
def histogram(
    table: Table,
    columns: Names,
    *,
    bins: int | Sequence[Any] | Mapping[str, Any] | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Count rows by category or bin; several columns make a contingency table.

    Parameters
    ----------
    columns : str or list of str
        Number or Category columns; several are crossed.
    bins : int, list of float, dict or list of them, optional
        The number of equal bins of each Number column, or the cuts between them. A dict
        has them by column, a list of lists for each column in turn. By default 20, or a
        bin for each whole number where there are fewer.

    Returns
    -------
    Release
        A count for each of its ``keys``: categories or ranges. ``matrix()`` has the
        counts of two columns as a table with a line for each bin of the first.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"sex": dp.Category(["f", "m"], missing=False)})
    >>> rows = {"sex": ["f", "f", "m"] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> dp.stats.histogram(table, "sex", epsilon="1/2").keys
    ('f', 'm')
    """
    names = names_of(columns)
    asked = Histogram(names, bins_by_column(bins, names))
    return run(table, asked, epsilon, delta, key)


@documented(Mode)
@checked
def mode(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the most frequent category (or whole number) of a column.

    Parameters
    ----------
    column : str
        A Category (or integer Number) column of the domain.

    Returns
    -------
    Release
        The value alone; ``high`` says how many rows it may be short of the true mode.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"sex": dp.Category(["f", "m"], missing=False)})
    >>> rows = {"sex": ["f", "f", "m"] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> dp.stats.mode(table, "sex", epsilon="1/2").value
    'f'
    """
    return run(table, Mode(column), epsilon, delta, key)


@documented(Quantile)
@checked
def quantile(
    table: Table,
    column: str,
    probability: Amount | list[Amount] | tuple[Amount, ...],
    *,
    by: Names | None = None,
    population: bool = False,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return one quantile, or several for the cost of one question.

    Parameters
    ----------
    probability : number or list of numbers
        From 0 to 1, in the forms of ``epsilon``; a list gives several for one cost.
    population : bool
        Whether the interval is for the population that the rows were drawn from, noise
        and sampling together, and not for this table. Not with ``by`` or a list.

    Returns
    -------
    Release
        The quantile, or one for each probability.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> dp.stats.quantile(table, "age", [0.1, 0.9], epsilon=1).keys
    (0.1, 0.9)
    """
    probability = plain_values(probability)
    if isinstance(probability, list | tuple) or by is not None:
        _refuse_population(population)
        listed = probability if isinstance(probability, list | tuple) else [probability]
        several = tuple(read_probability(p) for p in listed)
        return run(table, Quantiles(column, several, names_of(by)), epsilon, delta, key)
    asked = Quantile(
        column, read_probability(probability), truth(population, "population")
    )
    return run(table, asked, epsilon, delta, key)


@documented(Quantile)
@checked
def median(
    table: Table,
    column: str,
    *,
    by: Names | None = None,
    population: bool = False,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return the median of a column.

    Parameters
    ----------
    population : bool
        Whether the interval is for the population that the rows were drawn from, noise
        and sampling together, and not for this table. Not with ``by`` or a list.

    Returns
    -------
    Release
        The median with its 95 % interval.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> median = dp.stats.median(table, "age", epsilon=1)
    >>> median.low <= 40 <= median.high
    True
    """
    if by is not None:
        _refuse_population(population)
        several = Quantiles(column, (Fraction(1, 2),), names_of(by))
        return run(table, several, epsilon, delta, key)
    asked = Quantile(column, population=truth(population, "population"))
    return run(table, asked, epsilon, delta, key)


def _refuse_population(wanted: bool) -> None:
    if truth(wanted, "population"):
        raise ParameterError(
            "population=True is for one quantile of all rows: ask for them one by one."
        )


@documented(Extremum)
@checked
def min(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return about the smallest value: the place that only a few rows lie below.

    Returns
    -------
    Release
        The place; its ``note`` says about how many rows lie beyond it.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> abs(dp.stats.min(table, "age", epsilon=1).value - 20) < 1
    True
    """
    return run(table, Extremum(column, "low"), epsilon, delta, key)


@documented(Extremum)
@checked
def max(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return about the largest value: the place that only a few rows lie above.

    Returns
    -------
    Release
        The place; its ``note`` says about how many rows lie beyond it.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.testing.simulate(0)
    >>> table = dp.Table({"age": [20, 40, 60] * 1000}, domain, ledger)
    >>> abs(dp.stats.max(table, "age", epsilon=1).value - 60) < 1
    True
    """
    return run(table, Extremum(column, "high"), epsilon, delta, key)


@documented(Bounds)
@checked
def bounds(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return a range that holds nearly all values of a column with unknown bounds.

    Parameters
    ----------
    column : str
        A Number column; its bounds in the domain are a crude outer range.

    Returns
    -------
    Release
        Two numbers, ``lower`` and ``upper``, at powers of two.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"pay": dp.Number(-1e12, 1e12)})
    >>> table = dp.Table({"pay": [2000.0] * 3000}, domain, dp.testing.simulate(0))
    >>> dp.stats.bounds(table, "pay", epsilon=1).items()
    [('lower', 1024.0), ('upper', 2048.0)]
    """
    return run(table, Bounds(column), epsilon, delta, key)
