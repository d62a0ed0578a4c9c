"""What statistics share: how one is asked, and how group-by answers are laid out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np

from discreto.core.cost import Amount, read_amount
from discreto.core.domain.columns import of_python
from discreto.core.domain.dates import is_date_unit, show_date
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.gate import Noise
from discreto.core.maps import (
    Bins,
    Categories,
    Completeness,
    Cross,
    Everyone,
    WholeGroups,
    present_in,
)
from discreto.core.maps.cells import MISSING, whole_numbers
from discreto.core.query import Cells
from discreto.errors import DomainError, ParameterError
from discreto.release.labels import (
    COLUMN_PRESENT,
    COMPLETE,
    FEW_COMPLETE,
    FEW_IN_COLUMN,
    FEW_PRESENT,
    PRESENT,
    WIDE,
)
from discreto.release.release import Release
from discreto.session.parameters import refuse
from discreto.session.plan import Statistic
from discreto.session.work_limits import check_answer
from discreto.table.table import Table

_MANY = 0.05  # of rows in cells of missing or other values
_FEW_GAPS, _MANY_GAPS = 0.01, 0.2  # of rows without a value: said, and warned of
_NEARLY = 0.9  # of a column's range, from which on an interval says little
MOST_GROUPS = 10_000  # of one column of whole numbers
Names = str | list[str] | tuple[str, ...]
_PLAIN = {str, int, float, bool, tuple, Fraction, type(None)}


def run(
    table: Table, statistic: Statistic, epsilon: Amount, delta: Amount, key: str | None
) -> Release:
    """Ask a table for a statistic."""
    if not isinstance(table, Table):
        raise ParameterError(
            f"{statistic.label!r} needs a Table(data, domain, ledger). Got "
            f"{type(table).__name__}."
        )
    if not _PLAIN.issuperset(map(type, vars(statistic).values())):
        statistic = _with_plain_values(statistic)
    for name in _names_in(type(statistic)):
        value = vars(statistic)[name]
        if not isinstance(value, str):
            raise refuse(value, name, "the name of a column")
    return table.answer(statistic, epsilon=epsilon, delta=delta, key=key)


@cache
def _names_in(kind: Any) -> tuple[str, ...]:
    """Return the fields of a statistic that are names of columns."""
    return tuple(part.name for part in fields(kind) if part.type == "str")


def _with_plain_values(statistic: Any) -> Statistic:
    """Return the same with Python's values for numpy's."""
    found = {}
    for part in fields(statistic):
        value = plain_values(getattr(statistic, part.name))
        found[part.name] = tuple(value) if isinstance(value, list) else value
    out: Statistic = replace(statistic, **found)
    return out


def plain_values(value: Any) -> Any:
    """Return numbers, texts and lists of Python where numpy's were given."""
    if hasattr(value, "tolist"):  # an array, a Series, one number of these
        return value.tolist()
    if isinstance(value, list | tuple):
        return type(value)(map(plain_values, value))
    if isinstance(value, dict):
        return {name: plain_values(one) for name, one in value.items()}
    return of_python(value)


def names_of(names: Iterable[str] | None) -> tuple[str, ...]:
    """Return one name or several, as a tuple."""
    if names is None:
        return ()
    if isinstance(names, str):
        return (of_python(names),)
    try:
        found = tuple(map(of_python, names))
    except TypeError:
        found = (None,)
    if not all(isinstance(name, str) for name in found):
        raise refuse(names, "columns", "the name of a column, or a list of names")
    return found


def grouped(by: tuple[str, ...], inner: Cells, domain: Domain) -> Cells:
    """Return the cells of ``inner`` within each group of the columns ``by``."""
    if not by:
        return inner
    outer = group_cells(by, domain)
    return outer if isinstance(inner, Everyone) else Cross(outer, inner)


def group_cells(by: tuple[str, ...], domain: Domain) -> Cells:
    """Return a cell for each group: of categories, of whole numbers and of days."""
    if all(isinstance(domain[name], Category) for name in by):
        return Categories(by)
    parts = [_one_column(name, domain) for name in by]
    cells = parts[0]
    for part in parts[1:]:
        cells = Cross(cells, part)
    return cells


def _one_column(name: str, domain: Domain) -> Cells:
    column = domain[name]
    if not isinstance(column, Number):
        return Categories((name,))
    count = whole_numbers(column)
    if not 1 <= count <= MOST_GROUPS:
        raise DomainError(
            f"groups of {name!r} would be too many. Make some: dp.col({name!r}).cut("
            "[...]), or .period('month') of a date."
        )
    return WholeGroups(name) if column.missing else Bins(name, count)


def whole_keys(name: str, domain: Domain) -> list[Any]:
    """Return the names of the whole numbers of a column: numbers, or dates."""
    column = domain.number(name)
    first, count = math.ceil(column.lower), whole_numbers(column)
    numbers = range(first, first + count)
    if is_date_unit(column.unit):
        return [show_date(number, column.unit) for number in numbers]
    return list(numbers)


def group_keys(by: tuple[str, ...], domain: Domain) -> tuple[Any, ...]:
    """Return the names of the groups."""
    if not by:
        return ()
    lists = []
    for name in by:
        if isinstance(domain[name], Number):
            gaps = [MISSING] if domain.number(name).missing else []
            lists.append([*whole_keys(name, domain), *gaps])
        else:
            lists.append(list(Categories((name,)).labels(domain)))
    check_answer(math.prod(map(len, lists)), f"groups by {', '.join(by)}")
    return tuple(lists[0]) if len(lists) == 1 else tuple(product(*lists))


