"""Our docstrings in the form that Sphinx reads."""

from __future__ import annotations

import re
from typing import Any

FACT = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?) {2,}(\S.*)$")


def process(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Change the lines of a docstring in place, before napoleon reads them."""
    lines[:] = examples_apart(facts_as_lists(lines))


def facts_as_lists(lines: list[str]) -> list[str]:
    """The aligned facts of a Privacy section become a list of definitions.

    >>> facts_as_lists(["Asks   one sum", "       of rows.", "Free   the rest."])
    ['', 'Asks', '    one sum', '    of rows.', '', 'Free', '    the rest.', '']
    """
    out: list[str] = []
    inside = False
    for line in lines:
        fact = FACT.match(line)
        if fact:
            out += ["", fact[1], f"    {_safe(fact[2])}"]
            inside = True
        elif inside and line.startswith("    "):
            out.append(f"    {_safe(line.strip())}")
        else:
            out += [""] * inside
            out.append(line)
            inside = False
    return [*out, ""] if inside else out


def _safe(text: str) -> str:
    return text.replace("|", r"\|")


def examples_apart(lines: list[str]) -> list[str]:
    """Examples that follow the parameters without a heading get one.

    >>> examples_apart(["Parameters", "----------", "x", "    One.", "", ">>> 1"])[4:]
    ['', 'Examples', '--------', '>>> 1']
    """
    out: list[str] = []
    heading = ""
    for place, line in enumerate(lines):
        below = lines[place + 1] if place + 1 < len(lines) else ""
        if line and below and set(below) == {"-"}:
            heading = line
        if line.startswith(">>>") and heading in ("Parameters", "Returns", "Raises"):
            out += ["Examples", "--------"]
            heading = "Examples"
        out.append(line)
    return out
