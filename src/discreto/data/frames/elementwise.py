"""The closed list of functions that turn stored cells into values.

Each of them gives a cell a result that depends on that cell and on public facts alone.
The modules that convert columns (``convert``, ``cells``, ``dates``, ``arrow``) take
numpy and ``pyarrow.compute`` from here and from nowhere else. There is no sum, order,
rank or extreme of a column on the list. ``tests/conventions/test_elementwise.py`` keeps
the list, and fails if a reader goes around it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy

from discreto.core.frame import Array

# Functions of single cells; types and constants; how arrays are made, joined and cut.
_NUMPY = """
    abs clip floor isnan isnat minimum where
    bool_ datetime64 dtype errstate float16 float32 float64 int32 int64 nan ndarray
    timedelta64 uint8 uint64
    arange array asarray concatenate empty flatnonzero from_dlpack frombuffer fromiter
    full ones unpackbits zeros zeros_like
"""
_ARROW = """
    and_kleene cast fill_null if_else index_in is_null is_valid match_substring_regex
"""
np = SimpleNamespace(**{name: getattr(numpy, name) for name in _NUMPY.split()})


class _Compute:
    """The functions of ``pyarrow.compute`` on the list; loaded when first used."""

    def __getattr__(self, name: str) -> Any:
        if name not in _ARROW.split():
            raise AttributeError(f"{name} is not on the list of functions of one cell.")
        import pyarrow.compute

        return getattr(pyarrow.compute, name)


pc = _Compute()


def by_value(values: Array, read: Callable[[list[Any]], Array]) -> Array:
    """Return ``read`` of every cell, where each different value is read once.

    ``read`` takes a list of values and treats each of them by itself.
    """
    different, place = numpy.unique(values, return_inverse=True)
    return read(different.tolist())[place.reshape(values.shape)]


def by_text(texts: Any, read: Callable[[Any], int]) -> tuple[Array, Any]:
    """Return ``read`` of each different text, and which of them each cell holds."""
    import pyarrow as pa

    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    coded = whole.dictionary_encode()
    each = [read(text) for text in coded.dictionary.to_pylist()]
    return numpy.array(each, dtype=numpy.int64), coded.indices


def are_texts(objects: Array) -> bool:
    """Return True if all cells of a column of objects are texts, or missing.

    This alone looks at a whole column. It chooses between two ways to read it, a fast
    one and a slow one, that give each cell the same value.
    """
    kinds = set(map(type, objects))
    if not {kind.__name__ for kind in kinds} <= {"str", "float", *NOTHING[:2]}:
        return False
    return float not in kinds or all(v != v for v in objects if type(v) is float)


NOTHING = ("NoneType", "NAType", "NaTType")  # types of missing values


class PublicNumbers:
    """The codes of numbers that a domain declares.

    The code of a cell depends on the declared numbers, which are public, and on that
    cell alone. ``unknown`` is the code of other numbers, ``missing`` that of NaN.
    """

    def __init__(self, codes: dict[float, int], unknown: int, missing: int) -> None:
        self._unknown, self._missing = unknown, missing
        self._keys = keys = numpy.array(sorted(codes), dtype=numpy.float64)
        self._codes = numpy.array([codes[key] for key in keys.tolist()], numpy.int64)
        self._table: Array | None = None  # by whole number, if their range is short
        if keys.size and keys[0] == numpy.floor(keys[0]) and (abs(keys) < _SHORT).all():
            self._low = int(keys[0]) - 1
            size = int(numpy.floor(keys[-1] - keys[0])) + 3  # with one on either side
            if size <= _SHORT:
                each = numpy.arange(self._low, self._low + size, dtype=numpy.float64)
                self._table = self._found(each)

    def of(self, values: Array) -> Array:
        """Return the code of each number."""
        if self._table is None or values.dtype.kind not in "iu":
            return self._found(values.astype(numpy.float64, copy=False))
        if values.dtype == numpy.uint64:  # so that no number wraps around
            values = numpy.minimum(values, numpy.uint64(1 << 62))
        high = self._low + self._table.size - 1
        place = numpy.clip(values.astype(numpy.int64, copy=False), self._low, high)
        return self._table[place - self._low]

    def _found(self, values: Array) -> Array:
        other = numpy.where(numpy.isnan(values), self._missing, self._unknown)
        if not self._keys.size:
            return other.astype(numpy.int64)
        place = numpy.searchsorted(self._keys, values).clip(0, self._keys.size - 1)
        return numpy.where(self._keys[place] == values, self._codes[place], other)


_SHORT = 1 << 16  # numbers that have a table
