"""Totals in the chain: long ledgers open quickly, and nothing is believed for good."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.ledger import transaction
from discreto.core.ledger.chain import Chain
from discreto.errors import LedgerError


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Totals at entries 8, 16, ... instead of 1,024."""
    monkeypatch.setattr(transaction, "EVERY", 8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with 20 charges by two people, and totals at 8 and 16."""
    path = tmp_path / "people.ledger"
    with dp.Ledger(path, epsilon=9, delta="1e-6", analysts={"ana": 4}) as ledger:
        for number in range(18):
            cost = Cost(rho=Fraction(1, 1000)) if number == 11 else Cost.of("1/7")
            paid = ledger.charge(
                cost, "look", key=f"k{number}", analyst="ana" * (number % 2)
            )
            if not number:
                ledger.keep(paid, "first answer")
    return path


def change(path: Path, *statements: str) -> None:
    """Edit a ledger file by hand, past its triggers."""
    db = sqlite3.connect(path)
    made = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    triggers = made.fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        db.execute(statement)
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()


def rewrite(path: Path, forge: Callable[[list[dict]], None]) -> None:
    """Change the contents of entries and make all hashes follow, as a forger would."""
    db = sqlite3.connect(path)
    before = db.execute("SELECT value FROM meta WHERE name = 'seal'").fetchone()[0]
    rows = db.execute("SELECT seq, body, key FROM entry ORDER BY seq").fetchall()
    db.close()
    bodies = [json.loads(body) for _, body, _ in rows]
    forge(bodies)
    chain, statements = Chain(None), []
    for (seq, _, key), body in zip(rows, bodies, strict=True):
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        before = chain.link(before, text, key)
        statements.append(
            f"UPDATE entry SET body = '{text}', hash = '{before}' WHERE seq = {seq}"
        )
    change(path, *statements)


def test_totals_are_entries_and_cost_nothing(path: Path) -> None:
    with dp.Ledger(path) as ledger:
        told = [entry for entry in ledger.entries() if "totals" in entry]
        assert [entry["seq"] for entry in told] == [8, 16]
        assert told[0]["totals"][""] == ["9", '{"epsilon":"1"}']
        assert ledger.verify() == 20
        assert ledger.spent().epsilon == Fraction(11, 7)  # until the Gaussian charge


def test_opening_checks_what_is_new_and_verify_everything(path: Path) -> None:
    change(path, "UPDATE entry SET body = replace(body, '1/7', '1/8') WHERE seq = 3")
    with dp.Ledger(path) as ledger, pytest.raises(LedgerError, match="entry 3"):
        ledger.verify()
    change(path, "UPDATE entry SET body = replace(body, '1/7', '1/8') WHERE seq = 18")
    with pytest.raises(LedgerError, match="entry 18"):
        dp.Ledger(path)


def test_totals_that_do_not_follow_are_found(path: Path) -> None:
    def forge(bodies: list[dict]) -> None:
        bodies[7]["totals"][""][1] = '{"epsilon":"1/7"}'

    rewrite(path, forge)
    with dp.Ledger(path) as ledger, pytest.raises(LedgerError, match="entry 8 tells"):
        ledger.verify()


def test_limits_in_totals_follow_too(path: Path) -> None:
    def forge(bodies: list[dict]) -> None:
        bodies[7]["totals"][""][0] = "99"

    rewrite(path, forge)
    with dp.Ledger(path) as ledger, pytest.raises(LedgerError, match="entry 8 tells"):
        ledger.verify()


def test_limits_that_were_raised_with_their_totals_are_found(path: Path) -> None:
    def forge(bodies: list[dict]) -> None:
        bodies[15]["totals"][""][0] = "99"

    rewrite(path, forge)
    change(path, "UPDATE account SET epsilon = '99' WHERE name = ''")
    with pytest.raises(LedgerError, match="do not follow"):
        dp.Ledger(path)


def test_accounts_follow_from_the_last_totals(path: Path) -> None:
    def forge(bodies: list[dict]) -> None:
        bodies[15]["totals"][""][1] = '{"epsilon":"1/7"}'

    rewrite(path, forge)
    with pytest.raises(LedgerError, match="do not follow"):
        dp.Ledger(path)


@pytest.mark.parametrize("seq", [1, 8, 15, 16])
def test_an_entry_that_was_taken_out_is_missed(path: Path, seq: int) -> None:
    change(path, f"DELETE FROM entry WHERE seq = {seq}")
    with pytest.raises(LedgerError):
        dp.Ledger(path)


def test_an_old_answer_is_checked_when_it_is_given(path: Path) -> None:
    with dp.Ledger(path) as ledger:
        again = ledger.charge(Cost.of("1/7"), "look", key="k0")
        assert again.answer == "first answer"
    change(path, "UPDATE answer SET body = 'another' WHERE seq = 1")
    with dp.Ledger(path) as ledger, pytest.raises(LedgerError, match="was changed"):
        ledger.charge(Cost.of("1/7"), "look", key="k0")


def test_an_anchor_knows_a_backup_of_a_long_ledger(tmp_path: Path) -> None:
    path, anchor = tmp_path / "people.ledger", tmp_path / "anchor"
    ledger = dp.Ledger(path, epsilon=9, anchor=anchor)
    for number in range(30):
        if number == 20:
            ledger.close()
            backup = path.read_bytes()
            ledger = dp.Ledger(path, anchor=anchor)
        ledger.charge(Cost.of("1/7"), "look")
    ledger.close()
    dp.Ledger(path, anchor=anchor).close()
    path.write_bytes(backup)
    with pytest.raises(LedgerError, match="backup"):
        dp.Ledger(path, anchor=anchor)


def test_a_ledger_of_very_fine_charges_verifies(path: Path) -> None:
    with dp.Ledger(path) as ledger:
        for prime in (10**18 - 11, 10**18 - 33, 10**18 - 35, 10**18 - 39):
            ledger.charge(Cost(rho=Fraction(1, prime)), "look")
        ledger.verify()
