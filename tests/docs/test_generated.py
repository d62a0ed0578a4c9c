"""Pages of the site that are made from the code: complete, and true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import build
import commands
import docstrings
import links
import proof_status
import pytest
import question_schema
import reference

from discreto import errors, stats
from discreto.core.maps import KINDS
from discreto.core.query import Block, Sum
from discreto.core.query_json import encode

SCHEMA = question_schema.schema()


def fits(value: Any, rule: dict[str, Any]) -> bool:
    """Whether a value has the form that our part of JSON Schema says."""
    if "$ref" in rule:
        return fits(value, SCHEMA["$defs"][rule["$ref"].rsplit("/", 1)[1]])
    if "anyOf" in rule:
        return any(fits(value, one) for one in rule["anyOf"])
    if "const" in rule or "enum" in rule:
        return value in rule.get("enum", [rule.get("const")])
    if rule["type"] == "object":
        return (
            isinstance(value, dict)
            and set(value) == set(rule["required"])
            and all(fits(value[n], form) for n, form in rule["properties"].items())
        )
    if rule["type"] == "array":
        return isinstance(value, list) and all(fits(v, rule["items"]) for v in value)
    kinds = {"integer": int, "number": (int, float), "boolean": bool, "string": str}
    return isinstance(value, kinds[rule["type"]])


def test_the_schema_has_every_kind_and_takes_real_questions() -> None:
    assert set(KINDS) | {"Fraction"} == set(SCHEMA["$defs"])
    question = encode(Sum(KINDS["Everyone"](), (Block(KINDS["Ones"]()),)))
    assert fits(question, SCHEMA)
    assert not fits(question | {"kind": "Choice"}, SCHEMA)
    assert not fits(question | {"more": 1}, SCHEMA)


def test_every_command_is_on_the_page() -> None:
    page = commands.page()
    for name in ("query", "ledger verify", "domain draft", "study all", "serve"):
        assert f"\n## discreto {name}\n" in page
    assert len(commands.names()) == page.count("\n## ")
    assert "--checklist" in page


def test_every_error_is_on_the_page() -> None:
    page = reference.errors_page()
    for name in errors.__all__:
        assert f"`{name}`" in page


def test_every_public_class_and_module_has_a_page(tmp_path: Path) -> None:
    reference.write(tmp_path / "reference")
    api = tmp_path / "reference" / "api"
    text = (api / "discreto.stats.rst").read_text(encoding="utf-8")
    for name in stats.__all__:
        assert f"discreto.stats.{name}" in text
        if name[0].isupper():
            assert (api / f"discreto.stats.{name}.rst").exists()
    for module in reference.public_surface.MODULES:
        assert f":doc:`{module}`" in (api / "index.rst").read_text(encoding="utf-8")
    domain = (tmp_path / "reference" / "schemas.md").read_text(encoding="utf-8")
    assert '"rows_per_person"' in domain


def test_what_statistics_and_models_rest_on_is_proved() -> None:
    page = proof_status.page()
    assert "open:" not in page
    assert page.count("proved, tested") == len(proof_status.STATISTICS) + len(
        proof_status.MODELS
    )
    assert "| `mean` | measure | `Block`, `Completeness`, `Sum`, `Values` |" in page


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x">A</h1><a href="b.html#y">b</a><a href="#x">x</a>'
        '<a href="c.html">c</a><a href="https://example.org">out</a><a href="b.html">b'
    )
    (tmp_path / "b.html").write_text('<h1 id="z">B</h1><img src="none.png">')
    assert links.broken(tmp_path) == [
        "a.html: nothing is called b.html#y",
        "a.html: there is no c.html",
        "b.html: there is no none.png",
    ]


@pytest.mark.parametrize("text", ["Free   |x|", "Not covered  |x|"])
def test_facts_become_a_list(text: str) -> None:
    assert docstrings.facts_as_lists([text])[2] == r"    \|x\|"
    assert docstrings.facts_as_lists(["Plain text."]) == ["Plain text."]


def test_links_to_notebooks_lead_to_their_pages():
    text = "[one](../../notebooks/student.ipynb), [two](../../pyproject.toml)"
    made = build.rebased(text, build.DOCS / "tutorials")
    assert made == "[one](notebooks/student.md), two"
    made = build.rebased("[one](notebooks/student.ipynb)", build.ROOT)
    assert made == "[one](tutorials/notebooks/student.md)"
