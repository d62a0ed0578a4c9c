"""The built site in a browser: no request, no error, both themes, a phone, axe-core.

``scripts/docs`` builds it into ``build/site``; without that these tests are skipped.
``DISCRETO_PICTURES=FOLDER`` keeps a picture of every page that is looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, find_browser

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = os.environ.get("DISCRETO_PICTURES")
PAGES = (
    "index.html",
    "benchmarks.html",
    "databases.html",
    "tutorials/first-answer.html",
    "tutorials/model.html",
    "how-to/index.html",
    "proofs/index.html",
    "reference/command-line.html",
    "reference/api/discreto.models.KMeans.html",
    "reference/api/discreto.stats.html",
    "tutorials/notebooks/student.html",
)
pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="there is no browser"),
    pytest.mark.skipif(
        not (SITE / "index.html").exists(), reason="scripts/docs was not run"
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = find_browser()
    assert path
    out = Browser(path, tmp_path_factory.mktemp("profile"))
    yield out
    out.close()


def keep(browser: Browser, name: str) -> None:
    if PICTURES:
        (Path(PICTURES) / f"{name}.png").write_bytes(browser.picture())


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_a_page_needs_no_network_and_is_accessible(
    browser: Browser, page: str, look: str
) -> None:
    width = 390 if look == "phone" else 1200
    browser.open(SITE / page, dark=look == "dark", width=width)
    keep(browser, f"{page.replace('/', '-')}-{look}")
    assert browser.errors == []
    assert [
        one for one in browser.requests if not one.startswith(("file:", "data:"))
    ] == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix tests/integration")
    assert serious(browser) == []


def serious(browser: Browser) -> list[list[object]]:
    """What axe-core finds that keeps people out: impact, rule, where."""
    browser.run(AXE.read_text(encoding="utf-8"))
    found = browser.send(
        "Runtime.evaluate",
        expression="axe.run(document, {preload: false}).then(r => JSON.stringify("
        "r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html).slice(0, 3)]"
        ")))",
        awaitPromise=True,
        returnByValue=True,
    )
    several = json.loads(found["result"]["value"])
    return [one for one in several if one[0] in ("serious", "critical")]


def test_search_works_from_a_folder(browser: Browser) -> None:
    browser.open((SITE / "search.html").as_uri() + "?q=quantile")
    for _ in range(100):
        text = browser.run("document.querySelector('#search-results').innerText")
        if "quantile" in text.lower() and "result" in text.lower():
            break
        browser.send("Runtime.evaluate", expression="1")
    found = browser.run("document.querySelectorAll('#search-results li').length")
    keep(browser, "search")
    assert found > 3
