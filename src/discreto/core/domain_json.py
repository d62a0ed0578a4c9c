"""Columns and dialects as JSON data: what a domain is known by, here and elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreto.core.columns import Boolean, Category, Column, Number, Opaque
from discreto.core.dates import column_from_dict
from discreto.core.dialect import Dialect
from discreto.errors import DomainError, ParameterError


def dialect_from(data: Any) -> Dialect | None:
    """The dialect of a domain file, if it has one."""
    try:
        return None if data is None else Dialect.from_dict(data)
    except (ParameterError, TypeError) as error:
        raise DomainError(f"the dialect of a domain file: {error}") from None


def column_to_dict(column: Column) -> dict[str, Any]:
    """The JSON form of a column, in the words that fingerprints are made of."""
    if hasattr(column, "to_dict"):  # a kind with a file of its own: dates
        own: dict[str, Any] = column.to_dict()
        return own
    if isinstance(column, Opaque):
        known = column.kind in ("identifier", "datetime", "constant")
        plain = {"type": "Opaque", "kind": column.kind}
        return {"type": column.kind} if known else plain
    if isinstance(column, Category):
        out: dict[str, Any] = {
            "type": "categorical",
            "categories": list(column.categories),
        }
        out |= {"aliases": dict(column.aliases)} if column.aliases else {}
        out |= {} if column.case else {"case": False}
        out |= {"strip": True} if column.strip else {}
    else:
        out = {"type": "numeric", "lower": column.lower, "upper": column.upper}
        out |= {"integer": True} if column.integer else {}
        out |= {"unit": column.unit} if column.unit else {}
    return out | ({"nullable": True} if column.missing else {})


def _check_ends(*ends: object) -> None:
    if not all(isinstance(end, int | float) for end in ends):
        raise TypeError


# The words of Python, and those of files that version 0.1 wrote. In those of 0.1 a
# column without "nullable" has no gaps; in those of Python it may have some.
_OLD_WORDS = {
    "Number": "numeric",
    "Category": "categorical",
    "Boolean": "boolean",
    "Date": "date",
    "DateTime": "datetime",
}


def in_words(column: Column) -> dict[str, Any]:
    """The JSON form of a column for people: in the words of Python.

    >>> in_words(Category(["f", "m"], missing=False))
    {'type': 'Category', 'categories': ['f', 'm'], 'missing': False}
    """
    data = column_to_dict(column)
    if isinstance(column, Opaque):
        known = data["type"] in ("Opaque", "text")
        return data if known else {"type": "Opaque", "kind": column.kind}
    missing = {} if data.pop("nullable", False) else {"missing": False}
    if column == Boolean(missing=column.missing) and data["categories"][0] is False:
        return {"type": "Boolean"} | missing
    words = {old: new for new, old in _OLD_WORDS.items()}
    return data | {"type": words.get(data["type"], data["type"])} | missing


def column_from(name: str, data: Mapping[str, Any]) -> Column:
    """A column from its JSON form, in the words of Python or of version 0.1."""
    try:
        kind = data["type"]
        words = kind in _OLD_WORDS
        kind = _OLD_WORDS.get(kind, kind)
        missing = bool(data.get("missing", data.get("nullable", words)))
        if kind == "numeric":
            _check_ends(data["lower"], data["upper"])
        if kind == "numeric" and data["lower"] == data["upper"]:
            return Opaque("constant")  # the same in every row: nothing to ask
        if kind == "numeric":
            return Number(
                data["lower"],
                data["upper"],
                integer=bool(data.get("integer", False)),
                missing=missing,
                unit=str(data.get("unit", "")),
            )
        if kind == "categorical":
            return _category(data, missing)
        if kind == "boolean":
            return Boolean(missing=missing)
        if kind == "text":
            from discreto.core.unknown_keys import OpenText  # which needs Domain

            return OpenText()
        if kind == "Opaque":
            return Opaque(str(data.get("kind", "identifier")))
        if kind in ("date", "datetime") and "first" in data:
            return column_from_dict(data, missing=missing)
        if kind in ("identifier", "datetime", "constant"):
            return Opaque(kind)
    except KeyError as key:
        raise DomainError(f"column {name!r} of the domain file lacks {key}.") from None
    except TypeError:
        raise DomainError(f"column {name!r} of the domain file is malformed.") from None
    except DomainError as error:
        raise DomainError(f"column {name!r}: {error}") from None
    raise DomainError(
        f"column {name!r} has the unknown type {kind!r}. Known types: Number, "
        "Category, Boolean, Date, DateTime, Opaque (and numeric, categorical, "
        "boolean, date, datetime, text, identifier)."
    )


def _category(data: Mapping[str, Any], missing: bool) -> Category:
    if not isinstance(data["categories"], list | tuple):
        raise TypeError
    if not isinstance(data.get("aliases", {}), Mapping):
        raise TypeError
    return Category(
        tuple(data["categories"]),
        missing=missing,
        aliases=data.get("aliases", {}),
        case=bool(data.get("case", True)),
        strip=bool(data.get("strip", False)),
    )
