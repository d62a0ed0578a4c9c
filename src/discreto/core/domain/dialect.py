"""How files write a table: separators, marks, encodings, words for what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from discreto.core.documents import known_part
from discreto.core.domain.date_formats import COUNTED, ORDERS, is_form
from discreto.errors import ParameterError

ENCODINGS = ("utf-8", "latin-1", "windows-1252")
MISSING_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None")
_SEPARATORS = (",", ";", "\t", "|", ":", " ")
_DECIMALS = (".", ",")
_THOUSANDS = ("", ".", ",", " ", "'", "_")
_LONGEST = 100  # letters of a word, and words
_OF_NUMBERS = frozenset("0123456789.,'_+-()\"")  # what a symbol cannot have


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file writes its records, numbers and gaps. All of it is public.

    Parameters
    ----------
    separator
        What stands between fields: a comma, semicolon, tab, ``"|"``, colon or space.
        Without it a tab for ``.tsv`` files and a comma for others.
    decimal
        The decimal mark of numbers, ``"."`` or ``","``.
    thousands
        The mark between groups of three digits; none by default. A space stands for any
        kind of space, and ``"'"`` also for the typographic apostrophe.
    encoding
        ``"utf-8"`` (a byte order mark is passed over), ``"latin-1"`` or
        ``"windows-1252"``.
    missing
        Texts that stand for no value, unless a Category declares them. A text that
        spells a number or a date stands for that number or date, however a cell
        stores it: ``"-999"`` also for -999.0, an integer of a database, or
        ``"-999,0"`` with a decimal comma.
    sheet
        The sheet of an Excel file, by name; by default the first one.
    dates
        How dates are written as texts: ``"iso"`` (2024-01-31), or ``"dmy"``
        (31.01.2024), ``"mdy"`` (01/31/2024) or ``"ymd"`` (2024/1/31) with dots,
        slashes or hyphens and four digits for the year; or a form such as ``"d.m.yy"``,
        ``"d mon yyyy"`` or ``"ddmmyyyy"`` (``mon`` is an English name, and two digits
        are the year that lies in the column's range). ISO dates are always read.
        Dates that are stored as numbers are ``"excel"`` (days since 1899-12-30),
        ``"epoch"`` or ``"epoch-ms"`` (seconds or milliseconds since 1970, in
        universal time).
    quoted
        Numbers stand in quotes, as in ``"72,4"``, so that their decimal mark may be
        the separator. Without it the two must differ: a number would be two fields.
    symbols
        Texts before or after a number that are left out, such as ``"€"``, ``"%"`` or
        ``"kg"``: 5 % is 5.
    brackets
        Numbers in round brackets are negative, as accountants write them: (5) is -5.

    Raises
    ------
    ParameterError
        A part is not one of those above, or two of them are the same.

    Examples
    --------
    >>> Dialect(separator=";", decimal=",", encoding="latin-1").decimal
    ','
    """

    separator: str | None = None
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    missing: tuple[str, ...] = MISSING_WORDS
    sheet: str | None = None
    dates: str = "iso"
    quoted: bool = False
    symbols: tuple[str, ...] = ()
    brackets: bool = False

    def __post_init__(self) -> None:
        _one_of("separator", self.separator, (None, *_SEPARATORS))
        _one_of("decimal", self.decimal, _DECIMALS)
        _one_of("thousands", self.thousands, _THOUSANDS)
        if not is_form(self.dates):
            known = ", ".join(map(repr, (*ORDERS, *COUNTED)))
            raise ParameterError(
                f"dates is one of {known}, or a form such as 'd.m.yy' or 'd mon yyyy'. "
                f"Got {self.dates!r}."
            )
        if isinstance(self.encoding, str):
            plain = self.encoding.lower().replace("_", "-")
            object.__setattr__(self, "encoding", _ALIASES.get(plain, plain))
        _one_of("encoding", self.encoding, ENCODINGS)
        if self.decimal == self.thousands:
            raise ParameterError(
                f"decimal and thousands cannot both be {self.decimal!r}."
            )
        if not isinstance(self.quoted, bool):
            raise ParameterError("quoted is true or false: do numbers stand in quotes?")
        if not isinstance(self.brackets, bool):
            raise ParameterError("brackets is true or false: is (5) the number -5?")
        check_marks(self, self.separator)
        object.__setattr__(self, "missing", _texts("missing", self.missing))
        object.__setattr__(self, "symbols", _texts("symbols", self.symbols))
        for symbol in self.symbols:
            if not symbol or any(c in _OF_NUMBERS or c.isspace() for c in symbol):
                raise ParameterError(
                    "symbols have no digits, spaces, signs, marks or brackets. "
                    f"Got {symbol!r}."
                )
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise ParameterError("sheet is the name of a sheet.")

    def to_dict(self) -> dict[str, Any]:
        """A JSON form with what differs from the default, read by ``from_dict``."""
        default, out = Dialect(), {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != getattr(default, field.name):
                out[field.name] = list(value) if isinstance(value, tuple) else value
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Dialect:
        """Read a JSON form.

        Parameters
        ----------
        data
            What ``to_dict`` returned.

        Raises
        ------
        ParameterError
            It has parts that a dialect does not have.
        """
        known = [field.name for field in fields(cls)]
        if not isinstance(data, Mapping):
            raise ParameterError(f"a dialect has the parts {', '.join(known)}.")
        return cls(**known_part(data, known, "a dialect"))


_ALIASES = {
    "utf8": "utf-8",
    "utf-8-sig": "utf-8",
    "ascii": "utf-8",
    "latin1": "latin-1",
    "iso-8859-1": "latin-1",
    "cp1252": "windows-1252",
}


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        shown = ", ".join(repr(one) for one in allowed if one is not None)
        raise ParameterError(f"{name} is one of {shown}. Got {value!r}.")


def _texts(name: str, words: object) -> tuple[str, ...]:
    if isinstance(words, str) or not isinstance(words, tuple | list):
        raise ParameterError(f"{name} is a list of texts. Got {words!r}.")
    if len(words) > _LONGEST or not all(
        isinstance(word, str) and len(word) <= _LONGEST for word in words
    ):
        raise ParameterError(
            f"{name} has at most {_LONGEST} texts of at most {_LONGEST} letters."
        )
    return tuple(dict.fromkeys(words))


def check_marks(dialect: Dialect, separator: str | None) -> None:
    """Refuse a separator that is the decimal mark, unless numbers are quoted.

    ``72,4`` would be two fields. ``separator`` is what stands between the fields of a
    file, ``None`` if nobody said.
    """
    if separator == dialect.decimal and not dialect.quoted:
        raise ParameterError(
            f"separator and decimal cannot both be {separator!r}. Say both as the file "
            "has them: separator=',' with decimal='.', or separator=';' with "
            "decimal=','. Where numbers stand in quotes, as in \"72,4\", say "
            "quoted=True."
        )
