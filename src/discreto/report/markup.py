"""Building blocks of a page. Whatever is not :class:`Html` already is escaped.

>>> text("a < b & c")
Html('<p>a &lt; b &amp; c</p>')
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from discreto.core.cost import show
from discreto.errors import ParameterError
from discreto.report.svg import svg_of
from discreto.text.html import Html, join, tag
from discreto.text.language import number, tr

_FOLDER = files("discreto.report") / "templates"
# Templates escape every value that is not markup.
TEMPLATES = Environment(
    loader=FunctionLoader(lambda name: (_FOLDER / name).read_text(encoding="utf-8")),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
)
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


def plain(value: Real) -> str:
    """Return a number without a spread: an integer in full, others with 4 digits."""
    return f"{value}" if isinstance(value, int) else _number(float(value), None)


def amount(value: Any) -> str:
    """Return an amount of a budget as the language writes it."""
    return number(show(value))


TEMPLATES.globals.update(tr=tr, number=number, amount=amount, plain=plain)
TEMPLATES.tests.update(
    markup=lambda value: hasattr(value, "__html__"),
    measured=lambda value: isinstance(value, Measured),
    real=lambda value: isinstance(value, Real),
)


@cache
def _blocks() -> Any:
    return TEMPLATES.get_template("blocks.html").module


def text(*parts: Any) -> Html:
    """Return a paragraph.

    Parameters
    ----------
    parts
        Texts, which are escaped, and markup.
    """
    return Html(_blocks().text(parts))


def code(content: Any, *, block: bool = False) -> Html:
    """Return code in a line, or as a block of its own.

    Parameters
    ----------
    content
        The code.
    block
        Whether it stands on lines of its own.
    """
    return Html(_blocks().code(content, block))


def stamp() -> Html:
    """Return the word that every simulated result carries."""
    return Html(_blocks().stamp())


def note(*parts: Any, kind: str = "") -> Html:
    """Return a box that stands out.

    Parameters
    ----------
    parts
        Texts, which are escaped, and blocks.
    kind
        ``"warn"``, ``"good"`` or nothing.
    """
    return Html(_blocks().note(parts, kind))


def facts(several: Mapping[str, Any]) -> Html:
    """Return a row of small cards: a name and a value each.

    Parameters
    ----------
    several
        Values by name; a pair is a value and a remark.
    """
    cards = [
        (name, *(value if isinstance(value, tuple) else (value, "")))
        for name, value in several.items()
    ]
    return Html(_blocks().facts(cards))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: Any = "",
    best: int | None = None,
) -> Html:
    """Return a table that a reader can sort; numbers stand to the right.

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
    return Html(_blocks().table(columns, lines, numeric, caption, best))


def _is_numeric(cells: list[Any]) -> bool:
    kinds = [isinstance(c, Real | Measured) and not isinstance(c, bool) for c in cells]
    return any(kinds) and all(k or c is None for k, c in zip(kinds, cells, strict=True))


def figure(shown: Any, *, caption: Any = "", alt: str = "") -> Html:
    """Return a picture, inline.

    Parameters
    ----------
    shown
        A display of :mod:`discreto.plots`, a matplotlib figure, or SVG text.
    caption
        Stands below the picture.
    alt
        The text for screen readers; by default the caption.

    Notes
    -----
    Without matplotlib a line stands in its place, because the answers were paid for.
    """
    try:
        drawn = Html(svg_of(shown, alt=alt or str(caption)))
    except ImportError:
        drawn = text(tr("Pictures need matplotlib: pip install matplotlib"))
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    wide = box is not None and float(box[1]) > WIDE * float(box[2])
    size = "wide" if wide else "small" if box and float(box[1]) < SMALL else ""
    return Html(_blocks().figure(drawn, caption, size))


def side_by_side(*blocks: Html) -> Html:
    """Return figures or tables beside each other, as far as the page is wide enough.

    Parameters
    ----------
    blocks
        What ``figure`` and ``table`` returned.
    """
    kind = "tables" if any("<table" in block for block in blocks) else "pair"
    return Html(_blocks().group(blocks, kind))


TEMPLATES.globals.update(
    text=text,
    code=code,
    stamp=stamp,
    note=note,
    facts=facts,
    table=table,
    figure=figure,
    side_by_side=side_by_side,
    Measured=Measured,
)


__all__ = [
    "TEMPLATES",
    "Html",
    "Measured",
    "code",
    "facts",
    "figure",
    "join",
    "note",
    "side_by_side",
    "stamp",
    "table",
    "tag",
    "text",
]
