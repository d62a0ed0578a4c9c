"""The number that a text spells, by the marks of a dialect; NaN if it spells none.

Each text is read by itself. With a decimal comma or a thousands mark the rule is
strict: marks stand where they belong, or the text is no number. ``1.500`` could else
be read as one and a half where fifteen hundred was meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

from discreto.core.dialect import Dialect

_SPACES = "[ \\u00a0\\u2009\\u202f]"  # plain, no-break, thin, narrow no-break


def number(value: object) -> float:
    """The number that a value is or spells with a decimal point, or NaN."""
    try:
        return float(text_of(value))  # type: ignore[arg-type]
    except Exception:
        return math.nan


def text_of(value: object) -> object:
    """Bytes as text; anything else as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@lru_cache(maxsize=32)
def reader_of(dialect: Dialect) -> Callable[[object], float]:
    """What reads numbers that are written in a dialect; it never fails."""
    if dialect.decimal == "." and not dialect.thousands:
        return number
    mark = _SPACES if dialect.thousands == " " else re.escape(dialect.thousands)
    grouped = rf"\d{{1,3}}(?:{mark}\d{{3}})+" if dialect.thousands else r"\d+"
    tail = rf"(?:{re.escape(dialect.decimal)}\d*)?"
    short = rf"{re.escape(dialect.decimal)}\d+"
    form = re.compile(
        rf"[+-]?(?:(?:{grouped}|\d+){tail}|{short})(?:[eE][+-]?\d{{1,4}})?", re.ASCII
    )
    marks = re.compile(mark) if dialect.thousands else None

    def read(value: object) -> float:
        value = text_of(value)
        if not isinstance(value, str):
            return number(value)
        text = value.strip()
        if form.fullmatch(text) is None:
            return math.nan
        text = text if marks is None else marks.sub("", text)
        return float(text.replace(dialect.decimal, "."))

    return read
