"""The page of proofs is complete, and the list of mutants fits the code."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from discreto.core.maps import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "proofs" / "index.md"
LINE = re.compile(r"^\| (?!what|---)(.+?) \| (.+) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
LINES = LINE.findall(PAGE.read_text(encoding="utf-8"))
CODE = re.compile(r"`([^`]+)`")


def catalogue():
    """The module that reads the lists of mutants."""
    path = ROOT / "benchmarks" / "mutants" / "catalogue.py"
    spec = importlib.util.spec_from_file_location("mutants_catalogue", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


CATALOGUE = catalogue()
MUTANTS = CATALOGUE.mutants()


@cache
def functions(path):
    """The names of a file's tests."""
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def exists(test):
    path, _, name = test.partition("::")
    name = name.partition("[")[0]
    return (ROOT / path).exists() and (not name or name in functions(path))


@cache
def anchors(path):
    """The names under which the headings of a page are found."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}


def test_every_kind_has_a_line():
    names = {name for line in LINES for name in CODE.findall(line[0])}
    assert set(KINDS) <= names
    assert len(LINES) == len({line[0] for line in LINES}) > len(KINDS)


@pytest.mark.parametrize("line", LINES, ids=[line[0].strip("`") for line in LINES])
def test_what_a_line_names_exists(line):
    _, claim, proofs, tests, mutants = line
    assert claim
    links = re.findall(r"\]\(([^)#]+)#?([^)]*)\)", proofs)
    assert links
    for target, anchor in links:
        page = PAGE.parent / target
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"
    named = CODE.findall(tests)
    assert named
    assert [test for test in named if not exists(test)] == []
    known = {mutant.name for mutant in MUTANTS}
    assert CODE.findall(mutants)
    assert set(CODE.findall(mutants)) <= known


def test_every_mutant_is_named():
    named = {name for line in LINES for name in CODE.findall(line[4])}
    assert {mutant.name for mutant in MUTANTS} == named
    assert len(MUTANTS) >= 80


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_fit_the_code(mutant):
    mutant.changed(mutant.place(ROOT))
    assert mutant.find != mutant.put
    assert mutant.harm
    assert mutant.tests
    assert [test for test in mutant.tests if not exists(test)] == []


def test_the_page_of_mutants_is_the_list():
    page = PAGE.with_name("mutants.md").read_text(encoding="utf-8")
    assert page == CATALOGUE.page(), "run: python benchmarks/mutants --page"
