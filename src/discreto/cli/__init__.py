"""The ``discreto`` command: domains, questions, plans and ledgers without Python.

``options`` turns what is typed into a statistic, ``files`` reads and writes what the
commands need, ``terminal`` prints. Every other module is one group of commands.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from discreto import __version__
from discreto.cli import (
    audit,
    compare,
    demo,
    domain,
    evaluate,
    explain,
    federate,
    fit,
    ledger,
    ledger_move,
    peer,
    plan,
    predict,
    query,
    report,
    serve,
    silo,
    synthesize,
)
from discreto.cli import signals as interrupt
from discreto.cli.terminal import SafeGroup
from discreto.text.language import language_of, speaking

HELP = """Differentially private statistics and machine learning for tables.

You need three files: the data, a domain (what everybody may know about the data: bounds
and categories), and a ledger (how much privacy may be spent, and what was spent).

1. `discreto domain draft patients.parquet --out patients.domain.json`

2. fill in the bounds from the code book, then
`discreto domain check patients.domain.json`

3. `discreto plan patients.domain.json mean age --error 1`: what would it cost?

4. `discreto query patients.parquet mean age --domain patients.domain.json
--ledger patients.ledger --budget 3 --epsilon 0.1`

5. `discreto ledger show patients.ledger`

To learn a model: `discreto compare` tries all of them in a simulation, `discreto fit`
does it for real, `discreto evaluate` measures it on other rows, `discreto predict` uses
it. `discreto report` writes a page about it, `discreto explain` says what an ε means.

In a hurry: `discreto demo` shows all of it on public data in less than a minute.
"""

EXIT_CODES = (
    "Exit codes: 0 done, 1 other trouble, 2 an impossible argument, 3 domain, "
    "4 budget, 5 ledger, 6 unsafe, 7 a missing extra, 8 the answer failed "
    "after it was charged."
)

SafeGroup.lazy["study"] = "discreto.lab.cli"
app = typer.Typer(
    name="discreto",
    cls=SafeGroup,
    help=HELP,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(domain.app, name="domain")
app.command("plan", epilog=plan.EXAMPLE)(plan.plan)
app.command("query", epilog=query.EXAMPLE)(query.query)
app.command("explain", epilog=explain.EXAMPLE)(explain.explain)
ledger.app.command("move", epilog=ledger_move.EXAMPLE)(ledger_move.move)
app.add_typer(ledger.app, name="ledger")
app.command("serve", epilog=serve.EXAMPLE)(serve.serve)
app.add_typer(silo.app, name="silo")
app.add_typer(peer.app, name="peer")
app.add_typer(federate.app, name="federate")
app.command("audit", epilog=audit.EXAMPLE)(audit.audit)
app.command("compare", epilog=compare.EXAMPLE)(compare.compare)
app.command("fit", epilog=fit.EXAMPLE)(fit.fit)
app.command("evaluate", epilog=evaluate.EXAMPLE)(evaluate.evaluate)
app.command("predict", epilog=predict.EXAMPLE)(predict.predict)
app.command("synthesize", epilog=synthesize.EXAMPLE)(synthesize.synthesize)
app.command("report", epilog=report.EXAMPLE)(report.report)
app.command("demo", epilog=demo.EXAMPLE)(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreto {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    context: typer.Context,
    lang: Annotated[
        str,
        typer.Option(
            "--lang",
            help="The language of what is printed and of pages: en, pt, es or fr. By "
            "default that of LC_ALL, LC_MESSAGES or LANG.",
        ),
    ] = "",
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    context.with_resource(speaking(lang or language_of()))


def main() -> None:
    """Run the command line."""
    # A screen that cannot show an ε must not lose an answer that was paid for.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    interrupt.install()
    try:
        app()
    except SystemExit as ending:
        if ending.code == interrupt.CODE:
            interrupt.end()  # threads that still work would keep us waiting
        raise
