"""A ledger that is moved: the old one is closed first, and nothing is spent twice."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import discreto as dp
from discreto.cli import app
from discreto.core.cost import Cost
from discreto.errors import BudgetError, LedgerError, ParameterError


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["ledger", "move", *map(str, words)])


def plain(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.ledger"
    with dp.Ledger(path, epsilon=3, analysts={"ana": 2, "bo": "0.5"}) as ledger:
        ledger.charge(Cost.of("0.7"), "first")
        ledger.analyst("ana").charge(Cost.of("0.3"), "second")
        ledger.analyst("bo").charge(Cost.of("0.5"), "third")
    return path


def test_both_together_spend_what_the_old_one_had(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.ledger"
    done = run(old, new)
    assert done.exit_code == 0, done.output
    assert "is closed" in plain(done)
    with dp.Ledger(old) as before, dp.Ledger(new) as after:
        assert before.verify() > 4
        assert before.limit("") == before.spent().epsilon == Fraction(3, 2)
        with pytest.raises(BudgetError):
            before.charge(Cost.of("1e-9"), "more")
        assert after.epsilon == Fraction(3, 2)
        assert after.limit("ana") == Fraction(17, 10)
        assert "bo" not in after.accounts()  # nothing is left to bo
        (entry,) = [e for e in after.entries() if "continues" in e["label"]]
        assert entry["event"]["ledger"] == before.id
        assert entry["event"]["hash"] == before.entries(1)[0]["hash"]
        after.charge(Cost.of("1.5"), "the rest")
        with pytest.raises(BudgetError):
            after.charge(Cost.of("1e-9"), "more")


def test_a_move_that_broke_off_is_taken_up_again(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = tmp_path / "new.ledger"

    def broken(*_: object, **__: object) -> None:
        raise LedgerError("the power is gone.")

    with monkeypatch.context() as patched:
        patched.setattr("discreto.cli.ledger_move._left", broken)
        assert run(old, new).exit_code == LedgerError.exit_code
    assert not new.exists()
    with dp.Ledger(old) as before, pytest.raises(BudgetError):
        before.charge(Cost.of("0.001"), "between")
    elsewhere = run(old, tmp_path / "third.ledger")
    assert elsewhere.exit_code == LedgerError.exit_code
    assert "was moved to" in plain(elsewhere)
    for _ in range(2):  # and once more changes nothing
        done = run(old, new)
        assert done.exit_code == 0, done.output
    with dp.Ledger(new) as after:
        assert after.epsilon == Fraction(3, 2)
        assert len([e for e in after.entries() if "continues" in e["label"]]) == 1


def test_what_cannot_be_moved_is_refused_and_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "g.ledger"
    with dp.Ledger(path, epsilon=3, delta="1e-5") as ledger:
        ledger.charge(Cost.of(1, "1e-6"), "Gaussian")
    refused = run(path, tmp_path / "n.ledger")
    assert refused.exit_code == ParameterError.exit_code
    assert "cannot be divided exactly" in plain(refused)
    with dp.Ledger(path) as ledger:
        assert ledger.limit("") == 3
    (tmp_path / "there.ledger").write_text("")
    fresh = tmp_path / "fresh.ledger"
    dp.Ledger(fresh, epsilon=1).close()
    assert run(fresh, tmp_path / "there.ledger").exit_code == ParameterError.exit_code
    assert run(tmp_path / "no.ledger", tmp_path / "n").exit_code != 0
    with dp.Ledger(fresh) as ledger:
        assert ledger.remaining() == 1


def test_a_ledger_of_which_nothing_was_spent(tmp_path: Path) -> None:
    old, new = tmp_path / "a.ledger", tmp_path / "b.ledger"
    dp.Ledger(old, epsilon=1).close()
    assert run(old, new).exit_code == 0
    with dp.Ledger(old) as before, dp.Ledger(new) as after:
        assert before.limit("") + after.epsilon == 1  # both together, to the last bit


def test_a_changed_ledger_is_not_moved(old: Path, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(old) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type='trigger'")
        for (name,) in names.fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        (text,) = db.execute("SELECT epsilon FROM account WHERE name=''").fetchone()
        db.execute("UPDATE account SET epsilon='9' WHERE name=''")
    db.close()
    assert json.dumps(text)
    refused = run(old, tmp_path / "n.ledger")
    assert refused.exit_code == LedgerError.exit_code
    assert not (tmp_path / "n.ledger").exists()
