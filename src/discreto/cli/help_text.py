"""The help of commands in the language in use (``translations/help.json``)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from discreto.text.error_messages import LANGUAGES
from discreto.text.language import LANGUAGES as SPOKEN
from discreto.text.language import language_of

_PANELS = {
    "argument": ("Argumentos", "Argumentos", "Arguments"),
    "option": ("Opções", "Opciones", "Options"),
    "command": ("Comandos", "Órdenes", "Commandes"),
}


def chosen_language(words: list[str]) -> str:
    """Return the language that ``--lang`` names as the first word, or the locale's.

    >>> chosen_language(["--lang", "pt", "query"]), chosen_language(["--lang=fr"])
    ('pt', 'fr')
    """
    first, _, value = words[0].partition("=") if words else ("", "", "")
    if first == "--lang":
        code = value or (words[1] if len(words) > 1 else "")
        return code if code in SPOKEN else "en"
    return language_of()


def translate_help(command: Any, code: str) -> None:
    """Put the help of a command, its options and its commands into a language.

    Parameters
    ----------
    command
        A command of click, made for this call alone: it is changed.
    code
        A language; texts without a translation stay English.
    """
    if code not in LANGUAGES:
        return
    place = LANGUAGES.index(code)
    for name in ("help", "short_help"):
        text = getattr(command, name, None)
        if text:
            setattr(command, name, in_language(text, code))
    for param in command.params:
        if getattr(param, "help", None):
            param.help = in_language(param.help, code)
        kind = param.param_type_name
        if not getattr(param, "rich_help_panel", None) and kind in _PANELS:
            param.rich_help_panel = _PANELS[kind][place]
    for inner in getattr(command, "commands", {}).values():
        inner.rich_help_panel = _PANELS["command"][place]
        translate_help(inner, code)


def in_language(text: str, code: str) -> str:
    """Return a help text in a language, paragraph by paragraph."""
    place, known = LANGUAGES.index(code), texts()
    out = []
    for paragraph in text.split("\n\n"):
        plain = " ".join(paragraph.split())
        out.append(known[plain][place] if plain in known else paragraph)
    return "\n\n".join(out)


@cache
def texts() -> dict[str, list[str]]:
    """Return English help texts and their translations."""
    path = files("discreto") / "translations" / "help.json"
    found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


__all__ = ["chosen_language", "in_language", "texts", "translate_help"]
