"""Refusals of tables: by the names and types of their columns, never by values.

Names and types are public. Lists, arrays of objects and sheets have no types: their
values are read one by one, and a value that is not a number is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from discreto.core.domain.date_formats import COUNTED
from discreto.core.domain.dates import DateTime
from discreto.core.domain.domain import Category, Domain, Number, Opaque
from discreto.data.frames.cells import number
from discreto.errors import DomainError

Kind = Literal["number", "truth", "text", "date", "other"] | None  # None: no type
_WORDS = {
    "number": "number",
    "truth": "true and false",
    "date": "date",
    "other": "other (nested, binary, durations)",
}
_NUMPY = {
    **dict.fromkeys("fiu", "number"),
    "b": "truth",
    **dict.fromkeys("US", "text"),
    "M": "date",
    **dict.fromkeys("mcV", "other"),
}


def need_columns(domain: Domain, present: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the domain."""
    absent = [name for name in domain if name not in set(present)]
    if absent:
        # A file without a header begins with somebody's row, which no error may show.
        named = any(name in domain.columns for name in present)
        has = f"; it has {some(present)}" if named else ""
        raise DomainError(
            f"the table lacks the column{'s' if len(absent) > 1 else ''} "
            f"{some(absent)} of the domain{has}. Take them out of the domain or give a "
            "table that has them." + _hint(present)
        )


def some(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, not too many of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _hint(present: Sequence[str]) -> str:
    """What to say of a table whose only column looks like a whole line."""
    for mark in (";", "\t", "|", ","):
        if len(present) == 1 and mark in present[0]:
            decimal = "," if mark == ";" else "."
            name = "tab" if mark == "\t" else mark
            return (
                f" Its first line seems to be separated by {mark!r}. Say so, and how "
                f"decimals are written: Dialect(separator={mark!r}, decimal="
                f"{decimal!r}), or --dialect 'separator={name}' --dialect "
                f"'decimal={decimal}'."
            )
    return ""


def check_types(domain: Domain, kinds: dict[str, Kind]) -> None:
    """Refuse columns whose type cannot hold what the domain says."""
    for name, kind in kinds.items():
        column = domain[name]
        if kind is None or isinstance(column, Opaque):
            continue
        if isinstance(column, DateTime):
            counted = domain.dialect is not None and domain.dialect.dates in COUNTED
            if kind not in ("date", "text", *(["number"] if counted else [])):
                raise _unusable(name, "a date", kind)
        elif isinstance(column, Number):
            _check_number(name, kind, written=domain.dialect is not None)
        else:
            _check_category(name, column, kind)


def spells_numbers(domain: Domain, kinds: Mapping[str, Kind]) -> bool:
    """Return True if a column of numbers or dates is stored as texts."""
    columns = domain.columns.items()
    return any(kinds.get(n) == "text" for n, c in columns if isinstance(c, Number))


def _check_number(name: str, kind: Kind, *, written: bool) -> None:
    if kind in ("number", "truth") or (kind == "text" and written):
        return
    if kind == "date":
        raise DomainError(
            f"column {name!r} is a Number in the domain but holds dates or times. "
            "Declare it Date('2020-01-01', '2029-12-31') or DateTime(...), or make a "
            "number of it."
        )
    if kind == "text":
        raise DomainError(
            f"column {name!r} is a Number in the domain but holds texts (or texts "
            "among others). With decimal commas, say so: Table(..., "
            "dialect=dp.Dialect(decimal=',')), or pd.read_csv(..., decimal=',') where "
            "pandas reads the file. Without them, convert it first: "
            "pd.to_numeric(column, errors='coerce') makes a gap of what is no number, "
            "and of '72,4'."
        )
    raise _unusable(name, "a Number", kind)


def _check_category(name: str, column: Category, kind: Kind) -> None:
    if kind in ("date", "other"):
        raise _unusable(name, "a Category", kind)
    if kind == "text" or any(_numeric(value) for value in column.categories):
        return
    # No number and no truth can be one of these texts, whatever the rows are.
    first = column.categories[0]
    found = "true and false" if kind == "truth" else "numbers"
    raise DomainError(
        f"column {name!r} holds {found}, and none of its categories is a number: "
        f"{first!r}, ... Declare the values as they are stored, such as "
        "Category([0, 1]), or convert the column."
    )


def _numeric(value: object) -> bool:
    return not math.isnan(number(value))


def _unusable(name: str, wanted: str, kind: Kind) -> DomainError:
    found = _WORDS.get(str(kind), "other")
    return DomainError(
        f"column {name!r} is {wanted} in the domain but holds {found} values. Change "
        "the domain or convert the column."
    )


def kind_of(values: Any) -> Kind:
    """The kind of a column in memory, by its type alone."""
    if isinstance(values, np.ndarray):
        return _NUMPY.get(values.dtype.kind)  # type: ignore[return-value]
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    dtype = series.dtype
    if dtype == nw.Categorical and series.implementation.is_pandas():
        # Codes of numbers are numbers: how they are stored is a type as well.
        return _NUMPY.get(series.to_native().cat.categories.dtype.kind, "text")  # type: ignore[return-value]
    return kind_of_dtype(dtype)


def kind_of_dtype(dtype: Any) -> Kind:
    """The kind of a column of a frame or of a database."""
    import narwhals as nw

    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "truth"
    if dtype == nw.Date or isinstance(dtype, nw.Datetime):
        return "date"
    if dtype.is_nested() or dtype.is_temporal() or dtype == nw.Binary:
        return "other"
    if dtype == nw.Unknown:
        return None  # a column of nothing at all
    # Objects of a pandas frame are texts, or texts among other things.
    return "text"


def arrow_kind(kind: Any) -> Kind:
    """The kind of an arrow column."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return None
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    views = getattr(types, "is_string_view", types.is_string)
    text = types.is_string(kind) or types.is_large_string(kind) or views(kind)
    return "text" if text else "other"
