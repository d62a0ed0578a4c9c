"""The JSON form of questions: a closed list of kinds, checked field by field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreto.core.documents import read_fraction
from discreto.core.validation import fields_of, forms_of, is_part, written
from discreto.errors import ParameterError

_PLAIN = {str, int, float, bool, type(None)}


def encode(thing: Any, short: Callable[[Any], Any] | None = None) -> Any:
    """The JSON form of a question or of any part of one.

    ``short`` may give another form for a part, or None.
    """
    if type(thing) in _PLAIN:
        return thing
    if isinstance(thing, tuple | list):
        if set(map(type, thing)) <= _PLAIN:
            return list(thing)
        return [encode(part, short) for part in thing]
    if is_part(thing):
        found = None if short is None else short(thing)
        if found is not None:
            return found
        parts = forms_of(type(thing)).items()
        named = {
            n: encode(written(getattr(thing, n), form), short) for n, form in parts
        }
        return {"kind": type(thing).__name__} | named
    if isinstance(thing, Fraction):
        return {"kind": "Fraction", "value": str(thing)}
    if isinstance(thing, str | int | float | bool):
        return thing
    raise ParameterError(f"a question cannot hold a {type(thing).__name__}.")


def decode(
    data: Any, kinds: Mapping[str, type], depth: int = 0, deepest: int = 16
) -> Any:
    """The inverse of ``encode``, over a closed list of kinds.

    Each field gets the form that its annotation names (a 1 that stands for a float
    becomes 1.0), or the question is refused.
    """
    if depth > deepest:
        raise ParameterError("this question is nested too deeply.")
    if isinstance(data, list):
        return tuple(decode(part, kinds, depth + 1, deepest) for part in data)
    if not isinstance(data, dict):
        return data  # a value, or a part that was read before
    kind = data.get("kind")
    if kind == "Fraction" and set(data) == {"kind", "value"}:
        return read_fraction(data["value"])
    cls = kinds.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ParameterError(f"unknown kind of question {str(kind)[:40]!r}.")
    parts, forms = {}, forms_of(cls)
    fields = {field.name: field for field in fields_of(cls)}
    for name, value in data.items():
        if name == "kind":
            continue
        if name not in forms:
            raise ParameterError(f"{kind}: the parts of the question do not fit.")
        part = decode(value, kinds, depth + 1, deepest)
        if not fields[name].fits(part):
            raise fields[name].refusal(cls, part)
        parts[name] = written(part, forms[name])
    try:
        return cls(**parts)
    except (TypeError, AttributeError, OverflowError):
        raise ParameterError(f"{kind}: the parts of the question do not fit.") from None


def digest(query: Any) -> str:
    """A short name for exactly this question, or for a statistic."""
    text = json.dumps(encode(query), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
