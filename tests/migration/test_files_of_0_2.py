"""Ledgers of version 0.2, whose entries carry no totals, still open and go on."""

import shutil
import sqlite3
from pathlib import Path

import pytest

import discreto as dp
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
