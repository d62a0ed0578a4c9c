"""The rules of the ledger; ``integration/test_ledger_faults.py`` breaks things."""

from __future__ import annotations

import copy
import math
import os
import pickle
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.charge import Receipt
from discreto.core.cost import Cost, rho_of_pure
from discreto.core.ledger.sqlite import refuse_network
from discreto.errors import BudgetError, LedgerError, ParameterError, UnsafeError

TENTH = Cost.of("0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def edit(path: Path, *statements: str) -> None:
    """Change a ledger file by hand."""
    db = sqlite3.connect(path)
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    made = triggers.fetchall()
    for name, _ in made:
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        db.execute(statement)
    for _, sql in made:
        db.execute(sql)
    db.commit()
    db.close()


# Charging and refusing


def test_a_charge_is_an_entry_with_a_receipt() -> None:
    ledger = dp.Ledger(epsilon=3)
    receipt = ledger.charge(Cost.of("0.5"), "a look", {"door": "measure"})
    assert (receipt.seq, receipt.label, receipt.cost) == (1, "a look", Cost.of("0.5"))
    (entry,) = ledger.entries()
    assert entry["hash"] == receipt.hash
    assert entry["event"] == {"door": "measure"}
    assert ledger.spent() == Cost.of("0.5")
    assert ledger.remaining() == 2.5
    assert str(ledger) == "ε 0.5 of 3, 1 entry, chain intact"


def test_a_charge_that_does_not_fit_changes_nothing() -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.charge(Cost.of("0.9"), "first")
    before = ledger.entries()
    with pytest.raises(BudgetError) as error:
        ledger.charge(Cost.of("0.5"), "mean of age")
    assert str(error.value) == (
        "'mean of age' costs ε 0.5, but ε 0.1 of 1 is left. Ask with epsilon <= 0.1."
    )
    assert ledger.entries() == before
    ledger.charge(TENTH, "the very last unit")
    with pytest.raises(BudgetError, match="Nothing is left"):
        ledger.charge(Cost.of("1e-18"), "one more")


@pytest.mark.parametrize("spent", ["1/3", "0.123456789", "2/7", "0.99999951"])
def test_the_advice_of_a_refusal_can_be_followed(spent: str) -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.charge(Cost.of(spent), "first")
    with pytest.raises(BudgetError) as error:
        ledger.charge(Cost.of(1), "too much")
    advice = str(error.value).rsplit("<= ", 1)[1].rstrip(".")
    ledger.charge(Cost.of(advice), "as advised")


def test_a_leak_is_refused() -> None:
    ledger = dp.Ledger(epsilon=3)
    with pytest.raises(UnsafeError, match="simulat"):
        ledger.charge(Cost.leak(), "bounds read from data")
    assert not ledger.entries()


@pytest.mark.parametrize("amount", [0, -1, math.nan, math.inf, "1e999", True, None])
def test_impossible_amounts_are_refused(amount: object) -> None:
    ledger = dp.Ledger(epsilon=3)
    with pytest.raises(ParameterError):
        ledger.charge(Cost.of(amount), "x")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        ledger.allow("ana", amount)  # type: ignore[arg-type]
    if amount is not None:
        with pytest.raises(ParameterError):
            dp.Ledger(epsilon=amount)  # type: ignore[arg-type]
    assert not ledger.entries()


@pytest.mark.parametrize("amount", ["abc", "", "1/0", "1e7", "-inf", "nan", b"1", []])
def test_amounts_that_are_no_amounts_are_refused(amount: object) -> None:
    with pytest.raises(ParameterError):
        Cost.of(amount)  # type: ignore[arg-type]


@pytest.mark.parametrize("amount", [1e-300, 5e-324, "1e-999999999", "1e-18"])
def test_tiny_amounts_are_rounded_up(amount: float | str) -> None:
    ledger = dp.Ledger(epsilon=3)
    ledger.charge(Cost.of(amount), "x")
    assert ledger.spent().epsilon == Fraction(1, 10**18)


@pytest.mark.parametrize(
    "cost",
    [
        {},
        {"epsilon": Fraction(-1)},
        {"epsilon": Fraction(1), "rho": Fraction(-1)},
        {"epsilon": math.nan},
        {"epsilon": 0.1},
        {"epsilon": math.inf},
        {"epsilon": "0.1"},
        {"epsilon": Fraction(10) ** 5000},
    ],
)
def test_costs_made_by_hand_are_checked(cost: dict[str, Fraction]) -> None:
    ledger = dp.Ledger(epsilon=3)
    with pytest.raises(ParameterError):
        ledger.charge(Cost(**cost), "x")
    assert ledger.verify() == 0


def test_an_endless_denominator_is_rounded_up() -> None:
    ledger = dp.Ledger(epsilon=3)
    ledger.charge(Cost(epsilon=Fraction(1, 10**5000)), "x")
    assert ledger.spent().epsilon == Fraction(1, 10**18)
    assert ledger.verify() == 1


def test_tiny_charges_add_up_exactly() -> None:
    ledger = dp.Ledger(epsilon="0.0001")
    for _ in range(1000):
        ledger.charge(Cost.of("1e-7"), "x")
    assert ledger.spent().epsilon == Fraction(1, 10_000)
    with pytest.raises(BudgetError):
        ledger.charge(Cost.of("1e-18"), "one more")
    assert ledger.verify() == 1000


def test_a_hundred_thousand_tiny_costs_add_up_exactly() -> None:
    tiny, total = Cost.of("1e-7"), Cost()
    for _ in range(100_000):
        total = total + tiny
    assert total.epsilon == Fraction(1, 100)
    # A hundred of those sums are 10^7 charges.
    assert sum([total] * 100, Cost()).epsilon == 1


def test_odd_fractions_never_add_up_to_less() -> None:
    costs = [Cost(epsilon=Fraction(1, n)) for n in range(1, 400)]
    ledger = dp.Ledger(epsilon=100)
    for cost in costs:
        ledger.charge(cost, "x")
    exact = sum((cost.epsilon for cost in costs), Fraction(0))
    assert exact <= ledger.spent().epsilon < exact + Fraction(1, 10**15)
    assert ledger.verify() == len(costs)


# Delta and rho


def test_costs_add_up_until_the_first_gaussian_one() -> None:
    ledger = dp.Ledger(epsilon=3, delta="1e-6")
    gauss = Cost.of(1, "1e-7")
    block = Cost(block_epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
    for cost in (Cost.of("0.5"), block, gauss, gauss):
        ledger.charge(cost, "x")
    assert ledger.spent() == gauss + gauss + Cost.of("0.5") + block
    assert ledger.total() == float(ledger.spent().total(Fraction(1, 10**6)))
    assert ledger.total() < 3
    assert "(δ 1e-06)" in str(ledger)
    ledger.charge(Cost.of("0.1"), "pure after")
    assert ledger.spent().epsilon == Fraction(1, 2)
    assert ledger.spent().rho == 2 * gauss.rho + rho_of_pure(Fraction(1, 10))


def test_a_ledger_without_delta_refuses_rho_and_blocks() -> None:
    ledger = dp.Ledger(epsilon=3)
    for cost in (
        Cost.of(1, "1e-6"),
        Cost(block_epsilon=Fraction(1), delta=Fraction(1, 9)),
    ):
        with pytest.raises(BudgetError, match="delta"):
            ledger.charge(cost, "x")
    assert not ledger.entries()


def test_delta_cannot_be_used_up_under_rho() -> None:
    ledger = dp.Ledger(epsilon=3, delta="1e-6")
    ledger.charge(Cost.of(1, "1e-7"), "gauss")
    block = Cost(block_epsilon=Fraction(1, 10), delta=Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="more delta"):
        ledger.charge(block, "block")


# Analysts


def test_a_charge_falls_on_the_analyst_and_the_population() -> None:
    ledger = dp.Ledger(epsilon=1, analysts={"ana": "0.3", "bo": 1})
    ana, bo = ledger.analyst("ana"), ledger.analyst("bo")
    ana.charge(Cost.of("0.2"), "x")
    assert ledger.spent("ana") == ledger.spent() == Cost.of("0.2")
    with pytest.raises(BudgetError, match=r"ε 0\.1 of 0\.3 is left for analyst 'ana'"):
        ana.charge(Cost.of("0.2"), "x")
    bo.charge(Cost.of("0.75"), "x")
    assert ana.remaining() == 0.05
    with pytest.raises(BudgetError, match=r"ε 0.05 of 1 is left\. "):
        ana.charge(TENTH, "ana has it, the population has not")
    assert ledger.spent("ana") == Cost.of("0.2")
    assert ledger.verify() == 2


def test_analysts_are_added_and_changed_by_entries(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=2)
    with pytest.raises(LedgerError, match=r"ledger\.allow\('ana', epsilon\)"):
        ledger.analyst("ana")
    ledger.allow("ana", "0.1")
    ana = ledger.analyst("ana")
    ana.charge(TENTH, "x")
    with pytest.raises(BudgetError):
        ana.charge(TENTH, "x")
    ledger.allow("ana", 1)
    ana.charge(TENTH, "x")
    ledger.allow("", 3)
    again = dp.Ledger(path)
    assert again.epsilon == 3
    assert again.spent("ana") == Cost.of("0.2")
    assert again.verify() == 5


def test_a_limit_below_what_is_spent_refuses_the_rest() -> None:
    ledger = dp.Ledger(epsilon=2)
    ledger.charge(Cost.of(1), "x")
    ledger.allow("", "0.5")
    assert ledger.remaining() == 0
    with pytest.raises(BudgetError, match="Nothing is left"):
        ledger.charge(Cost.of("1e-18"), "x")
    assert ledger.verify() == 2


@pytest.mark.parametrize("name", ["", 5, None, "x" * 201, "\ud800", b"ana"])
def test_names_of_analysts_are_checked(name: object) -> None:
    with pytest.raises(ParameterError):
        dp.Ledger(epsilon=1, analysts={name: 1})  # type: ignore[dict-item]
    ledger = dp.Ledger(epsilon=1, analysts={"5": 1})
    with pytest.raises(ParameterError):
        ledger.analyst(name)  # type: ignore[arg-type]
    if name != "":  # the population itself
        with pytest.raises(ParameterError):
            ledger.charge(TENTH, "x", analyst=name)  # type: ignore[arg-type]
        with pytest.raises(ParameterError):
            ledger.allow(name, 1)  # type: ignore[arg-type]
    assert ledger.verify() == 0


# Idempotency keys and stored answers


def test_the_same_key_and_content_are_one_charge(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    first = ledger.charge(TENTH, "x", {"b": [1, 2], "a": None}, key="k")
    assert ledger.keep(first, "the answer") == "the answer"
    assert ledger.keep(first, "another answer") == "the answer"
    again = dp.Ledger(path).charge(TENTH, "x", {"a": None, "b": (1, 2)}, key="k")
    assert (again.seq, again.hash, again.answer) == (1, first.hash, "the answer")
    assert ledger.spent() == TENTH
    assert ledger.charge(TENTH, "x", {"b": [1, 2], "a": None}, "k").answer == (
        "the answer"
    )
    assert ledger.verify() == 1


@pytest.mark.parametrize(
    ("cost", "label", "event", "analyst"),
    [
        (Cost.of("0.2"), "x", {}, ""),
        (TENTH, "y", {}, ""),
        (TENTH, "x", {"q": 1}, ""),
        (TENTH, "x", {}, "ana"),
    ],
)
def test_the_same_key_with_other_content_is_refused(
    cost: Cost, label: str, event: dict[str, object], analyst: str
) -> None:
    ledger = dp.Ledger(epsilon=1, analysts={"ana": 1})
    ledger.charge(TENTH, "x", {}, "k")
    with pytest.raises(LedgerError, match="another question"):
        ledger.charge(cost, label, event, "k", analyst)
    assert ledger.spent() == TENTH


def test_a_repeated_charge_needs_no_budget() -> None:
    ledger = dp.Ledger(epsilon=1)
    first = ledger.charge(Cost.of(1), "x", key="k")
    ledger.keep(first, "the answer")
    assert ledger.charge(Cost.of(1), "x", key="k").answer == "the answer"


@pytest.mark.parametrize("key", ["", 5, b"k", "\ud800", "x" * 201, 1.5])
def test_keys_are_checked(key: object) -> None:
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match="a key"):
        ledger.charge(TENTH, "x", key=key)  # type: ignore[arg-type]
    assert ledger.verify() == 0


def test_an_answer_needs_its_own_entry() -> None:
    ledger = dp.Ledger(epsilon=1)
    plain, keyed = ledger.charge(TENTH, "x"), ledger.charge(TENTH, "x", key="k")
    forged = [
        plain,
        Receipt(3, "x", TENTH, keyed.hash),
        Receipt(2, "x", TENTH, plain.hash),
    ]
    for receipt in forged:
        with pytest.raises(LedgerError, match="cannot be stored"):
            ledger.keep(receipt, "poison")
    assert ledger.charge(TENTH, "x", key="k").answer is None


def test_a_table_answers_a_repeated_request_from_the_store(path: Path) -> None:
    domain = dp.Domain({"age": dp.Number(0, 120)})
    ledger = dp.Ledger(path, epsilon=1)
    table = dp.Table({"age": [40, 50, 60]}, domain, ledger, name="people")
    first = dp.stats.count(table, epsilon="0.5", key="k")
    other = dp.Table({"age": [1] * 1000}, domain, dp.Ledger(path), name="people")
    again = dp.stats.count(other, epsilon="0.5", key="k")
    assert again.value == first.value
    assert ledger.spent() == Cost.of("0.5")


# What goes into an entry


@pytest.mark.parametrize(
    "event", [{"allow": "1000"}, {"seq": 9}, {"cost": {}}, {"x": "\ud800 é"}, {1: 2}]
)
def test_events_cannot_play_entries(event: dict[str, object]) -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.charge(TENTH, "x", event)
    assert ledger.verify() == 1
    assert ledger.epsilon == 1
    assert ledger.spent() == TENTH


@pytest.mark.parametrize("event", [{"x": object()}, {"x": {1}}, {"x": b"", "y": 1}])
def test_events_that_are_no_json_are_refused(event: dict[str, object]) -> None:
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match="JSON"):
        ledger.charge(TENTH, "x", event)
    assert ledger.verify() == 0


@pytest.mark.parametrize("label", ["", "\ud800", "é\n\0", "'; DROP TABLE entry", 7])
def test_any_label_will_do(label: str) -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.charge(TENTH, label)
    assert ledger.verify() == 1
    assert ledger.entries()[0]["label"] == str(label)


# Reservations


def test_a_reservation_is_paid_at_once_and_never_overdrawn() -> None:
    ledger = dp.Ledger(epsilon=1, analysts={"ana": "0.4"})
    plan = ledger.reserve(Cost.of("0.3"), "a fit")
    assert ledger.spent() == Cost.of("0.3")
    plan.charge(Cost.of("0.2"), "step 1", {})
    with pytest.raises(BudgetError, match="reserved"):
        plan.charge(Cost.of("0.2"), "step 2", {})
    plan.charge(TENTH, "step 2", {})
    assert copy.deepcopy(plan) is plan
    with pytest.raises(BudgetError):
        ledger.analyst("ana").reserve(Cost.of("0.5"), "another fit")
    ledger.analyst("ana").reserve(Cost.of("0.4"), "another fit")
    assert ledger.spent() == Cost.of("0.7")
    assert ledger.verify() == 2


# Copies


def test_copies_share_the_budget(path: Path) -> None:
    for ledger in (dp.Ledger(epsilon=1), dp.Ledger(path, epsilon=1)):
        assert copy.copy(ledger) is ledger
        assert copy.deepcopy({"ledger": ledger})["ledger"] is ledger
    ana = copy.deepcopy(dp.Ledger(epsilon=1, analysts={"a": 1}).analyst("a"))
    ana.charge(TENTH, "x")
    assert ana.ledger.spent() == TENTH


def test_a_pickled_ledger_is_the_same_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = dp.Ledger(path.name, epsilon=1, anchor="anchor", timeout=7)
    text = pickle.dumps(ledger)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    pickle.loads(text).charge(TENTH, "x")
    ledger.charge(TENTH, "x")
    assert ledger.spent() == Cost.of("0.2")
    assert ledger.verify() == 2
    assert os.listdir() == []


def test_a_pickle_does_not_open_another_ledger(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=1)
    text = pickle.dumps(ledger)
    del ledger
    path.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        pickle.loads(text)
    dp.Ledger(path, epsilon=1)
    with pytest.raises(LedgerError, match="another ledger"):
        pickle.loads(text)


def test_some_ledgers_are_not_pickled(path: Path) -> None:
    with pytest.raises(UnsafeError, match="in memory"):
        pickle.dumps(dp.Ledger(epsilon=1))
    with pytest.raises(UnsafeError, match="key"):
        pickle.dumps(dp.Ledger(path, epsilon=1, key=b"secret"))


# Opening


def test_a_ledger_is_found_again(path: Path) -> None:
    dp.Ledger(path, epsilon=3, delta="1e-6", population="p").charge(TENTH, "x")
    again = dp.Ledger(str(path), epsilon="3.0", delta=1e-6, population="p")
    assert again.spent() == TENTH
    assert dp.Ledger(path).population == "p"
    again.charge(TENTH, "x")
    assert dp.Ledger(path).verify() == 2


@pytest.mark.parametrize("name", ["a b", "50%20?x#y", "ünï", "file:x", "-"])
def test_file_names_may_be_odd(tmp_path: Path, name: str) -> None:
    dp.Ledger(tmp_path / name, epsilon=1).charge(TENTH, "x")
    assert dp.Ledger(tmp_path / name).spent() == TENTH
    assert os.listdir(tmp_path) == [name]


def test_a_ledger_stays_where_it_was_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    ledger = dp.Ledger(path.name, epsilon=1)
    monkeypatch.chdir("/")
    ledger.charge(TENTH, "x")
    assert dp.Ledger(path).spent() == TENTH


def test_a_symbolic_link_is_the_same_ledger(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon="0.2")
    link = path.with_name("link")
    link.symlink_to(path)
    other = dp.Ledger(link)
    ledger.charge(TENTH, "x")
    other.charge(TENTH, "x")
    with pytest.raises(BudgetError):
        ledger.charge(TENTH, "x")


def test_a_hard_link_is_refused(path: Path) -> None:
    dp.Ledger(path, epsilon=1)
    other = path.with_name("other")
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(LedgerError, match="second name"):
            dp.Ledger(name)
    other.unlink()
    assert dp.Ledger(path).verify() == 0


def test_opening_with_other_facts_is_refused(path: Path) -> None:
    dp.Ledger(path, epsilon=3, population="p", analysts={"ana": 1})
    with pytest.raises(LedgerError, match="has epsilon 3, not 4"):
        dp.Ledger(path, epsilon=4)
    with pytest.raises(LedgerError, match=r"has delta 0, not 0\.1"):
        dp.Ledger(path, delta="0.1")
    with pytest.raises(LedgerError, match="population 'p', not of 'q'"):
        dp.Ledger(path, population="q")
    with pytest.raises(LedgerError, match=r"'ana' .* has another budget"):
        dp.Ledger(path, analysts={"ana": 2})
    with pytest.raises(LedgerError, match="no analyst 'bo'"):
        dp.Ledger(path, analysts={"bo": 2})
    dp.Ledger(path, epsilon=3, delta=0, population="p", analysts={"ana": 1})


def test_another_version_is_refused(path: Path) -> None:
    dp.Ledger(path, epsilon=3)
    edit(path, "UPDATE meta SET value = '99' WHERE name = 'version'")
    with pytest.raises(LedgerError, match=r"another version .*format 99"):
        dp.Ledger(path)


def test_a_ledger_that_does_not_exist_is_not_made_by_chance(path: Path) -> None:
    with pytest.raises(LedgerError, match=r"there is no ledger .*epsilon=3"):
        dp.Ledger(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"hello\n" * 1000, b"SQLite format 3\0" * 99])
