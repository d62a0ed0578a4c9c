"""The page of benchmarks is made of kept results, and every command exists."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "benchmarks_page", ROOT / "benchmarks" / "page.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MAKER = maker()


def test_the_page_is_what_the_results_say() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert page == MAKER.page(), "run: python benchmarks/page.py write"


@pytest.mark.parametrize("name", MAKER.catalogue())
def test_every_benchmark_has_a_command_that_exists(name: str) -> None:
    entry = MAKER.catalogue()[name]
    assert (ROOT / entry["command"].split()[0]).exists()
    assert entry["title"]
    assert entry["time"]
    if "page" in entry:
        assert (ROOT / "docs" / entry["page"]).exists()


def test_a_result_says_when_where_and_with_what() -> None:
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert results
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for path in results:
        assert f"\n## {path.stem}\n" in text
