"""The ledger in PostgreSQL when things break: kills, edits, backups, forks.

In every history: what was released <= what was charged <= the limit. What holds for
every store is in ``test_ledger_stores.py``.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import Postgres, programs

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.ledger.postgres import PostgresStore
from discreto.errors import LedgerError, ParameterError, UnsafeError

pytestmark = pytest.mark.skipif(programs() is None, reason="needs PostgreSQL")
TENTH = Cost.of("0.1")
WRITER = """
import json, os, sys
import discreto as dp
from discreto.errors import BudgetError, LedgerError
address, log, name, plant = sys.argv[1:]
domain = dp.Domain({"age": dp.Number(0, 120)})
if plant:  # the planted bug: releases come before the commit
    from contextlib import contextmanager
    from discreto.core.ledger import postgres
    class Late(postgres.PostgresStore):
        @contextmanager
        def writing(self):
            db = self._connection(self._writer)
            if db.info.transaction_status != 2:
                db.execute(self._beginning(""))
            yield postgres._Transaction(db)
    from discreto.core.ledger import ledger as module
    module.PostgresStore = Late
handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
while True:
    try:
        ledger = dp.Ledger(address)
        table = dp.Table({"age": [1, 2]}, domain, ledger.analyst(name), name="people")
        while True:
            receipt = dp.stats.count(table, epsilon="0.001").receipt
            os.write(handle, (json.dumps([receipt.seq, receipt.hash]) + "\\n").encode())
    except BudgetError:
        break
    except LedgerError:
        continue  # the server was killed: nothing was released
"""


@pytest.fixture
def address(postgres: Postgres) -> str:
    return f"{postgres.url}#t{secrets.token_hex(6)}"


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server that a test may kill."""
    server = Postgres()
    yield server
    server.stop()


def sql(address: str, *statements: str) -> None:
    """Change a ledger by hand, leaving its triggers as they were."""
    server, _, name = address.partition("#")
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"SET search_path TO discreto_{name}")
        db.execute("SET session_replication_role TO replica")  # no triggers
        for statement in statements:
            db.execute(statement)


def made(address: str, **options: Any) -> dp.Ledger:
    ledger = dp.Ledger(address, epsilon=9, analysts={"ana": 9}, **options)
    for place in range(4):
        receipt = ledger.charge(TENTH, f"{place}", key=f"{place}", analyst="ana")
        ledger.keep(receipt, f"[{place}]")
    return ledger


def write(address: str, log: Path, name: str, plant: str = "") -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, address, str(log), name, plant]
    )


def released(log: Path) -> set[tuple[int, str]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return {tuple(json.loads(line)) for line in lines}


def kill_writers(address: str, log: Path, plant: str = "") -> dp.Ledger:
    dp.Ledger(address, epsilon="0.2", analysts={"a": "0.15", "b": "0.15"})
    for _ in range(2):
        before = len(released(log))
        children = [write(address, log, name, plant) for name in "ab"]
        end = time.monotonic() + 300
        while len(released(log)) < before + 12 and time.monotonic() < end:
            time.sleep(0.01)
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
    return dp.Ledger(address)


def test_killed_writers_release_nothing_uncharged(address: str, tmp_path: Path) -> None:
    ledger = kill_writers(address, tmp_path / "log")
    charged = {(entry["seq"], entry["hash"]) for entry in ledger.entries()}
    found = released(tmp_path / "log")
    assert 12 <= len(found) <= len(charged) <= 200
    assert found <= charged


def test_the_kill_test_catches_a_ledger_that_commits_late(
    address: str, tmp_path: Path
) -> None:
    ledger = kill_writers(address, tmp_path / "log", "late")
    charged = {(entry["seq"], entry["hash"]) for entry in ledger.entries()}
    assert released(tmp_path / "log") - charged


def test_a_killed_server_loses_no_charge(own: Postgres, tmp_path: Path) -> None:
    address, log = f"{own.url}#people", tmp_path / "log"
    ledger = dp.Ledger(
        address, epsilon="0.06", analysts={"a": "0.06"}, anchor=tmp_path / "anchor"
    )
    child = write(address, log, "a")
    while len(released(log)) < 10:
        time.sleep(0.01)
    own.kill()
    assert child.poll() is None
    with pytest.raises(LedgerError, match="try again"):
        ledger.charge(Cost.of("0.001"), "while it is down")
    own.start()
    assert child.wait(timeout=300) == 0  # it went on until nothing was left
    charged = {(entry["seq"], entry["hash"]) for entry in ledger.entries()}
    assert released(log) <= charged
    assert len(charged) == ledger.verify() == 60


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = replace(body, '1/10', '1/99') WHERE seq = 2",
        "DELETE FROM entry WHERE seq = 4",
        "UPDATE account SET spent = '{}'",
        "UPDATE account SET epsilon = '99' WHERE name = ''",
        "UPDATE meta SET value = '99' WHERE name = 'epsilon'",
        "UPDATE answer SET body = '[9]' WHERE seq = 1",
        "DROP TRIGGER entry_update ON entry",
        "ALTER TABLE entry DISABLE TRIGGER entry_truncate",
        "ALTER TABLE entry ALTER COLUMN body TYPE varchar",
        "CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql "
        "AS $$BEGIN RETURN NULL; END$$",
    ],
)
def test_edits_are_refused(address: str, statement: str) -> None:
    made(address).close()
    sql(address, statement)
    with pytest.raises(LedgerError):
        dp.Ledger(address)