def spread(
    label: str,
    values: Any,
    lows: Any,
    highs: Any,
    keys: tuple[Any, ...],
    unit: str = "",
    note: str = "",
    *,
    counts: bool = False,
) -> Release:
    """Return a release of one number, or of one for each key."""
    parts = [np.asarray(part, dtype=float) for part in (values, lows, highs)]
    value, low, high = parts if keys else [float(np.ravel(p)[0]) for p in parts]
    return Release(label, value, low, high, keys, unit, note, counts=counts)


def gaps_note(counts: Any, lows: Any, keys: tuple[Any, ...]) -> str:
    """Return a remark if surely many rows are in cells of missing or other values."""
    parts = [key if isinstance(key, tuple) else (key,) for key in keys]
    if MISSING not in set(chain.from_iterable(parts)):
        return ""
    odd = np.array([MISSING in part for part in parts], dtype=bool)
    sizes = np.maximum(np.ravel(counts).astype(float), 0.0)
    if not odd.any() or np.ravel(lows)[odd].sum() < _MANY * max(sizes.sum(), 1.0):
        return ""
    share = sizes[odd].sum() / sizes.sum()
    return f"{share:.0%} of rows are missing or undeclared values: see domain_fit"


def wide_note(lows: Any, highs: Any, column: Number) -> str:
    """Return a remark if every interval is about as wide as the column's range."""
    narrowest = float(np.min(np.subtract(highs, lows)))
    return WIDE if narrowest >= _NEARLY * (column.upper - column.lower) else ""


def complete_in(names: tuple[str, ...], domain: Domain) -> tuple[Cells, bool]:
    """Return cells of rows with and without a value, where there may be gaps.

    A row is in one of both, so to count those without a value costs nothing and moves
    no bound. The second result is True if there are two cells.
    """
    cells = present_in(names, domain)
    gaps = not isinstance(cells, Everyone)
    return (Completeness(names), True) if gaps else (cells, False)


def parted(sums: Any, noise: Noise, *, gaps: bool) -> tuple[Any, str]:
    """Return sums of the rows with a value, and a remark on how many rows have none.

    Each row must add the same to the sum of its cell's numbers, value or not.
    """
    if not gaps:
        return sums, ""
    present, absent = sums[0::2], sums[1::2]
    return present, present_note(present, absent, noise)


def present_note(present: Any, absent: Any, noise: Noise) -> str:
    """Return a remark if surely over 1 % of rows lack a value, a warning above 20 %."""
    return share_note(*_gaps(present, absent, noise.variance))


def complete_note(
    names: tuple[str, ...], complete: Any, others: Any, variance: float
) -> str:
    """Return a remark of a fit on how many rows have values in all of these columns."""
    if len(names) == 1:
        return column_note(names[0], complete, others, variance)[1]
    share, doubt = _gaps(complete, others, variance)
    return share_note(share, doubt, (COMPLETE, FEW_COMPLETE))


def column_note(
    name: str, present: Any, absent: Any, variance: float
) -> tuple[float, str]:
    """Return the share of rows without a value in a column, and a remark on it."""
    share, doubt = _gaps(present, absent, variance)
    text = share_note(share, doubt, (COLUMN_PRESENT, FEW_IN_COLUMN), column=name)
    return share, text


def _gaps(present: Any, absent: Any, variance: float) -> tuple[float, float]:
    """Return the share of rows without a value, and its standard deviation."""
    yes, no = (float(np.sum(part, dtype=float)) for part in (present, absent))
    rows = yes + no
    deviation = math.sqrt(variance * (np.size(present) + np.size(absent)))
    if rows <= 4 * deviation:
        return 0.0, 0.0  # there are too few rows to say
    share = min(max(no / rows, 0.0), 1.0)
    parts = np.size(absent) * (1 - share) ** 2 + np.size(present) * share**2
    return share, math.sqrt(variance * parts) / rows


def share_note(
    share: float,
    deviation: float,
    forms: tuple[str, str] = (PRESENT, FEW_PRESENT),
    **names: str,
) -> str:
    """Return the remark on an estimated share of rows without a value."""
    surely = share - 2 * deviation
    if surely <= _FEW_GAPS:
        return ""
    form = forms[int(surely > _MANY_GAPS)]
    return form.format(count=f"{100 * (1 - share):.0f}", **names)


def used_note(sums: Any, noise: Noise, used: Any) -> str:
    """Return a remark on how many rows an answer uses; ``used`` selects their cells.

    Each row must add the same to the sum of its cell's numbers, whichever it is.
    """
    kept = np.zeros(np.shape(sums), dtype=bool)
    kept[used] = True
    return present_note(np.asarray(sums)[kept], np.asarray(sums)[~kept], noise)


def notes_of(present: str, other: str) -> str:
    """Return one of two remarks: that many values are missing goes first."""
    return present if is_warning(present) else other or present


def both_notes(present: str, other: str) -> str:
    """Return two remarks: that many values are missing goes first."""
    parts = (present, other) if is_warning(present) else (other, present)
    return "; ".join(filter(None, parts))


def is_warning(present: str) -> bool:
    """Return True if a remark on rows with a value says that many have none."""
    return present.startswith(FEW_PRESENT.partition("{")[0])


def read_probability(value: Amount) -> Fraction:
    """Return a probability, to a ten-thousandth: finer than any answer."""
    chance = read_amount(value, "probability", zero=True)
    if chance > 1:
        raise ParameterError(f"probability must be 0 to 1. Got {value!r}.")
    return chance.limit_denominator(10_000)


def by_text(by: tuple[str, ...]) -> str:
    """Return "by a, b", or an empty text."""
    return f" by {', '.join(by)}" if by else ""
