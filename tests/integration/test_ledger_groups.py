"""Several charges in one transaction: each is made as if it were alone, or not."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from postgres import Postgres

import discreto as dp
from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.ledger import group_commit, transaction
from discreto.core.ledger.group_commit import Group, LedgerJob
from discreto.core.ledger.transaction import LedgerTransaction
from discreto.errors import (
    BudgetError,
    KernelFault,
    LedgerError,
    ParameterError,
)

TENTH = Cost.of("0.1")


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "people.ledger")
    server: Postgres = request.getfixturevalue("postgres")
    return f"{server.url}#t{secrets.token_hex(6)}"


def together(ledger: dp.Ledger, *calls: Callable[[], Any]) -> list[Any]:
    """What calls of several threads find when they share one transaction."""
    jobs: list[LedgerJob[Any]] = []
    run = ledger._group.run
    ledger._group.run = lambda job, commit: jobs.append(job)  # type: ignore[assignment, method-assign]
    try:
        for call in calls:
            call()
    finally:
        ledger._group.run = run  # type: ignore[method-assign]
    ledger._commit(jobs)
    return [job.result if job.error is None else job.error for job in jobs]


def test_a_chain_goes_through_all_that_share_a_transaction(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=3, analysts={"ana": 1})
    first = ledger.charge(TENTH, "alone", key="q")
    found = together(
        ledger,
        lambda: ledger.charge(TENTH, "one"),
        lambda: ledger.keep(first, "[7]"),
        lambda: ledger.charge(TENTH, "two", analyst="ana"),
        lambda: ledger.note("three", {}, "n"),
    )
    assert [one.seq for one in found if isinstance(one, Receipt)] == [2, 3, 4]
    again = dp.Ledger(path)
    assert again.verify() == 4
    assert [entry["hash"] for entry in again.entries()][1] == found[0].hash
    assert (again.spent(), again.spent("ana")) == (TENTH * 3, TENTH)
    assert again.find("q")["answer"] == found[1] == "[7]"  # type: ignore[index]


def test_who_is_refused_leaves_no_trace_on_the_others(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=3, analysts={"ana": 2, "bo": "0.1"})
    ledger.allow("table t", "0.15")
    found = together(
        ledger,
        lambda: ledger.charge(TENTH, "fits", analyst="ana", accounts=("table t",)),
        # Ana and the population could pay for this, but the table could not.
        lambda: ledger.charge(TENTH, "no", analyst="ana", accounts=("table t",)),
        lambda: ledger.charge(TENTH, "nobody", analyst="eve"),
        lambda: ledger.charge(TENTH, "fits, too", analyst="bo"),
        lambda: ledger.charge(TENTH, "no", analyst="bo"),
    )
    kinds = [Receipt, BudgetError, LedgerError, Receipt, BudgetError]
    assert [type(one) for one in found] == kinds
    spent = [ledger.spent(name) for name in ("", "ana", "bo", "table t")]
    assert spent == [TENTH * 2, TENTH, TENTH, TENTH]
    assert ledger.verify() == 3


def test_what_is_left_is_not_spent_twice_in_one_transaction(path: str) -> None:
    ledger = dp.Ledger(path, epsilon="0.35")
    found = together(ledger, *[lambda: ledger.charge(TENTH, "x")] * 6)
    made = [one for one in found if isinstance(one, Receipt)]
    assert [one.seq for one in made] == [1, 2, 3]
    assert all(isinstance(one, BudgetError) for one in found[3:])
    assert ledger.verify() == 3


def test_attempts_under_a_key_are_paid_in_one_transaction_too(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    one, two, three = together(
        ledger,
        lambda: ledger.charge(TENTH, "x", key="q"),
        lambda: ledger.charge(TENTH, "x", key="q"),
        lambda: ledger.charge(TENTH, "y", key="q"),
    )
    assert {(one.seq, one.hash)} == {(two.seq, two.hash)}
    assert sorted((one.attempt, two.attempt)) == [0, 2]
    assert ledger.spent() == TENTH * 2
    assert "another question" in str(three)
    found = together(
        ledger,
        lambda: ledger.keep(one, "first"),
        lambda: ledger.keep(two, "second"),
        lambda: ledger.charge(TENTH, "x", key="q"),
    )
    assert found[:2] == ["first", "first"]
    assert found[2].answer == "first"
    assert ledger.spent() == TENTH * 2
    assert dp.Ledger(path).charge(TENTH, "x", key="q").answer == "first"


def test_answers_need_their_own_entries_in_one_transaction_too(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    plain = ledger.charge(TENTH, "without a key")
    keyed = ledger.charge(TENTH, "with one", key="q")
    forged = Receipt(keyed.seq, "with one", TENTH, plain.hash)
    found = together(
        ledger,
        lambda: ledger.keep(plain, "1"),
        lambda: ledger.keep(forged, "2"),
        lambda: ledger.keep(keyed, "3"),
    )
    assert [isinstance(one, LedgerError) for one in found] == [True, True, False]
    assert ledger.find("q")["answer"] == "3"  # type: ignore[index]
    for text in ("\0", "\ud800", None):
        with pytest.raises(ParameterError):
            ledger.keep(keyed, text)  # type: ignore[arg-type]


def test_a_failure_shuts_the_ledger_for_those_behind_it(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=9)
    paid = ledger.charge(TENTH, "p", key="p")
    together(ledger, lambda: ledger.keep(paid, "[1]"))
    found = together(
        ledger,
        lambda: ledger.charge(TENTH, "before"),
        lambda: ledger.fault("a question"),
        lambda: ledger.charge(TENTH, "after"),
        lambda: ledger.charge(TENTH, "p", key="p"),  # was answered long ago
        lambda: ledger.reopen("looked"),
        lambda: ledger.allow("ana", 1),
        lambda: ledger.charge(TENTH, "again"),
    )
    assert isinstance(found[2], KernelFault)
    assert found[3].answer == "[1]"
    labels = [entry["label"] for entry in ledger.entries()]
    assert labels[1:3] == ["before", "shut: no answer to 'a question'"]
    assert labels[3:] == ["reopened: looked", "allow ana ε 1", "again"]
    assert (ledger.shut, ledger.verify()) == (False, 6)


def test_totals_are_written_in_the_middle_of_a_transaction(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "EVERY", 4)
    ledger = dp.Ledger(path, epsilon=9)
    found = together(ledger, *[lambda: ledger.charge(TENTH, "x")] * 10)
    assert [one.seq for one in found] == [1, 2, 3, 5, 6, 7, 9, 10, 11, 13]
    assert dp.Ledger(path).verify() == 13
    assert ledger.spent() == TENTH * 10


def test_the_anchor_knows_all_of_them_before_anybody_goes_on(tmp_path: Path) -> None:
    anchor = tmp_path / "anchor"
    ledger = dp.Ledger(tmp_path / "l", epsilon=9, anchor=anchor)
    found = together(ledger, *[lambda: ledger.charge(TENTH, "x")] * 3)
    ledger.allow("ana", 1)
    lines = anchor.read_text().split("\n")
    links = [entry["hash"] for entry in ledger.entries()]
    assert [line.split()[2] for line in lines if line] == links
    assert links[:3] == [one.hash for one in found]
    anchor.unlink()
    with pytest.raises(LedgerError, match="anchor"):
        together(ledger, *[lambda: ledger.charge(TENTH, "x")] * 2)


def held(ledger: dp.Ledger, threads: int, work: Callable[[int], Any]) -> Any:
    """Start threads, the first of which commits only when all others are waiting."""
    commits: list[int] = []
    commit = ledger._commit

    def slow(jobs: list[LedgerJob[Any]]) -> None:
        end = time.monotonic() + 300
        while len(ledger._group._waiting) + 1 < threads and not commits:
            assert time.monotonic() < end
            time.sleep(0.001)
        commits.append(len(jobs))
        commit(jobs)

    ledger._commit = slow  # type: ignore[method-assign]
    found: list[Any] = [None] * threads

    def one(place: int) -> None:
        try:
            found[place] = work(place)
        except Exception as error:
            found[place] = error

    running = [threading.Thread(target=one, args=(k,)) for k in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(timeout=300)
    return commits, found


def test_threads_that_come_meanwhile_share_the_next_commit(path: str) -> None:
    ledger = dp.Ledger(path, epsilon="0.5")
    commits, found = held(ledger, 8, lambda k: ledger.charge(TENTH, f"{k}", key=f"{k}"))
    assert commits == [1, 7]
    receipts = [one for one in found if isinstance(one, Receipt)]
    refused = [one for one in found if isinstance(one, BudgetError)]
    assert (len(receipts), len(refused)) == (5, 3)
    assert {one.seq for one in receipts} == set(range(1, 6))
    links = {entry["label"]: entry["hash"] for entry in ledger.entries()}
    assert all(links[one.label] == one.hash for one in receipts)  # to each their own
    assert ledger.verify() == 5


def test_more_than_one_transaction_takes_are_done_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "MOST", 3)
    ledger = dp.Ledger(tmp_path / "l", epsilon=9)
    commits, found = held(ledger, 8, lambda k: ledger.charge(TENTH, f"{k}"))
    assert (commits, sum(isinstance(one, Receipt) for one in found)) == (
        [1, 3, 3, 1],
        8,
    )
    assert ledger.verify() == 8


@pytest.mark.parametrize("when", ["before", "after"])
def test_nobody_goes_on_when_a_transaction_fails(path: str, when: str) -> None:
    """Whether it failed before or after the commit: nothing is released."""
    ledger = dp.Ledger(path, epsilon=9)
    writing = ledger._store.writing

    @contextmanager
    def failing() -> Any:
        with writing() as db:
            yield db
            if when == "before":
                raise OSError("the disk is full")
        raise OSError("the disk is full")

    ledger._store.writing = failing  # type: ignore[method-assign]
    _, found = held(ledger, 4, lambda k: ledger.charge(TENTH, f"{k}", key=f"{k}"))
    kinds = sorted(type(one).__name__ for one in found)  # who led hears the cause
    assert kinds in (["LedgerError"] * 4, ["LedgerError"] * 2 + ["OSError"] * 2)
    assert len({id(one) for one in found}) == 4
    ledger._store.writing = writing  # type: ignore[method-assign]
    made = ledger.verify()
    assert made == (0 if when == "before" else 4)
    # Nothing was read for what was charged, so it pays for one more attempt.
    again = together(ledger, *[lambda: ledger.charge(TENTH, "0", key="0")] * 2)
    assert again[0].hash == again[1].hash
    assert ledger.verify() == max(made, 1) + 1


def test_an_interrupted_leader_lets_the_others_go_on(tmp_path: Path) -> None:
    group, order = Group(), list[str]()
    job: LedgerJob[int] = LedgerJob(lambda now: 1)

    def interrupted(jobs: list[LedgerJob[Any]]) -> None:
        order.append("interrupted")
        raise KeyboardInterrupt

    def commit(jobs: list[LedgerJob[Any]]) -> None:
        order.append("done")
        for one in jobs:
            one.result = 2

    with pytest.raises(KeyboardInterrupt):
        group.run(job, interrupted)
    assert isinstance(job.error, LedgerError)
    group._leader = threading.get_ident()  # before it could step down
    assert group.run(LedgerJob(lambda now: 2), commit) == 2
    assert order == ["interrupted", "done"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_does_not_do_what_its_parent_was_asked(tmp_path: Path) -> None:
    """Charges that wait in the parent while it forks are the parent's."""
    ledger = dp.Ledger(tmp_path / "l", epsilon=9)
    job: LedgerJob[Any] = LedgerJob(
        lambda now: now._append({"label": "theirs", "cost": {}}, None)
    )
    ledger._group._waiting.append(job)
    ledger._group._leader = -1  # another thread
    child = os.fork()
    if child == 0:
        good = ledger.charge(TENTH, "child").seq == 1 and not job.done
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    ledger._group._leader = None
    assert [entry["label"] for entry in ledger.entries()] == ["child"]
    assert ledger._group._waiting == [job]