@pytest.mark.parametrize(
    "statement", ["UPDATE entry SET body = ''", "DELETE FROM answer", "TRUNCATE entry"]
)
def test_entries_and_answers_are_append_only(address: str, statement: str) -> None:
    ledger = made(address)
    with (
        pytest.raises(LedgerError, match="RaiseException"),
        ledger._store.writing() as db,
    ):
        db.execute(statement)
    assert ledger.verify() == 4


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET spent = '{}'",
        "UPDATE account SET spent = '0' WHERE name = 'ana'",
        "UPDATE account SET epsilon = '99'",
        "DELETE FROM account",
        "TRUNCATE account",
        "INSERT INTO account VALUES('eve', '9', '{}')",
        "UPDATE meta SET value = '99' WHERE name = 'seal'",
        "DELETE FROM meta WHERE name = 'id'",
    ],
)
def test_budgets_and_totals_are_guarded_under_an_open_ledger(
    address: str, statement: str
) -> None:
    ledger = made(address)
    server, _, name = address.partition("#")
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"SET search_path TO discreto_{name}")
        with pytest.raises(psycopg.errors.RaiseException):
            db.execute(statement)
    ledger.charge(TENTH, "x", analyst="ana")
    sql(address, statement)  # past the triggers
    for _ in range(2):
        with pytest.raises(LedgerError):
            ledger.charge(TENTH, "x", analyst="ana")
    assert len(ledger.entries()) == 5


@pytest.mark.parametrize("version", [1, 3])
def test_a_ledger_of_an_older_version_gets_its_guards(
    address: str, version: int
) -> None:
    made(address).close()
    sql(address, "DROP TABLE large_answer")
    removed = [
        f"DROP TRIGGER {table}_{what} ON {table}"
        for table in ("account", "meta")
        for what in ("delete", "truncate")
    ]
    if version == 1:
        sql(
            address,
            "DROP FUNCTION discreto_writes CASCADE",
            "DROP TRIGGER meta_update ON meta",
            *removed,
        )
    assert dp.Ledger(address).verify() == 4
    server, _, name = address.partition("#")
    with (
        psycopg.connect(server, autocommit=True) as db,
        pytest.raises(psycopg.errors.RaiseException),
    ):
        db.execute(f"UPDATE discreto_{name}.account SET spent = '{{}}'")


def test_a_backup_restored_under_an_open_ledger_stops_it(address: str) -> None:
    ledger = made(address)
    sql(address, "DELETE FROM answer WHERE seq = 4", "DELETE FROM entry WHERE seq = 4")
    for _ in range(2):
        with pytest.raises(LedgerError, match="a backup was restored"):
            ledger.charge(TENTH, "x")


def test_a_ledger_that_is_gone_is_not_made_anew(address: str) -> None:
    ledger = made(address)
    name = address.partition("#")[2]
    sql(address, f"DROP SCHEMA discreto_{name} CASCADE")
    with pytest.raises(LedgerError, match="do not start anew"):
        ledger.charge(TENTH, "x")
    with pytest.raises(LedgerError, match="there is no ledger"):
        dp.Ledger(address)


def test_who_holds_the_lock_is_waited_for_and_not_for_ever(address: str) -> None:
    made(address)
    holder, waiter = dp.Ledger(address), dp.Ledger(address, timeout=0.2)
    with holder._store.writing(), pytest.raises(LedgerError, match="try again"):
        waiter.charge(TENTH, "x")
    assert waiter.charge(TENTH, "x").seq == 5


def test_a_server_that_may_forget_is_refused(address: str, monkeypatch: Any) -> None:
    execute = psycopg.Connection.execute

    def forgetful(db: Any, statement: Any, *rest: Any, **more: Any) -> Any:
        return execute(
            db, statement.replace("SHOW fsync", "SELECT 'off'"), *rest, **more
        )

    monkeypatch.setattr(psycopg.Connection, "execute", forgetful)
    with pytest.raises(LedgerError, match="fsync off"):
        dp.Ledger(address, epsilon=1)


