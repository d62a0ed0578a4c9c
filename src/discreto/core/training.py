"""Steps that were paid for together, taken one by one.

The noise that makes all steps together (epsilon, delta)-private is computed once
(:mod:`discreto.core.accounting`) for real-valued noise; ``docs/proofs/noise.md`` shows
that the last thousandth of epsilon covers the integer grid.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from discreto.core.charge import Event
from discreto.core.gate import Gate, Measurement
from discreto.core.query import Derived, Sum
from discreto.core.question_json import digest
from discreto.core.steps import PaidSteps, Steps, check_sampling
from discreto.errors import BudgetError, ParameterError


class Training:
    """Steps that were paid for, taken one by one, never more than were paid.

    Without a key they are taken in this process. With one every step is noted in the
    ledger under its number before it is taken, and its answer is kept: whoever opens
    the same block again gets the same answers to the same questions, another question
    under a number that was used is refused, and no number is drawn twice.
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
        self.receipt = gate.ledger.charge(steps.cost, label, event, key)
        self._ledger: Any = gate.ledger
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
        note = self._ledger.note(label, event, key)
        self._next += 1
        noises = steps.noises(bound)
        if note.answer is None:
            tables = self._gate.step(bound, label).tables
            text = json.dumps([table.tolist() for table in tables])
            kept = self._ledger.keep(note, text)
        else:
            kept = note.answer
        tables = tuple(np.array(table) for table in json.loads(kept))
        return Measurement(tables, noises, self.receipt)


__all__ = ["Steps", "Training", "check_sampling"]