def test_transactions_read_what_they_need_once(path: str) -> None:
    """However many charges share a transaction, it asks the database as often."""
    ledger = dp.Ledger(path, epsilon=9, analysts={f"a{k}": 1 for k in range(9)})
    ledger.charge(TENTH, "the first one adds up all entries before it")
    counts = []
    writing = ledger._store.writing

    @contextmanager
    def counting() -> Any:
        with writing() as db:
            yield _Counting(db, counts)

    ledger._store.writing = counting  # type: ignore[method-assign]
    asked = []
    for people in (1, 9):
        counts.clear()
        calls = [
            lambda k=k, people=people: ledger.charge(
                TENTH, f"{k}", key=f"{people} {k}", analyst=f"a{k}"
            )
            for k in range(people)
        ]
        together(ledger, *calls)
        asked.append(len(counts))
    assert asked[0] == asked[1]


class _Counting:
    def __init__(self, db: Any, counts: list[str]) -> None:
        self._db, self._counts = db, counts

    def execute(self, sql: str, *values: Any) -> Any:
        self._counts.append(sql)
        return self._db.execute(sql, *values)

    def executemany(self, sql: str, rows: Any) -> Any:
        self._counts.append(sql)
        return self._db.executemany(sql, rows)


def test_a_transaction_is_not_changed_by_what_it_refuses(tmp_path: Path) -> None:
    ledger = dp.Ledger(tmp_path / "l", epsilon=1, analysts={"ana": "0.05"})
    with ledger._store.writing() as db:
        one = LedgerTransaction(db, ledger._facts, ledger._known)
        content = {"label": "x", "cost": {}, "analyst": "ana", "event": {}}
        before = dict(one.rows)
        with pytest.raises(BudgetError):
            one.enter(content, None, TENTH, ("", "ana"))
        assert (one.rows, one._changed, one._entries) == (before, {}, [])
