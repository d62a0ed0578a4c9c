"""Data structure definitions of SDMX, as JSON or XML, in the terms of a table schema.

Dimensions, attributes and measures become columns. A component with a code list is a
category of its codes; one with a format has that format's bounds. A component that says
nothing about itself has what its concept says, if the concept is in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from discreto.errors import DomainError

_LISTS = ("dimensionList", "attributeList", "measureList")
_IDENTIFIER = re.compile(r"(?:Codelist|ValueList)=[^:]*:([^(]+)\(")
_TYPES = {
    **dict.fromkeys(("Integer", "Long", "Short", "BigInteger", "Count"), "integer"),
    **dict.fromkeys(("Decimal", "Float", "Double", "InclusiveValueRange"), "number"),
    "Boolean": "boolean",
    **dict.fromkeys(("GregorianDay", "DateTime", "BasicTimePeriod"), "date"),
}
_MOST = 1 << 24  # letters of an XML file
_COMPONENTS = (
    "Dimension",
    "TimeDimension",
    "Attribute",
    "Measure",
    "PrimaryMeasure",
)


def is_sdmx(data: Any) -> bool:
    """Whether JSON data is a structure message."""
    inner = data.get("data", data) if isinstance(data, Mapping) else {}
    return isinstance(inner, Mapping) and bool(inner.get("dataStructures"))


def fields_of_json(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns of the first data structure, as a table schema lists them."""
    inner = data.get("data", data)
    lists = {
        one["id"]: [code["id"] for code in one.get("codes", ())]
        for one in inner.get("codelists", ())
    }
    concepts = {
        concept["id"]: concept.get("coreRepresentation", {})
        for scheme in inner.get("conceptSchemes", ())
        for concept in scheme.get("concepts", ())
    }
    components = inner["dataStructures"][0].get("dataStructureComponents", {})
    out = []
    for part in _parts(components):
        said = part.get("localRepresentation") or concepts.get(_concept(part), {})
        facts = said.get("format") or said.get("textFormat") or {}
        kind = facts.get("dataType", facts.get("textType"))
        out.append(_field(part["id"], said.get("enumeration"), lists, kind, facts))
    return out


def _parts(components: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in _LISTS:
        for found in components.get(name, {}).values():
            several = found if isinstance(found, list) else [found]
            yield from (one for one in several if isinstance(one, Mapping))


def _concept(part: Mapping[str, Any]) -> str:
    return str(part.get("conceptIdentity", part["id"])).rpartition(".")[2]


def fields_of_xml(text: str) -> list[dict[str, Any]]:
    """The columns of the first data structure of an SDMX-ML file."""
    if len(text) > _MOST or "<!ENTITY" in text:
        raise DomainError("this XML file is no code book: too long, or with entities.")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - entities are refused above
    except ElementTree.ParseError:
        raise DomainError("this is no readable XML file.") from None
    lists = {
        str(one.get("id")): [str(code.get("id")) for code in _named(one, "Code")]
        for one in _named(root, "Codelist")
    }
    concepts = {str(one.get("id")): one for one in _named(root, "Concept")}
    structure = next(_named(root, "DataStructure"), root)
    out = []
    for part in structure.iter():
        if _plain(part.tag) in _COMPONENTS and part.get("id"):
            out.append(_xml_field(part, lists, concepts))
    return out


def _xml_field(
    part: ElementTree.Element,
    lists: Mapping[str, list[str]],
    concepts: Mapping[str, ElementTree.Element],
) -> dict[str, Any]:
    name = str(part.get("id"))
    where = part
    if next(_named(part, "LocalRepresentation"), None) is None:
        where = concepts.get(name, part)
    enumeration, facts = None, {}
    for found in _named(where, "Enumeration"):
        inside = next(_named(found, "Ref"), None)
        enumeration = found.text if inside is None else {"id": inside.get("id")}
    for found in _named(where, "TextFormat"):
        facts = dict(found.attrib)
    return _field(name, enumeration, lists, facts.get("textType"), facts)


def _named(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (one for one in root.iter() if _plain(one.tag) == name)


def _plain(tag: Any) -> str:
    return str(tag).rpartition("}")[2]


def _field(
    name: str,
    enumeration: Any,
    lists: Mapping[str, list[str]],
    kind: Any,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """A column as a table schema describes it."""
    codes = lists.get(_list_id(enumeration), [])
    if codes:
        return {"name": name, "constraints": {"enum": codes}}
    ends = {
        "minimum": facts.get("minValue", facts.get("startTime")),
        "maximum": facts.get("maxValue", facts.get("endTime")),
    }
    return {"name": name, "type": _TYPES.get(str(kind), "string"), "constraints": ends}


def _list_id(enumeration: Any) -> str:
    """The name of a code list, from its address or a reference."""
    if isinstance(enumeration, Mapping):
        return str(enumeration.get("id"))
    found = _IDENTIFIER.search(str(enumeration or ""))
    return found[1] if found else str(enumeration or "")
