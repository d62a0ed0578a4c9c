"""Building blocks of a page. Whatever is not :class:`Html` already is escaped.

>>> text("a < b & c")
Html('<p>a &lt; b &amp; c</p>')
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from discreto.errors import ParameterError
from discreto.report.svg import svg_of
from discreto.text.html import Html, join, tag
from discreto.text.language import number, tr

WIDE = 2.2  # times as wide as high: pictures of several panels
SMALL = 380.0  # points: pictures that are not blown up


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its spread and its price, as every private number is shown.

    Parameters
    ----------
    value
        The number.
    spread
        How far it may be off; it sets the digits that are shown.
    epsilon
        Its price.
    unit
        What it counts.
    quiet
        The spread sets the digits, but stands elsewhere.

    Examples
    --------
    >>> str(Measured(0.7531, 0.0213, epsilon=1))
    '0.753 ± 0.021 at ε 1'
    """

    value: float
    spread: float | None = None
    epsilon: float | None = None
    unit: str = ""
    quiet: bool = False  # the spread sets the digits, and stands elsewhere

    def __str__(self) -> str:
        price = (
            ""
            if self.epsilon is None
            else " " + tr("at ε {epsilon}", epsilon=number(self.epsilon, "g"))
        )
        return f"{self.shown}{self.width}{price}"

    @property
    def shown(self) -> str:
        """The value with as many digits as its spread deserves."""
        return f"{_number(self.value, self.spread)}{self.unit and f' {self.unit}'}"

    @property
    def width(self) -> str:
        """The spread, if there is one."""
        if self.quiet or self.spread is None or not math.isfinite(self.spread):
            return ""
        return f" ± {_number(self.spread, self.spread)}"


def _number(value: float, spread: float | None) -> str:
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "-")
    if not spread or not math.isfinite(spread):
        return number(value, ".4g")
    digits = min(max(1 - math.floor(math.log10(spread)), 0), 6)
    return number(value, f".{digits}f")


def text(*parts: Any) -> Html:
    """A paragraph.

    Parameters
    ----------
    parts
        Texts, which are escaped, and markup.
    """
    return tag("p", *parts)


def code(content: Any, *, block: bool = False) -> Html:
    """Code in a line, or as a block of its own.

    Parameters
    ----------
    content
        The code.
    block
        Whether it stands on lines of its own.
    """
    inline = tag("code", content)
    return tag("pre", inline) if block else inline


def stamp() -> Html:
    """The word that every simulated result carries."""
    return tag("span", tr("SIMULATED"), class_="stamp")


def note(*parts: Any, kind: str = "") -> Html:
    """A box that stands out.

    Parameters
    ----------
    parts
        Texts, which are escaped, and blocks.
    kind
        ``"warn"``, ``"good"`` or nothing.
    """
    body = [part if isinstance(part, Html) else text(part) for part in parts]
    return tag("div", *body, class_=f"note {kind}".strip())


def facts(several: Mapping[str, Any]) -> Html:
    """A row of small cards: a name and a value each.

    Parameters
    ----------
    several
        Values by name; a pair is a value and a remark.
    """
    cards = []
    for name, value in several.items():
        main, small = value if isinstance(value, tuple) else (value, "")
        extra = tag("small", small) if small else ""
        shown = _measured(main) if isinstance(main, Measured) else main
        cards.append(
            tag("div", tag("dt", name), tag("dd", shown, extra), class_="card")
        )
    return tag("dl", *cards, class_="cards")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: Any = "",
    best: int | None = None,
) -> Html:
    """A table that a reader can sort; numbers stand to the right.

    Parameters
    ----------
    columns
        The names of the columns.
    rows
        Cells: a text, a number, a :class:`Measured`, None, a bool or ready markup.
    caption
        Stands above the table.
    best
        The place of a row that is set off.

    Raises
    ------
    ParameterError
        A row has more or fewer cells than there are columns.
    """
    lines = [list(row) for row in rows]
    if any(len(line) != len(columns) for line in lines):
        raise ParameterError(f"every row of this table needs {len(columns)} columns.")
    numeric = [_is_numeric([line[i] for line in lines]) for i in range(len(columns))]
    heads = [
        tag(
            "th",
            tag("button", name, type="button") if name else "",
            class_="number" if right else "",
            scope="col",
            aria_sort="none",
        )
        for name, right in zip(columns, numeric, strict=True)
    ]
    body = [
        tag(
            "tr",
            *(_cell(c, n) for c, n in zip(line, numeric, strict=True)),
            class_="best" if i == best else "",
        )
        for i, line in enumerate(lines)
    ]
    head = tag("thead", tag("tr", *heads)) if any(columns) else ""
    title = tag("caption", tag("span", caption)) if caption else ""
    whole = tag("table", title, head, tag("tbody", *body))
    return tag("div", whole, class_="scroll")


def _is_numeric(cells: list[Any]) -> bool:
    kinds = [isinstance(c, Real | Measured) and not isinstance(c, bool) for c in cells]
    return any(kinds) and all(k or c is None for k, c in zip(kinds, cells, strict=True))


def _cell(cell: Any, right: bool) -> Html:
    side = "number" if right else ""
    if isinstance(cell, Measured):
        return tag(
            "td", _measured(cell), class_=side, data_sort=repr(float(cell.value))
        )
    if isinstance(cell, bool):
        word, kind = (tr("yes"), "yes") if cell else (tr("no"), "no")
        return tag("td", tag("span", word, class_=kind))
    if cell is None:
        return tag("td", "–", class_=side, data_sort="nan" if right else None)
    if isinstance(cell, Real):
        value = float(cell)
        shown = f"{cell}" if isinstance(cell, int) else _number(value, None)
        return tag("td", shown, class_=side, data_sort=repr(value))
    return tag("td", cell, class_=side)


def _measured(measured: Measured) -> Html:
    parts: list[Any] = [measured.shown]
    if measured.width:
        parts.append(tag("span", measured.width, class_="spread"))
    if measured.epsilon is not None:
        parts.append(tag("span", f" ε {number(measured.epsilon, 'g')}", class_="price"))
    return join(parts)


def figure(shown: Any, *, caption: Any = "", alt: str = "") -> Html:
    """A picture, inline.

    Parameters
    ----------
    shown
        A display of :mod:`discreto.plots`, a matplotlib figure, or SVG text.
    caption
        Stands below the picture.
    alt
        What those hear who do not see it; by default the caption.

    Notes
    -----
    Without matplotlib a line stands in its place: what the page tells was paid for.
    """
    try:
        drawn = Html(svg_of(shown, alt=alt or str(caption)))
    except ImportError:
        drawn = tag("p", tr("Pictures need matplotlib: pip install matplotlib"))
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    wide = box is not None and float(box[1]) > WIDE * float(box[2])
    text = tag("figcaption", caption) if caption else ""
    size = "wide" if wide else "small" if box and float(box[1]) < SMALL else ""
    return tag("figure", drawn, text, class_=size)


def side_by_side(*blocks: Html) -> Html:
    """Figures or tables beside each other where there is room.

    Parameters
    ----------
    blocks
        What ``figure`` and ``table`` returned.
    """
    kind = "tables" if any("<table" in block for block in blocks) else "pair"
    return tag("div", *blocks, class_=kind)
