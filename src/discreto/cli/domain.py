"""``discreto domain``: draft the public description of a table, and check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from discreto import Ledger, Table
from discreto.cli import options, terminal
from discreto.cli.files import read_dialect, read_domain, write_new
from discreto.core.domain.domain import Domain, Opaque
from discreto.core.domain.json import domain_text
from discreto.data.code_books import from_code_book
from discreto.data.domain_file import (
    KINDS,
    draft_text,
    schema,
    stored_types,
    unsaid,
    write_check,
)
from discreto.data.domain_file import draft as drafted_from
from discreto.data.frames.owner_check import Shares, exact_shares, state_check
from discreto.data.frames.refusal_texts import some
from discreto.errors import ParameterError
from discreto.text.language import mark, number, tr

app = typer.Typer(
    help="Domain files: public facts about a table, such as bounds and categories.",
    no_args_is_help=True,
)

WHY = mark(
    "The draft holds column names and types only. No value was looked at, on purpose: "
    "a bound read from the rows is a fact about the person who has the largest value, "
    'and the noise that hides everybody else would not hide it. Fill in "lower", '
    '"upper" and "categories" from a code book, a law, or what is physically '
    "possible. Wide is safe: it costs some accuracy, never privacy. If one person can "
    'have several rows, also set "person" and "rows_per_person".'
)
WHY_DIALECT = mark(
    'Say in "dialect" how the file writes decimals, thousands, dates and gaps. Values '
    "that cannot be read that way count as missing, without a word."
)
WHY_TEXT = mark(
    "A text file has no types, and to guess them one has to read values: so the types "
    "are left to you. Use {kinds}."
)


@app.command(
    epilog="Example: `discreto domain draft patients.csv --out patients.domain.json`"
)
def draft(
    data: options.DataWord,
    out: Annotated[
        Path | None, typer.Option("--out", help="A new file; else to the console.")
    ] = None,
    header: Annotated[
        bool,
        typer.Option("--header", help="The first CSV line is names, numbers or not."),
    ] = False,
    dialect: options.DialectWords = None,
) -> None:
    """Draft a domain file from column names and types, without looking at values.

    Bounds and categories are left for you to fill in. `discreto domain check` says
    which are still open. How a text file is written is taken from its first line.
    """
    written = read_dialect(dialect) if dialect else None
    said = [word.partition("=")[0] for word in dialect or ()]
    found = drafted_from(data, trusted=header, dialect=written, said=said)
    text = draft_text(found.data, ascii_only=out is None)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new(out, text)
    console = terminal.err()
    for assumed in found.assumed:
        console.print(terminal.plain(tr("assumed: {assumed}", assumed=assumed)))
    console.print(tr(WHY), style="dim")
    if not found.typed:
        console.print(tr(WHY_TEXT, kinds=KINDS), style="dim")
        console.print(tr(WHY_DIALECT), style="dim")
    if out is not None:
        console.print(
            terminal.plain(
                tr("Wrote {out}. Next: discreto domain check {out}", out=out)
            ),
            style="bold",
        )


@app.command(
    "from-code-book",
    epilog="Example: `discreto domain from-code-book datapackage.json --out d.json`",
)
def convert_code_book(
    book: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A Frictionless schema, CSVW or SDMX (JSON or XML)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="A new domain file.")],
) -> None:
    """Make a domain file from a code book: bounds and categories as they are there."""
    domain = from_code_book(book)
    write_new(out, domain_text(domain))
    bare = [name for name, c in domain.columns.items() if isinstance(c, Opaque)]
    console = terminal.err()
    if bare:
        shown = some(bare)
        text = tr(
            "The code book has no bounds or categories for {shown}: not asked about.",
            shown=shown,
        )
        console.print(terminal.plain(text))
    console.print(
        terminal.plain(tr("Wrote {out}. Next: discreto domain check {out}", out=out))
    )


@app.command("schema")
def show_schema() -> None:
    """Print the JSON Schema of domain files, for editors and other programs."""
    typer.echo(json.dumps(schema(), indent=1))


@app.command(
    epilog="Example: `discreto domain check patients.domain.json --data patients.csv`"
)
def check(
    domain: Annotated[
        Path, typer.Argument(metavar="DOMAIN", help="A domain file (JSON).")
    ],
    data: Annotated[
        str | None,
        typer.Option("--data", help="Also check the names and types of this table."),
    ] = None,
    dialect: options.DialectWords = None,
    owner: Annotated[
        bool,
        typer.Option(
            "--owner",
            help="Read all rows and show exact shares of values that do not fit. Only "
            "for the owner of the data.",
        ),
    ] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="With --owner: say in the domain file that at least 95 % of the texts "
            "of each column were read. That is a public statement.",
        ),
    ] = False,
) -> None:
    """Check a domain file, and show what it says.

    With `--data` also whether the names and types of the table fit. No value is read,
    unless the owner says `--owner`.
    """
    _check_record(record=record, allowed=owner and data is not None and not dialect)
    known = read_domain(domain, dialect)
    stored = None
    if data is not None:
        stored = stored_types(data, known.dialect)
    console = terminal.out()
    console.print(terminal.show_domain(known, stored))
    console.print(terminal.protects(known))
    if known.neighbours == "replace":
        console.print(tr("public row count {rows}", rows=known.rows))
    if data is not None and stored is not None:
        table = Table(data, known, Ledger(epsilon=1))  # refuses what does not fit
        extra = sum(name not in known.columns for name in stored)
        count = len(known.columns)
        if extra:
            words = tr(
                "The data has all {count} columns; {extra} more cannot be asked about.",
                count=count,
                extra=extra,
            )
        else:
            words = tr("The data has all {count} columns.", count=count)
        console.print(f"[green]{words}")
        found = _show_exact(data, known) if owner else {}
        if record:
            _record(domain, data, state_check(found, known))
        elif not table.checked:
            _show_unchecked(domain, data)
    else:
        console.print(tr("[green]The domain is complete."))


def _check_record(*, record: bool, allowed: bool) -> None:
    if record and not allowed:
        raise ParameterError(
            "--record needs --owner and --data, and no --dialect: what was checked is "
            "what the domain file says. Write the dialect into it."
        )


def _record(domain: Path, data: str, checked: Domain) -> None:
    """Write the owner's statement into the domain file."""
    write_check(domain, checked)
    text = tr(
        "Recorded in {domain} that you have checked how {data} is read. The record is "
        "public, and void under another dialect.",
        domain=domain,
        data=data,
    )
    terminal.out().print(terminal.plain(text), style="green")


