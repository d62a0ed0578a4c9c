"""Pages from templates: translations, and numbers as people read them."""

from __future__ import annotations

import csv
import gettext
import io
import math
import time
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from babel import negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FunctionLoader, select_autoescape

from discreto.core.cost import Cost
from discreto.core.domain.dates import is_date_unit, show_date
from discreto.core.domain.html import column_words
from discreto.release.labels import label_in_words
from discreto.release.text import decimals
from discreto.service.browser_sessions import SignedIn
from discreto.service.plots import interval_picture, rows_of
from discreto.service.questions import cost_text
from discreto.service.service import Service
from discreto.session.dry_run import assumption
from discreto.text.error_messages import error_in_words
from discreto.text.language import number as written
from discreto.text.language import speaking

_FOLDER = files("discreto.service")
LANGUAGES = {"en": "English", "pt": "Português", "es": "Español", "fr": "Français"}


def _load(name: str) -> str:
    return (_FOLDER / "templates" / name).read_text(encoding="utf-8")


_PAGES = Environment(
    loader=FunctionLoader(_load),
    autoescape=select_autoescape(["html"]),
    trim_blocks=True,
)
_PAGES.globals.update(
    languages=LANGUAGES,
    column_words=column_words,
    picture=interval_picture,
    rows=rows_of,
)


@cache
def words(language: str) -> gettext.NullTranslations:
    """Return the catalogue of a language; it is empty for English."""
    if language == "en" or language not in LANGUAGES:
        return gettext.NullTranslations()
    path = _FOLDER / "translations" / f"{language}.po"
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(path.read_bytes()), locale=language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def language_of(chosen: str, accepted: str) -> str:
    """Return the chosen language, or the best of those that the browser names.

    >>> language_of("", "de-DE,pt-BR;q=0.8"), language_of("fr", "en")
    ('pt', 'fr')
    """
    if chosen in LANGUAGES:
        return chosen
    wanted = [part.partition(";")[0].strip() for part in accepted[:200].split(",")]
    short = [name.partition("-")[0] for name in wanted]
    return negotiate_locale(short, list(LANGUAGES)) or "en"


def spoken(request: Request) -> str:
    """Return the language in which a request is answered."""
    return language_of(
        request.cookies.get("language", ""), request.headers.get("accept-language", "")
    )


def page(
    request: Request,
    name: str,
    session: SignedIn | None,
    status: int = 200,
    **facts: Any,
) -> HTMLResponse:
    """Return a page in the language of the request."""
    service: Service = request.app.state.service
    language = spoken(request)
    told = {
        "_": words(language).gettext,
        "language": language,
        "service_name": service.config.name,
        "ledgers": list(service.door.ledgers),
        "session": session,
        "number": number,
        "amount": amount,
        "measured": measured,
        "written": written,
        "assumption": assumption,
        "words": label_in_words,
        "colon": "\N{NO-BREAK SPACE}:" if language == "fr" else ":",
        "path": request.url.path,
        "when": when,
        "cost": cost,
        "notice": "",
        "error": "",
        "refresh": False,
    }
    with speaking(language):  # numbers, also in pictures, have its decimal mark
        facts["error"] = error_in_words(str(facts.get("error", "")))
        text = _PAGES.get_template(name).render(told | facts)
    return HTMLResponse(text, status, {"content-language": language})


def static(name: str) -> bytes:
    """Return a style sheet or script of our own."""
    return (_FOLDER / "static" / name).read_bytes()


def number(value: Any) -> str:
    """Return a number with six digits, as the language writes it; texts as they are."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return str(value)
    return written(value, ".6g")


def measured(value: Any, low: Any, high: Any, unit: str = "") -> list[str]:
    """Return a value and the ends of its interval, with two digits of the half-width.

    >>> measured(56.342137, 55.36721, 57.31488), measured(3, 2, 4)
    (['56.34', '55.37', '57.31'], ['3', '2', '4'])
    """
    parts = (value, low, high)
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in parts):
        return [number(one) for one in parts]
    if is_date_unit(unit):
        return [show_date(one, unit) for one in parts]
    whole = all(float(one).is_integer() for one in parts)
    spec = f".{0 if whole else decimals((high - low) / 2)}f"
    return [written(one, spec) for one in parts]


def amount(value: Any) -> str:
    """Return an amount with four digits, from a number or a fraction's text.

    >>> amount("1/2"), amount(4.4)
    ('0.5', '4.4')
    """
    return written(float(Fraction(value)), ".4g")


def when(moment: float) -> str:
    """Return a moment, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))


def cost(data: Any) -> str:
    """Return a cost as people read it; nothing for none."""
    return written(cost_text(Cost.from_dict(data))) if data else ""


def csv_of(answer: dict[str, Any]) -> str:
    """Return the releases of an answer as a table for a spreadsheet."""
    out = io.StringIO()
    sheet = csv.writer(out)
    sheet.writerow(["label", "key", "value", "low", "high", "level", "cost", "entry"])
    for release in answer["releases"]:
        tail = [release["level"], cost(release["cost"]), release["receipt"]["seq"]]
        for row in rows_of(release):
            sheet.writerow([_safe(release["label"]), *map(_safe, row), *tail])
    return out.getvalue()


def _safe(cell: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula."""
    formula = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if formula else cell
