"""``discreto ledger``: read what was spent, prove it, and hand it on."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreto.cli import options, terminal
from discreto.cli.files import write_new
from discreto.core.cost import Cost
from discreto.core.ledger import Ledger
from discreto.release.export import harmless
from discreto.release.labels import label_in_words
from discreto.text.language import number, tr

app = typer.Typer(
    help="Show, verify and export what was spent on a population.",
    no_args_is_help=True,
)

PARTS = ("epsilon", "rho", "block_epsilon", "delta")


class Format(StrEnum):
    """The format of an export."""

    json = "json"
    csv = "csv"


@app.command(epilog="Example: `discreto ledger show patients.ledger`")
@options.grouped
def show(
    opened: options.AnchoredLedger,
    last: Annotated[
        int,
        typer.Option(
            "--last", min=1, help="Number of entries to show, the newest ones."
        ),
    ] = 30,
) -> None:
    """Show the entries of a ledger and what is left."""
    with opened.readable() as book:
        print_ledger(book, last, str(opened.ledger))


def print_ledger(book: Ledger, last: int = 30, path: str = "LEDGER") -> None:
    """Print the newest entries and a bar of what is spent."""
    entries, console = book.entries(), terminal.out()
    name = (
        tr("ledger of {population}", population=book.population)
        if book.population
        else tr("ledger")
    )
    table = Table(title=terminal.plain(name), title_justify="left")
    table.add_column("#", justify="right")
    table.add_column(tr("time (UTC)"), no_wrap=True)
    table.add_column(tr("analyst"))
    table.add_column(tr("what"))
    table.add_column(tr("cost"), justify="right")
    for entry in entries[-last:]:
        cost = number(Cost.from_dict(entry["cost"])) if entry["cost"] else ""
        table.add_row(
            str(entry["seq"]),
            _moment(entry["time"]).replace("T", " ")[:16],
            terminal.plain(entry["analyst"]),
            terminal.plain(label_in_words(entry["label"])),
            cost,
        )
    console.print(table)
    if len(entries) > last:
        console.print(
            tr(
                "{earlier} earlier entries: --last {count}",
                earlier=len(entries) - last,
                count=len(entries),
            )
        )
    console.print(terminal.budget_line(book))
    if book.shut:
        console.print(
            tr(
                "[red]shut[/]: an answer could not be computed. Look into it, then:"
                " discreto ledger reopen {path}",
                path=terminal.plain(path),
            )
        )
    for analyst in sorted({entry["analyst"] for entry in entries} - {""}):
        console.print(terminal.budget_line(book, analyst))


@app.command(
    epilog="Example: `discreto ledger verify patients.ledger --anchor /other/anchor`"
)
@options.grouped
def verify(opened: options.AnchoredLedger) -> None:
    """Check that no entry was changed, taken out or put in.

    The chain of hashes finds edits. Only an anchor, kept on another disk, finds an old
    backup that was put back.
    """
    with opened.readable() as book:
        count = book.verify()
    words = tr("1 entry") if count == 1 else tr("{count} entries", count=count)
    also = tr(", as the anchor says") if opened.anchor else ""
    intact = tr("chain intact")
    terminal.out().print(f"[green]{intact}[/]: {words}{also}")


@app.command(
    epilog="Example: `discreto ledger reopen patients.ledger --comment 'disk was full'`"
)
@options.grouped
def reopen(
    opened: options.LedgerToRead,
    comment: Annotated[
        str, typer.Option(help="Cause of the failure; it is written into the ledger.")
    ] = "",
) -> None:
    """Go on after a failure that shut the ledger, once you have looked into it.

    An answer that failed after its charge shuts the ledger, because the failure may
    depend on a person's row.
    """
    book = opened.open()
    if not book.shut:
        terminal.out().print(tr("The ledger is not shut: there is nothing to do."))
        return
    book.reopen(comment)
    terminal.out().print(
        tr("[green]open again[/] after {faults} failure(s)", faults=book.faults)
    )


@app.command(
    epilog="Example: `discreto ledger allow patients.ledger ana --epsilon 0.5`"
)
@options.grouped
def allow(
    opened: options.AnchoredLedger,
    analyst: Annotated[
        str, typer.Argument(help="Analyst whose budget is set; '' is the population.")
    ],
    epsilon: Annotated[str, typer.Option(help="The new limit.")],
) -> None:
    """Set the budget of an analyst, or of the population, as an entry of the chain."""
    book = opened.open()
    book.allow(analyst, epsilon)
    terminal.out().print(terminal.budget_line(book, analyst))


@app.command(
    epilog="Example: `discreto ledger export patients.ledger --out entries.csv`"
)
@options.grouped
def export(
    opened: options.LedgerToRead,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format", help="json or csv; by default as --out ends, else json."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A new file; else to the console.")
    ] = None,
) -> None:
    """Write all entries as JSON or CSV, for an auditor or a spreadsheet.

    CSV has exact fractions, JSON has numbers.
    """
    if form is None:
        named = out is not None and out.suffix.lower() == ".csv"
        form = Format.csv if named else Format.json
    with opened.readable() as book:
        text = as_csv(book) if form is Format.csv else as_json(book)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text)
        terminal.err().print(terminal.plain(tr("Wrote {out}.", out=out)))


def as_json(book: Ledger) -> str:
    """Return the budget and every entry, complete."""
    facts = {
        "id": book.id,
        "population": book.population,
        "epsilon": str(book.epsilon),
        "delta": str(book.delta),
        "spent": book.spent().to_dict(),
        "left": book.remaining(),
        "entries": book.entries(),
    }
    return json.dumps(terminal.as_numbers(facts), indent=1) + "\n"


def as_csv(book: Ledger) -> str:
    """Return one line for each entry; costs as exact fractions."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["entry", "time", "analyst", "label", *PARTS, "hash"])
    for entry in book.entries():
        costs = [entry["cost"].get(part, "0") for part in PARTS]
        line = [entry["seq"], _moment(entry["time"]), entry["analyst"], entry["label"]]
        writer.writerow([harmless(cell) for cell in [*line, *costs, entry["hash"]]])
    return text.getvalue()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
