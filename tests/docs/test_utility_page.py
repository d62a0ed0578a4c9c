"""The page of scores and the README's table are what the kept results say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "run: python benchmarks/utility/page.py"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "utility_page", ROOT / "benchmarks" / "utility" / "page.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = maker()
FOUND = PAGE.read(ROOT / "benchmarks" / "results" / "utility.jsonl")


def test_the_page_is_what_the_results_say() -> None:
    text = (ROOT / "docs" / "models" / "utility.md").read_text(encoding="utf-8")
    assert text == PAGE.page(FOUND), COMMAND


def test_the_readme_has_the_figures_of_the_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(PAGE.START) == text.count(PAGE.END) == 1
    assert PAGE.with_table(text, FOUND) == text, COMMAND
    page = (ROOT / "docs" / "models" / "utility.md").read_text(encoding="utf-8")
    rows = PAGE.readme_table(FOUND).splitlines()[2:]
    assert rows
    for row in rows:
        table, auto, *_ = (cell.strip() for cell in row.strip("|").split("|"))
        assert f"| {table} | AutoClassifier |" in page
        assert f"| {auto.split(',')[0]} (" in page


def test_regret_is_against_the_best_and_against_a_choice_elsewhere() -> None:
    folds = {
        "AutoClassifier": {0: 0.6, 1: 0.6},
        "A": {0: 0.9, 1: 0.5},
        "B": {0: 0.5, 1: 0.8},
    }
    found = {("t", m, "1", "0"): {"accuracy": scores} for m, scores in folds.items()}
    line = PAGE.regrets(found, "accuracy", "AutoClassifier")[-2]
    # A is best in all, but B is best outside of fit 0, and A outside of fit 1.
    assert line == "| 0 | 1 | 1 | 0.100 (0.200) | 0.100 (0.200), t | -0.100 |"
