"""Files of users are read strictly: no key twice, no key that is not known."""

import json
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.documents import read_json, read_toml
from discreto.core.domain.json import COLUMN_KEYS, DOMAIN_KEYS
from discreto.data.domain_file import draft, schema, unfilled
from discreto.errors import DomainError, ParameterError
from discreto.federated.config import read_https, read_silo
from discreto.service.config import read_config
from discreto.stats.batches import batch_of, read_batch

WHOLE = {
    "discreto_domain": 1,
    "neighbours": "add-remove",
    "person": "p",
    "rows_per_person": 3,
    "target": "sex",
    "dialect": {"separator": ";", "decimal": ",", "missing": ["", "-9"]},
    "columns": {
        "p": {"type": "Opaque", "kind": "identifier"},
        "age": {"type": "Number", "lower": 0, "upper": 9, "integer": True, "unit": "y"},
        "kg": {"type": "numeric", "lower": 0, "upper": 300, "nullable": True},
        "sex": {
            "type": "Category",
            "categories": ["f", "m"],
            "aliases": {"w": "f"},
            "case": False,
            "strip": True,
        },
        "smokes": {"type": "Boolean", "missing": False},
        "day": {"type": "Date", "first": "2020-01-01", "last": "2029-12-31"},
        "hour": {
            "type": "DateTime",
            "first": "2020-01-01",
            "last": "2029-12-31",
            "resolution": "hour",
            "zone": "UTC",
        },
    },
}
NAMES = {"columns", "aliases"}  # their keys are names, which may be any text


def _objects(data, place=()):
    """Yield each object of a file whose keys are words of the format."""
    if not place or place[-1] not in NAMES:
        yield place
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _objects(value, (*place, key))


def _at(data, place):
    for key in place:
        data = data[key]
    return data


PLACES = [(p, key) for p in _objects(WHOLE) for key in _at(WHOLE, p)]


def _slips(key: str) -> set[str]:
    """Return what a hurried author writes for a key."""
    slips = {key.capitalize(), key.upper(), key + "s", key[1:], key[:-1], f" {key}"}
    slips |= {key[:i] + key[i] + key[i:] for i in range(len(key))}
    slips |= {key[:i] + key[i + 1] + key[i] + key[i + 2 :] for i in range(len(key) - 1)}
    return slips - {key, ""}


def test_the_whole_file_is_a_domain() -> None:
    assert dp.Domain.from_dict(WHOLE).rows_per_person == 3


@pytest.mark.parametrize(("place", "key"), PLACES)
def test_a_misspelt_key_is_refused_wherever_it_stands(place, key) -> None:
    for slip in _slips(key):
        data = json.loads(json.dumps(WHOLE))
        inner = _at(data, place)
        inner[slip] = inner.pop(key)
        with pytest.raises(DomainError):
            dp.Domain.from_dict(data)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("neighbors", "neighbours"),
        ("Person", "person"),
        ("persn", "person"),
        ("rows_per_persn", "rows_per_person"),
        ("rows-per-person", "rows_per_person"),
        ("tagret", "target"),
        ("license", "licence"),
    ],
)
def test_the_key_that_was_meant_is_named(written: str, meant: str) -> None:
    with pytest.raises(DomainError, match=f"{written}'. Did you mean '{meant}'"):
        dp.Domain.from_dict(WHOLE | {written: None})


@pytest.mark.parametrize(
    ("written", "meant"), [("uper", "upper"), ("misssing", "missing"), ("max", "upper")]
)
def test_the_key_of_a_column_that_was_meant_is_named(written: str, meant: str) -> None:
    column = {"type": "Number", "lower": 0, "upper": 1, written: 1}
    with pytest.raises(DomainError, match=f"'a'.*{written}'. Did you mean '{meant}'"):
        dp.Domain.from_dict({"columns": {"a": column}})


@pytest.mark.parametrize("place", list(_objects(WHOLE)))
def test_remarks_may_stand_everywhere_and_say_nothing(place) -> None:
    data = json.loads(json.dumps(WHOLE))
    _at(data, place).update({"comment": ["from", "the law"], "x-person": {"a": 1}})
    assert dp.Domain.from_dict(data) == dp.Domain.from_dict(WHOLE)
    assert dp.Domain.from_dict(data).dialect == dp.Domain.from_dict(WHOLE).dialect


@pytest.mark.parametrize("key", ["missing", "nullable", "integer"])
@pytest.mark.parametrize("value", ["false", "true", 0, 1, None, []])
def test_a_promise_is_true_or_false_and_nothing_else(key: str, value: object) -> None:
    column = {"type": "Number", "lower": 0, "upper": 1, key: value}
    with pytest.raises(DomainError, match=f"'a'.*{key} is true or false"):
        dp.Domain.from_dict({"columns": {"a": column}})


def test_gaps_are_declared_once() -> None:
    column = {"type": "Number", "lower": 0, "upper": 1, "missing": True}
    with pytest.raises(DomainError, match="they differ"):
        dp.Domain.from_dict({"columns": {"a": column | {"nullable": False}}})
    same = dp.Domain.from_dict({"columns": {"a": column | {"nullable": True}}})
    assert same["a"].missing


