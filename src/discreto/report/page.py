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
from discreto.report.markup import Html, join, note, stamp, tag, text
from discreto.text.language import language, mark, speaking, tr

SIMULATED = mark(
    "These results come from a simulation: rows were used freely and "
    "nobody was protected. If the rows are private, so is this page: do"
    " not publish it."
)


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
        css, script = _part("page.css"), _part("page.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        # The page may load nothing and run only the script above, whatever is in it.
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'"
        )
        head = [
            f'<!DOCTYPE html>\n<html lang="{self.lang}">\n',
            '<head>\n<meta charset="utf-8">\n',
            '<meta http-equiv="Content-Security-Policy" ',
            f'content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            tag("title", self.title),
            f"\n<style>\n{css}</style>\n</head>\n",
            '<body class="compact">\n' if self.compact else "<body>\n",
        ]
        body = [self._header(), "\n", self._main(), "\n", _footer()]
        return "".join(
            [*head, *body, f"\n<script>{script}</script>\n</body>\n</html>\n"]
        )

    def _header(self) -> Html:
        button = tag("button", tr("light / dark"), class_="theme", type="button")
        top = tag("div", tag("h1", self.title), button, class_="top")
        parts = [top]
        if self.lead:
            parts.append(tag("p", self.lead, class_="lead"))
        if self.simulated:
            parts.append(note(text(stamp(), " ", tr(SIMULATED)), kind="warn"))
        if len(self._sections) > 2:
            links = [
                tag("a", title, href=f"#{name}") for name, title, _ in self._sections
            ]
            parts.append(tag("nav", *(join([link, " "]) for link in links)))
        return tag("header", *parts)

    def _main(self) -> Html:
        return tag("main", *(tag("section", body) for _, _, body in self._sections))

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


def anchor(title: str) -> str:
    """The name that links to a section use.

    >>> anchor("S2: RMSE against ε")
    's2-rmse-against'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def _footer() -> Html:
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return tag(
        "footer",
        tr(
            "discreto {version}, {moment}. One file, no network.",
            version=__version__,
            moment=moment,
        ),
    )


@cache
def _part(name: str) -> str:
    return (files("discreto.report") / name).read_text(encoding="utf-8")
