"""Domain files: drafts from the head of a table, what they still lack, their schema.

No value of a row is looked at. What the head of a file does not say (types in a text
file, bounds, categories) is left for a person to fill in.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreto.core.documents import read_json
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
from discreto.core.domain.json import check_domain_keys, read_domain_file
from discreto.data.frames.files import (
    Head,
    check_start,
    format_of,
    head_of,
    layout_of,
    open_bytes,
    paths_of,
)
from discreto.data.frames.records import split_line
from discreto.data.sql.address import is_address, schema_at
from discreto.errors import DomainError
from discreto.text.language import tr

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
    'dialect: how a text file writes values. decimal is "." or ","; thousands is the '
    'mark between groups of three digits, "" if there is none; dates is "iso", "dmy", '
    '"mdy" or "ymd"; missing is the list of words for a gap, such as ["", "n/a", '
    '"-9"].',
]
_SEPARATORS = (";", "\t", "|", ",")
_MOST = 1 << 16  # bytes of a header
# What a text file does not say of itself, and what makes values vanish if it is wrong.
SPELLING = ("decimal", "thousands", "dates", "missing")


@dataclass(frozen=True)
class Draft:
    """A domain file to fill in, and what was assumed about the table."""

    data: dict[str, Any]
    assumed: tuple[str, ...]
    typed: bool  # whether the table says what its columns are


def draft(
    source: str,
    *,
    trusted: bool = False,
    dialect: Dialect | None = None,
    said: Sequence[str] = SPELLING,
) -> Draft:
    """A domain file with what the head of a table says; the rest is to fill in.

    ``trusted`` takes the first line of a text file for names, numbers or not. ``said``
    names the parts of ``dialect`` that were given; others of a text file are open.
    """
    if is_address(source):
        fields = schema_at(source)
        return Draft(_drafted(fields, list(fields), {}), (), True)
    paths = paths_of(source)
    path, assumed = paths[0], []
    if len(paths) > 1:
        assumed.append(f"the other {len(paths) - 1} files are like {path.name!r}")
    texts = format_of(path) in ("text", "excel")
    if format_of(path) == "text" and dialect is None:
        dialect, more = detect(path)
        assumed += more
        said = ()
    elif dialect is None:
        said = ()
    head = head_of(path, dialect)
    _check_names(path, head, trusted=trusted)
    for name in head.folders:
        assumed.append(f"the folder names are a column {name!r}")
    written = {} if dialect is None else dialect.to_dict()
    for part in SPELLING if texts else ():
        known = getattr(dialect, part) if part in said else TODO
        written[part] = list(known) if isinstance(known, tuple) else known
    data = _drafted(head.fields, head.names, written)
    return Draft(data, tuple(assumed), bool(head.fields))


def _drafted(
    fields: dict[str, Any], names: list[str], dialect: dict[str, Any]
) -> dict[str, Any]:
    data: dict[str, Any] = {"discreto_domain": 1, "help": _HELP}
    if dialect:
        data["dialect"] = dialect
    data |= {"target": None, "neighbours": "add-remove"}
    data |= {"person": None, "rows_per_person": 1}
    return data | {"columns": {name: _column(fields.get(name)) for name in names}}


def detect(path: Path) -> tuple[Dialect, list[str]]:
    """How a text file seems to be written, from its first line, and why."""
    with open_bytes(path) as file:
        start = file.read(_MOST)
    check_start(path, start)
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
    decimal = "," if best == ";" else "."
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
        ends = dict.fromkeys(("lower", "upper", "categories", "first", "last"))
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
    """Return what each column of a drafted domain file still needs.

    Raises
    ------
    DomainError
        It is not a domain file, or has a key that is not known.
    """
    data = read_domain_file(path)
    columns = data.get("columns") if isinstance(data, dict) else None
    if not isinstance(columns, dict):
        return {}  # Domain.load says what is wrong
    check_domain_keys(data)
    out: dict[str, list[str]] = {}
    written = data.get("dialect")
    if isinstance(written, dict):
        lacks = [name for name in SPELLING if written.get(name) in (TODO, [TODO])]
        out |= {"dialect": lacks} if lacks else {}
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


def unsaid(path: Path) -> list[str]:
    """Which parts of a dialect a domain file leaves out that a text file needs.

    A decimal point and ISO dates are taken where nothing is said; a reader of the file
    cannot see whether that was meant.
    """
    try:
        data = read_domain_file(path)
        columns = [str(column.get("type")) for column in data["columns"].values()]
        written = set(data.get("dialect") or ())
    except (DomainError, KeyError, TypeError, AttributeError):
        return []  # Domain.load says what is wrong
    kinds = {kind.lower() for kind in columns}
    numbers = bool(kinds & {"number", "numeric"})
    dates = bool(kinds & {"date", "datetime"})
    needed = ["decimal", "thousands"] if numbers else []
    needed += ["dates"] if dates else []
    needed += ["missing"] if numbers or dates else []
    return [name for name in needed if name not in written]


def draft_text(data: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """The JSON text of a domain file, with one line for each column."""
    rest = {name: part for name, part in data.items() if name != "columns"}
    lines = [
        f"  {json.dumps(name, ensure_ascii=ascii_only)}: "
        f"{json.dumps(column, ensure_ascii=ascii_only)}"
        for name, column in data["columns"].items()
    ]
    head = json.dumps(rest, indent=1, ensure_ascii=ascii_only).removesuffix("\n}")
    columns = ",\n".join(lines)
    return f'{head},\n "columns": {{\n{columns}\n }}\n}}\n'


def write_check(path: Path, domain: Domain) -> None:
    """Write the owner's statement of a domain into its file, in place."""
    data = read_domain_file(path)
    made = domain.to_dict()
    fields = {name: part for name, part in data.items() if name != "checked"}
    columns = fields.pop("columns")
    fields |= {"checked": made["checked"], "columns": columns}
    with tempfile.NamedTemporaryFile(
        "w", dir=path.absolute().parent, delete=False, encoding="utf-8", newline=""
    ) as file:
        file.write(draft_text(fields))
    shutil.copymode(path, file.name)
    os.replace(file.name, path)


def schema() -> dict[str, Any]:
    """The JSON Schema of domain files."""
    text = Path(__file__).with_name("domain.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = read_json(text)
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