def test_other_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for epsilon in (None, 3):
        with pytest.raises(LedgerError, match="restore it"):
            dp.Ledger(path, epsilon=epsilon)
    assert path.read_bytes() == content


def test_another_database_is_refused(path: Path) -> None:
    edit(path, "CREATE TABLE t(x)")
    with pytest.raises(LedgerError, match="not a ledger"):
        dp.Ledger(path, epsilon=3)


def test_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="folder exist and be writable"):
        dp.Ledger(tmp_path / "no" / "such" / "folder", epsilon=3)
    with pytest.raises(LedgerError, match="no file"):
        dp.Ledger(tmp_path, epsilon=3)


def test_the_anchor_is_another_file(path: Path) -> None:
    with pytest.raises(ParameterError, match="another file"):
        dp.Ledger(path, epsilon=3, anchor=path)


@pytest.mark.parametrize("key", [b"", "secret", 5])
def test_chain_keys_are_checked(key: object) -> None:
    with pytest.raises(ParameterError, match="bytes"):
        dp.Ledger(epsilon=3, key=key)  # type: ignore[arg-type]


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "my share"
    (folder / "local").mkdir(parents=True)
    mounts = tmp_path / "mounts"
    point = str(folder.resolve()).replace(" ", "\\040")
    mounts.write_text(
        f"/dev/sda / ext4 rw 0 0\nserver:/x {point} nfs4 rw 0 0\n"
        f"/dev/sdb {point}/local ext4 rw 0 0\n"
    )
    with pytest.raises(LedgerError, match="network file system"):
        refuse_network(str(folder / "x.ledger"), str(mounts))
    refuse_network(str(folder / "local" / "x.ledger"), str(mounts))
    refuse_network(str(tmp_path / "x.ledger"), str(mounts))
    refuse_network(str(tmp_path / "x.ledger"), str(tmp_path / "no mounts"))


def test_a_pure_question_is_refused_for_the_reason_that_holds() -> None:
    """No Gaussian question was asked of a ledger that counts all of them so."""
    ledger = dp.Ledger(epsilon=1, delta="1e-6", pure=0)
    with pytest.raises(BudgetError, match="made with pure=0") as caught:
        ledger.charge(Cost.of(1), "a look")
    assert "were asked" not in str(caught.value)
    part = dp.Ledger(epsilon=1, delta="1e-6", pure="0.1")
    with pytest.raises(BudgetError, match=r"sets aside \(pure=0.1\) is too little"):
        part.charge(Cost.of("0.9"), "a look")
    mixed = dp.Ledger(epsilon=1, delta="1e-6")
    mixed.charge(Cost(rho=Fraction(1, 1000)), "a look")
    with pytest.raises(BudgetError, match="Gaussian questions were asked"):
        mixed.charge(Cost.of("0.9"), "a look")
