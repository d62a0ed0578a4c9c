"""``discreto query``: ask private statistics and pay for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreto import Ledger, Release, Table
from discreto.cli import options, terminal
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.release.labels import label_in_words
from discreto.session.plan import statistics
from discreto.stats.batches import read_batch
from discreto.stats.text import kind_of
from discreto.text.language import number, tr

EXAMPLE = """Examples:

`discreto query patients.parquet mean age --by sex --epsilon 0.1 --domain d.json
--ledger patients.ledger --budget 3`

`discreto query patients.parquet quantile age --probability 0.1,0.5,0.9 --epsilon 0.2
--domain d.json --ledger patients.ledger --json`

`discreto query patients.parquet --batch questions.toml --domain d.json
--ledger patients.ledger`
"""


EpsilonWord = Annotated[
    str | None, typer.Option("--epsilon", help="Epsilon that this question may cost.")
]
DeltaWord = Annotated[
    str | None,
    typer.Option("--delta", help="Above 0: Gaussian noise; the ledger needs a delta."),
]
BatchFile = Annotated[
    Path | None,
    typer.Option("--batch", help="TOML file of questions that share one cost."),
]
PlanFlag = Annotated[
    bool, typer.Option("--plan", help="With --batch: show the plan, ask nothing.")
]


@options.grouped
def query(
    source: options.PaidSource,
    asked: options.QuestionOptions,
    stat: options.OptionalStat = None,
    columns: options.ColumnWords = None,
    *,
    epsilon: EpsilonWord = None,
    delta: DeltaWord = None,
    batch: BatchFile = None,
    only_plan: PlanFlag = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="Name of the answer: asking again with it returns the same answer for "
            "free.",
        ),
    ] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Ask a private statistic, or a file of them, and pay for it from the ledger.

    The charge is written down before any row is read, and nothing is given back. Use
    `discreto plan` (or `--plan` with a file) to see the cost and the error first.
    """
    known = source.known()
    if batch is not None:
        if stat or columns or key or any(vars(asked).values()):
            raise ParameterError("--batch says it all: leave out STAT and its options.")
        price = {"epsilon": epsilon, "delta": delta}
        _ask_batch(batch, source, known, price, only_plan=only_plan, as_json=as_json)
        return
    if stat is None or epsilon is None or only_plan:
        raise ParameterError("give STAT and --epsilon, or --batch FILE.")
    wanted, interval = asked.statistic(stat, columns), kind_of(stat).interval
    label = label_in_words(wanted.label)
    delta = "0" if delta is None else delta
    # Refuse whatever can be refused before a new ledger file is made.
    statistics(known, wanted, epsilon=epsilon, delta=delta, rows=1)
    book = source.open_ledger(known)
    with terminal.working(tr("asking for the {label}", label=label)):
        table = source.table(known, book)
        release = table.answer(wanted, epsilon=epsilon, delta=delta, key=key)
    if as_json:
        left = {"left": left_of(book, source.analyst)}
        terminal.print_json(release.to_dict() | left)
        return
    terminal.say_unchecked(table, source.data)
    _print([release], release.cost, interval=interval)
    terminal.print_left(known, book, source.analyst)


def left_of(book: Ledger, analyst: str | None) -> dict[str, float]:
    """Return what is left in a ledger, and for an analyst, as JSON data."""
    left = {"epsilon": book.remaining(), "of": float(book.epsilon)}
    left |= {"delta": float(book.delta)} if book.delta else {}
    return left | ({"analyst": book.remaining(analyst)} if analyst else {})


def _print(releases: list[Release], cost: object, *, interval: bool = True) -> None:
    """Print answers with their notes, and what they cost together."""
    console = terminal.out()
    for release in releases:
        console.print(terminal.show_release(release, interval=interval))
        if release.note:
            note = label_in_words(release.note)
            console.print(terminal.plain(tr("note      {note}", note=note)))
    receipt = releases[0].receipt
    console.print(
        tr(
            "cost      {cost} (entry {seq} of the ledger)",
            cost=number(cost),
            seq=receipt.seq if receipt else "?",
        )
    )


def _ask_batch(
    path: Path,
    source: options.PaidSource,
    known: Domain,
    price: dict[str, str | None],
    *,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Show the plan of a file of questions, or pay, ask and show the answers."""
    batch = read_batch(path)
    # A plan reads no row, and refuses whatever can be refused.
    plan = batch.plan(Table(source.data, known, Ledger(epsilon=1)), **price)
    if only_plan:
        if as_json:
            terminal.print_json(plan.to_dict())
        else:
            terminal.out().print(terminal.plain_lines(str(plan)))
        return
    book = source.open_ledger(known)
    with terminal.working(tr("asking {count} questions", count=len(batch.statistics))):
        table = source.table(known, book)
        found = batch.answers(table, **price)
    if as_json:
        releases = [release.to_dict() for release in found]
        left = left_of(book, source.analyst)
        terminal.print_json({"releases": releases, "left": left})
        return
    terminal.say_unchecked(table, source.data)
    _print(found, plan.total)
    terminal.print_left(known, book, source.analyst)
