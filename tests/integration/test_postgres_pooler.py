"""Ledgers behind a pooler that lends sessions for one transaction at a time.

Two populations share a database and two sessions of the server. A charge must fall on
the ledger that it was made to, whatever was set in a session by others.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from postgres import Pooler, Postgres, pooler

import discreto as dp
from discreto.core.cost import Cost
from discreto.errors import BudgetError, LedgerError
from discreto.service.state import Person, State

pytestmark = pytest.mark.skipif(
    pooler() is None, reason="needs PgBouncer: apt-get install pgbouncer"
)
Pair = tuple[str, str]


@pytest.fixture(scope="module")
def pooled(postgres: Postgres) -> Iterator[str]:
    bouncer = Pooler(postgres)
    yield bouncer.url
    bouncer.stop()


@pytest.fixture
def ward(postgres: Postgres, pooled: str) -> Pair:
    """A ledger's address at the server, and behind the pooler."""
    return _made(postgres, pooled, 1)


@pytest.fixture
def bank(postgres: Postgres, pooled: str) -> Pair:
    return _made(postgres, pooled, 100)


def _made(postgres: Postgres, pooled: str, epsilon: int) -> Pair:
    name = f"t{secrets.token_hex(6)}"
    dp.Ledger(f"{postgres.url}#{name}", epsilon=epsilon).close()
    return f"{postgres.url}#{name}", f"{pooled}#{name}"


@pytest.mark.parametrize("used", [False, True])
def test_a_budget_is_kept_beside_another_ledger(
    ward: Pair, bank: Pair, used: bool
) -> None:
    """Of thirty charges of 0.9 to a budget of 1, one fits. The other ledger, opened in
    between, stays as it is, also when it is still empty."""
    if used:
        dp.Ledger(bank[0]).charge(Cost.of("0.1"), "of the bank")
    receipts = 0
    for _ in range(10):
        mine, other = dp.Ledger(ward[1]), dp.Ledger(bank[1])
        for _ in range(3):
            with suppress(BudgetError):
                mine.charge(Cost.of("0.9"), "of the ward")
                receipts += 1
        other.close()
        mine.close()
    assert receipts == 1
    assert str(dp.Ledger(ward[0])) == "ε 0.9 of 1, 1 entry, chain intact"
    assert dp.Ledger(bank[0]).verify() == used


def test_charges_of_threads_fall_on_their_own_ledgers(ward: Pair, bank: Pair) -> None:
    ledgers = [dp.Ledger(ward[1]), dp.Ledger(bank[1])]
    failures: list[BaseException] = []

    def work(ledger: dp.Ledger) -> None:
        try:
            for place in range(25):
                receipt = ledger.charge(
                    Cost.of("0.01"), f"{place}", key=f"{threading.get_ident()} {place}"
                )
                ledger.keep(receipt, ledger.id)
                assert ledger.spent().epsilon > 0
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(one,)) for one in ledgers * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for address, ledger in zip((ward[0], bank[0]), ledgers, strict=True):
        direct = dp.Ledger(address)
        assert direct.verify() == 50
        assert direct.total() == 0.5
        with direct._store.reading() as db:
            found = db.execute("SELECT DISTINCT body FROM answer").fetchall()
        assert found == [(ledger.id,)]


def test_tables_that_others_left_in_a_session_are_not_ours(
    ward: Pair, pooled: str
) -> None:
    """A temporary table comes first in a session's path unless the path says more."""
    ledger = dp.Ledger(ward[1])
    for _ in range(4):  # on both sessions
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as db:
            for name in ("account", "entry", "meta"):
                db.execute(
                    f"CREATE TEMP TABLE IF NOT EXISTS {name} AS SELECT 1 AS other"
                )
            db.execute("SET synchronous_commit TO off")
    ledger.charge(Cost.of("0.5"), "a look")
    with ledger._store.writing() as db:
        assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)
    assert dp.Ledger(ward[0]).total() == 0.5


def test_a_ledger_in_the_place_of_another_gets_no_charge(
    ward: Pair, bank: Pair
) -> None:
    """Whatever leads a transaction to another ledger: it reads whose ledger it is."""
    mine = dp.Ledger(ward[1])
    mine._store._schema = f"discreto_{bank[0].partition('#')[2]}"
    with pytest.raises(LedgerError, match="another ledger"):
        mine.charge(Cost.of("0.1"), "a look")
    with pytest.raises(LedgerError, match="another ledger"):
        mine.allow("ana", 1)
    assert [dp.Ledger(address).verify() for address in (ward[0], bank[0])] == [0, 0]


def test_a_service_keeps_its_people_behind_a_pooler(pooled: str) -> None:
    states = [State(f"{pooled}#s{secrets.token_hex(6)}") for _ in range(2)]
    for number, state in enumerate(states):
        for place in range(4):
            state.add_person(Person(f"{number} {place}", "analyst"))
    assert [len(state.people()) for state in states] == [4, 4]
