"""Totals that are changed under an open ledger: no charge believes them.

Every entry carries the totals after it, so the chain knows what the table of accounts
must say. Triggers refuse edits by other programs; past the triggers a charge compares.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.errors import KernelFault, LedgerError

TENTH = Cost.of("0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def opened(path: Path) -> dp.Ledger:
    ledger = dp.Ledger(path, epsilon=1, analysts={"ana": "0.3", "bo": "0.3"})
    ledger.charge(TENTH, "a look", analyst="ana")
    ledger.charge(TENTH, "a look", analyst="bo")
    return ledger


def edit(path: Path, statement: str) -> None:
    """Change a ledger by hand, past its triggers, and put these back."""
    db = sqlite3.connect(path)
    found = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    made = found.fetchall()
    for name, _ in made:
        db.execute(f"DROP TRIGGER {name}")
    db.execute(statement)
    for _, sql in made:
        db.execute(sql)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET spent = '{}'",
        "UPDATE account SET epsilon = '99'",
        "DELETE FROM account",
        "INSERT INTO account VALUES('eve', '9', '{}')",
        "UPDATE meta SET value = '99' WHERE name = 'epsilon'",
        "DELETE FROM meta",
        "INSERT INTO meta VALUES('pure', '1')",
    ],
)
def test_other_programs_cannot_change_budgets_and_totals(
    path: Path, statement: str
) -> None:
    ledger = opened(path)
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.Error):
        db.execute(statement)
    db.close()
    ledger.charge(TENTH, "a look")
    assert ledger.verify() == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET spent = '{}'",
        "UPDATE account SET spent = '{}' WHERE name = 'ana'",
        "UPDATE account SET spent = '0'",
        "UPDATE account SET epsilon = '99' WHERE name = 'bo'",
        "DELETE FROM account WHERE name = 'bo'",
        "UPDATE meta SET value = 'x' WHERE name = 'id'",
        "UPDATE meta SET value = 'x' WHERE name = 'seal'",
    ],
)
def test_no_charge_believes_totals_that_were_changed(
    path: Path, statement: str
) -> None:
    ledger = opened(path)
    edit(path, statement)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"nothing was released|was charged"):
            ledger.charge(TENTH, "a look", analyst="ana")
        with pytest.raises(LedgerError):
            ledger.allow("ana", 5)
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("charges", [0, 3])
def test_a_ledger_whose_entries_carry_no_totals_is_added_up(
    path: Path, charges: int
) -> None:
    """An empty ledger, and one that an older version wrote."""
    source = Path(__file__).parents[3] / "migration" / "files" / "of_0_2.ledger"
    if charges:
        path.write_bytes(source.read_bytes())
    ledger = dp.Ledger(path) if charges else dp.Ledger(path, epsilon=1)
    assert ledger.verify() == charges
    edit(path, "UPDATE account SET epsilon = '99' WHERE name = ''")
    with pytest.raises(LedgerError, match="changed by hand"):
        ledger.charge(TENTH, "a look")


def test_a_total_that_is_no_cost_is_an_error_of_ours(path: Path) -> None:
    ledger = opened(path)
    edit(path, "UPDATE account SET spent = '0'")
    for look in (ledger.spent, ledger.total, ledger.remaining, ledger.room):
        with pytest.raises(LedgerError, match="changed by hand"):
            look()
    with pytest.raises(LedgerError):
        dp.Ledger(path)


def test_entries_carry_the_running_total(path: Path) -> None:
    ledger = opened(path)
    ledger.allow("ana", 1)
    totals = [entry["total"] for entry in ledger.entries()]
    assert totals == [{"epsilon": "1/10"}, {"epsilon": "1/5"}, {"epsilon": "1/5"}]
    spent = [entry.get("spent") for entry in ledger.entries()]
    tenth = {"epsilon": "1/10"}
    assert spent == [{"ana": tenth}, {"bo": tenth}, None]
    assert len({entry["digest"] for entry in ledger.entries()}) == 3


@pytest.mark.parametrize(
    "carried",
    [
        {"state": "0" * 64},  # of version 3
        {"digest": "0" * 64},
        {"total": {"epsilon": "1/10"}},
        {"spent": {"bo": {}}},
        {"spent": {"bo": {"epsilon": "1/5"}}},
    ],
)
def test_a_last_entry_with_other_totals_is_refused(path: Path, carried: dict) -> None:
    """A chain that was made anew around a false total does not follow."""
    ledger = opened(path)
    ledger.close()
    db = sqlite3.connect(path)
    (before,) = db.execute("SELECT hash FROM entry WHERE seq = 1").fetchone()
    (text,) = db.execute("SELECT body FROM entry WHERE seq = 2").fetchone()
    db.close()
    body = json.loads(text) | carried
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    link = ledger._chain.link(before, text, None)
    edit(path, f"UPDATE entry SET body = '{text}', hash = '{link}' WHERE seq = 2")
    with pytest.raises(LedgerError, match="totals"):
        dp.Ledger(path)


def forged(path: Path, ledger: dp.Ledger, **changes: object) -> None:
    """Add an entry to an open ledger by hand, which follows but for some changes."""
    last = ledger.entries()[-1]
    body = {name: part for name, part in last.items() if name != "hash"}
    body |= {"seq": 3, "cost": {}, **changes}
    seq = body["seq"]
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    link = changes.get("link") or ledger._chain.link(last["hash"], text, None)
    edit(path, f"INSERT INTO entry VALUES({seq}, '{text}', NULL, '{link}')")


def test_an_entry_of_another_process_is_followed(path: Path) -> None:
    ledger = opened(path)
    forged(path, ledger)  # a note, as another process writes it
    assert ledger.charge(TENTH, "a look").seq == 4
    other = dp.Ledger(path)
    other.allow("eve", 1)
    other.charge(TENTH, "a look", analyst="eve")
    assert ledger.charge(TENTH, "a look", analyst="eve").seq == 7
    assert ledger.spent("eve") == TENTH * 2
    assert other.verify() == 7


@pytest.mark.parametrize(
    "changes",
    [
        {"link": "0" * 64},
        {"seq": 4},
        {"total": {"epsilon": "1/100"}},
        {"spent": {"bo": {"epsilon": "1/100"}}},
        {"cost": {"epsilon": "1/10"}},  # without its totals in the accounts
        {"totals": {"": ["9", "{}"]}},
        {"allow": "9"},
        {"analyst": "eve"},
        {"cost": {"epsilon": "x"}},
    ],
)
def test_an_entry_that_does_not_follow_stops_an_open_ledger(
    path: Path, changes: dict
) -> None:
    ledger = opened(path)
    forged(path, ledger, **changes)
    for _ in range(2):
        with pytest.raises(LedgerError, match="changed by hand"):
            ledger.charge(TENTH, "a look")
    assert len(ledger.entries()) == 3


def test_an_entry_that_cost_nothing_cannot_be_taken_out(path: Path) -> None:
    """Totals do not miss it: only the hash of the entry before does."""
    with dp.Ledger(path, epsilon=1) as ledger:
        ledger.charge(TENTH, "a look")
        ledger.note("an approval", {}, "n")
        ledger.note("a request", {}, "m")
    edit(path, "DELETE FROM entry WHERE seq = 2")
    edit(path, "UPDATE entry SET seq = 2 WHERE seq = 3")
    with pytest.raises(LedgerError, match="entry 2 does not follow"):
        dp.Ledger(path)


def test_a_shut_ledger_is_shut_for_other_processes(path: Path) -> None:
    ledger = opened(path)
    other = dp.Ledger(path)
    ledger.fault("a look")
    for one in (other, dp.Ledger(path)):
        with pytest.raises(KernelFault, match="is shut"):
            one.charge(TENTH, "a look")
        assert one.shut
    other.reopen("found it")
    assert ledger.charge(TENTH, "a look").seq == 5
