"""Tables in PostgreSQL when connections are lost: one charge, one answer, no fault."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psycopg
import pytest
from postgres import Postgres, programs

import discreto as dp
from discreto.core.cost import Cost
from discreto.data.sql.backends import silence
from discreto.data.sql.ibis_backend import Ibis
from discreto.errors import KernelFault, ParameterError

pytestmark = pytest.mark.skipif(programs() is None, reason="needs PostgreSQL")
ROWS = 1000
DOMAIN = dp.Domain({"x": dp.Number(0, 1), "g": dp.Category(["a", "b"])}, target="g")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    found = Postgres()
    with psycopg.connect(found.url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT (n % 10) / 10.0::float8 AS x, "
            "CASE WHEN n % 10 > 4 THEN 'b' ELSE 'a' END AS g "
            f"FROM generate_series(1, {ROWS}) AS n"
        )
    yield found
    found.stop()


@pytest.fixture
def table(server: Postgres) -> dp.Table:
    return dp.Table(f"{server.url}&table=t", DOMAIN, dp.Ledger(epsilon=100))


def cut(server: Postgres) -> None:
    """End all sessions, as a restart or a limit for idle ones does."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "pid <> pg_backend_pid() AND datname = current_database()"
        )


def rows(table: dp.Table) -> float:
    return float(dp.stats.count(table, epsilon=1).value)


def check_answered(table: dp.Table, times: int) -> None:
    assert table.ledger.spent() == Cost.of(times)
    assert not table.ledger.shut


def test_a_dead_connection_is_replaced_before_the_charge(server, table):
    for times in range(1, 4):
        assert abs(rows(table) - ROWS) < 50
        check_answered(table, times)
        cut(server)


def test_views_and_plans_share_the_new_connection(server, table):
    view = table.where("x >= 0.5")
    rows(view)
    cut(server)
    rows(view)
    rows(table)
    check_answered(table, 3)


def test_a_new_session_is_checked_and_read_only(server, table):
    rows(table)
    cut(server)
    rows(table)
    (backend,) = table._rows._origins
    connection = backend._client().con
    found = connection.execute("SHOW default_transaction_read_only").fetchone()
    assert found == ("on",)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("DELETE FROM t")


def lose(
    server: Postgres, monkeypatch: pytest.MonkeyPatch, name: str, times: int
) -> Any:
    """Cut all sessions just before so many queries of a fold."""
    plain, lost = getattr(Ibis, name), []

    def run(self: Any, *args: Any) -> Any:
        if len(lost) < times and self.connect is not None:
            lost.append(1)
            cut(server)
        return plain(self, *args)

    monkeypatch.setattr(Ibis, name, run)
    return lost


def test_a_connection_lost_in_a_fold_is_replaced_once(server, table, monkeypatch):
    rows(table)
    lost = lose(server, monkeypatch, "_collect", 1)
    assert abs(rows(table) - ROWS) < 50
    assert len(lost) == 1
    check_answered(table, 2)


def test_rows_that_were_read_in_part_are_read_again(server, table, monkeypatch):
    """A copy of half of the rows must not be folded."""
    plain, seen = Ibis._batches, []

    def batches(self: Any, native: Any, many: int) -> Iterator[Any]:
        for part in plain(self, native, 100):
            yield part
            seen.append(part.num_rows)
            if len(seen) == 3:
                self._client().con.close()

    monkeypatch.setattr(Ibis, "_batches", batches)
    silent = table.paid_by(dp.testing.simulate(1, noise=False))
    model = dp.models.GradientBoostingClassifier(epsilon=5).fit(silent)
    found = model.predict({"x": np.array([0.1, 0.9])})
    assert [str(label) for label in found] == ["a", "b"]
    assert sum(seen) > ROWS + 200


def test_a_connection_that_is_lost_again_and_again_is_a_fault(
    server, table, monkeypatch
):
    """Reopened, the same table answers without a restart."""
    rows(table)
    with monkeypatch.context() as patch:
        lost = lose(server, patch, "_collect", 1000)
        with pytest.raises(KernelFault, match="shut"):
            dp.stats.mean(table, "x", epsilon=1)
        assert table.ledger.shut
        assert len(lost) >= 2
    table.ledger.reopen("the database is back")
    assert abs(rows(table) - ROWS) < 50


def test_a_statement_that_fails_is_not_tried_again(server, table, monkeypatch):
    rows(table)
    tried: list[int] = []

    def fail(self: Any, plan: Any) -> Any:
        tried.append(1)
        raise psycopg.errors.QueryCanceled("statement timeout")

    monkeypatch.setattr(Ibis, "_collect", fail)
    with pytest.raises(KernelFault):
        dp.stats.mean(table, "x", epsilon=1)
    assert len(tried) == 1


def test_a_server_that_is_down_costs_nothing(server, table):
    rows(table)
    server.kill()
    try:
        with pytest.raises(ParameterError, match="cannot be reached") as caught:
            rows(table)
    finally:
        server.start()
    assert "host=" not in str(caught.value)
    check_answered(table, 1)
    rows(table)
    check_answered(table, 2)


def test_a_connection_of_the_callers_own_is_refused_when_it_is_dead(server):
    import ibis

    with psycopg.connect(server.url, autocommit=True) as connection:
        client = ibis.postgres.from_connection(connection)
        own = dp.Table(client.table("t"), DOMAIN, dp.Ledger(epsilon=9))
        rows(own)
        cut(server)
        with pytest.raises(ParameterError, match="make the table anew"):
            rows(own)
        check_answered(own, 1)


def test_threads_that_lose_one_connection_all_get_answers(server, table, monkeypatch):
    """Who comes second finds the connection replaced, and tries again as well."""
    rows(table)
    both, failed = threading.Barrier(2), threading.Barrier(2)
    plain, plain_recovered, cuts = Ibis._collect, Ibis.recovered, []

    def run(self: Any, plan: Any) -> Any:
        if len(cuts) < 2:
            cuts.append(1)
            if len(cuts) == 1:
                cut(server)
            self._client().con.cursor().execute("SELECT 1")  # it fails for both
        return plain(self, plan)

    def collect(self: Any, plan: Any) -> Any:
        if len(cuts) < 2:
            both.wait(60)  # both have been charged
        with self.lock, silence():
            return run(self, plan)

    def recovered(self: Any, since: int) -> bool:
        failed.wait(60)  # neither connects anew before both have failed
        return plain_recovered(self, since)

    monkeypatch.setattr(Ibis, "collect", collect)
    monkeypatch.setattr(Ibis, "recovered", recovered)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: rows(table), range(2)))
    assert all(abs(one - ROWS) < 50 for one in found)
    assert len(cuts) == 2
    check_answered(table, 3)
