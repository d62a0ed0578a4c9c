"""The words of the pages in four languages, from gettext catalogues.

Catalogues are read as text (``translations/*.po``) and compiled in memory.
"""

from __future__ import annotations

import gettext
import io
from functools import cache
from importlib.resources import files

from babel import negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LANGUAGES = {"en": "English", "pt": "Português", "es": "Español", "fr": "Français"}


@cache
def words(language: str) -> gettext.NullTranslations:
    """The catalogue of a language; English is what the templates say."""
    if language == "en" or language not in LANGUAGES:
        return gettext.NullTranslations()
    path = files("discreto.service") / "translations" / f"{language}.po"
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(path.read_bytes()), locale=language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def language_of(chosen: str, accepted: str) -> str:
    """The language that somebody chose, or the best of those their browser names.

    >>> language_of("", "de-DE,pt-BR;q=0.8"), language_of("fr", "en")
    ('pt', 'fr')
    """
    if chosen in LANGUAGES:
        return chosen
    wanted = [part.partition(";")[0].strip() for part in accepted[:200].split(",")]
    short = [name.partition("-")[0] for name in wanted]
    return negotiate_locale(short, list(LANGUAGES)) or "en"
