"""Follow every link of a built site, without a network."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The names and the links of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.names.add(value)
            elif value and (tag, name) in WHERE:
                self.links.append(value)


WHERE = {("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")}


def broken(site: Path) -> list[str]:
    """What each page links to that is not there."""
    paths = sorted(site.rglob("*.html"))
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in paths}
    out = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            if not there.is_file():
                out.append(f"{path.relative_to(site)}: there is no {link}")
            elif (
                parts.fragment
                and there in pages
                and unquote(parts.fragment) not in pages[there].names
            ):
                out.append(f"{path.relative_to(site)}: nothing is called {link}")
    return out
