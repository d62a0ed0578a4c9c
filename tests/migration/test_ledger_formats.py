"""Ledgers of format 3, whose entries carry a hash of all accounts, are read on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.ledger.chain import Chain
from discreto.errors import LedgerError

SOURCE = Path(__file__).parent / "files" / "of_format_3.ledger"
TENTH = Cost.of("0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(SOURCE, tmp_path / "people.ledger"))


def test_it_opens_and_goes_on(path: Path) -> None:
    with dp.Ledger(path) as ledger:
        assert ledger.verify() == 4
        assert all(len(entry["state"]) == 64 for entry in ledger.entries())
        assert ledger.charge(TENTH, "first", key="k", analyst="ana").answer == "[1]"
        ledger.charge(TENTH, "fourth", analyst="eve")
        assert ledger.verify() == 5
        assert "digest" in ledger.entries()[-1]
    with dp.Ledger(path) as ledger:
        assert ledger.verify() == 5


def test_its_last_hash_of_accounts_is_checked(path: Path) -> None:
    """A chain that was made anew around another hash does not follow."""
    db = sqlite3.connect(path)
    (before,) = db.execute("SELECT hash FROM entry WHERE seq = 3").fetchone()
    (text,) = db.execute("SELECT body FROM entry WHERE seq = 4").fetchone()
    body = json.loads(text) | {"state": "0" * 64}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    found = db.execute("SELECT sql FROM sqlite_master WHERE name = 'entry_update'")
    (guard,) = found.fetchone()
    db.execute("DROP TRIGGER entry_update")
    link = Chain(None).link(before, text, None)
    db.execute("UPDATE entry SET body = ?, hash = ? WHERE seq = 4", (text, link))
    db.execute(guard)
    db.commit()
    db.close()
    with pytest.raises(LedgerError, match="carries totals that do not follow"):
        dp.Ledger(path)
