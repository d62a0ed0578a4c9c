"""Domains from code books: Frictionless and CSVW."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.data.code_books import from_code_book
from discreto.errors import DomainError

FRICTIONLESS: dict[str, Any] = {
    "resources": [
        {
            "name": "people",
            "encoding": "iso-8859-1",
            "dialect": {"delimiter": ";"},
            "schema": {
                "missingValues": ["", "-9"],
                "fields": [
                    {
                        "name": "age",
                        "type": "integer",
                        "constraints": {"minimum": 0, "maximum": 120, "required": True},
                    },
                    {"name": "sex", "constraints": {"enum": ["F", "M"]}},
                    {"name": "ill", "type": "boolean"},
                    {
                        "name": "seen",
                        "type": "date",
                        "constraints": {
                            "minimum": "2020-01-01",
                            "maximum": "2020-12-31",
                        },
                    },
                    {"name": "kg", "type": "number", "decimalChar": ","},
                ],
            },
        }
    ]
}
CSVW: dict[str, Any] = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "people.csv",
    "dialect": {"delimiter": "\t"},
    "tableSchema": {
        "columns": [
            {
                "titles": "age",
                "datatype": {"base": "integer", "minimum": "0", "maximum": "120"},
            },
            {"name": "note", "datatype": "string"},
        ]
    },
}


def test_frictionless(tmp_path: Path) -> None:
    (tmp_path / "datapackage.json").write_text(json.dumps(FRICTIONLESS))
    domain = from_code_book(tmp_path / "datapackage.json")
    assert dict(domain.columns) == {
        "age": dp.Number(0, 120, integer=True, missing=False),
        "sex": dp.Category(["F", "M"]),
        "ill": dp.Boolean(),
        "seen": dp.Date("2020-01-01", "2020-12-31"),
        "kg": dp.Opaque("number"),
    }
    assert domain.dialect == dp.Dialect(
        separator=";", decimal=",", encoding="latin-1", missing=("", "-9")
    )


def test_csvw_from_the_shell(tmp_path: Path) -> None:
    (tmp_path / "people.csv-metadata.json").write_text(json.dumps(CSVW))
    book, out = tmp_path / "people.csv-metadata.json", tmp_path / "d.json"
    shown = CliRunner().invoke(
        app, ["domain", "from-code-book", str(book), "--out", str(out)]
    )
    assert shown.exit_code == 0, shown.output
    assert "'note'" in shown.stderr
    domain = dp.Domain.load(out)
    assert domain["age"] == dp.Number(0, 120, integer=True)
    assert domain.dialect == dp.Dialect(separator="\t")


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"fields": []},
        {"fields": [3]},
        {"fields": [{"type": "integer"}]},
        {"fields": [{"name": "x", "type": "string"}]},
        {"fields": [{"name": "x", "constraints": {"enum": [[1]]}}]},
        {
            "fields": [
                {
                    "name": "x",
                    "type": "number",
                    "constraints": {"minimum": "a", "maximum": 2},
                }
            ]
        },
        {"schema": {"fields": [{"name": "x"}]}, "dialect": {"delimiter": "ab"}},
    ],
)
def test_other_files_are_refused(data: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(data))
    with pytest.raises(DomainError):
        from_code_book(tmp_path / "a.json")
