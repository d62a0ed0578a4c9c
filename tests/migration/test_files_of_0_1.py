"""Files that version 0.1 wrote still open, and mean what they meant."""

import importlib
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import discreto as dp
from discreto import models
from discreto.core.cost import Cost, rho_of_pure
from discreto.errors import BudgetError

FILES = Path(__file__).with_name("files")
PREDICTIONS = json.loads((FILES / "predictions.json").read_text())


@pytest.fixture
def ledger_of(tmp_path: Path):
    def open_copy(name: str) -> dp.Ledger:
        shutil.copy(FILES / name, tmp_path / name)
        return dp.Ledger(tmp_path / name)

    return open_copy


def test_a_pure_ledger_goes_on(ledger_of) -> None:
    ledger = ledger_of("pure.ledger")
    assert ledger.verify() == 3
    assert ledger.spent() == Cost.of("0.85")
    assert ledger.spent("ana") == Cost.of("0.25")
    again = ledger.charge(Cost.of("0.1"), "kept", None, "k1")
    assert again.answer == "[1]"
    ledger.charge(Cost.of(1), "more")
    assert dp.Ledger(ledger.path).total() == 1.85


def test_a_mixed_ledger_is_counted_by_the_rule_of_today(ledger_of) -> None:
    ledger = ledger_of("mixed.ledger")
    assert ledger.verify() == 4
    late = rho_of_pure(Fraction(1, 2)) + rho_of_pure(Fraction(1, 10))
    gauss = Fraction(ledger.entries()[1]["cost"]["rho"])
    assert ledger.spent().epsilon == Fraction(1, 2)
    assert abs(ledger.spent().rho - gauss - late) < Fraction(1, 10**12)
    assert ledger.spent().delta == Fraction(1, 10**7)
    with pytest.raises(BudgetError, match="Gaussian"):
        ledger.charge(Cost.of(2), "too much")
    assert dp.Ledger(ledger.path).verify() == 4  # now with totals of today


@pytest.mark.parametrize("name", PREDICTIONS)
def test_model_files_predict_what_they_did(name: str) -> None:
    with pytest.warns(UserWarning, match="no checksum"):
        model = models.load(FILES / f"{name}.json")
    expected = PREDICTIONS[name]
    rows = pd.DataFrame(expected["columns"])
    assert list(model.predict(rows)) == pytest.approx(expected["predictions"])


def test_domain_files_mean_what_they_did() -> None:
    domain = dp.Domain.load(FILES / "people.domain.json")
    assert domain.to_dict() == json.loads((FILES / "people.domain.json").read_text())


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("discreto.audit", "Comparison", "PairComparison"),
        ("discreto.audit", "Witness", "Recorder"),
        ("discreto.lab.known_bugs", "PIECES", "PLANTED_BUGS"),
        ("discreto.lab.known_bugs", "Piece", "PlantedBug"),
        ("discreto.lab.published", "FuzzyCMeans", "PrintedFuzzyCMeans"),
        ("discreto.lab.published", "KMeans", "PrintedKMeans"),
        ("discreto.lab.study", "Finding", "StudyFinding"),
        ("discreto.lab.study", "coins_for", "generator_for"),
        ("discreto.lab.study", "Table", "ResultTable"),
    ],
)
def test_things_are_found_by_their_old_names(module: str, old: str, new: str) -> None:
    found = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{old} is called {new} since 0.2"):
        assert getattr(found, old) is getattr(found, new)
    with pytest.raises(AttributeError, match="nothing"):
        _ = found.nothing
