"""Values in the terms of the domain. From here on nothing may raise or warn.

What a value becomes depends on that value alone: not on its neighbours in the column,
nor on the type that a column gets because of them. Else one row could move all others.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from discreto.core.dates import DateTime
from discreto.core.domain import Category
from discreto.data.frames.base import Array
from discreto.data.frames.dates import dates


def convert(values: Any, column: object) -> Array:
    """A column in the terms of the domain: float64, or int64 codes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(column, DateTime):
            return dates(values, column)
        if isinstance(column, Category):
            codes = _text_codes(values, column)
            return _codes(plain(values), column) if codes is None else codes
        return _numbers(plain(values))


def readable(kind: Any) -> bool:
    """Whether every value of an arrow type can be read as a number or a text."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        types.is_null(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or getattr(types, "is_string_view", types.is_string)(kind)
    )


def plain(values: Any) -> Array:
    """A numpy array of numbers, or of Python objects; whatever the values, one of both.

    Texts may hold bytes that are no UTF-8, which Python refuses to see as texts: they
    come as bytes then, as do their neighbours, which changes nothing for those.
    """
    if isinstance(values, np.ndarray):
        return values
    values = values.to_native() if hasattr(values, "to_native") else values
    for read in (_as_numpy, _as_bytes, _one_by_one):
        with suppress(Exception):
            return read(values)
    return np.full(len(values), None, dtype=object)


def _as_numpy(values: Any) -> Array:
    if type(values).__module__.startswith("pyarrow"):
        if hasattr(values.type, "value_type") and hasattr(values.type, "index_type"):
            # pyarrow itself would give what is missing the last value of all.
            values = values.cast(values.type.value_type)
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.asarray(values.to_numpy())


def _as_bytes(values: Any) -> Array:
    import pyarrow as pa

    texts = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type, safe=False)
    return np.asarray(texts.cast(pa.large_binary()).to_numpy(zero_copy_only=False))


def _one_by_one(values: Any) -> Array:
    out = np.full(len(values), None, dtype=object)
    for place in range(len(values)):
        with suppress(Exception):
            value = values[place]
            out[place] = value.as_py() if hasattr(value, "as_py") else value
    return out


def owned(values: Any, column: object) -> tuple[Array, bool]:
    """A copy of a column that nobody else can change, and whether it is converted.

    Numbers stay in their own type, which may be small. All else is converted, since
    the objects in it might change.
    """
    if isinstance(column, DateTime):
        return convert(values, column), True
    codes = _text_codes(values, column) if isinstance(column, Category) else None
    if codes is not None:
        return codes, True
    flat = plain(values)
    if flat.dtype.kind in "fiub":
        return np.array(flat), False
    return convert(flat, column), True


def listed(values: Any) -> Array:
    """A column given as a list, or any other sequence of values."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        return plain(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = np.asarray(values)
    except Exception:
        out = np.empty(0, dtype=object)
    if out.ndim == 1 and out.dtype.kind in "fiubmMcV":
        return out
    # Mixed lists stay as they are: numpy would turn their numbers into texts.
    several = list(values)
    return np.fromiter(several, dtype=object, count=len(several))


def _numbers(values: Array) -> Array:
    if values.dtype.kind in "fiub":
        return np.asarray(values, dtype=np.float64)  # a view of what fits already
    texts = values.tolist()
    return np.fromiter((number(text) for text in texts), np.float64, len(texts))


def number(value: object) -> float:
    """The number that a value is or spells, or NaN."""
    try:
        return float(_text(value))  # type: ignore[arg-type]
    except Exception:
        return math.nan


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _text_codes(values: Any, column: Category) -> Array | None:
    """Codes of a column of plain texts, fast; None if it is not one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all(type(kind) is str for kind in column.categories):
        return None
    try:
        texts = values.to_arrow() if hasattr(values, "to_arrow") else values
        if not isinstance(texts, pa.Array | pa.ChunkedArray):
            return None
        if pa.types.is_dictionary(texts.type):
            texts = texts.cast(texts.type.value_type)
        if texts.type not in (pa.string(), pa.large_string(), pa.binary()):
            return None
        kinds = [str(kind).encode() for kind in column.categories]
        known = pa.array(kinds, type=pa.binary()).cast(texts.type)
        found = pc.fill_null(pc.index_in(texts, value_set=known), -1)
        return np.asarray(found.to_numpy(), dtype=np.int64)
    except Exception:
        return None


def _codes(values: Array, column: Category) -> Array:
    lookup = _Lookup(column)
    if values.dtype.kind in "fiub":
        return lookup.many(values.astype(np.float64))
    each = values.tolist()
    return np.fromiter((lookup(value) for value in each), np.int64, len(each))


class _Lookup:
    """The code of a value: by its text, or by the number that it is.

    A number finds the category that is that number, else the one that spells it; a
    text finds the category with that text, else the number or truth that it spells.
    """

    def __init__(self, column: Category) -> None:
        self._texts: dict[str, int] = {}
        self._numbers: dict[float, int] = {}
        spelt: dict[float, int] = {}
        for code, kind in enumerate(column.categories):
            if isinstance(kind, str):
                self._texts[kind] = code
                spelt.setdefault(number(kind), code)
            else:
                self._numbers.setdefault(number(kind), code)
                if isinstance(kind, bool):
                    for word in ("true", "True", "TRUE") if kind else _FALSE:
                        self._texts.setdefault(word, code)
        self._exact = dict(self._numbers)
        self._numbers = spelt | self._numbers
        keys = [key for key in self._numbers if not math.isnan(key)]
        self._keys = np.array(sorted(keys), dtype=np.float64)
        codes = [self._numbers[key] for key in self._keys.tolist()]
        self._places = np.array(codes, dtype=np.int64)

    def __call__(self, value: object) -> int:
        try:
            value = _text(value)
            if isinstance(value, str):
                if value in self._texts:
                    return self._texts[value]
                return self._exact.get(number(value), -1)
            return self._numbers.get(float(value), -1)  # type: ignore[arg-type]
        except Exception:
            return -1

    def many(self, values: Array) -> Array:
        """The codes of numbers."""
        if not self._keys.size:
            return np.full(values.size, -1, dtype=np.int64)
        place = np.searchsorted(self._keys, values).clip(0, self._keys.size - 1)
        return np.where(self._keys[place] == values, self._places[place], -1)


_FALSE = ("false", "False", "FALSE")
