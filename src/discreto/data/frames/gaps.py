"""Which cells are gaps, by the words of a dialect: the same rule for every source.

A word stands for itself as a text, for the number that it spells, and for the point in
time that it spells. A cell is a gap if its value is one of these, however it is stored.
Whether a cell is a gap depends on that cell and on the dialect alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from discreto.core.domain.dialect import Dialect
from discreto.core.frame import Array
from discreto.data.frames.numbers import number, reader_of

_NARROW: dict[str, type[np.floating[Any]]] = {
    "float32": np.float32,
    "float16": np.float16,
}


class GapWords:
    """The words of a dialect: as texts, as numbers, and as identifiers."""

    def __init__(self, dialect: Dialect) -> None:
        self.texts = frozenset(dialect.missing)
        found: dict[float, None] = {}
        for word in dialect.missing:
            spelt = reader_of(dialect)(word)
            # A word that the marks of the dialect do not fit may have a decimal point.
            spelt = number(word) if math.isnan(spelt) else spelt
            if not math.isnan(spelt):
                found[spelt + 0.0] = None
        self.numbers = tuple(found)
        self.names = self.texts | {name_of_number(spelt) for spelt in self.numbers}

    def stored(self, kind: str) -> tuple[float, ...]:
        """Return the numbers as a type of numbers holds them: -999.9 of float32.

        Other types than short floats hold them as they are.
        """
        narrow = _NARROW.get(kind)
        if narrow is None:
            return self.numbers
        with np.errstate(all="ignore"):  # too large a word is infinite there
            short = [float(narrow(spelt)) for spelt in self.numbers]
        return tuple(dict.fromkeys(short))

    def among(self, values: Array) -> Array:
        """Return which of some numbers are gaps, each compared by itself."""
        return equal_to_one(values, self.stored(values.dtype.name))

    def is_number(self, value: float) -> bool:
        """Return True if a number is a gap."""
        return value in self.numbers


def equal_to_one(values: Array, words: tuple[float, ...]) -> Array:
    """Return which numbers equal one of ``words``; values are compared as float64."""
    out = np.zeros(values.shape, dtype=bool)
    wide = values.astype(np.float64, copy=False) if words else values
    for word in words:
        out |= wide == word
    return out


def without(values: Array, words: tuple[float, ...]) -> Array:
    """Return float64 numbers with NaN in place of ``words``."""
    if not words:
        return values
    return np.where(equal_to_one(values, words), np.nan, values)


@lru_cache(maxsize=32)
def gaps_of(dialect: Dialect) -> GapWords:
    """Return the gaps of a dialect."""
    return GapWords(dialect)


def name_of_number(value: float) -> str:
    """Return a number as identifiers are written: whole numbers without a point."""
    return str(int(value)) if value.is_integer() else repr(value)
