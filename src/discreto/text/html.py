"""Small pieces of HTML for notebooks. Whatever is not ``Html`` is escaped.

The core shows tables in notebooks and needs the standard library only, so these are
built without templates; pages are templates (``discreto.report``).

>>> tag("a", "x & y", href='"#1"')
Html('<a href="&quot;#1&quot;">x &amp; y</a>')
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from discreto.text.language import tr

MOST_ROWS = 60  # of a table in a notebook
LEFT = "text-align: left"


class Html(str):
    """Markup that was made here and is safe to put into a page."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup: templates do not escape it again."""
        return str(self)

    def __repr__(self) -> str:
        return f"Html({super().__repr__()})"


def escape(value: Any) -> Html:
    """Return any value as markup; texts are escaped."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def join(parts: Iterable[Any]) -> Html:
    """Return several parts, one after the other."""
    return Html("".join(escape(part) for part in parts))


def tag(name: str, *parts: Any, **attributes: Any) -> Html:
    """Return an element; ``class_`` becomes ``class``, ``data_sort`` ``data-sort``."""
    texts = [
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    ]
    return Html(f"<{name}{''.join(texts)}>{join(parts)}</{name}>")


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], *, caption: Any = ""
) -> Html:
    """Return a table as a notebook shows it, in the notebook's own style.

    >>> "&lt;1</td></tr></tbody></table>" in html_table(["a"], [["<1"]])
    True
    """
    wide = f"{LEFT}; white-space: nowrap"  # else it is as narrow as the table
    title = tag("caption", caption, style=wide) if caption else ""
    head = tag("thead", tag("tr", *(tag("th", name, style=LEFT) for name in heads)))
    shown = [
        tag("tr", *(tag("td", cell, style=LEFT) for cell in row))
        for row in rows[:MOST_ROWS]
    ]
    if len(rows) > MOST_ROWS:
        more = tr("... {count} more", count=len(rows) - MOST_ROWS)
        shown.append(tag("tr", tag("td", more, colspan=len(heads))))
    table = tag("table", title, head if any(heads) else "", tag("tbody", *shown))
    return tag("div", table)


__all__ = ["Html", "escape", "html_table", "join", "tag"]
