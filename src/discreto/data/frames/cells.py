"""Single cells: the number that a text spells, and which cells are gaps.

Each cell is read by itself, for every source. The rule for numbers is strict: digits
are those of ASCII, and marks stand where they belong, or the text is not a number.
``1.500`` could otherwise be read as one and a half where fifteen hundred was meant.
Python's ``float`` takes ``1_000`` and digits of other scripts. pandas, Polars and
DuckDB do not, and neither does this module.

A word for gaps stands for itself as a text, for the number that it spells, and for the
point in time that it spells. A cell is a gap if its value is one of these, however it
is stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from discreto.core.domain.dialect import Dialect
from discreto.core.frame import Array
from discreto.core.people import name_of_number
from discreto.data.frames.elementwise import np

_SPACE = "[ \\u00a0\\u2009\\u202f]"  # plain, no-break, thin, narrow no-break
_MARKS = {" ": _SPACE, "'": "['\\u2019]"}


def text_of(value: object) -> object:
    """Bytes as text; anything else as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def cells_of(values: Any) -> list[Any]:
    """Return cells as Python objects; None for one that cannot be made into one."""
    with suppress(Exception):
        found: list[Any] = values if isinstance(values, list) else values.tolist()
        return found
    out = [None] * len(values)  # a text that is not UTF-8 is missing, and it alone
    for place in range(len(values)):
        with suppress(Exception):
            value = values[place]
            out[place] = value.as_py() if hasattr(value, "as_py") else value
    return out


@lru_cache(maxsize=32)
def reader_of(dialect: Dialect) -> Callable[[object], float]:
    """Return a function that reads numbers written in a dialect; it never fails."""
    form, decimal = _form(dialect), dialect.decimal
    mark = _MARKS.get(dialect.thousands, re.escape(dialect.thousands))
    marks = re.compile(mark) if dialect.thousands else None

    def read(value: object) -> float:
        try:
            value = text_of(value)
            if not isinstance(value, str):
                return float(value)  # type: ignore[arg-type]
            found = form.fullmatch(value.strip())
            if found is None:
                return math.nan
            size, owed = found["size"], found["owed"]
            text = size if owed is None else owed
            text = text if marks is None else marks.sub("", text)
            least = owed is not None or found["sign"] == "-"
            return (-1 if least else 1) * float(text.replace(decimal, "."))
        except Exception:  # an object that fails at being a number is none
            return math.nan

    return read


def _form(dialect: Dialect) -> re.Pattern[str]:
    """Return the form of numbers: groups ``sign`` and ``size``, or ``owed``."""
    mark = _MARKS.get(dialect.thousands, re.escape(dialect.thousands))
    grouped = rf"\d{{1,3}}(?:{mark}\d{{3}})+|" if dialect.thousands else ""
    point = re.escape(dialect.decimal)
    digits = rf"(?:(?:{grouped}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    before = after = ""
    if dialect.symbols:
        several = sorted(dialect.symbols, key=len, reverse=True)
        symbol = "(?:" + "|".join(map(re.escape, several)) + ")"
        before, after = rf"(?:{symbol}{_SPACE}*)?", rf"(?:{_SPACE}*{symbol})?"
    infinite = "[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
    plain = rf"{before}(?P<sign>[+-]?){before}(?P<size>{digits}|{infinite}){after}"
    owed = rf"{before}\((?:{before})(?P<owed>{digits}){after}\){after}"
    if not dialect.brackets:
        owed = r"(?P<owed>(?!))"  # never
    return re.compile(rf"{plain}|{owed}", re.ASCII)


_read_plain = reader_of(Dialect())


def number(value: object) -> float:
    """Return the number that a value is or spells with a decimal point, or NaN."""
    return _read_plain(value)


_NARROW = {"float32": np.float32, "float16": np.float16}


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
