"""A count over HTTP takes two transactions: the charge, and the stored answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreto.core.ledger.sqlite import SqliteStore
from discreto.service import Service, read_config
from discreto.service.app import make_app
from discreto.service.demo import write_demo

COUNT = {"ask": "count()", "epsilon": "0.01"}


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of transactions that stores begin from now on."""
    transaction, begun = SqliteStore._transaction, []

    @contextmanager
    def counting(self: SqliteStore, begin: str) -> Iterator[Any]:
        begun.append(f"{begin} {Path(self.path).name}")
        with transaction(self, begin) as db:
            yield db

    monkeypatch.setattr(SqliteStore, "_transaction", counting)
    return begun


class Asked:
    """A service in this process, asked over HTTP without a socket."""

    def __init__(self, folder: Path) -> None:
        self.app = make_app(read_config(write_demo(folder, rows=50)))
        self.service: Service = self.app.state.service
        self.token = self.service.add_token("ana")["token"]

    def ask(self, **body: Any) -> httpx.Response:
        return asyncio.run(self._ask(COUNT | body))

    async def _ask(self, body: dict[str, Any]) -> httpx.Response:
        way = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=way, base_url="http://x") as client:
            return await client.post(
                "/api/v1/tables/patients/ask",
                json=body,
                headers={"authorization": f"Bearer {self.token}"},
            )


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    out = Asked(tmp_path)
    yield out
    out.service.close()


def test_a_count_takes_two_transactions(asked: Asked, begun: list[str]) -> None:
    assert asked.ask().status_code == 200  # the token is read here
    begun.clear()
    answer = asked.ask(again=1)
    assert answer.status_code == 200
    assert not answer.json()["repeated"]
    assert begun == ["BEGIN IMMEDIATE patients.ledger"] * 2


def test_a_repeated_count_takes_one(asked: Asked, begun: list[str]) -> None:
    first = asked.ask().json()
    begun.clear()
    again = asked.ask().json()
    assert again["repeated"]
    assert again == first | {"repeated": True}
    assert begun == ["BEGIN patients.ledger"]


def test_another_worker_finds_the_answer_in_its_charge(
    asked: Asked, begun: list[str], tmp_path: Path
) -> None:
    first = asked.ask().json()
    asked.service.door._asked.clear()  # as in a worker that was not asked before
    before = asked.service.door.ledgers["patients"].spent()
    begun.clear()
    again = asked.ask().json()
    assert again["repeated"]
    assert again == first | {"repeated": True}
    assert begun == ["BEGIN IMMEDIATE patients.ledger"]
    assert asked.service.door.ledgers["patients"].spent() == before


def test_a_paid_answer_is_given_when_the_table_is_gone(asked: Asked) -> None:
    first = asked.ask().json()
    asked.service.door._asked.clear()
    data = Path(asked.service.config.tables["patients"].data)
    data.rename(data.with_name("aside"))
    again = asked.ask().json()
    assert again["repeated"]
    assert again == first | {"repeated": True}
    assert asked.ask(again=1).status_code != 200


def test_a_revoked_token_ends_at_once_in_every_worker(asked: Asked) -> None:
    assert asked.ask().status_code == 200
    other = Service(asked.service.config)  # another connection to the same state
    try:
        secret = other.state.secrets("ana")[0]
        assert asked.ask(again=1).status_code == 200
        other.state.revoke(secret.id)
        assert asked.ask(again=2).status_code == 401
    finally:
        other.close()


def test_a_token_that_this_worker_revokes_ends_at_once(asked: Asked) -> None:
    assert asked.ask().status_code == 200
    asked.service.state.revoke(asked.service.state.secrets("ana")[0].id)
    assert asked.ask(again=1).status_code == 401


def test_a_person_who_is_sent_away_is_refused_at_once(asked: Asked) -> None:
    assert asked.ask().status_code == 200
    asked.service.state.set_active("ana", active=False)
    assert asked.ask(again=1).status_code == 401
