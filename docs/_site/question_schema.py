"""The JSON Schema of questions, from the annotations that the reader checks."""

from __future__ import annotations

import types
from fractions import Fraction
from typing import Any, Literal, Union, get_args, get_origin

from discreto.core.maps import KINDS
from discreto.core.validation import forms_of

PLAIN = {
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    Fraction: {"$ref": "#/$defs/Fraction"},
}


def schema() -> dict[str, Any]:
    """A question is a sum, a choice or a randomised column; its parts are kinds."""
    tops = ("Sum", "Choice", "Randomise")
    fraction = {
        "type": "object",
        "properties": {
            "kind": {"const": "Fraction"},
            "value": {"type": "string", "pattern": r"^-?[0-9]+(/[1-9][0-9]*)?$"},
        },
        "required": ["kind", "value"],
        "additionalProperties": False,
    }
    kinds = {name: _kind(name, kind) for name, kind in sorted(KINDS.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A question",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in tops],
        "$defs": {"Fraction": fraction} | kinds,
    }


def _kind(name: str, kind: type) -> dict[str, Any]:
    forms = {field: _form(form) for field, form in forms_of(kind).items()}
    return {
        "type": "object",
        "properties": {"kind": {"const": name}} | forms,
        "required": ["kind", *forms],
        "additionalProperties": False,
    }


def _form(form: Any) -> dict[str, Any]:
    if form in PLAIN:
        return dict(PLAIN[form])
    origin, args = get_origin(form), get_args(form)
    if origin is tuple:
        return {"type": "array", "items": _form(args[0])}
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_form(one) for one in args]}
    names = sorted(n for n, kind in KINDS.items() if _is(kind, form))
    if not names:
        raise TypeError(f"{form} is none of the kinds of a question.")
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}


def _is(kind: type, form: Any) -> bool:
    """Whether a kind can stand where this form is asked for."""
    if getattr(form, "_is_protocol", False):
        wanted = [name for name in vars(form) if not name.startswith("_")]
        fields = set(forms_of(kind))
        return all(name in fields or hasattr(kind, name) for name in wanted)
    return issubclass(kind, form)