def test_a_key_of_another_kind_is_refused_unless_it_is_empty() -> None:
    column = {"type": "Number", "lower": 0, "upper": 1}
    with pytest.raises(DomainError, match="categories"):
        dp.Domain.from_dict({"columns": {"a": column | {"categories": ["x"]}}})
    left = dp.Domain.from_dict({"columns": {"a": column | {"categories": None}}})
    assert left["a"] == dp.Number(0, 1)


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ('{"columns": {"a": {"type": "Opaque"}, "a": {"type": "Boolean"}}}', "a"),
        ('{"columns": {"a": {"type": "Number", "lower": 0, "lower": 0}}}', "lower"),
        ('{"neighbours": "replace", "neighbours": "add-remove"}', "neighbours"),
        ('{"columns": {"a": {"type": "Boolean"}}, "columns": {}}', "columns"),
    ],
)
def test_a_key_that_stands_twice_is_refused(
    text: str, twice: str, tmp_path: Path
) -> None:
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(DomainError, match=f"the key '{twice}' twice"):
        dp.Domain.load(tmp_path / "d.json")


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a":' * 10**5, "[" * 900 + "]" * 900])
def test_deep_nesting_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text('{"columns": ' + text)
    with pytest.raises(DomainError):
        dp.Domain.load(tmp_path / "d.json")
    with pytest.raises(ParameterError):
        read_toml("a = " + "[" * 10**5)


def test_a_table_in_place_of_a_domain_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,name\n31,Somebody\n")
    with pytest.raises(DomainError, match="discreto domain draft") as error:
        unfilled(tmp_path / "rows.csv")
    assert "Somebody" not in str(error.value)


def test_a_draft_that_is_misspelt_says_so_first(tmp_path: Path) -> None:
    column = {"type": "Number", "lower": 0, "uper": None}
    (tmp_path / "d.json").write_text(json.dumps({"columns": {"a": column}}))
    with pytest.raises(DomainError, match="Did you mean 'upper'"):
        unfilled(tmp_path / "d.json")


def test_a_draft_can_be_filled_in_without_deleting_anything(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,name\n")
    data = draft(str(tmp_path / "rows.csv")).data
    data["columns"]["age"] |= {"type": "Number", "lower": 0, "upper": 120}
    data["columns"]["name"] |= {"type": "Category", "categories": ["a", "b"]}
    data["dialect"] |= {"decimal": ".", "thousands": "", "dates": "iso"}
    data["dialect"]["missing"] = [""]
    (tmp_path / "d.json").write_text(json.dumps(data))
    assert unfilled(tmp_path / "d.json") == {}
    assert dp.Domain.load(tmp_path / "d.json")["age"] == dp.Number(0, 120)


def test_the_schema_knows_the_same_keys_as_the_reader() -> None:
    known = schema()
    assert set(known["properties"]) == {*DOMAIN_KEYS, "comment"}
    assert known["additionalProperties"] is False
    kinds = known["properties"]["columns"]["additionalProperties"]["anyOf"]
    every = {key for keys in COLUMN_KEYS.values() for key in keys}
    for kind in kinds:
        assert every <= set(kind["properties"])
        assert kind["additionalProperties"] is False
    dialect = set(known["properties"]["dialect"]["properties"])
    assert dialect == {*dp.Dialect.__dataclass_fields__, "comment"}


SILO = 'data = "d.csv"\ndomain = "d.json"\nledger = "l"\n'


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("epsilom = 3\n", "epsilon"),
        ("[Policy]\nper_round = 1\n", "policy"),
        ("[policy]\nper_rund = 1\n", "per_round"),
        ("[dialect]\nseperator = ';'\n", "separator"),
    ],
)
def test_a_misspelt_key_of_a_silo_is_refused(
    text: str, meant: str, tmp_path: Path
) -> None:
    dp.Domain({"a": dp.Number(0, 1)}).save(tmp_path / "d.json")
    (tmp_path / "d.csv").write_text("a\n1\n")
    (tmp_path / "silo.toml").write_text('comment = "x"\nx-a = 1\n' + SILO + text)
    with pytest.raises(ParameterError, match=f"Did you mean '{meant}'"):
        read_silo(tmp_path / "silo.toml")


@pytest.mark.parametrize("reader", [read_silo, read_https, read_config, read_batch])
def test_toml_with_a_key_twice_or_too_deep_is_refused(reader, tmp_path: Path) -> None:
    for text in (SILO + SILO, "a = " + "[" * 10**5, "[a"):
        (tmp_path / "c.toml").write_text(text)
        with pytest.raises(ParameterError, match=r"c\.toml"):
            reader(tmp_path / "c.toml")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ledger = 1\n", "ledgers"),
        ("[limits]\nper_secnd = 1\n", "per_second"),
        ("[tables.t]\ndata='d'\ndomain='d'\nledger='l'\ncieling=1\n", "ceiling"),
        ("[people.ana]\nroll = 'owner'\n", "role"),
    ],
)
def test_a_misspelt_key_of_a_service_is_refused(
    text: str, meant: str, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ParameterError, match=f"Did you mean '{meant}'"):
        read_config(tmp_path / "c.toml")


def test_a_misspelt_key_of_a_batch_is_refused() -> None:
    asked = {"epsilon": 1, "question": [{"ask": "count()", "comment": "all"}]}
    assert len(batch_of(asked).statistics) == 1
    with pytest.raises(ParameterError, match="Did you mean 'epsilon'"):
        batch_of(asked | {"epsilom": 1})
    with pytest.raises(ParameterError, match="Did you mean 'where'"):
        batch_of({"epsilon": 1, "question": [{"ask": "count()", "were": "a > 1"}]})


def test_plain_json_is_read_as_ever() -> None:
    data = {"a": [1, 2.5, None, True, "é"], "b": {"a": {}}}
    assert read_json(json.dumps(data)) == data
    assert read_json(json.dumps(data).encode()) == data
    for text in ("", "{", "nul", "[1,]", b"\xff", "1" * 5000):
        with pytest.raises(ParameterError):
            read_json(text)
