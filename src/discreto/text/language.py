"""Texts in four languages: gettext catalogues and decimal commas.

Texts are written in English and marked: ``tr("{count} columns", count=3)``. What users
bring (names of columns, categories, titles) and what programs read (JSON, files,
commands to copy) is never translated. Errors are raised in English, because people
search for them; ``error_text`` translates them where a shell or a page shows them.

>>> with speaking("pt"):
...     tr("{count} columns", count=3), number(0.25), number(1234.5, ".1f")
('3 colunas', '0,25', '1234,5')
>>> tr("{count} columns", count=3), number(0.25)
('3 columns', '0.25')
"""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any

from discreto.errors import ParameterError

LANGUAGES = {"en": "English", "pt": "Português", "es": "Español", "fr": "Français"}
_COMMAS = ("pt", "es", "fr")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_WITH_COMMA = re.compile(r"\s*\d*,\d+\s*", re.ASCII)
_current: ContextVar[str] = ContextVar("language", default="en")


def language() -> str:
    """Return the language in use: "en" unless another was chosen."""
    return _current.get()


@contextmanager
def speaking(code: str = "") -> Iterator[None]:
    """Use a language for a while.

    Parameters
    ----------
    code
        ``"en"``, ``"pt"``, ``"es"`` or ``"fr"``; nothing is the one in use.

    Raises
    ------
    ParameterError
        There is no such language.

    Examples
    --------
    >>> with speaking("fr"):
    ...     tr("yes")
    'oui'
    """
    if code and code not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ParameterError(f"lang must be one of {known}. Got {code!r}.")
    token = _current.set(code or _current.get())
    try:
        yield
    finally:
        _current.reset(token)


def language_of(environment: Mapping[str, str] = os.environ) -> str:
    """Return the language that the environment asks for, as gettext reads it.

    >>> language_of({"LANG": "pt_BR.UTF-8"}), language_of({"LANG": "de_DE"})
    ('pt', 'en')
    >>> language_of({"LC_ALL": "C", "LANG": "fr_FR"})
    'en'
    """
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    found = next((environment[name] for name in names if environment.get(name)), "")
    short = re.split(r"[_.@-]", found)[0].lower()
    return short if short in LANGUAGES else "en"


def tr(message: str, /, **values: Any) -> str:
    """Return a text in the language in use, its ``{names}`` filled in.

    Parameters
    ----------
    message
        The text in English.
    values
        What stands for the names in braces.

    Examples
    --------
    >>> tr("at ε {epsilon}", epsilon=1)
    'at ε 1'
    """
    found = catalogue(language()).gettext(message) if message else ""
    return found.format(**values) if values else found


def mark(message: str) -> str:
    """Return the text itself, marked for the catalogues; ``tr`` translates it later.

    >>> mark("yes")
    'yes'
    """
    return message


def number(value: Any, spec: str = "") -> str:
    """Return a number, or a text with numbers, as the language writes it.

    >>> with speaking("es"):
    ...     number(0.123, ".2f"), number("ε 0.5, δ 1e-05")
    ('0,12', 'ε 0,5, δ 1e-05')
    """
    text = format(value, spec)
    if language() not in _COMMAS:
        return text
    if "," in spec:  # thousands
        return text.translate({ord(","): "\N{NO-BREAK SPACE}", ord("."): ","})
    return _POINT.sub(",", text)


def plain_number(text: str) -> str:
    """Return a number as programs read it: "0,1" is 0.1 in Portuguese.

    >>> with speaking("fr"):
    ...     plain_number("0,1")
    '0.1'
    >>> plain_number("0,1")
    '0,1'
    """
    commas = language() in _COMMAS and _WITH_COMMA.fullmatch(text)
    return text.replace(",", ".") if commas else text


@cache
def catalogue(code: str) -> gettext.NullTranslations:
    """Return the catalogue of a language; English is what the code says."""
    if code == "en":
        return gettext.NullTranslations()
    path = files("discreto") / "translations" / f"{code}.mo"
    with path.open("rb") as file:
        return gettext.GNUTranslations(file)


__all__ = [
    "LANGUAGES",
    "language",
    "language_of",
    "mark",
    "number",
    "plain_number",
    "speaking",
    "tr",
]
