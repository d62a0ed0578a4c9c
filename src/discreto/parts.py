"""Conversations with parts of a table, all for the cost of one.

``split`` pays once and opens a conversation with each part of a public partition. Every
conversation may spend what was paid. A row is in one part only, by its own content, so
what another part answers does not depend on it (Parallel composition; McSherry 2009).
With ``neighbours="replace"`` a row may leave one part and enter another: every question
is noised for a row that leaves *and* one that enters, so each of the two parts loses at
most half of its cost.
"""

from __future__ import annotations

import copy
from fractions import Fraction

from discreto.errors import ParameterError
from discreto.kernel.charge import Reservation
from discreto.kernel.cost import Cost
from discreto.kernel.gate import Gate, Keep, Source
from discreto.kernel.query import Cells, Floats, Ints, Sum, Tally
from discreto.planning import Conversation, Question
from discreto.queries.parts import TallyWithin, Within


class Part:
    """The rows of one part, as a gate may use them."""

    def __init__(self, source: Source, parts: Cells, number: int) -> None:
        self._source, self._parts, self._number = source, parts, number

    def fold(self, query: Sum | Tally, keep: Keep | None = None) -> list[Ints]:
        """The exact sums over the rows of this part."""
        if not isinstance(query, Sum):
            tally = TallyWithin(self._parts, self._number, query)
            return self._source.fold(tally, keep)
        if any(block.form == "gram" for block in query.blocks):
            # Its bound for replaced rows takes for granted that they stay in a cell.
            raise ParameterError("products cannot be asked of a part of a table.")
        cells = Within(self._parts, self._number, query.cells)
        return self._source.fold(Sum(cells, query.blocks), keep)

    def column(self, name: str) -> Floats | Ints:
        """Columns of a part would show how many rows it has."""
        raise ParameterError("rows of a part of a table cannot be asked for.")


def split(
    ask: Conversation, parts: Cells, label: str, share: Fraction = Fraction(1)
) -> list[Conversation]:
    """A conversation with each part; each may spend a share of the cost of ``ask``."""
    gate, cost = ask._gate, ask.cost * share
    count = parts.count(gate.domain)
    ask._note(Question("parts", label, cost, (), ()))
    receipt = gate.ledger.charge(cost, label)
    out: list[Conversation] = []
    for number in range(count):
        inner = copy.copy(gate)  # of the same kind: an audit's gate watches parts, too
        inner.ledger = Reservation(gate.ledger, receipt)
        inner._source = Part(gate._source, parts, number)
        inner.part = (label, number)
        out.append(_Branch(inner, cost, ask))
    return out


class _Branch(Conversation):
    """A conversation whose questions are lines of the plan of another one."""

    def __init__(self, gate: Gate, cost: Cost, trunk: Conversation) -> None:
        super().__init__(gate, cost)
        self._trunk = trunk

    def _note(self, question: Question) -> None:
        self._trunk._note(question)
