"""Columns and dialects as JSON data: what a domain is known by, here and elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreto.core.documents import known_part, read_json
from discreto.core.domain.columns import Boolean, Category, Column, Number, Opaque
from discreto.core.domain.dates import column_from_dict
from discreto.core.domain.dialect import Dialect
from discreto.errors import DomainError, ParameterError

if TYPE_CHECKING:
    from discreto.core.domain.domain import Domain

# Every key that a domain file may have: a new one is added here and in
# data/domain.schema.json. "comment" and keys that begin with "x-" are remarks.
_FOR_READERS = (
    *("description", "about", "note", "task", "labels"),
    *("source", "origin", "licence", "help"),
)
DOMAIN_KEYS = (
    "discreto_domain",
    "columns",
    "target",
    "neighbours",
    "rows",
    "person",
    "rows_per_person",
    "dialect",
    "checked",
    "dataset",
    *_FOR_READERS,
    "$schema",
)
_GAPS = ("missing", "nullable")
_DAYS = ("first", "last", "resolution", "zone")
COLUMN_KEYS: dict[str, tuple[str, ...]] = {
    "numeric": ("lower", "upper", "integer", "unit", *_GAPS),
    "categorical": ("categories", "aliases", "case", "strip", *_GAPS),
    "boolean": _GAPS,
    "date": ("first", "last", *_GAPS),
    "datetime": (*_DAYS, *_GAPS),
    "text": (),
    "Opaque": ("kind",),
}
_ANY_COLUMN = ("type", *_FOR_READERS)
_ALL_KEYS = tuple(dict.fromkeys(key for keys in COLUMN_KEYS.values() for key in keys))


def check_domain_keys(data: Mapping[str, Any]) -> None:
    """Refuse a domain file with a key that is not known, such as ``neighbors``.

    A misspelt ``person`` that is passed over would protect rows instead of people.
    """
    try:
        known_part(data, DOMAIN_KEYS, "a domain file")
        for name, column in data["columns"].items():
            if isinstance(column, Mapping):
                _check_column_keys(name, column)
    except ParameterError as error:
        raise DomainError(str(error)) from None


def _check_column_keys(name: str, data: Mapping[str, Any]) -> None:
    """Refuse keys that a column of this kind does not have.

    A key of another kind may stand there without a value (null), as in drafts. A column
    that is not asked about may have the keys of all kinds.
    """
    kind = str(data.get("type"))
    own = COLUMN_KEYS.get(_OLD_WORDS.get(kind, kind), _ALL_KEYS)
    if kind == "datetime" and "first" not in data:  # of 0.1: not asked about
        own = _ALL_KEYS
    said = {k: v for k, v in data.items() if v is not None or k not in _ALL_KEYS}
    known_part(said, (*_ANY_COLUMN, *own), f"column {name!r} of a domain file")


def _flag(data: Mapping[str, Any], key: str, default: bool) -> bool:
    """Return a Boolean of a column; the text ``"false"`` is not one."""
    value = data.get(key, default)
    if not isinstance(value, bool):
        raise DomainError(f"{key} is true or false, without quotes. Got {value!r}.")
    return value


def _may_be_missing(data: Mapping[str, Any], default: bool) -> bool:
    """Return what ``missing`` says, or ``nullable``, its name in files of 0.1."""
    flags = {_flag(data, key, default) for key in _GAPS if key in data}
    if len(flags) > 1:
        raise DomainError("missing and nullable are one fact, and here they differ.")
    return flags.pop() if flags else default


def _text(data: Mapping[str, Any], key: str, default: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise DomainError(f"{key} is a text. Got {value!r}.")
    return value


_DATA = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx", ".xls", ".gz", ".zip")


def read_domain_file(path: str | Path) -> Any:
    """Return the JSON data of a domain file, for ``Domain.from_dict``."""
    try:
        return read_json(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DomainError(
            f"there is no domain file {str(path)!r}. Draft one with: "
            "discreto domain draft DATA"
        ) from None
    except (OSError, ValueError) as error:
        ours = str(error) if isinstance(error, ParameterError) else "it is not UTF-8."
        why = "it cannot be opened." if isinstance(error, OSError) else ours
        if Path(path).suffix.lower() in _DATA:
            why = (
                "its name is that of a table. Give the domain file (JSON) here; to "
                f"draft one: discreto domain draft {str(path)!r}"
            )
        raise DomainError(f"{str(path)!r} is not a domain file: {why}") from None


def domain_text(domain: Domain) -> str:
    """Return the text of a domain file, in the words of Python."""
    columns = {name: in_words(column) for name, column in domain.columns.items()}
    data = domain.to_dict() | {"columns": columns}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


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
        missing = _may_be_missing(data, words)
        if kind == "numeric":
            _check_ends(data["lower"], data["upper"])
        if kind == "numeric" and data["lower"] == data["upper"]:
            return Opaque("constant")  # the same in every row: nothing to ask
        if kind == "numeric":
            return Number(
                data["lower"],
                data["upper"],
                integer=_flag(data, "integer", False),
                missing=missing,
                unit=_text(data, "unit", ""),
            )
        if kind == "categorical":
            return _category(data, missing)
        if kind == "boolean":
            return Boolean(missing=missing)
        if kind == "text":
            from discreto.core.unknown_keys import OpenText  # which needs Domain

            return OpenText()
        if kind == "Opaque":
            return Opaque(_text(data, "kind", "identifier"))
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
        case=_flag(data, "case", True),
        strip=_flag(data, "strip", False),
    )
