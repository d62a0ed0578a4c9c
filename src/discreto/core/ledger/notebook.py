"""A ledger as a notebook shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from discreto.core.cost import Cost, show
from discreto.text.html import Html, html_table

if TYPE_CHECKING:
    from discreto.core.ledger.reader import LedgerReader

NEWEST = 10


def ledger_html(ledger: LedgerReader) -> Html:
    """What is left, and the newest entries."""
    entries = ledger.entries()
    rows = [
        (
            entry["seq"],
            datetime.fromtimestamp(entry["time"], UTC).strftime("%Y-%m-%d %H:%M"),
            entry["label"],
            str(Cost.from_dict(entry["cost"])) if entry["cost"] else "",
        )
        for entry in entries[-NEWEST:]
    ]
    whose = f" of {ledger.population}" if ledger.population else ""
    at = f" at δ {show(ledger.delta)}" if ledger.delta else ""
    earlier = len(entries) - len(rows)
    caption = (
        f"Ledger{whose}: ε {show(ledger.total())} of {show(ledger.epsilon)} spent, "
        f"{show(ledger.remaining())} left{at}"
        + (f"; {earlier} earlier entries" if earlier else "")
    )
    return html_table(["#", "time (UTC)", "what", "cost"], rows, caption=caption)
