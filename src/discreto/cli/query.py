"""``discreto query``: ask one private statistic and pay for it."""

from __future__ import annotations

from typing import Annotated

import typer

from discreto import Ledger, Release, Table
from discreto.cli import options, terminal
from discreto.cli.files import open_ledger, read_domain
from discreto.core.cost import show
from discreto.core.domain import Domain
from discreto.plan import statistics

EXAMPLE = """Examples:

`discreto query patients.parquet mean age --by sex --epsilon 0.1 --domain d.json
--ledger patients.ledger --budget 3`

`discreto query patients.parquet quantile age --probability 0.1,0.5,0.9 --epsilon 0.2
--domain d.json --ledger patients.ledger --json`
"""


def query(
    data: options.DataWord,
    stat: options.StatWord,
    columns: options.ColumnWords = None,
    *,
    domain: options.DomainFile,
    dialect: options.DialectWords = None,
    ledger: options.LedgerFile,
    epsilon: Annotated[str, typer.Option("--epsilon", help="What this may cost.")],
    delta: options.DeltaWord = "0",
    budget: options.BudgetWord = None,
    budget_delta: options.BudgetDeltaWord = None,
    by: options.ByWords = None,
    bins: options.BinsWord = None,
    probability: options.ProbabilityWord = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Asked again, it gives the same answer for free."),
    ] = None,
    analyst: options.AnalystWord = None,
    anchor: options.AnchorFile = None,
    chain_key: options.ChainKey = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Ask one private statistic, and pay for it from the ledger.

    The charge is written down before any row is read, and nothing is given back. Use
    `discreto plan` to see the cost and the error first.
    """
    known = read_domain(domain, dialect)
    wanted = options.statistic(stat, columns, by=by, bins=bins, probability=probability)
    interval = options.kind_of(stat).interval
    # Refuse whatever can be refused before a new ledger file is made.
    statistics(known, wanted, epsilon=epsilon, delta=delta, rows=1)
    if not ledger.exists():
        Table(data, known, Ledger(epsilon=1))
    book = open_ledger(
        ledger,
        budget=budget,
        budget_delta=budget_delta,
        anchor=anchor,
        chain_key=chain_key,
    )
    payer = book.analyst(analyst) if analyst else book
    with terminal.working(f"asking for the {wanted.label}"):
        release = Table(data, known, payer).answer(
            wanted, epsilon=epsilon, delta=delta, key=key
        )
    if as_json:
        terminal.print_json(release.to_dict() | {"left": _left(book, analyst)})
    else:
        _print(release, known, book, analyst, interval=interval)


def _left(book: Ledger, analyst: str | None) -> dict[str, float]:
    left = {"epsilon": book.remaining(), "of": float(book.epsilon)}
    left |= {"delta": float(book.delta)} if book.delta else {}
    return left | ({"analyst": book.remaining(analyst)} if analyst else {})


def _print(
    release: Release,
    known: Domain,
    book: Ledger,
    analyst: str | None,
    *,
    interval: bool,
) -> None:
    console = terminal.out()
    console.print(terminal.show_release(release, interval=interval))
    if release.note:
        console.print(terminal.plain(f"note      {release.note}"))
    seq = release.receipt.seq if release.receipt else "?"
    console.print(f"cost      {release.cost} (entry {seq} of the ledger)")
    console.print(terminal.protects(known))
    console.print(f"left      ε {show(book.remaining())} of {show(book.epsilon)}")
    if analyst:
        left = show(book.remaining(analyst))
        console.print(terminal.plain(f"          ε {left} for analyst {analyst}"))
