"""Messages of errors in the language in use.

Exceptions are English everywhere: programs read them and people search for them. The
shell and the pages of a service show them through ``error_in_words``, which knows the
forms of the frequent ones (``translations/errors.json``). Other messages stay English.

>>> from discreto.text.language import speaking
>>> with speaking("es"):
...     error_in_words("there is no file 'a.csv'.")
"no existe el archivo 'a.csv'."
>>> error_in_words("there is no file 'a.csv'.")
"there is no file 'a.csv'."
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from discreto.text.language import language

LANGUAGES = ("pt", "es", "fr")  # the order of the translations of a form
_SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z`\[])")
_HOLE = re.compile(r"\{(\w+)\}")


def error_in_words(message: str) -> str:
    """Return a message in the language in use, sentence by sentence.

    Parameters
    ----------
    message
        The text of an exception.

    Returns
    -------
    str
        The translation; sentences of unknown form stay as they are.
    """
    if language() not in LANGUAGES:
        return message
    whole = _in_form(message)
    if whole is not None:
        return whole
    return " ".join(_in_form(one) or one for one in _SENTENCE.split(message))


def is_known(message: str) -> bool:
    """Return True if every sentence of a message has a form."""
    if _form_of(message):
        return True
    return all(_form_of(one) for one in _SENTENCE.split(message))


def _in_form(sentence: str) -> str | None:
    found = _form_of(sentence)
    if found is None:
        return None
    form, parts = found
    return forms()[form][LANGUAGES.index(language())].format(**parts)


def _form_of(sentence: str) -> tuple[str, dict[str, str]] | None:
    """Return the first form that fits, with what its names in braces stand for."""
    for form, pattern in _patterns():
        match = pattern.fullmatch(sentence)
        if match is not None:
            return form, match.groupdict()
    return None


@cache
def forms() -> dict[str, list[str]]:
    """Return English forms and their translations."""
    path = files("discreto") / "translations" / "errors.json"
    found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return forms as expressions, those with more fixed letters first."""
    order = sorted(forms(), key=lambda form: -len(_HOLE.sub("", form)))
    return [(form, _pattern(form)) for form in order]


def _pattern(form: str) -> re.Pattern[str]:
    pieces = _HOLE.split(form)
    parts = [
        f"(?P<{piece}>.+?)" if place % 2 else re.escape(piece)
        for place, piece in enumerate(pieces)
    ]
    return re.compile("".join(parts), re.S)


__all__ = ["error_in_words", "forms", "is_known"]
