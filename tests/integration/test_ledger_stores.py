"""One suite for every store under a ledger: the same rules, whatever keeps the rows."""

from __future__ import annotations

import copy
import pickle
import secrets
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from postgres import Postgres

import discreto as dp
from discreto.core.cost import Cost
from discreto.errors import BudgetError, KernelFault, LedgerError, ParameterError

TENTH = Cost.of("0.1")
DOMAIN = dp.Domain({"age": dp.Number(0, 120)})


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "people.ledger")
    server: Postgres = request.getfixturevalue("postgres")
    return f"{server.url}#t{secrets.token_hex(6)}"


def test_a_charge_is_there_for_whoever_opens_it_next(path: str) -> None:
    first = dp.Ledger(path, epsilon=3, delta="1e-6", population="patients")
    receipt = first.charge(Cost.of("1/3"), "a look", {"door": "measure"})
    second = dp.Ledger(path, population="patients")
    assert second.id == first.id
    assert second.spent() == Cost(epsilon=Fraction(1, 3))
    (entry,) = second.entries()
    assert (entry["hash"], entry["event"]) == (receipt.hash, {"door": "measure"})
    assert second.verify() == 1
    assert second.delta == Fraction(1, 10**6)


def test_both_stores_make_the_same_chain(path: str, tmp_path: Path) -> None:
    """An entry's hash depends on what it says and on the entry before, on nothing
    else: a chain can be checked without knowing where it was kept."""
    ledger = dp.Ledger(path, epsilon=3, key=b"secret")
    for place in range(3):
        ledger.charge(TENTH, f"charge {place}", key=f"key {place}")
    before = ledger._meta["seal"]
    with ledger._store.reading() as db:
        rows = db.execute("SELECT * FROM entry ORDER BY seq").fetchall()
    for _, body, key, link in rows:
        assert link == ledger._chain.link(before, body, key)
        before = link


def test_what_does_not_fit_changes_nothing(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1, analysts={"ana": "0.2"})
    ledger.charge(TENTH, "first", analyst="ana")
    before = ledger.entries()
    with pytest.raises(BudgetError, match="for analyst 'ana'"):
        ledger.charge(Cost.of("0.2"), "second", analyst="ana")
    with pytest.raises(BudgetError):
        ledger.charge(Cost.of(1), "third")
    with pytest.raises(LedgerError, match="no analyst"):
        ledger.charge(TENTH, "fourth", analyst="bob")
    assert ledger.entries() == before
    assert ledger.spent("ana") == TENTH


def test_a_key_is_one_charge_and_one_answer(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    first = ledger.charge(TENTH, "x", key="q")
    assert ledger.keep(first, "one") == "one"
    assert ledger.keep(first, "two") == "one"
    again = dp.Ledger(path).charge(TENTH, "x", key="q")
    assert (again.seq, again.answer) == (first.seq, "one")
    with pytest.raises(LedgerError, match="another question"):
        ledger.charge(TENTH, "y", key="q")
    assert ledger.spent() == TENTH


def test_a_note_is_an_entry_that_costs_nothing(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    ledger.note("a request", {"ε": "2"}, "request 1")
    assert ledger.verify() == 1
    assert not ledger.spent()


def test_limits_are_changed_by_entries(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    ledger.allow("ana", "0.5")
    ledger.allow("", 2)
    found = dp.Ledger(path)
    assert (found.limit("ana"), found.epsilon) == (Fraction(1, 2), 2)
    assert found.verify() == 2


def test_a_failure_shuts_it_until_the_owner_has_looked(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    ledger.fault("mean of age")
    with pytest.raises(KernelFault, match="shut"):
        ledger.charge(TENTH, "x")
    assert dp.Ledger(path).shut
    ledger.reopen("a full disk")
    ledger.charge(TENTH, "x")
    assert (ledger.faults, ledger.shut) == (1, False)


def test_copies_and_pickles_share_the_budget(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    assert copy.deepcopy(ledger) is ledger
    pickle.loads(pickle.dumps(ledger)).charge(TENTH, "x")
    assert ledger.spent() == TENTH


def test_a_closed_ledger_refuses(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.charge(TENTH, "x")
    assert dp.Ledger(path).verify() == 0


def test_another_budget_or_population_is_refused(path: str) -> None:
    dp.Ledger(path, epsilon=1, population="patients")
    for options in ({"epsilon": 2}, {"population": "staff"}, {"delta": "1e-6"}):
        with pytest.raises(LedgerError):
            dp.Ledger(path, **options)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="key is another one"):
        dp.Ledger(path, key=b"secret")


def test_it_is_not_made_by_chance(path: str) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        dp.Ledger(path)


def test_odd_texts_are_kept(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    for text in ("ε ≤ ½", "'; DROP TABLE entry; --", "%s ? ?", "🜁", "a\nb"):
        ledger.charge(Cost.of("0.01"), text, {"text": text}, key=text)
        assert ledger.entries()[-1]["label"] == text
    with pytest.raises(ParameterError):
        ledger.charge(TENTH, "x", key="a\0b")
    assert dp.Ledger(path).verify() == 5


def test_threads_race_for_the_last_units(path: str) -> None:
    names = "abcd"
    dp.Ledger(path, epsilon="0.2", analysts=dict.fromkeys(names, "0.07"))
    released: list[int] = []

    def work(name: str) -> None:
        ledger = dp.Ledger(path)  # a connection of its own
        table = dp.Table({"age": [40, 50]}, DOMAIN, ledger.analyst(name))
        for _ in range(12):
            try:
                release = dp.stats.count(table, epsilon="0.01")
            except BudgetError:
                continue
            assert release.receipt is not None
            released.append(release.receipt.seq)
        ledger.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = dp.Ledger(path)
    assert sorted(released) == list(range(1, 21))
    assert ledger.verify() == 20
    assert all(ledger.spent(name).epsilon * 100 <= 7 for name in names)


def test_a_restored_backup_is_caught_by_the_anchor(path: str, tmp_path: Path) -> None:
    anchor = tmp_path / "anchor"
    ledger = dp.Ledger(path, epsilon=1, anchor=anchor)
    ledger.charge(TENTH, "x")
    anchor.write_text(f"{ledger.id} 2 {'0' * 64}\n")  # it knows of one entry more
    with pytest.raises(LedgerError, match="a backup was restored"):
        dp.Ledger(path, anchor=anchor)


def test_a_charge_falls_on_every_account_that_is_named(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1, analysts={"ana": 1})
    ledger.allow("table patients", "0.15")
    ana = ledger.analyst("ana", ("table patients",))
    ana.charge(TENTH, "first")
    assert ana.remaining() == pytest.approx(0.05)
    with pytest.raises(BudgetError, match="'table patients'"):
        ana.charge(TENTH, "second")
    names = ("", "ana", "table patients")
    assert [ledger.spent(name) for name in names] == [TENTH] * 3
    assert dp.Ledger(path).verify() == 2
    with pytest.raises(LedgerError, match="no analyst 'table staff'"):
        ledger.analyst("ana", ("table staff",))


def test_an_entry_is_found_by_its_key(path: str) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    first = ledger.charge(TENTH, "x", key="one")
    ledger.charge(TENTH, "y", key="two")
    ledger.note("z", {}, "three")
    ledger.keep(first, "[1]")
    entry = ledger.find("one")
    assert entry is not None
    assert (entry["seq"], entry["label"], entry["answer"]) == (1, "x", "[1]")
    assert ledger.find("four") is None
    assert [key for key, _ in ledger.unanswered()] == ["two"]
    assert [entry["seq"] for entry in ledger.entries(last=2)] == [2, 3]
