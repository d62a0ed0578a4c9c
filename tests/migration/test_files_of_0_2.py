"""Files of version 0.2: ledgers without totals, models without checksums, domains."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.core.cost import Cost

FILES = Path(__file__).with_name("files")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copy(FILES / "of_0_2.ledger", tmp_path / "people.ledger")
    return tmp_path / "people.ledger"


def test_a_ledger_goes_on(path: Path) -> None:
    ledger = dp.Ledger(path, population="people")
    assert ledger.verify() == 3
    assert ledger.spent() == Cost.of("0.5")
    kept = ledger.charge(Cost.of("0.25"), "kept", None, "k1", "ana")
    assert kept.answer == "[1]"
    ledger.charge(Cost.of("0.25"), "more", analyst="bo")
    assert ledger.entries()[-1]["total"] == {"epsilon": "3/4"}
    again = dp.Ledger(path)
    assert (again.verify(), again.total()) == (4, 0.75)


def test_work_that_died_before_is_paid_again(path: Path) -> None:
    ledger = dp.Ledger(path)
    ledger.charge(Cost.of("0.25"), "died", None, "k2")
    assert ledger.total() == 0.75


def test_its_budgets_and_totals_are_guarded_once_opened(path: Path) -> None:
    dp.Ledger(path).close()
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.Error):
        db.execute("UPDATE account SET spent = '{}'")
    db.close()
    assert dp.Ledger(path).verify() == 3


ROWS = [[50, 30, "f"], [30, 20, "m"]]
PREDICTED = {  # as version 0.2 predicted
    "bayes": (ROWS, ["yes", "no"], [0.21946049762126035, 0.7805395023787396]),
    "boosting": (ROWS, ["yes", "no"], [0.24539188446291973, 0.7546081155370803]),
    "logistic": (ROWS, ["no", "no"], [0.5632877116652758, 0.43671228833472414]),
    "linear": ([[50], [30]], [25.72265625, 25.72265625], None),
    "kmeans": ([[50, 30], [30, 20]], [1, 1], None),
}


@pytest.mark.parametrize("name", PREDICTED)
def test_models_predict_as_they_did(name: str) -> None:
    rows, wanted, chances = PREDICTED[name]
    with pytest.warns(UserWarning, match="checksum"):
        model = models.load(FILES / "of_0_2" / f"{name}-0.2.json")
    assert model.predict(rows).tolist() == wanted
    if chances is not None:
        found = model.predict_proba(rows[:1])[0]  # type: ignore[attr-defined]
        np.testing.assert_array_equal(found, chances)


def test_a_domain_reads_the_same() -> None:
    domain = dp.Domain.load(FILES / "of_0_2" / "people-0.2.domain.json")
    assert domain.target == "ill"
    assert domain["age"] == dp.Number(0, 120, unit="years")
    assert domain.dialect == dp.Dialect(separator=";", decimal=",", missing=["-9"])
    assert domain.checked is None
