"""What a domain says, in words for people: of columns, and of who is protected."""

from __future__ import annotations

from discreto.core.dates import DateTime
from discreto.core.domain import Category, Column, Domain, Number
from discreto.markup import Html, html_table

MOST_CATEGORIES = 12


def column_words(column: Column) -> tuple[str, str, str]:
    """The kind, the values, and "yes" or "no" for missing ones."""
    missing = "yes" if getattr(column, "missing", False) else "no"
    if isinstance(column, DateTime):
        ends = f"{column.show(column.lower)} to {column.show(column.upper)}"
        return column.resolution, f"{ends} {column.zone}".strip(), missing
    if isinstance(column, Number):
        kind = "whole number" if column.integer else "number"
        ends = f"{column.lower:g} to {column.upper:g} {column.unit}".strip()
        return kind, ends, missing
    if isinstance(column, Category):
        shown = ", ".join(map(str, column.categories[:MOST_CATEGORIES]))
        more = len(column.categories) - MOST_CATEGORIES
        return "category", shown + (f", +{more} more" if more > 0 else ""), missing
    return column.kind, "never asked about", ""


def unit_of_privacy(domain: Domain) -> str:
    """What a charge protects: one row, or the rows of one person.

    >>> from discreto.core.domain import Opaque
    >>> columns = {"age": Number(0, 120), "who": Opaque("identifier")}
    >>> unit_of_privacy(Domain(columns))
    'one row, added or removed'
    >>> unit_of_privacy(Domain(columns, person="who", rows_per_person=3))
    'one person (column who), up to 3 of whose rows count, added or removed'
    """
    how = "replaced by another" if domain.neighbours == "replace" else ""
    how = how or "added or removed"
    if domain.person is None:
        return f"one row, {how}"
    many = domain.rows_per_person
    rows = f"up to {many} of whose rows count" if many > 1 else "with one row"
    return f"one person (column {domain.person}), {rows}, {how}"


def domain_html(domain: Domain) -> Html:
    """A domain as a notebook shows it."""
    rows = [
        (name, "target" if name == domain.target else "", *column_words(column))
        for name, column in domain.columns.items()
    ]
    heads = ["column", "role", "kind", "values", "may be missing"]
    caption = f"Domain; protects {unit_of_privacy(domain)}"
    return html_table(heads, rows, caption=caption)