def test_a_fork_shares_no_connection(address: str) -> None:
    code = """
import os, sys
import discreto as dp
from discreto.core.cost import Cost
ledger = dp.Ledger(sys.argv[1], epsilon=9)
ledger.charge(Cost.of("0.1"), "before")
child = os.fork()
for _ in range(20):
    ledger.charge(Cost.of("0.1"), "after")
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(ledger.verify())
"""
    words = [sys.executable, "-W", "ignore", "-c", code, address]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "41"


def test_those_who_make_it_at_once_agree(address: str) -> None:
    ids: list[str] = []

    def make() -> None:
        ids.append(dp.Ledger(address, epsilon=1).id)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 6
    assert len(set(ids)) == 1


def test_a_password_is_never_shown() -> None:
    address = "postgresql://ana:hunter2@127.0.0.1:1/x#people"
    store = PostgresStore(address, 1)
    assert store.address is None
    with pytest.raises(LedgerError) as error:
        dp.Ledger(address, epsilon=1, timeout=1)
    assert "hunter2" not in str(error.value)
    assert error.value.__suppress_context__


def test_a_ledger_with_a_password_is_not_pickled(postgres: Postgres) -> None:
    address = f"{postgres.url}&password=x#t{secrets.token_hex(6)}"
    ledger = dp.Ledger(address, epsilon=1)
    with pytest.raises(UnsafeError, match="PGPASSFILE"):
        ledger.__reduce__()


@pytest.mark.parametrize("name", ["", "#", "#A", "#a b", '#a";', "#" + "a" * 60])
def test_names_are_checked(name: str) -> None:
    with pytest.raises(ParameterError, match="ends with its name"):
        dp.Ledger(f"postgresql://localhost/x{name}", epsilon=1)


# A commit that is cut


def cut_commits(monkeypatch: Any, before: Any, after: Any) -> None:
    """Break the connection at the next commit of a charge."""
    execute, left = psycopg.Connection.execute, [1]

    def cutting(db: Any, statement: Any, *rest: Any, **more: Any) -> Any:
        writes = db.info.transaction_status == 2 and db in held
        if statement != "COMMIT" or not writes or not left:
            if "LOCK TABLE" in statement:
                held.append(db)
            return execute(db, statement, *rest, **more)
        left.clear()
        before(db)
        if db.closed:
            raise psycopg.OperationalError("cut before the commit")
        execute(db, statement, *rest, **more)
        after(db)
        db.close()
        raise psycopg.OperationalError("cut after the commit")

    held: list[Any] = []
    monkeypatch.setattr(psycopg.Connection, "execute", cutting)


def nothing(db: Any) -> None:
    """Leave a connection as it is."""


def test_a_charge_that_was_cut_after_its_commit_is_found(
    address: str, monkeypatch: Any
) -> None:
    ledger = dp.Ledger(address, epsilon=1)
    cut_commits(monkeypatch, nothing, nothing)
    receipt = ledger.charge(TENTH, "without a key")
    assert [(e["seq"], e["hash"]) for e in ledger.entries()] == [(1, receipt.hash)]
    assert ledger.spent() == TENTH


def test_a_charge_that_was_cut_before_its_commit_is_not_made(
    address: str, monkeypatch: Any
) -> None:
    ledger = dp.Ledger(address, epsilon=1)
    cut_commits(monkeypatch, lambda db: db.close(), nothing)
    with pytest.raises(LedgerError, match="nothing was charged"):
        ledger.charge(TENTH, "a look", key="k")
    assert ledger.verify() == 0
    ledger.charge(TENTH, "a look", key="k")
    assert ledger.spent() == TENTH


def test_an_answer_that_was_cut_after_its_commit_is_stored(
    address: str, monkeypatch: Any
) -> None:
    ledger = dp.Ledger(address, epsilon=1)
    paid = ledger.charge(TENTH, "a look", key="k")
    cut_commits(monkeypatch, nothing, nothing)
    assert ledger.keep(paid, "[1]") == "[1]"
    assert ledger.charge(TENTH, "a look", key="k").answer == "[1]"


def test_a_charge_whose_fate_is_unknown_is_recognised_under_its_key(
    own: Postgres, monkeypatch: Any
) -> None:
    """The server dies right after the commit and cannot be asked. The caller read
    nothing, so the charge pays for the next attempt, and for that one only."""
    ledger = dp.Ledger(f"{own.url}#people", epsilon=1, timeout=1)
    cut_commits(monkeypatch, nothing, lambda db: own.kill())
    with pytest.raises(LedgerError, match="it may have been charged") as caught:
        ledger.charge(TENTH, "a look", key="k")
    assert "try again" not in str(caught.value)
    own.start()
    assert ledger.spent() == TENTH
    assert ledger.charge(TENTH, "a look", key="k").seq == 1
    assert ledger.spent() == TENTH
    ledger.charge(TENTH, "a look", key="k")
    assert ledger.spent() == TENTH * 2
