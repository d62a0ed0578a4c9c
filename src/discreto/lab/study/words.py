"""What a study says, in the language in use.

Folders of a study are English, so that programs can compare them. Pages and pictures
show their texts through ``in_words``, which knows their forms from
``translations.json``: a ``{1}`` stands for a text that is put into words itself, an
``{n1}`` for a number, a ``{place}`` for that of a figure or table, which has no comma.

>>> from discreto.text.language import speaking
>>> with speaking("pt"):
...     in_words("figure 3.7, ours"), in_words("0.391 against 0.389")
('figura 3.7, o nosso', '0,391 contra 0,389')
>>> in_words("figure 3.7, ours")
'figure 3.7, ours'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from discreto.text.language import language, number, tr

_WORD = re.compile(r"[^\W\d_]{2,}")
_NAMED = re.compile(r"\{(\w+)\}")
_BRACKET = re.compile(r"(.+) \((.+)\)")
_MEASURED = re.compile(r"(.*[^\W\d_]\)?) ([-+±]?\d\S*)")
# What stands for a name in braces: the number of a figure, a number, any text.
_KINDS = {
    "place": r"\d+(?:\.\d+)?",
    "n": r"[-+]?[\d.]+(?:[eE][-+]?\d+)?(?: ?%)?",
    "": ".+?",
}
_BETWEEN = {"; ": " ; ", ": ": " : "}  # as French has them


def in_words(text: str) -> str:
    """A text of a study as people read it; what has no translation stays as it is."""
    code = language()
    if code == "en":
        return text
    if not _WORD.search(text):
        return number(text)
    if text in _texts():
        return _texts()[text][code]
    for form, pattern in _forms():
        found = pattern.fullmatch(text)
        if found:
            values = {
                name[1:]: part if name.startswith("_place") else in_words(part)
                for name, part in found.groupdict().items()
            }
            return _filled(_texts()[form][code], values)
    return _in_pieces(text)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda found: values[found[1]], text)


def _in_pieces(text: str) -> str:
    """The words of a list, of a text with a bracket, or of a name with its number."""
    found = _BRACKET.fullmatch(text)
    if found:
        return f"{in_words(found[1])} ({in_words(found[2])})"
    for between in ("; ", ": ", ", "):
        if between in text:
            shown = _BETWEEN.get(between, between) if language() == "fr" else between
            return shown.join(map(in_words, text.split(between)))
    found = _MEASURED.fullmatch(text)
    if found:
        return f"{in_words(found[1])} {number(found[2])}"
    return tr(text)


@cache
def _texts() -> dict[str, dict[str, str]]:
    path = files("discreto.lab.study") / "translations.json"
    known: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return known


@cache
def _forms() -> list[tuple[str, re.Pattern[str]]]:
    """Texts with names in braces, those with most words first."""
    forms = [text for text in _texts() if _NAMED.search(text)]
    forms.sort(key=lambda form: -len(_NAMED.sub("", form)))
    return [(form, _pattern(form)) for form in forms]


def _pattern(form: str) -> re.Pattern[str]:
    pieces = _NAMED.split(form)
    out = re.escape(pieces[0])
    for name, rest in zip(pieces[1::2], pieces[2::2], strict=True):
        kind = _KINDS[name.rstrip("0123456789")]
        out += f"(?P<_{name}>{kind})" + re.escape(rest)
    return re.compile(out)
