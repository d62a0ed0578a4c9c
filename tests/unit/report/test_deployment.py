"""What a ledger tells a registry and a reviewer: facts, and TODO for the rest."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.errors import ParameterError
from discreto.report import checklist_page, registry_entry
from discreto.report.deployment import TODO, deployment_of, to_yaml
from discreto.testing import simulate

DOMAIN = dp.Domain({"age": dp.Number(0, 100), "sex": dp.Category(["f", "m"])})
ROWS = {"age": [20.0, 50.0, 70.0] * 20, "sex": ["f", "m", "f"] * 20}

# The registry's rules: which fields a record may have, and which words they take.
# (opendp/deployments-registry-data, records of September 2026.)
TEXT = str
RULES: dict[str, Any] = {
    "url_slug": TEXT,
    "status": ("Draft", "Pending", "Changes Required", "Approved"),
    "tier": (1, 2, 3),
    "deployment": {
        "basic": {
            "name": TEXT,
            "data_curators": [{"data_curator_name": TEXT, "data_curator_type": TEXT}],
            "intended_use": TEXT,
            "data_product_type": (
                "Summary statistics",
                "Machine learning model",
                "Dataset",
                "Synthetic data",
            ),
            "data_product_region": TEXT,
            "description": TEXT,
            "publication_date": re.compile(r"\d{4}-\d\d-\d\d"),
            "data_product_sector": TEXT,
        },
        "dp_variant": {
            "variant_name": (
                "Pure DP",
                "Approximate DP",
                "Zero-concentrated DP",
                "Renyi DP",
                "Custom",
            ),
            "data_domain": TEXT,
            "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT,
            "privacy_unit_details": TEXT,
            "privacy_parameters": {"epsilon": float, "delta": float, "rho": float},
            "privacy_parameters_details": TEXT,
        },
        "deployment_model": {
            "model_name": ("Local", "Central", "Shuffle", "Federated"),
            "model_name_details": TEXT,
            "actors": TEXT,
            "release_type": ("One release", "Many releases"),
            "release_type_details": TEXT,
            "data_source_type": ("Static", "Dynamic"),
            "access_type": ("Interactive", "Non-interactive"),
            "access_type_details": TEXT,
        },
        "accounting": {"post_processing": TEXT, "composition": TEXT},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": TEXT,
            "mechanisms": TEXT,
            "justification": TEXT,
        },
        "administrative": {"sources": TEXT, "registry_authors": [TEXT]},
    },
}
OPTIONAL = {"delta", "rho"}


def breaches(value: Any, rule: Any, path: str = "") -> list[str]:
    """Where a record breaks the rules; what is still to be said is passed over."""
    if isinstance(value, str) and value.startswith(TODO):
        return []
    if isinstance(rule, dict):
        extra = [f"{path}.{n} is unknown" for n in value if n not in rule]
        lack = [f"{path} lacks {n}" for n in rule if n not in {*value, *OPTIONAL}]
        inner = [breaches(value[n], rule[n], f"{path}.{n}") for n in rule if n in value]
        return [*extra, *lack, *itertools.chain(*inner)]
    if isinstance(rule, list):
        found = (breaches(one, rule[0], f"{path}[]") for one in value)
        return list(itertools.chain(*found))
    if isinstance(rule, tuple):
        fits = value in rule
    elif isinstance(rule, re.Pattern):
        fits = bool(rule.fullmatch(value))
    else:
        fits = isinstance(value, rule) and value != ""
    return [] if fits else [f"{path} is {value!r}"]


def asked(domain: dp.Domain = DOMAIN, delta: Any = 0, **options: Any) -> dp.Ledger:
    ledger = dp.Ledger(epsilon=2, delta="1e-5" if delta else 0, **options)
    table = dp.Table(ROWS, domain, ledger)
    dp.stats.mean(table, "age", epsilon="0.5", delta=delta)
    return ledger


def test_a_record_fits_the_registry() -> None:
    record = registry_entry(asked(), DOMAIN, purpose="to plan", author="me", data="x")
    assert breaches(record, RULES) == []
    assert "to plan" in str(record)
    assert breaches(record | {"mood": "good"}, RULES) == [".mood is unknown"]
    broken = {**record, "status": "Great"}
    assert breaches(broken, RULES) == [".status is 'Great'"]
    del broken["tier"]
    assert " lacks tier" in breaches(broken, RULES)


def test_the_kind_of_guarantee_follows_from_what_was_spent() -> None:
    pure = registry_entry(asked(), DOMAIN)["deployment"]
    assert pure["dp_variant"]["variant_name"] == "Pure DP"
    assert pure["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.5}
    gaussian = registry_entry(asked(delta="1e-6"), DOMAIN)["deployment"]
    assert gaussian["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    told = gaussian["privacy_loss"]["privacy_parameters"]
    assert set(told) == {"epsilon", "delta", "rho"}
    assert told["delta"] == 1e-5
    ledger = asked(delta=0)
    mixed = dp.Ledger(epsilon=2, delta="1e-5")
    table = dp.Table(ROWS, DOMAIN, mixed)
    dp.stats.count(table, epsilon="0.1")
    dp.stats.count(table, epsilon="0.1", delta="1e-6")
    both = registry_entry(mixed, DOMAIN)["deployment"]
    assert both["dp_variant"]["variant_name"] == "Approximate DP"
    assert both["privacy_loss"]["privacy_parameters"]["epsilon"] == mixed.total()
    assert ledger.total() == 0.5


def test_the_unit_is_the_domains() -> None:
    assert deployment_of(asked(), DOMAIN).unit[0] == "Row-level"
    assert deployment_of(asked()).unit[0] == TODO
    person = DOMAIN.with_(
        columns={**DOMAIN.columns, "id": dp.Opaque()}, person="id", rows_per_person=3
    )
    short, full = deployment_of(asked(), person).unit
    assert short.startswith("Person-level (up to 3 row(s)")
    assert "added or removed" in full
    fixed = DOMAIN.with_(neighbours="replace", rows=60)
    record = registry_entry(asked(fixed), fixed)["deployment"]
    assert "The number of rows (60)" in record["dp_variant"]["unprotected_quantities"]
    assert "which is public" in record["privacy_loss"]["privacy_unit_details"]


def test_a_domain_that_was_not_asked_about_shows() -> None:
    ledger = asked()
    other = DOMAIN.with_(neighbours="replace", rows=60)
    assert deployment_of(ledger, DOMAIN).asked_under_this_domain == 1
    assert deployment_of(ledger, other).asked_under_this_domain == 0
    page = str(checklist_page(ledger, other))
    assert "0 of 1 entries name this domain" in page


def test_mechanisms_are_counted() -> None:
    ledger = asked()
    table = dp.Table(ROWS, DOMAIN, ledger)
    dp.stats.median(table, "age", epsilon="0.5")
    found = deployment_of(ledger, DOMAIN).mechanisms
    assert any("permute-and-flip choice: 1" in line for line in found)
    assert any("Laplace (or cube) noise on exact sums: 2" in line for line in found)


def test_a_simulation_has_nothing_to_tell() -> None:
    with pytest.raises(ParameterError, match="gives no protection"):
        registry_entry(simulate(0))


def test_the_record_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    record = registry_entry(asked(population="Köln: \"3\" # 'x'\n- y"), DOMAIN)
    assert yaml.safe_load(to_yaml(record)) == record


def test_every_hazard_has_a_row() -> None:
    hazards = re.findall(r"<tr><td>([^<]+)</td>", str(checklist_page(asked(), DOMAIN)))
    named = " ".join(hazards).lower()
    for word in (
        "unit", "parameters", "composition", "bounds", "bins", "floating", "timing",
        "trust", "bias",
    ):  # fmt: skip
        assert word in named
    page = Path(__file__).parents[3] / "docs" / "nist-800-226.md"
    text = page.read_text(encoding="utf-8").lower()
    for hazard in hazards:
        assert hazard.lower() in text, hazard


def test_the_checklist_escapes_what_strangers_wrote() -> None:
    page = str(checklist_page(asked(population="<script>alert(1)</script>"), DOMAIN))
    assert "<script>alert(1)" not in page


def test_the_shell_writes_both(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with dp.Ledger(path, epsilon=1) as ledger:
        dp.stats.count(dp.Table(ROWS, DOMAIN, ledger), epsilon="0.25")
    DOMAIN.save(tmp_path / "d.json")
    for word in ("--registry", "--checklist"):
        line = ["report", str(path), word, "--domain", str(tmp_path / "d.json")]
        assert CliRunner().invoke(app, line).exit_code == 0
    assert "epsilon: 0.25" in (tmp_path / "people.registry.yaml").read_text()
    html = (tmp_path / "people.checklist.html").read_text()
    assert "Unit of privacy" in html
    both = CliRunner().invoke(app, ["report", str(path), "--registry", "--checklist"])
    assert isinstance(both.exception, ParameterError) or both.exit_code == 2
    wrong = CliRunner().invoke(app, ["report", str(tmp_path / "d.json"), "--registry"])
    assert wrong.exit_code != 0
