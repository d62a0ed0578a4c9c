"""Every Python block in the README and the docs runs."""

from __future__ import annotations

import re
import tomllib
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
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "examples/quickstart.py"])
def test_a_second_run_in_the_same_folder_works(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text) if page.suffix == ".md" else [text]
    for _ in range(2):
        names: dict[str, object] = {"__name__": "page"}
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)


def test_the_readme_names_every_function_and_extra():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    functions = [name for name in discreto.stats.__all__ if name[0].islower()]
    assert not [name for name in functions if f"`{name}`" not in page]
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert not [name for name in extras if name != "dev" and f"`{name}`" not in page]


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name
)
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = compile(script.read_text(encoding="utf-8"), str(script), "exec")
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out
