"""Small pictures of releases and budgets, as SVG that takes the page's colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from discreto.release.text import key_in_words
from discreto.text.language import number as written

_MOST = 60  # bars of one picture
_LINE, _LEFT, _WIDE = 26, 170, 640


def rows_of(release: dict[str, Any]) -> list[tuple[str, Any, Any, Any]]:
    """Return key, value and interval of each part of a release."""
    keys = release.get("keys")
    if not keys:
        return [(release["label"], release["value"], release["low"], release["high"])]
    names = [key_in_words(tuple(k) if isinstance(k, list) else k) for k in keys]
    parts = [_flat(release[part]) for part in ("value", "low", "high")]
    return list(zip(names, *parts, strict=True))


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [one for part in value for one in _flat(part)]


def interval_picture(release: dict[str, Any]) -> Markup:
    """Return each number with its 95 % interval; nothing if they are not numbers."""
    rows = [row for row in rows_of(release)[:_MOST] if _are_numbers(row[1:])]
    if not rows:
        return Markup("")
    low = min(0.0, *(float(row[2]) for row in rows))
    high = max(0.0, *(float(row[3]) for row in rows))
    if len(rows) == 1:  # nothing to compare with: show the interval, not the way to 0
        width = (float(rows[0][3]) - float(rows[0][2])) or 1.0
        low, high = float(rows[0][2]) - width, float(rows[0][3]) + width
    scale = (_WIDE - _LEFT - 20) / ((high - low) or 1.0)

    def place(value: Any) -> str:
        return f"{_LEFT + (float(value) - low) * scale:.1f}"

    parts = []
    for number, (name, value, a, b) in enumerate(rows):
        y = 8 + number * _LINE
        base = place(max(low, min(0.0, high)))
        start, wide = sorted((float(base), float(place(value))))
        if len(rows) > 1:
            parts.append(
                f'<rect class="bar" x="{start:.1f}" y="{y}" '
                f'width="{max(wide - start, 0.5):.1f}" height="14"/>'
            )
        parts.append(
            f'<line class="whisker" x1="{place(a)}" x2="{place(b)}" y1="{y + 7}" '
            f'y2="{y + 7}"/><circle class="dot" cx="{place(value)}" cy="{y + 7}" '
            f'r="4"/><text x="{_LEFT - 8}" y="{y + 12}" class="key">'
            f"{escape(name[:24])}</text>"
        )
    return _svg(parts, 16 + len(rows) * _LINE, str(release["label"]))


def burn_down(charges: Sequence[float], limit: float, name: str) -> Markup:
    """Return what was left of a budget after each charge, if charges added up."""
    left, points = limit, [limit]
    for charge in charges:
        left -= charge
        points.append(max(left, 0.0))
    points += points if len(points) == 1 else []  # nothing was spent: a flat line
    step = (_WIDE - 60) / max(len(points) - 1, 1)
    line = " ".join(
        f"{50 + k * step:.1f},{10 + 100 * (1 - p / (limit or 1)):.1f}"
        for k, p in enumerate(points)
    )
    parts = [
        '<line class="axis" x1="50" x2="630" y1="110" y2="110"/>',
        '<line class="axis" x1="50" x2="50" y1="10" y2="110"/>',
        f'<text class="key" x="44" y="16">{written(limit, "g")}</text>',
        '<text class="key" x="44" y="114">0</text>',
        f'<polyline class="burn" points="{line}"/>',
    ]
    return _svg(parts, 124, name)


def _svg(parts: list[str], height: int, title: str) -> Markup:
    body = "".join(parts)
    return Markup(  # noqa: S704 - made of numbers and escaped texts
        f'<svg class="picture" viewBox="0 0 {_WIDE} {height}" role="img">'
        f"<title>{escape(title)}</title>{body}</svg>"
    )


def _are_numbers(values: tuple[Any, ...]) -> bool:
    return all(isinstance(v, int | float) and abs(v) < 1e300 for v in values)
