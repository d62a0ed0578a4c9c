"""A finding of an audit: a small record that can be printed, kept and compared."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from discreto.text.language import mark, number, tr

Method = Literal[
    "transcript",
    "black box",
    "ledger",
    "conversation",
    "public path",
    "noise law",
    "refusals",
]


@dataclass(frozen=True)
class Finding:
    """The outcome of one audit of one subject.

    Parameters
    ----------
    violation
        Whether the claim is broken. ``False`` means: not shown to be broken.
    claimed, shown
        The epsilon (or rho, see ``unit``) that the subject claims, and what the audit
        saw. A transcript shows the largest true loss of any pair; a black box shows a
        lower bound that holds with ``confidence``.
    pair, event
        The neighbouring tables and the observation that gave it away, or that came
        closest to it.
    pairs, runs
        How many pairs of tables were tried, and how many runs a side were made.
    subject, method
        What was audited, and how.
    relation
        Which tables are neighbours.
    unit
        What ``claimed`` and ``shown`` count.
    delta
        The delta of the claim.
    confidence
        The chance that an honest subject is *not* accused; nothing where it is exact.
    seconds
        How long it took.
    """

    subject: str
    method: Method
    violation: bool
    claimed: float
    shown: float
    event: str
    pair: str
    pairs: int
    relation: str = "add-remove"
    unit: str = "ε"
    delta: float = 0.0
    runs: int = 1
    confidence: float | None = None
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """One word for a table."""
        return mark("VIOLATION") if self.violation else mark("holds")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form; an infinite loss is the text ``"inf"``."""
        out = asdict(self)
        for name in ("claimed", "shown"):
            if math.isinf(out[name]):
                out[name] = "inf"
        return {"audit": 1, "simulated": True, "verdict": self.verdict} | out

    def __str__(self) -> str:
        claim = f"{self.unit} {number(self.claimed, '.4g')}"
        if self.delta:
            claim += f", δ {number(self.delta, '.2g')}"
        shown = "∞" if math.isinf(self.shown) else number(self.shown, ".4g")
        lines = [
            tr(
                "{verdict}: {subject} claims {claim} ({relation})",
                verdict=tr(self.verdict),
                subject=self.subject,
                claim=claim,
                relation=self.relation,
            )
        ]
        if self.confidence is not None:
            lines.append(
                tr(
                    "  shown: at least ε {shown} with {sure} confidence, {runs} runs a "
                    "side, {pairs} pair(s)",
                    shown=shown,
                    sure=f"{number(100 * (self.confidence or 0), 'g')} %",
                    runs=self.runs,
                    pairs=self.pairs,
                )
            )
        else:
            lines.append(
                tr(
                    "  shown: {unit} {shown} over {pairs} pair(s)",
                    unit=self.unit,
                    shown=shown,
                    pairs=self.pairs,
                )
            )
        lines.append(tr("  pair: {pair}", pair=self.pair))
        return "\n".join([*lines, tr("  event: {event}", event=self.event)])
