"""Rows as a text file in the dialect of a domain, and the domain that reads them."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Domain
from discreto.core.domain.owner_statement import OwnerStatement

# What a spreadsheet takes for a formula when a cell begins with it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_DATES = {
    "iso": "%Y-%m-%d",
    "dmy": "%d.%m.%Y",
    "mdy": "%m/%d/%Y",
    "ymd": "%Y/%m/%d",
}


def harmless(cell: Any) -> str:
    """A cell that no spreadsheet runs as a formula.

    >>> harmless("=1+1"), harmless("mean of age")
    ("'=1+1", 'mean of age')
    """
    text = str(cell)
    return f"'{text}" if text.startswith(FORMULA) else text


def written_csv(
    columns: Mapping[str, Sequence[Any]], domain: Domain
) -> tuple[bytes, Domain]:
    """Return rows as CSV in the dialect of a domain, and the domain of that file.

    Texts are harmless to spreadsheets; where that changes a category, the new spelling
    is an alias. A file whose texts the encoding of the dialect lacks is UTF-8.
    """
    dialect = domain.dialect or Dialect()
    if not dialect.missing:  # a gap needs a word
        dialect = replace(dialect, missing=("",))
    text = io.StringIO()
    separator = dialect.separator or ","
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(map(harmless, columns))
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value, dialect) for value in row])
    try:
        found = text.getvalue().encode(dialect.encoding)
    except UnicodeEncodeError:
        dialect = replace(dialect, encoding="utf-8")
        found = text.getvalue().encode()
    return found, domain_of(columns, domain, dialect)


def domain_of(
    names: Mapping[str, Any] | Sequence[str],
    domain: Domain,
    dialect: Dialect | None = None,
) -> Domain:
    """Return the domain of rows that are made from others: no person, no row count."""
    columns = {name: domain[name] for name in names}
    if dialect is not None:  # of a text file
        columns = {harmless(n): _harmless_column(c) for n, c in columns.items()}
    target = domain.target if domain.target in columns else None
    made = Domain(columns, target=target, dialect=dialect)
    # These rows were written by the dialect, so it reads them.
    return made.with_(checked=OwnerStatement.of(made)) if dialect else made


def _harmless_column(column: Any) -> Any:
    if not isinstance(column, Category):
        return column
    texts = [one for one in column.categories if isinstance(one, str)]
    changed = {harmless(one): one for one in texts if harmless(one) != one}
    known: dict[str, Any] = dict(column.aliases) | changed
    return replace(column, aliases=tuple(known.items())) if changed else column


def _cell(value: Any, dialect: Dialect) -> str:
    """A value as the dialect writes it."""
    if value is None:
        return "" if "" in dialect.missing else dialect.missing[0]
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, dt.datetime):
        return f"{value:{_DATES[dialect.dates]}} {value:%H:%M:%S}"
    if isinstance(value, dt.date):
        return f"{value:{_DATES[dialect.dates]}}"
    text = str(value)
    return text.replace(".", dialect.decimal) if isinstance(value, float) else text
