"""Pieces about paying. The first of each pair is wrong."""

from __future__ import annotations

import copy
from typing import Any

from discreto.audit.neighbours import Data
from discreto.audit.recorder import Witness
from discreto.core.cost import Cost
from discreto.lab.known_bugs._rows import PEOPLE, numbers
from discreto.lab.known_bugs.piece import Piece


def _charge_after(data: Data, witness: Witness) -> Any:
    out = witness.noise("count", len(data["x"]), sensitivity=1, epsilon=1)
    witness.pay(1)
    return out


def _charge_before(data: Data, witness: Witness) -> Any:
    witness.pay(1)
    return witness.noise("count", len(data["x"]), sensitivity=1, epsilon=1)


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

    def fit(self, data: Data, witness: Witness) -> float:
        """Charge the ledger, then count."""
        self.ledger.charge("1/3")
        x = numbers(data)
        return witness.noise("count", len(x), sensitivity=1, epsilon="1/3")


def _cloned_ledger(data: Data, witness: Witness) -> Any:
    """Cross-validation clones the estimator, and its account with it."""
    account = Account()
    model = Counter(account)
    out = [copy.deepcopy(model).fit(data, witness) for _ in range(3)]
    for cost in account.spent:
        witness.ledger.charge(cost, "count")
    return out


class Shared(Account):
    """An account whose copies are itself."""

    def __init__(self, ledger: Any) -> None:
        super().__init__()
        self._ledger = ledger

    def charge(self, epsilon: Any) -> None:
        """Charge the one ledger there is."""
        self._ledger.charge(Cost.of(epsilon), "count")

    def __deepcopy__(self, memo: Any) -> Shared:
        return self


def _shared_ledger(data: Data, witness: Witness) -> Any:
    model = Counter(Shared(witness.ledger))
    return [copy.deepcopy(model).fit(data, witness) for _ in range(3)]


def _refund(data: Data, witness: Witness) -> Any:
    """Gives the charge back when the answer turns out to be of no use."""
    out = _charge_before(data, witness)
    if out > 0:
        witness.ledger._entries.pop()
        witness.ledger._events.pop()
    return out


PIECES = (
    Piece("charge after release", "an interrupted process keeps the answer for free",
          "ledger", _charge_after, _charge_before, PEOPLE),
    Piece("cloned ledger", "diffprivlib: clone copies the accountant",
          "ledger", _cloned_ledger, _shared_ledger, PEOPLE),
    Piece("refund", "a charge given back after rows were read",
          "ledger", _refund, _charge_before, PEOPLE),
)  # fmt: skip
