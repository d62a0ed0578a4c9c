"""The page of a ledger: what was spent on these people, by whom, and for what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from discreto.core.cost import Cost, show
from discreto.plots import LedgerDisplay
from discreto.release.labels import label_in_words
from discreto.report.markup import Html, facts, figure, note, table
from discreto.report.page import Page
from discreto.text.language import number, speaking, tr


def ledger_page(ledger: Any, *, name: str = "", lang: str = "") -> Page:
    """A page about a ledger.

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
        page.section(tr("At a glance"), *_glance(ledger, entries, simulated))
        if entries:
            shown = figure(
                LedgerDisplay.from_ledger(ledger),
                caption=tr("ε in all after each entry."),
            )
            page.section(tr("Spending"), shown)
            page.section(tr("Entries"), _entries(entries, simulated))
        analysts = sorted({entry.get("analyst", "") for entry in entries} - {""})
        if analysts and not simulated:
            rows = [[a, ledger.total(a), ledger.remaining(a)] for a in analysts]
            page.section(
                tr("Analysts"),
                table([tr("analyst"), tr("ε spent"), tr("ε left")], rows),
            )
        return page


def _glance(ledger: Any, entries: list[Any], simulated: bool) -> list[Html]:
    if simulated:
        spent = number(ledger.spent())
        return [
            facts(
                {
                    tr("spent"): (spent, tr("in a simulation")),
                    tr("entries"): len(entries),
                }
            )
        ]
    at = (
        tr("at δ {delta}", delta=number(show(ledger.delta)))
        if ledger.delta
        else tr("pure ε")
    )
    count = ledger.verify()
    return [
        facts(
            {
                tr("spent"): (f"ε {number(show(ledger.total()))}", at),
                tr("left"): (
                    f"ε {number(show(ledger.remaining()))}",
                    tr("of {epsilon}", epsilon=number(show(ledger.epsilon))),
                ),
                tr("entries"): (count, tr("chain intact")),
                tr("ledger"): (ledger.id[:12], tr("its name")),
            }
        ),
        note(
            tr(
                "The chain of hashes was checked when this page was made: no entry "
                "was changed, taken out or put in. Only an anchor finds an old "
                "backup."
            ),
            kind="good",
        ),
    ]


def _entries(entries: list[Any], simulated: bool) -> Html:
    lines = []
    for entry in entries:
        cost = number(Cost.from_dict(entry["cost"])) if entry["cost"] else ""
        line = [entry["seq"], label_in_words(entry["label"]), cost]
        if not simulated:
            line += [
                _moment(entry["time"]),
                entry["analyst"] or "–",
                entry["hash"][:12],
            ]
        lines.append(line)
    heads = ["#", tr("what"), tr("cost")]
    return table(
        heads if simulated else [*heads, tr("time (UTC)"), tr("analyst"), tr("hash")],
        lines,
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
