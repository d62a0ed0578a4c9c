"""The privacy statement of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.release.labels import label_in_words
from discreto.session.plan import Plan
from discreto.text.html import html_table
from discreto.text.language import number, tr


@dataclass(frozen=True, repr=False)
class Privacy:
    """The cost of a fitted model, and the unit that it protects."""

    cost: Cost
    neighbours: str
    rows_per_person: int
    plan: Plan
    receipt: Receipt
    person: str | None = None
    checked: bool = True  # False: no owner has checked how texts are read
    note: str = ""  # how many rows have values, where what was paid for tells it

    @property
    def simulated(self) -> bool:
        """True if the model comes from a simulation, which protects nothing."""
        return self.receipt.simulated

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "cost": self.cost.to_dict(),
            "neighbours": self.neighbours,
            "rows_per_person": self.rows_per_person,
            **({} if self.person is None else {"person": self.person}),
            "plan": self.plan.to_dict(),
            "receipt": self.receipt.to_dict(),
            "simulated": self.simulated,
        } | self._remarks()

    def _remarks(self) -> dict[str, Any]:
        checked = {} if self.checked else {"checked": False}
        return checked | ({"note": self.note} if self.note else {})

    def __str__(self) -> str:
        asked = tr(
            "{cost} in {count} question(s), protects {who}",
            cost=number(self.cost),
            count=len(self.plan),
            who=_who(self),
        )
        asked = f"{tr('SIMULATED')} {asked}" if self.simulated else asked
        asked = f"{asked}; {label_in_words(self.note)}" if self.note else asked
        return asked if self.checked else f"{tr('NOT CHECKED')} {asked}"

    def __repr__(self) -> str:
        return f"Privacy({self})"

    def _repr_html_(self) -> str:
        entry = f"entry {self.receipt.seq} of the ledger"
        rows = [
            ("cost", self.cost),
            ("protects", f"{_who(self)}, neighbours: {self.neighbours}"),
            ("questions", len(self.plan)),
            ("paid", f"{entry}, hash {self.receipt.hash[:12]}"),
        ]
        rows += [("values", label_in_words(self.note))] if self.note else []
        stamp = ", SIMULATED: nobody is protected" if self.simulated else ""
        stamp += "" if self.checked else ", NOT CHECKED: texts may count as missing"
        return html_table(["", ""], rows, caption=f"Privacy{stamp}")


def _who(privacy: Privacy) -> str:
    alone = privacy.person is None and privacy.rows_per_person == 1
    return tr("one row") if alone else tr("one person")
