"""The number that a text spells, by the marks of a dialect; NaN if it spells none.

Each text is read by itself, and the rule is strict: digits are those of ASCII, and
marks stand where they belong, or the text is no number. ``1.500`` could else be read as
one and a half where fifteen hundred was meant. Python's ``float`` takes ``1_000`` and
digits of other scripts; pandas, Polars and DuckDB do not, and nor does this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

from discreto.core.domain.dialect import Dialect

_SPACE = "[ \\u00a0\\u2009\\u202f]"  # plain, no-break, thin, narrow no-break
_MARKS = {" ": _SPACE, "'": "['\\u2019]"}


def text_of(value: object) -> object:
    """Bytes as text; anything else as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


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
