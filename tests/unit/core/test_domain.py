"""Domains refuse what cannot be public knowledge, and survive their JSON form."""

from __future__ import annotations

import contextlib
import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core.domain.domain import Boolean, Category, Domain, Number, Opaque
from discreto.errors import DomainError

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("DISCRETO_DATA", ROOT.parent / "shared" / "data"))
SHEETS = sorted(DATA.glob("*.domain.json")) if DATA.is_dir() else []
NUMERIC = {"type": "numeric", "lower": 0, "upper": 1}


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (1, 0), (1, 1), (math.nan, 1), (0, math.nan), (-math.inf, 0), (0, math.inf),
        ("0", 1), (None, 1), (True, 2), (0, False), (0, 1e200), ([0], 1), (0, 1j),
    ],
)  # fmt: skip
def test_bad_bounds(lower, upper):
    with pytest.raises(DomainError):
        Number(lower, upper)


def test_bounds_beyond_floats():
    with pytest.raises(DomainError):
        Number(0, 10**400)


def test_bounds_too_near_for_a_grid():
    with pytest.raises(DomainError):
        Number(0.0, 5e-324)


@pytest.mark.parametrize("end", [2**63, 10**20, 10**30])
def test_whole_bounds_that_no_array_holds(end):
    number = Number(-end - 1, end)
    assert number == Number(float(-end - 1), float(end))
    assert {type(number.lower), type(number.upper)} == {float}
    table = dp.Table({"x": [1, 2]}, Domain({"x": number}), dp.Ledger(epsilon=9))
    for ask in (dp.stats.histogram, dp.stats.mean, dp.stats.median):
        ask(table, "x", epsilon=1, **{"bins": 2} if ask is dp.stats.histogram else {})
    assert type(Number(0, 2**63 - 1).upper) is int


@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 1), (-1e150, 1e150), (0.1, 0.1 + 1e-12), (-5, -1)]
)
def test_centre_and_half(lower, upper):
    number = Number(lower, upper)
    assert lower <= number.centre <= upper
    assert 0 < number.half < math.inf
    assert number.centre + number.half == pytest.approx(upper)


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["a", "a"],
        [1, 1.0],
        [0, False],
        [1, True],
        [None],
        [math.nan],
        [("a",)],
        [[]],
    ],
)
def test_bad_categories(values):
    with pytest.raises(DomainError):
        Category(values)


@pytest.mark.parametrize("values", ["male", 5, None])
def test_categories_are_a_list(values):
    with pytest.raises(DomainError):
        Category(values)


@pytest.mark.parametrize(
    "options",
    [
        {"columns": {}},
        {"columns": {"": Number(0, 1)}},
        {"columns": {1: Number(0, 1)}},
        {"columns": {"x": "numeric"}},
        {"columns": {"x": Number}},
        {"neighbours": "both"},
        {"neighbours": ["replace"]},
        {"neighbours": "replace"},
        {"neighbours": "replace", "rows": 0},
        {"neighbours": "replace", "rows": True},
        {"neighbours": "replace", "rows": 2.0},
        {"rows_per_person": 0},
        {"rows_per_person": 2},
        {"rows_per_person": "2", "person": "id"},
        {"person": "nobody"},
        {"target": "nothing"},
        {"person": "id", "neighbours": "replace", "rows": 3},
    ],
    ids=str,
)
def test_bad_domains(options):
    columns = {"x": Number(0, 1), "id": Opaque()}
    with pytest.raises(DomainError):
        Domain(**({"columns": columns} | options))


def test_lookups():
    domain = Domain({"x": Number(0, 1), "c": Boolean(), "id": Opaque()}, target="c")
    assert domain.features() == ["x"]
    assert list(domain) == ["x", "c", "id"]
    assert domain.select(["x"]).target is None
    for wrong in (
        lambda: domain["y"],
        lambda: domain.number("c"),
        lambda: domain.category("x"),
        lambda: domain.number("id"),
    ):
        with pytest.raises(DomainError):
            wrong()


def test_a_domain_never_changes():
    domain = Domain({"x": Number(0, 1)})
    with pytest.raises(TypeError):
        domain.columns["x"] = Number(0, 9)


# JSON

