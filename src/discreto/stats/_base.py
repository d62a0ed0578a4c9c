"""What statistics share: how one is asked, and how group-by answers are laid out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.cost import Amount, read_amount
from discreto.core.domain import Domain
from discreto.core.maps import Categories, Cross, Everyone
from discreto.core.query import Cells
from discreto.errors import ParameterError
from discreto.plan import Statistic
from discreto.release import Release
from discreto.tables import Table

Names = str | list[str] | tuple[str, ...]


def run(
    table: Table, statistic: Statistic, epsilon: Amount, delta: Amount, key: str | None
) -> Release:
    """Ask a table for a statistic."""
    if not isinstance(table, Table):
        raise ParameterError(
            f"{statistic.label!r} needs a Table(data, domain, ledger). Got "
            f"{type(table).__name__}."
        )
    return table.answer(statistic, epsilon=epsilon, delta=delta, key=key)


def names_of(names: Names | None) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def grouped(by: tuple[str, ...], inner: Cells) -> Cells:
    """The cells of ``inner`` within each group of the columns ``by``."""
    if not by:
        return inner
    outer = Categories(by)
    return outer if isinstance(inner, Everyone) else Cross(outer, inner)


def group_keys(by: tuple[str, ...], domain: Domain) -> tuple[Any, ...]:
    """The names of the groups."""
    return tuple(Categories(by).labels(domain)) if by else ()


def spread(
    label: str,
    values: Any,
    lows: Any,
    highs: Any,
    keys: tuple[Any, ...],
    unit: str = "",
    note: str = "",
) -> Release:
    """A release of one number, or of one for each key."""
    parts = [np.asarray(part, dtype=float) for part in (values, lows, highs)]
    value, low, high = parts if keys else [float(np.ravel(p)[0]) for p in parts]
    return Release(label, value, low, high, keys, unit, note)


def read_probability(value: Amount) -> Fraction:
    """A probability, to a ten-thousandth: finer than any answer."""
    chance = read_amount(value, "probability", zero=True)
    if chance > 1:
        raise ParameterError(f"probability must be 0 to 1. Got {value!r}.")
    return chance.limit_denominator(10_000)


def by_text(by: tuple[str, ...]) -> str:
    """ "by a, b", or nothing."""
    return f" by {', '.join(by)}" if by else ""
