"""Domains from code books: Frictionless, CSVW and SDMX."""

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
from discreto.testing import simulate

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
    words = {
        column["type"] for column in json.loads(out.read_text())["columns"].values()
    }
    assert words <= {"Number", "Category", "Boolean", "Date", "Opaque"}
    assert "nullable" not in out.read_text()
    assert shown.exit_code == 0, shown.output
    assert "'note'" in shown.stderr
    domain = dp.Domain.load(out)
    assert domain["age"] == dp.Number(0, 120, integer=True)
    assert domain.dialect == dp.Dialect(separator="\t")


URN = "urn:sdmx:org.sdmx.infomodel.codelist.Codelist=OFFICE:CL_SEX(1.0)"
SDMX: dict[str, Any] = {
    "data": {
        "dataStructures": [
            {
                "id": "PEOPLE",
                "dataStructureComponents": {
                    "dimensionList": {
                        "id": "DimensionDescriptor",
                        "dimensions": [
                            {"id": "SEX", "localRepresentation": {"enumeration": URN}},
                            {"id": "REGION", "conceptIdentity": "urn:C=O:CS(1.0).AREA"},
                        ],
                        "timeDimensions": [{"id": "TIME_PERIOD"}],
                    },
                    "measureList": {
                        "measures": [
                            {
                                "id": "OBS_VALUE",
                                "localRepresentation": {
                                    "format": {
                                        "dataType": "Integer",
                                        "minValue": 0,
                                        "maxValue": 120,
                                    }
                                },
                            }
                        ]
                    },
                },
            }
        ],
        "codelists": [
            {"id": "CL_SEX", "codes": [{"id": "F", "name": "Female"}, {"id": "M"}]},
            {"id": "CL_AREA", "codes": [{"id": "N"}, {"id": "S"}]},
        ],
        "conceptSchemes": [
            {
                "concepts": [
                    {
                        "id": "AREA",
                        "coreRepresentation": {"enumeration": {"id": "CL_AREA"}},
                    }
                ]
            }
        ],
    }
}
SDMX_ML = """<?xml version="1.0" encoding="UTF-8"?>
<mes:Structure xmlns:mes="urn:m" xmlns:str="urn:s"><mes:Structures>
<str:Codelists><str:Codelist id="CL_SEX"><str:Code id="F"/><str:Code id="M"/>
</str:Codelist><str:Codelist id="CL_AREA"><str:Code id="N"/><str:Code id="S"/>
</str:Codelist></str:Codelists><str:Concepts><str:ConceptScheme>
<str:Concept id="REGION"><str:CoreRepresentation><str:Enumeration>
<Ref id="CL_AREA"/></str:Enumeration></str:CoreRepresentation></str:Concept>
</str:ConceptScheme></str:Concepts><str:DataStructures><str:DataStructure id="P">
<str:DataStructureComponents><str:DimensionList>
<str:Dimension id="SEX"><str:LocalRepresentation><str:Enumeration>URN
</str:Enumeration></str:LocalRepresentation></str:Dimension>
<str:Dimension id="REGION"/><str:TimeDimension id="TIME_PERIOD"/>
</str:DimensionList><str:MeasureList><str:PrimaryMeasure id="OBS_VALUE">
<str:LocalRepresentation><str:TextFormat textType="Integer" minValue="0"
maxValue="120"/></str:LocalRepresentation></str:PrimaryMeasure></str:MeasureList>
</str:DataStructureComponents></str:DataStructure></str:DataStructures>
</mes:Structures></mes:Structure>""".replace("URN", URN)


@pytest.mark.parametrize("text", [json.dumps(SDMX), SDMX_ML], ids=["json", "xml"])
def test_sdmx(text: str, tmp_path: Path) -> None:
    (tmp_path / "structure").write_text(text)
    assert dict(from_code_book(tmp_path / "structure").columns) == {
        "SEX": dp.Category(["F", "M"]),
        "REGION": dp.Category(["N", "S"]),
        "TIME_PERIOD": dp.Opaque("string"),
        "OBS_VALUE": dp.Number(0, 120, integer=True),
    }


@pytest.mark.parametrize(
    "text",
    ["<a", "<a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", '{"dataStructures": [3]}'],
)
def test_broken_sdmx_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "structure").write_text(text)
    with pytest.raises(DomainError):
        from_code_book(tmp_path / "structure")


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


def test_missing_values_of_a_code_book_are_gaps_in_answers(tmp_path: Path) -> None:
    """Official code books write -9 in numbers, dates and categories alike."""
    schema = {
        "missingValues": ["", "-9", "1900-01-01"],
        "fields": [
            {
                "name": "x",
                "type": "number",
                "constraints": {"minimum": 0, "maximum": 100},
            },
            {
                "name": "n",
                "type": "integer",
                "constraints": {"minimum": 0, "maximum": 9},
            },
            {
                "name": "d",
                "type": "date",
                "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"},
            },
            {"name": "c", "constraints": {"enum": ["F", "M"]}},
        ],
    }
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    rows = ["50.5,4,2020-01-03,F", "-9,-9,1900-01-01,-9", ",,,", "-9.0,-9,-9,M"]
    (tmp_path / "a.csv").write_text("x,n,d,c\n" + "\n".join(rows) + "\n")
    domain = from_code_book(tmp_path / "schema.json")
    table = dp.Table(tmp_path / "a.csv", domain, simulate(noise=False))
    assert dp.stats.mean(table, "x", epsilon=1).value == pytest.approx(50.5)
    assert dp.stats.mean(table, "n", epsilon=1).value == pytest.approx(4)
    assert dp.stats.mean(table, "d", epsilon=1).value == pytest.approx(18264)
    assert dp.stats.sum(table, "x", epsilon=1).value == pytest.approx(50.5)
    assert dp.stats.count(table, by="c", epsilon=1).value.tolist() == [1, 1, 2]
    shares = dp.stats.domain_fit(table, epsilon=1)
    assert shares.value.tolist() == [0.75, 0, 0.75, 0, 0.75, 0, 0.5, 0]
