"""Views of tables: columns of earlier rows, conditions, and checks of joins."""

from __future__ import annotations

from typing import Any

from discreto.core.expressions import Step, Where
from discreto.core.history import Lag, RollingMean
from discreto.errors import ParameterError
from discreto.table.rows import TableRows


def lag(column: str, rows: int = 1) -> Lag:
    """Return the value of a column in an earlier row of the same person.

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
    """Return the mean of a column over the rows of the same person before this one.

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


def conditions_of(view: tuple[Step, ...]) -> list[str]:
    """Return the conditions of a view's filters, as labels name them."""
    return [str(step) for step in view if isinstance(step, Where)]


def check_join(first: Any, second: Any) -> None:
    """Refuse a join of two tables that cannot be joined, from public facts."""
    tables = (first, second)
    if not all(isinstance(getattr(t, "_rows", None), TableRows) for t in tables):
        # Silos and services keep their rows.
        raise ParameterError("only tables whose rows are here can be joined.")
    if second.ledger is not first.ledger:
        raise ParameterError(
            "tables that are joined are about the same people, so they need the "
            "same ledger: Table(..., ledger) with one ledger for both."
        )
    if any(table.choosy for table in tables):
        raise ParameterError(
            "rows are joined outside of a database, and the engine has "
            "fetch=False. Join them in the database, or use "
            "DatabaseEngine(fetch=True)."
        )
