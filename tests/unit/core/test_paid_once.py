"""What was paid is spent once: copies, processes and power failures change nothing."""

from __future__ import annotations

import copy
import pickle

import pytest

from discreto import Ledger
from discreto.core.charge import Reservation
from discreto.core.cost import Cost
from discreto.errors import BudgetError, UnsafeError


def test_copies_of_a_reservation_share_what_is_left(tmp_path):
    paid = Ledger(tmp_path / "people.ledger", epsilon=1).reserve(Cost.of(1), "plan")
    paid.charge(Cost.of("0.9"), "first")
    for other in (copy.copy(paid), copy.deepcopy(paid), copy.deepcopy([paid])[0]):
        assert isinstance(other, Reservation)
        with pytest.raises(BudgetError):
            other.charge(Cost.of("0.2"), "second")
    with pytest.raises(UnsafeError):
        pickle.dumps(paid)


def test_a_charge_is_on_the_disk_before_anything_is_released(tmp_path):
    ledger = Ledger(tmp_path / "people.ledger", epsilon=1)
    with ledger._store.writing() as db:
        # 2 is FULL: a commit waits for the disk. Less could take a charge back.
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
