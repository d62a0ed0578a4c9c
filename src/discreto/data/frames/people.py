"""Whose row it is: identifiers in one form, whatever type they are stored in.

An identifier is a text. A number is the text that writes it in the shortest way, whole
numbers without a point, and a truth is the number 0 or 1: so 1, 1.0, "1" and True are
one person, as they are when one file stores numbers and the next one texts. Texts stay
as they are: "1.0", "01" and " 1" are other people than "1". Nothing (None, NaN, NaT,
the empty text), the words that a dialect has for gaps, and things that are no text,
number, date or UUID are no identifiers. A word is compared with an identifier's form:
"-999" and "-999.0" stand for the number -999, and each for its own text.

The form of a row's identifier depends on that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from discreto.core.domain.dialect import Dialect
from discreto.data.frames.convert import plain
from discreto.data.frames.frame_checks import Array
from discreto.data.frames.gaps import gaps_of, name_of_number

_DIGITS = 400  # of a whole decimal that is written out


def people_of(values: Any, dialect: Dialect | None = None) -> Array:
    """Identifiers: a private array of whole numbers, or of texts and None."""
    gaps = gaps_of(dialect or Dialect()).names
    with suppress(Exception):
        values = _whole_numbers(values)
    flat = plain(values)
    if flat.dtype.kind in "iub":
        whole = flat.astype(np.uint64 if flat.dtype.kind == "u" else np.int64)
        # By the words, not by whether a row has one: what a row becomes, and in which
        # form, does not depend on others.
        if not any(word.lstrip("-").isdigit() for word in gaps):
            return whole
        return _without(whole.tolist(), gaps)
    if flat.dtype.kind == "f":
        different, place = np.unique(flat, return_inverse=True)
        return _without(different.tolist(), gaps)[place]
    if flat.dtype.kind in "mM":
        texts = [str(value) for value in flat]
        return _without([None if text == "NaT" else text for text in texts], gaps)
    return _without(flat.tolist(), gaps)


def _without(several: Sequence[object], gaps: frozenset[str]) -> Array:
    """Identifiers as texts, None in place of gaps."""
    names = [name_of(value) for value in several]
    return _texts([None if name in gaps else name for name in names])


def _whole_numbers(values: Any) -> Any:
    """Whole numbers some of which lack, not by way of floats: they would round."""
    import narwhals as nw
    import pyarrow as pa

    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype.is_integer():
        values = series.to_arrow()
    arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    if arrow and pa.types.is_integer(values.type) and values.null_count:
        return _texts(values.to_pylist())
    return values


def _texts(several: Sequence[object]) -> Array:
    return np.fromiter(several, dtype=object, count=len(several))


def join(parts: Sequence[Array]) -> Array:
    """One array of the identifiers of several files."""
    if len({part.dtype for part in parts}) > 1:
        parts = [
            part if part.dtype == object else _texts([str(i) for i in part.tolist()])
            for part in parts
        ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=object)


def name_of(value: object) -> str | None:
    """The text that stands for an identifier, or None."""
    try:
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        if isinstance(value, str):
            return str(value) or None
        if isinstance(value, bool | np.bool_ | int | np.integer):
            return str(int(value))
        if isinstance(value, float | np.floating):
            return _number(float(value))
        if isinstance(value, Decimal):
            return _decimal(value)
        if isinstance(value, UUID | date | np.datetime64) and value == value:
            return str(value)
    except Exception:  # an object that fails at being asked is no identifier
        return None
    return None


def _number(value: float) -> str | None:
    return None if math.isnan(value) else name_of_number(value)


def _decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
        return str(value)
    whole = value == value.to_integral_value()
    return str(int(value)) if whole else format(value.normalize(), "f")
