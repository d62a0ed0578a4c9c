"""What a domain says, in words for people: of columns, and of who is protected."""

from __future__ import annotations

from discreto.core.domain.dates import DateTime
from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.text.html import Html, html_table
from discreto.text.language import mark, number, tr

MOST_CATEGORIES = 12
_RESOLUTIONS = (mark("day"), mark("hour"), mark("minute"), mark("second"))


def column_words(column: Column) -> tuple[str, str, str]:
    """The kind, the values, and "yes" or "no" for missing ones."""
    missing = tr("yes") if getattr(column, "missing", False) else tr("no")
    if isinstance(column, DateTime):
        ends = tr(
            "{low} to {high}",
            low=column.show(column.lower),
            high=column.show(column.upper),
        )
        return tr(column.resolution), f"{ends} {column.zone}".strip(), missing
    if isinstance(column, Number):
        kind = tr("whole number") if column.integer else tr("number")
        ends = tr(
            "{low} to {high}",
            low=number(column.lower, "g"),
            high=number(column.upper, "g"),
        )
        ends = f"{ends} {column.unit}".strip()
        return kind, ends, missing
    if isinstance(column, Category):
        shown = ", ".join(map(str, column.categories[:MOST_CATEGORIES]))
        more = len(column.categories) - MOST_CATEGORIES
        rest = tr(", +{more} more", more=more) if more > 0 else ""
        return tr("category"), shown + rest, missing
    return column.kind, tr("never asked about"), ""


def unit_of_privacy(domain: Domain) -> str:
    """What a charge protects: one row, or the rows of one person.

    >>> from discreto.core.domain.domain import Opaque
    >>> columns = {"age": Number(0, 120), "who": Opaque("identifier")}
    >>> unit_of_privacy(Domain(columns))
    'one row, added or removed'
    >>> unit_of_privacy(Domain(columns, person="who", rows_per_person=3))
    'one person (column who), up to 3 of whose rows count, added or removed'
    """
    how = tr("replaced by another") if domain.neighbours == "replace" else ""
    how = how or tr("added or removed")
    if domain.person is None:
        return tr("one row, {how}", how=how)
    many = domain.rows_per_person
    rows = (
        tr("up to {many} of whose rows count", many=many)
        if many > 1
        else tr("with one row")
    )
    return tr(
        "one person (column {person}), {rows}, {how}",
        person=domain.person,
        rows=rows,
        how=how,
    )


def domain_html(domain: Domain) -> Html:
    """A domain as a notebook shows it."""
    rows = [
        (name, tr("target") if name == domain.target else "", *column_words(column))
        for name, column in domain.columns.items()
    ]
    heads = [tr("column"), tr("role"), tr("kind"), tr("values"), tr("may be missing")]
    caption = tr("Domain; protects {unit}", unit=unit_of_privacy(domain))
    return html_table(heads, rows, caption=caption)
