"""Forms of dates in texts, such as ``d.m.yy``: checked once, then read cell by cell.

A form has a day (``d``, or ``dd`` for two digits), a month (``m``, ``mm``, or ``mon``
for an English name) and a year (``yyyy`` or ``yy``), each once. Between them stand
spaces, dots, slashes, commas and hyphens, or nothing if the parts beside have a fixed
number of digits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

ORDERS = ("iso", "dmy", "mdy", "ymd")
COUNTED = ("excel", "epoch", "epoch-ms")  # dates that are stored as numbers
_LONGEST = 64  # letters of a date
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov")
_NAMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_PARTS = {
    "d": r"(?P<d>[0-9]{1,2})",
    "dd": r"(?P<d>[0-9]{2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "mm": r"(?P<m>[0-9]{2})",
    "mon": rf"(?P<m>{_NAMES})\.?",
    "yy": r"(?P<y>[0-9]{2})",
    "yyyy": r"(?P<y>[0-9]{4})",
}
_LONG = {"y": "yyyy"}
_TOKENS = re.compile(r"yyyy|yy|mon|mm|m|dd|d|[ ./,-]+")
_CLOCK = r"(?P<clock>[ T].*)?"


def is_form(text: object) -> bool:
    """Return True if a text is the name of an order, or a form of dates.

    >>> is_form("dmy"), is_form("d mon yyyy"), is_form("d.m"), is_form("dmyyyy")
    (True, True, False, False)
    """
    if text in (*ORDERS, *COUNTED):
        return True
    if not isinstance(text, str) or len(text) > _LONGEST:
        return False
    tokens = _TOKENS.findall(text)
    kinds = [token[0] for token in tokens if token in _PARTS]
    if "".join(tokens) != text or sorted(kinds) != ["d", "m", "y"]:
        return False
    # Without a mark between them, parts of one or two digits cannot be told apart.
    pairs = pairwise(tokens)
    return not any(
        {"d", "m"} & set(pair) and all(token in _PARTS for token in pair)
        for pair in pairs
    )


@lru_cache(maxsize=32)
def _form(form: str) -> re.Pattern[str]:
    parts = [
        _PARTS.get(token)
        or "".join("[ \u00a0\u202f]+" if c == " " else re.escape(c) for c in token)
        for token in _TOKENS.findall(form)
    ]
    return re.compile("".join(parts) + _CLOCK, re.IGNORECASE | re.ASCII)


_ORDERED = {  # with dots, slashes or hyphens
    order: re.compile("[./-]".join(_PARTS[_LONG.get(p, p)] for p in order) + _CLOCK)
    for order in ORDERS[1:]
}


def iso_texts(text: str, form: str) -> tuple[str, ...]:
    """Return the ISO dates that a text may stand for, the likeliest first.

    A text that does not have the form is returned as it is. A year of two digits
    stands for 1969 to 2068, else for the centuries beside.

    >>> iso_texts("31.1.2024 08:30", "dmy"), iso_texts("2024-01-31", "dmy")
    (('2024-01-31 08:30',), ('2024-01-31',))
    >>> iso_texts("1 Feb 24", "d mon yy")
    ('2024-02-01', '1924-02-01', '2124-02-01')
    """
    if form == "iso" or form in COUNTED:
        return (text,)
    pattern = _ORDERED.get(form) or _form(form)
    found = pattern.fullmatch(text.strip()[:_LONGEST])
    if found is None:
        return (text,)
    month, year = found["m"].lower(), found["y"]
    if not month.isdigit():
        name = month[:3]
        month = str(_MONTHS.index(name) + 1) if name in _MONTHS else "12"
    years = [int(year)]
    if len(year) == 2:
        near = 1969 + (int(year) - 69) % 100
        years = [near, near - 100, near + 100]
    rest = f"-{month:0>2}-{found['d']:0>2}{found['clock'] or ''}"
    return tuple(f"{one:04d}{rest}" for one in years)
