"""One HTML file with everything in it: no network, light and dark, for print too."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from discreto import __version__
from discreto.report.markup import TEMPLATES, Html, join, stamp, tag, text
from discreto.text.language import language, speaking


class Page:
    """A page of sections.

    Parameters
    ----------
    title
        The heading of the page.
    lead
        A sentence or two below it.
    simulated
        Whether to stamp the page SIMULATED and say what that means.
    compact
        Whether it is printed small, on few sheets.

    >>> page = Page("Report")
    >>> page.section("Facts", "1 < 2")
    >>> "<p>1 &lt; 2</p>" in str(page)
    True
    """

    def __init__(
        self,
        title: str,
        lead: Any = "",
        *,
        simulated: bool = False,
        compact: bool = False,
    ) -> None:
        self.title, self.lead, self.simulated = title, lead, simulated
        self.compact, self.lang = compact, language()
        self._sections: list[tuple[str, str, Html]] = []

    def section(self, title: str, *blocks: Any, simulated: bool = False) -> None:
        """Add a section.

        Parameters
        ----------
        title
            Stands above the section.
        blocks
            What ``text``, ``table`` and the others returned; a text becomes a
            paragraph.
        simulated
            Whether the section is stamped SIMULATED.
        """
        body = [b if isinstance(b, Html) else text(b) for b in blocks]
        name = anchor(title)
        if name in {taken for taken, _, _ in self._sections}:
            name = f"{name}-{len(self._sections) + 1}"
        mark = stamp() if simulated else ""
        head = tag("h2", title, mark, id=name)
        self._sections.append((name, title, join([head, *body])))

    def __str__(self) -> str:
        with speaking(self.lang):
            return self._whole()

    def _whole(self) -> str:
        script = _part("page.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        # The page may load nothing and run only this script, whatever is in it.
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'"
        )
        return TEMPLATES.get_template("page.html").render(
            page=self,
            lang=self.lang,
            sections=self._sections,
            policy=policy,
            css=_part("page.css"),
            script=script,
            version=__version__,
            moment=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )

    def save(self, path: str | Path) -> Path:
        """Write the page to a file.

        Parameters
        ----------
        path
            The file to write; its folder is made if need be.

        Returns
        -------
        Path
            The file.
        """
        out = Path(path)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(str(self), encoding="utf-8")
        return out


def fill(page: Page, template: str, **given: Any) -> Page:
    """Add the sections of a template to a page, and return the page.

    Parameters
    ----------
    page
        The page, which the template's ``section`` adds to.
    template
        The name of a file in ``report/templates``.
    given
        The values that the template shows.
    """

    def section(title: str, caller: Any, *, simulated: bool = False) -> str:
        page.section(title, Html(caller().strip()), simulated=simulated)
        return ""

    TEMPLATES.get_template(template).render(given, section=section)
    return page


def anchor(title: str) -> str:
    """Return the name that links to a section use.

    >>> anchor("S2: RMSE against ε")
    's2-rmse-against'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


@cache
def _part(name: str) -> str:
    return (files("discreto.report") / name).read_text(encoding="utf-8")
