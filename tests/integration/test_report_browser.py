"""Pages in a real browser: they load nothing, sort, change themes, and fit a phone."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Browser, find_browser
from PIL import Image

import discreto as dp
from discreto import models, report
from discreto.compare.cross_validation import compare
from discreto.plots import EpsilonCurveDisplay, TopologyDisplay
from discreto.testing import simulate

PLACES = "[...document.querySelectorAll('table')[%d].tBodies[0].rows]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip("no browser: apt-get install chromium")
    made = Browser(path, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def blocks(folder: Path) -> Path:
    """A page with one of everything."""
    page = report.Page("Everything", "All blocks.", simulated=True)
    rows = [
        ["ten", report.Measured(10.0, 0.5, epsilon=1), 3],
        ["two", report.Measured(2.0, 0.25, epsilon=1), None],
        ["Alpha", report.Measured(-1.5e3, 10, epsilon=1), 1],
    ]
    page.section("Table", report.table(["name", "value", "count"], rows))
    curve = [
        {"model": name, "epsilon": e, "mean": e / 9, "spread": 0.1}
        for name in "abcdefgh"
        for e in (0.5, 1, 2)
    ]
    shown = EpsilonCurveDisplay.from_results(curve)
    graph = TopologyDisplay.from_matrix(np.full((5, 5), 0.2))
    pictures = (report.figure(shown, caption="Curves"), report.figure(graph))
    page.section("Pictures", report.side_by_side(*pictures), *pictures)
    page.section("Text", report.note("A note."), report.code("x " * 400, block=True))
    return page.save(folder / "blocks.html")


@pytest.fixture(scope="module")
def pages(folder: Path, blocks: Path) -> list[Path]:
    """The pages that the commands write."""
    coins = np.random.default_rng(0)
    a, b = coins.random((2, 200))
    data = {"a": a, "b": b, "y": np.where(a + b > 1, "p", "n")}
    domain = dp.Domain(
        {"a": dp.Number(0, 1), "b": dp.Number(0, 1), "y": dp.Category(["n", "p"])},
        target="y",
    )
    ledger = dp.Ledger(epsilon=3)
    table = dp.Table(data, domain, ledger)
    model = models.NaiveBayes(epsilon=1).fit(table, "y")
    judged = models.evaluate(model, table, epsilon=1)
    groups = models.KMeans(2, epsilon=1).fit(
        dp.Table(data, domain.select(["a", "b"]), simulate(0))
    )
    made = compare(data, domain, epsilons=["8"], folds=2, repeats=1)
    several = {
        "model": report.model_page(model, evaluation=judged),
        "groups": report.model_page(groups),
        "ledger": report.ledger_page(ledger),
        "compare": report.comparison_page(made, command="discreto fit " + "x" * 300),
    }
    return [
        blocks,
        *(page.save(folder / f"{name}.html") for name, page in several.items()),
    ]


def column(browser: Browser, place: int, table: int = 0) -> list[str]:
    rows = PLACES % table
    return browser.run(f"{rows}.map(row => row.cells[{place}].textContent)")


def test_pages_load_nothing_and_raise_nothing(
    browser: Browser, pages: list[Path]
) -> None:
    for path in pages:
        for dark in (False, True):
            browser.open(path, dark=dark)
            assert browser.errors == [], path.name
            assert browser.requests == [path.resolve().as_uri()], path.name


def test_a_foreign_script_does_not_run(browser: Browser, folder: Path) -> None:
    """What the escaping stops, the policy of the page stops again."""
    page = report.Page("x")
    evil = "<script>document.title='hacked'</script><img src='https://example.org/x'>"
    page.section("y", report.Html(evil))
    browser.open(page.save(folder / "evil.html"))
    assert browser.run("document.title") == "x"
    assert any("Content Security Policy" in error for error in browser.errors)


def test_headings_sort_by_value_and_by_name(browser: Browser, blocks: Path) -> None:
    browser.open(blocks)
    browser.click("th button", 1)
    assert column(browser, 0) == ["Alpha", "two", "ten"]
    assert browser.run("document.querySelectorAll('th')[1].ariaSort") == "ascending"
    browser.click("th button", 1)
    assert column(browser, 0) == ["ten", "two", "Alpha"]
    browser.click("th button", 0)
    assert column(browser, 0) == ["Alpha", "ten", "two"]
    assert browser.run("document.querySelectorAll('th')[1].ariaSort") == "none"
    browser.click("th button", 2)
    assert column(browser, 2) == ["1", "3", "–"]


def test_the_scores_of_a_comparison_sort(browser: Browser, pages: list[Path]) -> None:
    browser.open(pages[-1])
    browser.click("th button", 1)
    scores = [float(text.split(" ")[0]) for text in column(browser, 1)]
    assert len(scores) >= 5
    assert scores == sorted(scores)


def colours(browser: Browser) -> tuple[int, int]:
    """How light the paper and the ink are."""
    style = "getComputedStyle(document.body)"
    texts = (browser.run(f"{style}.{part}") for part in ("backgroundColor", "color"))
    paper, ink = (sum(map(int, re.findall(r"\d+", text)[:3])) for text in texts)
    return paper, ink


def test_light_dark_and_the_button(browser: Browser, blocks: Path) -> None:
    browser.open(blocks)
    paper, ink = colours(browser)
    assert paper > 700 > 150 > ink
    axis = "getComputedStyle(document.querySelector('figure svg text')).fill"
    light = browser.run(axis)
    browser.click(".theme")
    paper, ink = colours(browser)
    assert ink > 600 > 100 > paper
    assert browser.run(axis) != light
    browser.open(blocks, dark=True)
    assert colours(browser) == (paper, ink)
    browser.click(".theme")
    assert colours(browser)[0] > 700


def test_nothing_is_wider_than_the_window(browser: Browser, pages: list[Path]) -> None:
    for path in pages:
        for width in (390, 800, 1600):
            browser.open(path, width=width)
            wide = browser.run("document.documentElement.scrollWidth")
            assert wide <= width, (path.name, width)


def test_texts_of_pictures_stay_inside_and_apart(
    browser: Browser, blocks: Path
) -> None:
    browser.open(blocks)
    outside = browser.run(
        """[...document.querySelectorAll('figure svg')].flatMap(svg => {
             const box = svg.getBoundingClientRect();
             return [...svg.querySelectorAll('text')].filter(text => {
               const own = text.getBoundingClientRect();
               return own.left < box.left - 2 || own.right > box.right + 2;
             }).map(text => text.textContent);
           })"""
    )
    assert outside == []
    drawn = browser.run("document.querySelectorAll('figure svg text').length")
    assert drawn > 40


def test_a_person_would_see_it(browser: Browser, blocks: Path) -> None:
    """The picture of the page has ink, colour, and is not the same in the dark."""
    shots = []
    for dark in (False, True):
        browser.open(blocks, dark=dark)
        image = Image.open(io.BytesIO(browser.picture())).convert("RGB")
        shots.append(np.asarray(image, dtype=int))
    light, dark = (shot.mean() for shot in shots)
    assert light > 200
    assert dark < 70
    for shot in shots:
        colourful = (shot.max(axis=2) - shot.min(axis=2) > 100).mean()
        assert colourful > 0.001


def test_the_stamp_is_seen(browser: Browser, blocks: Path) -> None:
    browser.open(blocks)
    box = "document.querySelector('.stamp').getBoundingClientRect()"
    assert browser.run(f"{box}.top") < 400
    assert browser.run(f"{box}.width") > 60