def _show_unchecked(domain: Path, data: str) -> None:
    """Return what is lacking before a text file counts as checked."""
    lacks = unsaid(domain)
    if lacks:
        text = tr(
            'Not complete: say {lacks} in "dialect", as the file has them. Values that '
            "cannot be read count as missing.",
            lacks=", ".join(lacks),
        )
        terminal.out().print(terminal.plain(text), style="yellow")
    text = tr(
        "Not checked yet by the owner: discreto domain check {domain} --data {data} "
        "--owner --record",
        domain=domain,
        data=data,
    )
    terminal.out().print(terminal.plain(text), style="yellow", soft_wrap=True)


def _show_exact(data: str, known: Domain) -> dict[str, Shares]:
    """Return exact shares of values that do not fit, for the owner's eyes."""
    with terminal.working(tr("reading all rows")):
        found = exact_shares(data, known)
    console = terminal.out()
    console.print(
        tr(
            "[bold]EXACT, for the owner's eyes only: nothing below is private. "
            "Do not publish it, and choose no bounds by it.[/bold] For a "
            "private version: dp.stats.domain_fit(table, epsilon=...)."
        )
    )
    grid = Grid(title=tr("values that do not fit"), title_justify="left")
    for name in (
        tr("column"),
        tr("missing"),
        tr("clipped or unknown"),
        tr("most frequent unknown"),
    ):
        grid.add_column(name)
    for column, part in found.items():
        grid.add_row(*map(terminal.plain, _line(column, part)))
    rows = max([part.rows for part in found.values()], default=0)
    console.print(f"{tr('rows')}: {rows}")  # the owner may know that there are none
    console.print(grid)
    numbers = [n for n, part in found.items() if not part.is_read]
    if numbers:
        text = tr(
            "Many texts of {shown} cannot be read as a number or date in this dialect. "
            "How does the file write decimals, thousands, dates and gaps? Say it in "
            '"dialect": decimal, thousands, dates ("dmy", "mdy"), missing.',
            shown=some(numbers),
        )
        console.print(terminal.plain(text))
    return found


def _line(column: str, part: Shares) -> tuple[str, str, str, str]:
    rows = max(part.rows, 1)
    shown = ", ".join(f"{text!r} ({count})" for text, count in part.unknown)
    return (
        column,
        number(part.missing / rows, ".2%"),
        number(part.outside / rows, ".2%"),
        shown,
    )
