"""Domains from code books that are at hand: Frictionless, CSVW and SDMX.

A code book says what values may be; nothing is read from rows. What it does not say
(a bound, a list of categories) makes a column ``Opaque``: known, but not asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreto.core.documents import read_json
from discreto.core.domain.columns import Boolean, Category, Column, Number, Opaque
from discreto.core.domain.dates import Date
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
from discreto.data.sdmx import fields_of_json, fields_of_xml, is_sdmx
from discreto.errors import DomainError, ParameterError

_NUMBERS = {
    **dict.fromkeys(("integer", "int", "long", "short", "nonNegativeInteger"), True),
    **dict.fromkeys(("number", "decimal", "double", "float"), False),
}


def from_code_book(path: str | Path) -> Domain:
    """A domain from a Frictionless schema, CSVW metadata or an SDMX structure.

    Parameters
    ----------
    path
        A JSON file, or an XML file of SDMX. Of several tables the first is taken.

    Returns
    -------
    Domain
        Columns without bounds or categories are ``Opaque``.

    Raises
    ------
    DomainError
        The file is no such code book, or says of no column what it may hold.
    """
    fields, dialect = _read(path)
    columns: dict[str, Column] = {}
    for field in fields:
        name = field.get("name") or field.get("titles")
        if not isinstance(name, str):
            raise DomainError(f"a column of {str(path)!r} has no name.")
        columns[name] = _column(field)
    if all(isinstance(column, Opaque) for column in columns.values()):
        raise DomainError(
            f"{str(path)!r} says of no column what it may hold: it needs minimum and "
            "maximum, or enum. discreto domain draft writes a file to fill in."
        )
    return Domain(columns, dialect=dialect)


def _read(path: str | Path) -> tuple[list[Mapping[str, Any]], Dialect | None]:
    """What a code book of any kind says about its columns."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        if text.lstrip().startswith("<"):
            return list(fields_of_xml(text)), None
        data = read_json(text)
    except ParameterError as error:
        raise DomainError(f"{str(path)!r} is not a code book: {error}") from None
    except (OSError, ValueError):
        raise DomainError(f"{str(path)!r} is no readable JSON or XML file.") from None
    if not is_sdmx(data):
        return _fields(data)
    try:
        return list(fields_of_json(data)), None
    except (AttributeError, KeyError, TypeError, LookupError):
        raise DomainError(f"{str(path)!r} is no SDMX structure message.") from None


def _fields(data: Any) -> tuple[list[Mapping[str, Any]], Dialect | None]:
    """The columns of the first table, and how its file is written."""
    tables = data.get("resources") or data.get("tables") if _is_map(data) else None
    one = tables[0] if isinstance(tables, list) and tables else data
    schema = one.get("schema", one.get("tableSchema", one)) if _is_map(one) else {}
    fields = schema.get("fields", schema.get("columns")) if _is_map(schema) else None
    if not isinstance(fields, list) or not all(map(_is_map, fields)) or not fields:
        raise DomainError("this is no Frictionless schema, CSVW metadata or SDMX.")
    said = one.get("dialect", {})
    if not _is_map(said):
        said = {}
    parts: dict[str, Any] = {}
    if "delimiter" in said:
        parts["separator"] = said["delimiter"]
    if encoding := one.get("encoding", said.get("encoding")):
        parts["encoding"] = encoding
    if words := schema.get("missingValues"):
        parts["missing"] = words
    marks = {f.get("decimalChar") for f in fields} - {None}
    if len(marks) == 1:
        parts["decimal"] = marks.pop()
    try:
        return fields, Dialect(**parts) if parts else None
    except ParameterError as error:
        raise DomainError(f"the code book's dialect: {error}") from None


def _column(field: Mapping[str, Any]) -> Column:
    kind, facts = _facts(field)
    missing = not (facts.get("required") is True or field.get("required") is True)
    values = facts.get("enum")
    if isinstance(values, list) and values:
        return Category(values, missing=missing)
    if kind == "boolean":
        return Boolean(missing=missing)
    ends = facts.get("minimum"), facts.get("maximum")
    if None in ends:
        return Opaque(kind or "identifier")
    if kind == "date":
        return Date(str(ends[0]), str(ends[1]), missing=missing)
    if kind in _NUMBERS:
        low, high = (_number(end) for end in ends)
        return Number(low, high, integer=_NUMBERS[kind], missing=missing)
    return Opaque(kind or "identifier")


def _facts(field: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The type of a column, and what is said about its values."""
    kind = field.get("type", field.get("datatype", "string"))
    facts = field.get("constraints", {})
    if _is_map(kind):  # CSVW: the type and its bounds are one thing
        facts = {**kind, **(facts if _is_map(facts) else {})}
        kind = kind.get("base", "string")
    return str(kind), facts if _is_map(facts) else {}


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DomainError(f"{value!r} is no bound of numbers.") from None
    return (
        int(number) if number.is_integer() and not isinstance(value, float) else number
    )


def _is_map(thing: Any) -> bool:
    return isinstance(thing, Mapping)
