"""An attempt without a stored answer is paid for; the next one pays again.

Work that was cancelled, died or could not store its answer has read rows. Another run
draws fresh noise, so it is charged before its first row is read. A stored answer stays
free, and so does the repetition of work that ended before it read a row.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.core.charge import Charger, Receipt, Reservation
from discreto.core.cost import Cost
from discreto.core.maps import Values
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.core.steps import steps_for
from discreto.errors import BudgetError, KernelFault, LedgerError
from discreto.table.rows import TableRows
from discreto.testing import simulate

TENTH = Cost.of("0.1")
DOMAIN = dp.Domain({"x": dp.Number(-1, 1)})
COUNT = Sum(Everyone(), (Block(Ones()),))
TOTAL = Sum(Everyone(), (Block(Values(("x",))),))


class Stop(BaseException):
    """Work that is cut off, as by a key or a signal."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture(params=["file", "analyst", "simulation"])
def book(request: pytest.FixtureRequest, path: Path) -> Any:
    if request.param == "simulation":
        return simulate(1)
    ledger = dp.Ledger(path, epsilon=2, analysts={"ana": 2})
    return ledger if request.param == "file" else ledger.analyst("ana")


def spent(book: Any) -> Fraction:
    return Fraction(getattr(book, "ledger", book).spent().epsilon)


def people(book: Charger) -> dp.Table:
    return dp.Table({"x": np.ones(50)}, DOMAIN, book, name="people")


