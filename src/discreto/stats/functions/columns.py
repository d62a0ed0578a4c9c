"""Counts, sums, means, spreads and relations of columns, as functions of a table."""

from __future__ import annotations

from discreto.core.cost import Amount
from discreto.release.release import LEVEL, Release
from discreto.session.parameters import read_level, truth
from discreto.stats._base import Names, names_of, run
from discreto.stats.covariances import Covariance
from discreto.stats.moments import Count, Mean, Total, Variance
from discreto.stats.population import LeveledMean
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@checked
def count(
    table: Table,
    *,
    by: Names | None = None,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """How many rows there are, in all or in each group of public categories.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    by : str or list of str, optional
        Category columns; the answer then has one number for each group.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        The number of rows, or one for each group.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Count`.

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
    """The sum of a column; missing values add nothing.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column of the domain.
    by : str or list of str, optional
        Category columns; the answer then has one number for each group.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        The sum, or one for each group.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Total`.

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
    """The mean of a column over the rows in which it is present.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column of the domain.
    by : str or list of str, optional
        Category columns; the answer then has one number for each group.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).
    population
        Whether the interval is for the population that the rows were drawn from, noise
        and sampling together, and not for this table.
    level
        With what probability the interval covers.

    Returns
    -------
    Release
        The mean, or one for each group, with its 95 % interval.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Mean`.

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
    """The variance of a column (divided by n, as in numpy).

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column of the domain.
    by : str or list of str, optional
        Category columns; the answer then has one for each group.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        The variance; missing values do not count.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Variance`.

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
    """The standard deviation of a column (divided by n, as in numpy).

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column of the domain.
    by : str or list of str, optional
        Category columns; the answer then has one for each group.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        The standard deviation; missing values do not count.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Variance`.

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


@checked
def covariance(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The covariance of two columns, or the matrix of several.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    columns : str or list of str
        Two or more Number columns.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        A number for two columns, else a matrix.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Covariance`.

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


@checked
def correlation(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """The correlation of two columns, or the matrix of several.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    columns : str or list of str
        Two or more Number columns.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        A number for two columns, else a matrix.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Covariance`.

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
