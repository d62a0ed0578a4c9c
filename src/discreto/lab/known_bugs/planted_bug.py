"""A planted bug: a mistake that was really made, beside its honest twin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreto.audit.adaptive import conversation
from discreto.audit.blackbox import epsilon
from discreto.audit.findings import Finding, Method
from discreto.audit.ledgers import ledger
from discreto.audit.neighbours import pairs
from discreto.audit.transcripts import transcript
from discreto.core.domain.domain import Domain


@dataclass(frozen=True)
class PlantedBug:
    """A planted bug, its honest twin, and the audit that must tell them apart.

    For a transcript or ledger audit both are ``work(data, recorder)``; for a black box
    they take a seed and make a mechanism; for a conversation they are filters, and
    ``first`` and ``second`` the epsilon and delta of the budget.
    """

    name: str
    seen: str
    method: Method
    bug: Any
    honest: Any
    domain: Domain | None
    first: Any = None
    second: Any = None
    bits: bool = False
    size: int = 6

    def audit(
        self, seed: int = 0, *, honest: bool = False, runs: int = 20_000
    ) -> Finding:
        """Audit the bug, or its honest twin."""
        subject = self.honest if honest else self.bug
        name = f"{self.name}, {'honest' if honest else 'planted'}"
        if self.method == "conversation":
            options = {"ratio": 1.1, "pure_first": 1, "points": 801}
            return conversation(subject, self.first, self.second, name=name, **options)
        if self.domain is None:
            return epsilon(
                subject(seed),
                self.first,
                self.second,
                claimed=1,
                runs=runs,
                bits=self.bits,
                name=name,
            )
        if self.method == "ledger":
            return ledger(subject, self.domain, name=name)
        near = pairs(self.domain, size=self.size, seed=seed)
        return transcript(subject, self.domain, pairs=near, seed=seed, name=name)