def stopped_in(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Do work that is cut off after it has read rows."""

    def cut(*_: object) -> None:
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(TableRows, "fold", cut)
        with pytest.raises(Stop):
            work()


# Charges


def test_an_attempt_without_an_answer_is_paid_again(book: Any) -> None:
    first = book.charge(TENTH, "a look", {"q": 1}, "k")
    second = book.charge(TENTH, "a look", {"q": 1}, "k")
    third = book.charge(TENTH, "a look", {"q": 1}, "k")
    assert spent(book) == Fraction(3, 10)
    assert {(one.seq, one.hash) for one in (first, second, third)} == {
        (first.seq, first.hash)
    }
    assert book.keep(third, "[3]") == "[3]"
    assert book.keep(first, "[1]") == "[3]"
    assert book.charge(TENTH, "a look", {"q": 1}, "k").answer == "[3]"
    assert spent(book) == Fraction(3, 10)


def test_attempts_are_entries_of_the_chain(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon="0.3", analysts={"ana": 1, "table": 1})
    mine = ledger.analyst("ana", ("table",))
    for _ in range(3):
        mine.charge(TENTH, "a look", {"q": 1}, "k")
    with pytest.raises(BudgetError):
        mine.charge(TENTH, "a look", {"q": 1}, "k")
    entries = dp.Ledger(path).entries()
    assert [entry["label"] for entry in entries] == [
        "a look",
        "attempt 2 at entry 1: a look",
        "attempt 3 at entry 1: a look",
    ]
    assert entries[2]["event"] == {"q": 1, "attempt": 3, "entry": 1}
    for name in ("", "ana", "table"):
        assert ledger.spent(name) == Cost.of("0.3")
    assert ledger.verify() == 3
    assert [key for key, _ in ledger.unanswered()] == ["k"]


def test_attempts_at_one_entry_are_not_those_of_another(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=9)
    for place in range(11):  # entry 1 and entries 10, 11 begin with the same digit
        ledger.charge(TENTH, f"{place}", key=f"k {place}")
    for place in (10, 9, 0):
        again = ledger.charge(TENTH, f"{place}", key=f"k {place}")
        assert ledger.entries()[again.attempt - 1]["event"]["attempt"] == 2


def test_an_attempt_that_read_nothing_is_free_to_repeat(book: Any) -> None:
    for _ in range(3):
        book.unread(book.charge(TENTH, "a look", {}, "k"))
        assert spent(book) == Fraction(1, 10)
    book.charge(TENTH, "a look", {}, "k")  # this one may have read
    assert spent(book) == Fraction(1, 10)
    book.charge(TENTH, "a look", {}, "k")
    assert spent(book) == Fraction(2, 10)


def test_only_the_holder_of_a_receipt_says_that_nothing_was_read(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    paid = ledger.charge(TENTH, "a look", {}, "k")
    with pytest.raises(LedgerError, match="not this receipt's"):
        ledger.unread(Receipt(paid.seq, paid.label, paid.cost, "0" * 64))
    ledger.charge(TENTH, "a look", {}, "k")
    assert spent(ledger) == Fraction(2, 10)


# Questions


def test_a_question_that_was_cut_off_is_charged_again(
    book: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> dp.Release:
        return dp.stats.count(people(book), epsilon="0.1", key="k")

    stopped_in(monkeypatch, ask)
    answer = ask()
    assert spent(book) == Fraction(2, 10)
    assert ask().value == answer.value
    assert spent(book) == Fraction(2, 10)


def test_sums_of_the_gate_that_were_cut_off_are_charged_again(
    book: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> Any:
        return people(book).gate().measure(COUNT, TENTH, "count", key="k")

    stopped_in(monkeypatch, ask)
    tables = ask().tables
    assert spent(book) == Fraction(2, 10)
    assert ask().tables == tables
    assert spent(book) == Fraction(2, 10)


class Failing:
    """A count that fails when it is asked in earnest, before or after its question."""

    label = "a count"

    def __init__(self, *, before: bool) -> None:
        self.before, self.fails = before, True

    def learn(self, ask: Any) -> Any:
        earnest = isinstance(ask, dp.session.session.Session) and isinstance(
            ask._gate.ledger, Reservation
        )
        if earnest and self.before and self.fails:
            raise Stop
        release = dp.stats.Count().learn(ask)
        if earnest and self.fails:
            raise Stop
        return release


@pytest.mark.parametrize(("before", "paid"), [(True, 1), (False, 3)])
def test_work_that_ends_before_its_first_row_is_free_to_repeat(
    path: Path, before: bool, paid: int
) -> None:
    table, statistic = people(dp.Ledger(path, epsilon=1)), Failing(before=before)
    for _ in range(2):
        with pytest.raises(Stop):
            table.answer(statistic, epsilon="0.1", key="k")
    statistic.fails = False
    table.answer(statistic, epsilon="0.1", key="k")
    assert spent(table.ledger) == Fraction(paid, 10)


def test_a_failure_shuts_and_is_charged_again_once_reopened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people(dp.Ledger(path, epsilon=1))

    def full(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(TableRows, "fold", full)
        with pytest.raises(KernelFault):
            dp.stats.count(table, epsilon="0.1", key="k")
    dp.Ledger(path).reopen("more memory")
    dp.stats.count(table, epsilon="0.1", key="k")
    assert spent(table.ledger) == Fraction(2, 10)


def test_an_answer_that_cannot_be_stored_leaves_its_charge(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    writing = ledger._store.writing
    calls: list[int] = []

    def failing() -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise LedgerError("the disk is full.")
        return writing()

    with monkeypatch.context() as patch:
        patch.setattr(ledger._store, "writing", failing)
        with pytest.raises(LedgerError, match="The charge of entry 1 stands"):
            dp.stats.count(people(ledger), epsilon="0.1", key="k")
    dp.stats.count(people(ledger), epsilon="0.1", key="k")
    assert spent(ledger) == Fraction(2, 10)


KILLED = """
import os, signal, sys
import numpy as np
import discreto as dp
from discreto.table.rows import TableRows
if sys.argv[2]:
    TableRows.fold = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
domain = dp.Domain({"x": dp.Number(-1, 1)})
ledger = dp.Ledger(sys.argv[1])
table = dp.Table({"x": np.ones(50)}, domain, ledger, name="people")
print(dp.stats.count(table, epsilon="0.1", key="k").value)
"""


def test_a_process_that_was_killed_is_charged_again(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=1)

    def run(kill: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", KILLED, str(path), kill]
        return subprocess.run(
            words, check=False, text=True, stdout=subprocess.PIPE, env=os.environ
        )

    for number in (1, 2):
        assert run("kill").returncode == -signal.SIGKILL
        assert spent(ledger) == Fraction(number, 10)
    answers = {run("").stdout for _ in range(2)}
    assert len(answers) == 1
    assert spent(ledger) == Fraction(3, 10)


def test_threads_that_ask_the_same_at_once_pay_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, found = dp.Ledger(path, epsilon=1), list[Any]()
    fold = TableRows.fold

    def slow(*words: Any) -> Any:
        time.sleep(0.2)
        return fold(*words)

    monkeypatch.setattr(TableRows, "fold", slow)

    def work() -> None:
        answer = dp.stats.count(people(ledger), epsilon="0.1", key="k")
        found.append(answer.value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found))) == (4, 1)
    assert spent(ledger) == Fraction(1, 10)


# Numbered steps

DELTA = Fraction(1, 10**5)
STEPS = steps_for(1, DELTA, 3)


def trained(path: Path) -> dp.Table:
    return people(dp.Ledger(path, epsilon=9, delta=DELTA))


def charges(table: dp.Table) -> list[str]:
    return [e["label"] for e in table.ledger.entries() if e["cost"]]


def test_a_step_that_was_cut_off_pays_for_another_block(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = trained(path)

    def step(number: int) -> tuple[Any, ...]:
        opened = table.train(STEPS, "run", key="r", first=number)
        return tuple(map(float, opened.measure(TOTAL, "step").tables[0].ravel()))

    step(0)
    stopped_in(monkeypatch, lambda: step(1))
    assert charges(table) == ["run"]
    second = step(1)
    assert charges(table) == ["run", "run, block 2"]
    assert step(1) == second
    # A further block pays for each number once more.
    stopped_in(monkeypatch, lambda: step(2))
    stopped_in(monkeypatch, lambda: step(2))
    assert charges(table) == ["run", "run, block 2"]
    third = step(2)
    assert charges(table) == ["run", "run, block 2", "run, block 3"]
    assert (step(1), step(2)) == (second, third)
    assert len(charges(table)) == 3
    dp.Ledger(path).verify()


def test_opening_a_block_again_is_free(path: Path) -> None:
    table = trained(path)
    for _ in range(3):
        table.train(STEPS, "run", key="r")
    assert charges(table) == ["run"]
