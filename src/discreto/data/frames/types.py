"""Refusals of tables: by the names and types of their columns, never by values.

Names and types are public. Lists, arrays of objects and sheets have no types: their
values are read one by one, and a value that is not a number is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from discreto.core.domain.date_formats import COUNTED
from discreto.core.domain.dates import DateTime
from discreto.core.domain.domain import Category, Domain, Number, Opaque
from discreto.data.frames.cells import number
from discreto.data.frames.refusal_texts import (
    lacking,
    not_a_category,
    not_a_number,
    separator_hint,
    unusable,
)

Kind = Literal["number", "truth", "text", "date", "other"] | None  # None: no type
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
        # A file without a header begins with a person's row, which no error may show.
        named = any(name in domain.columns for name in present)
        # Of a header that was not cut, only the mark that should have cut it is shown.
        marks = [m for m in ";\t|," if len(present) == 1 and m in present[0]]
        hint = separator_hint(marks[0]) if marks else ""
        raise lacking(absent, present if named else (), hint)


def check_types(domain: Domain, kinds: dict[str, Kind]) -> None:
    """Refuse columns whose type cannot hold what the domain says."""
    for name, kind in kinds.items():
        column = domain[name]
        if kind is None or isinstance(column, Opaque):
            continue
        if isinstance(column, DateTime):
            counted = domain.dialect is not None and domain.dialect.dates in COUNTED
            if kind not in ("date", "text", *(["number"] if counted else [])):
                raise unusable(name, "a date", kind)
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
    raise not_a_number(name, kind)


def _check_category(name: str, column: Category, kind: Kind) -> None:
    if kind in ("date", "other"):
        raise unusable(name, "a Category", kind)
    if kind == "text" or any(number(v) == number(v) for v in column.categories):
        return
    # No number and no truth can be one of these texts, whatever the rows are.
    raise not_a_category(name, kind, column.categories[0])


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
