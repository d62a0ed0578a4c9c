"""A server that ends sessions or limits statements never shuts a ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from postgres import Postgres, programs

import discreto as dp
from discreto.core.cost import Cost
from discreto.errors import KernelFault, LedgerError

pytestmark = pytest.mark.skipif(programs() is None, reason="needs PostgreSQL")
TENTH = Cost.of("0.1")
DOMAIN = dp.Domain({"age": dp.Number(0, 120)})


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server whose settings and life belong to these tests."""
    out = Postgres()
    yield out
    out.stop()


@pytest.fixture
def ledger(server: Postgres, request: pytest.FixtureRequest) -> Iterator[dp.Ledger]:
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    with dp.Ledger(f"{server.url}#{name}", epsilon=9, timeout=10) as out:
        yield out


def run(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(statement)


def end_sessions(server: Postgres) -> None:
    """End every session of ledgers, as a failover or an owner does."""
    run(
        server,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'discreto'",
    )


@pytest.fixture(params=["statement_timeout", "idle_session_timeout"])
def limited(server: Postgres, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database whose sessions have a limit of 150 ms."""
    run(server, f"ALTER DATABASE discreto SET {request.param} TO '150ms'")
    yield request.param
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(f"SET {request.param} TO 0")
        db.execute(f"ALTER DATABASE discreto RESET {request.param}")


def test_limits_of_the_server_do_not_stop_a_ledger(
    limited: str, ledger: dp.Ledger
) -> None:
    for number in range(3):
        assert ledger.charge(TENTH, "a look").seq == number + 1
        time.sleep(0.4)
        assert ledger.spent() == TENTH * (number + 1)
        time.sleep(0.4)
    assert (ledger.verify(), ledger.shut) == (3, False)


def test_a_long_statement_of_a_ledger_is_not_cut(
    server: Postgres, ledger: dp.Ledger
) -> None:
    run(server, "ALTER DATABASE discreto SET statement_timeout TO '150ms'")
    try:
        end_sessions(server)
        for way in (ledger._store.reading, ledger._store.writing):
            with way() as db:
                db.execute("SELECT pg_sleep(0.5)")
    finally:
        run(server, "ALTER DATABASE discreto RESET statement_timeout")


def test_a_dropped_connection_is_replaced_before_the_charge(
    server: Postgres, ledger: dp.Ledger
) -> None:
    ledger.charge(TENTH, "before")
    end_sessions(server)
    assert ledger.charge(TENTH, "after").seq == 2
    end_sessions(server)
    assert ledger.remaining() == pytest.approx(8.8)
    assert not ledger.shut


def test_a_session_that_ends_in_a_charge_refuses_that_charge_only(
    server: Postgres, ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, left = psycopg.Connection.execute, [1]

    def ending(db: Any, statement: Any, *rest: Any, **more: Any) -> Any:
        if "INSERT INTO entry" in str(statement) and left:
            left.clear()
            end_sessions(server)
        return execute(db, statement, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", ending)
    with pytest.raises(LedgerError, match="try again; nothing was released"):
        ledger.charge(TENTH, "cut")
    assert not left
    assert ledger.charge(TENTH, "again").seq == 1
    assert (ledger.verify(), ledger.shut) == (1, False)


def test_a_server_that_starts_anew_is_used_again(server: Postgres) -> None:
    with dp.Ledger(f"{server.url}#restarted", epsilon=9, timeout=1) as ledger:
        table = dp.Table({"age": [1, 2]}, DOMAIN, ledger, name="people")
        dp.stats.count(table, epsilon="0.1")
        server.kill()
        with pytest.raises(LedgerError, match="try again"):
            dp.stats.count(table, epsilon="0.1")
        server.start()
        dp.stats.count(table, epsilon="0.1")
        assert (ledger.spent(), ledger.shut) == (TENTH * 2, False)


def test_a_shut_ledger_is_reopened_over_a_new_connection(
    server: Postgres, ledger: dp.Ledger
) -> None:
    ledger.fault("a question")
    with pytest.raises(KernelFault):
        ledger.charge(TENTH, "while it is shut")
    end_sessions(server)
    ledger.reopen("the server is back")
    end_sessions(server)
    assert ledger.charge(TENTH, "after").seq == 3
    assert ledger.verify() == 3
