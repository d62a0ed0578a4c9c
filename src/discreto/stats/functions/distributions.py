"""Distributions, inequality, tables of counts and frequent values of a table."""

from __future__ import annotations

from collections.abc import Iterable

from discreto.core.cost import Amount
from discreto.release.release import Release
from discreto.session.parameters import refuse
from discreto.stats._base import Names, names_of, run
from discreto.stats.crosstabs import Crosstab
from discreto.stats.distributions import Distribution, Inequality
from discreto.stats.histograms import Top
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


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
    """The share of rows up to each of some values.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column.
    points : list of float
        Rising values.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0: Gaussian noise, and the charge is the rho that (ε, δ)
        allows.
    key : str, optional
        A name for this request: asked again under it, the stored answer costs nothing
        more. The table needs a name (files have their path).

    Returns
    -------
    Release
        A share for each point.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Distribution`.

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


@checked
def gini(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Gini's coefficient: 0 if all have the same, near 1 if one has all.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column that is never negative.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0: Gaussian noise, and the charge is the rho that (ε, δ)
        allows.
    key : str, optional
        A name for this request: asked again under it, the stored answer costs nothing
        more. The table needs a name (files have their path).

    Returns
    -------
    Release
        The coefficient.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Inequality`.

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


@checked
def lorenz(
    table: Table,
    column: str,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """What share of all there is the poorest 10 %, 20 %, ... have.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column that is never negative.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0: Gaussian noise, and the charge is the rho that (ε, δ)
        allows.
    key : str, optional
        A name for this request: asked again under it, the stored answer costs nothing
        more. The table needs a name (files have their path).

    Returns
    -------
    Release
        A share for each tenth.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Inequality`.

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


@checked
def crosstab(
    table: Table,
    columns: Names,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Counts by several columns, and by some of them, and in all: they add up.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    columns : list of str
        Two to five columns that can be groups: categories, whole numbers with few
        values, periods of dates.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0: Gaussian noise, and the charge is the rho that (ε, δ)
        allows.
    key : str, optional
        A name for this request: asked again under it, the stored answer costs nothing
        more. The table needs a name (files have their path).

    Returns
    -------
    Release
        The counts; where a column is summed up, its part of a key is ``"(all)"``.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Crosstab`.

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
    """The most frequent categories of a column, with their counts.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    column : str
        A Category column.
    count : int
        How many.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0: Gaussian noise, and the charge is the rho that (ε, δ)
        allows.
    key : str, optional
        A name for this request: asked again under it, the stored answer costs nothing
        more. The table needs a name (files have their path).

    Returns
    -------
    Release
        The counts, the largest first.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`Top`.

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
