"""Columns from the earlier rows of the same person, for ``table.with_history``."""

from __future__ import annotations

from discreto.core.history import Lag, RollingMean


def lag(column: str, rows: int = 1) -> Lag:
    """The value of a column in an earlier row of the same person.

    For ``table.with_history``; missing where there is no such row.

    Parameters
    ----------
    column
        Whose value.
    rows
        How many rows earlier.

    Examples
    --------
    >>> print(lag("delay", 2))
    lag(delay, 2)
    """
    return Lag(column, rows)


def rolling_mean(column: str, rows: int) -> RollingMean:
    """The mean of a column over the rows of the same person before this one.

    For ``table.with_history``; as ``shift(1).rolling(rows, min_periods=1).mean()`` of
    pandas, for each person.

    Parameters
    ----------
    column
        A column of numbers.
    rows
        Over so many rows, or fewer where a person has fewer. Gaps are left out.

    Examples
    --------
    >>> print(rolling_mean("delay", 5))
    rolling_mean(delay, 5)
    """
    return RollingMean(column, rows)
