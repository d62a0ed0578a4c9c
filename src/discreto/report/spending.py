"""The page of a ledger: what was spent on these people, by whom, and for what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from discreto.core.cost import Cost, show
from discreto.plots import LedgerDisplay
from discreto.report.markup import Html, facts, figure, note, table
from discreto.report.page import Page


def ledger_page(ledger: Any, *, name: str = "") -> Page:
    """A page about a ledger.

    Parameters
    ----------
    ledger
        A :class:`~discreto.Ledger` or a simulation ledger.
    name
        Whose ledger it is, if it does not say so itself.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    simulated = getattr(ledger, "simulation", None) is not None
    entries = ledger.entries()
    population = getattr(ledger, "population", "") or name
    title = f"Ledger of {population}" if population else "Ledger"
    page = Page(
        title, "What was spent, in the order it was spent.", simulated=simulated
    )
    page.section("At a glance", *_glance(ledger, entries, simulated))
    if entries:
        shown = figure(
            LedgerDisplay.from_ledger(ledger), caption="ε in all after each entry."
        )
        page.section("Spending", shown)
        page.section("Entries", _entries(entries, simulated))
    analysts = sorted({entry.get("analyst", "") for entry in entries} - {""})
    if analysts and not simulated:
        rows = [[a, ledger.total(a), ledger.remaining(a)] for a in analysts]
        page.section("Analysts", table(["analyst", "ε spent", "ε left"], rows))
    return page


def _glance(ledger: Any, entries: list[Any], simulated: bool) -> list[Html]:
    if simulated:
        spent = str(ledger.spent())
        return [facts({"spent": (spent, "in a simulation"), "entries": len(entries)})]
    at = f"at δ {show(ledger.delta)}" if ledger.delta else "pure ε"
    count = ledger.verify()
    return [
        facts(
            {
                "spent": (f"ε {show(ledger.total())}", at),
                "left": (f"ε {show(ledger.remaining())}", f"of {show(ledger.epsilon)}"),
                "entries": (count, "chain intact"),
                "ledger": (ledger.id[:12], "its name"),
            }
        ),
        note(
            "The chain of hashes was checked when this page was made: no entry was "
            "changed, taken out or put in. Only an anchor finds an old backup.",
            kind="good",
        ),
    ]


def _entries(entries: list[Any], simulated: bool) -> Html:
    lines = []
    for entry in entries:
        cost = str(Cost.from_dict(entry["cost"])) if entry["cost"] else ""
        line = [entry["seq"], entry["label"], cost]
        if not simulated:
            line += [
                _moment(entry["time"]),
                entry["analyst"] or "–",
                entry["hash"][:12],
            ]
        lines.append(line)
    heads = ["#", "what", "cost"]
    return table(
        heads if simulated else [*heads, "time (UTC)", "analyst", "hash"], lines
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
