"""A ledger that another process holds says what it waits for."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.ledger import sqlite
from discreto.errors import LedgerError

TENTH = dp.Cost.of("0.1")


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sqlite3.Connection:
    """A ledger file with one entry, held by another writer."""
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    with dp.Ledger(tmp_path / "l", epsilon=1) as ledger:
        ledger.charge(TENTH, "before")
    other = sqlite3.connect(
        tmp_path / "l", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def test_it_says_what_it_waits_for_and_goes_on(
    held: sqlite3.Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = dp.Ledger(tmp_path / "l", timeout=60)
    said = threading.Event()
    caplog.handler.addFilter(lambda record: not said.set())
    waiter = threading.Thread(target=lambda: (said.wait(), held.execute("ROLLBACK")))
    waiter.start()
    with caplog.at_level(logging.WARNING, "discreto.ledger"):
        ledger.charge(TENTH, "after")
    waiter.join()
    assert len(caplog.messages) == 1
    assert f"waiting for the ledger '{tmp_path / 'l'}'" in caplog.messages[0]
    assert ledger.spent() == dp.Cost.of("0.2")


def test_in_the_end_it_gives_up(
    held: sqlite3.Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = dp.Ledger(tmp_path / "l", timeout=0.2)
    with pytest.raises(LedgerError, match="another process holds it"):
        ledger.charge(TENTH, "x")
    assert len(caplog.messages) == 1
    held.execute("ROLLBACK")
    ledger.charge(TENTH, "x")
    assert len(caplog.messages) == 1


def test_readers_do_not_wait(
    held: sqlite3.Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert dp.Ledger(tmp_path / "l").spent() == TENTH
    assert not caplog.messages
