"""Domain files: drafts from the head of a table, what they still lack, their schema.

No value of a row is looked at. What the head of a file does not say (types in a text
file, bounds, categories) is left for a person to fill in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreto.core.dialect import Dialect
from discreto.data.databases.address import is_address, schema_at
from discreto.data.frames.files import (
    Head,
    format_of,
    head_of,
    layout_of,
    open_bytes,
    paths_of,
)
from discreto.data.frames.records import split_line
from discreto.errors import DomainError
from discreto.language import tr

TODO = "TODO"
KINDS = "Number, Category, Boolean, Date, DateTime or Opaque"
_HELP = [
    "Fill in what is null or TODO, from a code book, a law, or what is physically "
    "possible; never from the rows. Wide bounds cost some accuracy, never privacy.",
    f"A type is {KINDS}. A Number has lower and upper, a Category has categories, a "
    "Date has first and last, a Boolean is true and false or 1 and 0 (yes and no are a "
    "Category). Delete what a column does not need.",
    "missing: false is a promise that there are no gaps. A Category may also have "
    "aliases, case: false and strip: true.",
    "target: the column that a model predicts, if one is to be fitted.",
    "person: the column that says whose row it is, if one person can have several.",
    'dialect: how a text file writes values, such as {"decimal": ",", "thousands": '
    '".", "dates": "dmy", "missing": ["", "n/a", "-9"]}.',
]
_SEPARATORS = (";", "\t", "|", ",")
_MOST = 1 << 16  # bytes of a header


@dataclass(frozen=True)
class Draft:
    """A domain file to fill in, and what was assumed about the table."""

    data: dict[str, Any]
    assumed: tuple[str, ...]
    typed: bool  # whether the table says what its columns are


def draft(
    source: str, *, trusted: bool = False, dialect: Dialect | None = None
) -> Draft:
    """A domain file with what the head of a table says; the rest is to fill in.

    ``trusted`` takes the first line of a text file for names, numbers or not.
    """
    if is_address(source):
        fields = schema_at(source)
        return Draft(_drafted(fields, list(fields), None), (), True)
    paths = paths_of(source)
    path, assumed = paths[0], []
    if len(paths) > 1:
        assumed.append(f"the other {len(paths) - 1} files are like {path.name!r}")
    if format_of(path) == "text" and dialect is None:
        dialect, more = detect(path)
        assumed += more
    head = head_of(path, dialect)
    _check_names(path, head, trusted=trusted)
    for name in head.folders:
        assumed.append(f"the folder names are a column {name!r}")
    data = _drafted(head.fields, head.names, dialect)
    return Draft(data, tuple(assumed), bool(head.fields))


def _drafted(
    fields: dict[str, Any], names: list[str], dialect: Dialect | None
) -> dict[str, Any]:
    data: dict[str, Any] = {"discreto_domain": 1, "help": _HELP}
    if dialect is not None and dialect != Dialect():
        data["dialect"] = dialect.to_dict()
    data |= {"target": None, "neighbours": "add-remove"}
    data |= {"person": None, "rows_per_person": 1}
    return data | {"columns": {name: _column(fields.get(name)) for name in names}}


def detect(path: Path) -> tuple[Dialect, list[str]]:
    """How a text file seems to be written, from its first line, and why."""
    with open_bytes(path) as file:
        start = file.read(_MOST)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DomainError(f"{path.name!r} is UTF-16. Save it as UTF-8.")
    line = start.split(b"\n")[0]
    encoding, words = "utf-8", [tr("it is UTF-8 (encoding)")]
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        encoding = "windows-1252"
        words = [tr("it is Windows-1252, since it is no UTF-8")]
    counts = {
        mark: len(split_line(line, mark.encode(), len(line) + 1))
        for mark in _SEPARATORS
    }
    best = max(_SEPARATORS, key=lambda mark: counts[mark])
    best = best if counts[best] > 1 else layout_of(path, None).separator
    usual = layout_of(path, None).separator
    shown = tr("a tab") if best == "\t" else repr(best)
    words.append(tr("fields are separated by {shown} (separator)", shown=shown))
    if best == ";":
        decimal = ","
        words.append(tr("numbers have a decimal ',' (decimal), as usual with ';'"))
    else:
        decimal = "."
        words.append(tr("numbers have a decimal '.' (decimal)"))
    separator = None if best == usual else best
    return Dialect(separator=separator, decimal=decimal, encoding=encoding), words


def _check_names(path: Path, head: Head, *, trusted: bool) -> None:
    names = head.names
    if not names or len(set(names)) < len(names) or not all(names):
        raise DomainError(
            f"{path.name!r} must name each column differently in its first line."
        )
    # A file without a header begins with somebody's row: it must not become names.
    if not trusted and not head.fields and any(map(_is_number, head.stored)):
        raise DomainError(
            f"the first line of {path.name!r} has a number in it, so it may be a row "
            "and not the column names. Add a line of names, or say --header if it is."
        )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _column(field: Any) -> dict[str, Any]:
    """A column of the draft, from its arrow field, if the table has types."""
    from pyarrow import types

    if field is None:
        ends = {"lower": None, "upper": None, "categories": None}
        return {"type": TODO, **ends, "missing": True}
    kind = field.type
    missing = {"missing": bool(field.nullable)}
    if types.is_date(kind):
        return {"type": "Date", "first": None, "last": None, **missing}
    if types.is_timestamp(kind):
        return {"type": "DateTime", "first": None, "last": None, **missing}
    if types.is_boolean(kind):
        return {"type": "Boolean", **missing}
    bounds = {"lower": None, "upper": None}
    if types.is_integer(kind):
        return {"type": "Number", **bounds, "integer": True, **missing}
    if types.is_floating(kind) or types.is_decimal(kind):
        return {"type": "Number", **bounds, **missing}
    if types.is_dictionary(kind) or "string" in str(kind):
        return {"type": "Category", "categories": None, **missing}
    return {"type": "Opaque", "kind": "identifier"}


_NEEDS = {
    "Number": ["lower", "upper"],
    "Category": ["categories"],
    "Date": ["first", "last"],
    "DateTime": ["first", "last"],
    "numeric": ["lower", "upper"],
    "categorical": ["categories"],
}


def unfilled(path: Path) -> dict[str, list[str]]:
    """What each column of a drafted domain file still needs."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        columns = dict(data["columns"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}  # Domain.load says what is wrong
    out = {}
    for name, column in columns.items():
        if isinstance(column, dict) and (lacks := _lacks(column)):
            out[str(name)] = lacks
    return out


def _lacks(column: dict[str, Any]) -> list[str]:
    kind = column.get("type")
    if kind in (None, TODO):
        return ["type"]
    wanted = _NEEDS.get(str(kind), [])
    return [name for name in wanted if column.get(name) in (None, TODO, [], [TODO])]


def schema() -> dict[str, Any]:
    """The JSON Schema of domain files."""
    text = Path(__file__).with_name("domain.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def stored_types(source: str, dialect: Dialect | None) -> dict[str, str]:
    """How a table stores its columns, for people to read."""
    if is_address(source):
        return {name: str(field.type) for name, field in schema_at(source).items()}
    head = head_of(paths_of(source)[0], dialect)
    return {
        name: str(head.fields[name].type) if name in head.fields else "text"
        for name in head.names
    }
