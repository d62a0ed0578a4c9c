"""Every Python block in the README and the docs runs."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import discreto

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text):
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name} links to {target}#{anchor}"


@cache
def anchors(page):
    """The names under which the headings of a page are found."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def test_every_page_is_in_the_navigation():
    """A list of pages names each page once; the pages that are made are named, too."""
    docs = ROOT / "docs"
    listed = []
    for page in PAGES[1:]:
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.S):
            names = [n for n in block.split() if not n.startswith(":") and n != "1"]
            for name in names:
                found = sorted(page.parent.glob(f"{name}.md"))
                listed += [path.resolve() for path in found]
    pages = {page.resolve() for page in PAGES[1:]} - {docs / "index.md"}
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "examples/quickstart.py"])
def test_a_second_run_in_the_same_folder_works(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text) if page.suffix == ".md" else [text]
    for _ in range(2):
        names: dict[str, object] = {"__name__": "page"}
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)


def test_pages_name_every_function_and_extra():
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    functions = [name for name in discreto.stats.__all__ if name[0].islower()]
    assert not [name for name in functions if f"`{name}" not in page]
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) < 120
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert not [
        name
        for name in extras
        if name not in ("dev", "docs") and f"`{name}`" not in page
    ]


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name
)
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = compile(script.read_text(encoding="utf-8"), str(script), "exec")
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out
