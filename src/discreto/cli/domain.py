"""``discreto domain``: draft the public description of a table, and check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto import Ledger, Table
from discreto.cli import terminal
from discreto.cli.files import TODO, read_domain, schema_of, write_new

app = typer.Typer(
    help="What everybody may know about a table: bounds, categories, neighbours.",
    no_args_is_help=True,
)

WHY = """The draft holds column names and types only. No value was looked at, on
purpose: a bound read from the rows is a fact about the person who has the largest
value, and the noise that hides everybody else would not hide it. Fill in "lower",
"upper" and "categories" from a code book, a law, or what is physically possible. Wide
is safe: it costs some accuracy, never privacy. If one person can have several rows,
also set "person" and "rows_per_person"."""
WHY_TEXT = """A text file has no types, and to guess them one has to read values: so the
types are left to you. Use numeric, categorical, boolean, datetime or identifier."""


@app.command(
    epilog="Example: `discreto domain draft patients.csv --out patients.domain.json`"
)
def draft(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .tsv file.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="A new file; else to the console.")
    ] = None,
    header: Annotated[
        bool,
        typer.Option("--header", help="The first CSV line is names, numbers or not."),
    ] = False,
) -> None:
    """Draft a domain file from column names and types, without looking at values.

    Bounds and categories are left for you to fill in. `discreto domain check` says
    which are still open.
    """
    fields = schema_of(data, header=header)
    drafted = {
        "discreto_domain": 1,
        "neighbours": "add-remove",
        "person": None,
        "rows_per_person": 1,
        "columns": {name: _guess(field) for name, field in fields.items()},
    }
    text = json.dumps(drafted, indent=1, ensure_ascii=out is None)
    if out is None:
        typer.echo(text)
    else:
        write_new(out, text + "\n")
    console = terminal.err()
    console.print(WHY.replace("\n", " "), style="dim")
    if any(field is None for field in fields.values()):
        console.print(WHY_TEXT.replace("\n", " "), style="dim")
    if out is not None:
        console.print(
            terminal.plain(f"Wrote {out}. Next: discreto domain check {out}"),
            style="bold",
        )


def _guess(field: Any) -> dict[str, Any]:
    """A column of the draft, from its Arrow field."""
    from pyarrow import types

    if field is None:
        return {"type": TODO, "nullable": True}
    kind = field.type
    if types.is_temporal(kind):
        return {"type": "datetime"}
    missing = {"nullable": True} if field.nullable else {}
    if types.is_boolean(kind):
        return {"type": "boolean", **missing}
    bounds = {"lower": None, "upper": None}
    if types.is_integer(kind):
        return {"type": "numeric", **bounds, "integer": True, **missing}
    if types.is_floating(kind) or types.is_decimal(kind):
        return {"type": "numeric", **bounds, **missing}
    if types.is_dictionary(kind) or "string" in str(kind):
        return {"type": "categorical", "categories": None, **missing}
    return {"type": "identifier"}


@app.command(
    epilog="Example: `discreto domain check patients.domain.json --data patients.csv`"
)
def check(
    domain: Annotated[
        Path, typer.Argument(metavar="DOMAIN", help="A domain file (JSON).")
    ],
    data: Annotated[
        str | None, typer.Option("--data", help="Also see whether this table fits.")
    ] = None,
) -> None:
    """Check a domain file, and show what it says.

    With `--data` also whether the names and types of the table fit. No value is read.
    """
    known = read_domain(domain)
    stored = None
    if data is not None:
        fields = schema_of(data, header=True)
        stored = {
            name: "text" if field is None else str(field.type)
            for name, field in fields.items()
        }
    console = terminal.out()
    console.print(terminal.show_domain(known, stored))
    console.print(terminal.protects(known))
    if known.neighbours == "replace":
        console.print(f"public row count {known.rows}")
    if data is not None and stored is not None:
        Table(data, known, Ledger(epsilon=1))  # refuses what does not fit
        extra = sum(name not in known.columns for name in stored)
        more = f"; {extra} more cannot be asked about" if extra else ""
        console.print(f"[green]The data has all {len(known.columns)} columns{more}.")
    else:
        console.print("[green]The domain is complete.")
