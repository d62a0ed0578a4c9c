"""Steps that were paid for together, taken one by one.

The noise that makes all steps together (epsilon, delta)-private is computed once
(:mod:`discreto.core.accounting`) for real-valued noise; ``docs/proofs/noise.md`` shows
that the last thousandth of epsilon covers the integer grid.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import numpy as np

from discreto.core.charge import Event, one_at_a_time
from discreto.core.gate import Gate, Measurement
from discreto.core.query import Derived, Sum
from discreto.core.query_json import digest
from discreto.core.steps import PaidSteps, Steps, check_sampling
from discreto.errors import BudgetError, ParameterError


class Training:
    """Steps that were paid for, taken one by one, never more than were paid.

    Without a key they are taken in this process. With one every step is noted in the
    ledger under its number before it is taken, and its answer is kept: whoever opens
    the same block again gets the same answers to the same questions, another question
    under a number that was used is refused, and no number is drawn twice for one
    payment. A step that was noted and has no answer may have read rows. It is drawn
    again for another whole block, which pays for each number once more.
    """

    def __init__(
        self,
        gate: Gate,
        steps: Steps,
        label: str,
        facts: Event,
        key: str | None = None,
        first: int = 0,
    ) -> None:
        check_sampling(steps.rate, gate.domain)
        if not 0 <= first < steps.count or (first and key is None):
            raise ParameterError("a training begins with a step that it has.")
        gate.check_rows(label)
        event = {"steps": steps.to_dict()} | dict(facts)
        self.steps = steps
        self._ledger: Any = gate.ledger
        numbered = {} if key is None else {"numbered": True}
        self.receipt = self._ledger.charge(steps.cost, label, event, key, **numbered)
        self._key, self._next = key, first
        self._gate = gate.paid_by(PaidSteps(gate.ledger, self.receipt, steps))

    def measure(self, query: Sum | Derived, label: str) -> Measurement:
        """The next step: noisy sums over a fresh secret sample of the rows."""
        number, steps = self._next, self.steps
        if number >= steps.count:
            raise BudgetError(f"all {steps.count} steps were taken: {label!r} is more.")
        if self._key is None:
            self._next += 1
            return self._gate.step(query, label)
        bound = self._gate.check(query, label)
        event = {
            "question": digest(query),
            "domain": self._gate.domain.fingerprint,
            "table": self._gate.name,
        }
        key = f"{self._key}, step {number}"
        with one_at_a_time(key):
            note = self._ledger.note(label, event, key)
            self._next += 1
            kept = note.answer
            if kept is None:
                gate = self._paid_again(number, label, event) if note.again else None
                tables = (gate or self._gate).step(bound, label).tables
                text = json.dumps([table.tolist() for table in tables])
                kept = self._ledger.keep(note, text)
        tables = tuple(np.array(table) for table in json.loads(kept))
        return Measurement(tables, steps.noises(bound), self.receipt)

    def _paid_again(self, number: int, label: str, event: dict[str, Any]) -> Gate:
        """Return the gate of the first further block in which a number is unused."""
        for block in count(2):
            name = f"{self._key}, block {block}"
            paid = self._ledger.charge(
                self.steps.cost,
                f"{self.receipt.label}, block {block}",
                {"steps": self.steps.to_dict(), "block": block},
                name,
                numbered=True,
            )
            note = self._ledger.note(label, event, f"{name}, step {number}")
            if not note.again:
                return self._gate.paid_by(PaidSteps(self._ledger, paid, self.steps))
        raise AssertionError  # blocks have no end


__all__ = ["Steps", "Training", "check_sampling"]
