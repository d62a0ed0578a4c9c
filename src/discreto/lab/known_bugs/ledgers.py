"""Planted bugs about paying. The first of each pair is wrong."""

from __future__ import annotations

import copy
from typing import Any

from discreto.audit.neighbours import Data
from discreto.audit.recorder import Recorder
from discreto.core.cost import Cost, total_of
from discreto.lab.known_bugs._rows import PEOPLE, numbers
from discreto.lab.known_bugs.planted_bug import PlantedBug


def _charge_after(data: Data, recorder: Recorder) -> Any:
    out = recorder.noise("count", len(data["x"]), sensitivity=1, epsilon=1)
    recorder.pay(1)
    return out


def _charge_before(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    return recorder.noise("count", len(data["x"]), sensitivity=1, epsilon=1)


class Account:
    """Keeps what is spent in itself, so a copy of it starts a life of its own."""

    def __init__(self) -> None:
        self.spent: list[Cost] = []

    def charge(self, epsilon: Any) -> None:
        """Write down a cost."""
        self.spent.append(Cost.of(epsilon))


class Counter:
    """An estimator of how many rows there are, with a ledger as a parameter."""

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger

    def fit(self, data: Data, recorder: Recorder) -> float:
        """Charge the ledger, then count."""
        self.ledger.charge("1/3")
        x = numbers(data)
        return recorder.noise("count", len(x), sensitivity=1, epsilon="1/3")


def _cloned_ledger(data: Data, recorder: Recorder) -> Any:
    """Cross-validation clones the estimator, and its account with it."""
    account = Account()
    model = Counter(account)
    out = [copy.deepcopy(model).fit(data, recorder) for _ in range(3)]
    for cost in account.spent:
        recorder.ledger.charge(cost, "count")
    return out


class SharedAccount(Account):
    """An account whose copies are itself."""

    def __init__(self, ledger: Any) -> None:
        super().__init__()
        self._ledger = ledger

    def charge(self, epsilon: Any) -> None:
        """Charge the one ledger there is."""
        self._ledger.charge(Cost.of(epsilon), "count")

    def __deepcopy__(self, memo: Any) -> SharedAccount:
        return self


def _shared_ledger(data: Data, recorder: Recorder) -> Any:
    model = Counter(SharedAccount(recorder.ledger))
    return [copy.deepcopy(model).fit(data, recorder) for _ in range(3)]


def _refund(data: Data, recorder: Recorder) -> Any:
    """Gives the charge back when the answer turns out to be of no use."""
    out = _charge_before(data, recorder)
    if out > 0:
        ledger: Any = recorder.ledger
        ledger._entries.pop()
        ledger._events.pop()
        ledger._spent = total_of(receipt.cost for receipt in ledger._entries)
    return out


PLANTED_BUGS = (
    PlantedBug("charge after release",
          "an interrupted process keeps the answer for free",
          "ledger", _charge_after, _charge_before, PEOPLE),
    PlantedBug("cloned ledger", "diffprivlib: clone copies the accountant",
          "ledger", _cloned_ledger, _shared_ledger, PEOPLE),
    PlantedBug("refund", "a charge given back after rows were read",
          "ledger", _refund, _charge_before, PEOPLE),
)  # fmt: skip
