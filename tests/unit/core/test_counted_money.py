"""No part of a cost is lost on its way: added up, covered, counted late, written."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import discreto as dp
from discreto.core.charge import Receipt, Reservation
from discreto.core.cost import Budget, Cost, rho_of_pure
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.errors import BudgetError, KernelFault, LedgerError
from discreto.service.payer import ServedTable

PARTS = ("epsilon", "rho", "block_epsilon", "delta")
TENTH, DELTA = Fraction(1, 10), Fraction(1, 10**5)


def alone(part: str, amount: Fraction = TENTH) -> Cost:
    """A cost of which one part is not 0."""
    return Cost(**{part: amount})


@pytest.mark.parametrize(("first", "second"), list(product(PARTS, PARTS)))
def test_every_part_adds_up_beside_every_other(first: str, second: str) -> None:
    total = alone(first) + alone(second)
    expected = [TENTH * (part == first) + TENTH * (part == second) for part in PARTS]
    assert list(total.parts()) == expected


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_something(part: str) -> None:
    assert alone(part)
    assert alone(part) * Fraction(1, 3)


@pytest.mark.parametrize("part", PARTS)
def test_a_reservation_covers_every_part_by_itself(part: str) -> None:
    rest = dict.fromkeys(PARTS, Fraction(1)) | {part: TENTH}
    paid = Reservation(dp.Ledger(epsilon=1), Receipt(1, "plan", Cost(**rest), ""))
    with pytest.raises(BudgetError):
        paid.charge(alone(part, TENTH + Fraction(1, 10**9)), "too much")
    paid.charge(alone(part), "as much as there is")
    with pytest.raises(BudgetError):
        paid.charge(alone(part, Fraction(1, 10**9)), "more")


def test_a_share_of_a_leak_is_a_leak() -> None:
    assert (Cost.leak() * Fraction(1, 1000)).infinite


# Late charges: after a Gaussian one, or beyond what was set aside


def test_a_late_cost_counts_with_all_of_its_parts() -> None:
    budget = Budget(Fraction(9), DELTA, TENTH, DELTA / 2)
    spent = budget.charge(Cost(), Cost(rho=Fraction(1, 1000)))
    late = Cost(
        epsilon=Fraction(1, 5),
        rho=Fraction(1, 500),
        block_epsilon=Fraction(1, 4),
        delta=DELTA / 4,
    )
    gauss = rho_of_pure(Fraction(1, 5)) + rho_of_pure(Fraction(1, 4))
    assert budget.charge(spent, late) == Cost(
        rho=Fraction(3, 1000) + gauss, delta=DELTA / 4
    )
    block = Cost(block_epsilon=Fraction(1, 4), delta=DELTA / 4)
    once = budget.charge(spent, block)
    assert once.rho == Fraction(1, 1000) + rho_of_pure(Fraction(1, 4))
    twice = budget.charge(once, block)
    assert twice.delta == DELTA / 2
    assert budget.charge(twice, block) is None  # no delta is left for a third


def test_what_was_set_aside_is_used_up() -> None:
    budget = Budget(Fraction(9), DELTA, TENTH, DELTA / 2)
    spent = budget.charge(Cost(), Cost(epsilon=TENTH))
    assert spent == Cost(epsilon=TENTH)
    more = budget.charge(spent, Cost(epsilon=TENTH / 2))
    assert more == Cost(epsilon=TENTH, rho=rho_of_pure(TENTH / 2))


def test_a_late_leak_stays_a_leak() -> None:
    budget = Budget(Fraction(9), DELTA)
    spent = budget.charge(Cost(), Cost(rho=Fraction(1, 1000)))
    leak = Cost(epsilon=TENTH, infinite=True)
    assert budget.counted(spent, leak).infinite
    assert budget.charge(spent, leak) is None


def test_no_block_comes_after_a_gaussian_charge_however_small() -> None:
    budget = Budget(Fraction(9), DELTA)
    spent = budget.charge(Cost(), Cost(block_epsilon=TENTH, delta=DELTA / 2))
    spent = budget.charge(spent, Cost(rho=Fraction(1, 1000)))
    assert budget.charge(spent, Cost(block_epsilon=TENTH, delta=DELTA / 4)) is None


def test_no_part_set_aside_may_be_overdrawn() -> None:
    budget = Budget(Fraction(9), DELTA, Fraction(1), DELTA / 2)
    assert budget.fits(Cost(epsilon=Fraction(1), delta=DELTA / 2))
    assert not budget.fits(Cost(epsilon=Fraction(1), block_epsilon=TENTH))
    assert not budget.fits(Cost(delta=DELTA * Fraction(3, 4)))
    assert budget.total(Cost(delta=DELTA * 2)) == float("inf")


# Ledgers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


def test_further_accounts_pay_and_are_verified(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=3, analysts={"ana": 1})
    ledger.allow("table t", 1)
    ana = ledger.analyst("ana", ("table t",))
    ana.charge(Cost.of(TENTH), "a look")
    ana.reserve(Cost.of(TENTH), "a plan")
    names = ("", "ana", "table t")
    assert [ledger.spent(name) for name in names] == [Cost.of(TENTH) * 2] * 3
    assert ledger.verify() == 3


def test_a_key_stands_for_its_accounts(path: Path) -> None:
    ledger = dp.Ledger(path, epsilon=3, analysts={"ana": 1})
    ledger.allow("table t", 1)
    ledger.charge(Cost.of(TENTH), "q", key="k", analyst="ana", accounts=("table t",))
    with pytest.raises(LedgerError, match="another question"):
        ledger.charge(Cost.of(TENTH), "q", key="k", analyst="ana")
    with pytest.raises(LedgerError, match="another question"):
        ledger.charge(Cost.of(TENTH), "q", key="k")


def test_paid_work_without_an_answer_waits_for_the_owner_too() -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.charge(Cost.of(TENTH), "q", key="k")
    ledger.fault("q")
    with pytest.raises(KernelFault, match="is shut"):
        ledger.charge(Cost.of(TENTH), "q", key="k")
    ledger.reopen("looked into")
    assert ledger.charge(Cost.of(TENTH), "q", key="k").seq == 1


def test_a_note_is_not_unanswered_work() -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.note("used", {}, "n")
    ledger.charge(Cost.of(TENTH), "q", key="k")
    assert [key for key, _ in ledger.unanswered()] == ["k"]


def test_only_the_population_has_parts_set_aside() -> None:
    ledger = dp.Ledger(epsilon=3, delta=DELTA, pure=1, analysts={"ana": 1})
    ana = ledger.analyst("ana")
    ana.charge(Cost.of("0.9", DELTA), "all that ana has")
    assert 0.89 < ledger.total("ana") <= 0.9


def test_a_smaller_budget_than_that_of_the_file_is_refused_too(path: Path) -> None:
    dp.Ledger(path, epsilon=3, delta=DELTA, analysts={"ana": 2})
    for other in (
        {"epsilon": 2},
        {"delta": DELTA / 2},
        {"pure": 1},
        {"analysts": {"ana": 1}},
        {"population": "people"},  # the file names none
    ):
        with pytest.raises(LedgerError):
            dp.Ledger(path, **other)


def test_an_account_that_no_entry_made_is_noticed(path: Path) -> None:
    dp.Ledger(path, epsilon=3).close()
    db = sqlite3.connect(path)
    db.create_function("discreto_writes", 0, lambda: 1)  # as somebody could
    db.execute("INSERT INTO account VALUES('eve', '5', '{}')")
    db.commit()
    db.close()
    with pytest.raises(LedgerError, match="do not follow"):
        dp.Ledger(path)


def test_totals_of_an_old_version_do_not_undo_a_charge_made_meanwhile() -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.charge(Cost.of(TENTH), "made while totals were worked out")
    ledger._bring_up(0, {"": "{}"})
    assert ledger.spent() == Cost.of(TENTH)


def test_a_watched_table_spends_a_reservation_once() -> None:
    domain = dp.Domain({"x": dp.Number(0, 1)})
    table = ServedTable({"x": [0.5]}, domain, dp.Ledger(epsilon=3))
    seen: list[int] = []
    watched = table.watched(lambda: seen.append(1))
    paid = watched.reserve(Cost.of(1), "plan")
    count = Sum(Everyone(), (Block(Ones()),))
    watched.gate(paid).measure(count, Cost.of(1), "all of it")
    with pytest.raises(BudgetError):
        watched.gate(paid).measure(count, Cost.of(TENTH), "more")
    assert len(seen) == 2