DOMAINS = [
    Domain({"x": Number(0, 1)}),
    Domain({"x": Number(-1.5, 2, integer=True, missing=True, unit="mm")}, target="x"),
    Domain({"c": Category(["a", 1, 2.5]), "b": Boolean(missing=True)}),
    Domain({"x": Number(0, 1)}, neighbours="replace", rows=9),
    Domain({"x": Number(0, 1), "id": Opaque()}, person="id", rows_per_person=3),
    Domain({"when": Opaque("datetime"), "ñ": Category(["é", "日"])}),
    Domain.cube(3),
    Domain({"c": Category([0, 1]), "d": dp.Date("2020-01-01", "2024-12-31")}),
    Domain(
        {
            "c": Category(["f"], aliases={"w": "f"}, case=False, strip=True),
            "t": dp.DateTime("2020-01-01", "2024-12-31", missing=False),
            "o": dp.OpenText(),
        }
    ),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_round_trip(domain, tmp_path):
    again = Domain.from_dict(json.loads(json.dumps(domain.to_dict())))
    assert again == domain
    assert again.fingerprint == domain.fingerprint
    domain.save(tmp_path / "d.json")
    loaded = Domain.load(tmp_path / "d.json")
    assert loaded == domain
    assert loaded.fingerprint == domain.fingerprint


def test_files_have_the_words_of_python(tmp_path):
    """Those that the tutorials teach and drafts have; 0.1 had others."""
    columns = {
        "age": Number(0, 120, integer=True),
        "sex": Category(["f", "m"], missing=False),
        "smoker": Boolean(),
        "seen": dp.Date("2020-01-01", "2024-12-31"),
        "id": Opaque(),
    }
    Domain(columns).save(tmp_path / "d.json")
    assert json.loads((tmp_path / "d.json").read_text())["columns"] == {
        "age": {"type": "Number", "lower": 0, "upper": 120, "integer": True},
        "sex": {"type": "Category", "categories": ["f", "m"], "missing": False},
        "smoker": {"type": "Boolean"},
        "seen": {"type": "Date", "first": "2020-01-01", "last": "2024-12-31"},
        "id": {"type": "Opaque", "kind": "identifier"},
    }
    assert "Date" in (Domain.__doc__ or "")


def test_round_trip_of_rows():
    domain = Domain({"x": Number(0, 1)}, rows=9)
    assert Domain.from_dict(domain.to_dict()) == domain


def test_fingerprints_tell_domains_apart():
    changes = [
        Domain({"x": Number(0, 2)}),
        Domain({"x": Number(0, 1, missing=False)}),
        Domain({"y": Number(0, 1)}),
        Domain({"x": Number(0, 1)}, neighbours="replace", rows=2),
        Domain({"x": Number(0, 1), "p": Opaque()}, person="p", rows_per_person=2),
    ]
    prints = {domain.fingerprint for domain in [*DOMAINS, *changes]}
    assert len(prints) == len(DOMAINS) + len(changes)


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"columns": []}, {"columns": {}}, {"columns": {"x": None}},
        {"columns": {"x": "numeric"}}, {"columns": {"x": {}}},
        {"columns": {"x": {"type": "numeric"}}}, {"columns": {"x": {"type": "odd"}}},
        {"columns": {"x": {"type": "categorical", "categories": 5}}},
        {"columns": {"x": {"type": ["numeric"]}}},
        {"columns": {"x": NUMERIC}, "discreto_domain": 2},
        {"columns": {"x": NUMERIC}, "neighbours": {}},
    ],
    ids=str,
)  # fmt: skip
def test_bad_files(data, tmp_path):
    with pytest.raises(DomainError):
        Domain.from_dict(data)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(DomainError):
        Domain.load(path)


def test_unreadable_files(tmp_path):
    with pytest.raises(DomainError, match="no domain file"):
        Domain.load(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("{not json")
    with pytest.raises(DomainError):
        Domain.load(tmp_path / "text.json")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "lower", "upper", "categories", "nullable"]), inner
        )
    ),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(st.sampled_from(["x", "y"]), st.just(NUMERIC) | JUNK, max_size=2),
    st.dictionaries(
        st.sampled_from(["neighbours", "rows", "rows_per_person", "discreto_domain"]),
        JUNK,
    ),
)
def test_from_dict_raises_nothing_but_refusals(columns, rest):
    with contextlib.suppress(DomainError):
        Domain.from_dict({"columns": columns} | rest)


@pytest.mark.parametrize("role", ["target", "person"])
def test_roles_of_the_wrong_type(role):
    with pytest.raises(DomainError):
        Domain.from_dict({"columns": {"x": NUMERIC}, role: []})


@pytest.mark.skipif(not SHEETS, reason=f"no data sheets in {DATA} (DISCRETO_DATA)")
@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.name)
def test_data_sheets(path):
    domain = Domain.load(path)
    assert Domain.from_dict(domain.to_dict()) == domain
    assert domain.columns
