"""Pictures as SVG that lives inside a page: its colours follow light and dark."""

from __future__ import annotations

import hashlib
import html
import io
import re
from typing import Any

from discreto.errors import ParameterError
from discreto.plots.style import GREY, INK, PALE, PALETTE, Display

# A colour of the plots becomes a variable of the page, which has one for each theme.
COLOURS = {colour: f"var(--c{i})" for i, colour in enumerate(PALETTE, start=1)} | {
    INK: "currentColor",
    "#000000": "currentColor",
    GREY: "var(--grey)",
    PALE: "var(--pale)",
    "#b0b0b0": "var(--pale)",
    "#ffffff": "var(--paper)",
}
_ALLOWED = {
    *("svg", "g", "defs", "clippath", "use", "path", "rect", "line", "polyline"),
    *("polygon", "circle", "ellipse", "text", "tspan", "title", "desc", "image"),
    *("lineargradient", "stop"),
}
_ELEMENT = re.compile(r"<\s*/?\s*([A-Za-z][\w:-]*)")
_FOREIGN = re.compile(
    r"""\bon\w+\s*=|javascript:|@import|url\(\s*(?!\#)
    |\b(?:href|src)\s*=(?!\s*["'](?:\#|data:image/(?:png|jpeg);))""",
    re.IGNORECASE | re.VERBOSE,
)


def svg_of(shown: Any, *, alt: str = "") -> str:
    """Return SVG text of a display, a matplotlib figure, or of SVG text from a file."""
    if isinstance(shown, str):
        return adapt(shown, alt)
    return adapt(_draw(shown), alt)


def _draw(shown: Any) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text: it can be searched, read aloud, and takes the page's font.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreto"}):
        if isinstance(shown, Display):
            figure = Figure(figsize=shown.size, layout="constrained")
            shown.plot(figure.subplots())
        elif isinstance(shown, Figure):
            figure = shown
        else:
            raise ParameterError(
                "a figure is a display of discreto.plots, a matplotlib figure or SVG "
                f"text. Got {type(shown).__name__}."
            )
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()


def adapt(svg: str, alt: str = "") -> str:
    """Return SVG for a page: no header, own ids, colours of the page.

    >>> adapt('<svg><path id="a" style="fill: #0072b2"/></svg>', "a < b")[16:]
    '<title>a &lt; b</title><path style="fill: var(--c1)"/></svg>'
    """
    start = svg.find("<svg")
    if start < 0:
        raise ParameterError("this is not an SVG picture.")
    # A style sheet inside an inline picture would style the whole page.
    body = re.sub(
        r"<(metadata|style)\b.*?</\1>|<!--.*?-->", "", svg[start:], flags=re.S
    )
    _refuse_foreign(body)
    body = re.sub(r'\sxmlns(?::\w+)?="[^"]*"', "", body)
    body = body.replace("xlink:href", "href")
    mark = hashlib.sha256((body + alt).encode()).hexdigest()[:8]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', body))
    body = re.sub(r'\sid="([^"]*)"', lambda m: _own(m[1], mark, used), body)
    body = re.sub(r'(url\(|href=")#', rf"\1#{mark}-", body)
    body = re.sub(r"#[0-9a-fA-F]{6}\b", lambda m: COLOURS.get(m[0].lower(), m[0]), body)
    # The page's own font, in the size and weight of the picture.
    body = re.sub(r"font: (?:(\d+) )?([\d.]+px) [^;\"]*", _font, body)
    name = f"<title>{html.escape(alt or 'figure')}</title>"
    opening, _, rest = body.partition(">")
    return f'{opening} role="img">{name}{rest.strip()}'


def _font(found: re.Match[str]) -> str:
    weight = f"; font-weight: {found[1]}" if found[1] else ""
    return f"font-size: {found[2]}{weight}"


def _own(name: str, mark: str, used: set[str]) -> str:
    """Return an id of this picture's own, or nothing for an id that is not used."""
    return f' id="{mark}-{name}"' if name in used else ""


def _refuse_foreign(body: str) -> None:
    """Refuse a picture with anything but shapes and texts."""
    kinds = {kind.lower() for kind in _ELEMENT.findall(body)}
    if not kinds <= _ALLOWED or _FOREIGN.search(body):
        raise ParameterError(
            "this SVG has more in it than shapes and texts. It was left out."
        )
