"""What may be compared of a reply: all of it but noise."""

from __future__ import annotations

import json
from typing import Any

import asked
import numpy as np

from discreto.core.maps import from_json
from discreto.core.query import Choice, Randomise, Sum

LARGE = 1 << 15  # numbers of an answer that are written down, not more


def form(reply: dict[str, Any]) -> tuple[Any, ...]:
    """All of a reply but its numbers."""
    shapes = tuple(np.shape(table) for table in reply.get("tables", ()))
    laws = json.dumps(reply.get("noise"))
    return reply["kind"], reply.get("error"), reply.get("reason"), shapes, laws


def adds_up(message: Any, tables: dict[str, Any]) -> bool:
    """Whether one row more adds what it gives alone, to the last bit.

    Without noise; the second step of a round stands elsewhere, and a proximal point is
    no sum.
    """
    many = 1 if message["kind"] == "round" else None
    if message["kind"] == "round" and message["move"]["kind"] == "proximal":
        return True
    parts = (tables[name][:many] for name in ("plain", "one more", "one", "none"))
    for plain, more, one, none in zip(*parts, strict=True):
        sums = [np.array(part) for part in (more, none, plain, one)]
        if not np.array_equal(sums[0] + sums[1], sums[2] + sums[3]):
            return False
    return True


def count(ledger: Any) -> int:
    """How many entries a ledger has that cost something or keep an answer."""
    kept = getattr(ledger, "_entries", None)  # of a simulation, which is quick
    return len(ledger.entries() if kept is None else kept)


def text(data: Any) -> str:
    try:
        return json.dumps(data)[:3000]
    except (ValueError, TypeError, RecursionError):
        return "(cannot be written)"


def is_large(data: Any) -> bool:
    """Whether an answer would have so many numbers that writing them takes seconds."""
    try:
        query = from_json(data)
        tally = query.tally if isinstance(query, Choice) else query
        if isinstance(tally, Randomise):
            return False
        if not isinstance(tally, Sum):
            return bool(tally.size(asked.DOMAIN) > LARGE)
        widths = sum(block.bind(asked.DOMAIN, 2).width for block in tally.blocks)
        return bool(tally.cells.count(asked.DOMAIN) * widths > LARGE)
    except Exception:  # whatever it is, the trial will show it
        return False
