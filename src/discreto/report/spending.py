"""The page of a ledger: what was spent on these people, by whom, and for what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from discreto.core.cost import Cost
from discreto.plots import LedgerDisplay
from discreto.release.labels import label_in_words
from discreto.report.page import Page, fill
from discreto.text.language import number, speaking, tr


def ledger_page(ledger: Any, *, name: str = "", lang: str = "") -> Page:
    """Return a page about a ledger.

    Parameters
    ----------
    ledger
        A :class:`~discreto.Ledger` or a simulation ledger.
    name
        Whose ledger it is, if it does not say so itself.
    lang
        ``"en"``, ``"pt"``, ``"es"`` or ``"fr"``; by default the language in use.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    with speaking(lang):
        simulated = getattr(ledger, "simulation", None) is not None
        entries = ledger.entries()
        population = getattr(ledger, "population", "") or name
        title = (
            tr("Ledger of {population}", population=population)
            if population
            else tr("Ledger")
        )
        page = Page(
            title, tr("What was spent, in the order it was spent."), simulated=simulated
        )
        names = sorted({entry.get("analyst", "") for entry in entries} - {""})
        return fill(
            page,
            "ledger.html",
            ledger=ledger,
            simulated=simulated,
            entries=entries,
            display=LedgerDisplay.from_ledger(ledger) if entries else None,
            rows=[_row(entry, simulated) for entry in entries],
            analysts=[
                [name, ledger.total(name), ledger.remaining(name)]
                for name in ([] if simulated else names)
            ],
        )


def _row(entry: Any, simulated: bool) -> list[Any]:
    cost = number(Cost.from_dict(entry["cost"])) if entry["cost"] else ""
    line = [entry["seq"], label_in_words(entry["label"]), cost]
    if simulated:
        return line
    moment = datetime.fromtimestamp(entry["time"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    return [*line, moment, entry["analyst"] or "–", entry["hash"][:12]]
