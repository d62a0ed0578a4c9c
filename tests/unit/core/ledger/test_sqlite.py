"""Closing a ledger: no connection is left open, and nothing can be spent afterwards."""

from __future__ import annotations

import copy
import gc
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.ledger.sqlite import SqliteStore
from discreto.errors import LedgerError

TENTH = Cost.of("0.1")


class Watched(sqlite3.Connection):
    """Says when it is collected without being closed, as Python 3.13 does."""

    left: ClassVar[list[str]] = []
    closed = False

    def close(self) -> None:
        self.closed = True
        super().close()

    def __del__(self) -> None:
        if not self.closed:
            self.left.append("unclosed")


@pytest.fixture(autouse=True)
def _watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real = sqlite3.connect

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return real(*args, factory=Watched, **options)

    monkeypatch.setattr("discreto.core.ledger.sqlite.sqlite3.connect", connect)
    monkeypatch.setattr(Watched, "left", [])
    yield
    gc.collect()
    assert Watched.left == []


@pytest.fixture(params=["file", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> dp.Ledger:
    path = tmp_path / "people.ledger" if request.param == "file" else None
    return dp.Ledger(path, epsilon=1)


def test_the_watch_sees_what_nobody_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteStore, "_release", SqliteStore._let_go)
    with dp.Ledger(epsilon=1) as ledger:
        ledger.charge(TENTH, "a look")
    del ledger
    gc.collect()
    assert Watched.left.pop() == "unclosed"


def test_a_context_closes(ledger: dp.Ledger) -> None:
    with ledger as same:
        assert same is ledger
        ledger.charge(TENTH, "a look")
    assert ledger._store._db is None


def test_an_error_inside_closes_and_passes(ledger: dp.Ledger) -> None:
    with pytest.raises(KeyError), ledger:
        raise KeyError("mine")
    assert ledger._store._db is None


def test_what_is_closed_refuses(ledger: dp.Ledger) -> None:
    table = dp.Table(
        {"age": [1.0]}, dp.Domain({"age": dp.Number(0, 9)}), copy.copy(ledger)
    )
    ledger.close()
    ledger.close()
    for use in (
        lambda: ledger.charge(TENTH, "a look"),
        lambda: ledger.spent(),
        lambda: ledger.fault("a look"),
        lambda: str(ledger),
        lambda: dp.stats.count(table, epsilon="0.1"),
    ):
        with pytest.raises(LedgerError, match="is closed"):
            use()


def test_a_closed_file_opens_anew(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with dp.Ledger(path, epsilon=1) as ledger:
        ledger.charge(TENTH, "a look")
    assert [part.name for part in tmp_path.iterdir()] == ["people.ledger"]
    with dp.Ledger(path) as ledger:
        assert ledger.spent() == TENTH


def test_nobody_needs_to_close(ledger: dp.Ledger) -> None:
    ledger.charge(TENTH, "a look")
    loop: list[Any] = [ledger]
    loop.append(loop)  # only the collector finds it


def test_a_connection_is_not_collected_before_its_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    older = [sqlite3.connect(":memory:", isolation_level=None)]
    monkeypatch.setattr(
        "discreto.core.ledger.sqlite.sqlite3.connect", lambda *_, **__: older.pop()
    )
    loop: list[Any] = [dp.Ledger(epsilon=1)]  # the collector goes by age
    loop.append(loop)
    del loop
    gc.collect()
    assert Watched.left == []


def test_a_refused_file_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    dp.Ledger(path, epsilon=1).close()
    with pytest.raises(LedgerError, match="not 2"):
        dp.Ledger(path, epsilon=2)


def test_a_moved_file_is_not_written_to_by_closing(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    ledger = dp.Ledger(path, epsilon=1)
    ledger.charge(TENTH, "a look")
    shutil.copy(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    before = path.read_bytes()
    db = ledger._store._db
    ledger.close()
    assert path.read_bytes() == before
    assert isinstance(db, Watched)
    assert not db.closed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_closes_its_copy_of_a_ledger_in_memory() -> None:
    ledger = dp.Ledger(epsilon=1)
    child = os.fork()
    if not child:
        ledger.close()
        os._exit(ledger._store._db is not None)
    assert os.waitpid(child, 0)[1] == 0
    ledger.charge(TENTH, "a look")
    assert ledger.spent() == TENTH
