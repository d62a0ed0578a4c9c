"""Domains as their owner works on them: drafted, edited, checked, kept to download.

Nothing here reads a value of a row: a draft has the names and types of the table, and
a check compares names and types. A service goes on with the domain that it was started
with; a new one is put in its place by hand, and the service started again.
"""

from __future__ import annotations

import json
from typing import Any

from discreto.core.documents import read_json
from discreto.core.domain.domain import Domain
from discreto.core.domain.json import domain_text
from discreto.core.ledger import Ledger
from discreto.data.domain_file import draft, stored_types
from discreto.errors import DiscretoError, ParameterError
from discreto.service.asking import Served
from discreto.table.table import Table

LONGEST = 60_000  # letters of a domain
_HIDDEN = "discreto_domain"


def drafted(served: Served) -> str:
    """Return a domain to fill in, from the names and types of a table."""
    return _text(draft(served.settings.data).data)


def current(served: Served) -> str:
    """Return the domain that the service uses."""
    return domain_text(served.table.domain)


def _text(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False)


def check(served: Served, text: str) -> dict[str, Any]:
    """Check that a domain is complete and fits its table; return its changes."""
    try:
        domain = _read(text)
        stored_types(served.settings.data, domain.dialect)
        Table(served.settings.data, domain, Ledger(epsilon=1))  # refuses what differs
    except DiscretoError as error:
        return {"good": False, "message": str(error)[:2000], "changes": []}
    changes = _changes(served.table.domain.to_dict(), domain.to_dict())
    return {"good": True, "message": "", "changes": changes}


def _read(text: str) -> Domain:
    if len(text) > LONGEST:
        raise ParameterError(f"a domain has at most {LONGEST} letters here.")
    try:
        data = read_json(text)
    except ParameterError as error:
        raise ParameterError(f"this is not a domain: {error}") from None
    if not isinstance(data, dict):
        raise ParameterError("a domain is a JSON object.")
    return Domain.from_dict(data)


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what differs: the place, the value now, and the new value."""
    out = []
    for name in dict.fromkeys([*old, *new]):
        if name not in ("columns", _HIDDEN) and old.get(name) != new.get(name):
            out.append((name, _short(old.get(name)), _short(new.get(name))))
    for name in dict.fromkeys([*old["columns"], *new["columns"]]):
        one, two = old["columns"].get(name), new["columns"].get(name)
        if one != two:
            out.append((name, _short(one), _short(two)))
    return out


def _short(data: Any) -> str:
    text = "–" if data is None else json.dumps(data, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]} …"
